#include "meniscus/grid/blocks/far_points.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/particles/domain_sides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::grid {
namespace {

constexpr Index points_per_piece = 16384;
/// Coordinates that are compared at once: a multiple of 2 and 3, so that each lane has one axis.
constexpr Index lanes = 48;
constexpr Index block_of_points = 64;

/// The cells of one axis that count as near.
struct NearCells {
  int axis;
  double origin, spacing, cells;
  double low, high;    ///< of the block with its layers: low <= cell < high
  double first, last;  ///< of the block alone
  bool around;         ///< periodic

  /// The cell as `locate_in_domain` finds it, which is a monotone function of x but for images around a periodic axis. Compared
  /// in doubles, which hold all cells.
  MENISCUS_INLINE bool has(double x) const {
    const double c = std::floor((x - origin) / spacing);
    if (!around) {
      const double inside = c < 0.0 ? 0.0 : c > cells - 1.0 ? cells - 1.0 : c;
      return (inside >= low) & (inside < high);
    }
    double image = c - cells * std::floor(c / cells);
    image = image > cells - 1.0 ? cells - 1.0 : image >= 0.0 ? image : 0.0;
    return ((c >= low) & (c < high)) | ((image >= first) & (image < last));
  }
};

template <int D>
NearCells near_cells(const Grid<D>& grid, int axis, Index layers) {
  const Index d = axis;
  const Index first = grid.first_cell()[d], last = first + grid.local_shape()[d];
  return {axis,
          grid.origin()[axis],
          grid.spacing(),
          static_cast<double>(grid.shape()[d]),
          static_cast<double>(first - layers),
          static_cast<double>(last + layers),
          static_cast<double>(first),
          static_cast<double>(last),
          grid.periodic()[d]};
}

}  // namespace

template <class T, int D>
PointBox<D> box_of_points(const T* points, Index n) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  PointBox<D> none;
  none.low.fill(infinity);
  none.high.fill(-infinity);
  return parallel_reduce(
      0, n, points_per_piece, none,
      [&](Index begin, Index end) {
        std::array<T, lanes> lowest, highest;
        simd_dispatch([&] {
          // Local, so that no point can be one of them.
          std::array<T, lanes> least, most;
          least.fill(std::numeric_limits<T>::infinity());
          most.fill(-std::numeric_limits<T>::infinity());
          Index i = begin * D;
          for (; i + lanes <= end * D; i += lanes)
            for (std::size_t l = 0; l < lanes; ++l) {
              const T x = points[i + static_cast<Index>(l)];
              least[l] = x < least[l] ? x : least[l];
              most[l] = x > most[l] ? x : most[l];
            }
          for (std::size_t l = 0; i < end * D; ++i, ++l) {
            least[l] = std::min(least[l], points[i]);
            most[l] = std::max(most[l], points[i]);
          }
          lowest = least;
          highest = most;
        });
        PointBox<D> box = none;
        for (std::size_t l = 0; l < lanes; ++l) {
          box.low[l % D] = std::min(box.low[l % D], static_cast<double>(lowest[l]));
          box.high[l % D] = std::max(box.high[l % D], static_cast<double>(highest[l]));
        }
        return box;
      },
      [](PointBox<D> a, const PointBox<D>& b) {
        for (std::size_t d = 0; d < D; ++d) {
          a.low[d] = std::min(a.low[d], b.low[d]);
          a.high[d] = std::max(a.high[d], b.high[d]);
        }
        return a;
      });
}

template <class T, int D>
std::vector<Index> far_points(const Grid<D>& grid, const T* points, Index n, const PointBox<D>& box, Index layers) {
  std::vector<Index> far;
  std::vector<NearCells> doubtful;
  for (int axis = 0; axis < D && n > 0; ++axis) {
    const Index d = axis;
    if (!grid.block().cut(axis)) continue;
    const NearCells near = near_cells(grid, axis, layers);
    const double low = std::floor((box.low[d] - near.origin) / near.spacing);
    const double high = std::floor((box.high[d] - near.origin) / near.spacing);
    // Between two cells of the block there is no other cell, unless images are looked for.
    const bool inside = near.around ? low >= near.low && high < near.high : near.has(box.low[d]) && near.has(box.high[d]);
    if (!inside) doubtful.push_back(near);
  }
  if (doubtful.empty()) return far;
  std::array<std::uint8_t, block_of_points> flags;
  for (Index begin = 0; begin < n; begin += block_of_points) {
    const Index count = std::min<Index>(block_of_points, n - begin);
    flags.fill(0);
    bool any = false;
    simd_dispatch([&] {
      int found = 0;
      for (const NearCells& near : doubtful) {
        const T* x = points + begin * D + near.axis;
        for (Index l = 0; l < count; ++l) {
          const bool out = !near.has(static_cast<double>(x[l * D]));
          flags[l] |= static_cast<std::uint8_t>(out);
          found |= static_cast<int>(out);
        }
      }
      any = found != 0;
    });
    for (Index l = 0; any && l < count; ++l)
      if (flags[l]) far.push_back(begin + l);
  }
  return far;
}

template <int D>
double cells_outside(const Grid<D>& grid, const PointBox<D>& box) {
  const DomainSides<D> sides(grid);
  double most = 0.0;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    if (sides.stops(d, 0)) most = std::max({most, sides.at(d, 0) - box.low[axis], box.high[axis] - sides.at(d, 1)});
  }
  return most / grid.spacing();
}

#define MENISCUS_INSTANTIATE(T, D)                           \
  template PointBox<D> box_of_points<T, D>(const T*, Index); \
  template std::vector<Index> far_points<T, D>(const Grid<D>&, const T*, Index, const PointBox<D>&, Index);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
template double cells_outside<2>(const Grid<2>&, const PointBox<2>&);
template double cells_outside<3>(const Grid<3>&, const PointBox<3>&);

}  // namespace meniscus::grid
