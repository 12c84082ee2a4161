#include "meniscus/parallel/box_exchange.hpp"

#include <algorithm>

namespace meniscus::parallel {
namespace {

/// Calls visit(part of the window, the same in coordinates of the owner) for all images of an owner's box.
template <int D, class Visit>
void for_each_overlap(const IndexBox<D>& owned, const IndexBox<D>& window, const Coord<D>& period, Visit&& visit) {
  if (owned.empty() || window.empty()) return;
  const auto floor_of = [](Index i, Index n) { return n == 0 ? 0 : (i >= 0 ? i / n : -((n - 1 - i) / n)); };
  Coord<D> first, last, k;
  for (std::size_t d = 0; d < D; ++d) {
    // The owner of samples on sides may begin after the first one.
    k[d] = first[d] = floor_of(window.begin[d] - owned.end[d] + 1, period[d]);
    last[d] = floor_of(window.end[d] - 1 - owned.begin[d], period[d]);
  }
  for (;;) {
    IndexBox<D> image = owned;
    for (std::size_t d = 0; d < D; ++d) {
      image.begin[d] += k[d] * period[d];
      image.end[d] += k[d] * period[d];
    }
    const IndexBox<D> part = image.intersection(window);
    if (!part.empty()) {
      IndexBox<D> own = part;
      for (std::size_t d = 0; d < D; ++d) {
        own.begin[d] -= k[d] * period[d];
        own.end[d] -= k[d] * period[d];
      }
      visit(part, own);
    }
    std::size_t d = D;
    while (d-- > 0) {
      if (++k[d] <= last[d]) break;
      k[d] = first[d];
      if (d == 0) return;
    }
  }
}

template <class Boxes>
std::vector<Boxes> gathered(Communicator& communicator, const Boxes& own) {
  std::vector<Boxes> all(communicator.size());
  communicator.gather(&own, sizeof own, all.data());
  return all;
}

}  // namespace

template <int D>
BoxExchange<D>::BoxExchange(Communicator& communicator, const IndexBox<D>& owned, const IndexBox<D>& window,
                            const Coord<D>& period, bool in_place)
    : BoxExchange(communicator, gathered(communicator, Boxes{owned, window}), period, in_place) {}

template <int D>
BoxExchange<D>::BoxExchange(Communicator& communicator, const std::vector<Boxes>& all, const Coord<D>& period, bool in_place)
    : communicator_(communicator), owned_(all[communicator.rank()].owned), window_(all[communicator.rank()].window) {
  const IndexBox<D>&owned = owned_, &window = window_;
  for (int b = 0; b < communicator.size(); ++b) {
    const Boxes& other = all[b];
    const auto stays = [&](const IndexBox<D>& in_window, const IndexBox<D>& in_own) {
      return in_place && b == communicator.rank() && in_window.begin == in_own.begin;
    };
    for_each_overlap<D>(owned, other.window, period, [&](const IndexBox<D>& in_window, const IndexBox<D>& in_own) {
      if (!stays(in_window, in_own)) given_.push_back({b, in_own});
    });
    for_each_overlap<D>(other.owned, window, period, [&](const IndexBox<D>& in_window, const IndexBox<D>& in_own) {
      if (!stays(in_window, in_own)) taken_.push_back({b, in_window});
    });
  }
}

template <int D>
std::size_t BoxExchange<D>::samples(const std::vector<Piece>& pieces) const {
  Index n = 0;
  for (const Piece& p : pieces) n += p.block == communicator_.rank() ? 0 : product<D>(p.box.extents());
  return static_cast<std::size_t>(n);
}

template <int D>
std::size_t BoxExchange<D>::longest_own_row(const std::vector<Piece>& pieces) const {
  Index n = 0;
  for (const Piece& p : pieces)
    if (p.block == communicator_.rank()) n = std::max(n, p.box.extents()[D - 1]);
  return static_cast<std::size_t>(n);
}

template <int D>
void BoxExchange<D>::add_messages(const std::vector<Piece>& pieces, std::size_t size, std::byte* data) {
  int before = communicator_.rank();
  for (const Piece& p : pieces) {
    if (p.block == communicator_.rank()) continue;
    const std::size_t bytes = static_cast<std::size_t>(product<D>(p.box.extents())) * size;
    if (p.block == before)
      messages_.back().bytes += bytes;
    else
      messages_.push_back({p.block, tags::boxes, data, bytes});
    before = p.block;
    data += bytes;
  }
}

template <int D>
void BoxExchange<D>::transfer(std::span<const Transfer> transfers) {
  JointTransfer<D> joint(communicator_, transfers);
  joint.pack(communicator_.buffer(joint.bytes()));
  communicator_.exchange(joint.outgoing(), joint.incoming());
  joint.unpack();
}

template <int D>
JointTransfer<D>::JointTransfer(Communicator& communicator, std::span<const Transfer> transfers, int tag)
    : communicator_(communicator), outgoing_(parts(transfers, false)), incoming_(parts(transfers, true)) {
  for (const Part& p : outgoing_)
    if (stays(p))
      longest_own_row_ = std::max(longest_own_row_, static_cast<std::size_t>(p.piece->box.extents()[D - 1]) * p.transfer->size);
    else
      leaving_ += p.bytes;
  for (const Part& p : incoming_) arriving_ += stays(p) ? 0 : p.bytes;
  add_messages(outgoing_, tag);
  outgoing_messages_ = messages_.size();
  add_messages(incoming_, tag);
}

template <int D>
auto JointTransfer<D>::parts(std::span<const Transfer> transfers, bool incoming) const -> std::vector<Part> {
  std::vector<Part> all;
  for (const Transfer& t : transfers)
    for (const Piece& p : t.back != incoming ? t.exchange->taken_ : t.exchange->given_)
      all.push_back({&t, &p, static_cast<std::size_t>(product<D>(p.box.extents())) * t.size});
  std::stable_sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.piece->block < b.piece->block; });
  return all;
}

template <int D>
void JointTransfer<D>::add_messages(const std::vector<Part>& parts, int tag) {
  int before = communicator_.rank();
  for (const Part& p : parts) {
    if (stays(p)) continue;
    if (p.piece->block != before) messages_.push_back({p.piece->block, tag, nullptr, 0});
    messages_.back().bytes += p.bytes;
    before = p.piece->block;
  }
}

template <int D>
void JointTransfer<D>::pack(std::byte* memory) {
  memory_ = memory;
  std::byte* next = memory;
  for (Message& m : messages_) {
    m.data = next;
    next += m.bytes;
  }
  const auto packing = communicator_.packing();
  next = memory;
  for (const Part& part : outgoing_) {
    if (stays(part)) continue;
    BoxExchange<D>::for_each_row(part.piece->box, [&](const Coord<D>& first, Index n) {
      part.transfer->pack(first, n, next);
      next += static_cast<std::size_t>(n) * part.transfer->size;
    });
  }
}

template <int D>
void JointTransfer<D>::unpack() const {
  const auto packing = communicator_.packing();
  const std::byte* next = memory_ + leaving_;
  std::byte* const own_row = memory_ + leaving_ + arriving_;
  auto own = outgoing_.begin();
  for (const Part& part : incoming_) {
    if (stays(part)) {
      while (!stays(*own)) ++own;
      const IndexBox<D>&to = part.piece->box, &from = own->piece->box;
      BoxExchange<D>::for_each_row(to, [&](const Coord<D>& first, Index n) {
        Coord<D> c;
        for (std::size_t d = 0; d < D; ++d) c[d] = first[d] - to.begin[d] + from.begin[d];
        part.transfer->pack(c, n, own_row);
        part.transfer->unpack(first, n, own_row);
      });
      ++own;
      continue;
    }
    BoxExchange<D>::for_each_row(part.piece->box, [&](const Coord<D>& first, Index n) {
      part.transfer->unpack(first, n, next);
      next += static_cast<std::size_t>(n) * part.transfer->size;
    });
  }
}

template <int D>
void JointTransfer<D>::poison() const {
  std::vector<std::byte> ones;
  for (const Part& part : incoming_)
    BoxExchange<D>::for_each_row(part.piece->box, [&](const Coord<D>& first, Index n) {
      ones.assign(static_cast<std::size_t>(n) * part.transfer->size, std::byte{0xff});
      part.transfer->unpack(first, n, ones.data());
    });
}

template class BoxExchange<2>;
template class BoxExchange<3>;
template class JointTransfer<2>;
template class JointTransfer<3>;

}  // namespace meniscus::parallel
