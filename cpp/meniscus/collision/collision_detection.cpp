// Collision queries of a `CollisionMesh` that test pairs as they are found, and store only those that are asked for.
#include "meniscus/collision/broad_phase/next_double.hpp"
#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/continuous/moving_frame.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/lower_to.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>

namespace meniscus::collision {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void CollisionMesh::follow_all(const Motion& motion, const DetectionOptions& options) {
  follow(motion, 0);
  const bool marks = !options.changed.empty();
  require(!marks || options.changed.size() == motion.start.size(), "changed must have one flag per position, ",
          motion.start.size(), ", not ", options.changed.size());
  for (FollowingTree* t : {&vertex_tree_, &edge_tree_, &face_tree_}) {
    t->follow(vertex_boxes_, workspace_);
    if (marks) t->marks.mark(t->tree, options.changed);
  }
  marked_ = marks;
}

void CollisionMesh::follow_grown(std::span<const mesh::Point> positions, std::span<const double> growth,
                                 std::span<const std::uint8_t> flags) {
  const Motion rest{positions, positions};
  require_valid_motion(rest, "positions", "positions");
  require(growth.size() == positions.size(), "there are ", positions.size(), " positions, but ", growth.size(), " growths");
  require(flags.empty() || flags.size() == positions.size(), "there are ", positions.size(), " positions, but ", flags.size(),
          " flags");
  follow(rest, 0);
  parallel_for(0, static_cast<Index>(positions.size()), 4096, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index v = b; v < e; ++v)
      for (Index d = 0; d < 3; ++d) {
        vertex_boxes_[v].low[d] = next_down(positions[v][d] - growth[v]);
        vertex_boxes_[v].high[d] = next_up(positions[v][d] + growth[v]);
      }
  });
  for (FollowingTree* t : {&vertex_tree_, &edge_tree_, &face_tree_}) {
    t->follow(vertex_boxes_, workspace_);
    if (!flags.empty()) t->marks.mark(t->tree, flags);
  }
  marked_ = !flags.empty();
}

template <class Sink>
void CollisionMesh::for_each_near_pair(PairKind kind, const Motion& motion, const DetectionOptions& options, Sink&& sink) {
  if (!options.moving_frame) return for_each_candidate(query(kind), scratch_, sink);
  for_each_candidate(query(kind), scratch_, [&](const PairBlock& block) {
    std::array<ElementPair, PairBlock::capacity> pairs;
    std::array<Stencil, PairBlock::capacity> stencils;
    const std::size_t n = overlapping_in_moving_frame(kind, motion.start, motion.end, block, pairs.data(), stencils.data());
    return sink(PairBlock{block.chunk, {pairs.data(), n}, {stencils.data(), n}});
  });
}

template <class Found>
void CollisionMesh::detect(PairKind kind, const Motion& motion, ContactMode mode, const DetectionOptions& options,
                           Found&& found) {
  for_each_near_pair(kind, motion, options, [&](const PairBlock& block) {
    std::array<std::uint8_t, PairBlock::capacity> hit;
    find_contacts(kind, mode, motion.start, motion.end, block.stencils, hit.data());
    return found(block, std::span<const std::uint8_t>(hit.data(), block.pairs.size()));
  });
}

bool CollisionMesh::collides(const Motion& motion, ContactMode mode, const DetectionOptions& options) {
  const std::lock_guard lock(mutex_);
  require_valid_motion(motion);
  follow_all(motion, options);
  std::atomic<bool> any{false};
  for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge}) {
    if (any.load()) break;
    detect(kind, motion, mode, options, [&](const PairBlock&, std::span<const std::uint8_t> hit) {
      if (std::ranges::find(hit, 1) == hit.end()) return true;
      any.store(true, std::memory_order_relaxed);
      return false;
    });
  }
  return any.load();
}

Block<ElementPair> CollisionMesh::kept_pairs(Index chunks) {
  Index n = 0;
  for (Index c = 0; c < chunks; ++c) n += static_cast<Index>(scratch_.chunks[c].kept.size());
  Block<ElementPair> pairs(n);
  ElementPair* end = pairs.data();
  for (Index c = 0; c < chunks; ++c) end = std::ranges::copy(scratch_.chunks[c].kept, end).out;
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

CollisionPairs CollisionMesh::collisions(const Motion& motion, ContactMode mode, const DetectionOptions& options) {
  const std::lock_guard lock(mutex_);
  require_valid_motion(motion);
  follow_all(motion, options);
  CollisionPairs pairs;
  for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge}) {
    for (auto& c : scratch_.chunks) c.kept.clear();
    detect(kind, motion, mode, options, [&](const PairBlock& block, std::span<const std::uint8_t> hit) {
      auto& kept = scratch_.chunks[block.chunk].kept;
      for (std::size_t i = 0; i < hit.size(); ++i)
        if (hit[i] != 0) kept.push_back(block.pairs[i]);
      return true;
    });
    (kind == PairKind::vertex_face ? pairs.vertex_face : pairs.edge_edge) = kept_pairs(chunks_of(query(kind)));
  }
  return pairs;
}

double CollisionMesh::time_of_impact(const Motion& motion, double tolerance, const DetectionOptions& options) {
  require(tolerance > 0, "tolerance must be positive, not ", tolerance);
  const std::lock_guard lock(mutex_);
  require_valid_motion(motion);
  follow_all(motion, options);
  // The time of a pair does not depend on the limit unless it is later, so the order of the pairs does not matter.
  std::atomic<double> earliest{infinity};
  for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge})
    for_each_near_pair(kind, motion, options, [&](const PairBlock& block) {
      std::array<double, PairBlock::capacity> times;
      const double latest = std::min(1.0, earliest.load(std::memory_order_relaxed));
      find_times_of_impact(kind, motion.start, motion.end, block.stencils, tolerance, latest, times.data());
      for (std::size_t i = 0; i < block.stencils.size(); ++i) lower_to(earliest, times[i]);
      return earliest.load(std::memory_order_relaxed) > 0;
    });
  return earliest.load();
}

Block<ElementPair> CollisionMesh::self_intersections(std::span<const mesh::Point> positions, mesh::DegenerateContact policy) {
  const std::lock_guard lock(mutex_);
  const Motion rest{positions, positions};
  require_valid_motion(rest, "positions", "positions");
  follow(rest, 0);
  for (FollowingTree* t : {&edge_tree_, &face_tree_}) t->follow(vertex_boxes_, workspace_);
  const PairQuery query{.first = &edge_tree_.tree, .second = &face_tree_.tree};
  for (auto& c : scratch_.chunks) c.kept.clear();
  for_each_candidate(query, scratch_, [&](const PairBlock& block) {
    auto& kept = scratch_.chunks[block.chunk].kept;
    const auto at = [&](std::int32_t v) -> const mesh::Point& { return positions[v]; };
    for (const ElementPair& pair : block.pairs) {
      const Edge& e = edges_[pair[0]];
      const mesh::Triangle& t = triangles_[pair[1]];
      if (mesh::edge_meets_triangle(at(e[0]), at(e[1]), at(t[0]), at(t[1]), at(t[2]), policy)) kept.push_back(pair);
    }
    return true;
  });
  return kept_pairs(chunks_of(query));
}

}  // namespace meniscus::collision
