// Clipped polyhedra: known bodies, complements, faces, planes that touch or repeat, capacity.
#include "meniscus/mesh/clipping/convex_polyhedron.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/clipping/tet_plane.hpp"
#include "mesh/clipping/exact_parts.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <numbers>
#include <random>

namespace meniscus {
namespace {

using Corners = std::array<mesh::Point, 4>;
const Corners large{mesh::Point(-9, -9, -9), mesh::Point(30, -9, -9), mesh::Point(-9, 30, -9), mesh::Point(-9, -9, 30)};

mesh::ConvexPolyhedron cube() {
  mesh::ConvexPolyhedron body(large);
  for (int d = 0; d < 3; ++d) {
    body.clip(mesh::Point::Unit(d), 1);
    body.clip(-mesh::Point::Unit(d), 0);
  }
  return body;
}

TEST_CASE("a tetrahedron clipped to a cube") {
  const mesh::ConvexPolyhedron body = cube();
  CHECK(body.size() == 8);
  CHECK(body.volume() == doctest::Approx(1).epsilon(1e-14));
  CHECK((body.centroid() - mesh::Point::Constant(0.5)).norm() < 1e-14);
  for (int f = 0; f < 10; ++f) CHECK(body.has_face(f) == (f >= 4));
}

TEST_CASE("planes that repeat or only touch change nothing, planes on the other side leave nothing") {
  mesh::ConvexPolyhedron body = cube();
  body.clip({1, 0, 0}, 1);
  body.clip({1, 1, 1}, 3);
  body.clip({1, 1, 0}, 2);
  CHECK(body.size() == 8);
  CHECK(body.volume() == doctest::Approx(1).epsilon(1e-14));
  for (const mesh::Point& normal : {mesh::Point(1, 0, 0), mesh::Point(1, 1, 0), mesh::Point(1, 1, 1)}) {
    mesh::ConvexPolyhedron other = cube();
    other.clip(normal, 0);
    CHECK(other.empty());
    CHECK(other.volume() == 0);
  }
}

TEST_CASE("a ball of tangent planes comes near the volume of a sphere from above") {
  double last = 1;
  for (const int planes : {20, 40, 60}) {
    mesh::ConvexPolyhedron body(large);
    for (int i = 0; i < planes; ++i) {
      const double z = (2 * i + 1.0) / planes - 1, angle = i * std::numbers::pi * (3 - std::sqrt(5.0));
      body.clip({std::sqrt(1 - z * z) * std::cos(angle), std::sqrt(1 - z * z) * std::sin(angle), z}, 1);
    }
    CHECK(body.size() == 2 * planes - 4);
    const double excess = body.volume() / (4 * std::numbers::pi / 3) - 1;
    CHECK(excess > 0);
    CHECK(excess < 0.7 * last);
    CHECK(excess < 6.0 / planes);
    last = excess;
  }
}

TEST_CASE("more vertices than fit are refused") {
  mesh::ConvexPolyhedron body(large);
  const auto clip_all = [&] {
    for (int i = 0; i < 200; ++i) {
      const double angle = i * std::numbers::pi / 100;
      body.clip({std::cos(angle), std::sin(angle), 0}, 1);
    }
  };
  CHECK_THROWS_AS(clip_all(), InvalidArgument);
}

TEST_CASE("both sides of a plane make up the whole, on grids where planes pass through corners and edges") {
  std::mt19937_64 bits(21);
  std::uniform_int_distribution<int> integer(-2, 2);
  const auto grid_point = [&] {
    const int x = integer(bits), y = integer(bits);
    return mesh::Point(x, y, integer(bits));
  };
  int whole_bodies = 0;
  for (int i = 0; i < tests::choose(3000, 100000); ++i) {
    const Corners corners{grid_point() / 3, grid_point() / 3, grid_point() / 3, grid_point() / 3};
    mesh::ConvexPolyhedron body(corners);
    for (int k = 0; k < 6 && !body.empty(); ++k) {
      const mesh::Point normal = grid_point();
      const double offset = integer(bits) / 3.0;
      const mesh::VolumeMoment all = body.measure();
      mesh::ConvexPolyhedron other = body;
      other.clip(-normal, -offset);
      body.clip(normal, offset);
      const mesh::VolumeMoment below = body.measure(), above = other.measure();
      if (normal == mesh::Point::Zero()) continue;
      CHECK(std::abs(below.volume + above.volume - all.volume) < 1e-14);
      CHECK((below.moment + above.moment - all.moment).norm() < 1e-14);
      if (k == 0) CHECK(std::abs(below.volume - mesh::volume_below(corners, normal, offset)) < 1e-14);
      whole_bodies += k == 5;
    }
  }
  CHECK(whole_bodies > 100);
}

TEST_CASE("almost coplanar planes in any order leave the volume that rational numbers give") {
  // Clips that differ from a face by rounding, so that the sides of its vertices are noise.
  std::mt19937_64 bits(22);
  std::uniform_real_distribution<double> noise(-4e-16, 4e-16);
  for (int i = 0; i < tests::choose(300, 5000); ++i) {
    const Corners corners = tests::random_tet(bits);
    mesh::ConvexPolyhedron body(corners);
    mesh::Point normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    if (normal.dot(corners[3] - corners[0]) > 0) normal = -normal;
    normal.normalize();
    const mesh::Point slant = tests::random_point(bits) - mesh::Point::Constant(0.5);
    std::vector<tests::ExactTet> parts{tests::exact(corners)};
    const auto clip = [&](const mesh::Point& n, double offset) {
      body.clip(n, offset);
      parts = tests::exact_below(parts, n, offset, mesh::Point::Zero());
    };
    const auto nearly = [&] { return mesh::Point(normal + mesh::Point(noise(bits), noise(bits), noise(bits))); };
    clip(nearly(), normal.dot(corners[0]) + noise(bits));
    clip(slant, slant.dot(corners[0]) + 0.05);
    for (int k = 0; k < 3; ++k) clip(nearly(), normal.dot(corners[0]) + noise(bits));
    CHECK(std::abs(body.volume() - tests::measured(parts).volume.get_d()) < 1e-14);
    CHECK(body.size() <= 40);
  }
}

}  // namespace
}  // namespace meniscus
