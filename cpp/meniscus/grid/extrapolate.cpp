#include "meniscus/grid/extrapolate.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::grid {
namespace {

enum Mark : std::uint8_t { unknown = 0, is_known = 1, queued = 2 };

/// Neighbours across faces, with periodic wrap.
template <int D>
class Neighbourhood {
 public:
  explicit Neighbourhood(const FieldLayout<D>& layout) : extents_(layout.extents()), strides_(c_strides<D>(extents_)) {
    for (int d = 0; d < D; ++d) {
      shared_[d] = layout.halo.shared(d);
      // Of the two copies of a shared side the last is the owner.
      first_[d] = shared_[d] && layout.stagger.on_side[static_cast<std::size_t>(d)] ? 1 : 0;
    }
  }

  Coord<D> coordinate(Index q) const {
    Coord<D> c;
    for (int d = 0; d < D; ++d) {
      c[d] = q / strides_[d];
      q %= strides_[d];
    }
    return c;
  }

  bool is_copy(const Coord<D>& c) const {
    for (int d = 0; d < D; ++d)
      if (c[d] < first_[d]) return true;
    return false;
  }

  /// Linear index of the owner of a copy.
  Index owner(Index q) const {
    Coord<D> c = coordinate(q);
    for (int d = 0; d < D; ++d)
      if (c[d] < first_[d]) c[d] = extents_[d] - 1;
    return dot<D>(c, strides_);
  }

  /// Calls visit(linear index in the owned extents) for each neighbour.
  template <class Visit>
  void for_each(Index q, Visit&& visit) const {
    const Coord<D> c = coordinate(q);
    for (int d = 0; d < D; ++d)
      for (int step : {-1, 1}) {
        Index i = c[d] + step;
        if (i < first_[d] || i >= extents_[d]) {
          if (!shared_[d]) continue;
          i = step < 0 ? extents_[d] - 1 : first_[d];
        }
        visit(q + (i - c[d]) * strides_[d]);
      }
  }

 private:
  Coord<D> extents_;
  Coord<D> strides_;
  std::array<bool, D> shared_{};
  Coord<D> first_{};
};

}  // namespace

template <class T, int D>
Index extrapolate(Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace) {
  require(layers >= 0, "layers must not be negative, got ", layers);
  const Coord<D> extents = field.extents();
  const Index size = product<D>(extents);
  const Neighbourhood<D> neighbours(field.layout());
  const FieldView<T, D> view = field.view();
  // New values wait beside the field until all are known, so that an interruption leaves it as it was.
  auto fresh = workspace.take<T>(size);
  const auto sample = [&](Index q) -> T& { return *view.at(neighbours.coordinate(q)); };
  const auto value = [&](Index q) -> T { return known[q] ? sample(q) : fresh.data()[q]; };

  auto mark = workspace.take<std::uint8_t>(size);
  std::uint8_t* m = mark.data();
  parallel_for(0, size, 1 << 16, [&](Index b, Index e) {
    for (Index q = b; q < e; ++q) m[q] = known[q] ? is_known : unknown;
  });
  const auto reachable = [&](Index q) {
    if (m[q] != unknown || neighbours.is_copy(neighbours.coordinate(q))) return false;
    bool beside_known = false;
    neighbours.for_each(q, [&](Index n) { beside_known |= m[n] == is_known; });
    return beside_known;
  };

  // The first front: counted, then collected, in index order.
  constexpr Index piece = 1 << 14;
  const Index pieces = (size + piece - 1) / piece;
  auto starts = workspace.take<Index>(pieces + 1);
  starts.data()[0] = 0;
  parallel_for(0, size, piece, [&](Index b, Index e) {
    Index n = 0;
    for (Index q = b; q < e; ++q) n += reachable(q) ? 1 : 0;
    starts.data()[b / piece + 1] = n;
  });
  for (Index p = 0; p < pieces; ++p) starts.data()[p + 1] += starts.data()[p];
  Index count = starts.data()[pieces];
  auto front = workspace.take<Index>(count);
  parallel_for(0, size, piece, [&](Index b, Index e) {
    Index n = starts.data()[b / piece];
    for (Index q = b; q < e; ++q)
      if (reachable(q)) front.data()[n++] = q;
  });

  Index reached = 0;
  for (Index layer = 0; layer < layers && count > 0; ++layer) {
    check_interrupt();
    parallel_for(0, count, 4096, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        T sum = 0;
        int n = 0;
        neighbours.for_each(front.data()[i], [&](Index q) {
          if (m[q] != is_known) return;
          sum += value(q);
          ++n;
        });
        fresh.data()[front.data()[i]] = sum / static_cast<T>(n);
      }
    });
    for (Index i = 0; i < count; ++i) m[front.data()[i]] = is_known;
    reached += count;
    auto next = workspace.take<Index>(2 * D * count);
    Index next_count = 0;
    for (Index i = 0; i < count; ++i)
      neighbours.for_each(front.data()[i], [&](Index q) {
        if (m[q] != unknown) return;
        m[q] = queued;
        next.data()[next_count++] = q;
      });
    std::swap(front, next);
    count = next_count;
  }
  const NoInterrupts commit;
  parallel_for(0, size, 1 << 16, [&](Index b, Index e) {
    for (Index q = b; q < e; ++q) {
      if (m[q] != is_known || known[q]) continue;
      sample(q) = fresh.data()[q];
      known[q] = 1;
    }
  });
  // Copies of shared sides follow their owners.
  for (int d = 0; d < D; ++d)
    if (field.layout().halo.shared(d)) field.layout().halo.exchange(d, field.storage().data());
  parallel_for(0, size, 1 << 14, [&](Index b, Index e) {
    for (Index q = b; q < e; ++q)
      if (neighbours.is_copy(neighbours.coordinate(q))) known[q] = known[neighbours.owner(q)];
  });
  return reached;
}

#define MENISCUS_INSTANTIATE(T, D) template Index extrapolate<T, D>(Field<T, D>&, std::uint8_t*, Index, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
