// Collision queries of two meshes, which test pairs as they are found. The positions of both are joined in one array, so that the
// tests are those of one mesh.
#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/continuous/moving_frame.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/lower_to.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::collision {
namespace {

/// Pairs of (second, first) as (first, second), in lexicographic order.
void exchange(Block<ElementPair>& pairs) {
  for (ElementPair& pair : pairs) std::swap(pair[0], pair[1]);
  std::sort(pairs.begin(), pairs.end());
}

/// Before both are locked, which one mesh cannot be twice.
void require_two_meshes(const CollisionMesh& first, const CollisionMesh& second) {
  require(&first != &second, "queries of a mesh with itself are those of one mesh");
}

}  // namespace

void CollisionMesh::follow_both(CollisionMesh& other, const MutualMotion& motion, const MutualOptions& options) {
  require_valid_motion(motion.first);
  other.require_valid_motion(motion.second, "other_start", "other_end");
  const std::size_t n = motion.first.start.size();
  const std::size_t total = n + motion.second.start.size();
  require(total <= 2147483647, "two meshes can have at most 2147483647 vertices together, not ", total);
  // With flags of one mesh alone, nothing of the other has changed.
  std::vector<std::uint8_t> unchanged;
  const bool marks = !options.changed.empty() || !options.other_changed.empty();
  if (marks) unchanged.resize(std::max(n, total - n), 0);
  const auto follow_own = [&](CollisionMesh& mesh, const Motion& own, std::span<const std::uint8_t> changed) {
    if (marks && changed.empty()) changed = std::span<const std::uint8_t>(unchanged).first(own.start.size());
    mesh.follow_all(own, {.changed = changed, .moving_frame = options.moving_frame});
  };
  follow_own(*this, motion.first, options.changed);
  follow_own(other, motion.second, options.other_changed);
  marked_ = marks;
  own_positions_ = static_cast<std::int32_t>(n);
  joined_start_.resize(total);
  joined_end_.resize(total);
  std::ranges::copy(motion.second.start, std::ranges::copy(motion.first.start, joined_start_.begin()).out);
  std::ranges::copy(motion.second.end, std::ranges::copy(motion.first.end, joined_end_.begin()).out);
}

template <class Sink>
void CollisionMesh::for_each_mutual_pair(PairKind kind, const FollowingTree& first, const FollowingTree& second,
                                         bool first_is_own, const MutualOptions& options, Sink&& sink) {
  PairQuery query{.first = &first.tree, .second = &second.tree, .skip_shared_vertices = false};
  if (marked_) {
    query.first_marks = &first.marks;
    query.second_marks = &second.marks;
  }
  const std::size_t of_first = kind == PairKind::vertex_face ? 1 : 2;
  const std::array<std::int32_t, 2> offsets = first_is_own ? std::array{0, own_positions_} : std::array{own_positions_, 0};
  for_each_candidate(query, scratch_, [&](const PairBlock& block) {
    std::array<Stencil, PairBlock::capacity> joined;
    for (std::size_t i = 0; i < block.stencils.size(); ++i)
      for (std::size_t k = 0; k < 4; ++k) joined[i][k] = block.stencils[i][k] + offsets[k < of_first ? 0 : 1];
    const PairBlock moved{block.chunk, block.pairs, {joined.data(), block.stencils.size()}};
    if (!options.moving_frame) return sink(moved);
    std::array<ElementPair, PairBlock::capacity> pairs;
    std::array<Stencil, PairBlock::capacity> stencils;
    const std::size_t n = overlapping_in_moving_frame(kind, joined_start_, joined_end_, moved, pairs.data(), stencils.data());
    return sink(PairBlock{block.chunk, {pairs.data(), n}, {stencils.data(), n}});
  });
}

template <class Visit>
void CollisionMesh::for_each_mutual_kind(CollisionMesh& other, Visit&& visit) {
  visit(PairKind::vertex_face, vertex_tree_, other.face_tree_, true) &&
      visit(PairKind::vertex_face, other.vertex_tree_, face_tree_, false) &&
      visit(PairKind::edge_edge, edge_tree_, other.edge_tree_, true);
}

void CollisionMesh::forget_kept() {
  for (auto& c : scratch_.chunks) c.kept.clear();
}

bool CollisionMesh::collides_with(CollisionMesh& other, const MutualMotion& motion, ContactMode mode,
                                  const MutualOptions& options) {
  require_two_meshes(*this, other);
  const std::scoped_lock lock(mutex_, other.mutex_);
  follow_both(other, motion, options);
  std::atomic<bool> any{false};
  for_each_mutual_kind(other, [&](PairKind kind, const FollowingTree& a, const FollowingTree& b, bool own) {
    for_each_mutual_pair(kind, a, b, own, options, [&](const PairBlock& block) {
      std::array<std::uint8_t, PairBlock::capacity> hit;
      find_contacts(kind, mode, joined_start_, joined_end_, block.stencils, hit.data());
      if (std::find(hit.begin(), hit.begin() + static_cast<Index>(block.pairs.size()), 1) ==
          hit.begin() + static_cast<Index>(block.pairs.size()))
        return true;
      any.store(true, std::memory_order_relaxed);
      return false;
    });
    return !any.load();
  });
  return any.load();
}

MutualPairs CollisionMesh::collisions_with(CollisionMesh& other, const MutualMotion& motion, ContactMode mode,
                                           const MutualOptions& options) {
  require_two_meshes(*this, other);
  const std::scoped_lock lock(mutex_, other.mutex_);
  follow_both(other, motion, options);
  MutualPairs pairs;
  for_each_mutual_kind(other, [&](PairKind kind, const FollowingTree& a, const FollowingTree& b, bool own) {
    forget_kept();
    for_each_mutual_pair(kind, a, b, own, options, [&](const PairBlock& block) {
      std::array<std::uint8_t, PairBlock::capacity> hit;
      find_contacts(kind, mode, joined_start_, joined_end_, block.stencils, hit.data());
      auto& kept = scratch_.chunks[block.chunk].kept;
      for (std::size_t i = 0; i < block.pairs.size(); ++i)
        if (hit[i] != 0) kept.push_back(block.pairs[i]);
      return true;
    });
    Block<ElementPair>& found = kind == PairKind::edge_edge ? pairs.edge_edge : own ? pairs.vertex_face : pairs.face_vertex;
    found = kept_pairs(chunks_of({.first = &a.tree, .second = &b.tree}));
    if (!own) exchange(found);
    return true;
  });
  return pairs;
}

double CollisionMesh::time_of_impact_with(CollisionMesh& other, const MutualMotion& motion, double tolerance,
                                          const MutualOptions& options) {
  require(tolerance > 0, "tolerance must be positive, not ", tolerance);
  require_two_meshes(*this, other);
  const std::scoped_lock lock(mutex_, other.mutex_);
  follow_both(other, motion, options);
  std::atomic<double> earliest{std::numeric_limits<double>::infinity()};
  for_each_mutual_kind(other, [&](PairKind kind, const FollowingTree& a, const FollowingTree& b, bool own) {
    for_each_mutual_pair(kind, a, b, own, options, [&](const PairBlock& block) {
      std::array<double, PairBlock::capacity> times;
      const double latest = std::min(1.0, earliest.load(std::memory_order_relaxed));
      find_times_of_impact(kind, joined_start_, joined_end_, block.stencils, tolerance, latest, times.data());
      for (std::size_t i = 0; i < block.stencils.size(); ++i) lower_to(earliest, times[i]);
      return earliest.load(std::memory_order_relaxed) > 0;
    });
    return earliest.load() > 0;
  });
  return earliest.load();
}

MutualIntersections CollisionMesh::intersections_with(CollisionMesh& other, std::span<const mesh::Point> positions,
                                                      std::span<const mesh::Point> other_positions,
                                                      mesh::DegenerateContact policy) {
  require_two_meshes(*this, other);
  const std::scoped_lock lock(mutex_, other.mutex_);
  const auto follow_rest = [](CollisionMesh& mesh, std::span<const mesh::Point> x, const char* name) {
    mesh.require_valid_motion({x, x}, name, name);
    mesh.follow({x, x}, 0);
    for (FollowingTree* t : {&mesh.edge_tree_, &mesh.face_tree_}) t->follow(mesh.vertex_boxes_, mesh.workspace_);
  };
  follow_rest(*this, positions, "positions");
  follow_rest(other, other_positions, "other_positions");
  const auto meeting = [&](const CollisionMesh& first, std::span<const mesh::Point> x, const CollisionMesh& second,
                           std::span<const mesh::Point> y) {
    const PairQuery query{.first = &first.edge_tree_.tree, .second = &second.face_tree_.tree, .skip_shared_vertices = false};
    forget_kept();
    for_each_candidate(query, scratch_, [&](const PairBlock& block) {
      auto& kept = scratch_.chunks[block.chunk].kept;
      for (const ElementPair& pair : block.pairs) {
        const Edge& e = first.edges_[pair[0]];
        const mesh::Triangle& t = second.triangles_[pair[1]];
        const auto a = [&](std::int32_t v) -> const mesh::Point& { return x[v]; };
        const auto b = [&](std::int32_t v) -> const mesh::Point& { return y[v]; };
        if (mesh::edge_meets_triangle(a(e[0]), a(e[1]), b(t[0]), b(t[1]), b(t[2]), policy)) kept.push_back(pair);
      }
      return true;
    });
    return kept_pairs(chunks_of(query));
  };
  MutualIntersections found;
  found.edge_face = meeting(*this, positions, other, other_positions);
  found.face_edge = meeting(other, other_positions, *this, positions);
  exchange(found.face_edge);
  return found;
}

}  // namespace meniscus::collision
