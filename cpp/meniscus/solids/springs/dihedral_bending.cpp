#include "meniscus/solids/springs/dihedral_bending.hpp"

#include "meniscus/solids/springs/hinge_lanes.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index hinge_chunk = 256;

std::array<mesh::Point, 4> corners(const FourNodes& h, std::span<const mesh::Point> x) {
  return {x[h[0]], x[h[1]], x[h[2]], x[h[3]]};
}

double sum_of_products(const std::array<mesh::Point, 4>& a, const std::array<mesh::Point, 4>& b) {
  return a[0].dot(b[0]) + a[1].dot(b[1]) + a[2].dot(b[2]) + a[3].dot(b[3]);
}

}  // namespace

DihedralBending::DihedralBending(const Parameters& p, const SpringOptions& options, std::span<const mesh::Point> rest)
    : law_(p.law), gather_(p.hinges) {
  const std::size_t n = p.hinges.size();
  require(p.rest_angle.size() == n, "there must be one rest angle for each of the ", n, " hinges, not ", p.rest_angle.size());
  require(options.law.linear(), "hinges have no law of stress");
  // Kernels compute 3 * node in 32 bits.
  require(nodes() <= 2147483647 / 3, "there are too many nodes: ", nodes());
  require(static_cast<std::size_t>(nodes()) <= rest.size(), "there is no rest position for node ", nodes() - 1);
  options.require_sizes(n, nodes(), "hinge", "hinges");
  hinges_.assign(p.hinges.begin(), p.hinges.end());
  stiffness_.assign(options.stiffness.begin(), options.stiffness.end());
  damping_.assign(options.damping.begin(), options.damping.end());
  inverse_mass_.assign(options.inverse_mass.begin(), options.inverse_mass.end());
  rest_angle_.assign(p.rest_angle.begin(), p.rest_angle.end());
  damped_ = std::any_of(damping_.begin(), damping_.end(), [](double b) { return b > 0; });
  rest_weight_.resize(n);
  min_areas_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& h = hinges_[i];
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b) require(h[a] != h[b], "hinge ", i, " has the node ", h[a], " twice");
    const auto c = corners(h, rest);
    const double first = mesh::area_vector(c[0], c[1], c[2]).norm();
    const double second = mesh::area_vector(c[1], c[0], c[3]).norm();
    const bool flat = mesh::has_no_area(c[0], c[1], c[2]) || mesh::has_no_area(c[1], c[0], c[3]);
    rest_weight_[i] = flat ? 0 : (c[1] - c[0]).squaredNorm() / (first + second);
    min_areas_[i] = {p.collapsed * first, p.collapsed * second};
  }
  x_.assign(nodes(), mesh::Point::Zero());
  linear_.resize(n);
  for (Linear& l : linear_) l.mode.fill(mesh::Point::Zero());
  contribution_.assign(4 * n, mesh::Point::Zero());
}

DihedralBending::Hinge DihedralBending::hinge(const FourNodes& nodes, std::span<const mesh::Point> x, double min_first_area,
                                              double min_second_area) {
  Hinge h;
  const auto c = corners(nodes, x);
  const mesh::Point e = c[1] - c[0];
  h.length = e.norm();
  h.normal = {mesh::area_vector(c[0], c[1], c[2]), mesh::area_vector(c[1], c[0], c[3])};
  h.area = {h.normal[0].norm(), h.normal[1].norm()};
  h.mode.fill(mesh::Point::Zero());
  h.live = h.area[0] > min_first_area && h.area[1] > min_second_area && h.length > 0;
  if (!h.live) return h;
  h.edge = e / h.length;
  h.angle = std::atan2(-h.normal[0].cross(h.normal[1]).dot(h.edge), h.normal[0].dot(h.normal[1]));
  const mesh::Point m1 = h.normal[0] / h.area[0] / h.area[0];
  const mesh::Point m2 = h.normal[1] / h.area[1] / h.area[1];
  h.mode[2] = h.length * m1;
  h.mode[3] = h.length * m2;
  h.mode[0] = (c[2] - c[1]).dot(h.edge) * m1 + (c[3] - c[1]).dot(h.edge) * m2;
  h.mode[1] = -(c[2] - c[0]).dot(h.edge) * m1 - (c[3] - c[0]).dot(h.edge) * m2;
  return h;
}

DihedralBending::Hinge DihedralBending::hinge(Index i, std::span<const mesh::Point> x) const {
  const Index k = i;
  return hinge(hinges_[k], x, min_areas_[k][0], min_areas_[k][1]);
}

bool DihedralBending::is_live(std::size_t i, double first_area, double second_area, double length) const {
  if (in_step_) return start_[i].live && first_area > 0 && second_area > 0 && length > 0;
  return first_area > min_areas_[i][0] && second_area > min_areas_[i][1] && length > 0;
}

template <class Body>
void DihedralBending::for_bends(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const {
  hinges::Modes found;
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
      const std::size_t i = static_cast<std::size_t>(first) + l;
      Bend h;
      h.live = is_live(i, found.area[0][l], found.area[1][l], found.length[l]);
      if (h.live) {
        h.length = found.length[l];
        h.area = {found.area[0][l], found.area[1][l]};
        h.angle = std::atan2(found.sine[l], found.cosine[l]);
        for (std::size_t a = 0; a < 4; ++a) h.mode[a] = {found.mode[a][0][l], found.mode[a][1][l], found.mode[a][2][l]};
      }
      body(i, h);
    }
  }
}

double DihedralBending::weight(std::size_t i, const Bend& h) const {
  if (in_step_) return start_[i].weight;
  if (law_ == BendingLaw::bridson && rest_weight_[i] > 0) return h.length * h.length / (h.area[0] + h.area[1]);
  return rest_weight_[i];
}

double DihedralBending::stress(std::size_t i, double angle) const {
  if (law_ == BendingLaw::shell) return angle - rest_angle_[i];
  return std::sin(0.5 * angle) - std::sin(0.5 * rest_angle_[i]);
}

double DihedralBending::slope(double angle) const { return law_ == BendingLaw::shell ? 1.0 : 0.5 * std::cos(0.5 * angle); }

double DihedralBending::damping(std::size_t i, const Bend& h) const {
  if (inverse_mass_.empty()) return damping_[i] * h.length;
  double inverse = 0;
  for (std::size_t a = 0; a < 4; ++a) inverse += h.mode[a].squaredNorm() * inverse_mass_[hinges_[i][a]];
  return inverse > 0 ? 2 * damping_[i] * std::sqrt(stiffness_[i] * rest_weight_[i] * slope(rest_angle_[i]) / inverse) : 0;
}

double DihedralBending::energy(std::span<const mesh::Point> x) const {
  if (law_ == BendingLaw::bridson && !in_step_) return 0;
  return parallel_reduce(
      0, size(), hinge_chunk, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
          if (!h.live) return;
          const double turn = h.angle - rest_angle_[i];
          const double density = law_ == BendingLaw::shell ? 0.5 * turn * turn
                                                           : 2 * (std::cos(0.5 * rest_angle_[i]) - std::cos(0.5 * h.angle)) -
                                                                 std::sin(0.5 * rest_angle_[i]) * turn;
          sum += stiffness_[i] * (in_step_ ? start_[i].weight : rest_weight_[i]) * density;
        });
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void DihedralBending::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
      const double moment = h.live ? stiffness_[i] * weight(i, h) * stress(i, h.angle) : 0;
      for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + a] = -moment * h.mode[a];
    });
  });
  gather_.add<mesh::Point>(contribution_, 1.0, f);
}

void DihedralBending::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  tangent_ = tangent;
  parallel_for(0, nodes(), 4096,
               [&](Index begin, Index end) { std::copy(x.begin() + begin, x.begin() + end, x_.begin() + begin); });
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
      Linear& l = linear_[i];
      l = {h.mode, 0, 0, 0, h.live};
      if (!h.live) return;
      const double k = stiffness_[i] * weight(i, h);
      l.stiffness = k * slope(h.angle);
      l.moment = k * stress(i, h.angle);
      l.damping = damping(i, h);
    });
  });
}

void DihedralBending::begin_step(std::span<const mesh::Point> x, double) {
  in_step_ = false;
  start_.resize(hinges_.size());
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
      start_[i] = {h.mode, h.live ? damping(i, h) : 0.0, h.live ? weight(i, h) : 0.0, h.live};
    });
  });
  in_step_ = true;
}

namespace {

/// Changes of what the gradients of a hinge are made of, whose nodes are at c and move by d.
struct HingeChange {
  double length;
  mesh::Point edge;
  std::array<mesh::Point, 2> m, dm;
  std::array<double, 2> area;

  HingeChange(const DihedralBending::Hinge& h, const std::array<mesh::Point, 4>& c, const std::array<mesh::Point, 4>& d) {
    const mesh::Point de = d[1] - d[0];
    length = h.edge.dot(de);
    edge = (de - length * h.edge) / h.length;
    for (std::size_t s = 0; s < 2; ++s) {
      const std::size_t a = s, b = 1 - s;
      const mesh::Point dn = (d[b] - d[a]).cross(c[2 + s] - c[a]) + (c[b] - c[a]).cross(d[2 + s] - d[a]);
      const double square = h.area[s] * h.area[s];
      m[s] = h.normal[s] / square;
      area[s] = h.normal[s].dot(dn) / h.area[s];
      dm[s] = (dn - 2 * h.normal[s].dot(dn) * m[s]) / square;
    }
  }

  std::array<mesh::Point, 4> modes(const DihedralBending::Hinge& h, const std::array<mesh::Point, 4>& c,
                                   const std::array<mesh::Point, 4>& d) const {
    std::array<mesh::Point, 4> out{mesh::Point::Zero(), mesh::Point::Zero(), length * m[0] + h.length * dm[0],
                                   length * m[1] + h.length * dm[1]};
    for (std::size_t s = 0; s < 2; ++s) {
      const mesh::Point to_j = c[2 + s] - c[1], to_i = c[2 + s] - c[0];
      out[0] += ((d[2 + s] - d[1]).dot(h.edge) + to_j.dot(edge)) * m[s] + to_j.dot(h.edge) * dm[s];
      out[1] -= ((d[2 + s] - d[0]).dot(h.edge) + to_i.dot(edge)) * m[s] + to_i.dot(h.edge) * dm[s];
    }
    return out;
  }
};

}  // namespace

std::array<mesh::Point, 4> DihedralBending::mode_change(const Hinge& h, const std::array<mesh::Point, 4>& c,
                                                        const std::array<mesh::Point, 4>& d) {
  return HingeChange(h, c, d).modes(h, c, d);
}

std::array<mesh::Point, 4> DihedralBending::geometric(std::size_t i, const std::array<mesh::Point, 4>& d) const {
  const Hinge h = in_step_ ? hinge(hinges_[i], x_, 0, 0) : hinge(static_cast<Index>(i), x_);
  const auto c = corners(hinges_[i], x_);
  const HingeChange change(h, c, d);
  const auto dmode = change.modes(h, c, d);
  const double moment = linear_[i].moment;
  double dmoment = 0;
  if (law_ == BendingLaw::bridson && !in_step_)
    dmoment = moment * (2 * change.length / h.length - (change.area[0] + change.area[1]) / (h.area[0] + h.area[1]));
  std::array<mesh::Point, 4> g;
  for (std::size_t a = 0; a < 4; ++a) g[a] = -moment * dmode[a] - dmoment * h.mode[a];
  return g;
}

void DihedralBending::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Linear& l = linear_[i];
      const auto d = corners(hinges_[i], dx);
      const double change = l.stiffness * sum_of_products(l.mode, d);
      for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + a] = -change * l.mode[a];
      if (tangent_ == Tangent::exact && l.live) {
        const auto g = geometric(i, d);
        for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + a] += g[a];
      }
    }
  });
  gather_.add<mesh::Point>(contribution_, scale, f);
}

void DihedralBending::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (!damped_) return;
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto& mode = in_step_ ? start_[i].mode : linear_[i].mode;
      const double b = in_step_ ? start_[i].damping : linear_[i].damping;
      const double moment = b * sum_of_products(mode, corners(hinges_[i], v));
      for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + a] = -moment * mode[a];
    }
  });
  gather_.add<mesh::Point>(contribution_, scale, f);
}

void DihedralBending::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), 256, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node) {
      Block3& block = blocks[node];
      for (const std::int32_t slot : gather_.at(node)) {
        const Index i = slot / 4;
        const Index a = slot % 4;
        const Linear& l = linear_[i];
        const mesh::Point& mode = in_step_ ? start_[i].mode[a] : l.mode[a];
        block.noalias() -= (damping_scale * (in_step_ ? start_[i].damping : l.damping) * mode) * mode.transpose();
        if (!l.live) continue;
        block.noalias() -= (stiffness_scale * l.stiffness * l.mode[a]) * l.mode[a].transpose();
        if (tangent_ != Tangent::exact) continue;
        Block3 g;
        for (int axis = 0; axis < 3; ++axis) {
          std::array<mesh::Point, 4> d{mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero(), mesh::Point::Zero()};
          d[a] = mesh::Point::Unit(axis);
          g.col(axis) = geometric(i, d)[a];
        }
        // Preconditioners are symmetric; the law without an energy is not.
        block += (0.5 * stiffness_scale) * (g + g.transpose());
      }
    }
  });
}

template <class Coefficient>
void DihedralBending::add_bounds(std::span<const mesh::Point> x, std::span<double> bounds, Coefficient&& coefficient) const {
  parallel_for(0, size(), hinge_chunk, [&](Index begin, Index end) {
    for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
      double sum = 0;
      for (const mesh::Point& m : h.mode) sum += m.norm();
      const double k = h.live ? 0.5 * coefficient(i, h) * sum : 0;
      for (std::size_t a = 0; a < 4; ++a) contribution_[4 * i + a] = mesh::Point(k * h.mode[a].norm(), 0, 0);
    });
  });
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index node = begin; node < end; ++node)
      for (const std::int32_t slot : gather_.at(node)) bounds[node] += contribution_[slot][0];
  });
}

void DihedralBending::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  const double steepest = law_ == BendingLaw::shell ? 1.0 : 0.5;
  add_bounds(x, stiffness, [&](std::size_t i, const Bend& h) { return steepest * stiffness_[i] * weight(i, h); });
}

void DihedralBending::add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const {
  if (damped_) add_bounds(x, damping, [&](std::size_t i, const Bend& h) { return this->damping(i, h); });
}

DampingRatios DihedralBending::damping_ratios(std::span<const mesh::Point> x) const {
  DampingRatios r = no_damping_ratios;
  for_bends(0, size(), x, [&](std::size_t i, const Bend& h) {
    if (h.live) r.add(damping(i, h), std::max(0.0, stiffness_[i] * weight(i, h) * slope(h.angle)));
  });
  return r;
}

double DihedralBending::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, size(), hinge_chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for_bends(begin, end, x, [&](std::size_t i, const Bend& h) {
          most = std::max(most, std::abs(sum_of_products(h.mode, corners(hinges_[i], v))));
        });
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

std::size_t DihedralBending::nbytes() const {
  const std::size_t doubles =
      stiffness_.capacity() + damping_.capacity() + inverse_mass_.capacity() + rest_angle_.capacity() + rest_weight_.capacity();
  return gather_.nbytes() + hinges_.capacity() * sizeof(FourNodes) + doubles * sizeof(double) +
         min_areas_.capacity() * sizeof(min_areas_[0]) + linear_.capacity() * sizeof(Linear) + start_.capacity() * sizeof(Start) +
         (x_.capacity() + contribution_.capacity()) * sizeof(mesh::Point);
}

void DihedralBending::angles(std::span<const mesh::Point> x, std::span<double> out) const {
  parallel_for(0, size(), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = hinge(i, x).angle;
  });
}

void DihedralBending::angles(std::span<const FourNodes> hinges, std::span<const mesh::Point> x, std::span<double> out) {
  for (std::size_t i = 0; i < hinges.size(); ++i) {
    for (const std::int32_t node : hinges[i])
      require(node >= 0 && static_cast<std::size_t>(node) < x.size(), "hinge ", i, " has the node ", node);
    out[i] = hinge(hinges[i], x, 0, 0).angle;
  }
}

}  // namespace meniscus::solids
