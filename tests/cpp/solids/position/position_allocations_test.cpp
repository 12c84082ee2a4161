// Tests of allocations: repeated substeps of position based bodies, with their contacts, allocate nothing.
#include "counting_new.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/position/position_constraints.hpp"
#include "meniscus/solids/position/position_contacts.hpp"
#include "meniscus/solids/position/shape_matching.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;
using Node = solids::PositionNode<double>;

namespace {

/// Two square sheets, one above the other.
struct TwoSheets {
  static constexpr std::int32_t side = 8, one = (side + 1) * (side + 1);
  std::vector<Node> nodes;
  std::vector<mesh::Point> rest;
  std::vector<mesh::Triangle> triangles;
  std::vector<std::array<std::int32_t, 2>> edges;

  TwoSheets() {
    for (std::int32_t s = 0; s < 2; ++s) {
      for (std::int32_t i = 0; i < one; ++i) {
        rest.push_back({0.1 * (i % (side + 1)), 0.1 * (i / (side + 1)), 0.02 * s});
        nodes.push_back({rest.back()[0] + 0.013 * s, rest.back()[1] + 0.017 * s, rest.back()[2], 1.0});
      }
      for (std::int32_t j = 0; j < side; ++j)
        for (std::int32_t i = 0; i < side; ++i) {
          const std::int32_t a = s * one + j * (side + 1) + i, b = a + 1, c = a + side + 1, d = c + 1;
          triangles.push_back({a, b, d});
          triangles.push_back({a, d, c});
          for (const auto& e : {std::array{a, b}, std::array{a, c}, std::array{a, d}}) edges.push_back(e);
        }
    }
  }
};

}  // namespace

TEST_CASE("projections of constraints and of shapes allocate nothing") {
  for (const int threads : {1, 2}) {
    const int before = num_threads();
    set_num_threads(threads);
    TwoSheets sheets;
    const std::vector<std::uint8_t> fixed(sheets.nodes.size(), 0);
    std::vector<std::int32_t> ends;
    std::vector<double> values;
    for (const auto& e : sheets.edges) {
      ends.insert(ends.end(), e.begin(), e.end());
      const double length = (sheets.rest[e[0]] - sheets.rest[e[1]]).norm();
      values.insert(values.end(), {length, length, 1e-4, 1e-4});
    }
    const auto distances =
        solids::make_position_constraints<double>(solids::PositionConstraintKind::distance, ends, values, fixed);
    std::vector<std::int32_t> members(sheets.nodes.size());
    for (std::size_t i = 0; i < members.size(); ++i) members[i] = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> first{0, static_cast<std::int32_t>(members.size())};
    const std::vector<double> masses(members.size(), 1.0);
    solids::ShapeMatching<double> shape(first, members, masses, sheets.rest,
                                        {.motion = solids::ShapeMotion::quadratic, .compliance = 1e-3});
    std::vector<mesh::Point> velocities(sheets.nodes.size(), {0, 0, 0.1}), previous(sheets.nodes.size());
    const auto substep = [&] {
      solids::predict_positions<double>(sheets.nodes, velocities, previous, {0, 0, -9.81}, 0.01, 100);
      distances->clear_multipliers();
      shape.clear_multipliers();
      distances->project(sheets.nodes, {.dt = 0.01});
      distances->project_averaged(sheets.nodes, {.dt = 0.01});
      shape.project(sheets.nodes, {.dt = 0.01});
      solids::update_velocities<double>(sheets.nodes, previous, velocities, 0.01, 1.0);
    };
    substep();
    if (threads == 1) {
      const auto counted = new_calls();
      substep();
      CHECK(new_calls() == counted);
    }
    set_num_threads(before);
  }
}

TEST_CASE("contacts of position based bodies allocate nothing once they have been found") {
  const int before = num_threads();
  set_num_threads(1);
  TwoSheets sheets;
  const std::size_t n = sheets.nodes.size();
  const std::vector<double> thickness(n, 0.03), friction(n, 0.3);
  solids::PositionContactOptions options;
  options.margin = 0.01;
  solids::PositionContacts contacts(std::nullopt, sheets.triangles, sheets.rest, thickness, friction, options);
  std::vector<mesh::Point> motion(n, mesh::Point(0, 0, 0)), incoming(n, mesh::Point(0, 0, -0.1)), velocities = incoming;
  const std::vector<Node> start = sheets.nodes;
  Index active = 0;
  const auto substep = [&] {
    sheets.nodes = start;
    contacts.find(sheets.nodes, motion, {});
    contacts.begin(start, sheets.nodes, 0.01);
    contacts.project(sheets.nodes, false);
    contacts.project(sheets.nodes, true);
    contacts.rebound(sheets.nodes, incoming, velocities, 0.5, 0.01);
    contacts.passed(sheets.nodes, 4);
    active += contacts.report(sheets.nodes).active;
  };
  for (int k = 0; k < 3; ++k) substep();
  const auto counted = new_calls();
  substep();
  CHECK(new_calls() == counted);
  CHECK(contacts.size() > 100);
  set_num_threads(before);
}
