#include "meniscus/grid/walls/clearance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::grid {
namespace {

/// Lowers the values of a row to distance r or more from values of another one.
void lower_row(std::uint8_t* row, const std::uint8_t* other, Index n, Index r) {
  const auto away = static_cast<std::uint8_t>(r);
  for (Index k = 0; k < n; ++k) row[k] = std::min(row[k], std::max(other[k], away));
}

/// Rows of cells along the last axis, and which of them have a value below the largest.
template <int D>
struct Rows {
  Coord<D> shape;
  std::array<bool, D> closes;
  Index length, count;

  /// out[i] = min over j of max(|i - j|, in[j]) along one axis; `some` tells of `in`, and of `out` afterwards.
  void lower(std::size_t axis, const std::uint8_t* in, std::uint8_t* out, const std::uint8_t* some,
             std::uint8_t* some_out) const {
    parallel_for(0, count, std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const std::uint8_t* const from = in + row * length;
        std::uint8_t* const to = out + row * length;
        std::copy_n(from, length, to);
        some_out[row] = some[row];
        if (axis + 1 == D) {
          if (some[row]) lower_along(from, to, closes[axis]);
          continue;
        }
        Index stride = 1;
        for (std::size_t d = axis + 1; d + 1 < D; ++d) stride *= shape[d];
        const Index n = shape[axis], i = row / stride % n;
        for (Index r = 1; r < std::min<Index>(largest_clearance, n); ++r)
          for (const Index step : {-r, r}) {
            const Index j = closes[axis] ? (i + step + n) % n : i + step;
            if (j < 0 || j >= n || !some[row + (j - i) * stride]) continue;
            lower_row(to, in + (row + (j - i) * stride) * length, length, r);
            some_out[row] = 1;
          }
      }
    });
  }

 private:
  void lower_along(const std::uint8_t* from, std::uint8_t* to, bool around) const {
    for (Index r = 1; r < std::min<Index>(largest_clearance, length); ++r) {
      lower_row(to + r, from, length - r, r);
      lower_row(to, from + r, length - r, r);
      if (!around) continue;
      lower_row(to, from + length - r, r, r);
      lower_row(to + length - r, from, r, r);
    }
  }
};

}  // namespace

template <int D>
Index find_clearance(const Grid<D>& grid, std::span<std::uint8_t> cells, std::vector<std::uint8_t>& scratch) {
  const Coord<D>& shape = grid.local_shape();
  const Rows<D> rows{shape, grid.periodic(), shape[D - 1], product<D>(shape) / shape[D - 1]};
  const auto size = static_cast<Index>(cells.size());
  scratch.resize(size + 2 * rows.count);
  std::uint8_t *in = cells.data(), *out = scratch.data(), *some = out + size, *some_out = some + rows.count;
  const Index count = parallel_reduce(
      0, rows.count, std::max<Index>(1, 16384 / rows.length), Index{0},
      [&](Index begin, Index end) {
        Index marked = 0;
        for (Index row = begin; row < end; ++row) {
          const Index before = marked;
          for (Index k = row * rows.length; k < (row + 1) * rows.length; ++k) {
            marked += in[k] != 0;
            in[k] = in[k] != 0 ? 0 : largest_clearance;
          }
          some[row] = marked > before;
        }
        return marked;
      },
      [](Index a, Index b) { return a + b; });
  for (std::size_t axis = D; axis-- > 0;) {
    rows.lower(axis, in, out, some, some_out);
    std::swap(in, out);
    std::swap(some, some_out);
  }
  if (in != cells.data()) std::copy_n(in, size, cells.data());
  return count;
}

template <int D>
std::vector<Vec<double, D>> domain_images(const Grid<D>& grid) {
  std::vector<Vec<double, D>> images{Vec<double, D>::Zero()};
  for (int d = 0; d < D; ++d) {
    if (!grid.periodic()[d]) continue;
    const double length = grid.spacing() * static_cast<double>(grid.shape()[d]);
    const std::size_t n = images.size();
    for (const double shift : {-length, length})
      for (std::size_t i = 0; i < n; ++i) {
        images.push_back(images[i]);
        images.back()[d] += shift;
      }
  }
  return images;
}

template <int D>
void require_images(const Grid<D>& grid, std::span<const Vec<double, D>> points) {
  for (int d = 0; d < D; ++d) {
    if (!grid.periodic()[d]) continue;
    const double length = grid.spacing() * static_cast<double>(grid.shape()[d]);
    const double low = grid.origin()[d] - 0.5 * length, high = grid.origin()[d] + 1.5 * length;
    for (const Vec<double, D>& x : points)
      require(x[d] > low && x[d] < high,
              "along a periodic axis a shell must stay within half a length of the domain, but a vertex is at ", x[d], " m");
  }
}

template Index find_clearance<2>(const Grid<2>&, std::span<std::uint8_t>, std::vector<std::uint8_t>&);
template Index find_clearance<3>(const Grid<3>&, std::span<std::uint8_t>, std::vector<std::uint8_t>&);
template std::vector<Vec<double, 2>> domain_images<2>(const Grid<2>&);
template std::vector<Vec<double, 3>> domain_images<3>(const Grid<3>&);
template void require_images<2>(const Grid<2>&, std::span<const Vec<double, 2>>);
template void require_images<3>(const Grid<3>&, std::span<const Vec<double, 3>>);

}  // namespace meniscus::grid
