#include "meniscus/solids/plates/plate_bending.hpp"

#include "meniscus/solids/springs/hinge_lanes.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index chunk = 256;

using Four = std::array<mesh::Point, 4>;

Four corners(const FourNodes& h, std::span<const mesh::Point> x) { return {x[h[0]], x[h[1]], x[h[2]], x[h[3]]}; }

double sum_of_products(const Four& a, const Four& b) { return a[0].dot(b[0]) + a[1].dot(b[1]) + a[2].dot(b[2]) + a[3].dot(b[3]); }

const Four no_modes{mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero()};

}  // namespace

PlateBending::PlateBending(const Parameters& p)
    : hinges_(p.hinges.begin(), p.hinges.end()),
      curvature_(p.triangles, p.rest, p.hinges, p.rigid),
      stiffness_(p.stiffness.begin(), p.stiffness.end()),
      damping_(p.damping),
      gather_(p.hinges) {
  require(stiffness_.size() == 1 || stiffness_.size() == p.triangles.size(),
          "there must be one stiffness, or one for each of the ", p.triangles.size(), " triangles, not ", stiffness_.size());
  for (const Stiffness& d : stiffness_) {
    const Eigen::SelfAdjointEigenSolver<Stiffness> solver(d);
    require(d.allFinite() && d.isApprox(d.transpose()) && solver.eigenvalues()[0] > 0,
            "the stiffness of a plate must be symmetric and positive definite");
  }
  require(std::isfinite(damping_) && damping_ >= 0, "damping must not be negative, but is ", damping_);
  least_areas_.resize(hinges_.size());
  for (std::size_t i = 0; i < hinges_.size(); ++i) {
    const FourNodes& h = hinges_[i];
    const PlateCurvature::Plane e = p.rest[h[1]] - p.rest[h[0]];
    for (int s = 0; s < 2; ++s) {
      const PlateCurvature::Plane d = p.rest[h[2 + s]] - p.rest[h[0]];
      least_areas_[i][s] = p.collapsed * std::abs(e[0] * d[1] - e[1] * d[0]);
    }
  }
  own_.assign(hinges_.size(), 0);
  bound_.assign(hinges_.size(), 0);
  for (Index t = 0; t < curvature_.triangles(); ++t)
    for (const auto& a : curvature_.of(t)) {
      const PlateCurvature::Tensor m = curvature_.area(t) * stiffness(t) * a.weight;
      own_[a.hinge] += m.dot(a.weight);
      for (const auto& b : curvature_.of(t)) bound_[a.hinge] += std::abs(m.dot(b.weight));
    }
  x_.assign(nodes(), mesh::Point::Zero());
  linear_.assign(hinges_.size(), no_modes);
  now_ = linear_;
  linear_moment_.assign(hinges_.size(), 0);
  angle_ = moment_ = linear_moment_;
  couple_.assign(curvature_.triangles(), PlateCurvature::Tensor::Zero());
  contribution_.assign(4 * hinges_.size(), mesh::Point::Zero());
}

template <class Body>
void PlateBending::for_bends(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const {
  hinges::Modes found;
  Four modes = no_modes;
  for (Index first = begin; first < end; first += hinges::lanes) {
    const Index count = std::min<Index>(hinges::lanes, end - first);
    std::array<FourNodes, hinges::lanes> copy;
    const FourNodes* nodes = hinges_.data() + first;
    if (count < hinges::lanes) {
      // The last lanes of all repeat a hinge.
      copy.fill(nodes[0]);
      std::copy_n(nodes, count, copy.begin());
      nodes = copy.data();
    }
    simd_dispatch([&] { hinges::modes(x.data()->data(), nodes->data(), found); });
    for (Index l = 0; l < count; ++l) {
      const auto& least = least_areas_[first + l];
      if (found.area[0][l] > least[0] && found.area[1][l] > least[1] && found.length[l] > 0) {
        for (std::size_t a = 0; a < 4; ++a) modes[a] = {found.mode[a][0][l], found.mode[a][1][l], found.mode[a][2][l]};
        body(first + l, std::atan2(found.sine[l], found.cosine[l]), modes);
      } else {
        body(first + l, 0.0, no_modes);
      }
    }
  }
}

void PlateBending::find_angles(std::span<const mesh::Point> x, std::vector<Modes>& modes) const {
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for_bends(begin, end, x, [&](Index i, double angle, const Modes& m) {
      angle_[i] = angle;
      modes[i] = m;
    });
  });
}

void PlateBending::find_moments() const {
  parallel_for(0, curvature_.triangles(), chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      PlateCurvature::Tensor k = PlateCurvature::Tensor::Zero();
      for (const auto& e : curvature_.of(t)) k += angle_[e.hinge] * e.weight;
      couple_[t] = curvature_.area(t) * stiffness(t) * k;
    }
  });
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (const auto& e : curvature_.at(i)) sum += e.weight.dot(couple_[e.triangle]);
      moment_[i] = sum;
    }
  });
}

void PlateBending::curvatures(std::span<const mesh::Point> x, std::span<PlateCurvature::Tensor> out) const {
  find_angles(x, now_);
  for (Index t = 0; t < curvature_.triangles(); ++t) {
    out[t].setZero();
    for (const auto& e : curvature_.of(t)) out[t] += angle_[e.hinge] * e.weight;
  }
}

double PlateBending::energy(std::span<const mesh::Point> x) const {
  find_angles(x, now_);
  return parallel_reduce(
      0, curvature_.triangles(), chunk, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index t = begin; t < end; ++t) {
          PlateCurvature::Tensor k = PlateCurvature::Tensor::Zero();
          for (const auto& e : curvature_.of(t)) k += angle_[e.hinge] * e.weight;
          sum += 0.5 * curvature_.area(t) * k.dot(stiffness(t) * k);
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void PlateBending::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  find_angles(x, now_);
  find_moments();
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + static_cast<Index>(a)] = -moment_[i] * now_[i][a];
  });
  gather_.add<mesh::Point>(contribution_, 1.0, f);
}

void PlateBending::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  tangent_ = tangent;
  parallel_for(0, nodes(), 4096,
               [&](Index begin, Index end) { std::copy(x.begin() + begin, x.begin() + end, x_.begin() + begin); });
  find_angles(x, linear_);
  find_moments();
  linear_moment_ = moment_;
}

void PlateBending::begin_step(std::span<const mesh::Point> x, double) {
  start_.resize(hinges_.size());
  find_angles(x, start_);
  in_step_ = true;
}

PlateBending::Modes PlateBending::geometric(Index hinge, const Modes& d) const {
  const auto h = DihedralBending::hinge(hinges_[hinge], x_, least_areas_[hinge][0], least_areas_[hinge][1]);
  if (!h.live) return no_modes;
  auto change = DihedralBending::mode_change(h, corners(hinges_[hinge], x_), d);
  for (mesh::Point& m : change) m *= -linear_moment_[hinge];
  return change;
}

void PlateBending::add_product(const std::vector<Modes>& modes, std::span<const mesh::Point> dx, double scale, bool geometric,
                               std::span<mesh::Point> f) const {
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) angle_[i] = sum_of_products(modes[i], corners(hinges_[i], dx));
  });
  find_moments();
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      mesh::Point* const out = &contribution_[4 * i];
      for (std::size_t a = 0; a < 4; ++a) out[a] = -moment_[i] * modes[i][a];
      if (!geometric) continue;
      const Modes g = this->geometric(i, corners(hinges_[i], dx));
      for (std::size_t a = 0; a < 4; ++a) out[a] += g[a];
    }
  });
  gather_.add<mesh::Point>(contribution_, scale, f);
}

void PlateBending::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  add_product(linear_, dx, scale, tangent_ == Tangent::exact, f);
}

void PlateBending::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (damped()) add_product(in_step_ ? start_ : linear_, v, damping_ * scale, false, f);
}

void PlateBending::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), chunk, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node)
      for (const std::int32_t slot : gather_.at(node)) {
        const Index i = slot / 4, a = slot % 4;
        const mesh::Point &m = linear_[i][a], &held = in_step_ ? start_[i][a] : m;
        blocks[node].noalias() -= (stiffness_scale * own_[i] * m) * m.transpose();
        blocks[node].noalias() -= (damping_scale * damping_ * own_[i] * held) * held.transpose();
      }
  });
}

void PlateBending::add_bounds(std::span<const mesh::Point> x, double scale, std::span<double> bounds) const {
  find_angles(x, now_);
  parallel_for(0, hinges(), chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (const mesh::Point& m : now_[i]) sum += m.norm();
      for (std::size_t a = 0; a < 4; ++a)
        contribution_[4 * i + static_cast<Index>(a)] = mesh::Point(0.5 * scale * bound_[i] * sum * now_[i][a].norm(), 0, 0);
    }
  });
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node)
      for (const std::int32_t slot : gather_.at(node)) bounds[node] += contribution_[slot][0];
  });
}

void PlateBending::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  add_bounds(x, 1.0, stiffness);
}

void PlateBending::add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const {
  if (damped()) add_bounds(x, damping_, damping);
}

double PlateBending::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, hinges(), chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for_bends(begin, end, x, [&](Index i, double, const Modes& m) {
          most = std::max(most, std::abs(sum_of_products(m, corners(hinges_[i], v))));
        });
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

std::size_t PlateBending::nbytes() const {
  const std::size_t modes = linear_.capacity() + start_.capacity() + now_.capacity();
  const std::size_t doubles =
      own_.capacity() + bound_.capacity() + linear_moment_.capacity() + angle_.capacity() + moment_.capacity();
  return gather_.nbytes() + curvature_.nbytes() + hinges_.capacity() * sizeof(FourNodes) + modes * sizeof(Modes) +
         doubles * sizeof(double) + couple_.capacity() * sizeof(PlateCurvature::Tensor) +
         least_areas_.capacity() * sizeof(least_areas_[0]) + stiffness_.capacity() * sizeof(Stiffness) +
         (x_.capacity() + contribution_.capacity()) * sizeof(mesh::Point);
}

}  // namespace meniscus::solids
