#include "meniscus/grid/particles/point_images.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::grid {
namespace {

/// m; 0 along axes that have sides.
template <int D>
double period_of(const Grid<D>& grid, int axis) {
  const Index a = axis;
  return grid.periodic()[a] ? grid.spacing() * static_cast<double>(grid.shape()[a]) : 0.0;
}

}  // namespace

template <int D>
std::vector<Vec<double, D>> image_shifts(const Grid<D>& grid, const Vec<double, D>& lower, const Vec<double, D>& upper) {
  std::vector<Vec<double, D>> shifts{Vec<double, D>::Zero()};
  for (int d = 0; d < D; ++d) {
    const double period = period_of(grid, d);
    if (period == 0.0 || !std::isfinite(lower[d]) || !std::isfinite(upper[d])) continue;
    // The images of a surface point are one period apart, so the nearest is within half a period of any point along this axis.
    const double first = std::ceil((grid.origin()[d] - 0.5 * period - upper[d]) / period);
    const double last = std::floor((grid.origin()[d] + 1.5 * period - lower[d]) / period);
    require(last - first < 1000, "a solid must not be longer than 1000 periods of the grid");
    std::vector<Vec<double, D>> more;
    for (double k = first; k <= last; ++k)
      for (Vec<double, D> shift : shifts) {
        shift[d] = k * period;
        more.push_back(shift);
      }
    if (!more.empty()) shifts = std::move(more);
  }
  return shifts;
}

template <int D>
std::vector<Vec<double, D>> shifts_to_copies(const Grid<D>& grid) {
  std::vector<Vec<double, D>> shifts{Vec<double, D>::Zero()};
  for (int d = 0; d < D; ++d) {
    const double period = period_of(grid, d);
    if (period == 0.0) continue;
    const std::size_t count = shifts.size();
    for (const double image : {-1.0, 1.0})
      for (std::size_t i = 0; i < count; ++i) {
        Vec<double, D> shift = shifts[i];
        shift[d] += image * period;
        shifts.push_back(shift);
      }
  }
  return shifts;
}

template <int D>
NearestImage<D>::NearestImage(const Grid<D>& grid, const Vec<double, D>& lower, const Vec<double, D>& upper, bool images) {
  for (int d = 0; d < D; ++d) {
    if (!images || !std::isfinite(lower[d]) || !std::isfinite(upper[d])) continue;
    middle_[d] = 0.5 * (lower[d] + upper[d]);
    period_[d] = period_of(grid, d);
  }
}

#define MENISCUS_INSTANTIATE(D)                                                                                       \
  template std::vector<Vec<double, D>> image_shifts<D>(const Grid<D>&, const Vec<double, D>&, const Vec<double, D>&); \
  template std::vector<Vec<double, D>> shifts_to_copies<D>(const Grid<D>&);                                           \
  template class NearestImage<D>;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
