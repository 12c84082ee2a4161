/// Velocity fields given by formulas: vortex rings, sources and curl noise (Brochu 2012, section 5.4.2), and standard flows for
/// tests of transport. Flows can be added and scaled.
///
/// A flow that is the curl of a vector potential (in 2-D: of a stream function psi, v = (d psi/dy, -d psi/dx)) can be sampled as
/// the discrete curl, whose discrete divergence is zero to rounding.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/transport/trace.hpp"
#include "meniscus/numerics/noise.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace meniscus::fluids {

/// The potential has 3 components in 3-D and one, the stream function, in 2-D.
template <int D>
using Potential = Vec<double, D == 3 ? 3 : 1>;

template <int D>
class Flow {
 public:
  virtual ~Flow() = default;
  /// Velocity at position x (m) and time t (s), m/s.
  virtual Vec<double, D> velocity(const Vec<double, D>& x, double t) const = 0;
  /// False for flows that are not divergence-free.
  virtual bool has_potential() const { return true; }
  /// Its curl is the velocity, m^2/s.
  virtual Potential<D> potential(const Vec<double, D>& x, double t) const = 0;
};

template <int D>
using FlowPointer = std::shared_ptr<const Flow<D>>;

/// The same velocity everywhere.
template <int D>
FlowPointer<D> uniform_flow(const Vec<double, D>& velocity);

/// Rigid rotation around a point, counter-clockwise for a positive rate (rad/s).
FlowPointer<2> rotation(const Vec<double, 2>& center, double rate);
/// Rigid rotation around the axis through a point; |angular_velocity| in rad/s.
FlowPointer<3> rotation(const Vec<double, 3>& center, const Vec<double, 3>& angular_velocity);

/// The flow of a vortex ring of the given radius around `axis`: v = 2 s (r^2 a + (a.y) y) / (r^2 + |y|^2)^2, y = x - center, with
/// speed 2 s / r^2 at the centre.
FlowPointer<3> vortex_ring(const Vec<double, 3>& center, const Vec<double, 3>& axis, double radius, double strength);

/// Outflow from a point, modulated by noise: v = s (1 + variation * noise) max(0, r - d) (x - c) / d. Not divergence-free within
/// r.
template <int D>
FlowPointer<D> source(const Vec<double, D>& center, double radius, double strength, double variation,
                      const numerics::FractalNoiseOptions& noise);

/// A box that curl noise does not cross: the potential fades to zero at its sides over `width` metres.
template <int D>
struct RampBox {
  Vec<double, D> lower;
  Vec<double, D> upper;
  double width;
};

/// The curl of a smooth random potential of amplitude `strength` (m^2/s).
template <int D>
FlowPointer<D> curl_noise(double strength, const numerics::FractalNoiseOptions& noise, const std::optional<RampBox<D>>& ramp);

/// The vortex in a box [0, length]^2 of LeVeque 1996, reversing after `period` / 2: unit peak speed; period 0 does not reverse.
FlowPointer<2> single_vortex(double length, double period);
/// The deformation in [0, length]^3 of LeVeque 1996 that Enright et al. 2002 test with; period as above.
FlowPointer<3> deformation_flow(double length, double period);

/// sum_i weights[i] * flows[i].
template <int D>
FlowPointer<D> weighted_sum(std::vector<FlowPointer<D>> flows, std::vector<double> weights);

enum class FaceSampling {
  pointwise,      ///< the formula at face centres
  discrete_curl,  ///< differences of the potential around each face: discretely divergence-free
};

/// Sets the faces of `velocity` to the flow at time t. Throws InvalidArgument for a discrete curl of a flow without a potential.
template <class T, int D>
void sample_flow(const Flow<D>& flow, grid::MacField<T, D>& velocity, double time, FaceSampling sampling, Workspace& workspace);

/// velocities (n, D) at points (n, D), both row-major.
template <int D>
void sample_flow(const Flow<D>& flow, const double* points, Index n, double time, double* velocities);

/// Moves points (n, D) along the flow for dt seconds of either sign, with the flow's own change in time.
template <int D>
void advance_points(const Flow<D>& flow, double* points, Index n, double time, double dt, grid::Trace trace,
                    Workspace& workspace);

}  // namespace meniscus::fluids
