/// Triangle mesh whose vertices and triangles come and go: positions, triangles, and the triangles at each vertex.
///
/// Surfaces may be closed or open. Edges may have any number of triangles; where these are more than two they are paired, so that
/// the surface passes from one to the other of a pair and the edge is where sheets only touch.
///
/// Source: Brochu 2012, section 3.2.1.
#pragma once

#include "meniscus/mesh/dynamic/edit_journal.hpp"
#include "meniscus/mesh/dynamic/vertex_lists.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <optional>

namespace meniscus::mesh {

/// What of a mesh is not as the boundary of a set must be.
struct SurfaceDefects {
  /// Edges with one triangle.
  Index boundary_edges = 0;
  /// Edges with three or another odd number of triangles above one.
  Index odd_edges = 0;
  /// Edges with four or another even number of triangles above two.
  Index crowded_edges = 0;
  /// Edges that different numbers of triangles traverse in either direction, without those of the boundary.
  Index unpaired_edges = 0;
  /// Triangles with a repeated corner.
  Index repeated_corners = 0;
  /// Triangles that have the corners of an earlier one.
  Index repeated_triangles = 0;

  /// Whether the invariants I1 to I4 hold; `open` allows edges with one triangle.
  bool sound(bool open) const {
    return (open || boundary_edges == 0) && odd_edges == 0 && unpaired_edges == 0 && repeated_corners == 0 &&
           repeated_triangles == 0;
  }
};

SurfaceDefects find_defects(std::span<const Triangle> triangles);

/// Vertices and triangles are numbered by slots; a slot is never used again, except by undo.
class DynamicSurface {
 public:
  /// Keeps memory from one mesh to the next. Triangles must be valid.
  void assign(const TriangleMeshView& mesh);

  std::int32_t vertices() const { return static_cast<std::int32_t>(positions_.size()); }
  std::int32_t slots() const { return static_cast<std::int32_t>(triangles_.size()); }
  const Point& position(std::int32_t v) const { return positions_[v]; }
  std::span<const Point> positions() const { return positions_; }
  const Triangle& triangle(std::int32_t t) const { return triangles_[t]; }
  bool alive(std::int32_t t) const { return alive_[t] != 0; }
  /// The triangles at a vertex, in no particular order; none for a vertex that is gone.
  std::span<const std::int32_t> star(std::int32_t v) const { return stars_[v]; }

  /// Calls f(t) for the triangles with both vertices.
  template <class F>
  void for_each_at_edge(std::int32_t a, std::int32_t b, F&& f) const {
    for (const std::int32_t t : star(a)) {
      const Triangle& c = triangles_[t];
      if (c[0] == b || c[1] == b || c[2] == b) f(t);
    }
  }
  int count_at_edge(std::int32_t a, std::int32_t b) const {
    int n = 0;
    for_each_at_edge(a, b, [&](std::int32_t) { ++n; });
    return n;
  }
  bool on_boundary(std::int32_t a, std::int32_t b) const { return count_at_edge(a, b) == 1; }
  /// Whether an edge with one triangle is at the vertex.
  bool on_boundary(std::int32_t v) const;
  /// The two triangles of an edge that has exactly these: first the one that traverses it from a to b.
  std::optional<std::array<std::int32_t, 2>> pair_at(std::int32_t a, std::int32_t b) const;
  /// The corner that is neither of two.
  std::int32_t opposite(std::int32_t t, std::int32_t a, std::int32_t b) const {
    const Triangle& c = triangles_[t];
    for (const std::int32_t v : c)
      if (v != a && v != b) return v;
    return -1;
  }
  /// The two corners after v, in the order of the triangle.
  std::array<std::int32_t, 2> link(std::int32_t t, std::int32_t v) const {
    const Triangle& c = triangles_[t];
    return c[0] == v ? std::array{c[1], c[2]} : c[1] == v ? std::array{c[2], c[0]} : std::array{c[0], c[1]};
  }
  /// Whether the triangle traverses the edge from a to b.
  bool traverses(std::int32_t t, std::int32_t a, std::int32_t b) const {
    const Triangle& c = triangles_[t];
    return (c[0] == a && c[1] == b) || (c[1] == a && c[2] == b) || (c[2] == a && c[0] == b);
  }
  /// The neighbours of a vertex, ascending.
  void neighbours(std::int32_t v, std::vector<std::int32_t>& out) const;
  /// The neighbours in their order around the vertex, the first one given; false where the triangles are no single closed fan.
  bool ring(std::int32_t v, std::int32_t first, std::vector<std::int32_t>& out) const;
  /// Twice the area times the normal.
  Point area_vector(std::int32_t t) const {
    const Triangle& c = triangles_[t];
    return mesh::area_vector(positions_[c[0]], positions_[c[1]], positions_[c[2]]);
  }
  /// At an edge with more than two triangles, the one to which the surface passes on from t: the nearest by angle with the other
  /// direction, through the inside of the surface or through its outside. -1 where there is none.
  std::int32_t partner(std::int32_t t, std::int32_t a, std::int32_t b, bool through_inside) const;

  // Changes. Each is recorded.
  std::int32_t add_vertex(const Point& x);
  void move(std::int32_t v, const Point& x);
  std::int32_t add_triangle(const Triangle& corners);
  void remove_triangle(std::int32_t t);

  const EditJournal<Point>& journal() const { return journal_; }
  std::size_t mark() const { return journal_.size(); }
  void undo(std::size_t mark);
  void keep() { journal_.clear(); }

  /// The live triangles that were added or whose corners have moved since a mark, ascending.
  void changed(std::size_t mark, std::vector<std::int32_t>& out) const;

  Index nbytes() const;

 private:
  void link_triangle(std::int32_t t);
  void unlink_triangle(std::int32_t t);

  std::vector<Point> positions_;
  std::vector<Triangle> triangles_;
  std::vector<std::uint8_t> alive_;
  VertexLists stars_;
  EditJournal<Point> journal_;
};

}  // namespace meniscus::mesh
