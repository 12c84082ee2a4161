#include "meniscus/collision/collision_mesh.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"

#include <numeric>

namespace meniscus::collision {
namespace {

/// A tree is built anew when its leaves have become so much looser. Searches are then about a third slower, and a build costs as
/// much as that third.
constexpr double max_loosening = 1.2;
constexpr Index row_chunk = 64;

template <std::size_t K>
std::span<const std::int32_t> flat(const std::vector<std::array<std::int32_t, K>>& elements) {
  return {elements.empty() ? nullptr : elements.front().data(), K * elements.size()};
}

/// The edges of triangles in lexicographic order: those of each lower end together, by counting, and these lists sorted.
std::vector<CollisionMesh::Edge> edges_of(std::span<const mesh::Triangle> triangles) {
  std::int32_t largest = -1;
  for (const mesh::Triangle& t : triangles) largest = std::max({largest, t[0], t[1], t[2]});
  const auto for_each_side = [&](auto&& f) {
    for (const mesh::Triangle& t : triangles)
      for (std::size_t k = 0; k < 3; ++k) {
        const auto [low, high] = std::minmax(t[k], t[(k + 1) % 3]);
        if (low != high && low >= 0) f(low, high);
      }
  };
  std::vector<Index> start(largest + 2, 0), kept(largest + 1, 0);
  for_each_side([&](std::int32_t low, std::int32_t) { ++start[low + 1]; });
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> ends(start.back());
  for_each_side([&](std::int32_t low, std::int32_t high) { ends[start[low] + kept[low]++] = high; });
  parallel_for(0, largest + 1, 4096, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v) {
      const auto first = ends.begin() + start[v];
      std::sort(first, first + kept[v]);
      kept[v] = std::unique(first, first + kept[v]) - first;
    }
  });
  std::vector<CollisionMesh::Edge> edges;
  edges.reserve(std::accumulate(kept.begin(), kept.end(), Index{0}));
  for (std::int32_t v = 0; v <= largest; ++v)
    for (Index i = 0; i < kept[v]; ++i) edges.push_back({v, ends[start[v] + i]});
  return edges;
}

template <std::size_t K>
mesh::Box box_around(const std::array<std::int32_t, K>& corners, std::span<const mesh::Box> vertex_boxes) {
  mesh::Box box = vertex_boxes[corners[0]];
  for (std::size_t k = 1; k < K; ++k) box.add(vertex_boxes[corners[k]]);
  return box;
}

template <std::size_t K>
std::vector<mesh::Box> boxes_around(const std::vector<std::array<std::int32_t, K>>& elements,
                                    std::span<const mesh::Box> vertex_boxes) {
  const StandardArithmetic arithmetic;
  std::vector<mesh::Box> boxes(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) boxes[i] = box_around(elements[i], vertex_boxes);
  return boxes;
}

template <std::size_t A, std::size_t B>
bool share_a_vertex(const std::array<std::int32_t, A>& a, const std::array<std::int32_t, B>& b) {
  return std::ranges::any_of(a, [&](std::int32_t v) { return std::ranges::find(b, v) != b.end(); });
}

/// The pairs (i, j) for which partners(i, f) calls f(j), for i from 0 to n, in lexicographic order.
template <class Partners>
Block<ElementPair> pairs_by_rows(Index n, Partners&& partners) {
  std::vector<std::vector<ElementPair>> found((n + row_chunk - 1) / row_chunk);
  parallel_for(0, n, row_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    auto& pairs = found[b / row_chunk];
    for (Index i = b; i < e; ++i) {
      const auto before = static_cast<Index>(pairs.size());
      partners(i, [&](std::int32_t j) { pairs.push_back({static_cast<std::int32_t>(i), j}); });
      std::sort(pairs.begin() + before, pairs.end(), [](const ElementPair& x, const ElementPair& y) { return x[1] < y[1]; });
    }
  });
  Index total = 0;
  for (const auto& part : found) total += static_cast<Index>(part.size());
  Block<ElementPair> pairs(total);
  ElementPair* end = pairs.data();
  for (const auto& part : found) end = std::ranges::copy(part, end).out;
  return pairs;
}

}  // namespace

void CollisionMesh::FollowingTree::follow(std::span<const mesh::Box> vertex_boxes, Workspace& workspace) {
  if (built) tree.refit(vertex_boxes);
  if (built && tree.looseness() <= max_loosening * built_looseness) return;
  built = false;  // should the build be interrupted
  tree.build(vertex_boxes, workspace);
  built_looseness = tree.looseness();
  built = true;
}

CollisionMesh::CollisionMesh(std::optional<std::span<const Edge>> edges, std::span<const mesh::Triangle> triangles)
    : edges_(edges ? std::vector<Edge>(edges->begin(), edges->end()) : edges_of(triangles)),
      triangles_(triangles.begin(), triangles.end()),
      derived_(!edges) {
  for (std::size_t t = 0; t < triangles_.size(); ++t)
    for (const std::int32_t v : triangles_[t]) {
      require(v >= 0, "triangles must hold indices of vertices, but one of triangle ", t, " is ", v);
      largest_index_ = std::max(largest_index_, v);
    }
  for (std::size_t i = 0; i < edges_.size(); ++i)
    for (const std::int32_t v : edges_[i]) {
      require(v >= 0, "edges must hold indices of vertices, but one of edge ", i, " is ", v);
      largest_index_ = std::max(largest_index_, v);
    }
  edge_tree_.tree = ElementTree(flat(edges_), 2);
  face_tree_.tree = ElementTree(flat(triangles_), 3);
}

void CollisionMesh::require_valid_motion(const Motion& motion, const char* start, const char* end) const {
  const std::size_t n = motion.start.size();
  require(n == motion.end.size(), start, " and ", end, " must hold the same number of positions, not ", n, " and ",
          motion.end.size());
  require(n <= 2147483647, "a mesh can have at most 2147483647 vertices, not ", n);
  require(largest_index_ < static_cast<Index>(n), "edges and triangles must hold indices of the ", n, " vertices, but one is ",
          largest_index_);
  mesh::require_finite(motion.start, start);
  if (motion.end.data() != motion.start.data()) mesh::require_finite(motion.end, end);
}

void CollisionMesh::follow(const Motion& motion, double inflation) {
  require(inflation >= 0, "inflation must not be negative, but is ", inflation);
  vertex_boxes_.resize(motion.start.size());
  swept_boxes(motion.start, motion.end, inflation, vertex_boxes_);
  if (vertex_tree_.tree.size() != static_cast<Index>(vertex_boxes_.size())) {
    std::vector<std::int32_t> numbers(vertex_boxes_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    vertex_tree_.built = false;
    vertex_tree_.tree = ElementTree(numbers, 1);
  }
  marked_ = false;
}

PairQuery CollisionMesh::query(PairKind kind) const {
  PairQuery q;
  q.first = kind == PairKind::vertex_face ? &vertex_tree_.tree : &edge_tree_.tree;
  q.second = kind == PairKind::vertex_face ? &face_tree_.tree : &edge_tree_.tree;
  if (marked_) {
    q.first_marks = kind == PairKind::vertex_face ? &vertex_tree_.marks : &edge_tree_.marks;
    q.second_marks = kind == PairKind::vertex_face ? &face_tree_.marks : &edge_tree_.marks;
  }
  return q;
}

Block<ElementPair> CollisionMesh::list(const PairQuery& q) {
  const PairList found(q, scratch_);
  Block<ElementPair> pairs(found.size());
  found.write({pairs.data(), static_cast<std::size_t>(pairs.size())});
  return pairs;
}

CollisionPairs CollisionMesh::candidates(const Motion& motion, double inflation, BroadPhase method) {
  const std::lock_guard lock(mutex_);
  require_valid_motion(motion);
  follow(motion, inflation);
  if (method != BroadPhase::tree) return candidates_by_rows(method);
  for (FollowingTree* t : {&vertex_tree_, &edge_tree_, &face_tree_}) t->follow(vertex_boxes_, workspace_);
  return {list(query(PairKind::vertex_face)), list(query(PairKind::edge_edge))};
}

CollisionPairs CollisionMesh::candidates_by_rows(BroadPhase method) {
  const auto face_boxes = boxes_around(triangles_, vertex_boxes_);
  const auto edge_boxes = boxes_around(edges_, vertex_boxes_);
  if (method == BroadPhase::grid) {
    grids_[0].build(face_boxes, workspace_);
    grids_[1].build(edge_boxes, workspace_);
  }
  const auto overlapping = [&](std::size_t kind, std::span<const mesh::Box> boxes, const mesh::Box& box, auto&& f) {
    if (method == BroadPhase::grid) return grids_[kind].for_each_overlap(box, f);
    for (std::size_t j = 0; j < boxes.size(); ++j)
      if (boxes[j].overlaps(box)) f(static_cast<std::int32_t>(j));
  };
  CollisionPairs pairs;
  pairs.vertex_face = pairs_by_rows(static_cast<Index>(vertex_boxes_.size()), [&](Index i, auto&& found) {
    overlapping(0, face_boxes, vertex_boxes_[i], [&](std::int32_t j) {
      if (!share_a_vertex(triangles_[j], std::array{static_cast<std::int32_t>(i)})) found(j);
    });
  });
  pairs.edge_edge = pairs_by_rows(static_cast<Index>(edges_.size()), [&](Index i, auto&& found) {
    overlapping(1, edge_boxes, edge_boxes[i], [&](std::int32_t j) {
      if (j > i && !share_a_vertex(edges_[i], edges_[j])) found(j);
    });
  });
  return pairs;
}

MutualPairs CollisionMesh::candidates_with(CollisionMesh& other, const Motion& motion, const Motion& other_motion,
                                           double inflation) {
  require(&other != this, "pairs of a mesh with itself are those of `candidates`");
  const std::scoped_lock lock(mutex_, other.mutex_);
  require_valid_motion(motion);
  other.require_valid_motion(other_motion);
  follow(motion, inflation);
  other.follow(other_motion, inflation);
  for (CollisionMesh* mesh : {this, &other})
    for (FollowingTree* t : {&mesh->vertex_tree_, &mesh->edge_tree_, &mesh->face_tree_})
      t->follow(mesh->vertex_boxes_, workspace_);
  const auto pairs_of = [&](const FollowingTree& a, const FollowingTree& b) {
    return list({.first = &a.tree, .second = &b.tree, .skip_shared_vertices = false});
  };
  MutualPairs pairs;
  pairs.vertex_face = pairs_of(vertex_tree_, other.face_tree_);
  // Found as (vertex, face), wanted as (face, vertex).
  const Block<ElementPair> reversed = pairs_of(other.vertex_tree_, face_tree_);
  pairs.face_vertex = Block<ElementPair>(reversed.size());
  for (Index i = 0; i < reversed.size(); ++i) pairs.face_vertex[i] = {reversed[i][1], reversed[i][0]};
  std::sort(pairs.face_vertex.begin(), pairs.face_vertex.end());
  pairs.edge_edge = pairs_of(edge_tree_, other.edge_tree_);
  return pairs;
}

Index CollisionMesh::nbytes() const {
  const std::lock_guard lock(mutex_);
  Index bytes = static_cast<Index>(edges_.capacity() * sizeof(Edge) + triangles_.capacity() * sizeof(mesh::Triangle) +
                                   vertex_boxes_.capacity() * sizeof(mesh::Box) +
                                   (joined_start_.capacity() + joined_end_.capacity()) * sizeof(mesh::Point));
  for (const FollowingTree* t : {&vertex_tree_, &edge_tree_, &face_tree_}) bytes += t->tree.nbytes() + t->marks.nbytes();
  for (const ElementGrid& g : grids_) bytes += g.nbytes();
  return bytes + scratch_.nbytes() + workspace_.bytes();
}

}  // namespace meniscus::collision
