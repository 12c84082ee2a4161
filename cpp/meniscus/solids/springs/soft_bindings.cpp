#include "meniscus/solids/springs/soft_bindings.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index binding_chunk = 1024;

}  // namespace

SoftBindings::SoftBindings(const End& first, const End& second, const SpringOptions& options,
                           std::span<const mesh::Point> targets) {
  const std::size_t n = options.stiffness.size();
  require(!options.per_length && options.law.linear(), "bindings have no length and no law of stress");
  for (const End* end : {&first, &second})
    require(end->node.size() == n * end->width && end->weight.size() == end->node.size(), "there must be ", end->width,
            " parents and weights for each of the ", n, " bindings, not ", end->node.size(), " and ", end->weight.size());
  require(second.width > 0 || targets.size() == n, "there must be one target for each of the ", n, " bindings, not ",
          targets.size());
  std::int32_t highest = -1;
  start_.push_back(0);
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t begin = term_.size();
    for (const End* end : {&first, &second}) {
      bool any = end->width == 0;
      for (std::size_t k = b * end->width; k < (b + 1) * end->width; ++k) {
        if (end->node[k] < 0) continue;
        any = true;
        highest = std::max(highest, end->node[k]);
        const double w = end == &first ? end->weight[k] : -end->weight[k];
        require(std::isfinite(w), "binding ", b, " has the weight ", w);
        // A node may be a parent of both ends.
        const auto known = std::find_if(term_.begin() + static_cast<std::ptrdiff_t>(begin), term_.end(),
                                        [&](const Term& t) { return t.index == end->node[k]; });
        if (known == term_.end())
          term_.push_back({end->node[k], w});
        else
          known->weight += w;
      }
      require(any, "binding ", b, " has an end without parents");
    }
    start_.push_back(term_.size());
  }
  numerics::list_by_rows(highest + Index{1}, node_start_, node_term_, [&](auto&& add) {
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t k = start_[b]; k < start_[b + 1]; ++k)
        add(term_[k].index, Term{static_cast<std::int32_t>(b), term_[k].weight});
  });
  options.require_sizes(n, nodes(), "binding", "bindings");
  stiffness_.assign(options.stiffness.begin(), options.stiffness.end());
  damping_.assign(options.damping.begin(), options.damping.end());
  for (std::size_t b = 0; b < n && !options.inverse_mass.empty(); ++b) {
    double inverse = 0;
    for (std::size_t k = start_[b]; k < start_[b + 1]; ++k)
      inverse += term_[k].weight * term_[k].weight * options.inverse_mass[term_[k].index];
    damping_[b] = inverse > 0 ? 2 * damping_[b] * std::sqrt(stiffness_[b] / inverse) : 0;
  }
  damped_ = std::any_of(damping_.begin(), damping_.end(), [](double b) { return b > 0; });
  if (second.width == 0) {
    target_.assign(targets.begin(), targets.end());
    target_velocity_.assign(n, mesh::Point::Zero());
  }
  value_.assign(n, mesh::Point::Zero());
}

void SoftBindings::set_targets(std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities) {
  require(!target_.empty() || size() == 0, "these bindings have nodes at both ends and no targets");
  require(positions.size() == target_.size() && velocities.size() == target_.size(), "there must be ", target_.size(),
          " positions and velocities of targets, not ", positions.size(), " and ", velocities.size());
  std::copy(positions.begin(), positions.end(), target_.begin());
  std::copy(velocities.begin(), velocities.end(), target_velocity_.begin());
}

mesh::Point SoftBindings::difference(std::size_t binding, std::span<const mesh::Point> x) const {
  mesh::Point sum = mesh::Point::Zero();
  for (std::size_t k = start_[binding]; k < start_[binding + 1]; ++k) sum += term_[k].weight * x[term_[k].index];
  return sum;
}

void SoftBindings::gaps(std::span<const mesh::Point> x, std::span<mesh::Point> out) const {
  parallel_for(0, size(), binding_chunk, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) {
      out[b] = difference(b, x);
      if (!target_.empty()) out[b] -= target_[b];
    }
  });
}

void SoftBindings::spread(double scale, std::span<mesh::Point> total) const {
  parallel_for(0, nodes(), binding_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      mesh::Point sum = mesh::Point::Zero();
      for (std::size_t k = node_start_[i]; k < node_start_[i + 1]; ++k) sum += node_term_[k].weight * value_[node_term_[k].index];
      total[i] += scale * sum;
    }
  });
}

double SoftBindings::energy(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, size(), binding_chunk, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index b = begin; b < end; ++b) {
          mesh::Point gap = difference(b, x);
          if (!target_.empty()) gap -= target_[b];
          sum += 0.5 * stiffness_[b] * gap.squaredNorm();
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void SoftBindings::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  gaps(x, value_);
  parallel_for(0, size(), binding_chunk, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) {
      value_[b] *= -stiffness_[b];
      // Part of the damping from the motion of the target.
      if (!target_.empty()) value_[b] += damping_[b] * target_velocity_[b];
    }
  });
  spread(1.0, f);
}

void SoftBindings::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  parallel_for(0, size(), binding_chunk, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) value_[b] = -stiffness_[b] * difference(b, dx);
  });
  spread(scale, f);
}

void SoftBindings::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (!damped_) return;
  parallel_for(0, size(), binding_chunk, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) value_[b] = -damping_[b] * difference(b, v);
  });
  spread(scale, f);
}

void SoftBindings::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), binding_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (std::size_t k = node_start_[i]; k < node_start_[i + 1]; ++k) {
        const auto [binding, w] = node_term_[k];
        const Index b = binding;
        blocks[i].diagonal().array() -= w * w * (stiffness_scale * stiffness_[b] + damping_scale * damping_[b]);
      }
  });
}

void SoftBindings::add_bounds(std::span<const double> coefficients, std::span<double> bounds) const {
  parallel_for(0, nodes(), binding_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (std::size_t k = node_start_[i]; k < node_start_[i + 1]; ++k) {
        const Index b = node_term_[k].index;
        double sum = 0;
        for (std::size_t t = start_[b]; t < start_[b + 1]; ++t) sum += std::abs(term_[t].weight);
        bounds[i] += 0.5 * coefficients[b] * std::abs(node_term_[k].weight) * sum;
      }
  });
}

void SoftBindings::add_stiffness_bounds(std::span<const mesh::Point>, std::span<double> stiffness) const {
  add_bounds(stiffness_, stiffness);
}

void SoftBindings::add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const {
  if (damped_) add_bounds(damping_, damping);
}

DampingRatios SoftBindings::damping_ratios(std::span<const mesh::Point>) const {
  DampingRatios r = no_damping_ratios;
  for (std::size_t b = 0; b < stiffness_.size(); ++b) r.add(damping_[b], stiffness_[b]);
  return r;
}

std::size_t SoftBindings::nbytes() const {
  return (start_.capacity() + node_start_.capacity()) * sizeof(std::size_t) +
         (term_.capacity() + node_term_.capacity()) * sizeof(Term) +
         (stiffness_.capacity() + damping_.capacity()) * sizeof(double) +
         (target_.capacity() + target_velocity_.capacity() + value_.capacity()) * sizeof(mesh::Point);
}

}  // namespace meniscus::solids
