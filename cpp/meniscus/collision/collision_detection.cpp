// The queries of a collision mesh that test pairs as they are found, and store none but those asked for.
#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/moving_frame.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>

namespace meniscus {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::array<Point, 4> points_of(std::span<const Point> positions, const Stencil& s) {
  const auto at = [&](std::size_t k) { return positions[static_cast<std::size_t>(s[k])]; };
  return {at(0), at(1), at(2), at(3)};
}

void lower_to(std::atomic<double>& value, double wanted) {
  double seen = value.load(std::memory_order_relaxed);
  while (wanted < seen && !value.compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) {
  }
}

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

template <class Found>
void CollisionMesh::detect(PairKind kind, const Motion& motion, ContactMode mode, const DetectionOptions& options,
                           Found&& found) {
  for_each_candidate(query(kind), scratch_, [&](const PairBlock& block) {
    std::array<ElementPair, PairBlock::most> pairs;
    std::array<Stencil, PairBlock::most> stencils;
    std::array<std::uint8_t, PairBlock::most> hit;
    PairBlock rest = block;
    if (options.moving_frame) {
      const std::size_t n = overlapping_in_moving_frame(kind, motion.start, motion.end, block, pairs.data(), stencils.data());
      rest = {block.chunk, {pairs.data(), n}, {stencils.data(), n}};
    }
    find_contacts(kind, mode, motion.start, motion.end, rest.stencils, hit.data());
    return found(rest, std::span<const std::uint8_t>(hit.data(), rest.pairs.size()));
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
  for (Index c = 0; c < chunks; ++c) n += static_cast<Index>(scratch_.chunks[static_cast<std::size_t>(c)].kept.size());
  Block<ElementPair> pairs(n);
  ElementPair* end = pairs.data();
  for (Index c = 0; c < chunks; ++c) end = std::ranges::copy(scratch_.chunks[static_cast<std::size_t>(c)].kept, end).out;
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
      auto& kept = scratch_.chunks[static_cast<std::size_t>(block.chunk)].kept;
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
  std::atomic<double> earliest{infinity};
  for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge})
    detect(kind, motion, ContactMode::any, options, [&](const PairBlock& block, std::span<const std::uint8_t> hit) {
      for (std::size_t i = 0; i < hit.size(); ++i) {
        if (hit[i] == 0) continue;
        // A pair has a time of its own, which is at most `tolerance` (or the last place) before its contact: with this limit, no
        // pair is cut off whose time is the earliest, whatever the order.
        const double latest = std::min(1.0, earliest.load(std::memory_order_relaxed) + (2 * tolerance + 1e-15));
        const double t = meniscus::time_of_impact(kind, points_of(motion.start, block.stencils[i]),
                                                  points_of(motion.end, block.stencils[i]), tolerance, latest);
        lower_to(earliest, t);
        if (t == 0) return false;
      }
      return true;
    });
  return earliest.load();
}

}  // namespace meniscus
