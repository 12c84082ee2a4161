#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <cstring>

namespace meniscus::parallel {
namespace {

Index wrap(Index i, Index period) { return ((i % period) + period) % period; }

/// memcpy whose length the compiler knows where single samples are copied.
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 1:
      *to = *from;
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

}  // namespace

template <int D>
HaloPlan<D>::HaloPlan(const HaloLayout<D>& layout, std::shared_ptr<Communicator> communicator)
    : layout_(layout), poisons_(communicator->poisons_ghosts()), communicator_(std::move(communicator)) {
  require(layout.ghost <= max_ghost, "at most ", max_ghost, " ghost layers, got ", layout.ghost);
  for (int d = 0; d < D; ++d) {
    if (!shared(d)) continue;
    const auto axis = static_cast<std::size_t>(d);
    // Beyond earlier axes there are ghosts; those of later axes are carried along where that makes pieces contiguous.
    Lines lines;
    for (int e = 0; e < D; ++e) {
      const auto k = static_cast<std::size_t>(e);
      const Index ghost = e < d && layout.corners ? layout.ghost : 0;
      lines.begin[k] = e == d ? 0 : -ghost;
      lines.extent[k] = e == d ? 1 : layout.block.shape[k] + layout.on_side[k] + 2 * ghost;
    }
    if (d < D - 1) {
      lines.run = lines.extent[D - 1];
      lines.extent[D - 1] = 1;
    }
    axes_[axis].copy_lines = axes_[axis].message_lines = lines;
    if (layout.corners && d < D - 1) {
      Lines& whole = axes_[axis].copy_lines;
      for (std::size_t k = axis + 1; k < D; ++k) {
        whole.begin[k] = -layout.ghost;
        whole.extent[k] = 1;
      }
      whole.run = layout.strides[axis];
    }
    if (layout.block.own_neighbour(d))
      plan_copies(d);
    else
      plan_messages(d);
  }
}

template <int D>
void HaloPlan<D>::plan_copies(int axis) {
  const auto d = static_cast<std::size_t>(axis);
  const Index period = layout_.block.shape[d];
  const bool on_side = layout_.on_side[d] != 0;
  const Index samples = period + (on_side ? 1 : 0);
  Copies& copies = axes_[d].copies;
  const auto add = [&](Index to) {
    // The owner of a sample is its wrapped image; for a shared sample that is the last one, not the first.
    const Index image = wrap(to, period);
    const Index from = on_side && image == 0 ? period : image;
    Copy* last = copies.count ? &copies.list[copies.count - 1] : nullptr;
    if (last && last->to + last->count == to && last->from + last->count == from)
      ++last->count;
    else
      copies.list[copies.count++] = {from, to, 1};
  };
  for (Index i = -layout_.ghost; i < (on_side ? 1 : 0); ++i) add(i);
  for (Index i = samples; i < samples + layout_.ghost; ++i) add(i);
}

template <int D>
void HaloPlan<D>::plan_messages(int axis) {
  const auto d = static_cast<std::size_t>(axis);
  const Index n = layout_.block.shape[d], g = layout_.ghost;
  const Index s = layout_.on_side[d];
  require(n >= g + s, "a block that is cut along axis ", axis, " needs at least ", g + s,
          " cells there to fill the ghosts of its ", "neighbours, got ", n);
  // The sample on the upper side goes up too; the neighbour keeps it as its first one.
  axes_[d].sides[0] = {s, -g, g, g + s};
  axes_[d].sides[1] = {n - g, n + s, g + s, g};
}

/// Calls body(offset of the sample 0 of the axis) for the pieces [begin, end).
template <int D>
template <class Body>
void HaloPlan<D>::for_each_line(const Lines& lines, Index begin, Index end, Body&& body) const {
  Coord<D> c;
  Index rest = begin;
  Index offset = layout_.origin;
  for (std::size_t d = D; d-- > 0;) {
    c[d] = rest % lines.extent[d];
    rest /= lines.extent[d];
    offset += (lines.begin[d] + c[d]) * layout_.strides[d];
  }
  for (Index line = begin; line < end; ++line) {
    body(offset);
    for (std::size_t d = D; d-- > 0;) {
      offset += layout_.strides[d];
      if (++c[d] < lines.extent[d]) break;
      offset -= lines.extent[d] * layout_.strides[d];
      c[d] = 0;
    }
  }
}

template <int D>
void HaloPlan<D>::exchange_bytes(int axis, std::byte* first, std::size_t size) const {
  if (!shared(axis)) return;
  if (poisons_) poison(axis, first, size);
  if (!layout_.block.own_neighbour(axis)) {
    pass_messages(axis, first, size);
    return;
  }
  const Lines& lines = axes_[static_cast<std::size_t>(axis)].copy_lines;
  parallel_for(0, lines.count(), std::max<Index>(1, 4096 / lines.run),
               [&](Index begin, Index end) { copy_lines(axis, first, size, begin, end); });
}

/// The ghosts beyond the shared sides of an axis, and beside them those beyond other axes.
template <int D>
void HaloPlan<D>::poison(int axis, std::byte* first, std::size_t size) const {
  const auto d = static_cast<std::size_t>(axis);
  Lines layer;
  for (std::size_t k = 0; k < D; ++k) {
    const Index ghost = k != d && layout_.corners ? layout_.ghost : 0;
    layer.begin[k] = k == d ? 0 : -ghost;
    layer.extent[k] = k == d ? 1 : layout_.block.shape[k] + layout_.on_side[k] + 2 * ghost;
  }
  const Index n = layout_.block.shape[d] + layout_.on_side[d];
  const auto fill = [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for_each_line(layer, 0, layer.count(), [&](Index offset) {
        std::memset(first + (offset + i * layout_.strides[d]) * static_cast<Index>(size), 0xff, size);
      });
  };
  if (shared(axis, 0)) fill(-layout_.ghost, first_owned(axis));
  if (shared(axis, 1)) fill(n, n + layout_.ghost);
}

template <int D>
void HaloPlan<D>::copy_lines(int axis, std::byte* first, std::size_t size, Index begin, Index end) const {
  const Axis& plan = axes_[static_cast<std::size_t>(axis)];
  const Index stride = layout_.strides[static_cast<std::size_t>(axis)] * static_cast<Index>(size);
  const std::size_t bytes = static_cast<std::size_t>(plan.copy_lines.run) * size;
  for_each_line(plan.copy_lines, begin, end, [&](Index offset) {
    std::byte* at = first + offset * static_cast<Index>(size);
    for (const Copy& c : plan.copies)
      for (Index k = 0; k < c.count; ++k) copy_run(at + (c.to + k) * stride, at + (c.from + k) * stride, bytes);
  });
}

template <int D>
void HaloPlan<D>::pass_messages(int axis, std::byte* first, std::size_t size) const {
  const Axis& plan = axes_[static_cast<std::size_t>(axis)];
  const Lines& lines = plan.message_lines;
  const Index stride = layout_.strides[static_cast<std::size_t>(axis)] * static_cast<Index>(size);
  const std::size_t run = static_cast<std::size_t>(lines.run) * size;
  const std::size_t layer = static_cast<std::size_t>(lines.count()) * run;
  std::size_t total = 0;
  for (int upper : {0, 1})
    if (shared(axis, upper)) {
      const Crossing& c = plan.sides[static_cast<std::size_t>(upper)];
      total += static_cast<std::size_t>(c.sent + c.received) * layer;
    }
  std::byte* buffer = communicator_->buffer(total);
  // Layers of the field one after the other in a message, or back.
  const auto move = [&](Index from_layer, Index layers, std::byte* message, bool pack) {
    for (Index k = 0; k < layers; ++k)
      for_each_line(lines, 0, lines.count(), [&](Index offset) {
        std::byte* at = first + offset * static_cast<Index>(size) + (from_layer + k) * stride;
        if (pack)
          copy_run(message, at, run);
        else
          copy_run(at, message, run);
        message += run;
      });
  };
  std::array<Message, 2> outgoing{}, incoming{};
  std::size_t count = 0;
  for (int upper : {0, 1}) {
    if (!shared(axis, upper)) continue;
    const Crossing& c = plan.sides[static_cast<std::size_t>(upper)];
    const int neighbour = layout_.block.neighbour[static_cast<std::size_t>(2 * axis + upper)];
    const std::size_t sent = static_cast<std::size_t>(c.sent) * layer, received = static_cast<std::size_t>(c.received) * layer;
    move(c.send, c.sent, buffer, true);
    // Messages that go up and down between the same two blocks differ in their tag.
    outgoing[count] = {neighbour, 2 * axis + upper, buffer, sent};
    incoming[count] = {neighbour, 2 * axis + 1 - upper, buffer + sent, received};
    buffer += sent + received;
    ++count;
  }
  communicator_->exchange(std::span(outgoing).first(count), std::span(incoming).first(count));
  count = 0;
  for (int upper : {0, 1}) {
    if (!shared(axis, upper)) continue;
    const Crossing& c = plan.sides[static_cast<std::size_t>(upper)];
    move(c.receive, c.received, incoming[count++].data, false);
  }
}

template class HaloPlan<2>;
template class HaloPlan<3>;

}  // namespace meniscus::parallel
