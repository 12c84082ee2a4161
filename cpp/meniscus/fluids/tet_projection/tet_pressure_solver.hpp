/// Pressure projection on a tetrahedral mesh: pressures at vertices, one velocity per tetrahedron.
///
/// Linear finite elements: with the open fraction c, the volume V and the gradients of the hat functions N_i of each tetrahedron,
///
///     sum_water c V grad N_i . (u - dt / rho sum_j p_j grad N_j) + sum (1 - c) V grad N_i . v = 0
///
/// at every vertex i of unknown pressure; v is the velocity of the object. The second sum runs over the solid tetrahedra, too, so
/// that a uniform motion of water and object is free of divergence. V grad N_i is a sixth of a cross product of edges and needs
/// no division, so flat and inverted tetrahedra, which count as solid, add what they should.
///
/// Source: Lee 2018, section 3.3.3; Ando, Thuerey, Wojtan, "Highly adaptive liquid simulations on tetrahedral meshes", 2013;
/// Guendelman et al. 2005, section 4.3 (closed regions).
#pragma once

#include "meniscus/fluids/tet_projection/tet_pressure_domain.hpp"

namespace meniscus::fluids {

struct TetProjectionOptions {
  numerics::SolveOptions solve;
  numerics::AlgebraicMultigridOptions multigrid;
  /// Change the velocity even where the tolerance was not met.
  bool accept_unconverged = false;
};

/// Holds what depends on the topology, and all memory between projections: a repeated one allocates nothing.
class TetPressureSolver {
 public:
  TetPressureSolver(std::span<const mesh::Tet> tets, Index vertices) : mesh_(tets, vertices) {}

  const TetPressureTopology& mesh() const { return mesh_; }
  Index bytes() const;

  /// Replaces the velocity of the wet tetrahedra by its divergence-free part. Throws InvalidArgument for sizes and values that
  /// make no sense. On any error, and where the solve fails and is not accepted, the velocity and the pressure keep their values.
  void project(const TetPressureProblem& problem, double dt, const TetProjectionOptions& options, TetProjectionReport& report);

 private:
  void check(const TetPressureProblem& problem, double dt) const;
  /// The integral of c grad N_i . grad N_j over the water around an edge.
  double coupling(const TetPressureProblem& problem, Index edge) const;
  void assemble(const TetPressureProblem& problem);
  void sum_fluxes(const TetPressureProblem& problem, TetProjectionReport& report);
  void commit(const TetPressureProblem& problem, double pressure_unit) const;

  TetPressureTopology mesh_;
  TetPressureDomain domain_;
  numerics::SparseSystem system_;
  std::vector<double> edge_weight_, volume_, residuals_;
};

}  // namespace meniscus::fluids
