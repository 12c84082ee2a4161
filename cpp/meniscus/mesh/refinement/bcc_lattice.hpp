/// Tetrahedra of the body-centred cubic lattice: corners and centres of cubes, and around every face that two cubes share four
/// tetrahedra between both centres and an edge of the face.
///
/// Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
/// tetrahedra", 2003; Lee 2018, section 2.3.1.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <functional>
#include <vector>

namespace meniscus::mesh {

/// Mesh that owns its vertices and tetrahedra.
struct TetMeshData {
  std::vector<Point> vertices;
  std::vector<Tet> tets;

  TetMeshView view() const { return {vertices, tets}; }
};

/// The lattice in a box of cubes of edge `cell`, m. All tetrahedra are congruent: two opposite edges of length `cell` with
/// dihedral angles of 90 degrees, four of length cell * sqrt(3) / 2 with 60 degrees, volume cell^3 / 12.
class BccLattice {
 public:
  /// Throws InvalidArgument for an origin or a cell that is not finite and positive, and for a box of no or too many cubes.
  BccLattice(const Point& origin, double cell, const Coord<3>& cubes);

  /// The lattice whose tetrahedra cover a box completely: with a layer of cubes around it. A cube corner lies at the origin, so
  /// that boxes which overlap have the same lattice.
  static BccLattice covering(const Point& lower, const Point& upper, double cell);

  double cell() const { return cell_; }
  const Coord<3>& cubes() const { return cubes_; }
  /// Corners first, then centres, each with z as the fastest axis.
  Index nodes() const { return corners_ + product<3>(cubes_); }
  Point position(Index node) const;

  /// The tetrahedra for which `wanted(four nodes)` holds, oriented, with their nodes, both along a Morton curve. `wanted` is
  /// called in a fixed order by one thread. `source`, if given, takes the lattice node of each vertex.
  TetMeshData mesh(const std::function<bool(const std::array<Index, 4>&)>& wanted, std::vector<Index>* source = nullptr) const;
  TetMeshData mesh() const;

 private:
  Point origin_;
  double cell_;
  Coord<3> cubes_;
  Index corners_;
};

/// Puts vertices and tetrahedra in order along Morton curves (tetrahedra by their centres), drops vertices without tetrahedra.
/// Returns the former number of each vertex.
std::vector<std::int32_t> sort_along_curve(TetMeshData& mesh);

}  // namespace meniscus::mesh
