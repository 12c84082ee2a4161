#include "meniscus/solids/springs/altitude_springs.hpp"

#include "meniscus/solids/springs/altitude_lanes.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

/// A unit vector across a line: the axis that is most nearly orthogonal to it, made so.
mesh::Point across(const mesh::Point& line) {
  Index axis = 0;
  line.cwiseAbs().minCoeff(&axis);
  return (mesh::Point::Unit(axis) - line[axis] * line).normalized();
}

/// The point of a segment closest to p, as the share of its second end.
double closest_share(const mesh::Point& p, const mesh::Point& a, const mesh::Point& b) {
  const mesh::Point d = b - a;
  const double square = d.squaredNorm();
  return square > 0 ? std::clamp((p - a).dot(d) / square, 0.0, 1.0) : 0.0;
}

/// Nodes on one line (Selle 2008, section 5.3.4): i, k, l, j in this order along it, and the spring between the edges (i, l) and
/// (k, j), both of whose ends are in the middle between k and l; it pushes them apart across the line.
AltitudeSprings::Choice choose_on_line(const std::array<mesh::Point, 4>& p) {
  std::size_t i = 0;
  std::size_t j = 1;
  double longest = -1;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = a + 1; b < 4; ++b)
      if (const double square = (p[b] - p[a]).squaredNorm(); square > longest) {
        longest = square;
        i = a;
        j = b;
      }
  std::size_t k = 0;
  while (k == i || k == j) ++k;
  std::size_t l = 6 - i - j - k;
  const mesh::Point line = (p[j] - p[i]) / std::sqrt(longest);
  if ((p[l] - p[i]).dot(line) < (p[k] - p[i]).dot(line)) std::swap(k, l);
  const mesh::Point middle = 0.5 * p[k] + 0.5 * p[l];
  const double s = closest_share(middle, p[i], p[l]);
  const mesh::Point on_first = p[i] + s * (p[l] - p[i]);
  const double t = closest_share(on_first, p[k], p[j]);
  const mesh::Point on_second = p[k] + t * (p[j] - p[k]);
  AltitudeSprings::Choice c;
  const std::size_t with_node_0 = i == 0 ? l : l == 0 ? i : k == 0 ? j : k;
  c.candidate = with_node_0 == 1 ? 7 : with_node_0 == 2 ? 9 : 8;
  c.weight[i] = 1 - s;
  c.weight[l] = s;
  c.weight[k] = -(1 - t);
  c.weight[j] = -t;
  // Along what is between the two ends, so that there is no torque; across the line where that is nothing but round-off.
  const mesh::Point gap = on_first - on_second;
  const double width = gap.norm();
  const bool apart = width > 1e-13 * std::sqrt(longest);
  c.direction = apart ? mesh::Point(gap / width) : across(line);
  c.length = apart ? width : 0;
  return c;
}

}  // namespace

AltitudeSprings::AltitudeSprings(const Parameters& p, const SpringOptions& options, std::span<const mesh::Point> rest)
    : per_length_(options.per_length),
      only_beyond_(p.only_beyond),
      edge_tolerance_(p.collapsed_edge * p.collapsed_edge),
      line_tolerance_(p.line_sine * p.line_sine),
      law_(options.law),
      gather_(p.tets) {
  const std::size_t n = p.tets.size();
  // Kernels compute 3 * node in 32 bits.
  require(nodes() <= 2147483647 / 3, "there are too many nodes: ", nodes());
  require(static_cast<std::size_t>(gather_.nodes()) <= rest.size(), "there is no rest position for node ", gather_.nodes() - 1);
  options.require_sizes(n, nodes(), "tetrahedron", "tetrahedra");
  tets_.assign(p.tets.begin(), p.tets.end());
  stiffness_.assign(options.stiffness.begin(), options.stiffness.end());
  damping_.assign(options.damping.begin(), options.damping.end());
  inverse_mass_.assign(options.inverse_mass.begin(), options.inverse_mass.end());
  damped_ = std::any_of(damping_.begin(), damping_.end(), [](double b) { return b > 0; });
  rest_length_.assign(n, {});
  rest_edge_.assign(n, {});
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b)
        require(tets_[t][a] != tets_[t][b], "tetrahedron ", t, " has the node ", tets_[t][a], " twice");
    Corners c = corners(t, rest);
    double volume = (c[1] - c[0]).cross(c[2] - c[0]).dot(c[3] - c[0]);
    if (volume < 0 && p.flat > 0) {
      std::swap(tets_[t][2], tets_[t][3]);
      std::swap(c[2], c[3]);
      volume = -volume;
    }
    const std::array<mesh::Point, 6> edge{c[1] - c[0], c[2] - c[0], c[3] - c[0], c[2] - c[1], c[3] - c[1], c[3] - c[2]};
    double longest = 0;
    for (std::size_t e = 0; e < 6; ++e) {
      rest_edge_[t][e] = edge[e].squaredNorm();
      longest = std::max(longest, rest_edge_[t][e]);
    }
    double widest = 0;
    for (std::size_t k = 0; k < candidates; ++k) {
      const auto f = altitudes::frame(c, k);
      widest = std::max(widest, f.u.cross(f.v).norm());
    }
    // Volume is the determinant: six times that of the tetrahedron.
    if (p.flat > 0 && volume <= p.flat * widest * std::sqrt(longest)) continue;
    require(volume > 0, "tetrahedron ", t, " must have positive volume at rest, not ", volume / 6);
    for (std::size_t k = 0; k < candidates; ++k) {
      const auto f = altitudes::frame(c, k);
      rest_length_[t][k] = volume / f.u.cross(f.v).norm();
    }
  }
  if (p.flat > 0) gather_ = ElementGather<4>(tets_);
  x_.assign(nodes(), mesh::Point::Zero());
  spring_.assign(n, Spring{{}, mesh::Point::Zero(), 0, 0, 0, none, 0});
  contribution_.assign(4 * n, mesh::Point::Zero());
}

AltitudeSprings::Corners AltitudeSprings::corners(std::size_t tet, std::span<const mesh::Point> x) const {
  const auto& t = tets_[tet];
  return {x[t[0]], x[t[1]], x[t[2]], x[t[3]]};
}

AltitudeSprings::Choice AltitudeSprings::choice_of_lane(std::size_t tet, const altitudes::Choices& of, std::size_t l,
                                                        std::span<const mesh::Point> x) const {
  Choice c;
  if (rest_length_[tet][0] == 0) return c;
  const Index best = of.candidate[l];
  const auto& table = altitudes::table[best];
  if (!(of.u2[l] > edge_tolerance_ * rest_edge_[tet][table.u_edge] && of.v2[l] > edge_tolerance_ * rest_edge_[tet][table.v_edge]))
    return c;
  if (!(of.widest[l] > line_tolerance_ * of.u2[l] * of.v2[l])) return choose_on_line(corners(tet, x));
  c.candidate = static_cast<std::int8_t>(best);
  c.direction = {of.direction.x[l], of.direction.y[l], of.direction.z[l]};
  c.length = of.length[l];
  c.weight = altitudes::weights(best, of.w1[l], of.w2[l]);
  return c;
}

template <class Body>
void AltitudeSprings::for_choices(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const {
  if (in_step_) {
    for (Index t = begin; t < end; ++t) body(t, follow(t, x));
    return;
  }
  altitudes::Choices found;
  for (Index first = begin; first < end; first += altitudes::lanes) {
    const Index count = std::min<Index>(altitudes::lanes, end - first);
    std::array<FourNodes, altitudes::lanes> copy;
    const FourNodes* nodes = tets_.data() + first;
    if (count < altitudes::lanes) {
      // The last lanes of all repeat an element.
      copy.fill(nodes[0]);
      std::copy_n(nodes, count, copy.begin());
      nodes = copy.data();
    }
    simd_dispatch([&] { altitudes::choose(x.data()->data(), nodes->data(), found); });
    for (Index l = 0; l < count; ++l) {
      const Index t = first + l;
      body(t, choice_of_lane(t, found, static_cast<std::size_t>(l), x));
    }
  }
}

void AltitudeSprings::choices(std::span<const mesh::Point> x, std::span<Choice> out) const {
  parallel_for(0, size(), chunk,
               [&](Index begin, Index end) { for_choices(begin, end, x, [&](std::size_t t, const Choice& c) { out[t] = c; }); });
}

bool AltitudeSprings::turns(std::size_t tet) const {
  constexpr double flat = 0.2;
  const Choice& c = start_[tet];
  return c.length > flat * rest_length(tet, c);
}

AltitudeSprings::Choice AltitudeSprings::follow(std::size_t tet, std::span<const mesh::Point> x) const {
  Choice c = start_[tet];
  if (c.candidate == none) return c;
  const Corners p = corners(tet, x);
  const mesh::Point between = c.weight[0] * p[0] + c.weight[1] * p[1] + c.weight[2] * p[2] + c.weight[3] * p[3];
  const double size = between.norm();
  if (turns(tet) && size > 0) {
    c.direction = between / size;
    c.length = size;
  } else {
    c.length = c.direction.dot(between);
  }
  return c;
}

bool AltitudeSprings::activate(std::size_t tet, Choice& c) const {
  if (c.candidate == none) return false;
  if (in_step_) return true;
  if (only_beyond_ >= 0 && c.length > (1 - only_beyond_) * rest_length(tet, c)) return false;
  if (c.candidate >= on_a_line) return true;
  // Round-off may have carried an end just past its base.
  const auto k = static_cast<std::size_t>(c.candidate);
  const auto& corner = altitudes::table[k].corner;
  auto& w = c.weight;
  if (k < altitudes::faces) {
    double sum = 0;
    for (std::size_t i = 1; i < 4; ++i) sum += w[corner[i]] = std::min(w[corner[i]], 0.0);
    for (std::size_t i = 1; i < 4; ++i) w[corner[i]] /= -sum;
  } else {
    w[corner[1]] = std::clamp(w[corner[1]], 0.0, 1.0);
    w[corner[0]] = 1 - w[corner[1]];
    w[corner[3]] = std::clamp(w[corner[3]], -1.0, 0.0);
    w[corner[2]] = -1 - w[corner[3]];
  }
  return true;
}

double AltitudeSprings::rest_length(std::size_t tet, const Choice& c) const {
  return rest_length_[tet][c.candidate < on_a_line ? c.candidate : c.candidate - 3];
}

double AltitudeSprings::spring_constant(std::size_t tet, const Choice& c) const {
  return per_length_ ? stiffness_[tet] / rest_length(tet, c) : stiffness_[tet];
}

double AltitudeSprings::tension(std::size_t tet, const Choice& c) const {
  const double l0 = rest_length(tet, c);
  if (law_.linear()) return spring_constant(tet, c) * (c.length - l0);
  return spring_constant(tet, c) * (l0 * law_.stress((c.length - l0) / l0));
}

double AltitudeSprings::damping(std::size_t tet, const Choice& c) const {
  if (inverse_mass_.empty()) return damping_[tet];
  double inverse = 0;
  for (std::size_t i = 0; i < 4; ++i) inverse += c.weight[i] * c.weight[i] * inverse_mass_[tets_[tet][i]];
  return inverse > 0 ? 2 * damping_[tet] * std::sqrt(spring_constant(tet, c) / inverse) : 0;
}

double AltitudeSprings::energy(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, size(), chunk, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for_choices(begin, end, x, [&](std::size_t t, Choice c) {
          if (!activate(t, c)) return;
          const double l0 = rest_length(t, c);
          const double change = c.length - l0;
          sum += spring_constant(t, c) * (law_.linear() ? 0.5 * change * change : l0 * l0 * law_.energy(change / l0));
        });
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void AltitudeSprings::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  parallel_for(0, size(), chunk, [&](Index begin, Index end) {
    for_choices(begin, end, x, [&](std::size_t t, Choice c) {
      const double pull = activate(t, c) ? tension(t, c) : 0;
      for (std::size_t i = 0; i < 4; ++i) contribution_[4 * t + i] = (-pull * c.weight[i]) * c.direction;
    });
  });
  gather_.add<mesh::Point>(contribution_, 1.0, f);
}

void AltitudeSprings::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  tangent_ = tangent;
  parallel_for(0, nodes(), 4096,
               [&](Index begin, Index end) { std::copy(x.begin() + begin, x.begin() + end, x_.begin() + begin); });
  parallel_for(0, size(), chunk, [&](Index begin, Index end) {
    for_choices(begin, end, x, [&](std::size_t t, Choice c) {
      Spring& s = spring_[t];
      s = {c.weight, c.direction, 0, 0, 0, none, 0};
      if (!activate(t, c)) return;
      const double l0 = rest_length(t, c);
      s.candidate = c.candidate;
      s.weight = c.weight;
      s.stiffness = spring_constant(t, c) * (law_.linear() ? 1 : law_.slope((c.length - l0) / l0));
      s.tension = tension(t, c);
      s.damping = damping(t, c);
      if (!in_step_ || tangent == Tangent::frozen || !turns(t) || !(c.length > 0)) return;
      s.across = s.tension / c.length;
      if (tangent == Tangent::definite) s.across = std::max(s.across, 0.0);
    });
  });
}

void AltitudeSprings::begin_step(std::span<const mesh::Point> x, double) {
  in_step_ = false;
  start_.resize(tets_.size());
  start_damping_.resize(tets_.size());
  parallel_for(0, size(), chunk, [&](Index begin, Index end) {
    for_choices(begin, end, x, [&](std::size_t t, Choice c) {
      const bool acts = activate(t, c);
      if (!acts) c.candidate = none;
      start_[t] = c;
      start_damping_[t] = acts ? damping(t, c) : 0;
    });
  });
  in_step_ = true;
}

DampingRatios AltitudeSprings::damping_ratios(std::span<const mesh::Point> x) const {
  DampingRatios r = no_damping_ratios;
  for_choices(0, size(), x, [&](std::size_t t, Choice c) {
    if (!activate(t, c)) return;
    const double l0 = rest_length(t, c);
    r.add(damping(t, c), spring_constant(t, c) * (law_.linear() ? 1 : law_.slope((c.length - l0) / l0)));
  });
  return r;
}

double AltitudeSprings::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, size(), chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for_choices(begin, end, x, [&](std::size_t t, Choice c) {
          if (!activate(t, c)) return;
          const Corners d = corners(t, v);
          double rate = 0;
          for (std::size_t i = 0; i < 4; ++i) rate += c.weight[i] * c.direction.dot(d[i]);
          most = std::max(most, std::abs(rate) / rest_length(t, c));
        });
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

std::size_t AltitudeSprings::nbytes() const {
  return gather_.nbytes() + tets_.capacity() * sizeof(FourNodes) + rest_length_.capacity() * sizeof(rest_length_[0]) +
         rest_edge_.capacity() * sizeof(rest_edge_[0]) + spring_.capacity() * sizeof(Spring) +
         (stiffness_.capacity() + damping_.capacity() + inverse_mass_.capacity()) * sizeof(double) +
         start_.capacity() * sizeof(Choice) + start_damping_.capacity() * sizeof(double) +
         (x_.capacity() + contribution_.capacity()) * sizeof(mesh::Point);
}

}  // namespace meniscus::solids
