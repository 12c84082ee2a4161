#include "meniscus/collision/broad_phase/broad_phase.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>

namespace meniscus::collision {

using mesh::BoxQuery;
using mesh::lanes;
using mesh::with_box_lanes;

namespace {

/// Leaves whose elements one task looks for.
constexpr Index pair_chunk = 32;
/// Longer lists are not sorted by counting, which takes the square of their length.
constexpr Index max_counted = 768;
/// Room behind a list for stores of whole vectors.
constexpr Index slack = 16;
/// Levels of a tree over 2^31 elements, and eight children of each node waiting.
constexpr std::size_t max_waiting = 8 * 11;

using Chunk = PairScratch::Chunk;

/// Makes room for n more numbers behind the first `used`, and the slack.
inline void make_room(std::vector<std::int32_t>& v, Index used, Index n) {
  const auto wanted = static_cast<std::size_t>(used + n + slack);
  if (v.size() < wanted) v.resize(std::max(wanted, v.size() * 2));
}

/// The box of a leaf as the nodes have it.
inline BoxQuery<float> rounded_box(const ElementTree& tree, Index leaf) {
  const ElementTree::Node& n = tree.node(0, leaf / lanes);
  const Index k = leaf % lanes;
  BoxQuery<float> q;
  for (int d = 0; d < 3; ++d) {
    q.low[d] = n.low[d][k];
    q.high[d] = n.high[d][k];
  }
  return q;
}

/// Writes the leaves from `first_leaf` on whose boxes overlap q, and which are marked if there are marks, to `out`; returns how
/// many.
template <class V>
inline Index overlapping_leaves(const ElementTree& tree, const BoxQuery<float>& q, Index first_leaf, const ElementMarks* marks,
                                std::vector<std::int32_t>& out) {
  struct Waiting {
    int level;
    Index node;
  };
  std::array<Waiting, max_waiting> stack;
  std::size_t top = 0;
  Index n = 0;
  stack[top++] = {tree.levels() - 1, 0};
  while (top > 0) {
    const auto [level, i] = stack[--top];
    unsigned mask = V::overlap(tree.node(level, i), q);
    if (marks) mask &= marks->node(level, i);
    const Index skip = (first_leaf >> (3 * level)) - i * lanes;
    if (skip > 0) mask &= 0xffu << std::min<Index>(skip, lanes);
    if (level == 0) {
      make_room(out, n, lanes);
      std::int32_t children[lanes];
      for (int k = 0; k < lanes; ++k) children[k] = static_cast<std::int32_t>(i * lanes + k);
      n += V::compress(children, mask, out.data() + n);
    } else {
      // The first child goes on top.
      while (mask != 0) {
        const int k = std::bit_width(mask) - 1;
        mask ^= 1u << k;
        stack[top++] = {level - 1, i * lanes + k};
      }
    }
  }
  return n;
}

/// One box of a leaf.
inline BoxQuery<double> box_of_lane(const ElementTree::Leaf& leaf, int k) {
  BoxQuery<double> q;
  for (int d = 0; d < 3; ++d) {
    q.low[d] = leaf.low[d][k];
    q.high[d] = leaf.high[d][k];
  }
  return q;
}

inline BoxQuery<double> query_box(const mesh::Box& box) {
  BoxQuery<double> q;
  for (int d = 0; d < 3; ++d) {
    q.low[d] = box.low[d];
    q.high[d] = box.high[d];
  }
  return q;
}

/// Looks for the partners of the elements of one leaf of the first tree. For each of its elements, calls begin(lane), then
/// hit(lane, leaf, mask) with lanes of leaves of the second tree, then end(lane). A and B are the corners per element.
///
/// The leaf as a whole goes down the second tree; then each of its elements is tested against the leaves found, eight boxes at a
/// time.
template <class V, int A, int B, class Begin, class Hit, class End>
inline void search_leaf(const PairQuery& query, Index group, bool later_leaves_only, Chunk& scratch, Begin&& begin, Hit&& hit,
                        End&& end) {
  const ElementTree& first = *query.first;
  const ElementTree& second = *query.second;
  const int count = first.count(group);
  // An element that is not marked looks for marked ones only.
  const unsigned marked = query.first_marks ? query.first_marks->leaf(group) : 0xff;
  const Index near = overlapping_leaves<V>(second, rounded_box(first, group), later_leaves_only ? group : 0,
                                           marked != 0 ? nullptr : query.second_marks, scratch.near);
  // Of each element, the leaves that its box meets.
  const Index stride = near + slack;
  make_room(scratch.near_lane, 0, stride * lanes);
  std::int32_t* const of_lane = scratch.near_lane.data();
  std::array<Index, lanes> n{};
  const ElementTree::Leaf& own = first.leaf(group);
  for (Index i = 0; i < near; ++i) {
    const std::int32_t leaf = scratch.near[i];
    const unsigned meets = V::overlap(own, query_box(second.leaf_box(leaf)));
    for (int k = 0; k < lanes; ++k) {
      of_lane[k * stride + n[k]] = leaf;
      n[k] += (meets >> k) & 1;
    }
  }
  for (int k = 0; k < count; ++k) {
    begin(k);
    const BoxQuery<double> box = box_of_lane(own, k);
    std::array<std::int32_t, A> corner;
    for (int a = 0; a < A; ++a) corner[a] = first.corners(group, a)[k];
    for (Index i = 0; i < n[k]; ++i) {
      const Index leaf = of_lane[k * stride + i];
      unsigned mask = V::overlap(second.leaf(leaf), box);
      if (query.skip_shared_vertices) {
        unsigned shared = 0;
        for (int b = 0; b < B; ++b)
          for (int a = 0; a < A; ++a) shared |= V::equal(second.corners(leaf, b), corner[a]);
        mask &= ~shared;
      }
      if (later_leaves_only && leaf == group) mask &= 0xfeu << k;
      if (!((marked >> k) & 1)) mask &= query.second_marks->leaf(leaf);
      hit(k, leaf, mask);
    }
    end(k);
  }
}

/// Calls f with the corners per element of both trees as constants.
template <class F>
void with_corners(const PairQuery& query, F&& f) {
  const auto is = [&](int a, int b) {
    return query.first->corners_per_element() == a && query.second->corners_per_element() == b;
  };
  using std::integral_constant;
  if (is(1, 3)) return f(integral_constant<int, 1>{}, integral_constant<int, 3>{});
  if (is(2, 2)) return f(integral_constant<int, 2>{}, integral_constant<int, 2>{});
  require(is(2, 3), "pairs are looked for of vertices and faces, of edges, or of edges and faces");
  f(integral_constant<int, 2>{}, integral_constant<int, 3>{});
}

bool empty(const PairQuery& query) { return query.first->size() == 0 || query.second->size() == 0; }

/// Writes the pairs of `element` with its n partners, which are different and followed by some slack, in ascending order.
template <class V>
inline void write_sorted(std::int32_t element, std::int32_t* partners, Index n, ElementPair* out) {
  if (n > max_counted) {
    std::sort(partners, partners + n);
    for (Index i = 0; i < n; ++i) out[i] = {element, partners[i]};
    return;
  }
  std::int32_t smaller[16];
  for (Index i = 0; i < n; i += 16) {
    V::count_smaller(partners, n, partners + i, smaller);
    for (Index k = 0; k < std::min<Index>(16, n - i); ++k) out[smaller[k]] = {element, partners[i + k]};
  }
}

}  // namespace

void ElementMarks::mark(const ElementTree& tree, std::span<const std::uint8_t> flags) {
  leaves_.assign(tree.leaves(), 0);
  parallel_for(0, tree.leaves(), 64 * pair_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for (int c = 0; c < tree.corners_per_element(); ++c)
        for (int k = 0; k < tree.count(i); ++k)
          if (flags[tree.corners(i, c)[k]] != 0) leaves_[i] |= static_cast<std::uint8_t>(1 << k);
  });
  nodes_.resize(tree.levels());
  const std::vector<std::uint8_t>* below = &leaves_;
  for (auto& level : nodes_) {
    level.assign((below->size() + lanes - 1) / lanes, 0);
    for (std::size_t i = 0; i < below->size(); ++i)
      if ((*below)[i] != 0) level[i / lanes] |= static_cast<std::uint8_t>(1 << i % lanes);
    below = &level;
  }
}

Index ElementMarks::nbytes() const {
  std::size_t bytes = leaves_.capacity();
  for (const auto& level : nodes_) bytes += level.capacity();
  return static_cast<Index>(bytes);
}

Index PairScratch::nbytes() const {
  std::size_t bytes = chunks.capacity() * sizeof(Chunk) + offsets.capacity() * sizeof(Index);
  for (const Chunk& c : chunks)
    bytes += (c.found.capacity() + c.counts.capacity() + c.near.capacity() + c.near_lane.capacity()) * sizeof(std::int32_t) +
             c.kept.capacity() * sizeof(ElementPair);
  return static_cast<Index>(bytes);
}

Index chunks_of(const PairQuery& query) { return empty(query) ? 0 : (query.first->leaves() + pair_chunk - 1) / pair_chunk; }

PairList::PairList(const PairQuery& query, PairScratch& scratch) : query_(query), scratch_(&scratch) {
  if (empty(query)) return;
  const ElementTree& first = *query.first;
  const bool self = query.first == query.second;
  const auto chunks = static_cast<std::size_t>(chunks_of(query));
  if (scratch.chunks.size() < chunks) scratch.chunks.resize(chunks);
  scratch.offsets.resize(static_cast<std::size_t>(first.size()) + 1);
  parallel_for(0, first.leaves(), pair_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    Chunk& c = scratch.chunks[b / pair_chunk];
    c.counts.assign((e - b) * lanes, 0);
    with_corners(query, [&](auto corners_a, auto corners_b) {
      with_box_lanes([&](auto isa) {
        using V = decltype(isa);
        Index n = 0;
        for (Index group = b; group < e; ++group) {
          const std::int32_t* own = first.elements(group);
          Index before = n;
          search_leaf<V, decltype(corners_a)::value, decltype(corners_b)::value>(
              query, group, false, c, [&](int) { before = n; },
              [&](int lane, Index leaf, unsigned mask) {
                const std::int32_t* others = query.second->elements(leaf);
                // Both elements of a pair find each other; the one with the lower number keeps it.
                if (self) mask &= V::greater(others, own[lane]);
                make_room(c.found, n, lanes);
                n += V::compress(others, mask, c.found.data() + n);
              },
              [&](int lane) {
                c.counts[(group - b) * lanes + lane] = static_cast<std::int32_t>(n - before);
                scratch.offsets[own[lane]] = n - before;
              });
        }
      });
    });
  });
  for (Index i = 0; i < first.size(); ++i) {
    Index& offset = scratch.offsets[i];
    size_ += std::exchange(offset, size_);
  }
}

void PairList::write(std::span<ElementPair> out) const {
  if (empty(query_)) return;
  const ElementTree& first = *query_.first;
  parallel_for(0, first.leaves(), pair_chunk, [&](Index b, Index e) {
    Chunk& c = scratch_->chunks[b / pair_chunk];
    with_box_lanes([&](auto isa) {
      std::int32_t* from = c.found.data();
      for (Index group = b; group < e; ++group)
        for (int k = 0; k < first.count(group); ++k) {
          const Index n = c.counts[(group - b) * lanes + k];
          const std::int32_t element = first.elements(group)[k];
          write_sorted<decltype(isa)>(element, from, n, out.data() + scratch_->offsets[element]);
          from += n;
        }
    });
  });
}

namespace {

/// Pairs that wait to be handed out: numbers and corners of both elements, side by side.
template <int A, int B>
class WaitingPairs {
 public:
  /// Takes elements of one leaf of the second tree.
  template <class V>
  void add(const ElementTree& second, Index leaf, unsigned mask) {
    for (int k = 0; k < B; ++k) V::compress(second.corners(leaf, k), mask, second_corner_[k] + n_);
    n_ += static_cast<std::size_t>(V::compress(second.elements(leaf), mask, second_ + n_));
  }
  /// Completes the pairs that were added since the last call with an element of the first tree.
  void complete(const ElementTree& first, Index leaf, int lane) {
    for (int k = 0; k < A; ++k) std::fill(first_corner_[k] + complete_, first_corner_[k] + n_, first.corners(leaf, k)[lane]);
    std::fill(first_ + complete_, first_ + n_, first.elements(leaf)[lane]);
    complete_ = n_;
  }
  bool full() const { return n_ > PairBlock::capacity - lanes; }
  bool empty() const { return n_ == 0; }
  /// The pairs as a block; the memory is used again from the next `add` on. If asked to, puts the lower number first.
  PairBlock take(Index chunk_number, bool lower_first) {
    for (std::size_t i = 0; i < n_; ++i) {
      if constexpr (A == 2 && B == 2) {
        const bool swap = lower_first && second_[i] < first_[i];
        const std::int32_t a0 = first_corner_[0][i];
        const std::int32_t a1 = first_corner_[1][i];
        const std::int32_t b0 = second_corner_[0][i];
        const std::int32_t b1 = second_corner_[1][i];
        stencils_[i] = {swap ? b0 : a0, swap ? b1 : a1, swap ? a0 : b0, swap ? a1 : b1};
        pairs_[i] = {swap ? second_[i] : first_[i], swap ? first_[i] : second_[i]};
      } else {
        if constexpr (A == 1 && B == 3)
          stencils_[i] = {first_corner_[0][i], second_corner_[0][i], second_corner_[1][i], second_corner_[2][i]};
        pairs_[i] = {first_[i], second_[i]};
      }
    }
    const std::size_t n = std::exchange(n_, 0);
    complete_ = 0;
    return {chunk_number, {pairs_, n}, {stencils_, A + B == 4 ? n : 0}};
  }

 private:
  static constexpr std::size_t room = PairBlock::capacity + lanes;
  std::int32_t first_[room];
  std::int32_t second_[room];
  std::int32_t first_corner_[A][room];
  std::int32_t second_corner_[B][room];
  ElementPair pairs_[room];
  Stencil stencils_[room];
  std::size_t n_ = 0;
  std::size_t complete_ = 0;
};

}  // namespace

void detail::for_each_block(const PairQuery& query, PairScratch& scratch, BlockSink sink, void* context) {
  if (empty(query)) return;
  const ElementTree& first = *query.first;
  const bool self = query.first == query.second;
  const auto chunks = static_cast<std::size_t>(chunks_of(query));
  if (scratch.chunks.size() < chunks) scratch.chunks.resize(chunks);
  std::atomic<bool> stop{false};
  parallel_for(0, first.leaves(), pair_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    with_corners(query, [&](auto corners_a, auto corners_b) {
      constexpr int A = decltype(corners_a)::value;
      constexpr int B = decltype(corners_b)::value;
      WaitingPairs<A, B> waiting;
      with_box_lanes([&](auto isa) {
        using V = decltype(isa);
        const auto hand_out = [&] {
          if (waiting.empty()) return;
          const PairBlock block = waiting.take(b / pair_chunk, self);
          if (!stop.load(std::memory_order_relaxed) && !sink(context, block)) stop.store(true, std::memory_order_relaxed);
        };
        for (Index group = b; group < e && !stop.load(std::memory_order_relaxed); ++group)
          search_leaf<V, A, B>(
              query, group, self, scratch.chunks[b / pair_chunk], [](int) {},
              [&](int lane, Index leaf, unsigned mask) {
                waiting.template add<V>(*query.second, leaf, mask);
                if (!waiting.full()) return;
                waiting.complete(first, group, lane);
                hand_out();
              },
              [&](int lane) { waiting.complete(first, group, lane); });
        hand_out();
      });
    });
  });
}

}  // namespace meniscus::collision
