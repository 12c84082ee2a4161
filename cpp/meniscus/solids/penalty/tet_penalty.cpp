#include "meniscus/solids/penalty/tet_penalty.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

using mesh::Point;

constexpr Index nodes_of_piece = 16;
/// Barycentric weights that count as inside of a triangle, where a segment passes through an edge of it.
constexpr double on_edge = 1e-12;
/// Weight of a step along an edge: one over its squared length; of nodes on the surface, which are inside, a great number, but
/// one whose sums can be squared.
double weight_of(const Point& step, const Point& edge) {
  constexpr double least_part = 1e-12, least_square = 1e-100;
  return 1 / std::max({step.squaredNorm(), least_part * edge.squaredNorm(), least_square});
}

/// Calls f(k) for 0 <= k < n, in parallel.
template <class F>
void each_place(std::size_t n, F&& f) {
  parallel_for(0, static_cast<Index>(n), nodes_of_piece, [&](Index b, Index e) {
    for (Index k = b; k < e; ++k) f(k);
  });
}

const Point& at(std::span<const Point> x, std::int32_t i) { return x[i]; }

mesh::Box box_of_all(std::span<const Point> x) {
  mesh::Box box;
  for (const Point& p : x) box.add(p);
  return box;
}

template <class Element>
mesh::Box box_of_element(std::span<const Point> x, const Element& e) {
  mesh::Box box;
  for (const std::int32_t i : e) box.add(at(x, i));
  return box;
}

/// Where a segment leaves a triangle's body, as a part of it; infinite where it does not.
double leaves_at(const Point& start, const Point& d, const Point& a, const Point& b, const Point& c) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const Point e1 = b - a, e2 = c - a, s = start - a, p = d.cross(e2), q = s.cross(e1);
  // Outward: the normal e1 x e2 along d; -det is their product.
  const double det = p.dot(e1);
  if (!(det < 0)) return never;
  const double u = s.dot(p) / det, w = q.dot(d) / det, t = q.dot(e2) / det;
  return u >= -on_edge && w >= -on_edge && u + w <= 1 + on_edge && t >= 0 && t <= 1 ? t : never;
}

/// Weights of the corners of a tetrahedron at a point.
std::array<double, 4> weights_at(const Point& p, const Point& a, const Point& b, const Point& c, const Point& d) {
  const Point e1 = b - a, e2 = c - a, e3 = d - a, r = p - a;
  const double det = e1.dot(e2.cross(e3));
  const double w1 = r.dot(e2.cross(e3)) / det, w2 = r.dot(e3.cross(e1)) / det, w3 = r.dot(e1.cross(e2)) / det;
  return {1 - (w1 + w2 + w3), w1, w2, w3};
}

bool has(const mesh::Triangle& t, std::int32_t i) { return t[0] == i || t[1] == i || t[2] == i; }

}  // namespace

TetPenalty::TetPenalty(std::vector<PenaltyBody> bodies) {
  std::int32_t begin = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const std::int32_t end = begin + bodies[b].nodes;
    const auto own = [&](const auto& elements) {
      for (const auto& e : elements)
        for (const std::int32_t i : e) require(i >= begin && i < end, "an element of body ", b, " has a node of none or another");
    };
    own(bodies[b].tets);
    own(bodies[b].surface);
    body_of_node_.resize(end, static_cast<std::int32_t>(b));
    tets_.insert(tets_.end(), bodies[b].tets.begin(), bodies[b].tets.end());
    surfaces_.push_back({std::move(bodies[b].surface), {}, {}});
    begin = end;
  }
  std::vector<std::array<std::int32_t, 2>> edges;
  for (const mesh::Tet& t : tets_)
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < 4; ++l)
        if (k != l) edges.push_back({t[k], t[l]});
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  numerics::list_by_rows(std::ssize(body_of_node_), first_, neighbours_, [&](auto&& add) {
    for (const auto& [node, neighbour] : edges) add(node, neighbour);
  });
}

void TetPenalty::find_inside(std::span<const Point> x, bool self_collision) {
  const std::size_t n = x.size();
  bodies_.resize(surfaces_.size());
  std::size_t begin = 0;
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    std::size_t end = begin;
    while (end < n && body_of_node_[end] == static_cast<std::int32_t>(b)) ++end;
    bodies_[b] = box_of_all(x.subspan(begin, end - begin));
    begin = end;
  }
  // Only what is in the box of another body can be inside of it, or around something of it.
  const auto near = [&](const mesh::Box& box, std::int32_t body) {
    for (std::size_t b = 0; b < bodies_.size(); ++b)
      if (static_cast<std::int32_t>(b) != body && bodies_[b].overlaps(box)) return true;
    return self_collision;
  };
  points_.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (near({x[i], x[i]}, body_of_node_[i])) points_.push_back(static_cast<std::int32_t>(i));
  near_.clear();
  numbers_.clear();
  for (std::size_t t = 0; t < tets_.size(); ++t)
    if (near(box_of_element(x, tets_[t]), body_of_node_[tets_[t][0]])) {
      near_.push_back(tets_[t]);
      numbers_.push_back(static_cast<std::int32_t>(t));
    }
  tet_.assign(n, -1);
  inside_.clear();
  if (points_.empty() || near_.empty()) return;
  const std::span<const std::int32_t> chosen = points_;
  for (const auto& [node, row] : search_.find(x, near_, &chosen, 0.0, collision::CellHash::corrected)) {
    const Index i = node;
    const std::int32_t t = numbers_[row];
    if (tet_[i] >= 0 || (!self_collision && body_of_node_[tets_[t][0]] == body_of_node_[i])) continue;
    tet_[i] = t;
    inside_.push_back(node);
  }
}

/// Trees of the surfaces that somebody is inside of.
void TetPenalty::fit_trees(std::span<const Point> x) {
  std::vector<std::uint8_t>& needed = state_;
  needed.assign(surfaces_.size(), 0);
  for (const std::int32_t i : inside_) needed[host(i)] = 1;
  for (std::size_t b = 0; b < surfaces_.size(); ++b) {
    if (needed[b] == 0) continue;
    Surface& s = surfaces_[b];
    s.boxes.resize(s.triangles.size());
    each_place(s.triangles.size(), [&](std::size_t t) { s.boxes[t] = box_of_element(x, s.triangles[t]); });
    if (s.tree)
      s.tree->refit(s.boxes);
    else
      s.tree.emplace(s.boxes);
  }
  state_.assign(x.size(), 0);
}

/// Where the way from a node first leaves a body, as a part of it, and through which triangle; -1 if it does not. Triangles at
/// the node itself do not count. Of several at the same place, the one with the lowest number.
std::pair<double, std::int32_t> TetPenalty::first_leaving(const Surface& s, std::span<const Point> x, std::int32_t i,
                                                          const Point& d) {
  const Point& start = at(x, i);
  mesh::Box way;
  way.add(start);
  way.add(start + d);
  double first = std::numeric_limits<double>::infinity();
  std::int32_t face = -1;
  s.tree->for_each_overlap(way, [&](Index slot) {
    const std::int32_t t = s.tree->element(slot);
    const mesh::Triangle& tri = s.triangles[t];
    if (has(tri, i)) return;
    const double l = leaves_at(start, d, at(x, tri[0]), at(x, tri[1]), at(x, tri[2]));
    if (l < first || (l == first && face >= 0 && t < face)) first = l, face = t;
  });
  return {first, face};
}

void TetPenalty::from_the_surface(std::span<const Point> x) {
  each_place(inside_.size(), [&](std::size_t k) {
    const Index i = inside_[k];
    const Surface& s = surfaces_[host(inside_[k])];
    double total = 0, depth = 0;
    Point direction = Point::Zero();
    for (const std::int32_t j : neighbours(inside_[k])) {
      if (tet_[j] >= 0) continue;
      const Point d = at(x, j) - x[i];
      const auto [first, face] = first_leaving(s, x, inside_[k], d);
      if (face < 0) continue;
      const mesh::Triangle& tri = s.triangles[face];
      const Point n = (at(x, tri[1]) - at(x, tri[0])).cross(at(x, tri[2]) - at(x, tri[0])).normalized();
      const Point step = first * d;
      const double w = weight_of(step, d);
      total += w;
      depth += w * step.dot(n);
      direction += w * n;
    }
    const double size = direction.norm();
    if (!(size > 0)) return;
    depth_[i] = depth / total;
    direction_[i] = direction / size;
    state_[i] = 1;
  });
}

void TetPenalty::along_rays(std::span<const Point> x) {
  // Normals of nodes inside of others, weighted by angles; none at nodes that are not on a surface.
  for (const std::int32_t i : inside_) state_[i] = 1;
  for (const Surface& s : surfaces_)
    for (const mesh::Triangle& t : s.triangles)
      for (std::size_t c = 0; c < 3; ++c) {
        if (state_[t[c]] == 0) continue;
        const Point u = at(x, t[(c + 1) % 3]) - at(x, t[c]), v = at(x, t[(c + 2) % 3]) - at(x, t[c]), n = u.cross(v);
        direction_[t[c]] += std::atan2(n.norm(), u.dot(v)) * n.normalized();
      }
  face_.resize(x.size());
  each_place(inside_.size(), [&](std::size_t k) {
    const std::int32_t i = inside_[k];
    const Point& p = at(x, i);
    const Point back = -direction_[i].normalized();
    if (!(back.squaredNorm() > 0)) return;
    const Surface& s = surfaces_[host(i)];
    const double size = (bodies_[host(i)].high - bodies_[host(i)].low).norm();
    auto [part, face] = first_leaving(s, x, i, size * back);
    if (face >= 0) {
      depth_[i] = part * size;
      direction_[i] = back;
    } else {
      // The ray has left through a gap of rounding errors, or the body is turned inside out there.
      double nearest = std::numeric_limits<double>::infinity();
      Point way = Point::Zero();
      s.tree->for_each_near(p, nearest, [&](Index slot) {
        const std::int32_t t = s.tree->element(slot);
        const mesh::Triangle& tri = s.triangles[t];
        if (has(tri, i)) return;
        const auto c = collision::closest_point_on_triangle(p, at(x, tri[0]), at(x, tri[1]), at(x, tri[2]));
        if (c.squared_distance > nearest || (c.squared_distance == nearest && t > face)) return;
        nearest = c.squared_distance, face = t, way = c.position - p;
      });
      depth_[i] = face < 0 ? 0.0 : way.norm();
      if (depth_[i] > 0) direction_[i] = way / depth_[i];
    }
    face_[i] = face;
  });
}

void TetPenalty::from_neighbours(std::span<const Point> x) {
  waiting_.clear();
  for (const std::int32_t i : inside_)
    if (state_[i] == 0) waiting_.push_back(i);
  for (;;) {
    const auto is_known = [&](std::int32_t j) { return state_[j] == 1; };
    front_.clear();
    for (const std::int32_t i : waiting_)
      if (std::ranges::any_of(neighbours(i), is_known)) front_.push_back(i);
    if (front_.empty()) return;
    each_place(front_.size(), [&](std::size_t k) {
      const Index i = front_[k];
      double total = 0, depth = 0;
      Point direction = Point::Zero();
      for (const std::int32_t j : neighbours(front_[k])) {
        if (!is_known(j)) continue;
        const Point step = at(x, j) - x[i];
        const double w = weight_of(step, step);
        total += w;
        depth += w * (step.dot(direction_[j]) + depth_[j]);
        direction += w * direction_[j];
      }
      const double size = direction.norm();
      depth_[i] = depth / total;
      direction_[i] = size > 0 ? Point(direction / size) : Point(Point::Zero());
    });
    for (const std::int32_t i : front_) state_[i] = 1;
    std::erase_if(waiting_, is_known);
  }
}

void TetPenalty::forces(std::span<const Point> x, std::span<const Point> v, const PenaltyOptions& options, std::span<Point> f) {
  const std::size_t n = body_of_node_.size();
  require(x.size() == n && v.size() == n && f.size() == n, "there must be positions, velocities and forces of ", n, " nodes");
  mesh::require_finite(x, "positions");
  const bool rays = options.response == PenaltyResponse::ray;
  find_inside(x, options.self_collision);
  depth_.assign(n, 0.0);
  direction_.assign(n, Point::Zero());
  fit_trees(x);
  if (rays) {
    along_rays(x);
  } else {
    from_the_surface(x);
    from_neighbours(x);
  }
  known_.clear();
  for (const std::int32_t i : inside_)
    if (depth_[i] > 0) known_.push_back(i);
  depths_.resize(known_.size());
  directions_.resize(known_.size());
  pushes_.resize(known_.size());
  each_place(known_.size(), [&](std::size_t k) {
    const Index i = known_[k];
    const mesh::Tet& t = tets_[tet_[i]];
    const auto w = weights_at(x[i], at(x, t[0]), at(x, t[1]), at(x, t[2]), at(x, t[3]));
    Point relative = v[i];
    for (std::size_t c = 0; c < 4; ++c) relative -= w[c] * at(v, t[c]);
    const Point& r = direction_[i];
    double along = relative.dot(r);
    const Point slip = relative - along * r;
    Point face_weights = Point::Zero();
    if (rays) {
      const mesh::Triangle& tri = surfaces_[host(known_[k])].triangles[face_[i]];
      const Point hit = x[i] + depth_[i] * r;
      face_weights = collision::closest_point_on_triangle(hit, at(x, tri[0]), at(x, tri[1]), at(x, tri[2])).barycentric;
      Point there = Point::Zero();
      for (Index c = 0; c < 3; ++c) there += face_weights[c] * at(v, tri[c]);
      along = (v[i] - there).dot(r);
    }
    const double normal = std::max(0.0, options.stiffness * depth_[i] - options.damping * along);
    const double speed = slip.norm(), most = std::min(options.damping * speed, options.friction * normal);
    const Point across = -(speed > 0 ? most / speed : 0.0) * slip;
    pushes_[k] = {normal * r + across, rays ? across : normal * r + across, w, face_weights};
    depths_[k] = depth_[i];
    directions_[k] = r;
  });
  for (Point& p : f) p.setZero();
  // Serial, since elements share corners: few nodes are inside of others. What acts along a ray acts where it hits, the rest at
  // the node: neither has a torque.
  for (std::size_t k = 0; k < known_.size(); ++k) {
    const Push& push = pushes_[k];
    f[known_[k]] += push.force;
    const mesh::Tet& t = tets_[tet_[known_[k]]];
    for (std::size_t c = 0; c < 4; ++c) f[t[c]] -= push.weights[c] * push.across;
    if (!rays) continue;
    const mesh::Triangle& tri = surfaces_[host(known_[k])].triangles[face_[known_[k]]];
    for (std::size_t c = 0; c < 3; ++c) f[tri[c]] -= push.face_weights[static_cast<Index>(c)] * (push.force - push.across);
  }
}

}  // namespace meniscus::solids
