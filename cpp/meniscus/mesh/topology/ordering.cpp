#include "meniscus/mesh/topology/ordering.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/numerics/morton.hpp"

#include <algorithm>
#include <tuple>

namespace meniscus::mesh {
namespace {

constexpr Index code_chunk = 4096;

std::vector<std::int32_t> sorted_positions(std::vector<std::uint64_t>& keys, std::uint64_t end_key) {
  std::vector<Index> order(keys.size());
  Workspace workspace;
  radix_sort(keys.data(), order.data(), static_cast<Index>(keys.size()), end_key, workspace);
  return {order.begin(), order.end()};
}

/// Numbers the vertices of one component in order of their distance.
class LevelSearch {
 public:
  explicit LevelSearch(const EdgeGraph& graph) : graph_(graph), visit_(graph.vertices(), 0) {}

  std::size_t degree(std::int32_t v) const { return graph_.neighbours(v).size(); }

  /// Fills `order` from `start` on; each vertex is followed by its new neighbours in ascending order of degree. Returns the
  /// number of levels, and where the last one begins.
  std::pair<std::size_t, std::size_t> run(std::int32_t start, std::vector<std::int32_t>& order) {
    ++visits_;
    order.assign(1, start);
    visit_[start] = visits_;
    std::size_t levels = 0;
    std::size_t begin = 0;
    for (std::size_t end = 1;; end = order.size()) {
      ++levels;
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t first = order.size();
        for (const std::int32_t w : graph_.neighbours(order[i])) {
          auto& seen = visit_[w];
          if (seen == visits_) continue;
          seen = visits_;
          order.push_back(w);
        }
        std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
                  [&](std::int32_t a, std::int32_t b) { return std::make_tuple(degree(a), a) < std::make_tuple(degree(b), b); });
      }
      if (order.size() == end) return {levels, begin};
      begin = end;
    }
  }

 private:
  const EdgeGraph& graph_;
  std::vector<std::int32_t> visit_;
  std::int32_t visits_ = 0;
};

}  // namespace

std::vector<std::int32_t> morton_order(std::span<const Point> points) {
  const auto n = static_cast<Index>(points.size());
  const Box all = parallel_reduce(
      0, n, code_chunk, Box{},
      [&](Index b, Index e) {
        Box box;
        for (Index i = b; i < e; ++i) box.add(points[i]);
        return box;
      },
      [](Box a, const Box& b) {
        a.add(b);
        return a;
      });
  const double extent = n > 0 ? (all.high - all.low).maxCoeff() : 0;
  const double cells_per_metre = extent > 0 ? static_cast<double>(1 << numerics::morton_bits_per_axis) / extent : 0;
  std::vector<std::uint64_t> codes(points.size());
  parallel_for(0, n, code_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) codes[i] = numerics::morton_code(points[i], all.low, cells_per_metre);
  });
  return sorted_positions(codes, std::uint64_t{1} << (3 * numerics::morton_bits_per_axis));
}

std::vector<std::int32_t> reverse_cuthill_mckee(const EdgeGraph& graph) {
  const auto n = static_cast<std::int32_t>(graph.vertices());
  LevelSearch search(graph);
  std::vector<std::int32_t> by_degree;
  for (std::int32_t v = 0; v < n; ++v)
    if (search.degree(v) > 0) by_degree.push_back(v);
  std::stable_sort(by_degree.begin(), by_degree.end(),
                   [&](std::int32_t a, std::int32_t b) { return search.degree(a) < search.degree(b); });
  std::vector<char> done(n, 0);
  std::vector<std::int32_t> result;
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> longer;
  for (const std::int32_t seed : by_degree) {
    if (done[seed]) continue;
    // From a vertex at one end of the component, levels are many and small.
    auto [levels, last] = search.run(seed, order);
    for (;;) {
      const std::int32_t far = *std::min_element(
          order.begin() + static_cast<std::ptrdiff_t>(last), order.end(),
          [&](auto a, auto b) { return std::make_tuple(search.degree(a), a) < std::make_tuple(search.degree(b), b); });
      const auto found = search.run(far, longer);
      if (found.first <= levels) break;
      order.swap(longer);
      std::tie(levels, last) = found;
    }
    for (const std::int32_t v : order) done[v] = 1;
    result.insert(result.end(), order.begin(), order.end());
  }
  std::reverse(result.begin(), result.end());
  for (std::int32_t v = 0; v < n; ++v)
    if (!done[v]) result.push_back(v);
  return result;
}

template <std::size_t N>
std::vector<std::int32_t> element_order(std::span<const std::array<std::int32_t, N>> elements,
                                        std::span<const std::int32_t> number) {
  std::vector<std::uint64_t> keys(elements.size());
  parallel_for(0, static_cast<Index>(elements.size()), code_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      std::int32_t lowest = number[elements[i][0]];
      for (const std::int32_t v : elements[i]) lowest = std::min(lowest, number[v]);
      keys[i] = static_cast<std::uint64_t>(lowest);
    }
  });
  return sorted_positions(keys, number.size());
}

template std::vector<std::int32_t> element_order<2>(std::span<const std::array<std::int32_t, 2>>, std::span<const std::int32_t>);
template std::vector<std::int32_t> element_order<3>(std::span<const std::array<std::int32_t, 3>>, std::span<const std::int32_t>);
template std::vector<std::int32_t> element_order<4>(std::span<const std::array<std::int32_t, 4>>, std::span<const std::int32_t>);

}  // namespace meniscus::mesh
