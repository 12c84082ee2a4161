#include "meniscus/mesh/triangulation/spatial_order.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/core/random.hpp"

#include <algorithm>
#include <bit>

namespace meniscus::mesh {
namespace {

constexpr int bits = 17;
// Points of the first round, about.
constexpr Index first_round = 256;

}  // namespace

std::uint64_t hilbert_code(std::array<std::uint32_t, 3> cell) {
  // From the highest bit down, each octant's curve is that of the whole, turned and mirrored; undo these.
  constexpr std::uint32_t top = 1u << (bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    const std::uint32_t below = q - 1;
    for (auto& c : cell) {
      if (c & q) {
        cell[0] ^= below;
      } else {
        const std::uint32_t swapped = (cell[0] ^ c) & below;
        cell[0] ^= swapped;
        c ^= swapped;
      }
    }
  }
  // Gray code of the octants.
  cell[1] ^= cell[0];
  cell[2] ^= cell[1];
  std::uint32_t flips = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1)
    if (cell[2] & q) flips ^= q - 1;
  std::uint64_t code = 0;
  for (int b = bits - 1; b >= 0; --b)
    for (const std::uint32_t c : cell) code = code << 1 | ((c ^ flips) >> b & 1u);
  return code;
}

std::vector<std::int32_t> insertion_order(std::span<const Point> points) {
  const auto n = static_cast<Index>(points.size());
  std::vector<std::int32_t> order(points.size());
  if (n == 0) return order;
  Point low = points[0], high = points[0];
  for (const Point& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  // Halves, so that the size of no finite box overflows.
  const double size = (0.5 * high - 0.5 * low).maxCoeff();
  const double last_cell = (1 << bits) - 1;
  const int rounds = n > first_round ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n / first_round))) : 0;
  std::vector<std::uint64_t> keys(points.size());
  std::vector<Index> positions(points.size());
  parallel_for(0, n, 4096, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      std::array<std::uint32_t, 3> cell{};
      for (std::size_t d = 0; d < 3 && size > 0; ++d) {
        const auto k = static_cast<Eigen::Index>(d);
        const double part = (0.5 * points[i][k] - 0.5 * low[k]) / size;
        cell[d] = static_cast<std::uint32_t>(std::clamp(part * last_cell, 0.0, last_cell));
      }
      // Half of the points are in the last round, a quarter in the one before, and so on.
      const std::uint32_t word = CounterRandom(0, static_cast<std::uint64_t>(i), 0).words(0)[0];
      const int round = std::max(0, rounds - std::countr_one(word));
      keys[i] = static_cast<std::uint64_t>(round) << (3 * bits) | hilbert_code(cell);
    }
  });
  Workspace workspace;
  radix_sort(keys.data(), positions.data(), n, static_cast<std::uint64_t>(rounds + 1) << (3 * bits), workspace);
  std::transform(positions.begin(), positions.end(), order.begin(), [](Index i) { return static_cast<std::int32_t>(i); });
  return order;
}

}  // namespace meniscus::mesh
