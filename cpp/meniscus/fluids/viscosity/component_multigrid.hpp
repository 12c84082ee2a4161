/// Preconditioner of a viscous stress that couples velocity components: one multigrid cycle for each component alone.
#pragma once

#include "meniscus/grid/poisson/poisson_hierarchy.hpp"

namespace meniscus::fluids {

/// Index of the stress between two different axes among those of all pairs.
constexpr int pair_of(int a, int b) { return a + b - 1; }

template <int D>
class ComponentMultigrid {
 public:
  Index bytes() const;

  /// Builds the matrix that couples each component with itself, which is a Poisson matrix. All arrays have the given layout, one
  /// component or stress after the other: `weight` of the diagonal stresses by axis, then of those of the pairs; `mass` and
  /// `inverse_diagonal` (zero: no unknown) of the faces. `strength`: weight of an edge within the liquid.
  void prepare(const grid::CellLayout<D>& layout, const double* weight, const double* mass, const double* inverse_diagonal,
               double strength);

  /// z = approximate inverse of the matrix times r; zero where there is no unknown.
  void apply(const double* r, double* z);

 private:
  struct Component {
    grid::FaceMatrix<double, D> matrix;
    grid::PoissonHierarchy<D> hierarchy;
  };
  /// The matrices are those of the components divided by the strength, as couplings have to be powers of two.
  std::array<Component, D> components_;
  double scale_ = 1.0;
};

}  // namespace meniscus::fluids
