/// Broad phase: pairs of elements with overlapping boxes, found with box trees, as sorted lists or block by block.
///
/// Boxes are closed and compared exactly. The pairs of a call do not depend on the number of threads or the vector width, nor on
/// how the trees were built.
#pragma once

#include "meniscus/collision/broad_phase/element_tree.hpp"
#include "meniscus/collision/continuous/continuous_collision.hpp"

#include <vector>

namespace meniscus::collision {

/// An element of the first tree and one of the second.
using ElementPair = std::array<std::int32_t, 2>;

/// Elements and nodes of a tree that contain a flagged vertex.
class ElementMarks {
 public:
  /// One flag per vertex.
  void mark(const ElementTree& tree, std::span<const std::uint8_t> flags);
  /// Bits of the elements of a leaf.
  unsigned leaf(Index i) const { return leaves_[i]; }
  /// Bits of the children of a node.
  unsigned node(int level, Index i) const { return nodes_[level][i]; }
  Index nbytes() const;

 private:
  std::vector<std::uint8_t> leaves_;
  std::vector<std::vector<std::uint8_t>> nodes_;
};

/// Query for pairs of elements of two trees.
struct PairQuery {
  const ElementTree* first = nullptr;
  /// The same object as `first` for the pairs of one set of elements: then each pair comes once, the lower number first.
  const ElementTree* second = nullptr;
  /// Leave out pairs that have a vertex in common. False for elements of two meshes.
  bool skip_shared_vertices = true;
  /// Only pairs with a marked element are wanted; nullptr in both: all pairs are.
  const ElementMarks* first_marks = nullptr;
  const ElementMarks* second_marks = nullptr;
};

/// Scratch memory that searches reuse.
class PairScratch {
 public:
  struct Chunk {
    std::vector<std::int32_t> found;
    std::vector<std::int32_t> counts;
    std::vector<std::int32_t> near;
    std::vector<std::int32_t> near_lane;
    /// Pairs that the caller keeps of a search in blocks.
    std::vector<ElementPair> kept;
  };
  std::vector<Chunk> chunks;
  std::vector<Index> offsets;

  Index nbytes() const;
};

/// All pairs in lexicographic order. The scratch memory must not be used for anything else between search and `write`.
class PairList {
 public:
  /// Finds the pairs.
  PairList(const PairQuery& query, PairScratch& scratch);
  Index size() const { return size_; }
  void write(std::span<ElementPair> out) const;

 private:
  PairQuery query_;
  PairScratch* scratch_;
  Index size_ = 0;
};

/// A block of at most `most` pairs, and their vertices: those of the first element, then those of the second. Pairs of edges and
/// faces, which have five vertices, come without them.
struct PairBlock {
  static constexpr std::size_t capacity = 256;
  /// Number of the piece of a search. Blocks of one chunk come one after the other, on one thread.
  Index chunk;
  std::span<const ElementPair> pairs;
  std::span<const Stencil> stencils;
};

/// Number of chunks of a search.
Index chunks_of(const PairQuery& query);

namespace detail {
using BlockSink = bool (*)(void* context, const PairBlock& block);
void for_each_block(const PairQuery& query, PairScratch& scratch, BlockSink sink, void* context);
}  // namespace detail

/// Passes all pairs to sink(block), in parallel; no pair is stored for longer. Blocks and their order within a chunk are always
/// the same for the same trees. When the sink returns false, the search ends as soon as it can.
template <class Sink>
void for_each_candidate(const PairQuery& query, PairScratch& scratch, Sink&& sink) {
  detail::for_each_block(
      query, scratch,
      [](void* context, const PairBlock& block) -> bool {
        return (*static_cast<std::remove_reference_t<Sink>*>(context))(block);
      },
      &sink);
}

}  // namespace meniscus::collision
