// Tests of the editing of tetrahedra: the quality measure, rings, contractions that keep the topology, and undo.
#include "meniscus/mesh/refinement/tet_editing.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace meniscus;

namespace {

mesh::TetMeshData block_of_tets() { return mesh::BccLattice(mesh::Point::Zero(), 1.0, {3, 3, 3}).mesh(); }

bool equal(const mesh::TetMeshData& a, const mesh::TetMeshData& b) { return a.vertices == b.vertices && a.tets == b.tets; }

}  // namespace

TEST_CASE("the least sine is that of the worst angle, less for obtuse ones") {
  const mesh::Point a(0, 0, 0), b(1, 0, 0), c(0, 1, 0), d(0, 0, 1);
  // Dihedral angles of the corner of a cube: three right ones and three with the cosine 1 / sqrt(3).
  CHECK(mesh::min_sine(a, b, c, d) == doctest::Approx(std::sqrt(2.0 / 3)).epsilon(1e-14));
  CHECK(mesh::min_sine(a, c, b, d) == doctest::Approx(-std::sqrt(2.0 / 3)).epsilon(1e-14));
  // Angle by angle, between what is left of the other two corners across each edge.
  for (const double height : {0.05, 0.3, 2.0})
    for (const mesh::Point& shift : {mesh::Point(0, 0, 0), mesh::Point(0.4, -0.3, 0)}) {
      const std::array<mesh::Point, 4> x{a, b, c, mesh::Point(mesh::Point(0.3, 0.3, height) + shift)};
      double least = 1;
      for (std::size_t e = 0; e < 6; ++e) {
        const mesh::Point along = (x[mesh::tet_edges[e][1]] - x[mesh::tet_edges[e][0]]).normalized();
        std::array<mesh::Point, 2> across;
        for (std::size_t k = 0; k < 2; ++k) {
          const mesh::Point off = x[mesh::tet_edges[5 - e][k]] - x[mesh::tet_edges[e][0]];
          across[k] = off - off.dot(along) * along;
        }
        const double angle = std::atan2(across[0].cross(across[1]).norm(), across[0].dot(across[1]));
        least = std::min(least, std::sin(angle) * (angle > std::numbers::pi / 2 ? 0.7 : 1.0));
      }
      CHECK(mesh::min_sine(x[0], x[1], x[2], x[3]) == doctest::Approx(least).epsilon(1e-12));
    }
  CHECK(mesh::min_sine(a, b, c, mesh::Point(0.2, 0.3, 0)) <= 0);
}

TEST_CASE("changes are taken back bit by bit") {
  const mesh::TetMeshData mesh = block_of_tets();
  mesh::TetEditor editor(mesh);
  const std::size_t start = editor.mark();
  const std::int32_t inner = [&] {
    for (std::int32_t v = 0; v < editor.vertices(); ++v)
      if (!editor.on_boundary(v)) return v;
    return -1;
  }();
  REQUIRE(inner >= 0);
  editor.set(inner, {editor.position(inner) + mesh::Point(0.1, 0, 0), 3, -1});
  const std::int32_t m = editor.add_vertex({mesh::Point(0.5, 0.5, 0.5), 3, -1});
  const std::vector<std::int32_t> star(editor.star(inner).begin(), editor.star(inner).end());
  for (const std::int32_t t : star) {
    mesh::Tet moved = editor.tet(t);
    for (std::int32_t& v : moved)
      if (v == inner) v = m;
    editor.remove_tet(t);
    editor.add_tet(moved);
  }
  CHECK(editor.star(inner).empty());
  CHECK(editor.star(m).size() == star.size());
  std::vector<std::int32_t> changed;
  editor.changed(start, changed);
  CHECK(changed.size() == star.size());
  editor.undo(start);
  CHECK(equal(editor.mesh(), mesh));
  CHECK(editor.star(inner).size() == star.size());
}

TEST_CASE("rings are fans of tetrahedra, open on the boundary") {
  const mesh::TetMeshData mesh = block_of_tets();
  const mesh::TetEditor editor(mesh);
  int open = 0, closed = 0;
  for (const mesh::Tet& t : mesh.tets)
    for (const auto& e : mesh::tet_edges) {
      mesh::EdgeRing ring;
      REQUIRE(editor.find_ring(t[e[0]], t[e[1]], ring));
      const std::size_t n = ring.tets.size();
      CHECK(ring.vertices.size() == n + (ring.open ? 1 : 0));
      for (std::size_t i = 0; i < n; ++i)
        CHECK(editor.quality({t[e[0]], t[e[1]], ring.vertices[i], ring.vertices[(i + 1) % ring.vertices.size()]}) > 0);
      (ring.open ? open : closed) += 1;
      // Inside, four tetrahedra meet at long edges and six at short ones.
      if (!ring.open) CHECK((n == 4 || n == 6));
    }
  CHECK(open > 0);
  CHECK(closed > 0);
}

TEST_CASE("edges between two boundary vertices through the inside are not contracted") {
  // Two tetrahedra with a common face: its corners join both, and each apex has three neighbours.
  mesh::TetMeshData two{
      {mesh::Point(0, 0, 0), mesh::Point(1, 0, 0), mesh::Point(0, 1, 0), mesh::Point(0, 0, 1), mesh::Point(0.3, 0.3, -1)},
      {{0, 1, 2, 3}, {0, 2, 1, 4}}};
  const mesh::TetEditor editor(two);
  CHECK(editor.contractible(0, 3));
  const mesh::TetMeshData mesh = block_of_tets();
  const mesh::TetEditor lattice(mesh);
  for (const mesh::Tet& t : mesh.tets)
    for (const auto& e : mesh::tet_edges) {
      mesh::EdgeRing ring;
      REQUIRE(lattice.find_ring(t[e[0]], t[e[1]], ring));
      if (lattice.on_boundary(t[e[0]]) && lattice.on_boundary(t[e[1]]) && !ring.open)
        CHECK_FALSE(lattice.contractible(t[e[0]], t[e[1]]));
    }
}
