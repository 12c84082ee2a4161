/// Red-green refinement of tetrahedra, conforming and shape-preserving: red tetrahedra are cut into 8, green ones join levels.
///
/// Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003; Bey, "Tetrahedral grid refinement", 1995.
#pragma once

#include "meniscus/mesh/refinement/bcc_lattice.hpp"

#include <functional>
#include <span>

namespace meniscus::mesh {

/// The middles of edges, by their ends: a hash table with open places. Removes nothing.
class EdgeMiddles {
 public:
  EdgeMiddles() : slots_(1 << 10) {}

  /// The middle between two vertices, or -1.
  std::int32_t find(std::int32_t a, std::int32_t b) const { return slots_[place(key(a, b))].middle; }
  /// Adds one that is not there.
  void add(std::int32_t a, std::int32_t b, std::int32_t middle);

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t middle = -1;
  };

  static std::uint64_t key(std::int32_t a, std::int32_t b) {
    const auto [low, high] = std::minmax(a, b);
    return static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint32_t>(high);
  }
  std::size_t place(std::uint64_t k) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = static_cast<std::size_t>(k * 0x9e3779b97f4a7c15U >> 20) & mask;
    while (slots_[i].middle >= 0 && slots_[i].key != k) i = (i + 1) & mask;
    return i;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

/// A hierarchy of red tetrahedra over a coarse mesh. The inner octahedron is cut along its shortest diagonal, so red children of
/// a BCC tetrahedron are BCC tetrahedra of half the size. Green tetrahedra exist in `mesh()` only and are never refined; their
/// red parent is refined instead. In a face with two cut edges the third one is cut too. Cutting the tetrahedra there red instead
/// would spread through all of a convex coarse part. Of a BCC lattice all dihedral angles are in [30, 116.57] degrees.
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
  /// its corners, and further ones so that green tetrahedra can join all levels. Returns the number refined; 0 means that
  /// refinement is complete. Throws InvalidArgument for another number of sizes and for sizes that are not positive.
  Index refine(std::span<const double> sizes);
  /// The same for the leaves, numbered as in `leaves()`, for which `chosen` holds.
  Index refine(std::span<const bool> chosen);

  /// The conforming mesh of red leaves and green tetrahedra. Vertices are those of `vertices()`.
  TetMeshData mesh() const;

 private:
  struct RedTet {
    Tet corners;
    std::int32_t first_child = -1;
  };

  std::int32_t split(std::int32_t a, std::int32_t b);
  bool must_refine(const Tet& t) const;
  bool complete_face(const Tet& t);
  void drop_parents();
  void cut(std::int32_t tet);
  Index close(std::vector<std::int32_t> chosen);
  /// Refuses `more` tetrahedra that cannot be numbered, or that the machine has no memory for.
  void require_room(std::size_t more) const;

  std::vector<Point> x_;
  std::vector<RedTet> tets_;
  std::vector<std::int32_t> leaves_;  // ascending
  EdgeMiddles middles_;
};

/// Sets the wanted lengths of edges (m) at points.
using SizeFunction = std::function<void(std::span<const Point> points, std::span<double> sizes)>;

/// Refines by the sizes at the vertices until nothing is left to do, at most `rounds` times.
void refine(RedGreen& hierarchy, const SizeFunction& sizes, int rounds);

}  // namespace meniscus::mesh
