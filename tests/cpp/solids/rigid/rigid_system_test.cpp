// Tests of rigid systems in the core: a repeated step allocates nothing.
#include "counting_new.hpp"

#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <doctest/doctest.h>

using namespace meniscus;
using solids::Vector3;

namespace {

std::shared_ptr<const solids::RigidForm> cube() {
  std::vector<Vector3> x;
  for (int k = 0; k < 8; ++k) x.push_back(Vector3(k & 1, (k >> 1) & 1, (k >> 2) & 1) - Vector3::Constant(0.5));
  const std::array<std::array<int, 4>, 6> sides{
      {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}}};
  std::vector<mesh::Triangle> triangles;
  for (const auto& s : sides) {
    triangles.push_back({s[0], s[1], s[2]});
    triangles.push_back({s[0], s[2], s[3]});
  }
  return std::make_shared<solids::RigidForm>(solids::RigidForm::polyhedron(x, triangles));
}

/// A tower of boxes and two on a hinge, on the ground.
struct Tower {
  solids::RigidSystem system;
  std::vector<solids::RigidState> states;
  std::vector<solids::RigidVelocity> given;
  std::vector<Vector3> forces, torques;
  std::vector<double> quiet;

  explicit Tower(int boxes) {
    const auto form = cube();
    solids::RigidInertia inertia{1, solids::RigidInertia{}.inverse_inertia};
    inertia.inverse_inertia.setIdentity();
    inertia.inverse_inertia *= 6;
    for (int k = 0; k < boxes + 2; ++k) {
      system.parts.push_back({.form = form, .surface = nullptr, .properties = {}, .inertia = inertia});
      const Vector3 at = k < boxes ? Vector3(0, 0, 0.5 + k) : Vector3(4 + 1.5 * (k - boxes), 0, 0.5);
      states.push_back({at, {1, 0, 0, 0}, Vector3::Zero(), Vector3::Zero()});
    }
    const auto ground = std::make_shared<solids::RigidForm>(solids::RigidForm::half_space(Vector3::Zero(), Vector3::UnitZ()));
    system.parts.push_back({.form = ground, .surface = nullptr, .properties = {}, .inertia = {}});
    system.parts.back().inertia.inverse_mass = 0;
    states.push_back({Vector3::Zero(), {1, 0, 0, 0}, Vector3::Zero(), Vector3::Zero()});
    solids::Joint hinge;
    hinge.bodies = {boxes, boxes + 1};
    hinge.kind = solids::JointKind::hinge;
    hinge.points = {Vector3(0.75, 0, 0), Vector3(-0.75, 0, 0)};
    hinge.axes = {Vector3::UnitY(), Vector3::UnitY()};
    system.joints.push_back(hinge);
    system.joint_memory.emplace_back();
    given.resize(states.size());
    forces.assign(states.size(), Vector3(0, 0, -9.81));
    torques.assign(states.size(), Vector3::Zero());
    quiet.assign(states.size(), 0.0);
  }
  void step(int times) {
    const solids::ContactList none;
    for (int k = 0; k < times; ++k)
      system.step({.states = states, .given = given, .forces = forces, .torques = torques, .quiet = quiet}, 0.01, 2, none);
  }
};

}  // namespace

TEST_CASE("a repeated step of a rigid system allocates nothing") {
  Tower t(6);
  t.step(50);
  CHECK(t.system.contacts.points.size() == 4 * 8);
  const long long before = testing::new_calls();
  t.step(20);
  CHECK(testing::new_calls() == before);
  CHECK(std::abs(t.states[5].position.z() - 5.5) < 0.01);
}

TEST_CASE("a repeated direct solve allocates nothing") {
  Tower t(6);
  t.system.parts[5].inertia.inverse_mass /= 1000;
  t.system.parts[5].inertia.inverse_inertia /= 1000;
  t.forces[5] *= 1000;
  // Sweeps that begin from nothing never are enough.
  t.system.options.warm = 0;
  t.step(50);
  const long long before = testing::new_calls();
  for (int k = 0; k < 20; ++k) {
    t.step(1);
    CHECK(t.system.report().direct == 1);
  }
  CHECK(testing::new_calls() == before);
  CHECK(std::abs(t.states[5].position.z() - 5.5) < 0.001);
}

TEST_CASE("momenta of what nothing touches keep their bits") {
  Tower t(1);
  t.forces.assign(t.forces.size(), Vector3::Zero());
  t.states[0].position.z() = 3;
  t.states[0].momentum = Vector3(0.1, 0.2, 0.3);
  t.states[0].angular_momentum = Vector3(0.3, -0.1, 0.7);
  t.step(100);
  CHECK(t.states[0].momentum == Vector3(0.1, 0.2, 0.3));
  CHECK(t.states[0].angular_momentum == Vector3(0.3, -0.1, 0.7));
}
