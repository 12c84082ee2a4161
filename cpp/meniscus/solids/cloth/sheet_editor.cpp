#include "meniscus/solids/cloth/sheet_editor.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/springs/dihedral_bending.hpp"
#include "meniscus/surface/tracking/edge_flip.hpp"
#include "meniscus/surface/tracking/edge_split.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

using mesh::EventKind;
using mesh::Point;
using mesh::Triangle;

/// Twice the area of a triangle at rest.
double twice_area(const RestPoint& a, const RestPoint& b, const RestPoint& c) {
  const RestPoint u = b - a, v = c - a;
  return u[0] * v[1] - u[1] * v[0];
}

/// The outline at rest is straight at a vertex where the cosine and the sine of its turn are at least and at most these: then to
/// take the vertex out keeps the area to rounding errors.
constexpr double straight_cosine = 0.99;
constexpr double straight_sine = 1e-13;
/// Scalar product of unit normals before and after a collapse, at least.
constexpr double least_turn = 0.1;
/// Part of the sum of the sizes of momenta below which a change is a rounding error.
constexpr double least_momentum = 2e-13;
/// By which the sum of cotangents must be negative for a flip, so that flips do not come and go.
constexpr double least_gain = 1e-3;

}  // namespace

void SheetEditor::assign(const SheetView& sheet, const surface::Obstacles& obstacles, const SheetOptions& options) {
  options_ = options;
  counts_ = {};
  surface::TrackingOptions tracking;
  tracking.edge_length = options.longest;
  tracking.topology = false;
  rest_.assign(sheet.rest.begin(), sheet.rest.end());
  velocity_.assign(sheet.velocities.begin(), sheet.velocities.end());
  for (std::size_t t = 0; t < sheet.triangles.size(); ++t)
    require(area_at_rest(sheet.triangles[t]) > 0, "triangle ", t, " must be positive at rest, but its area is ",
            area_at_rest(sheet.triangles[t]), " m^2");
  const mesh::TriangleMeshView view{sheet.positions, sheet.triangles};
  find_metrics(view, sheet.rest, options, metric_);
  editor_.assign(view, sheet.held, obstacles, tracking, nobody_);
}

double SheetEditor::size_of(std::int32_t a, std::int32_t b) const {
  return edge_size(options_.sizing, metric_[a], metric_[b], rest_[b] - rest_[a], editor_.length(a, b));
}

double SheetEditor::area_at_rest(const Triangle& c) const { return 0.5 * twice_area(rest_[c[0]], rest_[c[1]], rest_[c[2]]); }

double SheetEditor::least_sine(std::int32_t t) const {
  const auto lifted = [&](std::int32_t v) { return Point(rest_[v][0], rest_[v][1], 0); };
  const Triangle& c = mesh().triangle(t);
  return surface::angles_of(lifted(c[0]), lifted(c[1]), lifted(c[2])).least_sine;
}

bool SheetEditor::sound(std::span<const std::int32_t> triangles, double before) const {
  const double least = std::min(std::sin(options_.least_angle), before);
  return std::all_of(triangles.begin(), triangles.end(),
                     [&](std::int32_t t) { return area_at_rest(mesh().triangle(t)) > 0 && least_sine(t) >= least; });
}

double SheetEditor::energy(std::span<const std::int32_t> triangles) const {
  double sum = 0;
  const auto x = mesh().positions();
  for (const std::int32_t t : triangles) {
    const Triangle& c = mesh().triangle(t);
    Eigen::Matrix2d rest;
    rest << rest_[c[1]] - rest_[c[0]], rest_[c[2]] - rest_[c[0]];
    Eigen::Matrix<double, 3, 2> now;
    now << x[c[1]] - x[c[0]], x[c[2]] - x[c[0]];
    const Eigen::Matrix<double, 3, 2> gradient = now * rest.inverse();
    const Eigen::Matrix2d strain = 0.5 * (gradient.transpose() * gradient - Eigen::Matrix2d::Identity());
    const double trace = strain.trace();
    sum += area_at_rest(c) * (0.5 * options_.lambda * trace * trace + options_.mu * strain.squaredNorm());
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t a = c[k], b = c[(k + 1) % 3];
      const auto pair = mesh().pair_at(a, b);
      if (!pair) continue;
      const std::int32_t u = (*pair)[0] == t ? (*pair)[1] : (*pair)[0];
      // Those between two of the triangles once.
      if (u < t && std::binary_search(triangles.begin(), triangles.end(), u)) continue;
      const FourNodes hinge{a, b, c[(k + 2) % 3], mesh().opposite(u, a, b)};
      const auto h = DihedralBending::hinge(hinge, x, 0, 0);
      const double areas = area_at_rest(c) + area_at_rest(mesh().triangle(u));
      if (h.live) sum += 0.5 * options_.bending * h.angle * h.angle * (rest_[a] - rest_[b]).squaredNorm() / areas;
    }
  }
  return sum;
}

double SheetEditor::mass(std::int32_t v) const {
  double area = 0;
  for (const std::int32_t t : mesh().star(v)) area += area_at_rest(mesh().triangle(t));
  return options_.density * area / 3;
}

void SheetEditor::begin(std::span<const std::int32_t> triangles) {
  patch_.clear();
  for (const std::int32_t t : triangles)
    for (const std::int32_t v : mesh().triangle(t)) patch_.push_back(v);
  std::sort(patch_.begin(), patch_.end());
  patch_.erase(std::unique(patch_.begin(), patch_.end()), patch_.end());
  momentum_.setZero();
  for (const std::int32_t v : patch_) momentum_ += mass(v) * velocity_[v];
  energy_ = energy(triangles);
  place_count_ = 0;
}

SheetEditor::Place& SheetEditor::place(std::size_t i) {
  if (places_.size() <= i) places_.resize(i + 1);
  return places_[i];
}

void SheetEditor::set_place(Place& p) {
  p.position = surface::weighted(p.weights, Point(Point::Zero()), [&](std::int32_t v) { return mesh().position(v); });
  p.velocity = surface::weighted(p.weights, Point(Point::Zero()), [&](std::int32_t v) { return velocity_[v]; });
  p.rest = surface::weighted(p.weights, RestPoint(RestPoint::Zero()), [&](std::int32_t v) { return rest_[v]; });
}

bool SheetEditor::may_rise(double after) const {
  if (!by_size_) return true;
  return after - energy_ <= std::max(options_.energy_rise * energy_, options_.energy_floor);
}

surface::Refusal SheetEditor::commit(EventKind kind, std::int32_t a, std::int32_t b) {
  editor_.end_part(kind);
  const std::array edge{a, b};
  return editor_.commit(kind, edge, std::numeric_limits<double>::infinity());
}

void SheetEditor::settle(double after) {
  counts_.energy_change += after - energy_;
  counts_.energy_jumps += std::abs(after - energy_);
  Point now = Point::Zero();
  double free = 0, size = 0;
  for (const std::int32_t v : patch_) {
    const double m = mass(v);
    now += m * velocity_[v];
    size += m * velocity_[v].norm();
    if (!editor_.fixed(v)) free += m;
  }
  if (!(free > 0)) return;
  const Point missing = momentum_ - now;
  // Rounding errors are left: to pass them on would let them grow from operation to operation.
  if (missing.norm() <= least_momentum * size) return;
  const Point change = missing / free;
  for (const std::int32_t v : patch_)
    if (!editor_.fixed(v)) velocity_[v] += change;
}

void SheetEditor::weigh_transfers(std::int32_t target, const Place& p) {
  auto& all = editor_.transfers.vertices;
  std::vector<mesh::Transfer> shares;
  std::erase_if(all, [&](const mesh::Transfer& t) {
    if (t.target == target) shares.push_back(t);
    return t.target == target;
  });
  const std::size_t first = all.size();
  for (const auto& [v, w] : p.weights) {
    const auto known = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                                    [source = v](const mesh::Transfer& t) { return t.source == source; });
    if (known != all.end())
      known->weight += w;
    else
      all.push_back({target, v, w, 0});
  }
  for (const mesh::Transfer& s : shares) {
    const auto known = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                                    [&](const mesh::Transfer& t) { return t.source == s.source; });
    if (known != all.end())
      known->share = s.share;
    else
      all.push_back({target, s.source, 0, s.share});
  }
}

surface::Refusal SheetEditor::split(std::int32_t a, std::int32_t b) {
  const bool inside = mesh().count_at_edge(a, b) == 2;
  if (editor_.fixed(a) && editor_.fixed(b)) return Refusal::topology;
  old_.clear();
  mesh().for_each_at_edge(a, b, [&](std::int32_t t) { old_.push_back(t); });
  if (old_.empty()) return Refusal::topology;
  std::sort(old_.begin(), old_.end());
  double before = 1;
  for (const std::int32_t t : old_) before = std::min(before, least_sine(t));
  begin(old_);
  const auto edit = [&](const Place& p) {
    editor_.begin();
    const surface::SplitEdge made = surface::edit_split(editor_, a, b, p.position);
    weigh_transfers(made.vertex, p);
    rest_.push_back(p.rest);
    velocity_.push_back(p.velocity);
    metric_.push_back(0.5 * (metric_[a] + metric_[b]));
    return !made.turned;
  };
  const auto forget = [&] {
    rest_.pop_back();
    velocity_.pop_back();
    metric_.pop_back();
  };
  const int ways = inside && options_.butterfly ? 2 : 1;
  for (int way = 0; way < ways; ++way) {
    Place& p = place(place_count_);
    if (way == 0)
      surface::midpoint_weights(a, b, p.weights);
    else
      surface::butterfly_weights(mesh(), a, b, p.weights);
    if (way == 1 && p.weights.size() == 2) continue;
    set_place(p);
    const bool upright = edit(p);
    editor_.mesh.changed(0, fresh_);
    if (upright && sound(fresh_, before)) {
      p.energy = energy(fresh_);
      ++place_count_;
    }
    editor_.refuse(Refusal::none);
    forget();
  }
  Refusal end = Refusal::shape;
  // The place with the least energy first; of equal ones the middle.
  if (place_count_ == 2 && places_[1].energy < places_[0].energy) std::swap(places_[0], places_[1]);
  for (std::size_t i = 0; i < place_count_; ++i) {
    if (!may_rise(places_[i].energy)) return i == 0 ? Refusal::veto : end;
    edit(places_[i]);
    const std::int32_t made = mesh().vertices() - 1;
    end = commit(EventKind::split, a, b);
    if (end == Refusal::none) {
      patch_.push_back(made);
      settle(places_[i].energy);
      counts_.second_places += static_cast<Index>(i > 0);
      return end;
    }
    forget();
  }
  return end;
}

bool SheetEditor::improves(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) const {
  const SheetMetric m = 0.25 * (metric_[a] + metric_[b] + metric_[c] + metric_[d]);
  const auto product = [&](const RestPoint& u, const RestPoint& v) {
    return m.xx * u[0] * v[0] + m.yy * u[1] * v[1] + m.xy * (u[0] * v[1] + u[1] * v[0]);
  };
  const auto cotangent = [&](std::int32_t at, std::int32_t p, std::int32_t q) {
    return product(rest_[p] - rest_[at], rest_[q] - rest_[at]) / twice_area(rest_[at], rest_[p], rest_[q]);
  };
  const double sum = cotangent(c, a, b) + cotangent(d, b, a);
  return sum < -least_gain * std::sqrt(std::max(m.xx * m.yy - m.xy * m.xy, 0.0));
}

surface::Refusal SheetEditor::flip(std::int32_t a, std::int32_t b) {
  const auto pair = mesh().pair_at(a, b);
  if (!pair || (editor_.fixed(a) && editor_.fixed(b))) return Refusal::topology;
  const auto [t, u] = *pair;
  const std::int32_t c = mesh().opposite(t, a, b), d = mesh().opposite(u, a, b);
  if (c == d || mesh().count_at_edge(c, d) > 0) return Refusal::topology;
  old_.assign({std::min(t, u), std::max(t, u)});
  const double before = std::min(least_sine(t), least_sine(u));
  const Point old_t = mesh().area_vector(t), old_u = mesh().area_vector(u);
  begin(old_);
  editor_.begin();
  surface::edit_flip(editor_, t, u, a, b);
  editor_.mesh.changed(0, fresh_);
  // A flip at a fold turns triangles far from either.
  for (const std::int32_t fresh : fresh_)
    for (const Point& old : {old_t, old_u})
      if (!(mesh().area_vector(fresh).dot(old) > 0)) return editor_.refuse(Refusal::normal);
  if (!sound(fresh_, by_size_ ? before : 1)) return editor_.refuse(Refusal::shape);
  const double after = energy(fresh_);
  if (!may_rise(after)) return editor_.refuse(Refusal::veto);
  const Refusal end = commit(EventKind::flip, a, b);
  if (end == Refusal::none) settle(after);
  return end;
}

bool SheetEditor::straight_outline(std::int32_t v) const {
  std::array<RestPoint, 2> along;
  std::size_t found = 0;
  for (const std::int32_t t : mesh().star(v))
    for (const std::int32_t w : mesh().link(t, v)) {
      if (!mesh().on_boundary(v, w)) continue;
      if (found == 2) return false;
      along[found++] = (rest_[w] - rest_[v]).normalized();
    }
  if (found != 2) return false;
  const double sine = along[0][0] * along[1][1] - along[0][1] * along[1][0];
  return along[0].dot(along[1]) < -straight_cosine && std::abs(sine) < straight_sine;
}

bool SheetEditor::ends_of_collapse(std::int32_t a, std::int32_t b, bool& first_stays, bool& second_stays) const {
  const auto can_go = [&](std::int32_t v, std::int32_t other) {
    if (editor_.fixed(v)) return false;
    if (!mesh().on_boundary(v)) return true;
    return mesh().on_boundary(v, other) && straight_outline(v);
  };
  first_stays = can_go(b, a);
  second_stays = can_go(a, b);
  return first_stays && second_stays && !mesh().on_boundary(a) && !mesh().on_boundary(b);
}

surface::Refusal SheetEditor::collapse(std::int32_t a, std::int32_t b) {
  surface::find_fans(mesh(), a, b, fans_);
  if (fans_.both.empty() || fans_.both.size() > 2 || !surface::link_holds(mesh(), fans_, a, b)) return Refusal::topology;
  bool first_stays = false, second_stays = false;
  const bool free = ends_of_collapse(a, b, first_stays, second_stays);
  if (!first_stays && !second_stays) return Refusal::topology;
  old_.clear();
  for (const auto* list : {&fans_.a, &fans_.b, &fans_.both}) old_.insert(old_.end(), list->begin(), list->end());
  std::sort(old_.begin(), old_.end());
  double before = 1;
  for (const std::int32_t t : old_) before = std::min(before, least_sine(t));
  begin(old_);
  const auto turns = [&](const Point& x) {
    for (const std::int32_t v : {a, b})
      for (const std::int32_t t : v == a ? fans_.a : fans_.b) {
        const auto [p, q] = mesh().link(t, v);
        const Point old = mesh().area_vector(t), fresh = mesh::area_vector(x, mesh().position(p), mesh().position(q));
        if (!(old.dot(fresh) > least_turn * old.norm() * fresh.norm())) return true;
      }
    return false;
  };
  RestPoint rest = RestPoint::Zero();
  Point velocity = Point::Zero();
  SheetMetric metric;
  const auto edit = [&](const Place& p) {
    const std::int32_t keep = p.second_end ? b : a, gone = p.second_end ? a : b;
    rest = rest_[keep];
    velocity = velocity_[keep];
    metric = metric_[keep];
    editor_.begin();
    if (p.second_end) std::swap(fans_.a, fans_.b);
    surface::edit_collapse(editor_, fans_, keep, gone, p.position);
    if (p.second_end) std::swap(fans_.a, fans_.b);
    weigh_transfers(keep, p);
    rest_[keep] = p.rest;
    velocity_[keep] = p.velocity;
    if (free) metric_[keep] = 0.5 * (metric_[a] + metric_[b]);
  };
  const auto restore = [&](const Place& p) {
    const std::int32_t keep = p.second_end ? b : a;
    rest_[keep] = rest;
    velocity_[keep] = velocity;
    metric_[keep] = metric;
  };
  for (int way = 0; way < 4; ++way) {
    Place& p = place(place_count_);
    p.second_end = false;
    if (way == 0) {
      if (!free) continue;
      surface::midpoint_weights(a, b, p.weights);
    } else if (way == 1) {
      if (!free || !options_.butterfly) continue;
      surface::butterfly_weights(mesh(), a, b, p.weights);
      if (p.weights.size() == 2) continue;
    } else {
      p.second_end = way == 3;
      if (!(p.second_end ? second_stays : first_stays)) continue;
      p.weights.assign({{p.second_end ? b : a, 1.0}});
    }
    set_place(p);
    if (turns(p.position)) continue;
    edit(p);
    editor_.mesh.changed(0, fresh_);
    bool fits = sound(fresh_, before);
    if (fits && by_size_) {
      const std::int32_t keep = p.second_end ? b : a;
      for (const std::int32_t t : mesh().star(keep))
        for (const std::int32_t w : mesh().link(t, keep)) fits = fits && size_of(keep, w) <= options_.collapse_to;
    }
    if (fits) {
      p.energy = energy(fresh_);
      ++place_count_;
    }
    editor_.refuse(Refusal::none);
    restore(p);
  }
  Refusal end = Refusal::shape;
  std::stable_sort(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(place_count_),
                   [](const Place& p, const Place& q) { return p.energy < q.energy; });
  for (std::size_t i = 0; i < place_count_; ++i) {
    const Place& p = places_[i];
    if (!may_rise(p.energy)) return i == 0 ? Refusal::veto : end;
    edit(p);
    end = commit(EventKind::collapse, a, b);
    if (end == Refusal::none) {
      const std::int32_t gone = p.second_end ? a : b;
      patch_.erase(std::find(patch_.begin(), patch_.end(), gone));
      settle(p.energy);
      counts_.second_places += static_cast<Index>(i > 0);
      return end;
    }
    restore(p);
  }
  return end;
}

}  // namespace meniscus::solids
