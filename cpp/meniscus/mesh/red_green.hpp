/// Conforming refinement of tetrahedra that keeps their shapes: a red tetrahedron is cut into 8, and green ones join levels.
///
/// Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003; Bey, "Tetrahedral grid refinement", 1995.
#pragma once

#include "meniscus/mesh/bcc_lattice.hpp"

#include <span>
#include <unordered_map>

namespace meniscus {

/// A hierarchy of red tetrahedra over a coarse mesh. The inner octahedron is cut along its shortest diagonal, so red children of
/// a BCC tetrahedron are BCC tetrahedra of half the size. Green tetrahedra exist in `mesh()` only and are never refined: what is
/// refined is their red parent. Of a BCC lattice all dihedral angles are in [30, 116.57] degrees.
class RedGreen {
 public:
  /// Throws InvalidArgument for tetrahedra that are not valid.
  explicit RedGreen(TetMeshData coarse);

  /// All vertices so far; refinement only appends.
  std::span<const Point> vertices() const { return x_; }
  /// The red tetrahedra that are not refined.
  std::vector<Tet> leaves() const;
  Index red_tets() const { return static_cast<Index>(tets_.size()); }

  /// Refines once each red tetrahedron without children whose longest edge is above the least of `sizes` (m, one per vertex) at
  /// its corners, and whatever else has to be for green tetrahedra to join all levels. Returns how many were refined; nothing is
  /// left to do when this is 0. Throws InvalidArgument for another number of sizes and for sizes that are not positive.
  Index refine(std::span<const double> sizes);
  /// The same of the leaves, numbered as in `leaves()`, for which `chosen` holds.
  Index refine(std::span<const bool> chosen);

  /// The conforming mesh of red leaves and green tetrahedra. Vertices are those of `vertices()`.
  TetMeshData mesh() const;

 private:
  struct RedTet {
    Tet corners;
    std::int32_t first_child = -1;
  };

  static std::uint64_t key(std::int32_t a, std::int32_t b);
  std::int32_t middle(std::int32_t a, std::int32_t b) const;
  std::int32_t split(std::int32_t a, std::int32_t b);
  bool must_refine(const Tet& t) const;
  void cut(std::int32_t tet);
  Index close(std::vector<std::int32_t> chosen);
  void require_room() const;

  std::vector<Point> x_;
  std::vector<RedTet> tets_;
  std::unordered_map<std::uint64_t, std::int32_t> middles_;
};

}  // namespace meniscus
