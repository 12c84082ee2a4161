#include "meniscus/grid/walls/one_sided.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {
namespace {

template <int D>
using Position = Vec<double, D>;

/// Where a corner of a stencil takes its value from: the place of the sample itself, of the one that continues it, or on a side
/// with a given value.
template <int D>
Position<D> seen_position(const FieldLayout<D>& layout, const Coord<D>& corner) {
  const Grid<D>& grid = layout.grid;
  const Coord<D> extents = layout.extents();
  bool own = true;
  for (std::size_t d = 0; d < D; ++d) own &= corner[d] >= 0 && corner[d] < extents[d];
  if (own) return sample_position<D>(grid, layout.stagger, corner);
  Coord<D> c = corner;
  Coord<D> on_side{};
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    if (grid.periodic()[axis]) continue;
    const Index n = extents[axis];
    // The same reflections as those of the value: from far beyond a side these end at another sample than from near it.
    c[axis] = bring_near(c[axis], n);
    while (c[axis] < 0 || c[axis] >= n) {
      const int upper = c[axis] >= n;
      const GhostRule& rule = layout.rules[static_cast<std::size_t>(side_index(d, upper))];
      if (rule.kind == GhostRule::Kind::mirror) {
        c[axis] = mirrored(c[axis], n, layout.stagger.on_side[axis], upper);
      } else {
        on_side[axis] = rule.kind == GhostRule::Kind::value ? (upper ? 1 : -1) : 0;
        c[axis] = upper ? n - 1 : 0;
      }
    }
  }
  Position<D> x = sample_position<D>(grid, layout.stagger, c);
  for (int d = 0; d < D; ++d)
    if (on_side[static_cast<std::size_t>(d)]) x = project_to_side<D>(grid, x, d, on_side[static_cast<std::size_t>(d)] > 0);
  return x;
}

/// Samples as seen from a point: hidden ones are replaced. `clear`: none is.
template <class T, int D>
void see(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const StandIn& stand_in, const Position<D>& eye, bool clear,
         const Coord<D>* corners, int count, double* values) {
  if (clear) {
    for (int q = 0; q < count; ++q) values[q] = static_cast<double>(detail::stored_or_continued<T, D>(source, corners[q]));
    return;
  }
  std::array<Position<D>, 8> target, velocity;
  for (int q = 0; q < count; ++q) target[static_cast<std::size_t>(q)] = seen_position<D>(*source.layout, corners[q]);
  const std::uint32_t hidden = walls.hidden(eye, target.data(), count, velocity.data());
  for (int q = 0; q < count; ++q) {
    if (!((hidden >> q) & 1))
      values[q] = static_cast<double>(detail::stored_or_continued<T, D>(source, corners[q]));
    else
      values[q] = stand_in.component < 0 ? stand_in.value : velocity[static_cast<std::size_t>(q)][stand_in.component];
  }
}

/// The velocity at a place: of each component the mean of the nearest samples if `place` is a sample, else their interpolation.
template <class T, int D>
Position<D> velocity_seen(const VelocitySource<T, D>& velocity, const ThinWalls<D>& walls, const OneSidedPlace<D>& at) {
  Position<D> u;
  for (int d = 0; d < D; ++d)
    u[d] =
        static_cast<double>(sample_one_sided<T, D>(velocity.component[static_cast<std::size_t>(d)], walls, {d, 0.0}, at).value);
  return u;
}

}  // namespace

template <int D>
OneSidedPlace<D> follow(const ThinWalls<D>& walls, const Vec<double, D>& from, const Vec<double, D>& to) {
  const Grid<D>& grid = walls.grid();
  // The part of the way in the domain comes first: around a wall that ends at a side there is no way outside of it.
  Position<D> eye = to;
  double inside = 1.0, whole = 1.0;
  for (int d = 0; d < D; ++d) {
    const double low = grid.origin()[d];
    const double high = low + grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]);
    const double way = to[d] - from[d];
    if (grid.periodic()[static_cast<std::size_t>(d)]) {
      // Images of the walls stand that far around.
      const double longest = 0.5 * (high - low) - 2 * grid.spacing();
      if (std::abs(way) > longest) whole = std::min(whole, std::max(longest, 0.0) / std::abs(way));
      continue;
    }
    if (to[d] < low && way < 0) inside = std::min(inside, std::max(0.0, (low - from[d]) / way));
    if (to[d] > high && way > 0) inside = std::min(inside, std::max(0.0, (high - from[d]) / way));
  }
  if (whole < inside) return follow<D>(walls, from, from + whole * (1 - 1e-12) * (to - from));
  if (inside < 1.0) {
    eye = from + inside * (to - from);
    for (int d = 0; d < D; ++d)
      if (!grid.periodic()[static_cast<std::size_t>(d)])
        eye[d] = std::clamp(eye[d], grid.origin()[d],
                            grid.origin()[d] + grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]));
  }
  const double longest = (eye - from).cwiseAbs().maxCoeff() / grid.spacing();
  if (static_cast<double>(walls.clearance(from)) > longest + 1) return {eye, to};
  const double part = walls.free_part(from, eye);
  if (part >= 1.0) return {eye, to};
  if (part <= 0.0) return {from, from};
  const Position<D> stop = from + part * (eye - from);
  return {stop, stop};
}

template <class T, int D>
PointSample<T> sample_one_sided(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const StandIn& stand_in,
                                const OneSidedPlace<D>& at) {
  constexpr int corners = 1 << D;
  const Grid<D>& grid = walls.grid();
  Coord<D> cell;
  std::array<double, D> fraction;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    double x = (at.place[d] - grid.origin()[d]) / grid.spacing() - 0.5 * (1 - source.layout->stagger.on_side[axis]);
    x = std::clamp(x, -1e15, 1e15);
    // A sample is at its own place whatever the rounding of positions.
    const double nearest = std::round(x);
    if (std::abs(x - nearest) < 1e-12 * std::max(1.0, std::abs(x))) x = nearest;
    const double whole = std::floor(x);
    cell[axis] = static_cast<Index>(whole);
    fraction[axis] = x - whole;
  }
  // Corners without weight are not looked at: the wall they are behind may end there.
  std::array<Coord<D>, corners> corner;
  std::array<double, corners> weight, value;
  int used = 0;
  for (int q = 0; q < corners; ++q) {
    Coord<D> c = cell;
    double w = 1.0;
    for (std::size_t d = 0; d < D; ++d) {
      const bool upper = (q >> d) & 1;
      c[d] += upper;
      w *= upper ? fraction[d] : 1.0 - fraction[d];
    }
    if (w == 0.0) continue;
    corner[static_cast<std::size_t>(used)] = c;
    weight[static_cast<std::size_t>(used)] = w;
    ++used;
  }
  // The corners are within two cells of the one that the eye is in.
  const bool clear = at.eye == at.place && walls.clearance(at.eye) > 2;
  see<T, D>(source, walls, stand_in, at.eye, clear, corner.data(), used, value.data());
  double sum = 0.0, low = value[0], high = value[0];
  for (std::size_t q = 0; q < static_cast<std::size_t>(used); ++q) {
    sum += weight[q] * value[q];
    low = std::min(low, value[q]);
    high = std::max(high, value[q]);
  }
  return {static_cast<T>(std::clamp(sum, low, high)), static_cast<T>(low), static_cast<T>(high)};
}

template <class T, int D>
void sample_points_one_sided(Field<T, D>& field, const ThinWalls<D>& walls, const StandIn& stand_in, const double* points,
                             Index n, double time, double* out) {
  require(field.grid() == walls.grid(), "the walls must have the grid of the field");
  field.fill_ghosts(time);
  const SampleSource<T, D> source{&field.layout(), std::as_const(field).view(), time};
  parallel_for(0, n, 256, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      Position<D> x;
      for (int d = 0; d < D; ++d) x[d] = points[i * D + d];
      out[i] =
          walls.covers(x) ? stand_in.value : static_cast<double>(sample_one_sided<T, D>(source, walls, stand_in, {x, x}).value);
    }
  });
}

template <class T, int D>
PointSample<T> advect_one_sided(const VelocitySource<T, D>& velocity, const SampleSource<T, D>& source, const ThinWalls<D>& walls,
                                const StandIn& stand_in, const Coord<D>& sample, double dt, Trace trace) {
  const Position<D> x = sample_position<D>(walls.grid(), source.layout->stagger, sample);
  if (walls.clearance(source.layout->stagger, sample) == 0 && walls.covers(x)) {
    const T own = *source.view.at(sample);
    return {own, own, own};
  }
  Position<D> u = velocity_seen<T, D>(velocity, walls, {x, x});
  if (trace != Trace::euler) u = velocity_seen<T, D>(velocity, walls, follow<D>(walls, x, x - 0.5 * dt * u));
  return sample_one_sided<T, D>(source, walls, stand_in, follow<D>(walls, x, x - dt * u));
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template PointSample<T> sample_one_sided<T, D>(const SampleSource<T, D>&, const ThinWalls<D>&, const StandIn&,               \
                                                 const OneSidedPlace<D>&);                                                     \
  template void sample_points_one_sided<T, D>(Field<T, D>&, const ThinWalls<D>&, const StandIn&, const double*, Index, double, \
                                              double*);                                                                        \
  template PointSample<T> advect_one_sided<T, D>(const VelocitySource<T, D>&, const SampleSource<T, D>&, const ThinWalls<D>&,  \
                                                 const StandIn&, const Coord<D>&, double, Trace);
template OneSidedPlace<2> follow<2>(const ThinWalls<2>&, const Vec<double, 2>&, const Vec<double, 2>&);
template OneSidedPlace<3> follow<3>(const ThinWalls<3>&, const Vec<double, 3>&, const Vec<double, 3>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
