/// Collision queries of a moving mesh: which elements may collide within a step, which do, and when first.
///
/// Source: Selle 2008, section 6.4 and Guendelman et al. 2005, section 3 (hierarchies of boxes around paths); Brochu 2012,
/// sections 3.3.5 and 4.5.4 (grids of boxes; only pairs with overlapping boxes are tested).
#pragma once

#include "meniscus/collision/broad_phase/broad_phase.hpp"
#include "meniscus/collision/broad_phase/element_grid.hpp"
#include "meniscus/core/block.hpp"
#include "meniscus/mesh/intersection/intersection.hpp"

#include <mutex>
#include <optional>

namespace meniscus::collision {

/// Methods for finding candidates. All give the same pairs.
enum class BroadPhase : std::int8_t { tree, grid, brute_force };

/// Positions of the vertices at the start and the end of a step, m. Vertices move straight at constant speed.
struct Motion {
  std::span<const mesh::Point> start;
  std::span<const mesh::Point> end;
};

/// Pairs in lexicographic order: (vertex, face), and (edge, edge) with the lower number first.
struct CollisionPairs {
  Block<ElementPair> vertex_face{0};
  Block<ElementPair> edge_edge{0};
};

/// Pairs of two meshes, an element of the first mesh first.
struct MutualPairs {
  Block<ElementPair> vertex_face{0};
  Block<ElementPair> face_vertex{0};
  Block<ElementPair> edge_edge{0};
};

/// Edges of one mesh that meet triangles of the other: (edge of the first, triangle of the second), and (triangle of the first,
/// edge of the second).
struct MutualIntersections {
  Block<ElementPair> edge_face{0};
  Block<ElementPair> face_edge{0};
};

/// Options of a detection.
struct DetectionOptions {
  /// One flag per vertex: only pairs with a flagged vertex are tested. Empty: all are.
  std::span<const std::uint8_t> changed;
  /// Test the boxes of a pair once more in a frame that moves with it before the exact test. This changes no result.
  bool moving_frame = false;
};

/// Motions of two meshes.
struct MutualMotion {
  Motion first;
  Motion second;
};

/// Options of a detection between two meshes.
struct MutualOptions {
  /// One flag per vertex of each mesh: only pairs with a flagged vertex are tested. Both empty: all are.
  std::span<const std::uint8_t> changed;
  std::span<const std::uint8_t> other_changed;
  bool moving_frame = false;
};

/// Keeps trees over its vertices, edges and faces. Each call refits them to its positions, and rebuilds them when their boxes
/// have become loose. Results depend on the arguments of a call alone. Calls from several threads wait for each other.
class CollisionMesh {
 public:
  using Edge = std::array<std::int32_t, 2>;

  /// Copies edges and triangles. Without edges, those of the triangles, in ascending order. Every position of a call is a vertex,
  /// also without an edge or a face. Indices must not be negative; calls check that they are below the number of positions.
  CollisionMesh(std::optional<std::span<const Edge>> edges, std::span<const mesh::Triangle> triangles);

  std::span<const Edge> edges() const { return edges_; }
  /// Whether the edges are those of the triangles: then each is in a triangle, and they are in lexicographic order.
  bool edges_of_triangles() const { return derived_; }
  std::span<const mesh::Triangle> triangles() const { return triangles_; }

  /// Pairs without a common vertex whose closed boxes around start and end overlap, boxes grown by `inflation` on each side.
  CollisionPairs candidates(const Motion& motion, double inflation, BroadPhase method);

  /// The same for elements of two meshes, which are different objects.
  MutualPairs candidates_with(CollisionMesh& other, const Motion& motion, const Motion& other_motion, double inflation);

  /// Whether any pair collides.
  bool collides(const Motion& motion, ContactMode mode, const DetectionOptions& options);

  /// All pairs that collide.
  CollisionPairs collisions(const Motion& motion, ContactMode mode, const DetectionOptions& options);

  /// The earliest time of impact of all pairs; infinity if none collides.
  double time_of_impact(const Motion& motion, double tolerance, const DetectionOptions& options);

  /// Passes pairs without a common vertex whose closed boxes overlap to sink(kind, block), in parallel and without storing them,
  /// after begin(kind, chunks) with the number of chunks of that kind. The box of an element encloses those of its vertices,
  /// which reach `growth` (m, one per vertex, rounded outward) to each side. With flags, one per vertex, only pairs with a
  /// flagged vertex are wanted. The sink must not call this mesh.
  template <class Begin, class Sink>
  void for_each_near(std::span<const mesh::Point> positions, std::span<const double> growth, std::span<const std::uint8_t> flags,
                     Begin&& begin, Sink&& sink) {
    const std::lock_guard lock(mutex_);
    follow_grown(positions, growth, flags);
    for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge}) {
      begin(kind, chunks_of(query(kind)));
      for_each_candidate(query(kind), scratch_, [&](const PairBlock& block) {
        sink(kind, block);
        return true;
      });
    }
  }

  /// Edges and triangles without a common vertex that have a point in common.
  Block<ElementPair> self_intersections(std::span<const mesh::Point> positions, mesh::DegenerateContact policy);

  /// The same queries for elements of two meshes, which are different objects.
  bool collides_with(CollisionMesh& other, const MutualMotion& motion, ContactMode mode, const MutualOptions& options);
  MutualPairs collisions_with(CollisionMesh& other, const MutualMotion& motion, ContactMode mode, const MutualOptions& options);
  double time_of_impact_with(CollisionMesh& other, const MutualMotion& motion, double tolerance, const MutualOptions& options);
  MutualIntersections intersections_with(CollisionMesh& other, std::span<const mesh::Point> positions,
                                         std::span<const mesh::Point> other_positions, mesh::DegenerateContact policy);

  /// Bytes held, without the results of calls.
  Index nbytes() const;

 private:
  /// A tree, and its looseness when it was built.
  struct FollowingTree {
    ElementTree tree;
    bool built = false;
    double built_looseness = 0;
    ElementMarks marks;
    void follow(std::span<const mesh::Box> vertex_boxes, Workspace& workspace);
  };

  void require_valid_motion(const Motion& motion, const char* start = "start", const char* end = "end") const;
  void follow(const Motion& motion, double inflation);
  void follow_grown(std::span<const mesh::Point> positions, std::span<const double> growth, std::span<const std::uint8_t> flags);
  PairQuery query(PairKind kind) const;
  Block<ElementPair> list(const PairQuery& query);
  CollisionPairs candidates_by_rows(BroadPhase method);
  void follow_all(const Motion& motion, const DetectionOptions& options);
  /// Calls sink(block) for blocks of pairs of one kind whose boxes overlap as the options ask; ends when it returns false.
  template <class Sink>
  void for_each_near_pair(PairKind kind, const Motion& motion, const DetectionOptions& options, Sink&& sink);
  /// Calls found(block, hit) for blocks of pairs of one kind, with one flag per pair; ends when it returns false.
  template <class Found>
  void detect(PairKind kind, const Motion& motion, ContactMode mode, const DetectionOptions& options, Found&& found);
  Block<ElementPair> kept_pairs(Index chunks);
  /// The trees of both meshes at their motions; positions of both in one array.
  void follow_both(CollisionMesh& other, const MutualMotion& motion, const MutualOptions& options);
  /// Calls sink(block) for blocks of pairs of an element of `first` and one of `second`, trees of two meshes, whose stencils hold
  /// rows of the joined positions: those of trees of this mesh first.
  template <class Sink>
  void for_each_mutual_pair(PairKind kind, const FollowingTree& first, const FollowingTree& second, bool first_is_own,
                            const MutualOptions& options, Sink&& sink);
  template <class Visit>
  void for_each_mutual_kind(CollisionMesh& other, Visit&& visit);
  void forget_kept();

  std::vector<Edge> edges_;
  std::vector<mesh::Triangle> triangles_;
  std::int32_t largest_index_ = -1;
  bool derived_ = false;
  mutable std::mutex mutex_;
  std::vector<mesh::Box> vertex_boxes_;
  /// Positions of this mesh and of another one, of queries between two.
  std::vector<mesh::Point> joined_start_;
  std::vector<mesh::Point> joined_end_;
  std::int32_t own_positions_ = 0;
  FollowingTree vertex_tree_;
  FollowingTree edge_tree_;
  FollowingTree face_tree_;
  bool marked_ = false;
  std::array<ElementGrid, 2> grids_;
  PairScratch scratch_;
  Workspace workspace_;
};

}  // namespace meniscus::collision
