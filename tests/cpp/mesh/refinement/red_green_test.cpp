// Tests of red-green refinement of chosen tetrahedra: the same mesh as by sizes, conforming,
// errors, and boundaries that are not manifold.
#include "meniscus/mesh/refinement/red_green.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/topology/manifold_boundary.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

using namespace meniscus;

namespace {

mesh::TetMeshData block() { return mesh::BccLattice(mesh::Point::Zero(), 1.0, {3, 3, 3}).mesh(); }

double volume(const mesh::TetMeshData& mesh) {
  double sum = 0;
  for (Index t = 0; t < mesh.view().size(); ++t) {
    const double v = mesh::signed_volume(mesh.view(), t);
    REQUIRE(v > 0);
    sum += v;
  }
  return sum;
}

std::size_t boundary_faces(const mesh::TetMeshData& mesh) {
  return mesh::TetTopology(mesh::VertexStars<4>(mesh.tets, static_cast<Index>(mesh.vertices.size()))).boundary().size();
}

}  // namespace

TEST_CASE("one chosen tetrahedron has neighbours that join it") {
  const mesh::TetMeshData coarse = block();
  for (std::size_t chosen = 0; chosen < coarse.tets.size(); ++chosen) {
    mesh::RedGreen hierarchy(coarse);
    const auto choice = std::make_unique<bool[]>(coarse.tets.size());
    choice[chosen] = true;
    CHECK(hierarchy.refine(std::span<const bool>(choice.get(), coarse.tets.size())) == 1);
    CHECK(hierarchy.leaves().size() == coarse.tets.size() + 7);
    const mesh::TetMeshData fine = hierarchy.mesh();
    CHECK(fine.tets.size() > coarse.tets.size() + 7);
    CHECK(volume(fine) == doctest::Approx(volume(coarse)).epsilon(1e-13));
    // A face inside that only one tetrahedron has would be counted here too: each outer one splits into at most 4.
    CHECK(boundary_faces(fine) <= boundary_faces(coarse) + 3 * 4);
  }
}

TEST_CASE("all chosen is uniform refinement") {
  const mesh::TetMeshData coarse = block();
  mesh::RedGreen hierarchy(coarse);
  const auto choice = std::make_unique<bool[]>(coarse.tets.size());
  std::fill_n(choice.get(), coarse.tets.size(), true);
  CHECK(hierarchy.refine(std::span<const bool>(choice.get(), coarse.tets.size())) == static_cast<Index>(coarse.tets.size()));
  CHECK(hierarchy.mesh().tets.size() == 8 * coarse.tets.size());
  CHECK(boundary_faces(hierarchy.mesh()) == 4 * boundary_faces(coarse));
  CHECK_THROWS_AS(hierarchy.refine(std::span<const bool>(choice.get(), 3)), InvalidArgument);
}

TEST_CASE("tetrahedra that touch in a vertex or an edge are mended either way") {
  const mesh::TetMeshData mesh = block();
  for (std::size_t other = 1; other < mesh.tets.size(); ++other) {
    int common = 0;
    for (const std::int32_t v : mesh.tets[0]) common += std::count(mesh.tets[other].begin(), mesh.tets[other].end(), v) > 0;
    if (common != 1 && common != 2) continue;
    std::vector<bool> kept(mesh.tets.size(), false);
    kept[0] = kept[other] = true;
    std::vector<bool> grown = kept;
    CHECK(mesh::make_boundary_manifold(mesh.view(), mesh::Repair::shrink, kept) == 1);
    CHECK(std::count(kept.begin(), kept.end(), true) == 1);
    CHECK(mesh::make_boundary_manifold(mesh.view(), mesh::Repair::grow, grown) > 0);
    CHECK(grown[0]);
    CHECK(grown[other]);
    CHECK(mesh::make_boundary_manifold(mesh.view(), mesh::Repair::grow, grown) == 0);
  }
}
