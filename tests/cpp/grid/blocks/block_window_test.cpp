// Values beyond a block, from the blocks that own them, however far.
#include "cut_domains.hpp"

#include "meniscus/grid/blocks/block_window.hpp"

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

/// Windows of every width and staggering hold what belongs to the global samples, around periodic axes too.
template <class V, int D>
void check_block_windows() {
  for (const auto& domain : cut_domains<D>())
    for (int axis = -1; axis < D; ++axis)
      for (const Index width : {0, 1, 3, 9, 50}) {
        const Stagger<D> stagger = axis < 0 ? Stagger<D>::cell() : Stagger<D>::face(axis);
        on_blocks<D>(domain, [&](const Grid<D>& grid) {
          const Coord<D> extents = stagger.extents(grid.local_shape());
          const auto value_of = [&](const Coord<D>& c) {
            Index value = 0;
            for (std::size_t d = 0; d < D; ++d) {
              const Index n = grid.shape()[d], i = grid.first_cell()[d] + c[d];
              value = 41 * value + (grid.periodic()[d] ? (i % n + n) % n : i);
            }
            return static_cast<V>(value % 251);
          };
          std::vector<V> own;
          for_each_sample<D>(extents, 0, [&](const Coord<D>& c) { own.push_back(value_of(c)); });
          const BlockWindow<V, D> window(grid, stagger, own.data(), c_strides<D>(extents), width);
          for_each_sample<D>(extents, width, [&](const Coord<D>& c) {
            for (int d = 0; d < D; ++d) {
              const auto a = static_cast<std::size_t>(d);
              const Index i = grid.first_cell()[a] + c[a];
              const bool in_window = grid.block().cut(d) || (c[a] >= 0 && c[a] < extents[a]);
              if (!grid.periodic()[a] && (i < 0 || i >= grid.shape()[a] + stagger.on_side[a] || !in_window)) return;
            }
            REQUIRE(window.at(c) == value_of(c));
          });
        });
      }
}

}  // namespace

TEST_CASE("windows around blocks hold the values of their owners") {
  check_block_windows<std::uint8_t, 2>();
  check_block_windows<std::int32_t, 2>();
  check_block_windows<double, 3>();
}
