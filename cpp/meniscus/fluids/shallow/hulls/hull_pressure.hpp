/// Pressure of water under hulls, which it cannot pass, in one solve with the velocities of the bodies.
///
/// Where a hull presses, the water is as deep as there is room below it. After a step of the water under the pressure of the step
/// before, the change of the pressure moves water through the faces around, and the bodies with their inertia, until no column is
/// higher than the hull above it; pressures never pull. Rows are relaxed one after the other, each with what the bodies have
/// gained so far, as contacts are. What the bodies weigh, and the water that they have to accelerate, follow from the solve.
#pragma once

#include "meniscus/fluids/shallow/hulls/hull_cells.hpp"
#include "meniscus/fluids/shallow/shallow_model.hpp"

namespace meniscus::fluids {

/// A rigid body: what a pressure on its hull changes.
struct HullBody {
  Vec<double, 3> center, velocity, spin;  ///< m, m/s, rad/s
  double lightness = 0;                   ///< 1 / mass; zero: it moves as given
  Eigen::Matrix3d inverse_inertia;        ///< in space
  Vec<double, 3> impulse = Vec<double, 3>::Zero(), angular_impulse = Vec<double, 3>::Zero();  ///< of the water, N s and N m s
  std::array<double, 2> side{};  ///< impulse along x and y, N s, that is opposite to that of the water
};

struct HullSolve {
  Index iterations = 0;
  double excess = 0;  ///< how much too high the water stands at most, m
};

/// Least change in a sweep at which the solve ends, in parts of the spacing, and the most sweeps.
struct HullTolerance {
  double excess = 1e-10;
  Index sweeps = 4000;
};

/// Solves for the heads of all cells, which hold those of the last step, and lets them act for dt: on the water, whose heads
/// `before` (of the layout, Pa) it has felt already, and on the bodies. Afterwards `before` holds the new pressures.
template <class T>
HullSolve press_under_hulls(const ShallowModel<T>& model, ShallowFields<T>& water, T* before, HullCells& hulls,
                            std::span<HullBody> bodies, double dt, const HullTolerance& tolerance);

/// Adds to the impulses along x and y of bodies what the pressures `before` have pushed them in a step of the water (see `felt_u`
/// of the model); the rest of that was the ground.
template <class T>
void add_felt_impulses(const ShallowModel<T>& model, const T* before, const HullCells& hulls, std::span<HullBody> bodies);

}  // namespace meniscus::fluids
