// Tests of allocations: queries allocate nothing, and repeated searches reuse their memory.
#include "counting_new.hpp"

#include "meniscus/collision/broad_phase/hash_queries.hpp"
#include "meniscus/collision/point_location/subdivision_location.hpp"
#include "meniscus/collision/point_location/tet_location.hpp"
#include "meniscus/collision/ray_casting/surface_cells.hpp"
#include "meniscus/mesh/refinement/bcc_lattice.hpp"

#include <doctest/doctest.h>

#include <random>

namespace meniscus {
namespace {

std::vector<mesh::Point> random_points(std::size_t n, double size) {
  std::mt19937_64 bits(7);
  std::uniform_real_distribution<double> coordinate(0, size);
  std::vector<mesh::Point> points(n);
  for (mesh::Point& p : points)
    for (int d = 0; d < 3; ++d) p[d] = coordinate(bits);
  return points;
}

/// What the second run of f allocates.
template <class F>
long long new_calls_when_repeated(F&& f) {
  f();
  f();
  const long long before = testing::new_calls();
  f();
  return testing::new_calls() - before;
}

TEST_CASE("rays and cells allocate nothing") {
  const auto vertices = random_points(300, 1);
  std::vector<mesh::Triangle> triangles;
  for (std::int32_t i = 0; i + 2 < 300; i += 3) triangles.push_back({i, i + 1, i + 2});
  const collision::ThickSurface surface(vertices, triangles, 1e-3, {});
  const auto from = random_points(4000, 1);
  std::vector<mesh::Point> to(from.rbegin(), from.rend());
  std::vector<std::int8_t> classes(from.size());
  std::vector<collision::WedgeHit> hits(from.size());
  const collision::CellGrid grid{mesh::Point::Zero(), 0.125, {8, 8, 8}};
  std::vector<std::uint8_t> marked(512);
  CHECK(new_calls_when_repeated([&] {
          surface.classify(from, to, classes);
          surface.cast(from, to, hits);
          collision::near_cells(surface, nullptr, grid, 0.1, marked);
        }) == 0);
}

TEST_CASE("point location and hashing keep their memory") {
  const auto vertices = random_points(400, 1);
  std::vector<mesh::Tet> tets;
  for (std::int32_t i = 0; i + 3 < 400; i += 4) tets.push_back({i, i + 1, i + 2, i + 3});
  const collision::TetLocator locator(vertices, tets, {}, true);
  const auto points = random_points(4000, 1);
  std::vector<std::int32_t> found(points.size());
  std::vector<collision::TetWeights> weights(points.size());
  CHECK(new_calls_when_repeated([&] { locator.locate(points, {}, found, weights); }) == 0);

  collision::VertexTetPairs in_tets;
  CHECK(new_calls_when_repeated([&] { in_tets.find(vertices, tets, nullptr, 0, collision::CellHash::corrected); }) == 0);
  std::vector<mesh::Box> boxes(tets.size());
  for (std::size_t t = 0; t < tets.size(); ++t)
    for (const std::int32_t v : tets[t]) boxes[t].add(vertices[v]);
  collision::BoxPairs overlaps;
  CHECK(new_calls_when_repeated([&] { overlaps.find(boxes, 0, collision::CellHash::corrected); }) == 0);
  collision::BodyPartition bodies;
  CHECK(new_calls_when_repeated([&] { bodies.build(boxes, points); }) == 0);
  CHECK(bodies.points().size() > 1000);
}

TEST_CASE("a subdivided mesh in motion and its locator allocate nothing") {
  const mesh::TetMeshData block = mesh::BccLattice(mesh::Point::Zero(), 0.25, {4, 4, 4}).mesh();
  const mesh::UniformSubdivision<4> levels(block.vertices, block.tets, 2);
  collision::SubdivisionLocator locator(levels, block.vertices);
  std::vector<mesh::Point> moved(block.vertices);
  for (mesh::Point& x : moved) x += mesh::Point(0.1 * x[1] * x[1], 0.0, 0.05 * x[0]);
  // Some on faces and vertices, for the exact paths.
  auto points = random_points(4000, 1);
  points.insert(points.end(), moved.begin(), moved.end());
  std::vector<std::int32_t> found(points.size());
  std::vector<std::int32_t> hints(points.size());
  std::vector<collision::TetWeights> weights(points.size());
  // One allocation is the new locator itself: it has the memory of the one before.
  auto at = locator.moved(moved, {});
  CHECK(new_calls_when_repeated([&] {
          at = nullptr;
          at = locator.moved(moved, {});
          at->locate(points, {}, 2, found, weights);
          for (std::size_t i = 0; i < found.size(); ++i) hints[i] = std::max(found[i] - 1, -1);
          at->locate(points, hints, 2, found, weights);
        }) == 1);
  CHECK(*std::max_element(found.begin(), found.end()) > 0);
  Workspace workspace;
  std::vector<mesh::Point> fine(static_cast<std::size_t>(levels.vertices(2)));
  CHECK(new_calls_when_repeated([&] {
          levels.interpolate(moved, 2, fine);
          levels.displace(block.vertices, moved, 2, 0.1, fine, workspace);
        }) == 0);
}

}  // namespace
}  // namespace meniscus
