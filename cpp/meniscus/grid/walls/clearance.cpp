#include "meniscus/grid/walls/clearance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::grid {
namespace {

/// Lowers values to distances along one axis: v[i] = min over j of max(|i - j|, v[j]). `line` is scratch for n values.
void lower_along(std::uint8_t* first, Index n, Index stride, bool around, std::uint8_t* line) {
  bool far = true;
  for (Index i = 0; i < n; ++i) {
    line[i] = first[i * stride];
    far &= line[i] == largest_clearance;
  }
  if (far) return;
  for (Index i = 0; i < n; ++i) {
    Index best = line[i];
    for (Index r = 1; r < best; ++r) {
      Index low = i - r, high = i + r;
      if (around) {
        low = ((low % n) + n) % n;
        high %= n;
      }
      Index other = largest_clearance;
      if (low >= 0) other = std::min<Index>(other, line[low]);
      if (high < n) other = std::min<Index>(other, line[high]);
      best = std::min(best, std::max(r, other));
    }
    first[i * stride] = static_cast<std::uint8_t>(best);
  }
}

}  // namespace

template <int D>
Index find_clearance(const Grid<D>& grid, std::span<const std::uint8_t> marked, std::span<std::uint8_t> out) {
  const Coord<D>& shape = grid.local_shape();
  const Coord<D> strides = c_strides<D>(shape);
  Index count = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool mark = marked[i] != 0;
    out[i] = mark ? 0 : largest_clearance;
    count += mark;
  }
  for (int d = D - 1; d >= 0; --d) {
    const auto axis = static_cast<std::size_t>(d);
    const Index n = shape[axis], stride = strides[axis], lines = product<D>(shape) / n;
    parallel_for(0, lines, std::max<Index>(1, 4096 / n), [&](Index b, Index e) {
      std::array<std::uint8_t, 1 << 12> buffer;
      std::vector<std::uint8_t> large;
      std::uint8_t* line = buffer.data();
      if (n > static_cast<Index>(buffer.size())) {
        large.resize(static_cast<std::size_t>(n));
        line = large.data();
      }
      for (Index l = b; l < e; ++l)
        lower_along(out.data() + l / stride * stride * n + l % stride, n, stride, grid.periodic()[axis], line);
    });
  }
  return count;
}

template <int D>
std::vector<Vec<double, D>> domain_images(const Grid<D>& grid) {
  std::vector<Vec<double, D>> images{Vec<double, D>::Zero()};
  for (int d = 0; d < D; ++d) {
    if (!grid.periodic()[static_cast<std::size_t>(d)]) continue;
    const double length = grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]);
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
    if (!grid.periodic()[static_cast<std::size_t>(d)]) continue;
    const double length = grid.spacing() * static_cast<double>(grid.shape()[static_cast<std::size_t>(d)]);
    const double low = grid.origin()[d] - 0.5 * length, high = grid.origin()[d] + 1.5 * length;
    for (const Vec<double, D>& x : points)
      require(x[d] > low && x[d] < high,
              "along a periodic axis a shell must stay within half a length of the domain, but a vertex is at ", x[d], " m");
  }
}

template Index find_clearance<2>(const Grid<2>&, std::span<const std::uint8_t>, std::span<std::uint8_t>);
template Index find_clearance<3>(const Grid<3>&, std::span<const std::uint8_t>, std::span<std::uint8_t>);
template std::vector<Vec<double, 2>> domain_images<2>(const Grid<2>&);
template std::vector<Vec<double, 3>> domain_images<3>(const Grid<3>&);
template void require_images<2>(const Grid<2>&, std::span<const Vec<double, 2>>);
template void require_images<3>(const Grid<3>&, std::span<const Vec<double, 3>>);

}  // namespace meniscus::grid
