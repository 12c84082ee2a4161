/// Tracing of characteristics: displacements, in cells, of sample points carried by a staggered velocity for a time dt.
#pragma once

#include "meniscus/grid/transport/point_lanes.hpp"
#include "meniscus/grid/transport/point_sampler.hpp"

namespace meniscus::grid {

/// Integration method of a characteristic.
enum class Trace {
  euler,     ///< straight line with the velocity at the sample (Selle 2008, section 2.3)
  midpoint,  ///< second-order Runge-Kutta
  rk3,       ///< third-order Runge-Kutta of least error (Ralston 1962)
};

/// A Runge-Kutta method in which every stage starts from the one before: the position of stage s (as a part of the step along the
/// previous stage) and its weight in the sum.
struct RungeKutta {
  int stages;
  std::array<double, 3> at;
  std::array<double, 3> weight;
};

constexpr RungeKutta runge_kutta(Trace trace) {
  switch (trace) {
    case Trace::midpoint:
      return {2, {0.0, 0.5}, {0.0, 1.0}};
    case Trace::rk3:
      return {3, {0.0, 0.5, 0.75}, {2.0 / 9.0, 3.0 / 9.0, 4.0 / 9.0}};
    case Trace::euler:
      break;
  }
  return {1, {0.0}, {1.0}};
}

/// How far along a characteristic the velocity is asked for, as a part of its length.
constexpr double farthest_stage(Trace trace) { return runge_kutta(trace).at[runge_kutta(trace).stages - 1]; }

/// The components of a staggered velocity, with ghosts filled.
template <class T, int D>
struct VelocitySource {
  std::array<SampleSource<T, D>, D> component;

  /// `far`: one per component, or nullptr.
  VelocitySource(const MacField<T, D>& velocity, double time, const FarValues<D>* far = nullptr)
      : VelocitySource(velocity, time, far, std::make_index_sequence<static_cast<std::size_t>(D)>()) {}

 private:
  template <std::size_t... C>
  VelocitySource(const MacField<T, D>& v, double time, const FarValues<D>* far, std::index_sequence<C...>)
      : component{SampleSource<T, D>{&v.component(C).layout(), v.component(C).view(), time, far ? far + C : nullptr}...} {}
};

/// Displacements, in cells, to the positions of the samples of the run `dt` ago; `dt_over_h` = dt / spacing. Negative values
/// trace forward. `stagger`: position of the samples in the cells.
template <class T, int D>
void trace_back(const VelocitySource<T, D>& velocity, const Stagger<D>& stagger, const RowRun<D>& run, T dt_over_h, Trace trace,
                LaneVectors<T, D>& displacement);

}  // namespace meniscus::grid
