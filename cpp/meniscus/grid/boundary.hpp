/// Boundary conditions at the sides of the domain.
///
/// Users give one physical condition per side (`SideCondition`). For each component and location of a field, a `GhostRule`
/// follows from it, which continues the samples beyond the side without end. Ghost layers store the first three samples of that
/// continuation; the rule gives the rest. Periodicity is a property of the grid and is not set here.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <functional>
#include <memory>
#include <span>
#include <variant>

namespace meniscus::grid {

/// Values at n positions ((n, D) row-major, metres) at a time in seconds.
/// The output is (n, components) row-major.
using BoundaryFunction = std::function<void(std::span<const double> positions, double time, std::span<double> values)>;

/// Sides are numbered 2 * axis + (0 for the lower, 1 for the upper side).
constexpr int side_index(int axis, int upper) { return 2 * axis + upper; }

/// Continuation of one scalar beyond one side.
struct GhostRule {
  enum class Kind {
    clamp,   ///< the value of the nearest owned sample
    mirror,  ///< even or odd reflection in the side
    value,   ///< a given function of position and time
  };
  Kind kind = Kind::mirror;
  /// Mirror only. Odd: ghost = 2 * given - mirrored (the given value is met at the side); even: ghost = mirrored.
  bool odd = false;
  /// The given value: a constant, unless `function` is set.
  double constant = 0.0;
  /// One component of a function of position and time (see BoundaryFunction).
  std::shared_ptr<const BoundaryFunction> function;
  int component = 0;
  int components = 1;

  /// The given values at n positions.
  void evaluate(std::span<const double> positions, int dimension, double time, std::span<double> values) const;
};

/// A given value per component: constants, or a function.
struct GivenValue {
  std::array<double, 3> constant{};
  std::shared_ptr<const BoundaryFunction> function;
};

/// An impermeable wall that moves with a given velocity (m/s). Velocities: the normal component is that of the wall; the
/// tangential one slips freely, or sticks with no_slip. Scalars have no gradient across it.
struct Wall {
  GivenValue velocity;
  bool no_slip = false;
};
/// A side through which the medium passes freely, at a given pressure (Pa). Fields have no gradient across it.
struct Open {
  double pressure = 0.0;
};
/// No gradient across the side.
struct ZeroGradient {};
/// The values beyond the side are given, and for normal velocities also those on it.
struct Prescribed {
  GivenValue value;
};

using SideCondition = std::variant<Wall, Open, ZeroGradient, Prescribed>;

template <int D>
using Boundary = std::array<SideCondition, 2 * D>;

/// The rule for a scalar under a condition.
GhostRule scalar_rule(const SideCondition& condition);

/// The rule for velocity component `component` of a D-dimensional field at a side across `axis`.
GhostRule velocity_rule(const SideCondition& condition, int component, int axis, int dimension);

/// Whether the value on the side itself is given, so that a sample there is no unknown.
bool fixes_normal_velocity(const SideCondition& condition);

}  // namespace meniscus::grid
