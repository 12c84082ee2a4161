#include "meniscus/solids/hair/rod_strands.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/hair/rod_loops.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids::hair {
using mesh::Point;

namespace {

/// Any unit vector across a unit vector.
Point any_across(const Point& t) {
  int least = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(t[k]) < std::abs(t[least])) least = k;
  return t.cross(Point::Unit(least)).normalized();
}

Point carried(const Point& v, const Point& from, const Point& to) {
  const Point w = v - (v.dot(to) / std::max(1 + from.dot(to), 1e-12)) * (from + to);
  return (w - w.dot(to) * to).normalized();
}

}  // namespace

double* RodStrands::plane(int k) const {
  const Index stride = pack_size * first_.back();
  return k < law_planes ? const_cast<double*>(law_.data()) + k * stride
                        : const_cast<double*>(state_.data()) + (k - law_planes) * stride;
}

RodStrands::Group RodStrands::group(Index n) const {
  Group g;
  g.slots = first_[n + 1] - first_[n];
  g.stride = pack_size * first_.back();
  g.law = law_.data() + pack_size * first_[n];
  g.state = const_cast<double*>(state_.data()) + pack_size * first_[n];
  g.lanes = lanes_of(n);
  return g;
}

RodStrands::RodStrands(std::span<const std::int64_t> offsets, ConstPoints rest, std::span<const RodStiffness> stiffness,
                       std::span<const StrandEnd> roots, std::span<const StrandEnd> tips, bool curved)
    : StrandGroups(offsets, 2) {
  const Index count = strands();
  core::require(count >= 0 && static_cast<Index>(rest.size()) == size(), "offsets must end with the number of points");
  const Index stride = pack_size * first_.back();
  law_ = core::Block<double>(law_planes * stride);
  state_ = core::Block<double>(state_planes * stride);
  std::fill(law_.begin(), law_.end(), 0.0);
  std::fill(state_.begin(), state_.end(), 0.0);
  for (Index i = 0; i < stride; ++i) {
    state_[tangent_plane * stride + i] = 1;
    state_[(director_plane + 1) * stride + i] = 1;
  }
  length_.assign(count, 0);
  const auto law = [&](int k, Index at) -> double& { return law_[k * stride + at]; };
  for (Index i = 0; i < static_cast<Index>(members_.size()); ++i) {
    const std::int32_t s = members_[i];
    if (s < 0) continue;
    const Index b = offsets_[s], n = offsets_[s + 1] - b;
    core::require(n >= 2, "strand ", s, " has ", n, " points; two are the least");
    const auto at = [&](Index slot) { return pack_size * (first_[i / pack_size] + slot) + i % pack_size; };
    const RodStiffness k = stiffness[s];
    const bool root = roots[s] == StrandEnd::clamped, tip = tips[s] == StrandEnd::clamped;
    const auto length = [&](Index edge) { return edge < 1 || edge > n - 1 ? 0.0 : (rest[b + edge] - rest[b + edge - 1]).norm(); };
    for (Index j = 1; j <= n; ++j) {
      const double cell = 0.5 * (length(j - 1) + length(j));
      if (j < n) {
        core::require(length(j) > 0, "points ", j - 1, " and ", j, " of strand ", s, " coincide");
        law(stretch_plane, at(j)) = k.stretching / length(j);
        law(rest_plane, at(j)) = length(j);
        law(real_plane, at(j)) = 1;
        length_[s] += length(j);
      }
      if ((j > 1 || root) && (j < n || tip)) {
        law(bending_plane, at(j)) = k.bending / cell;
        law(twisting_plane, at(j)) = k.twisting / cell;
      }
    }
    if (!root && !tip)
      for (Index j = 1; j < n; ++j) law(loose_plane, at(j)) = loose_twist * 2 * k.twisting / length(j);
    // Frames without twist, from the root on; the natural curvature is that of the rest shape in them.
    Point t = (rest[b + 1] - rest[b]).normalized(), d = any_across(t);
    for (Index j = 0; j <= n; ++j) {
      const Point to = j >= 1 && j < n ? (rest[b + j] - rest[b + j - 1]).normalized() : t;
      const Point next = carried(d, t, to);
      const Point kb = 2.0 / std::max(1 + t.dot(to), 1e-9) * t.cross(to);
      if (curved) {
        law(first_plane, at(j)) = kb.dot(t.cross(d));
        law(second_plane, at(j)) = -kb.dot(d);
      }
      t = to, d = next;
      for (int c = 0; c < 3; ++c) {
        state_[(tangent_plane + c) * stride + at(j)] = t[c];
        state_[(director_plane + c) * stride + at(j)] = d[c];
      }
    }
  }
}

RodStrands::RodStrands(const RodStrands& o) : StrandGroups(o), length_(o.length_), law_(o.law_.size()), state_(o.state_.size()) {
  std::copy(o.law_.begin(), o.law_.end(), law_.begin());
  std::copy(o.state_.begin(), o.state_.end(), state_.begin());
}

RodStrands::~RodStrands() = default;

std::size_t RodStrands::nbytes() const {
  const auto bytes_of = [](const core::Block<double>& b) { return std::span<const double>(b.begin(), b.end()).size_bytes(); };
  return bytes_of(law_) + bytes_of(state_) + std::span(offsets_).size_bytes() + std::span(members_).size_bytes() +
         std::span(first_).size_bytes() + std::span(length_).size_bytes() + pool_.nbytes();
}

void RodStrands::set_clamps(bool tips, ConstPoints directions, ConstPoints directors) {
  const Index stride = pack_size * first_.back();
  for (Index i = 0; i < static_cast<Index>(members_.size()); ++i) {
    const std::int32_t s = members_[i];
    if (s < 0) continue;
    const Index slot = first_[i / pack_size] + (tips ? offsets_[s + 1] - offsets_[s] : 0);
    const Point t = directions[s].normalized(), across_t = directors[s] - directors[s].dot(t) * t;
    core::require(std::isfinite(t.sum()) && across_t.norm() > 1e-9 * directors[s].norm(), "the frame of strand ", s,
                  " needs a direction and a director that is not along it");
    const Point d = across_t.normalized();
    for (int c = 0; c < 3; ++c) {
      state_[(tangent_plane + c) * stride + pack_size * slot + i % pack_size] = t[c];
      state_[(director_plane + c) * stride + pack_size * slot + i % pack_size] = d[c];
    }
  }
}

void RodStrands::natural(std::span<double> first, std::span<double> second, std::span<double> twist) const {
  fill_points(plane(first_plane), [&](double value, Index p, Index) { first[p] = value; });
  fill_points(plane(second_plane), [&](double value, Index p, Index) { second[p] = value; });
  fill_points(plane(turn_plane), [&](double value, Index p, Index) { twist[p] = value; });
}

void RodStrands::set_natural(std::span<const double> first, std::span<const double> second, std::span<const double> twist) {
  fill_points(plane(first_plane), [&](double& value, Index p, Index) { value = first[p]; });
  fill_points(plane(second_plane), [&](double& value, Index p, Index) { value = second[p]; });
  fill_points(plane(turn_plane), [&](double& value, Index p, Index) { value = twist[p]; });
}

void RodStrands::stiffen(std::span<const double> factors) {
  for (const int k : {bending_plane, twisting_plane, loose_plane})
    fill_points(plane(k), [&](double& value, Index, Index s) { value *= factors[s]; });
}

void RodStrands::rest_lengths(std::span<double> lengths) const {
  fill_points(plane(rest_plane), [&](double value, Index p, Index) { lengths[p] = value; });
}

void RodStrands::set_rest_lengths(std::span<const double> lengths) {
  fill_points(plane(rest_plane), [&](double& value, Index p, Index s) {
    if (p + 1 < offsets_[s + 1]) value = lengths[p];
  });
}

void RodStrands::energies(ConstPoints x, std::span<double> out) const {
  for_groups([&](const Group& g, Scratch& s, Index n) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    const Pack e = elastic_energy(g, s.x, s.now);
    for (int l = 0; l < pack_size; ++l)
      if (members_[pack_size * n + l] >= 0) out[members_[pack_size * n + l]] = e[l];
  });
}

void RodStrands::forces(ConstPoints x, Points out, std::span<double> moments) const {
  for_groups([&](const Group& g, Scratch& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    elastic_slope(g, s.x, s.now, s.slope);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) out[p][c] = -s.slope[4 * j + c][l];
      moments[p] = j < g.lanes[l].points ? -s.slope[4 * j + 3][l] : 0.0;
    });
  });
}

void RodStrands::frames(Points directors, std::span<double> twists) const {
  for (Index n = 0; n + 1 < static_cast<Index>(first_.size()); ++n) {
    const Group g = group(n);
    for_points(g, [&](int l, Index j, Index p) {
      for (int c = 0; c < 3; ++c) directors[p][c] = g.state_at(director_plane + c, j)[l];
      twists[p] = g.state_at(twist_plane, j)[l];
    });
  }
}

void RodStrands::untwist(ConstPoints x) {
  for_groups([&](const Group& g, Scratch& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    for (Index j = 1; j + 1 < g.slots; ++j) {
      const PackMask real = g.at(real_plane, j) > splat(0.5);
      const PackVec3 d = across(transported(s.now.d[j - 1], s.now.t[j - 1], s.now.t[j]), s.now.t[j]);
      s.now.d[j] = select(real, d, s.now.d[j]);
      s.now.m[j] = select(real, splat(0.0), s.now.m[j]);
    }
    store_frames(g, s.now);
  });
}

void RodStrands::carry(ConstPoints x) {
  for_groups([&](const Group& g, Scratch& s, Index) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    store_frames(g, s.now);
  });
}

}  // namespace meniscus::solids::hair
