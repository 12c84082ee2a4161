#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <cstring>

namespace meniscus::parallel {
namespace {

Index wrap(Index i, Index period) { return ((i % period) + period) % period; }

}  // namespace

template <int D>
HaloPlan<D>::HaloPlan(const HaloLayout<D>& layout) : layout_(layout) {
  require(layout.ghost <= max_ghost, "at most ", max_ghost, " ghost layers, got ", layout.ghost);
  const Index g = layout.ghost;
  for (int d = 0; d < D; ++d) {
    const Index period = layout.period[d];
    if (period == 0) continue;
    const Index owned = layout.owned[d];
    const bool shares_face = owned == period + 1;
    // The owner of a sample is its wrapped image; for a shared face that is the last sample, not the first.
    const auto owner = [&](Index i) {
      const Index w = wrap(i, period);
      return shares_face && w == 0 ? period : w;
    };
    const auto add = [&](Index to) {
      Transfers& t = transfers_[d];
      const Index from = owner(to) + g;
      Transfer* last = t.count ? &t.list[t.count - 1] : nullptr;
      if (last && last->to + last->count == to + g && last->from + last->count == from)
        ++last->count;
      else
        t.list[t.count++] = {from, to + g, 1};
    };
    for (Index i = -g; i < (shares_face ? 1 : 0); ++i) add(i);
    for (Index i = owned; i < owned + g; ++i) add(i);
  }
}

template <int D>
template <class T>
void HaloPlan<D>::exchange(int axis, T* first) const {
  const Index g = layout_.ghost;
  Coord<D> padded;
  for (int d = 0; d < D; ++d) padded[d] = layout_.owned[d] + 2 * g;
  const Coord<D> stride = c_strides<D>(padded);
  if (axis == 0) {
    // Whole planes are contiguous; the part of later axes that is not owned yet is overwritten by their own exchange.
    for (const Transfer& t : transfers_[0])
      for (Index k = 0; k < t.count; ++k)
        std::memcpy(first + (t.to + k) * stride[0], first + (t.from + k) * stride[0],
                    static_cast<std::size_t>(stride[0]) * sizeof(T));
    return;
  }
  Index outer = 1;
  for (int d = 0; d < axis; ++d) outer *= padded[d];
  const Index inner = stride[axis];
  const Index span = inner * padded[axis];
  parallel_for(0, outer, std::max<Index>(1, 4096 / inner), [&](Index b, Index e) {
    for (Index o = b; o < e; ++o)
      for (const Transfer& t : transfers_[axis])
        for (Index k = 0; k < t.count; ++k)
          std::memcpy(first + o * span + (t.to + k) * inner, first + o * span + (t.from + k) * inner,
                      static_cast<std::size_t>(inner) * sizeof(T));
  });
}

template class HaloPlan<2>;
template class HaloPlan<3>;
#define MENISCUS_INSTANTIATE(T)                          \
  template void HaloPlan<2>::exchange<T>(int, T*) const; \
  template void HaloPlan<3>::exchange<T>(int, T*) const;
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
MENISCUS_INSTANTIATE(std::uint8_t)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::parallel
