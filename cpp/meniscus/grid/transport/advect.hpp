/// Advection of fields along a velocity (Selle 2008, chapter 2). The schemes are in transport/schemes, one file each.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/transport/transport_pass.hpp"

#include <optional>
#include <string_view>

namespace meniscus::grid {

/// Treatment of a corrected value outside the range of the samples between which its first pass interpolated.
enum class Limiter {
  none,
  clamp,      ///< moved to the nearest end of the range
  reversion,  ///< replaced by the first-order value (the author's preference, section 2.9)
};

/// Places where the correction is not used and the first-order value stays.
enum class FirstOrderNear {
  nothing,
  objects,  ///< within CFL * h of a hidden sample
  walls,  ///< also within CFL * h of a side of the domain that is neither periodic nor prescribed (the thesis' rule, section 2.9)
};

struct AdvectionScheme;

namespace schemes {
extern const AdvectionScheme upwind, semi_lagrangian, bfecc, maccormack;
}

/// The scheme of a name. Throws InvalidArgument, which lists the names, where there is none.
const AdvectionScheme& advection_scheme(std::string_view name);

struct AdvectOptions {
  const AdvectionScheme* scheme = &schemes::maccormack;
  PassOptions pass;  ///< of which the block is that of the scheme, where that stands for one
  Limiter limiter = Limiter::reversion;
  FirstOrderNear first_order_near = FirstOrderNear::objects;
  HiddenValue hidden_value = HiddenValue::mean;
  double time = 0.0;  ///< at the start of the step, s; passed to boundary functions
};

/// Optional restrictions for one scalar: contiguous arrays of the field's owned extents, nonzero is true; nullptr is no
/// restriction.
struct AdvectMasks {
  const std::uint8_t* active = nullptr;       ///< samples to update; the others keep their value
  const std::uint8_t* visible = nullptr;      ///< samples that may be used as sources
  const std::uint8_t* first_order = nullptr;  ///< samples that keep the first-order value
};

/// Thin walls that nothing crosses, and what counts in place of samples behind them; nullptr: none. The walls are where they are
/// at the start of the step. Semi-Lagrangian blocks only.
template <int D>
struct WallRule {
  const ThinWalls<D>* walls = nullptr;
  /// Of a velocity that is advected: its own components of the walls' velocity, whatever is set here.
  StandIn stand_in;
};

struct AdvectInfo {
  double cfl = 0.0;  ///< largest |V_d| dt / h
  int substeps = 1;  ///< more than one for upwind blocks beyond their stability limit
};

/// Carries `field` along `velocity` for dt > 0 seconds, in place. The field is unchanged if anything is thrown: InvalidArgument
/// for different grids, samples that are not finite, or a dt that is not positive and finite; Interrupted.
template <class T, int D>
AdvectInfo advect(Field<T, D>& field, MacField<T, D>& velocity, double dt, const AdvectOptions& options, const AdvectMasks& masks,
                  Workspace& workspace, const WallRule<D>& walls = {});

/// Carries every component of `field`, which may be `velocity` itself, along `velocity`; wall and prescribed faces then take
/// their given values at the end of the step.
template <class T, int D>
AdvectInfo advect(MacField<T, D>& field, MacField<T, D>& velocity, double dt, const AdvectOptions& options,
                  const std::array<AdvectMasks, D>& masks, Workspace& workspace, const WallRule<D>& walls = {});

/// Single pass with dt of either sign or zero: `out` becomes A(field); `low` and `high`, if given, become the extremes of the
/// samples used. All fields have the same location; `out` must not be `field`.
template <class T, int D>
void first_order_pass(Field<T, D>& field, MacField<T, D>& velocity, double dt, const PassOptions& options, double time,
                      Field<T, D>& out, Field<T, D>* low, Field<T, D>* high);

}  // namespace meniscus::grid
