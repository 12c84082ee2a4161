#include "meniscus/coupling/shells/solid_in_walls.hpp"

#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace meniscus::coupling {
namespace {

/// Spacings between places where a way is tested. A distance changes by no more than the way: what a way passes of the solid
/// between two places is half of this deep at most.
constexpr double finest_step = 0.125;
/// Spacings outside of the solid, to which points are pushed, and over which slopes are taken.
constexpr double beside_solid = 1e-4, slope_width = 1e-3;
constexpr int most_pushes = 8;

}  // namespace

template <int D>
bool SolidInWalls<D>::set(const grid::Field<double, D>& levelset, SolidSight sight) {
  const grid::FieldView<const double, D> view = levelset.view();
  grid_ = levelset.grid();
  strides_ = c_strides<D>(view.extents);
  spacing_ = grid_->spacing();
  sight_ = sight;
  const bool first = nodes_.empty();
  nodes_.resize(product<D>(view.extents));
  const Index length = view.extents[D - 1];
  std::atomic<bool> other = first;
  grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const double* const from = view.at(grid::row_start<D>(view.extents, r));
      double* const to = nodes_.data() + r * length;
      if (!first && std::equal(from, from + length, to)) continue;
      std::copy_n(from, length, to);
      other = true;
    }
  });
  return other;
}

template <int D>
double SolidInWalls<D>::level(const Point& x) const {
  Index first = 0;
  std::array<double, D> part;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    const double at = std::clamp((x[d] - grid_->origin()[d]) / spacing_, -1e15, 1e15);
    const auto cell = static_cast<Index>(std::floor(at));
    const bool beyond = grid::image_of_cell<D>(*grid_, d, cell) < 0;
    part[a] = beyond ? (at < 0 ? 0.0 : 1.0) : at - static_cast<double>(cell);
    first += grid::nearest_cell<D>(*grid_, d, cell) * strides_[a];
  }
  double sum = 0;
  for (std::uint32_t q = 0; q < (1u << D); ++q) {
    Index node = first;
    double w = 1;
    for (std::size_t d = 0; d < D; ++d) {
      const bool upper = (q >> d) & 1u;
      node += upper ? strides_[d] : 0;
      w *= upper ? part[d] : 1 - part[d];
    }
    if (w > 0) sum += w * nodes_[node];
  }
  return sum;
}

template <int D>
Vec<double, D> SolidInWalls<D>::pushed_out(const Point& x) const {
  Point at = x;
  for (int n = 0; n < most_pushes; ++n) {
    const double depth = beside_solid * spacing_ - level(at);
    if (depth <= 0) break;
    Point slope;
    for (int d = 0; d < D; ++d) {
      const Point way = 0.5 * slope_width * spacing_ * Point::Unit(d);
      slope[d] = (level(at + way) - level(at - way)) / (slope_width * spacing_);
    }
    const double square = slope.squaredNorm();
    if (!(square > 1e-6)) break;
    at += (depth + 1e-3 * beside_solid * spacing_) / square * slope;
  }
  return at;
}

template <int D>
Vec<double, D> SolidInWalls<D>::open_place(const Point& center) const {
  if (level(center) > 0) return center;
  const Point out = pushed_out(center);
  if ((out - center).cwiseAbs().maxCoeff() <= 0.5 * spacing_ && level(out) > 0) return out;
  Point best = center;
  double highest = 0;
  for (std::uint32_t q = 0; q < (1u << D); ++q) {
    Point corner = center;
    for (int d = 0; d < D; ++d) corner[d] += ((q >> d) & 1u ? 0.5 : -0.5) * spacing_;
    const double height = level(corner);
    if (!(height > highest)) continue;
    highest = height;
    best = corner;
  }
  return best;
}

template <int D>
template <class Visit>
void SolidInWalls<D>::walk(const Point& from, const Point& to, Visit&& visit) const {
  const double length = (to - from).norm();
  double at = 0, distance = level(from);
  if (!visit(0.0, distance <= 0)) return;
  while (at < length) {
    at = std::min(at + std::max(finest_step * spacing_, sure_part * distance), length);
    const double part = at < length ? at / length : 1.0;
    distance = level(from + part * (to - from));
    if (!visit(part, distance <= 0)) return;
  }
}

template <int D>
double SolidInWalls<D>::free_part(const Point& from, const Point& to) const {
  bool outside = false;
  double free = 0;
  walk(from, to, [&](double part, bool inside) {
    if (inside && outside) return false;
    outside = !inside;
    free = part;
    return true;
  });
  return free;
}

template <int D>
double SolidInWalls<D>::middle_of_passage(const Point& from, const Point& to) const {
  bool outside = false;
  double first = -1, last = -1, middle = -1;
  walk(from, to, [&](double part, bool inside) {
    if (inside && outside) {
      if (first < 0) first = part;
      last = part;
    }
    outside |= !inside;
    if (!inside && first >= 0) middle = 0.5 * (first + last);
    return middle < 0;
  });
  return middle;
}

template <int D>
bool SolidInWalls<D>::hides(const Point& from, const Point& to) const {
  bool outside = false, entered = false, hidden = false, last = false;
  walk(from, to, [&](double, bool inside) {
    hidden = inside ? outside && sight_ == SolidSight::outside : entered;
    entered |= inside && outside;
    outside |= !inside;
    last = inside;
    return !hidden;
  });
  return hidden || (last && sight_ == SolidSight::outside);
}

template class SolidInWalls<2>;
template class SolidInWalls<3>;

}  // namespace meniscus::coupling
