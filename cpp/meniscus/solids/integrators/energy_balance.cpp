#include "meniscus/solids/integrators/energy_balance.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {

EnergyBalance::Energies EnergyBalance::energies(const BodyStep& step) {
  Energies elastic = step.workspace().take<double>(static_cast<Index>(step.bodies().size()));
  std::transform(step.bodies().begin(), step.bodies().end(), elastic.data(),
                 [&](const BodyInStep& b) { return elastic_energy(b, b.of(step.positions())); });
  return elastic;
}

EnergyBalance::EnergyBalance(const BodyStep& step, const BodyInStep& body, double elastic, ConstPoints v0)
    : step_(step), body_(body), x0_(body.of(step.positions())), v0_(body.of(v0)), elastic_(elastic) {
  works_ = !body.body->constraints().moved().empty() || (step.has_infinite_masses() && has_infinite_masses());
  for (const auto& force : body.body->forces()) works_ = works_ || !force->conservative();
}

bool EnergyBalance::has_infinite_masses() const {
  return nodes::first(size(), [&](std::size_t i) { return inverse_mass(i) == 0; }) < size();
}

double EnergyBalance::elastic_energy(const BodyInStep& body, ConstPoints x) {
  double sum = 0;
  for (const auto& force : body.body->forces())
    if (force->conservative()) sum += force->energy(x);
  return sum;
}

double EnergyBalance::kinetic_energy(ConstPoints v, const mesh::Point& mean) const {
  return 0.5 *
         nodes::sum(size(), 0.0, [&](std::size_t i) { return free(i) ? (v[i] - mean).squaredNorm() / inverse_mass(i) : 0.0; });
}

mesh::Point EnergyBalance::mean_velocity(ConstPoints v) const {
  using Sums = Eigen::Array4d;
  const Sums sums = nodes::sum(size(), Sums(Sums::Zero()), [&](std::size_t i) {
    const double m = free(i) ? 1 / inverse_mass(i) : 0;
    return Sums(m * v[i][0], m * v[i][1], m * v[i][2], m);
  });
  // Of sliding nodes, the velocity relative to the mean is none that they may have.
  if (!(sums[3] > 0) || !body_.body->constraints().sliding().empty()) return mesh::Point::Zero();
  return mesh::Point(sums[0], sums[1], sums[2]) / sums[3];
}

bool EnergyBalance::give_back(double gain, double part, Points v1) const {
  const Points own = body_.of(v1);
  return give_back(gain, part, mean_velocity(own), own);
}

bool EnergyBalance::give_back(double gain, double part, const mesh::Point& mean, Points v1) const {
  const double moving = kinetic_energy(v1, mean);
  if (!(gain < part * moving)) return false;
  const double factor = std::sqrt(1 - gain / moving);
  nodes::each(size(), [&](std::size_t i) {
    if (free(i)) v1[i] = mean + factor * (v1[i] - mean).eval();
  });
  return true;
}

void EnergyBalance::retreat(double tolerance, Points all_x1, Points all_v1) const {
  const Points x1 = body_.of(all_x1), v1 = body_.of(all_v1);
  constexpr int halvings = 8;
  const bool held = has_infinite_masses() || !body_.body->constraints().constrained().empty();
  const mesh::Point mean = held ? frame(x1) : mean_velocity(v1), shift = step_.dt() * mean;
  for (int k = 0;; ++k) {
    const Change now = change(all_x1, all_v1, false);
    if (now.gain <= now.slack(tolerance) || give_back(now.gain, 1, mean, v1) || k > halvings) return;
    const double part = k < halvings ? 0.5 : 0.0;
    nodes::each(size(), [&](std::size_t i) {
      if (!free(i)) return;
      x1[i] = x0_[i] + shift + part * (x1[i] - x0_[i] - shift).eval();
      v1[i] = mean + part * (v1[i] - mean).eval();
    });
  }
}

mesh::Point EnergyBalance::frame(ConstPoints x1) const {
  if (!works_) return mesh::Point::Zero();
  using Sums = Eigen::Array4d;
  const Sums sums = nodes::sum(size(), Sums(Sums::Zero()), [&](std::size_t i) {
    if (free(i)) return Sums(Sums::Zero());
    const mesh::Point way = x1[i] - x0_[i];
    return Sums(way[0], way[1], way[2], 1);
  });
  if (sums[3] == 0) return mesh::Point::Zero();
  return mesh::Point(sums[0], sums[1], sums[2]) / (sums[3] * step_.dt());
}

EnergyBalance::Change EnergyBalance::change(ConstPoints all_x1, ConstPoints all_v1, bool with_forces) const {
  const ConstPoints x1 = body_.of(all_x1), v1 = body_.of(all_v1);
  const DeformableBody& body = *body_.body;
  const mesh::Point& g = body.gravity();
  const Index n = size();
  const mesh::Point u = frame(x1), shift = step_.dt() * u;
  const auto way = [&](std::size_t i) { return mesh::Point(x1[i] - x0_[i] - shift); };
  const double weight = nodes::sum(n, 0.0, [&](std::size_t i) { return free(i) ? g.dot(way(i)) / inverse_mass(i) : 0.0; });
  double others = 0;
  Change r;
  if (works_ || with_forces) {
    const ScratchPoints f0 = step_.scratch(), f1 = step_.scratch();
    body.forces_at(x0_, {}, f0);
    body.forces_at(x1, {}, f1);
    if (with_forces)
      r.forces = nodes::sum(n, 0.0, [&](std::size_t i) {
        const double w = inverse_mass(i);
        return free(i) ? w * ((f0[i] + g / w).squaredNorm() - (f1[i] + g / w).squaredNorm()) : 0.0;
      });
    if (works_) {
      const ScratchPoints f = step_.scratch(), v = step_.scratch();
      using Sums = Eigen::Array2d;
      const auto add = [&](auto&& work) {
        const Sums sums = nodes::sum(n, Sums(Sums::Zero()), [&](std::size_t i) {
          const double w = work(i);
          return Sums(w, std::abs(w));
        });
        others += sums[0];
        r.work += sums[1];
      };
      // The mean of the forces at both ends is exact for linear ones.
      add([&](std::size_t i) { return free(i) ? 0.0 : -0.5 * (f0[i] + f1[i]).dot(way(i)); });
      nodes::clear(f);
      for (const auto& force : body.forces()) {
        if (force->conservative()) continue;
        force->add_forces(x0_, f);
        force->add_forces(x1, f);
      }
      add([&](std::size_t i) { return 0.5 * f[i].dot(way(i)); });
      // Energies of external forces do not move with the frame; internal ones have no resultant.
      const mesh::Point resultant = nodes::sum(n, mesh::Point(mesh::Point::Zero()),
                                               [&](std::size_t i) { return mesh::Point(0.5 * (f0[i] + f1[i] - f[i])); });
      others -= resultant.dot(shift);
      if (step_.damped()) {
        // What moved nodes give through dampers, and the air, which the frame moves through.
        nodes::clear(f);
        nodes::each(n, [&](std::size_t i) { v[i] = (x1[i] - x0_[i]) / step_.dt(); });
        for (const auto& force : body.forces())
          if (force->damped()) force->add_damping(v, 1.0, f);
        add([&](std::size_t i) { return free(i) ? 0.0 : std::max(0.0, -f[i].dot(way(i))); });
        nodes::clear(f);
        for (const auto& force : body.forces())
          if (force->has_drag()) force->add_damping(v, 1.0, f);
        add([&](std::size_t i) { return free(i) ? std::max(0.0, f[i].dot(way(i))) : 0.0; });
      }
    }
  }
  const double kinetic = kinetic_energy(v1, u), before = kinetic_energy(v0_, u), elastic = elastic_energy(body_, x1);
  r.gain = (kinetic - before) + (elastic - elastic_) - weight - others;
  r.scale = kinetic + before + std::abs(weight);
  r.elastic = std::abs(elastic) + std::abs(elastic_);
  return r;
}

}  // namespace meniscus::solids
