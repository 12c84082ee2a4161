// The worked example of a new force: springs that hold nodes at given places, and remember how far each was ever stretched.
#include "meniscus/core/error.hpp"
#include "meniscus/solids/integrators/integrators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

using namespace meniscus;

namespace {

class AnchorSprings final : public solids::Force {
 public:
  AnchorSprings(std::vector<mesh::Point> anchors, double stiffness, double damping)
      : anchors_(std::move(anchors)), longest_(anchors_.size(), 0.0), stiffness_(stiffness), damping_(damping) {}

  Index nodes() const override { return static_cast<Index>(anchors_.size()); }

  double energy(std::span<const mesh::Point> x) const override {
    double sum = 0;
    for (std::size_t i = 0; i < anchors_.size(); ++i) sum += 0.5 * stiffness_ * (x[i] - anchors_[i]).squaredNorm();
    return sum;
  }

  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) f[i] -= stiffness_ * (x[i] - anchors_[i]);
  }

  void linearise(std::span<const mesh::Point> x, solids::Tangent) override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) longest_[i] = std::max(longest_[i], (x[i] - anchors_[i]).norm());
  }

  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) f[i] -= scale * stiffness_ * dx[i];
  }

  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) f[i] -= scale * damping_ * v[i];
  }

  void add_diagonal(double stiffness_scale, double damping_scale, std::span<solids::Block3> blocks) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i)
      blocks[i].diagonal().array() -= stiffness_scale * stiffness_ + damping_scale * damping_;
  }

  void add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) stiffness[i] += stiffness_;
  }

  void add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const override {
    for (std::size_t i = 0; i < anchors_.size(); ++i) damping[i] += damping_;
  }

  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }

  std::span<double> memory() override { return longest_; }

  std::size_t nbytes() const override { return anchors_.capacity() * sizeof(mesh::Point) + longest_.capacity() * sizeof(double); }

 private:
  std::vector<mesh::Point> anchors_;
  std::vector<double> longest_;
  double stiffness_, damping_;
};

std::vector<mesh::Point> line(double height) {
  std::vector<mesh::Point> x;
  for (int i = 0; i < 6; ++i) x.emplace_back(0.1 * i, height, 0.0);
  return x;
}

/// Nodes of different masses that hang from their anchors.
struct Hanging {
  std::shared_ptr<AnchorSprings> springs = std::make_shared<AnchorSprings>(line(0.0), 30.0, 20.0);
  solids::DeformableBody body{line(-0.2), std::vector<double>{1, 2, 3, 4, 5, 6}};
  Workspace workspace;
  solids::StepReport report;

  Hanging() {
    body.add(springs);
    body.set_gravity(mesh::Point(0, -9.8, 0));
  }

  bool step(double dt, const solids::StepOptions& options = {}) {
    return take_step(body, solids::Integrator::newmark, dt, {}, options, workspace, report);
  }

  std::vector<double> memory() const { return {springs->memory().begin(), springs->memory().end()}; }
};

}  // namespace

TEST_CASE("the force of the worked example is minus the derivative of its energy") {
  const AnchorSprings springs(line(0.0), 30.0, 0.4);
  auto x = line(-0.3);
  std::vector<mesh::Point> f(x.size(), mesh::Point::Zero());
  springs.add_forces(x, f);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int d = 0; d < 3; ++d) {
      const double at = x[i][d], h = 1e-5;
      x[i][d] = at + h;
      const double above = springs.energy(x);
      x[i][d] = at - h;
      const double below = springs.energy(x);
      x[i][d] = at;
      CHECK(f[i][d] == doctest::Approx((below - above) / (2 * h)).epsilon(1e-8));
    }
}

TEST_CASE("a body moves under the force of the worked example, which remembers how far it went") {
  Hanging hanging;
  double lowest = 0;
  for (int k = 0; k < 400; ++k) {
    REQUIRE(hanging.step(0.01));
    lowest = std::min(lowest, hanging.body.positions()[5][1]);
  }
  // Weight over stiffness, where each comes to rest.
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(hanging.body.positions()[i][1] == doctest::Approx(-9.8 * static_cast<double>(i + 1) / 30.0).epsilon(0.02));
  CHECK(hanging.memory()[5] == doctest::Approx(-lowest).epsilon(0.02));
}

TEST_CASE("a step that is not made leaves what a force remembers") {
  Hanging hanging, undisturbed;
  REQUIRE(hanging.step(0.01));
  REQUIRE(undisturbed.step(0.01));
  const std::vector<double> before = hanging.memory();
  REQUIRE(before[0] > 0);

  solids::StepOptions hopeless;
  hopeless.solve = {1e-300, 1};
  hopeless.preconditioner = solids::Preconditioner::none;
  const std::vector<mesh::Point> velocities(hanging.body.velocities().begin(), hanging.body.velocities().end());
  for (auto& v : hanging.body.velocities()) v *= 100;
  CHECK_FALSE(hanging.step(0.2, hopeless));
  CHECK(hanging.memory() == before);
  hanging.body.velocities()[2][0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(hanging.step(0.02), InvalidArgument);
  CHECK(hanging.memory() == before);
  std::copy(velocities.begin(), velocities.end(), hanging.body.velocities().begin());

  REQUIRE(hanging.step(0.02));
  REQUIRE(undisturbed.step(0.02));
  CHECK(hanging.memory() == undisturbed.memory());
  CHECK(hanging.memory() != before);
}
