/// Contact of the boundary of an edited mesh with itself, known from change to change.
///
/// A mesh whose tetrahedra stay positive and whose boundary never touches itself stays embedded: see
/// `mesh/intersection/embedded_mesh.hpp`.
#pragma once

#include "meniscus/mesh/refinement/tet_editing.hpp"

#include <unordered_map>

namespace meniscus::surface {

/// The boundary faces of a mesh in the cells of a grid.
class BoundaryContacts {
 public:
  /// The mesh must outlive this object, and its boundary must not touch itself. Cells, m, should be about as large as a face.
  BoundaryContacts(const mesh::TetEditor& mesh, double cell);

  /// Looks at the changes of the mesh since a mark, which must include all since the last call that returned true. Returns false
  /// if they have brought boundary faces into contact; else it takes note of them. Exact.
  bool accept(std::size_t mark);

 private:
  struct Face {
    mesh::Triangle corners{};  // ascending
    mesh::Point low, high;
  };
  using Cell = std::array<std::int64_t, 3>;
  void set_box(Face& face) const;
  bool touches(const Face& face, const Face& other) const;
  bool touches_noted(const Face& face) const;
  std::int32_t find(const mesh::Triangle& corners) const;
  void add(const Face& face);
  void remove(std::int32_t i);
  /// Calls visit(key) for all cells that the box of a face overlaps, until it returns false.
  template <class Visit>
  bool each_cell(const Face& face, Visit&& visit) const;

  const mesh::TetEditor& mesh_;
  double cells_per_metre_;
  std::vector<Face> faces_;
  std::vector<std::int32_t> unused_;
  /// Faces that are about to go or to move.
  std::vector<std::uint8_t> going_;
  std::vector<std::vector<std::int32_t>> at_vertex_;
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> cells_;
  // Scratch, reused between calls.
  std::vector<mesh::Triangle> toggled_;
  std::vector<std::int32_t> moved_, old_;
  std::vector<Face> fresh_;
};

}  // namespace meniscus::surface
