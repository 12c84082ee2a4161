#include "meniscus/surface/evolution/evolution.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/velocity_lanes.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/evolution/weno.hpp"
#include "meniscus/surface/extraction/curvature_stencil.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <cmath>
#include <optional>

namespace meniscus::surface {
namespace {

using grid::Lanes;

/// Continues the samples of a padded block linearly beyond one side of the domain.
template <class T, int D>
void continue_side(const grid::FieldLayout<D>& layout, T* first, int axis, int upper) {
  const Index a = axis;
  const Coord<D> padded = layout.padded();
  const Coord<D> strides = c_strides<D>(padded);
  const Index step = upper ? strides[a] : -strides[a];
  const Index last = upper ? padded[a] - grid::ghost_width - 1 : grid::ghost_width;
  const bool alone = layout.grid.shape()[a] + layout.stagger.on_side[a] == 1;
  Coord<D> lines = padded;
  lines[a] = 1;
  const Index count = product<D>(lines);
  for (Index line = 0; line < count; ++line) {
    Coord<D> c{};
    for (Index d = D - 1, rest = line; d >= 0; --d) {
      c[d] = rest % lines[d];
      rest /= lines[d];
    }
    c[a] = last;
    T* p = first + dot<D>(c, strides);
    const T slope = alone ? T(0) : *p - p[-step];
    for (int g = 1; g <= grid::ghost_width; ++g) p[g * step] = *p + static_cast<T>(g) * slope;
  }
}

template <class T, int D>
void fill_around(const grid::FieldLayout<D>& layout, T* first) {
  grid::fill_ghosts(layout, first, 0.0);
  for (int axis = 0; axis < D; ++axis)
    for (int upper = 0; upper < 2; ++upper)
      if (!layout.grid.shared(axis, upper)) continue_side(layout, first, axis, upper);
}

/// Share of the motion at a distance from the surface, in bands: 1 up to half of the band, 0 beyond it, smooth between.
template <class T>
MENISCUS_INLINE T share_of_motion(T distance) {
  const T t = T(2) * distance - T(1);
  const T inner = t < T(0) ? T(0) : t;
  const T out = T(1) - (inner < T(1) ? inner : T(1));
  return out * out * (T(3) - T(2) * out);
}

/// d phi / dt at the samples.
template <class T, int D>
class Rates {
 public:
  Rates(const grid::Field<T, D>& phi, const MotionTerms<T, D>& terms, double band)
      : terms_(terms),
        stagger_(phi.stagger()),
        per_spacing_(static_cast<T>(1.0 / phi.grid().spacing())),
        curvature_(terms.curvature / (phi.grid().spacing() * phi.grid().spacing())),
        per_band_(static_cast<T>(1.0 / band)) {
    if (terms.velocity) velocity_.emplace(*terms.velocity, 0.0);
    if (terms.speeds) speeds_ = terms.speeds->view();
  }

  /// Sets out = base + weight ((phi - base) + dt rate) at a run of samples. `phi` has ghosts.
  MENISCUS_INLINE void stage(const grid::FieldView<const T, D>& base, const grid::FieldView<const T, D>& phi,
                             const grid::RowRun<D>& run, T weight, T dt, const grid::FieldView<T, D>& out) const {
    const int n = run.count;
    const T* const p = phi.at(run.base);
    Lanes<T> rate;
    for (int l = 0; l < n; ++l) rate[l] = T(0);
    if (!rests(p, n)) {
      if (terms_.velocity || terms_.speeds || terms_.speed != 0.0) add_hyperbolic(phi, run, rate);
      if (terms_.curvature > 0.0) add_curvature(phi, run, rate);
      if (per_band_ > T(0))
        for (int l = 0; l < n; ++l) rate[l] *= share_of_motion(std::abs(p[l]) * per_band_);
    }
    const T* const b = base.at(run.base);
    T* const q = out.at(run.base);
    for (int l = 0; l < n; ++l) q[l] = b[l] + weight * ((p[l] - b[l]) + dt * rate[l]);
  }

 private:
  /// Whether all samples are beyond the band.
  MENISCUS_INLINE bool rests(const T* p, int n) const {
    if (!(per_band_ > T(0))) return false;
    int near = 0;
    for (int l = 0; l < n; ++l) near |= std::abs(p[l]) * per_band_ < T(1);
    return near == 0;
  }

  MENISCUS_INLINE void add_hyperbolic(const grid::FieldView<const T, D>& phi, const grid::RowRun<D>& run, Lanes<T>& rate) const {
    const int n = run.count;
    const T* const p = phi.at(run.base);
    const bool normal = terms_.speeds || terms_.speed != 0.0;
    grid::LaneVectors<T, D> u;
    if (velocity_) grid::velocity_at_samples(*velocity_, stagger_, run, u);
    Lanes<T> f, squares, below, above;
    const T constant = static_cast<T>(terms_.speed);
    for (int l = 0; l < n; ++l) {
      f[l] = constant;
      squares[l] = T(0);
    }
    if (terms_.speeds) {
      const T* const s = speeds_.at(run.base);
      for (int l = 0; l < n; ++l) f[l] += s[l];
    }
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      one_sided_differences<T>(p, phi.strides[a], n, below.data(), above.data());
      if (velocity_)
        for (int l = 0; l < n; ++l) rate[l] -= u[d][l] * (u[d][l] > T(0) ? below[l] : above[l]);
      if (normal)
        for (int l = 0; l < n; ++l) {
          const T low = f[l] > T(0) ? below[l] : -below[l], high = f[l] > T(0) ? -above[l] : above[l];
          const T steeper = low > high ? low : high;
          const T slope = steeper > T(0) ? steeper : T(0);
          squares[l] += slope * slope;
        }
    }
    for (int l = 0; l < n; ++l) rate[l] = (rate[l] - f[l] * std::sqrt(squares[l])) * per_spacing_;
  }

  MENISCUS_INLINE void add_curvature(const grid::FieldView<const T, D>& phi, const grid::RowRun<D>& run, Lanes<T>& rate) const {
    const T* const p = phi.at(run.base);
    Index strides[D];
    for (int d = 0; d < D; ++d) strides[d] = phi.strides[d];
    for (int l = 0; l < run.count; ++l) {
      const Differences<T, D> differences(p + l, strides);
      double squares = 0.0, trace = 0.0, steepest = 0.0;
      for (int d = 0; d < D; ++d) {
        const double g = differences.g[d], h = differences.h[d][d];
        const double slope = std::abs(g) + 0.5 * std::abs(h);
        squares += g * g;
        trace += h;
        steepest += slope * slope;
      }
      // On an axis of symmetry, as in a neck, the gradient vanishes and its direction is any.
      const double mean = curvatures(differences).mean * std::sqrt(squares);
      const double bent = squares > 0.0 ? mean : trace * (1.0 - 1.0 / D);
      const double most = std::sqrt(steepest);
      const double above = bent < -most ? -most : bent;
      rate[l] += static_cast<T>(curvature_ * (above > most ? most : above));
    }
  }

  const MotionTerms<T, D>& terms_;
  grid::Stagger<D> stagger_;
  std::optional<grid::VelocitySource<T, D>> velocity_;
  grid::FieldView<const T, D> speeds_;
  T per_spacing_;
  double curvature_;
  T per_band_;
};

/// Largest |F| at the samples of all blocks.
template <class T, int D>
double largest_speed(const MotionTerms<T, D>& terms) {
  if (!terms.speeds) return std::abs(terms.speed);
  const grid::FieldView<const T, D> view = terms.speeds->view();
  const Index length = view.extents[D - 1];
  const double local = parallel_reduce(
      0, product<D>(view.extents) / length, std::max<Index>(1, 4096 / length), 0.0,
      [&](Index begin, Index end) {
        double largest = 0.0;
        for (Index r = begin; r < end; ++r) {
          const T* const p = view.at(grid::row_start<D>(view.extents, r));
          for (Index i = 0; i < length; ++i) largest = std::max(largest, std::abs(terms.speed + static_cast<double>(p[i])));
        }
        return largest;
      },
      [](double a, double b) { return std::max(a, b); });
  return parallel::global_max(*terms.speeds->grid().communicator(), local);
}

template <class T, int D>
Index steps_for(const grid::Field<T, D>& phi, double duration, const MotionTerms<T, D>& terms, double cfl) {
  const double h = phi.grid().spacing();
  const double flow = terms.velocity ? grid::max_speed_sum(*terms.velocity, phi.stagger()) : 0.0;
  const double rate = (flow + std::sqrt(double(D)) * largest_speed(terms)) / h + 2.0 * D * terms.curvature / (h * h);
  const double steps = std::ceil(duration * rate / cfl);
  constexpr double most = 1e9;
  require(steps <= most, "duration needs ", steps, " steps, more than ", most);
  return std::max<Index>(1, static_cast<Index>(steps));
}

}  // namespace

template <class T, int D>
Index evolve(grid::Field<T, D>& phi, double duration, const MotionTerms<T, D>& terms, const EvolutionOptions& options,
             Workspace& workspace) {
  const grid::FieldLayout<D>& layout = phi.layout();
  const bool banded = std::isfinite(options.band);
  require(std::isfinite(duration) && duration >= 0.0, "duration must be finite and not negative, got ", duration);
  require(std::isfinite(terms.speed), "speed must be finite, got ", terms.speed);
  require(std::isfinite(terms.curvature) && terms.curvature >= 0.0, "curvature must be finite and not negative, got ",
          terms.curvature);
  require(options.cfl > 0.0 && options.cfl <= 1.0, "cfl must be in (0, 1], got ", options.cfl);
  require(!banded || options.band >= (6.0 - 1e-9) * layout.grid.spacing(), "band must be at least 6 spacings, got ",
          options.band);
  require(!terms.velocity || terms.velocity->grid() == layout.grid, "velocity must be on the grid of the level set");
  require(!terms.speeds || terms.speeds->layout().same_place(layout), "speed must have the samples of the level set");
  grid::require_finite(phi, "phi");
  if (terms.velocity) grid::require_finite(*terms.velocity);
  if (terms.speeds) grid::require_finite(*terms.speeds, "speed");
  if (duration == 0.0) return 0;

  const Index steps = steps_for(phi, duration, terms, options.cfl);
  const auto dt = static_cast<T>(duration / static_cast<double>(steps));
  const Rates<T, D> rates(phi, terms, options.band);
  grid::Field<T, D> now(layout.grid, layout.stagger, layout.rules);
  const auto one = workspace.take<T>(layout.storage_size());
  const auto two = workspace.take<T>(layout.storage_size());
  const auto stage = [&](T* from, T weight, T* to) {
    fill_around(layout, from);
    const grid::FieldView<const T, D> base = layout.template view<const T>(now.storage().data());
    const grid::FieldView<const T, D> in = layout.template view<const T>(from);
    const grid::FieldView<T, D> out = layout.view(to);
    grid::for_each_run<D>(
        out.extents, [&](const grid::RowRun<D>& run) { simd_dispatch([&] { rates.stage(base, in, run, weight, dt, out); }); });
  };
  T* const start = now.storage().data();
  grid::copy_owned(layout, static_cast<const T*>(phi.storage().data()), start);
  for (Index k = 0; k < steps; ++k) {
    stage(start, T(1), one.data());
    stage(one.data(), T(0.25), two.data());
    stage(two.data(), T(2.0 / 3.0), start);
    if (banded) {
      const RedistanceOptions restore{EikonalMethod::parallel, InterfaceDistance::closest_point, options.band, AtSides::goes_on};
      redistance<T, D>(now, restore, {}, workspace);
    }
  }
  const NoInterrupts commit;
  grid::copy_owned(layout, static_cast<const T*>(start), phi.storage().data());
  layout.halo.exchange(phi.storage().data());
  return steps;
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Index evolve<T, D>(grid::Field<T, D>&, double, const MotionTerms<T, D>&, const EvolutionOptions&, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
