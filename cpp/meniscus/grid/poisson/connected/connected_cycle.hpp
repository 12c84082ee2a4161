/// Algebraic multigrid preconditioner of a Poisson matrix, whose coarsening follows what is connected: for labyrinths, thin walls
/// with holes and large contrasts, where cells of a block of the geometric hierarchy do not hang together.
///
/// On a domain that is cut into blocks every block has the matrix of the whole domain, and computes all of the cycle: so the bits
/// are those of one block.
#pragma once

#include "meniscus/grid/poisson/face_matrix.hpp"
#include "meniscus/grid/poisson/levels/level_window.hpp"
#include "meniscus/numerics/sparse/algebraic_multigrid.hpp"

#include <optional>

namespace meniscus::grid {

template <int D>
class ConnectedCycle {
 public:
  /// Collective: builds the levels from a finished matrix.
  void build(const FaceMatrix<double, D>& matrix);
  bool built() const { return built_; }
  /// The matrix has changed.
  void forget() { built_ = false; }

  /// Collective: z = M r, both laid out as the matrix; only unknowns of z are written.
  void apply(const Block<double>& r, Block<double>& z);

  /// Bytes held by the arrays.
  Index bytes() const;

 private:
  struct Parts {
    const CellLayout<D>* layout;
    std::array<const double*, D> faces;
    const double* diagonal;
  };
  void gather(const FaceMatrix<double, D>& matrix, std::array<Block<double>, D>& faces, Block<double>& diagonal);
  void assemble(const FaceMatrix<double, D>& matrix, const Parts& parts);

  bool built_ = false;
  numerics::CompressedRows rows_;
  numerics::AlgebraicMultigrid multigrid_;
  /// By unknown: its place in the layout of the matrix, on blocks in that of the window.
  std::vector<Index> place_;
  std::vector<double> r_, z_;
  /// On a domain that is cut: all of it, residuals there, and which unknowns are the block's with their places in the matrix.
  std::optional<LevelWindow<D>> window_;
  CellLayout<D> own_layout_;
  Block<double> gathered_;
  std::vector<std::array<Index, 2>> own_;
};

}  // namespace meniscus::grid
