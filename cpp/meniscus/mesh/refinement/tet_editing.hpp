/// Editable tetrahedral mesh: replacement of the tetrahedra of a cavity, motion of vertices, and undo.
#pragma once

#include "meniscus/mesh/dynamic/edit_journal.hpp"
#include "meniscus/mesh/refinement/bcc_lattice.hpp"

#include <span>
#include <vector>

namespace meniscus::mesh {

/// The least of the sines of the six dihedral angles of a tetrahedron, those of obtuse angles times 0.7, and negative where the
/// tetrahedron is inverted. A value of at least s < 0.7 bounds all angles to [asin(s), 180 - asin(s / 0.7)] degrees.
///
/// Source: Klingner and Shewchuk, "Aggressive tetrahedral mesh improvement", 2007, section 2.
double min_sine(const Point& a, const Point& b, const Point& c, const Point& d);

/// A vertex, and the feature that it is bound to; the caller defines the meaning of the latter.
struct EditedVertex {
  Point position;
  /// Dimensions in which it may move: 3 inside, 2 on the surface, 1 on a crease, 0 at a corner.
  std::int8_t freedom = 3;
  std::int32_t curve = -1;
};

/// The vertices around an edge, in the order that makes (a, b, ring[i], ring[i + 1]) positive.
struct EdgeRing {
  std::vector<std::int32_t> vertices;
  std::vector<std::int32_t> tets;
  /// The edge lies on the boundary: there is no tetrahedron from the last vertex to the first.
  bool open = false;
};

/// Mesh of tetrahedra that are added and removed. Tetrahedra are numbered by slots; a slot is never reused, except by undo.
class TetEditor {
 public:
  /// Boundary vertices get freedom 2, all others 3. The mesh has to be conforming.
  explicit TetEditor(const TetMeshData& mesh);

  Index vertices() const { return static_cast<Index>(nodes_.size()); }
  Index slots() const { return static_cast<Index>(tets_.size()); }
  const EditedVertex& vertex(std::int32_t v) const { return nodes_[v]; }
  const Point& position(std::int32_t v) const { return nodes_[v].position; }
  bool on_boundary(std::int32_t v) const { return nodes_[v].freedom < 3; }
  const Tet& tet(std::int32_t t) const { return tets_[t]; }
  bool alive(std::int32_t t) const { return alive_[t] != 0; }
  /// The tetrahedra at a vertex, in no particular order.
  std::span<const std::int32_t> star(std::int32_t v) const { return stars_[v]; }

  double quality(const Tet& t) const { return min_sine(position(t[0]), position(t[1]), position(t[2]), position(t[3])); }

  /// Number of tetrahedra that have all of these corners.
  int tets_with(std::int32_t a, std::int32_t b, std::int32_t c) const;
  bool boundary_face(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return on_boundary(a) && on_boundary(b) && on_boundary(c) && tets_with(a, b, c) == 1;
  }
  bool has_edge(std::int32_t a, std::int32_t b) const;
  /// The boundary faces of some tetrahedra, counter-clockwise as seen from outside.
  void boundary_faces(std::span<const std::int32_t> tets, std::vector<Triangle>& out) const;
  /// Those at a vertex.
  void boundary_faces_at(std::int32_t v, std::vector<Triangle>& out) const;
  /// All of them, each at its lowest vertex, in the order of these.
  std::vector<Triangle> boundary() const;
  /// The neighbours of a vertex, ascending.
  void neighbours(std::int32_t v, std::vector<std::int32_t>& out) const;
  /// False where the tetrahedra around the edge are no single fan, or there are none.
  bool find_ring(std::int32_t a, std::int32_t b, EdgeRing& out) const;
  /// Whether an edge can be contracted without changing the topology (the link condition, with one vertex beyond the boundary).
  bool contractible(std::int32_t a, std::int32_t b) const;

  // Changes. Each is recorded.
  void set(std::int32_t v, const EditedVertex& value);
  std::int32_t add_vertex(const EditedVertex& value);
  void remove_tet(std::int32_t t);
  std::int32_t add_tet(const Tet& t);

  // Number of changes recorded since the last call of `keep`.
  std::size_t mark() const { return journal_.size(); }
  void undo(std::size_t mark);
  void keep() { journal_.clear(); }
  /// The live tetrahedra that were added or whose corners have moved since a mark, ascending.
  void changed(std::size_t mark, std::vector<std::int32_t>& out) const;

  /// The faces that have become part of the boundary since a mark or are so no more, corners ascending, and the vertices that
  /// have moved or are new; both ascending.
  void changed_boundary(std::size_t mark, std::vector<Triangle>& faces, std::vector<std::int32_t>& moved) const;

  /// Live tetrahedra and all vertices.
  TetMeshData mesh() const;

 private:
  void link(std::int32_t t);
  void unlink(std::int32_t t);

  std::vector<EditedVertex> nodes_;
  std::vector<Tet> tets_;
  std::vector<std::int8_t> alive_;
  std::vector<std::vector<std::int32_t>> stars_;
  EditJournal<EditedVertex> journal_;
};

}  // namespace meniscus::mesh
