#include "meniscus/parallel/field_exchange.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cstring>

namespace meniscus::parallel {
namespace {

/// Calls visit(first byte of a row, bytes) for all rows of a box of an array.
template <int D, class Visit>
void for_each_row(const IndexBox<D>& box, const ArrayMemory<D>& array, std::size_t size, Visit&& visit) {
  Coord<D> n = box.extents();
  const std::size_t row = static_cast<std::size_t>(n[D - 1]) * size;
  n[D - 1] = n[D - 1] > 0 ? 1 : 0;
  Coord<D> c{};
  for (Index left = product<D>(n); left > 0; --left) {
    Index offset = 0;
    for (std::size_t d = 0; d < D; ++d) offset += (box.begin[d] + c[d]) * array.strides[d];
    visit(array.origin + offset, row);
    for (std::size_t d = D; d-- > 0;) {
      if (++c[d] < n[d]) break;
      c[d] = 0;
    }
  }
}

/// What a block tells all others.
template <int D>
struct Announcement {
  DomainBlock<D> block;
  std::uint64_t arrays;
};

/// A number that differs, most likely, where the arrays or the width differ.
template <int D>
std::uint64_t digest(const std::vector<ArrayPlace<D>>& places, int width) {
  std::uint64_t hash = 14695981039346656037u;  // Fowler, Noll and Vo's hash, 64 bits
  const auto add = [&](std::uint64_t v) { hash = (hash ^ v) * 1099511628211u; };
  add(static_cast<std::uint64_t>(width));
  for (const ArrayPlace<D>& p : places) {
    for (const int s : p.on_side) add(static_cast<std::uint64_t>(s) + 1);
    add(p.bytes);
  }
  return hash;
}

/// The part of an array that a block needs: its samples, and ghosts beyond shared sides.
template <int D>
IndexBox<D> window_of(const DomainBlock<D>& b, const std::array<int, D>& on_side, int width) {
  IndexBox<D> w;
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    w.begin[d] = b.first[d] - (b.shared(axis, 0) ? width : 0);
    w.end[d] = b.first[d] + b.shape[d] + on_side[d] + (b.shared(axis, 1) ? width : 0);
    // No ghosts beyond the sides of the domain, however thin the blocks next to them are.
    if (!b.periodic[d]) {
      w.begin[d] = std::max<Index>(w.begin[d], 0);
      w.end[d] = std::min<Index>(w.end[d], b.domain[d] + on_side[d]);
    }
  }
  return w;
}

/// Calls visit(part of the window, shift to the coordinates of the owner) for the images of the owner's box in the window.
template <int D, class Visit>
void for_each_image(const IndexBox<D>& owned, const IndexBox<D>& window, const DomainBlock<D>& block, Visit&& visit) {
  const auto floor_of = [](Index i, Index n) { return i >= 0 ? i / n : -((n - 1 - i) / n); };
  if (owned.empty() || window.empty()) return;
  Coord<D> first{}, last{}, k;
  for (std::size_t d = 0; d < D; ++d)
    if (block.periodic[d]) {
      first[d] = floor_of(window.begin[d] - owned.end[d] + 1, block.domain[d]);
      last[d] = floor_of(window.end[d] - 1 - owned.begin[d], block.domain[d]);
    }
  k = first;
  for (;;) {
    IndexBox<D> image = owned;
    Coord<D> shift;
    for (std::size_t d = 0; d < D; ++d) {
      shift[d] = k[d] * block.domain[d];
      image.begin[d] += shift[d];
      image.end[d] += shift[d];
    }
    const IndexBox<D> part = image.intersection(window);
    if (!part.empty()) visit(part, shift);
    std::size_t d = D;
    while (d-- > 0) {
      if (++k[d] <= last[d]) break;
      k[d] = first[d];
      if (d == 0) return;
    }
  }
}

template <int D>
IndexBox<D> shifted(IndexBox<D> box, const Coord<D>& shift) {
  for (std::size_t d = 0; d < D; ++d) {
    box.begin[d] -= shift[d];
    box.end[d] -= shift[d];
  }
  return box;
}

}  // namespace

template <int D>
IndexBox<D> owned_samples(const DomainBlock<D>& b, const std::array<int, D>& on_side) {
  IndexBox<D> box;
  for (int axis = 0; axis < D; ++axis) {
    const Index d = axis;
    box.begin[d] = b.first[d] + (on_side[d] && b.shared(axis, 0) ? 1 : 0);
    box.end[d] = b.first[d] + b.shape[d] + on_side[d];
  }
  return box;
}

template <int D>
FieldExchange<D>::FieldExchange(std::shared_ptr<Communicator> communicator, const DomainBlock<D>& block,
                                std::vector<ArrayPlace<D>> places, int width)
    : communicator_(std::move(communicator)), places_(std::move(places)) {
  const Announcement<D> own{block, digest<D>(places_, width)};
  std::vector<Announcement<D>> all(communicator_->size(), own);
  if (block.cut()) communicator_->gather(&own, sizeof own, all.data());
  if (!block.cut()) all.resize(1);
  for (std::size_t r = 1; r < all.size(); ++r)
    require(all[r].arrays == all[0].arrays, "all ranks must exchange the same fields, but those of rank ", r,
            " are not of the kinds of rank 0");
  for (const Announcement<D>& other : all) {
    const int rank = other.block.number;
    for (std::size_t a = 0; a < places_.size(); ++a) {
      const auto& on_side = places_[a].on_side;
      const IndexBox<D> mine = owned_samples<D>(block, on_side), its = owned_samples<D>(other.block, on_side);
      if (rank == block.number) {
        for_each_image<D>(mine, window_of<D>(block, on_side, width), block, [&](const IndexBox<D>& part, const Coord<D>& shift) {
          if (shift != Coord<D>{})
            own_.push_back({a, shifted<D>(part, block.first), shifted<D>(shifted<D>(part, shift), block.first).begin});
        });
        continue;
      }
      for_each_image<D>(mine, window_of<D>(other.block, on_side, width), block,
                        [&](const IndexBox<D>& part, const Coord<D>& shift) {
                          sent_.push_back({rank, a, shifted<D>(shifted<D>(part, shift), block.first)});
                        });
      for_each_image<D>(its, window_of<D>(block, on_side, width), block, [&](const IndexBox<D>& part, const Coord<D>&) {
        taken_.push_back({rank, a, shifted<D>(part, block.first)});
      });
    }
  }
  lay_out(sent_, outgoing_, out_);
  lay_out(taken_, incoming_, in_);
  arrays_.resize(places_.size());
}

template <int D>
std::size_t FieldExchange<D>::bytes_of(const Piece& p) const {
  return static_cast<std::size_t>(product<D>(p.box.extents())) * places_[p.array].bytes;
}

/// One message for all pieces of a block, which follow each other.
template <int D>
void FieldExchange<D>::lay_out(std::vector<Piece>& pieces, std::vector<Message>& messages, std::vector<std::byte>& memory) {
  std::size_t total = 0;
  for (const Piece& p : pieces) total += bytes_of(p);
  memory.resize(total);
  std::byte* next = memory.data();
  for (const Piece& p : pieces) {
    if (messages.empty() || messages.back().block != p.block) messages.push_back({p.block, tags::fields, next, 0});
    messages.back().bytes += bytes_of(p);
    next += bytes_of(p);
  }
}

template <int D>
Index FieldExchange<D>::bytes() const {
  return static_cast<Index>(out_.size());
}

template <int D>
void FieldExchange<D>::start(std::span<const ArrayMemory<D>> arrays) {
  require(arrays.size() == places_.size(), "the exchange was made for ", places_.size(), " arrays, not ", arrays.size());
  std::copy(arrays.begin(), arrays.end(), arrays_.begin());
  if (communicator_->poisons_ghosts()) poison();
  {
    const auto packing = communicator_->packing();
    std::byte* next = out_.data();
    for (const Piece& p : sent_)
      for_each_row<D>(p.box, arrays_[p.array], places_[p.array].bytes, [&](const std::byte* row, std::size_t bytes) {
        std::memcpy(next, row, bytes);
        next += bytes;
      });
  }
  communicator_->start(pending_, outgoing_, incoming_);
  copy_own();
}

template <int D>
void FieldExchange<D>::wait() {
  communicator_->wait(pending_);
  const auto packing = communicator_->packing();
  const std::byte* next = in_.data();
  for (const Piece& p : taken_)
    for_each_row<D>(p.box, arrays_[p.array], places_[p.array].bytes, [&](std::byte* row, std::size_t bytes) {
      std::memcpy(row, next, bytes);
      next += bytes;
    });
}

template <int D>
void FieldExchange<D>::copy_own() const {
  for (const Own& o : own_) {
    Index shift = 0;
    for (std::size_t d = 0; d < D; ++d) shift += (o.from[d] - o.to.begin[d]) * arrays_[o.array].strides[d];
    for_each_row<D>(o.to, arrays_[o.array], places_[o.array].bytes,
                    [&](std::byte* row, std::size_t bytes) { std::memmove(row, row + shift, bytes); });
  }
}

template <int D>
void FieldExchange<D>::poison() const {
  const auto overwrite = [](std::byte* row, std::size_t bytes) { std::memset(row, 0xff, bytes); };
  for (const Piece& p : taken_) for_each_row<D>(p.box, arrays_[p.array], places_[p.array].bytes, overwrite);
  for (const Own& o : own_) for_each_row<D>(o.to, arrays_[o.array], places_[o.array].bytes, overwrite);
}

#define MENISCUS_INSTANTIATE(D)                                                            \
  template IndexBox<D> owned_samples<D>(const DomainBlock<D>&, const std::array<int, D>&); \
  template class FieldExchange<D>;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::parallel
