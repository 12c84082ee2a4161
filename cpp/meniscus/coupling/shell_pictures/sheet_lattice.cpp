#include "meniscus/coupling/shell_pictures/sheet_lattice.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/redistancing/zero_crossings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::coupling {

namespace {

constexpr Index samples_at_once = 4096;

}  // namespace

template <class T, int D>
SheetLattice<T, D>::SheetLattice(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls, Index refine, double time)
    : walls_(&walls), refine_(refine) {
  require(phi.grid() == walls.grid(), "the walls must have the grid of the level set");
  require(refine >= 1, "refine must be at least 1, not ", refine);
  phi.fill_ghosts(time);
  source_ = {&phi.layout(), std::as_const(phi).view(), time};
  step_ = phi.grid().spacing() / static_cast<double>(refine);
  for (std::size_t d = 0; d < D; ++d) extents_[d] = phi.grid().local_shape()[d] * refine + 4;
  strides_ = c_strides<D>(extents_);
  find_values();
  find_cuts();
}

template <class T, int D>
Vec<double, D> SheetLattice<T, D>::position(const Coord<D>& c) const {
  const grid::Grid<D>& grid = walls_->grid();
  Point x;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    const Index last = extents_[a] - 4;
    const Index i = c[a] - 2;
    const double at = i < 0       ? 0.0
                      : i >= last ? static_cast<double>(last / refine_)
                                  : (static_cast<double>(i) + 0.5) / static_cast<double>(refine_);
    x[d] = grid.origin()[d] + grid.spacing() * at;
  }
  return x;
}

template <class T, int D>
double SheetLattice<T, D>::sampled(const Coord<D>& c) const {
  for (std::size_t d = 0; d < D; ++d)
    if (c[d] == 0 || c[d] == extents_[d] - 1) return step_;
  const Point x = position(c);
  const bool near = near_wall(x);
  Coord<D> cell = c;
  bool within = true;
  for (std::size_t d = 0; d < D; ++d) {
    within &= c[d] > 1 && c[d] < extents_[d] - 2;
    cell[d] = std::clamp<Index>(c[d] - 2, 0, extents_[d] - 5);
  }
  if (near && walls_->covers(x)) return step_;
  if (refine_ == 1 && (within || !near)) return static_cast<double>(*source_.view.at(cell));
  Coord<D> inner = cell;
  for (std::size_t d = 0; d < D; ++d) inner[d] += 2;
  const Point place = near ? x : position(inner);
  const double value = near ? level(x).value : level_past_walls<T, D>(source_, *walls_, {place, place});
  return value == value ? value : step_;
}

template <class T, int D>
void SheetLattice<T, D>::find_values() {
  const Index n = product<D>(extents_);
  value_.resize(n);
  parallel_for(0, n, samples_at_once, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) value_[i] = sampled(surface::index_of<D>(i, strides_));
  });
}

template <class T, int D>
void SheetLattice<T, D>::find_cuts() {
  const Index n = product<D>(extents_);
  cut_.assign(n, 0);
  parallel_for(0, n, samples_at_once, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Coord<D> c = surface::index_of<D>(i, strides_);
      const Point x = position(c);
      if (!near_wall(x)) continue;
      for (std::size_t d = 0; d < D; ++d) {
        Coord<D> next = c;
        if (++next[d] == extents_[d] || !(wet(i) || wet(i + strides_[d]))) continue;
        const Point y = position(next);
        if (x == y || !near_wall(y)) continue;
        if (walls_->hidden(x, &y, 1, nullptr)) cut_[i] |= static_cast<std::uint8_t>(1u << d);
      }
    }
  });
}

template <class T, int D>
Vec<double, D> SheetLattice<T, D>::gradient_of_cell(const Coord<D>& c, int& unknown) const {
  const Coord<D>& shape = walls_->grid().local_shape();
  Point g = Point::Zero();
  unknown = 0;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    Coord<D> low = c, high = c;
    ++high[a];
    if (c[a] > 0 && !walls_->blocked(d, c, nullptr)) --low[a];
    if (high[a] == shape[a] || walls_->blocked(d, high, nullptr)) --high[a];
    if (low == high) {
      ++unknown;
      continue;
    }
    const double rise = static_cast<double>(*source_.view.at(high)) - static_cast<double>(*source_.view.at(low));
    g[d] = rise / (walls_->grid().spacing() * static_cast<double>(high[a] - low[a]));
  }
  return g;
}

template <class T, int D>
SheetLattice<T, D>::Level SheetLattice<T, D>::level(const Point& x) const {
  constexpr std::uint32_t corners = 1u << D;
  const grid::Grid<D>& grid = walls_->grid();
  std::array<Coord<D>, corners> cell;
  std::array<Point, corners> center;
  for (std::uint32_t q = 0; q < corners; ++q)
    for (std::size_t d = 0; d < D; ++d) {
      const auto k = static_cast<Index>(d);
      const double at = (x[k] - grid.origin()[k]) / grid.spacing() - 0.5;
      cell[q][d] = std::clamp<Index>(static_cast<Index>(std::floor(at)) + ((q >> d) & 1u), 0, grid.local_shape()[d] - 1);
      center[q][k] = grid.origin()[k] + grid.spacing() * (static_cast<double>(cell[q][d]) + 0.5);
    }
  const std::uint32_t hidden = near_wall(x) ? walls_->hidden(x, center.data(), static_cast<int>(corners), nullptr) : 0u;
  if (!hidden) {
    const double half = 0.5 * grid.spacing();
    const auto at = [&](const Point& y) { return level_past_walls<T, D>(source_, *walls_, {x, y}); };
    Point g;
    for (int d = 0; d < D; ++d) g[d] = (at(x + half * Point::Unit(d)) - at(x - half * Point::Unit(d))) / (2 * half);
    return {at(x), g.allFinite() ? g : Point::Zero()};
  }
  Level found{std::numeric_limits<double>::quiet_NaN(), Point::Zero()};
  double nearest = std::numeric_limits<double>::infinity();
  int fewest = D + 1;
  bool sees_water = false;
  for (std::uint32_t q = 0; q < corners; ++q) {
    if ((hidden >> q) & 1u) continue;
    const auto value = static_cast<double>(*source_.view.at(cell[q]));
    sees_water |= value <= 0;
    const double distance = (center[q] - x).squaredNorm();
    int unknown = 0;
    const Point gradient = gradient_of_cell(cell[q], unknown);
    if (unknown > fewest || (unknown == fewest && !(distance < nearest))) continue;
    nearest = distance;
    fewest = unknown;
    found.gradient = gradient;
    found.value = value + found.gradient.dot(x - center[q]);
  }
  if (!sees_water && found.value <= 0) found.value = step_ * surface::crossing_margin;
  return found;
}

template <class T, int D>
double SheetLattice<T, D>::level_at_sheet(Index i, int axis, int direction, double part, const Point& x) const {
  const Index behind = i - direction * strides_[axis];
  const Index at = surface::index_of<D>(i, strides_)[axis] - direction;
  const bool inner = at > 1 && at < extents_[axis] - 2;
  if (inner && !cut(std::min(i, behind), axis)) return value(i) + part * (value(i) - value(behind));
  return level(x).value;
}

template class SheetLattice<float, 3>;
template class SheetLattice<double, 2>;
template class SheetLattice<double, 3>;

}  // namespace meniscus::coupling
