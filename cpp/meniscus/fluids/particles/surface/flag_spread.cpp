#include "meniscus/fluids/particles/surface/flag_spread.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::fluids {
namespace {

using Flag = std::uint8_t;

template <bool all>
void join_flags(Flag* to, const Flag* from, Index count) {
  simd_dispatch([&] {
#pragma GCC ivdep
    for (Index k = 0; k < count; ++k) to[k] = all ? to[k] & from[k] : to[k] | from[k];
  });
}

}  // namespace

template <int D>
void spread_flags(const grid::Grid<D>& grid, const grid::SearchWindow<D>& window, std::uint8_t* flags, std::uint8_t* scratch,
                  Index reach, bool all) {
  const Coord<D>& n = window.shape();
  const Index cells = product<D>(n);
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    const Index length = n[d], inner = c_strides<D>(n)[d];
    // Of the cells beyond the ends of the axis, below first.
    std::vector<Index> beyond(2 * reach);
    for (Index o = 1; o <= reach; ++o)
      for (const Index upper : {0, 1}) {
        const Index c = upper ? length - 1 + o : -o;
        beyond[2 * o - 2 + upper] = window.place(axis, grid::mirrored_cell(grid, axis, window.cell(axis, c)).cell);
      }
    const auto place = [&](Index c) { return c < 0 ? beyond[-2 * c - 2] : c < length ? c : beyond[2 * (c - length) + 1]; };
    const auto join = all ? join_flags<true> : join_flags<false>;
    // Runs of cells that have the same place along the axis; along the last one, runs of all places.
    const Index run = axis == D - 1 ? length : inner;
    parallel_for(0, cells / run, std::max<Index>(1, 8192 / run), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Flag* from = flags + r * run;
        Flag* to = scratch + r * run;
        std::copy_n(from, run, to);
        const Index c = axis == D - 1 ? 0 : r % length;
        for (Index o = -reach; o <= reach; ++o) {
          if (axis < D - 1) {
            const Index at = place(c + o);
            if (at >= 0 && at != c) join(to, from + (at - c) * run, run);
            continue;
          }
          const Index first = std::clamp<Index>(-o, 0, length), last = std::clamp<Index>(length - o, first, length);
          join(to + first, from + first + o, last - first);
          const auto join_one = [&](Index k) {
            if (const Index at = place(k + o); at >= 0) to[k] = all ? to[k] & from[at] : to[k] | from[at];
          };
          for (Index k = 0; k < first; ++k) join_one(k);
          for (Index k = last; k < length; ++k) join_one(k);
        }
      }
    });
    parallel_for(0, cells, 1 << 16, [&](Index begin, Index end) { std::copy(scratch + begin, scratch + end, flags + begin); });
  }
}

template void spread_flags<2>(const grid::Grid<2>&, const grid::SearchWindow<2>&, std::uint8_t*, std::uint8_t*, Index, bool);
template void spread_flags<3>(const grid::Grid<3>&, const grid::SearchWindow<3>&, std::uint8_t*, std::uint8_t*, Index, bool);

}  // namespace meniscus::fluids
