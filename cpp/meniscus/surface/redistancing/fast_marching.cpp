#include "meniscus/surface/redistancing/fast_marching.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/redistancing/priority_queue.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

template <class T, int D, class Visibility>
class Marcher {
 public:
  Marcher(const DistanceStrips<T, D>& strips, T band, const Visibility& visibility, Workspace& workspace)
      : strips_(strips), grid_(strips.grid), band_(band), visibility_(visibility), heap_(workspace, 1 << 14) {}

  void run() {
    for (Index strip = 0; strip < grid_.strips(); ++strip) {
      if (!strips_.touched.data()[strip]) continue;
      const T* u = strips_.at(strip);
      // A seed is final, but unlike what is hidden it is near. Strips that are touched meanwhile hold none.
      for (int k = 0; k < strip_lanes; ++k)
        if (std::signbit(u[k]) && u[k] > static_cast<T>(-infinite_distance))
          update_neighbours(grid_.coordinate(strip * strip_lanes + k));
    }
    Index accepted = 0;
    while (!heap_.empty()) {
      const auto top = heap_.pop();
      T& u = strips_.values.data()[top.slot];
      if (!(top.value == u)) continue;  // accepted already, or a better estimate came later
      u = -u;
      update_neighbours(grid_.coordinate(top.slot));
      if ((++accepted & 0xffff) == 0) check_interrupt();
    }
  }

 private:
  void update_neighbours(const Coord<D>& c) {
    grid_.for_each_beside(c, [&](int, const Coord<D>& q) {
      const Index strip = grid_.slot(q) / strip_lanes;
      if (!strips_.touched.data()[strip]) strips_.touch(StripPlace<D>::of(grid_, strip), visibility_);
      T& u = strips_.values.data()[grid_.slot(q)];
      if (std::signbit(u)) return;
      std::array<T, D> a;
      a.fill(static_cast<T>(infinite_distance));
      grid_.for_each_beside(q, [&](int d, const Coord<D>& r) {
        const Index at = grid_.slot(r);
        if (!strips_.touched.data()[at / strip_lanes]) return;
        const T v = strips_.values.data()[at];
        // Only what is final counts.
        if (std::signbit(v)) a[d] = std::min(a[d], -v);
      });
      T next;
      if constexpr (D == 3)
        eikonal_solutions<1, T>(&a[0], &a[1], &a[2], band_, &u, &next);
      else
        eikonal_solutions<1, T>(&a[0], &a[1], band_, &u, &next);
      if (!(next < u)) return;
      u = next;
      heap_.push({next, grid_.slot(q)});
    });
  }

  const DistanceStrips<T, D>& strips_;
  const StripGrid<D>& grid_;
  T band_;
  const Visibility& visibility_;
  PriorityQueue<T> heap_;
};

}  // namespace

template <class T, int D, class Visibility>
void march(const DistanceStrips<T, D>& strips, T band, const Visibility& visibility, Workspace& workspace) {
  Marcher<T, D, Visibility>(strips, band, visibility, workspace).run();
}

#define MENISCUS_INSTANTIATE(T, D)                                                                        \
  template void march<T, D, EverySample>(const DistanceStrips<T, D>&, T, const EverySample&, Workspace&); \
  template void march<T, D, MaskedSamples>(const DistanceStrips<T, D>&, T, const MaskedSamples&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
