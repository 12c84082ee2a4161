#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace meniscus::parallel {
namespace {

Index wrap(Index i, Index period) { return ((i % period) + period) % period; }

/// Calls body(bytes) with a number that the compiler knows where a few samples are copied.
template <class Body>
void with_known_size(std::size_t bytes, Body&& body) {
  const auto known = [&]<std::size_t... sizes>(std::index_sequence<sizes...>) {
    return ((bytes == sizes && (body(std::integral_constant<std::size_t, sizes>()), true)) || ...);
  };
  if (!known(std::index_sequence<1, 4, 8, 12, 16, 24, 32>())) body(bytes);
}

}  // namespace

template <int D>
HaloPlan<D>::HaloPlan(const HaloLayout<D>& layout, std::shared_ptr<Communicator> communicator)
    : layout_(layout), poisons_(communicator->poisons_ghosts()), communicator_(std::move(communicator)) {
  require(layout.ghost <= max_ghost, "at most ", max_ghost, " ghost layers, got ", layout.ghost);
  for (int d = 0; d < D; ++d) {
    if (!shared(d)) continue;
    const Index axis = d;
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
  // The last axis along which there are several pieces.
  std::size_t inner = 0;
  for (std::size_t d = D; d-- > 0;) {
    c[d] = rest % lines.extent[d];
    rest /= lines.extent[d];
    offset += (lines.begin[d] + c[d]) * layout_.strides[d];
    if (inner == 0 && lines.extent[d] > 1) inner = d;
  }
  const Index stride = layout_.strides[inner];
  for (Index line = begin; line < end;) {
    const Index count = std::min(end - line, lines.extent[inner] - c[inner]);
    for (Index k = 0; k < count; ++k, offset += stride) body(offset);
    line += count;
    c[inner] += count;
    for (std::size_t d = inner + 1; d-- > 0 && c[d] == lines.extent[d];) {
      offset -= c[d] * layout_.strides[d];
      c[d] = 0;
      if (d == 0) break;
      ++c[d - 1];
      offset += layout_.strides[d - 1];
    }
  }
}

template <int D>
void HaloPlan<D>::exchange_together(int axis, std::span<const HaloArray<D>> arrays) {
  exchange_axes(axis, axis + 1, arrays);
}

template <int D>
void HaloPlan<D>::exchange_together(std::span<const HaloArray<D>> arrays) {
  bool independent = true;
  for (const HaloArray<D>& a : arrays)
    independent = independent && !a.plan->layout_.corners && a.plan->layout_.on_side == std::array<int, D>{};
  if (independent)
    exchange_axes(0, D, arrays);
  else
    for (int d = 0; d < D; ++d) exchange_axes(d, d + 1, arrays);
}

/// Axes [begin, end), none of which carries what came along another one.
template <int D>
void HaloPlan<D>::exchange_axes(int begin, int end, std::span<const HaloArray<D>> arrays) {
  if (arrays.empty()) return;
  const HaloPlan& any = *arrays[0].plan;
  std::array<PassedSide, 2 * D> sides;
  std::size_t count = 0;
  for (int axis = begin; axis < end; ++axis) {
    if (!any.shared(axis)) continue;
    for (const HaloArray<D>& a : arrays)
      if (a.plan->poisons_) a.plan->poison(axis, a.first, a.size);
    if (any.layout_.block.own_neighbour(axis)) {
      for (const HaloArray<D>& a : arrays) {
        const Lines& lines = a.plan->axes_[axis].copy_lines;
        parallel_for(0, lines.count(), std::max<Index>(1, 4096 / lines.run),
                     [&](Index first, Index last) { a.plan->copy_lines(axis, a.first, a.size, first, last); });
      }
      continue;
    }
    for (const int upper : {0, 1})
      if (any.shared(axis, upper)) sides[count++] = {axis, upper};
  }
  if (count > 0) pass_messages(std::span(sides).first(count), arrays);
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
  const Axis& plan = axes_[axis];
  const Index stride = layout_.strides[axis] * static_cast<Index>(size);
  with_known_size(static_cast<std::size_t>(plan.copy_lines.run) * size, [&](auto bytes) {
    for_each_line(plan.copy_lines, begin, end, [&](Index offset) {
      std::byte* at = first + offset * static_cast<Index>(size);
      for (const Copy& c : plan.copies)
        for (Index k = 0; k < c.count; ++k) std::memcpy(at + (c.to + k) * stride, at + (c.from + k) * stride, bytes);
    });
  });
}

template <int D>
std::size_t HaloPlan<D>::message_bytes(int axis, Index layers, std::size_t size) const {
  const Lines& lines = axes_[axis].message_lines;
  return static_cast<std::size_t>(layers * lines.count() * lines.run) * size;
}

/// Calls move(place in the array, place in the message, bytes) for the contiguous pieces of some layers. Returns the end of the
/// message.
template <int D>
template <class Move>
std::byte* HaloPlan<D>::move_layers(int axis, std::byte* first, std::size_t size, Index layer, Index layers, std::byte* message,
                                    Move&& move) const {
  const Lines& lines = axes_[axis].message_lines;
  const Index stride = layout_.strides[axis] * static_cast<Index>(size);
  // Layers across the last axis follow each other in memory.
  const Index together = axis == D - 1 ? layers : 1;
  with_known_size(static_cast<std::size_t>(lines.run * together) * size, [&](auto bytes) {
    std::byte* next = message;
    for (Index k = 0; k < layers; k += together) {
      std::byte* const layer_first = first + (layer + k) * stride;
      for_each_line(lines, 0, lines.count(), [&](Index offset) {
        move(layer_first + offset * static_cast<Index>(size), next, bytes);
        next += bytes;
      });
    }
    message = next;
  });
  return message;
}

template <int D>
void HaloPlan<D>::pass_messages(std::span<const PassedSide> sides, std::span<const HaloArray<D>> arrays) {
  const HaloPlan& any = *arrays[0].plan;
  const auto crossing = [](const HaloArray<D>& a, const PassedSide& side) -> const Crossing& {
    return a.plan->axes_[side.axis].sides[side.upper];
  };
  std::array<Message, 2 * D> outgoing{}, incoming{};
  std::size_t total = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto [axis, upper] = sides[i];
    const int neighbour = any.layout_.block.neighbour[2 * axis + upper];
    // Messages that go up and down between the same two blocks differ in their tag.
    outgoing[i] = {neighbour, 2 * axis + upper, nullptr, 0};
    incoming[i] = {neighbour, 2 * axis + 1 - upper, nullptr, 0};
    for (const HaloArray<D>& a : arrays) {
      outgoing[i].bytes += a.plan->message_bytes(axis, crossing(a, sides[i]).sent, a.size);
      incoming[i].bytes += a.plan->message_bytes(axis, crossing(a, sides[i]).received, a.size);
    }
    total += outgoing[i].bytes + incoming[i].bytes;
  }
  std::byte* next = any.communicator_->buffer(total);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    outgoing[i].data = next;
    incoming[i].data = next + outgoing[i].bytes;
    next += outgoing[i].bytes + incoming[i].bytes;
  }
  {
    const auto packing = any.communicator_->packing();
    for (std::size_t i = 0; i < sides.size(); ++i) {
      std::byte* message = outgoing[i].data;
      for (const HaloArray<D>& a : arrays) {
        const Crossing& c = crossing(a, sides[i]);
        message = a.plan->move_layers(sides[i].axis, a.first, a.size, c.send, c.sent, message,
                                      [](const std::byte* at, std::byte* to, auto n) { std::memcpy(to, at, n); });
      }
    }
  }
  any.communicator_->exchange(std::span(outgoing).first(sides.size()), std::span(incoming).first(sides.size()));
  const auto packing = any.communicator_->packing();
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::byte* message = incoming[i].data;
    for (const HaloArray<D>& a : arrays) {
      const Crossing& c = crossing(a, sides[i]);
      message = a.plan->move_layers(sides[i].axis, a.first, a.size, c.receive, c.received, message,
                                    [](std::byte* at, const std::byte* from, auto n) { std::memcpy(at, from, n); });
    }
  }
}

template class HaloPlan<2>;
template class HaloPlan<3>;

}  // namespace meniscus::parallel
