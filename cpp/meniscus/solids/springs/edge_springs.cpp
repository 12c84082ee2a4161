#include "meniscus/solids/springs/edge_springs.hpp"

#include "meniscus/solids/springs/spring_lanes.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void require_per_spring(std::size_t found, std::size_t springs, const char* name) {
  require(found == springs, "there must be one ", name, " for each of the ", springs, " springs, not ", found);
}

void require_not_negative(std::span<const double> values, const char* name) {
  for (std::size_t s = 0; s < values.size(); ++s)
    require(std::isfinite(values[s]) && values[s] >= 0, "the ", name, " of spring ", s, " must be finite and not negative, not ",
            values[s]);
}

}  // namespace

EdgeSprings::EdgeSprings(std::span<const Ends> ends, std::span<const double> rest_length, const SpringOptions& options,
                         AtZeroLength at_zero_length, std::span<const mesh::Point> directions)
    : slices_(ends), law_(options.law), last_direction_(at_zero_length == AtZeroLength::last_direction) {
  const std::size_t n = ends.size();
  ends_.assign(ends.begin(), ends.end());
  options.require_sizes(n, nodes(), "spring", "springs");
  require_per_spring(rest_length.size(), n, "rest length");
  std::vector<double> constant(options.stiffness.begin(), options.stiffness.end());
  std::vector<double> damping(options.damping.begin(), options.damping.end());
  for (std::size_t s = 0; s < n; ++s) {
    if (options.per_length) {
      require(rest_length[s] > 0, "spring ", s,
              " has no rest length, which stiffness is relative to; give spring_constant or shortest");
      constant[s] /= rest_length[s];
    }
    if (options.inverse_mass.empty()) continue;
    const double inverse = options.inverse_mass[ends[s][0]] + options.inverse_mass[ends[s][1]];
    damping[s] = inverse > 0 ? 2 * damping[s] * std::sqrt(constant[s] * (1 / inverse)) : 0;
  }
  set(rest_length, constant, damping);
  plain_ = law_.linear() && !last_direction_;
  x_.assign(nodes(), mesh::Point::Zero());
  if (last_direction_) {
    require_per_spring(directions.size(), n, "direction");
    direction_.resize(n);
    for (std::size_t s = 0; s < n; ++s) {
      const double length = directions[s].norm();
      require(length > 0 && std::isfinite(length), "the direction of spring ", s, " has no length");
      direction_[s] = directions[s] / length;
    }
  }
}

void EdgeSprings::set(std::span<const double> rest_length, std::span<const double> stiffness, std::span<const double> damping) {
  const std::size_t n = ends_.size();
  require_per_spring(rest_length.size(), n, "rest length");
  require_per_spring(stiffness.size(), n, "stiffness");
  require_per_spring(damping.size(), n, "damping coefficient");
  require_not_negative(rest_length, "rest length");
  require_not_negative(stiffness, "stiffness");
  require_not_negative(damping, "damping coefficient");
  if (!law_.linear())
    for (std::size_t s = 0; s < n; ++s)
      require(rest_length[s] > 0, "spring ", s, " has no rest length, so that its strain is not defined");
  rest_length_.assign(rest_length.begin(), rest_length.end());
  stiffness_.assign(stiffness.begin(), stiffness.end());
  damping_.assign(damping.begin(), damping.end());
  half_rest_length_ = slices_.spread(rest_length_, 1);
  half_stiffness_ = slices_.spread(stiffness_, 0);
  damped_ = std::any_of(damping_.begin(), damping_.end(), [](double b) { return b > 0; });
  if (damped_) half_damping_ = slices_.spread(damping_, 0);
}

EdgeSprings::State EdgeSprings::state(std::size_t spring, std::span<const mesh::Point> x) const {
  const auto [a, b] = ends_[spring];
  const mesh::Point d = x[b] - x[a];
  const double length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  if (length > lanes::collapsed * rest_length_[spring]) return {d / length, length, true};
  if (last_direction_) return {direction_[spring], length, true};
  return {mesh::Point::Zero(), length, false};
}

double EdgeSprings::strain(std::size_t spring, double length) const {
  return (length - rest_length_[spring]) / rest_length_[spring];
}

double EdgeSprings::tension(std::size_t spring, double length) const {
  if (law_.linear()) return stiffness_[spring] * (length - rest_length_[spring]);
  return stiffness_[spring] * (rest_length_[spring] * law_.stress(strain(spring, length)));
}

EdgeSprings::Stiffness EdgeSprings::tangent_stiffness(std::size_t spring, const State& s) const {
  const double k = stiffness_[spring];
  if (rest_length_[spring] == 0) return {k, k};
  if (!s.live) return {0, 0};
  Stiffness r{law_.linear() ? k : k * law_.slope(strain(spring, s.length)), 0};
  if (tangent_ != Tangent::frozen && s.length > lanes::collapsed * rest_length_[spring])
    r.across = tension(spring, s.length) / s.length;
  if (tangent_ == Tangent::definite) r.across = std::max(r.across, 0.0);
  return r;
}

double EdgeSprings::energy(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, size(), 1024, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index s = begin; s < end; ++s) {
          const auto [a, b] = ends_[s];
          const mesh::Point d = x[b] - x[a];
          const double length = d.norm();
          const double l0 = rest_length_[s];
          sum += stiffness_[s] * (law_.linear() ? 0.5 * (length - l0) * (length - l0) : l0 * l0 * law_.energy(strain(s, length)));
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void EdgeSprings::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  const lanes::HalfSprings half{slices_, half_rest_length_.data(), half_stiffness_.data(), direction_.data()};
  if (plain_)
    lanes::for_slices(slices_, x, f, 1.0,
                      [&](const lanes::Slice& slice, lanes::Vectors& sum) { linear_forces(half, slice, sum); });
  else
    lanes::for_slices(slices_, x, f, 1.0,
                      [&](const lanes::Slice& slice, lanes::Vectors& sum) { general_forces(half, law_, slice, sum); });
}

void EdgeSprings::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  tangent_ = tangent;
  parallel_for(0, nodes(), 4096,
               [&](Index begin, Index end) { std::copy(x.begin() + begin, x.begin() + end, x_.begin() + begin); });
  if (last_direction_ && !in_step_)
    parallel_for(0, size(), 1024, [&](Index begin, Index end) {
      for (Index s = begin; s < end; ++s) direction_[s] = state(s, x).direction;
    });
}

void EdgeSprings::begin_step(std::span<const mesh::Point> x, double) {
  in_step_ = false;
  linearise(x, Tangent::frozen);
  if (damped_) start_ = x_;
  in_step_ = true;
}

void EdgeSprings::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  const lanes::HalfSprings half{slices_, half_rest_length_.data(), half_stiffness_.data(), direction_.data()};
  const double least = tangent_ == Tangent::exact ? -infinity : 0;
  const double most = tangent_ == Tangent::frozen ? 0 : infinity;
  if (plain_)
    lanes::for_slices(slices_, dx, f, scale, [&](const lanes::Slice& slice, lanes::Vectors& sum) {
      linear_differentials(half, x_.data()->data(), least, most, slice, sum);
    });
  else
    lanes::for_slices(slices_, dx, f, scale, [&](const lanes::Slice& slice, lanes::Vectors& sum) {
      general_differentials(half, law_, x_.data()->data(), least, most, slice, sum);
    });
}

void EdgeSprings::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (!damped_) return;
  const lanes::HalfSprings half{slices_, half_rest_length_.data(), half_damping_.data(), direction_.data()};
  lanes::for_slices(slices_, v, f, scale, [&](const lanes::Slice& slice, lanes::Vectors& sum) {
    axial_damping(half, damped_at().data()->data(), slice, sum);
  });
}

void EdgeSprings::add_tangent(std::span<const mesh::Point> u, double stiffness_scale, double damping_scale,
                              std::span<mesh::Point> f) const {
  if (!plain_ || in_step_ || !damped_ || damping_scale == 0 || stiffness_scale == 0) {
    Force::add_tangent(u, stiffness_scale, damping_scale, f);
    return;
  }
  const lanes::HalfSprings half{slices_, half_rest_length_.data(), half_stiffness_.data(), direction_.data()};
  const double least = tangent_ == Tangent::exact ? -infinity : 0;
  const double most = tangent_ == Tangent::frozen ? 0 : infinity;
  lanes::for_slices(slices_, u, f, 1.0, [&](const lanes::Slice& slice, lanes::Vectors& sum) {
    linear_tangent(half, half_damping_.data(), stiffness_scale, damping_scale, x_.data()->data(), least, most, slice, sum);
  });
}

void EdgeSprings::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  lanes::for_halves(slices_, [&](std::size_t node, std::size_t spring) {
    const State s = state(spring, x_);
    const Stiffness k = tangent_stiffness(spring, s);
    const double along = stiffness_scale * (k.along - k.across);
    Block3& block = blocks[node];
    block.noalias() -= (along * s.direction) * s.direction.transpose();
    block.diagonal().array() -= stiffness_scale * k.across;
    if (!damped_ || damping_scale == 0) return;
    const mesh::Point d = in_step_ ? state(spring, start_).direction : s.direction;
    block.noalias() -= (damping_scale * damping_[spring] * d) * d.transpose();
  });
}

void EdgeSprings::couplings(double stiffness_scale, double damping_scale, std::span<Coupling> out) const {
  parallel_for(0, size(), 1024, [&](Index begin, Index end) {
    for (Index s = begin; s < end; ++s) {
      const State now = state(s, x_);
      const Stiffness k = tangent_stiffness(s, now);
      double along = stiffness_scale * (k.along - std::max(k.across, 0.0));
      if (damped_) along += damping_scale * damping_[s];
      const mesh::Point w = std::sqrt(std::max(along, 0.0)) * now.direction;
      out[s] = {{static_cast<float>(w[0]), static_cast<float>(w[1]), static_cast<float>(w[2])},
                static_cast<float>(stiffness_scale * std::max(k.across, 0.0))};
    }
  });
}

void EdgeSprings::add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const {
  // Neither along nor across a spring does its force grow faster than k times the steepest slope of the law.
  lanes::for_halves(slices_,
                    [&](std::size_t node, std::size_t spring) { stiffness[node] += law_.steepest() * stiffness_[spring]; });
}

void EdgeSprings::add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const {
  if (!damped_) return;
  lanes::for_halves(slices_, [&](std::size_t node, std::size_t spring) { damping[node] += damping_[spring]; });
}

DampingRatios EdgeSprings::damping_ratios(std::span<const mesh::Point> x) const {
  DampingRatios r = no_damping_ratios;
  for (std::size_t s = 0; s < ends_.size(); ++s) {
    const State now = state(s, x);
    const double slope = law_.linear() || rest_length_[s] == 0 ? 1 : law_.slope(strain(s, now.length));
    r.add(damping_[s], stiffness_[s] * slope);
    // What acts across a spring is not damped: its tension, and all of a spring without rest length.
    if (stiffness_[s] > 0 && (rest_length_[s] == 0 || now.length > (1 + 1e-9) * rest_length_[s])) r.least = 0;
  }
  return r;
}

double EdgeSprings::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, size(), 1024, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for (Index s = begin; s < end; ++s) {
          if (rest_length_[s] == 0) continue;
          const auto [a, b] = ends_[s];
          const mesh::Point dv = v[b] - v[a];
          most = std::max(most, std::abs(dv.dot(state(s, x).direction)) / rest_length_[s]);
        }
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

std::size_t EdgeSprings::nbytes() const {
  const std::size_t doubles = rest_length_.capacity() + stiffness_.capacity() + damping_.capacity() +
                              half_rest_length_.capacity() + half_stiffness_.capacity() + half_damping_.capacity();
  return slices_.nbytes() + ends_.capacity() * sizeof(Ends) + doubles * sizeof(double) +
         (x_.capacity() + direction_.capacity() + start_.capacity()) * sizeof(mesh::Point);
}

}  // namespace meniscus::solids
