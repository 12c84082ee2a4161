/// Redistribution of samples between blocks: every block owns a box of a domain and obtains the samples of a window, which may be
/// larger than what its neighbours own and may reach around periodic axes.
///
/// A halo plan serves the few ghosts that a stencil reads. A box exchange serves operators that need more than that, or that
/// divide the domain in another way than its blocks.
#pragma once

#include "meniscus/parallel/communicator.hpp"
#include "meniscus/parallel/index_box.hpp"

#include <cstring>
#include <functional>

namespace meniscus::parallel {

template <int D>
class JointTransfer;

template <int D>
class BoxExchange {
 public:
  /// What a block owns, and what it obtains.
  struct Boxes {
    IndexBox<D> owned, window;
  };

  /// Collective. The boxes that the blocks own do not overlap. Where `period` is not zero, sample i + period of an axis is sample
  /// i; otherwise a window must not reach beyond what all blocks own. `in_place`: the own box is a part of the array of the
  /// window, and its samples stay.
  BoxExchange(Communicator& communicator, const IndexBox<D>& owned, const IndexBox<D>& window, const Coord<D>& period,
              bool in_place = false);
  /// The same from the boxes of all blocks; not collective.
  BoxExchange(Communicator& communicator, const std::vector<Boxes>& all, const Coord<D>& period, bool in_place = false);

  /// Collective. Fills the window. `from` is the first sample of the own box, `to` that of the window; strides are in samples.
  template <class T>
  void fetch(const T* from, const Coord<D>& from_strides, T* to, const Coord<D>& to_strides) {
    auto* target = reinterpret_cast<std::byte*>(to);
    fetch_rows(from, from_strides, [&](const Coord<D>& first, Index count, const std::byte* values) {
      constexpr Index size = sizeof(T);
      copy_row(target + offset(first, window_.begin, to_strides) * size, to_strides[D - 1] * size, values, size, count,
               sizeof(T));
    });
  }

  /// The same for a window that is stored otherwise: calls visit(first sample in coordinates of the window's box, count, bytes of
  /// the values) for parts of its rows.
  template <class T, class Visit>
  void fetch_rows(const T* from, const Coord<D>& from_strides, Visit&& visit) {
    pass(sizeof(T), given_, taken_, packing_of(from, from_strides, owned_.begin), visit);
  }

  /// Collective, the other way round: calls take(offset in the own box, value) for every sample that a window holds. The order is
  /// that of the blocks' numbers.
  template <class T, class Take>
  void give_back(const T* window, const Coord<D>& window_strides, const Coord<D>& own_strides, Take&& take) {
    pass(sizeof(T), taken_, given_, packing_of(window, window_strides, window_.begin), unpacking_to<T>(own_strides, take));
  }

  /// A fetch or its reverse, to go in the same messages as others.
  struct Transfer {
    const BoxExchange* exchange;
    std::size_t size;  ///< bytes of a sample
    bool back;
    std::function<void(const Coord<D>& first, Index count, std::byte* message)> pack;
    std::function<void(const Coord<D>& first, Index count, const std::byte* message)> unpack;
  };
  /// What `fetch` does, where the own box is a part of the array of the window, whose first sample is given.
  template <class T>
  Transfer fetching(T* window, const Coord<D>& strides) const {
    Transfer t{this, sizeof(T), false, packing_of(window, strides, window_.begin), {}};
    t.unpack = [window, strides, begin = window_.begin](const Coord<D>& first, Index count, const std::byte* values) {
      constexpr Index size = sizeof(T);
      copy_row(reinterpret_cast<std::byte*>(window) + offset(first, begin, strides) * size, strides[D - 1] * size, values, size,
               count, sizeof(T));
    };
    return t;
  }
  /// What `give_back` does.
  template <class T, class Take>
  Transfer giving_back(const T* window, const Coord<D>& window_strides, const Coord<D>& own_strides, Take take) const {
    return {this, sizeof(T), true, packing_of(window, window_strides, window_.begin), unpacking_to<T>(own_strides, take)};
  }
  /// Collective: several transfers in the messages of one, at most one message from each block to each other one.
  void transfer(std::span<const Transfer> transfers);

 private:
  friend JointTransfer<D>;
  /// A box that goes from one block to another, in coordinates of the array that it is read from or written to.
  struct Piece {
    int block;
    IndexBox<D> box;
  };

  /// Copies samples of `size` bytes; steps from sample to sample are in bytes.
  static void copy_row(std::byte* to, Index to_step, const std::byte* from, Index from_step, Index count, std::size_t size) {
    if (to_step == static_cast<Index>(size) && from_step == to_step) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * size);
      return;
    }
    for (Index k = 0; k < count; ++k) std::memcpy(to + k * to_step, from + k * from_step, size);
  }

  static Index offset(const Coord<D>& c, const Coord<D>& begin, const Coord<D>& strides) {
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) at += (c[d] - begin[d]) * strides[d];
    return at;
  }

  /// What packs rows of an array whose first sample is `begin`.
  template <class T>
  static auto packing_of(const T* array, const Coord<D>& strides, const Coord<D>& begin) {
    static_assert(std::is_trivially_copyable_v<T>);
    return [=](const Coord<D>& first, Index count, std::byte* message) {
      constexpr Index size = sizeof(T);
      copy_row(message, size, reinterpret_cast<const std::byte*>(array) + offset(first, begin, strides) * size,
               strides[D - 1] * size, count, sizeof(T));
    };
  }

  /// What hands samples that come back to take(offset in the own box, value).
  template <class T, class Take>
  auto unpacking_to(const Coord<D>& strides, Take& take) const {
    return [take, strides, begin = owned_.begin](const Coord<D>& first, Index count, const std::byte* values) {
      const Index at = offset(first, begin, strides);
      for (Index k = 0; k < count; ++k) {
        T value;
        std::memcpy(&value, values + k * static_cast<Index>(sizeof(T)), sizeof(T));
        take(at + k * strides[D - 1], value);
      }
    };
  }

  /// Calls visit(first sample, samples) for the rows of a box, in C order.
  template <class Visit>
  static void for_each_row(const IndexBox<D>& box, Visit&& visit) {
    const Coord<D> n = box.extents();
    if (product<D>(n) == 0) return;
    Coord<D> c = box.begin;
    for (Index left = product<D>(n) / n[D - 1]; left > 0; --left) {
      visit(c, n[D - 1]);
      for (std::size_t d = D - 1; d-- > 0;) {
        if (++c[d] < box.end[d]) break;
        c[d] = box.begin[d];
      }
    }
  }

  template <class Pack, class Unpack>
  void pass(std::size_t size, const std::vector<Piece>& outgoing, const std::vector<Piece>& incoming, Pack&& pack,
            Unpack&& unpack) {
    const std::size_t leaving = samples(outgoing) * size, arriving = samples(incoming) * size;
    std::byte* const sent = communicator_.buffer(leaving + arriving + longest_own_row(outgoing) * size);
    std::byte* const received = sent + leaving;
    std::byte* const own_row = received + arriving;
    messages_.clear();
    add_messages(outgoing, size, sent);
    const std::size_t count = messages_.size();
    add_messages(incoming, size, received);
    {
      const auto packing = communicator_.packing();
      std::byte* next = sent;
      for (const Piece& p : outgoing) {
        if (p.block == communicator_.rank()) continue;
        for_each_row(p.box, [&](const Coord<D>& first, Index n) {
          pack(first, n, next);
          next += static_cast<std::size_t>(n) * size;
        });
      }
    }
    communicator_.exchange(std::span(messages_).first(count), std::span(messages_).subspan(count));
    const auto packing = communicator_.packing();
    const std::byte* next = received;
    auto own = outgoing.begin();
    for (const Piece& p : incoming) {
      if (p.block == communicator_.rank()) {
        // What stays goes from one array to the other, row by row.
        while (own->block != communicator_.rank()) ++own;
        for_each_row(p.box, [&](const Coord<D>& first, Index n) {
          Coord<D> from;
          for (std::size_t d = 0; d < D; ++d) from[d] = first[d] - p.box.begin[d] + own->box.begin[d];
          pack(from, n, own_row);
          unpack(first, n, static_cast<const std::byte*>(own_row));
        });
        ++own;
        continue;
      }
      for_each_row(p.box, [&](const Coord<D>& first, Index n) {
        unpack(first, n, next);
        next += static_cast<std::size_t>(n) * size;
      });
    }
  }

  /// Samples of the pieces that go to or come from other blocks.
  std::size_t samples(const std::vector<Piece>& pieces) const;
  /// Samples of the longest row of the pieces that stay in this block.
  std::size_t longest_own_row(const std::vector<Piece>& pieces) const;
  /// One message for every other block that pieces go to or come from, one after the other in memory from `data` on.
  void add_messages(const std::vector<Piece>& pieces, std::size_t size, std::byte* data);

  Communicator& communicator_;
  IndexBox<D> owned_, window_;
  std::vector<Piece> given_;  ///< parts of the own box, by receiver
  std::vector<Piece> taken_;  ///< parts of the window, by sender
  std::vector<Message> messages_;
};

/// Transfers of any box exchanges between the same blocks in the messages of one: at most one message from each block to each
/// other one.
template <int D>
class JointTransfer {
 public:
  using Transfer = typename BoxExchange<D>::Transfer;
  /// The transfers are not copied.
  JointTransfer(Communicator& communicator, std::span<const Transfer> transfers, int tag = tags::boxes);

  /// Bytes of memory that the messages take, to be handed to `pack`.
  std::size_t bytes() const { return leaving_ + arriving_ + longest_own_row_; }
  std::span<const Message> outgoing() const { return std::span(messages_).first(outgoing_messages_); }
  std::span<const Message> incoming() const { return std::span(messages_).subspan(outgoing_messages_); }
  /// Bytes that other blocks get.
  std::size_t leaving() const { return leaving_; }

  /// Fills the outgoing messages.
  void pack(std::byte* memory);
  /// Hands on what has come in the incoming messages, and what stays in this block, in the order of the blocks' numbers.
  void unpack() const;
  /// Overwrites what fetches will fill with bytes of ones.
  void poison() const;

 private:
  using Piece = typename BoxExchange<D>::Piece;
  struct Part {
    const Transfer* transfer;
    const Piece* piece;
    std::size_t bytes;
  };
  std::vector<Part> parts(std::span<const Transfer> transfers, bool incoming) const;
  bool stays(const Part& part) const { return part.piece->block == communicator_.rank(); }
  void add_messages(const std::vector<Part>& parts, int tag);

  Communicator& communicator_;
  /// By block, and for each by transfer: sender and receiver agree on that.
  std::vector<Part> outgoing_, incoming_;
  std::vector<Message> messages_;
  std::size_t outgoing_messages_ = 0, leaving_ = 0, arriving_ = 0, longest_own_row_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace meniscus::parallel
