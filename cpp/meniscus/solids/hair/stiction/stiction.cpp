#include "meniscus/solids/hair/stiction/stiction.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids::hair {
using mesh::Point;

namespace {

constexpr Index stiction_chunk = 512;
constexpr Index numbers_per_spring = 4;

struct Near {
  double distance;
  std::int32_t first, second;
  double part_first, part_second;

  bool operator<(const Near& o) const {
    return distance != o.distance ? distance < o.distance : std::array{first, second} < std::array{o.first, o.second};
  }
};

/// Closest points of two segments.
void closest(const Point& a0, const Point& a1, const Point& b0, const Point& b1, double& s, double& t) {
  const Point u = a1 - a0, v = b1 - b0, r = a0 - b0;
  const double uu = u.squaredNorm(), vv = v.squaredNorm(), uv = u.dot(v), ur = u.dot(r), vr = v.dot(r);
  const double det = uu * vv - uv * uv;
  s = det > 1e-12 * uu * vv ? std::clamp((uv * vr - ur * vv) / det, 0.0, 1.0) : 0.5;
  t = vv > 0 ? std::clamp((uv * s + vr) / vv, 0.0, 1.0) : 0;
  s = uu > 0 ? std::clamp((uv * t - ur) / uu, 0.0, 1.0) : 0;
}

}  // namespace

Stiction::Stiction(std::span<const std::array<std::int32_t, 2>> segments, std::span<const std::int32_t> strands, Index nodes,
                   const StictionOptions& options)
    : segments_(segments.begin(), segments.end()),
      strands_(strands.begin(), strands.end()),
      nodes_(nodes),
      options_(options),
      boxes_(segments.size()) {
  core::require(strands_.size() == segments_.size(), "there must be a strand per segment");
  core::require(options.near > 0 && options.apart >= options.near, "springs must break at a length that is not below `near`");
  core::require(options.rest_length > 0 && options.stiffness > 0 && options.most > 0, "springs need a length and a stiffness");
  for (const auto& s : segments_)
    for (const std::int32_t i : s) core::require(i >= 0 && i < nodes, "segments must join nodes");
  const Index capacity = (static_cast<Index>(segments_.size()) * options.most + 1) / 2;
  memory_ = core::Block<double>(1 + numbers_per_spring * capacity);
  std::fill(memory_.begin(), memory_.end(), 0.0);
  tangent_.assign(capacity, Block3::Zero());
}

StictionSpring Stiction::spring(Index i) const {
  const double* const m = memory_.data() + 1 + numbers_per_spring * i;
  return {static_cast<std::int32_t>(m[0]), static_cast<std::int32_t>(m[1]), m[2], m[3]};
}

Stiction::Ends Stiction::ends(Index i) const {
  const StictionSpring s = spring(i);
  const auto &a = segments_[s.first], &b = segments_[s.second];
  return {{a[0], a[1], b[0], b[1]}, {1 - s.part_first, s.part_first, s.part_second - 1, -s.part_second}};
}

Point Stiction::between(const Ends& e, std::span<const Point> x) const {
  Point d = Point::Zero();
  for (int k = 0; k < 4; ++k) d += e.weight[k] * x[e.node[k]];
  return d;
}

void Stiction::update(std::span<const Point> x, bool exclude) {
  const Index count = static_cast<Index>(segments_.size());
  double* const m = memory_.data();
  // Springs that stay keep their order.
  std::vector<int> used(count, 0);
  std::vector<std::array<std::int32_t, 2>> joined;
  Index kept = 0;
  for (Index i = 0, n = springs(); i < n; ++i) {
    if (between(ends(i), x).norm() > options_.apart) continue;
    std::copy_n(m + 1 + numbers_per_spring * i, numbers_per_spring, m + 1 + numbers_per_spring * kept);
    const StictionSpring s = spring(kept++);
    ++used[s.first], ++used[s.second];
    joined.push_back({s.first, s.second});
  }
  std::sort(joined.begin(), joined.end());
  core::parallel_for(0, count, stiction_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Point &a = x[segments_[i][0]], &b = x[segments_[i][1]];
      const Point low = (a.cwiseMin(b).array() - 0.5 * options_.near).matrix();
      boxes_[i] = {low, (a.cwiseMax(b).array() + 0.5 * options_.near).matrix()};
    }
  });
  tree_.build(boxes_, workspace_);
  const Index chunks = (count + stiction_chunk - 1) / stiction_chunk;
  std::vector<std::vector<Near>> found(chunks);
  core::parallel_for(0, count, stiction_chunk, [&](Index begin, Index end) {
    auto& list = found[begin / stiction_chunk];
    for (Index i = begin; i < end; ++i)
      tree_.for_each_overlap(boxes_[i], [&](Index slot) {
        const std::int32_t j = tree_.element(slot);
        if (j <= i || strands_[i] == strands_[j]) return;
        Near n{0, static_cast<std::int32_t>(i), j, 0, 0};
        const auto &a = segments_[i], &b = segments_[j];
        closest(x[a[0]], x[a[1]], x[b[0]], x[b[1]], n.part_first, n.part_second);
        const Point p = (1 - n.part_first) * x[a[0]] + n.part_first * x[a[1]],
                    q = (1 - n.part_second) * x[b[0]] + n.part_second * x[b[1]];
        n.distance = (p - q).norm();
        if (n.distance < options_.near) list.push_back(n);
      });
  });
  std::vector<Near> all;
  for (const auto& list : found) all.insert(all.end(), list.begin(), list.end());
  const auto among = [](const auto& list, const Near& n) {
    return std::binary_search(list.begin(), list.end(), std::array{n.first, n.second});
  };
  if (exclude) {
    excluded_.clear();
    for (const Near& n : all) excluded_.push_back({n.first, n.second});
    std::sort(excluded_.begin(), excluded_.end());
    return;
  }
  std::sort(all.begin(), all.end());
  const Index capacity = static_cast<Index>(tangent_.size());
  for (const Near& n : all) {
    if (used[n.first] >= options_.most || used[n.second] >= options_.most || kept >= capacity) continue;
    if (among(joined, n) || among(excluded_, n)) continue;
    double* const to = m + 1 + numbers_per_spring * kept++;
    to[0] = n.first, to[1] = n.second, to[2] = n.part_first, to[3] = n.part_second;
    ++used[n.first], ++used[n.second];
  }
  m[0] = static_cast<double>(kept);
}

double Stiction::energy(std::span<const Point> x) const {
  const double k = options_.stiffness / options_.rest_length;
  return core::parallel_reduce(
      0, springs(), stiction_chunk, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index i = b; i < e; ++i) {
          const double stretch = between(ends(i), x).norm() - options_.rest_length;
          sum += 0.5 * k * stretch * stretch;
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void Stiction::add_forces(std::span<const Point> x, std::span<Point> f) const {
  const double k = options_.stiffness / options_.rest_length;
  for (Index i = 0; i < springs(); ++i) {
    const Ends e = ends(i);
    const Point d = between(e, x);
    const double length = d.norm();
    if (!(length > 0)) continue;
    const Point pull = (-k * (1 - options_.rest_length / length)) * d;
    for (int c = 0; c < 4; ++c) f[e.node[c]] += e.weight[c] * pull;
  }
}

void Stiction::linearise(std::span<const Point> x, Tangent tangent) {
  const double k = options_.stiffness / options_.rest_length;
  core::parallel_for(0, springs(), stiction_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Point d = between(ends(i), x);
      const double length = std::max(d.norm(), 1e-300);
      const Point n = d / length;
      double across = 1 - options_.rest_length / length;
      if (tangent == Tangent::definite) across = std::max(across, 0.0);
      if (tangent == Tangent::frozen) across = 0;
      tangent_[i] = k * (across * Block3::Identity() + (1 - across) * n * n.transpose());
    }
  });
}

void Stiction::add_differentials(std::span<const Point> dx, double scale, std::span<Point> f) const {
  for (Index i = 0; i < springs(); ++i) {
    const Ends e = ends(i);
    const Point pull = -scale * (tangent_[i] * between(e, dx));
    for (int c = 0; c < 4; ++c) f[e.node[c]] += e.weight[c] * pull;
  }
}

void Stiction::add_diagonal(double stiffness_scale, double, std::span<Block3> blocks) const {
  for (Index i = 0; i < springs(); ++i) {
    const Ends e = ends(i);
    for (int c = 0; c < 4; ++c) blocks[e.node[c]] -= (stiffness_scale * e.weight[c] * e.weight[c]) * tangent_[i];
  }
}

void Stiction::add_stiffness_bounds(std::span<const Point>, std::span<double> stiffness) const {
  const double k = options_.stiffness / options_.rest_length;
  for (Index i = 0; i < springs(); ++i) {
    const Ends e = ends(i);
    for (int c = 0; c < 4; ++c) stiffness[e.node[c]] += k * std::abs(e.weight[c]);  // the weights of both ends sum to 2
  }
}

std::size_t Stiction::nbytes() const {
  return std::span<const double>(memory_.begin(), memory_.end()).size_bytes() + std::span(segments_).size_bytes() +
         std::span(strands_).size_bytes() + std::span(tangent_).size_bytes() + std::span(boxes_).size_bytes() +
         std::span(excluded_).size_bytes();
}

}  // namespace meniscus::solids::hair
