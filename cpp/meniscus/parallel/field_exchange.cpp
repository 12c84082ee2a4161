#include "meniscus/parallel/field_exchange.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::parallel {
namespace {

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

/// The part of an array that a block needs: its samples, and ghosts beyond shared sides, its own around a periodic axis too.
template <int D>
IndexBox<D> with_ghosts(const DomainBlock<D>& b, const std::array<int, D>& on_side, int width) {
  IndexBox<D> box;
  for (std::size_t d = 0; d < D; ++d) {
    const Index around = b.periodic[d] && b.shape[d] == b.domain[d] ? width : 0;
    box.begin[d] = b.first[d] - around;
    box.end[d] = b.first[d] + b.shape[d] + on_side[d] + around;
  }
  return widened<D>(box, b, on_side, width);
}

}  // namespace

template <int D>
FieldExchange<D>::FieldExchange(std::shared_ptr<Communicator> communicator, const DomainBlock<D>& block,
                                std::vector<ArrayPlace<D>> places, int width)
    : communicator_(block.cut() ? std::move(communicator) : single_block_communicator()),
      first_(block.first),
      places_(std::move(places)),
      arrays_(places_.size()) {
  const Announcement<D> own{block, digest<D>(places_, width)};
  std::vector<Announcement<D>> all(communicator_->size());
  communicator_->gather(&own, sizeof own, all.data());
  for (std::size_t r = 1; r < all.size(); ++r)
    require(all[r].arrays == all[0].arrays, "all ranks must exchange the same fields, but those of rank ", r,
            " are not of the kinds of rank 0");
  boxes_.reserve(places_.size());
  for (std::size_t a = 0; a < places_.size(); ++a) {
    std::vector<typename BoxExchange<D>::Boxes> boxes;
    for (const Announcement<D>& other : all)
      boxes.push_back(
          {owned_samples<D>(other.block, places_[a].on_side), with_ghosts<D>(other.block, places_[a].on_side, width)});
    boxes_.emplace_back(*communicator_, boxes, periods<D>(block), true);
    transfers_.push_back(fetching(a, boxes_[a]));
  }
  joint_.emplace(*communicator_, transfers_, tags::fields);
  memory_.resize(joint_->bytes());
}

template <int D>
auto FieldExchange<D>::fetching(std::size_t array, const BoxExchange<D>& boxes) const -> Transfer {
  const auto row = [this](std::size_t a, const Coord<D>& c) {
    std::byte* at = arrays_[a].origin;
    for (std::size_t d = 0; d < D; ++d) at += (c[d] - first_[d]) * arrays_[a].strides[d];
    return at;
  };
  const auto bytes = [this](std::size_t a, Index count) { return static_cast<std::size_t>(count) * places_[a].bytes; };
  return {&boxes, places_[array].bytes, false,
          [=](const Coord<D>& c, Index n, std::byte* to) { std::memcpy(to, row(array, c), bytes(array, n)); },
          [=](const Coord<D>& c, Index n, const std::byte* from) { std::memcpy(row(array, c), from, bytes(array, n)); }};
}

template <int D>
void FieldExchange<D>::start(std::span<const ArrayMemory<D>> arrays) {
  require(arrays.size() == places_.size(), "the exchange was made for ", places_.size(), " arrays, not ", arrays.size());
  std::copy(arrays.begin(), arrays.end(), arrays_.begin());
  if (communicator_->poisons_ghosts()) joint_->poison();
  joint_->pack(memory_.data());
  communicator_->start(pending_, joint_->outgoing(), joint_->incoming());
}

template <int D>
void FieldExchange<D>::wait() {
  communicator_->wait(pending_);
  joint_->unpack();
}

template class FieldExchange<2>;
template class FieldExchange<3>;

}  // namespace meniscus::parallel
