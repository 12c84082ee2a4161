/// Poisson matrix of a block in the hands of another library.
#pragma once

#include "meniscus/grid/poisson/engines/structured_engine.hpp"
#include "meniscus/grid/poisson/face_matrix.hpp"

namespace meniscus::grid {

/// Cells that are no unknowns become equations x = 0.
template <int D>
class EngineSystem {
 public:
  /// Collective. Throws InvalidArgument where the library cannot work with the ranks of the layout.
  EngineSystem(const meniscus_structured_engine& engine, const CellLayout<D>& layout);
  ~EngineSystem();
  EngineSystem(const EngineSystem&) = delete;
  EngineSystem& operator=(const EngineSystem&) = delete;

  bool uses(const meniscus_structured_engine& engine, const CellLayout<D>& layout) const {
    return &engine_ == &engine && layout_ == layout;
  }
  /// The matrix has changed.
  void forget() { known_ = false; }
  /// Collective: hands in the matrix, if it is not the one of the last call. `singular`: it has closed regions.
  void set(const FaceMatrix<double, D>& matrix, bool singular);
  /// Collective: x is an approximate solution for b, both in the layout of the matrix; in cells that are no unknowns b is not
  /// read and x becomes zero. Returns the iterations.
  int solve(const FaceMatrix<double, D>& matrix, const Block<double>& b, Block<double>& x, double tolerance, int max_iterations);

 private:
  void check(int error) const;

  const meniscus_structured_engine& engine_;
  CellLayout<D> layout_;
  void* system_ = nullptr;
  bool known_ = false;
  std::vector<double> from_, to_;
};

}  // namespace meniscus::grid
