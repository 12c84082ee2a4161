#include "meniscus/surface/fast_marching.hpp"

#include "meniscus/core/cancellation.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus {
namespace {

/// A binary heap of estimates, smallest first, in memory of a workspace that grows by doubling.
template <class T>
class EstimateHeap {
 public:
  struct Entry {
    T value;
    Index slot;
    bool operator>(const Entry& o) const { return value > o.value || (value == o.value && slot > o.slot); }
  };

  EstimateHeap(Workspace& workspace, Index capacity) : workspace_(workspace), memory_(workspace.take<Entry>(capacity)) {}

  bool empty() const { return count_ == 0; }
  void push(Entry e) {
    if (count_ == memory_.size()) {
      auto larger = workspace_.take<Entry>(2 * count_);
      std::copy_n(memory_.data(), count_, larger.data());
      memory_ = std::move(larger);
    }
    memory_.data()[count_++] = e;
    std::push_heap(memory_.data(), memory_.data() + count_, std::greater<>());
  }
  Entry pop() {
    std::pop_heap(memory_.data(), memory_.data() + count_, std::greater<>());
    return memory_.data()[--count_];
  }

 private:
  Workspace& workspace_;
  Workspace::Lease<Entry> memory_;
  Index count_ = 0;
};

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
        if (std::signbit(u[k]) && u[k] > static_cast<T>(-far_away)) update_neighbours(coordinate(strip * strip_lanes + k));
    }
    Index accepted = 0;
    while (!heap_.empty()) {
      const auto top = heap_.pop();
      T& u = strips_.values.data()[top.slot];
      if (!(top.value == u)) continue;  // accepted already, or a better estimate came later
      u = -u;
      update_neighbours(coordinate(top.slot));
      if ((++accepted & 0xffff) == 0) check_interrupt();
    }
  }

 private:
  Coord<D> coordinate(Index slot) const {
    const Index row_slots = grid_.row_strips * strip_lanes;
    Coord<D> c = grid_.row_coordinate(slot / row_slots);
    c[D - 1] = slot % row_slots;
    return c;
  }
  Index slot(const Coord<D>& c) const {
    Index row = 0;
    for (int d = 0; d < D - 1; ++d) row = row * grid_.count[d] + c[d];
    return row * grid_.row_strips * strip_lanes + c[D - 1];
  }
  template <class Visit>
  void for_each_neighbour(const Coord<D>& c, Visit&& visit) const {
    for (int d = 0; d < D; ++d)
      for (const int step : {-1, 1}) {
        Coord<D> q = c;
        q[d] = grid_.neighbour(d, c[d], step);
        if (q[d] >= 0) visit(d, q);
      }
  }

  void update_neighbours(const Coord<D>& c) {
    for_each_neighbour(c, [&](int, const Coord<D>& q) {
      const Index strip = slot(q) / strip_lanes;
      if (!strips_.touched.data()[strip]) {
        const Index row = strip / grid_.row_strips;
        strips_.touch(StripPlace<D>::of(grid_, grid_.row_coordinate(row), row, strip % grid_.row_strips), visibility_);
      }
      T& u = strips_.values.data()[slot(q)];
      if (std::signbit(u)) return;
      std::array<T, D> a;
      a.fill(static_cast<T>(far_away));
      for_each_neighbour(q, [&](int d, const Coord<D>& r) {
        const Index at = slot(r);
        if (!strips_.touched.data()[at / strip_lanes]) return;
        const T v = strips_.values.data()[at];
        // Only what is final counts.
        if (std::signbit(v)) a[static_cast<std::size_t>(d)] = std::min(a[static_cast<std::size_t>(d)], -v);
      });
      const T next = eikonal_solution<D, T>(a);
      if (!(next < u) || !(next < band_)) return;
      u = next;
      heap_.push({next, slot(q)});
    });
  }

  const DistanceStrips<T, D>& strips_;
  const StripGrid<D>& grid_;
  T band_;
  const Visibility& visibility_;
  EstimateHeap<T> heap_;
};

}  // namespace

template <class T, int D, class Visibility>
void march(const DistanceStrips<T, D>& strips, T band, const Visibility& visibility, Workspace& workspace) {
  Marcher<T, D, Visibility>(strips, band, visibility, workspace).run();
}

#define MENISCUS_INSTANTIATE(T, D)                                                                        \
  template void march<T, D, EverySample>(const DistanceStrips<T, D>&, T, const EverySample&, Workspace&); \
  template void march<T, D, MaskedSamples>(const DistanceStrips<T, D>&, T, const MaskedSamples&, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
