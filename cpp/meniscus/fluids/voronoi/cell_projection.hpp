/// Pressure projection on Voronoi cells with embedded boundaries.
///
/// At every liquid cell, over its faces of area A with open part c, distance d of the sites and normal n out of the cell,
///
///     sum c A u + sum (1 - c) A n . v = V D,    u = u* - dt / rho (p_other - p) / d;
///
/// v is the velocity of the solid, D the divergence asked for. Where air is beyond a face, p_other is the pressure at the
/// surface, and d the distance to it.
///
/// Gravity acts along: the unknown is the pressure without that of a column of liquid, rho g . x, which is linear, so that liquid
/// at rest has a constant. Each part starts from this, or from a constant pressure, as it has in free fall, whichever leaves
/// less, and the tolerance is relative to what is left.
///
/// Sources: Brochu 2012, section 7.5; Enright et al. 2003 (pressure at the surface); Batty et al. 2010.
#pragma once

#include "meniscus/fluids/voronoi/liquid_cells.hpp"
#include "meniscus/numerics/sparse/sparse_system.hpp"

namespace meniscus::fluids {

/// The velocities along the normal of a face as its two cells see it, m/s, positive from the first to the second. They differ
/// where both are liquid with air between.
using FaceVelocity = std::array<double, 2>;

struct CellPressure {
  /// dt / rho, and rho times the gravity, N/m^3.
  double scale = 1;
  mesh::Point weight = mesh::Point::Zero();
  /// 1/s per cell; may be empty.
  std::span<const double> divergence = {};
};

struct CellProjectionReport {
  numerics::SolveInfo solve;
  Index unknowns = 0;
  int parts = 0, closed_parts = 0;
  /// The greatest |divergence| that is left in a cell of an open part, 1/s.
  double divergence = 0;
};

/// Keeps its memory.
class CellProjection {
 public:
  /// Changes the velocities of faces at liquid cells, and sets the pressures of cells (Pa; 0 in air) if the solve converges;
  /// otherwise both stay. The velocities are those before gravity.
  void project(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
               std::span<FaceVelocity> velocity, std::span<double> pressure, const numerics::SolveOptions& options,
               CellProjectionReport& report);
  Index nbytes() const { return system_.bytes(); }
  const numerics::SparseSystem& system() const { return system_; }

 private:
  void number(const LiquidCells& cells);
  void assemble(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
                std::span<const FaceVelocity> velocity);
  void balance(const mesh::VoronoiMesh& mesh);
  void start(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem);
  void commit(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
              std::span<FaceVelocity> velocity, std::span<double> pressure) const;

  numerics::SparseSystem system_;
  std::vector<std::int32_t> unknown_, cell_;
  std::vector<double> start_, other_, product_;
};

}  // namespace meniscus::fluids
