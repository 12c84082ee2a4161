// Displacements without relative normal displacement: constraints hold, momentum stays, energy never grows.
#include "meniscus/collision/contact/zones/constraint_projection.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace meniscus;
using collision::ContactNodes;
using collision::ContactRow;

namespace {

struct Case {
  std::vector<double> inverse_masses;
  std::vector<mesh::Point> u;
  std::vector<ContactRow> rows;
};

/// Contacts between random nodes. `copies` of each, whose normals differ by `noise`.
Case random_contacts(unsigned seed, std::size_t nodes, std::size_t contacts, std::size_t copies, double noise) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Case c;
  for (std::size_t i = 0; i < nodes; ++i) {
    c.inverse_masses.push_back(std::pow(10.0, 2 * uniform(random)));
    c.u.emplace_back(uniform(random), uniform(random), uniform(random));
  }
  const ContactNodes all(c.inverse_masses);
  std::vector<std::int32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < contacts; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    const double a = 0.5 + 0.4 * uniform(random), b = 0.5 + 0.4 * uniform(random);
    const mesh::Point n(uniform(random), uniform(random), uniform(random));
    for (std::size_t k = 0; k < copies; ++k) {
      const mesh::Point moved = n + noise * mesh::Point(uniform(random), uniform(random), uniform(random));
      c.rows.emplace_back(all, collision::Stencil{order[0], order[1], order[2], order[3]}, std::array{a, 1 - a, -b, b - 1},
                          mesh::Point(moved.normalized()));
    }
  }
  return c;
}

void check(unsigned seed, std::size_t nodes_count, std::size_t contacts, std::size_t copies, double noise) {
  const Case c = random_contacts(seed, nodes_count, contacts, copies, noise);
  CAPTURE(seed);
  CAPTURE(contacts);
  CAPTURE(copies);
  CAPTURE(noise);
  const ContactNodes nodes(c.inverse_masses);
  std::vector<std::int32_t> members(c.rows.size()), free(c.u.size());
  std::iota(members.begin(), members.end(), 0);
  std::iota(free.begin(), free.end(), 0);
  std::vector<mesh::Point> scratch(c.u.size(), mesh::Point::Zero()), w = c.u;
  const auto info = collision::project_onto_constraints({nodes, c.rows, members, free}, scratch, w);
  CHECK(info.met);
  double size = 0, before = 0, after = 0, mass = 0;
  mesh::Point momentum = mesh::Point::Zero();
  for (std::size_t i = 0; i < w.size(); ++i) {
    size = std::max(size, c.u[i].cwiseAbs().maxCoeff());
    const double m = 1 / c.inverse_masses[i];
    before += m * c.u[i].squaredNorm();
    after += m * w[i].squaredNorm();
    mass += m;
    momentum += m * (w[i] - c.u[i]);
    CHECK(scratch[i] == mesh::Point::Zero());
  }
  for (const ContactRow& row : c.rows) CHECK(std::abs(row.relative_normal(w)) <= 2e-10 * size);
  CHECK(after <= before * (1 + 1e-12));
  // Impulses of nearly dependent contacts are so large that rounding costs momentum, which zones give back.
  CHECK(momentum.norm() <= (noise == 0 ? 1e-10 : 1e-5) * mass * size);
}

}  // namespace

TEST_CASE("projections meet constraints that are redundant, nearly dependent, or more than there are coordinates") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    check(seed, 40, 20, 1, 0);
    check(seed, 40, 20, 3, 0);
    check(seed, 40, 20, 3, 1e-9);
    check(seed, 40, 20, 2, 1e-4);
    check(seed, 12, 10, 10, 0);
    check(seed, 12, 10, 10, 1e-7);
    check(seed, 12, 90, 1, 0);
  }
}
