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
    const Index axis = d;
    if (grid.periodic()[axis]) continue;
    const Index n = extents[axis];
    // The same reflections as those of the value: from far beyond a side these end at another sample than from near it.
    c[axis] = bring_near(c[axis], n);
    while (c[axis] < 0 || c[axis] >= n) {
      const int upper = c[axis] >= n;
      const GhostRule& rule = layout.rules[side_index(d, upper)];
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
    if (on_side[d]) x = project_to_side<D>(grid, x, d, on_side[d] > 0);
  return x;
}

/// The corners of the cell of samples around a place that have a weight: those without are not looked at, as the wall they are
/// behind may end there.
template <int D>
void find_corners(const FieldLayout<D>& layout, const Position<D>& place, SeenCorners<D>& out) {
  const Grid<D>& grid = layout.grid;
  Coord<D> cell;
  std::array<double, D> fraction;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    double x = (place[d] - grid.origin()[d]) / grid.spacing() - 0.5 * (1 - layout.stagger.on_side[axis]);
    x = std::clamp(x, -1e15, 1e15);
    // A sample is at its own place whatever the rounding of positions.
    const double nearest = std::round(x);
    if (std::abs(x - nearest) < 1e-12 * std::max(1.0, std::abs(x))) x = nearest;
    const double whole = std::floor(x);
    cell[axis] = static_cast<Index>(whole);
    fraction[axis] = x - whole;
  }
  out.count = 0;
  out.hidden = 0;
  for (int q = 0; q < 1 << D; ++q) {
    Coord<D> c = cell;
    double w = 1.0;
    for (std::size_t d = 0; d < D; ++d) {
      const bool upper = (q >> d) & 1;
      c[d] += upper;
      w *= upper ? fraction[d] : 1.0 - fraction[d];
    }
    if (w == 0.0) continue;
    out.corner[out.count] = c;
    out.weight[out.count] = w;
    ++out.count;
  }
}

/// Cells, along the axis where it is most, from the cell that holds one point to that of another, which may be outside of the
/// domain.
template <int D>
Index cells_apart(const Grid<D>& grid, const Position<D>& a, const Position<D>& b) {
  double most = 0;
  for (int d = 0; d < D; ++d) {
    const auto cell = [&](const Position<D>& x) { return std::floor((x[d] - grid.origin()[d]) / grid.spacing()); };
    most = std::max(most, std::abs(cell(b) - cell(a)));
  }
  return static_cast<Index>(most);
}

/// The faces around a place that give it a velocity, component by component, as an eye sees them.
template <int D>
struct SeenFaces {
  std::array<SeenCorners<D>, D> corners;
  /// Of the walls that hide them.
  std::array<std::array<Position<D>, 1 << D>, D> of_wall;
};

template <class T, int D>
void see_faces(const VelocitySource<T, D>& velocity, const ThinWalls<D>& walls, const OneSidedPlace<D>& at, SeenFaces<D>& seen) {
  std::array<Position<D>, 1 << D> target;
  const bool clear = sees_all_corners(walls, at);
  for (std::size_t d = 0; d < D; ++d) {
    const FieldLayout<D>& layout = *velocity.component[d].layout;
    SeenCorners<D>& corners = seen.corners[d];
    find_corners<D>(layout, at.place, corners);
    if (clear) continue;
    for (Index q = 0; q < corners.count; ++q) target[q] = seen_position<D>(layout, corners.corner[q]);
    corners.hidden = walls.hidden(at.eye, target.data(), corners.count, seen.of_wall[d].data());
  }
}

/// The velocity at a place: of each component the interpolation of the samples around it.
template <class T, int D>
Position<D> velocity_seen(const VelocitySource<T, D>& velocity, const ThinWalls<D>& walls, const OneSidedPlace<D>& at) {
  SeenFaces<D> seen;
  see_faces<T, D>(velocity, walls, at, seen);
  Position<D> u;
  for (int d = 0; d < D; ++d) {
    const Index i = d;
    const Position<D>* const of_wall = seen.of_wall[i].data();
    u[d] = static_cast<double>(blend_corners<T, D>(velocity.component[i], seen.corners[i], {d, 0.0}, of_wall).value);
  }
  return u;
}

}  // namespace

template <class T, int D>
PointSample<T> blend_corners(const SampleSource<T, D>& source, const SeenCorners<D>& seen, const StandIn& stand_in,
                             const Position<D>* velocity) {
  std::array<double, 1 << D> value;
  double mean = 0.0;
  int visible = 0;
  for (int q = 0; q < seen.count; ++q) {
    const Index i = q;
    if ((seen.hidden >> q) & 1) continue;
    value[i] = static_cast<double>(detail::stored_or_continued<T, D>(source, seen.corner[i]));
    mean += value[i];
    ++visible;
  }
  if (seen.hidden) {
    const double instead = stand_in.mean && visible > 0 ? mean / visible : stand_in.value;
    for (int q = 0; q < seen.count; ++q) {
      if (!((seen.hidden >> q) & 1)) continue;
      const double wall = stand_in.component < 0 ? instead : velocity[q][stand_in.component];
      // In a solid the fluid goes on as it is beside it.
      value[q] = std::isnan(wall) ? (visible > 0 ? mean / visible : stand_in.value) : wall;
    }
  }
  double sum = 0.0, low = value[0], high = value[0];
  for (Index q = 0; q < seen.count; ++q) {
    sum += seen.weight[q] * value[q];
    low = std::min(low, value[q]);
    high = std::max(high, value[q]);
  }
  return {static_cast<T>(std::clamp(sum, low, high)), static_cast<T>(low), static_cast<T>(high)};
}

template <int D>
OneSidedPlace<D> follow(const ThinWalls<D>& walls, const Vec<double, D>& from, const Vec<double, D>& to) {
  const Grid<D>& grid = walls.grid();
  // The part of the way in the domain comes first: around a wall that ends at a side there is no way outside of it.
  Position<D> eye = to;
  double inside = 1.0, whole = 1.0;
  for (int d = 0; d < D; ++d) {
    const double low = grid.origin()[d];
    const double high = low + grid.spacing() * static_cast<double>(grid.shape()[d]);
    const double way = to[d] - from[d];
    if (grid.periodic()[d]) {
      // Images of the walls stand that far around.
      const double longest = 0.5 * (high - low) - 2 * grid.spacing();
      if (std::abs(way) > longest) whole = std::min(whole, std::max(longest, 0.0) / std::abs(way));
      continue;
    }
    if (to[d] < low && way < 0) inside = std::min(inside, std::max(0.0, (low - from[d]) / way));
    if (to[d] > high && way > 0) inside = std::min(inside, std::max(0.0, (high - from[d]) / way));
  }
  // Also a way that leaves the domain at once: the place beyond lies within those images, too.
  if (whole < 1.0) return follow<D>(walls, from, from + whole * (1 - 1e-12) * (to - from));
  if (inside < 1.0) {
    eye = from + inside * (to - from);
    for (int d = 0; d < D; ++d)
      if (!grid.periodic()[d])
        eye[d] = std::clamp(eye[d], grid.origin()[d], grid.origin()[d] + grid.spacing() * static_cast<double>(grid.shape()[d]));
  }
  if (const Index clear = walls.clearance(from); clear > 0) {
    const double longest = (eye - from).cwiseAbs().maxCoeff() / grid.spacing();
    if (static_cast<double>(clear) > longest + 1) return {eye, to};
    if (static_cast<double>(clear) > longest && clear > cells_apart<D>(grid, from, eye)) return {eye, to};
  }
  const double part = walls.free_part(from, eye);
  if (part >= 1.0) return {eye, to};
  if (part <= 0.0) return {from, from};
  const Position<D> stop = from + part * (eye - from);
  return {stop, stop};
}

template <class T, int D>
SeenCorners<D> see_corners(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const OneSidedPlace<D>& at,
                           Vec<double, D>* velocity) {
  SeenCorners<D> seen;
  find_corners<D>(*source.layout, at.place, seen);
  if (sees_all_corners(walls, at)) return seen;
  std::array<Position<D>, 1 << D> target;
  for (Index q = 0; q < seen.count; ++q) target[q] = seen_position<D>(*source.layout, seen.corner[q]);
  seen.hidden = walls.hidden(at.eye, target.data(), seen.count, velocity);
  return seen;
}

template <class T, int D>
PointSample<T> sample_one_sided(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const StandIn& stand_in,
                                const OneSidedPlace<D>& at) {
  std::array<Position<D>, 1 << D> velocity;
  const bool asked = stand_in.component >= 0;
  const SeenCorners<D> seen = see_corners<T, D>(source, walls, at, asked ? velocity.data() : nullptr);
  return blend_corners<T, D>(source, seen, stand_in, velocity.data());
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
  StandIn here = stand_in;
  if (here.mean) here.value = static_cast<double>(*source.view.at(sample));
  return sample_one_sided<T, D>(source, walls, here, follow<D>(walls, x, x - dt * u));
}

template <class T, int D>
void mean_of_seen_faces(const VelocitySource<T, D>& velocity, const ThinWalls<D>& walls, const Vec<double, D>& x,
                        Vec<double, D>& mean) {
  SeenFaces<D> seen;
  see_faces<T, D>(velocity, walls, {x, x}, seen);
  for (int d = 0; d < D; ++d) {
    const Index i = d;
    const SeenCorners<D>& corners = seen.corners[i];
    if (!corners.hidden) continue;
    StandIn of_walls{-1, 0.0, true};
    // It counts where all are hidden; what a solid hides has no velocity of its own.
    int known = 0;
    for (int q = 0; q < corners.count; ++q) {
      const double wall = ((corners.hidden >> q) & 1u) ? seen.of_wall[i][q][d] : std::nan("");
      if (std::isnan(wall)) continue;
      of_walls.value += wall;
      ++known;
    }
    if (known > 0) of_walls.value /= known;
    mean[d] = static_cast<double>(blend_corners<T, D>(velocity.component[i], corners, of_walls, nullptr).value);
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template SeenCorners<D> see_corners<T, D>(const SampleSource<T, D>&, const ThinWalls<D>&, const OneSidedPlace<D>&,           \
                                            Vec<double, D>*);                                                                  \
  template PointSample<T> blend_corners<T, D>(const SampleSource<T, D>&, const SeenCorners<D>&, const StandIn&,                \
                                              const Vec<double, D>*);                                                          \
  template void mean_of_seen_faces<T, D>(const VelocitySource<T, D>&, const ThinWalls<D>&, const Vec<double, D>&,              \
                                         Vec<double, D>&);                                                                     \
  template PointSample<T> sample_one_sided<T, D>(const SampleSource<T, D>&, const ThinWalls<D>&, const StandIn&,               \
                                                 const OneSidedPlace<D>&);                                                     \
  template void sample_points_one_sided<T, D>(Field<T, D>&, const ThinWalls<D>&, const StandIn&, const double*, Index, double, \
                                              double*);                                                                        \
  template PointSample<T> advect_one_sided<T, D>(const VelocitySource<T, D>&, const SampleSource<T, D>&, const ThinWalls<D>&,  \
                                                 const StandIn&, const Coord<D>&, double, Trace);
template OneSidedPlace<2> follow<2>(const ThinWalls<2>&, const Vec<double, 2>&, const Vec<double, 2>&);
template OneSidedPlace<3> follow<3>(const ThinWalls<3>&, const Vec<double, 3>&, const Vec<double, 3>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
