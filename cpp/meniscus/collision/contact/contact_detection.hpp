/// Detection of contacts on the paths of all vertices, with the state that a response works on: nodes, their displacements, and
/// the vertices that have to be tested again.
#pragma once

#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/contact/path_contact.hpp"

namespace meniscus::collision {

/// Pairs that are not tested, of both kinds ascending, the lower edge first: see `sort`.
struct DeactivatedPairs {
  std::vector<ElementPair> vertex_face, edge_edge;

  void sort();

  /// Throws InvalidArgument for elements that do not exist and for pairs with a common vertex, naming the first.
  void require_pairs_of(const CollisionMesh& mesh, Index vertices) const;

  bool contains(PairKind kind, const ElementPair& pair) const;
  bool empty() const { return vertex_face.empty() && edge_edge.empty(); }
};

/// Paths of nodes and vertices from the start to the end of a step.
class ContactPaths {
 public:
  /// Positions of nodes. `mesh` is over the vertices of `nodes`. All must outlive this object.
  ContactPaths(CollisionMesh& mesh, const ContactNodes& nodes) : mesh_(&mesh), nodes_(&nodes) {}

  /// Throws InvalidArgument for positions that are not finite or not as many as nodes, naming the first.
  void set(std::span<const mesh::Point> start, std::span<const mesh::Point> end);

  CollisionMesh& mesh() const { return *mesh_; }
  const ContactNodes& nodes() const { return *nodes_; }

  /// Positions of the nodes at the start.
  std::span<const mesh::Point> start() const { return start_; }
  /// Displacements of the nodes over the step, which a response changes; `move` then has to be told.
  std::span<mesh::Point> displacements() { return displacement_; }
  std::span<const mesh::Point> displacements() const { return displacement_; }
  /// Positions of the nodes at the end: as given, or start plus displacement for those that were moved.
  std::span<const mesh::Point> end() const { return end_; }
  std::span<const mesh::Point> vertex_start() const { return vertex_start_; }
  std::span<const mesh::Point> vertex_end() const { return vertex_end_; }

  /// Takes over the displacements of these nodes, and marks their vertices for the next detection.
  void move(std::span<const std::int32_t> moved);

  /// Whether displacements of these nodes are at most `most` in each coordinate; false where they are not finite.
  bool within(std::span<const std::int32_t> moved, double most) const;

  /// Ends the paths at a part of the step, for all nodes.
  void cut(double fraction);

  /// All pairs that collide in mode `any`, of which a vertex was marked since the last call (the first call: all pairs), without
  /// pairs that cannot yield and deactivated ones: vertex-face pairs first, both kinds ascending. Clears the marks.
  std::span<const PathContact> detect(const DeactivatedPairs& deactivated);

  /// Pairs that touch at the start already, as `detect` lists them: no other end helps these.
  std::array<std::vector<ElementPair>, 2> touching(const DeactivatedPairs& deactivated);

  /// Has the next detection test all pairs.
  void mark_all() { all_ = true; }

  /// Bytes held, without mesh and nodes.
  Index nbytes() const;

 private:
  /// Whether a pair counts: it can yield, and is not deactivated.
  bool counts(PairKind kind, const ElementPair& pair, const Stencil& vertices, const DeactivatedPairs& deactivated) const;
  void append(PairKind kind, const Block<ElementPair>& pairs, const DeactivatedPairs& deactivated);

  CollisionMesh* mesh_;
  const ContactNodes* nodes_;
  std::vector<mesh::Point> start_, end_, displacement_, vertex_start_, vertex_end_;
  std::vector<std::uint8_t> marks_;
  bool all_ = true;
  std::vector<PathContact> found_;
};

/// Vertices of a pair.
Stencil stencil_of(const CollisionMesh& mesh, PairKind kind, const ElementPair& pair);

}  // namespace meniscus::collision
