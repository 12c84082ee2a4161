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

}  // namespace

template <int D>
BoxExchange<D>::BoxExchange(Communicator& communicator, const IndexBox<D>& owned, const IndexBox<D>& window,
                            const Coord<D>& period, bool in_place)
    : communicator_(communicator), owned_(owned), window_(window) {
  struct Boxes {
    IndexBox<D> owned, window;
  };
  const Boxes own{owned, window};
  std::vector<Boxes> all(communicator.size());
  communicator.gather(&own, sizeof own, all.data());
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
  struct Part {
    const Transfer* transfer;
    const Piece* piece;
    std::size_t bytes;
  };
  // By block, and for each by transfer: sender and receiver agree on that.
  const auto parts = [&](bool incoming) {
    std::vector<Part> all;
    for (const Transfer& t : transfers)
      for (const Piece& p : t.back != incoming ? taken_ : given_)
        all.push_back({&t, &p, static_cast<std::size_t>(product<D>(p.box.extents())) * t.size});
    std::stable_sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.piece->block < b.piece->block; });
    return all;
  };
  const std::vector<Part> outgoing = parts(false), incoming = parts(true);
  const auto bytes_of = [](const std::vector<Part>& all) {
    std::size_t bytes = 0;
    for (const Part& p : all) bytes += p.bytes;
    return bytes;
  };
  std::byte* const sent = communicator_.buffer(bytes_of(outgoing) + bytes_of(incoming));
  std::byte* const received = sent + bytes_of(outgoing);
  messages_.clear();
  // Returns where the parts that stay in this block are.
  const auto add = [&](const std::vector<Part>& all, std::byte* data) {
    const std::byte* own = nullptr;
    for (std::size_t i = 0; i < all.size(); data += all[i++].bytes) {
      const int block = all[i].piece->block;
      const bool begins = i == 0 || all[i - 1].piece->block != block;
      if (block == communicator_.rank())
        own = begins ? data : own;
      else if (begins)
        messages_.push_back({block, tags::boxes, data, all[i].bytes});
      else
        messages_.back().bytes += all[i].bytes;
    }
    return own;
  };
  const std::byte* own = add(outgoing, sent);
  const std::size_t count = messages_.size();
  add(incoming, received);
  {
    const auto packing = communicator_.packing();
    std::byte* next = sent;
    for (const Part& part : outgoing)
      for_each_row(part.piece->box, [&](const Coord<D>& first, Index n) {
        part.transfer->pack(first, n, next);
        next += static_cast<std::size_t>(n) * part.transfer->size;
      });
  }
  communicator_.exchange(std::span(messages_).first(count), std::span(messages_).subspan(count));
  const auto packing = communicator_.packing();
  const std::byte* next = received;
  for (const Part& part : incoming)
    for_each_row(part.piece->box, [&](const Coord<D>& first, Index n) {
      const std::size_t bytes = static_cast<std::size_t>(n) * part.transfer->size;
      const bool stays = part.piece->block == communicator_.rank();
      part.transfer->unpack(first, n, stays ? own : next);
      if (stays) own += bytes;
      next += bytes;
    });
}

template class BoxExchange<2>;
template class BoxExchange<3>;

}  // namespace meniscus::parallel
