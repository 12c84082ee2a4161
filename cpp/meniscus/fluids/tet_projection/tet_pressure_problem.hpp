/// Arguments and report of a pressure projection on a tetrahedral mesh.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/numerics/solve_info.hpp"

#include <vector>

namespace meniscus::fluids {

/// What is beyond the boundary faces of the mesh where they belong to open tetrahedra.
enum class TetBoundary {
  open,  ///< air of pressure zero
  wall,  ///< a wall at rest
};

/// Arrays have one row per vertex or tetrahedron; pointers may be null where a default is named.
struct TetPressureProblem {
  std::span<const mesh::Point> positions;
  std::span<mesh::Point> velocity;
  /// Water fills the open part of these tetrahedra.
  const std::uint8_t* wet = nullptr;
  /// Null: all.
  const std::uint8_t* enabled = nullptr;
  /// The part of a tetrahedron outside of the object, 0 to 1. Null: 1.
  const double* open_fraction = nullptr;
  /// Velocity of the object where tetrahedra are not fully open, m/s. Null: at rest.
  const mesh::Point* object_velocity = nullptr;
  TetBoundary boundary = TetBoundary::open;
  /// Vertices at which the boundary of the mesh is open, whatever `boundary` says of the others. Null: none.
  const std::uint8_t* open_vertices = nullptr;
  double density = 1000;
  /// Tetrahedra whose open fraction is below the first, or whose smallest altitude is below the second times the longest edge,
  /// count as solid.
  double min_open = 1e-6;
  double min_aspect = 1e-3;
  /// Gets the pressure, Pa; null if it is not wanted. It is also the start where `warm_start`.
  double* pressure = nullptr;
  bool warm_start = false;
};

/// A connected region of unknown pressures.
struct TetPressureRegion {
  Index vertices = 0;
  std::int32_t first_vertex = 0;
  /// No vertex of pressure zero: the pressure is known up to a constant.
  bool closed = false;
  /// Net flux of the object out of a closed region, m^3/s, which no incompressible flow can follow.
  double flux = 0;
  /// Norm of its residual relative to the whole right-hand side.
  double residual = 0;
};

struct TetProjectionReport {
  numerics::SolveInfo solve;
  double setup_seconds = 0;
  /// Levels of the multigrid, and the entries of all their matrices relative to the finest one.
  int levels = 0;
  double operator_complexity = 0;
  /// Tetrahedra whose velocity is projected.
  Index wet_tets = 0;
  /// Enabled wet tetrahedra that are flat, inverted or nearly closed, and so count as solid.
  Index excluded_tets = 0;
  std::vector<TetPressureRegion> regions;
};

}  // namespace meniscus::fluids
