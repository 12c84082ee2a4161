// Tests of barycentric coordinates in the children of a tetrahedron: inverse of the children's corners, sums, and the child that
// holds a point.
#include "meniscus/mesh/refinement/child_coordinates.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;

namespace {

/// The corners of a child in the coordinates of its parent, twice.
std::array<std::array<int, 4>, 4> corners(std::size_t diagonal, std::size_t child) {
  std::array<std::array<int, 4>, 6> middle{};
  for (std::size_t e = 0; e < 6; ++e)
    for (const std::size_t k : mesh::tet_edges[e]) middle[e][k] += 1;
  std::array<std::array<int, 4>, 4> own{};
  for (std::size_t k = 0; k < 4; ++k) own[k][k] = 2;
  std::array<std::array<std::array<int, 4>, 4>, 8> children{};
  mesh::cut_into_eight(own, middle.data(), diagonal, children.data());
  return children[child];
}

}  // namespace

TEST_CASE("coordinates in a child are one at its corners, and have integer coefficients that preserve the sum") {
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t c = 0; c < 8; ++c) {
      const std::size_t row = mesh::child_coordinates_row(d, c);
      const auto corner = corners(d, c);
      for (std::size_t j = 0; j < 4; ++j) {
        const std::array<double, 4> b{0.5 * corner[j][0], 0.5 * corner[j][1], 0.5 * corner[j][2], 0.5 * corner[j][3]};
        std::array<double, 4> inside{};
        mesh::to_child(row, b.data(), inside.data());
        for (std::size_t i = 0; i < 4; ++i) CHECK(inside[i] == (i == j ? 1.0 : 0.0));
      }
      for (std::size_t k = 0; k < 4; ++k) {
        double sum = 0, size = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          sum += mesh::child_coordinates[row].column[k][i];
          size += std::abs(mesh::child_coordinates[row].column[i][k]);
        }
        CHECK(sum == 1.0);
        CHECK(size <= 4.0);
      }
    }
}

TEST_CASE("a point is in the child that is named, and in no other") {
  std::mt19937_64 bits(3);
  std::exponential_distribution<double> part(1.0);
  for (int n = 0; n < 20000; ++n) {
    std::array<double, 4> b{part(bits), part(bits), part(bits), part(bits)};
    for (double& x : b) x *= n % 7 ? 1.0 : std::ldexp(1.0, n % 5);
    const double sum = (b[0] + b[1]) + (b[2] + b[3]);
    for (double& x : b) x /= sum;
    for (std::size_t d = 0; d < 3; ++d) {
      std::size_t holders = 0;
      for (std::size_t c = 0; c < 8; ++c) {
        std::array<double, 4> inside{};
        mesh::to_child(mesh::child_coordinates_row(d, c), b.data(), inside.data());
        const double lowest = *std::min_element(inside.begin(), inside.end());
        if (std::abs(lowest) < 1e-12) {
          holders = 1;  // too close to a face to say
          break;
        }
        if (lowest < 0) continue;
        ++holders;
        CHECK(mesh::child_at(b.data(), d) == c);
      }
      CHECK(holders == 1);
    }
  }
}
