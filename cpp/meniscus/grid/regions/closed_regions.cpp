#include "meniscus/grid/regions/closed_regions.hpp"

#include "meniscus/numerics/graph/disjoint_sets.hpp"

namespace meniscus::grid {

template <int D>
void find_closed_regions(const CellLayout<D>& layout, const std::array<const double*, D>& faces, const std::uint8_t* active,
                         ClosedRegions& out) {
  const Index n = layout.count();
  numerics::DisjointSets<Index> sets(n);
  std::vector<std::uint8_t> open(n, 0);
  const Coord<D> strides = c_strides<D>(layout.cells);
  const auto unknown = [&](Index c) { return active == nullptr || active[c] != 0; };
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    Coord<D> extents = layout.cells;
    ++extents[axis];
    const Index length = layout.cells[axis], inner = strides[axis], outer = n / (length * inner);
    for (Index o = 0; o < outer; ++o)
      for (Index k = 0; k <= length; ++k)
        for (Index i = 0; i < inner; ++i) {
          if (!(faces[axis][(o * (length + 1) + k) * inner + i] > 0)) continue;
          const bool around = layout.periodic[axis];
          Index lower = k > 0 ? (o * length + k - 1) * inner + i : around ? (o * length + length - 1) * inner + i : -1;
          Index upper = k < length ? (o * length + k) * inner + i : around ? o * length * inner + i : -1;
          if (lower >= 0 && !unknown(lower)) lower = -1;
          if (upper >= 0 && !unknown(upper)) upper = -1;
          if (lower >= 0 && upper >= 0) {
            sets.join(lower, upper);
          } else if (lower >= 0) {
            open[lower] = 1;
          } else if (upper >= 0) {
            open[upper] = 1;
          }
        }
  }
  for (Index c = 0; c < n; ++c)
    if (open[c]) open[sets.root(c)] = 1;
  out.label.assign(n, -1);
  out.cells.clear();
  for (Index c = 0; c < n; ++c) {
    const Index root = sets.root(c);
    if (!unknown(c) || open[root]) continue;
    // Roots come before all others of their region.
    if (root == c) {
      out.label[c] = static_cast<std::int32_t>(out.cells.size());
      out.cells.push_back(0);
    }
    const std::int32_t label = out.label[root];
    out.label[c] = label;
    ++out.cells[label];
  }
}

template void find_closed_regions<2>(const CellLayout<2>&, const std::array<const double*, 2>&, const std::uint8_t*,
                                     ClosedRegions&);
template void find_closed_regions<3>(const CellLayout<3>&, const std::array<const double*, 3>&, const std::uint8_t*,
                                     ClosedRegions&);

}  // namespace meniscus::grid
