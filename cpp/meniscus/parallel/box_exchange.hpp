/// Redistribution of samples between blocks: every block owns a box of a domain and obtains the samples of a window, which may be
/// larger than what its neighbours own and may reach around periodic axes.
///
/// A halo plan serves the few ghosts that a stencil reads. A box exchange serves operators that need more than that, or that
/// divide the domain in another way than its blocks.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <array>
#include <cstring>

namespace meniscus::parallel {

/// Samples [begin, end) per axis; empty where end <= begin along any axis.
template <int D>
struct IndexBox {
  Coord<D> begin{}, end{};

  bool empty() const {
    for (std::size_t d = 0; d < D; ++d)
      if (end[d] <= begin[d]) return true;
    return false;
  }
  Coord<D> extents() const {
    Coord<D> n;
    for (std::size_t d = 0; d < D; ++d) n[d] = end[d] > begin[d] ? end[d] - begin[d] : 0;
    return n;
  }
  IndexBox intersection(const IndexBox& o) const {
    IndexBox b;
    for (std::size_t d = 0; d < D; ++d) {
      b.begin[d] = begin[d] > o.begin[d] ? begin[d] : o.begin[d];
      b.end[d] = end[d] < o.end[d] ? end[d] : o.end[d];
    }
    return b;
  }
};

template <int D>
class BoxExchange {
 public:
  /// Collective. The boxes that the blocks own do not overlap. Where `period` is not zero, sample i + period of an axis is sample
  /// i; otherwise a window must not reach beyond what all blocks own. `in_place`: the own box is a part of the array of the
  /// window, and its samples stay.
  BoxExchange(Communicator& communicator, const IndexBox<D>& owned, const IndexBox<D>& window, const Coord<D>& period,
              bool in_place = false);

  /// Collective. Fills the window. `from` is the first sample of the own box, `to` that of the window; strides are in samples.
  template <class T>
  void fetch(const T* from, const Coord<D>& from_strides, T* to, const Coord<D>& to_strides) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* source = reinterpret_cast<const std::byte*>(from);
    auto* target = reinterpret_cast<std::byte*>(to);
    pass(
        sizeof(T), given_, taken_,
        [&](Index sample, std::byte* message) {
          std::memcpy(message, source + sample * static_cast<Index>(sizeof(T)), sizeof(T));
        },
        from_strides, owned_.begin,
        [&](Index sample, const std::byte* message) {
          std::memcpy(target + sample * static_cast<Index>(sizeof(T)), message, sizeof(T));
        },
        to_strides, window_.begin);
  }

  /// Collective, the other way round: calls take(offset in the own box, value) for every sample that a window holds. The order is
  /// that of the blocks' numbers.
  template <class T, class Take>
  void give_back(const T* window, const Coord<D>& window_strides, const Coord<D>& own_strides, Take&& take) {
    static_assert(std::is_trivially_copyable_v<T>);
    pass(
        sizeof(T), taken_, given_, [&](Index sample, std::byte* message) { std::memcpy(message, window + sample, sizeof(T)); },
        window_strides, window_.begin,
        [&](Index sample, const std::byte* message) {
          T value;
          std::memcpy(&value, message, sizeof(T));
          take(sample, value);
        },
        own_strides, owned_.begin);
  }

 private:
  /// A box that goes from one block to another, in coordinates of the array that it is read from or written to.
  struct Piece {
    int block;
    IndexBox<D> box;
  };

  /// Calls visit(offset) for the samples of a box, in C order.
  template <class Visit>
  static void for_each(const IndexBox<D>& box, const Coord<D>& begin, const Coord<D>& strides, Visit&& visit) {
    const Coord<D> n = box.extents();
    Coord<D> c{};
    for (Index left = product<D>(n); left > 0; --left) {
      Index offset = 0;
      for (std::size_t d = 0; d < D; ++d) offset += (box.begin[d] + c[d] - begin[d]) * strides[d];
      visit(offset);
      for (std::size_t d = D; d-- > 0;) {
        if (++c[d] < n[d]) break;
        c[d] = 0;
      }
    }
  }

  template <class Pack, class Unpack>
  void pass(std::size_t size, const std::vector<Piece>& outgoing, const std::vector<Piece>& incoming, Pack&& pack,
            const Coord<D>& out_strides, const Coord<D>& out_begin, Unpack&& unpack, const Coord<D>& in_strides,
            const Coord<D>& in_begin) {
    std::byte* next = communicator_.buffer(samples(outgoing) * size + samples(incoming) * size);
    messages_.clear();
    add_messages(outgoing, size, next);
    const std::size_t sent = messages_.size();
    add_messages(incoming, size, next + samples(outgoing) * size);
    for (const Piece& p : outgoing)
      for_each(p.box, out_begin, out_strides, [&](Index sample) {
        pack(sample, next);
        next += size;
      });
    communicator_.exchange(std::span(messages_).first(sent), std::span(messages_).subspan(sent));
    for (const Piece& p : incoming)
      for_each(p.box, in_begin, in_strides, [&](Index sample) {
        unpack(sample, next);
        next += size;
      });
  }

  static std::size_t samples(const std::vector<Piece>& pieces);
  /// One message for every block that pieces go to or come from, one after the other in memory from `data` on.
  void add_messages(const std::vector<Piece>& pieces, std::size_t size, std::byte* data);

  Communicator& communicator_;
  IndexBox<D> owned_, window_;
  std::vector<Piece> given_;  ///< parts of the own box, by receiver
  std::vector<Piece> taken_;  ///< parts of the window, by sender
  std::vector<Message> messages_;
};

}  // namespace meniscus::parallel
