#include "meniscus/surface/meshing/constrained_improvement.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::surface {
namespace {

/// An operation has to be better by this factor, so that there is an end.
constexpr double better = 1e-3;

/// Below all that `min_sine` gives.
constexpr double worst = -2;
/// A step that leaves more bad tetrahedra than this is not worth the work.
constexpr std::size_t max_at_once = 24;

bool has(const mesh::Tet& t, std::int32_t v) { return t[0] == v || t[1] == v || t[2] == v || t[3] == v; }

bool is_better(double now, double before) { return now > before + better; }

}  // namespace

double ConstrainedImprovement::min_quality(std::span<const std::int32_t> tets) const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t t : tets) least = std::min(least, mesh_.quality(mesh_.tet(t)));
  return least;
}

bool ConstrainedImprovement::exchange(std::span<const std::int32_t> old, std::span<const mesh::Tet> fresh, bool guarded) {
  const std::size_t mark = mesh_.mark();
  if (guarded) mesh_.boundary_faces(old, faces_before_);
  const std::vector<std::int32_t> gone(old.begin(), old.end());
  made_.clear();
  for (const std::int32_t t : gone) mesh_.remove_tet(t);
  for (const mesh::Tet& t : fresh) made_.push_back(mesh_.add_tet(t));
  if (!guarded) return true;
  mesh_.boundary_faces(made_, faces_after_);
  const double limit = std::max(off_.tolerance(), off_.of_faces(faces_before_));
  if (off_.within(faces_after_, limit)) return true;
  mesh_.undo(mark);
  return false;
}

mesh::Point ConstrainedImprovement::bound_position(const mesh::EditedVertex& v, const mesh::Point& x, bool& valid) const {
  valid = true;
  if (v.freedom == 3) return x;
  if (v.freedom == 2) {
    return off_.projected(x);
  }
  const FeaturePoint p = creases_.closest(x);
  valid = p.curve == v.curve;
  return p.position;
}

/// Unit vectors, each standing for itself and its opposite: evenly in space, or in the tangent plane.
const std::vector<mesh::Point>& ConstrainedImprovement::directions_of(std::int32_t v) {
  directions_.clear();
  if (mesh_.vertex(v).freedom == 2) {
    mesh_.boundary_faces_at(v, faces_before_);
    mesh::Point normal = mesh::Point::Zero();
    for (const mesh::Triangle& f : faces_before_)
      normal += mesh::area_vector(mesh_.position(f[0]), mesh_.position(f[1]), mesh_.position(f[2]));
    if (normal.norm() > 0) {
      Eigen::Index least;
      normal.cwiseAbs().minCoeff(&least);
      const mesh::Point s = normal.cross(mesh::Point::Unit(least)).normalized();
      const mesh::Point t = normal.cross(s).normalized();
      constexpr double half = 0.7071067811865476;
      directions_ = {s, t, half * (s + t), half * (s - t)};
      return directions_;
    }
  }
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int k = -1; k <= 1; ++k) {
        const mesh::Point d(x, y, k);
        if (9 * x + 3 * y + k > 0) directions_.push_back(d.normalized());
      }
  return directions_;
}

bool ConstrainedImprovement::keeps_surface(std::int32_t v, const mesh::Point& x, double& limit) {
  if (limit < 0) {
    mesh_.boundary_faces_at(v, faces_before_);
    limit = off_.tolerance();
    if (!off_.within_around(v, faces_before_, limit)) limit = std::max(limit, off_.of_faces(faces_before_));
  }
  const std::size_t mark = mesh_.mark();
  mesh::EditedVertex trial = mesh_.vertex(v);
  trial.position = x;
  mesh_.set(v, trial);
  const bool kept = off_.within_around(v, faces_before_, limit);
  mesh_.undo(mark);
  return kept;
}

bool ConstrainedImprovement::smooth(std::int32_t v, double target) {
  mesh::EditedVertex vertex = mesh_.vertex(v);
  if (vertex.freedom == 0) return false;
  const mesh::Point start = vertex.position;
  constexpr double none = -std::numeric_limits<double>::infinity();
  star_.assign(mesh_, v);
  const double before = star_.at(start, none);
  double best = before;
  mesh::Point at = start;
  double limit = -1;  // of the deviation, computed when needed
  // A search along fixed directions with steps that shrink. Only the best direction of each step is looked at closely.
  double size = std::numeric_limits<double>::infinity();
  for (const std::int32_t i : mesh_.star(v))
    for (const std::int32_t u : mesh_.tet(i))
      if (u != v) size = std::min(size, (mesh_.position(u) - start).norm());
  size = std::max(size, 0.1 * cell_);
  const std::vector<mesh::Point>& directions = directions_of(v);
  bool moved = false;
  for (double step = 0.3 * size; step > 0.01 * size && best < target; step *= 0.5) {
    for (int repeat = 0; repeat < 3 && best < target; ++repeat) {
      double promised = best;
      mesh::Point next = at;
      for (const mesh::Point& d : directions)
        for (const double sign : {1.0, -1.0}) {
          const mesh::Point x = at + sign * step * d;
          const double q = star_.at(x, promised);
          if (q <= promised) continue;
          promised = q;
          next = x;
        }
      if (next == at) break;
      if (vertex.freedom < 3) {
        bool valid;
        next = bound_position(vertex, next, valid);
        if (!valid) break;
        promised = star_.at(next, best);
        if (promised <= best || !keeps_surface(v, next, limit)) break;
      }
      best = promised;
      at = next;
      moved = true;
    }
  }
  if (!moved || !is_better(best, before)) return false;
  vertex.position = at;
  mesh_.set(v, vertex);
  return true;
}

bool ConstrainedImprovement::contract(std::int32_t a, std::int32_t b, When when) {
  const mesh::EditedVertex& from = mesh_.vertex(a);
  const mesh::EditedVertex& to = mesh_.vertex(b);
  if (from.freedom == 0 || to.freedom > from.freedom) return false;
  if (from.freedom == 1 && to.freedom == 1 && from.curve != to.curve) return false;
  const double before = when == When::better ? min_quality(mesh_.star(a)) : worst;
  std::vector<mesh::Tet> fresh;
  for (const std::int32_t i : mesh_.star(a)) {
    mesh::Tet t = mesh_.tet(i);
    if (has(t, b)) continue;
    for (std::int32_t& v : t)
      if (v == a) v = b;
    if (!is_better(mesh_.quality(t), before)) return false;
    fresh.push_back(t);
  }
  if (fresh.empty() || !mesh_.contractible(a, b)) return false;
  const std::vector<std::int32_t> old(mesh_.star(a).begin(), mesh_.star(a).end());
  return exchange(old, fresh, from.freedom < 3 && when == When::better);
}

bool ConstrainedImprovement::remove_edge(std::int32_t a, std::int32_t b, When when) {
  if (!mesh_.find_ring(a, b, ring_)) return false;
  const auto& r = ring_.vertices;
  const std::size_t n = r.size();
  if (n < 3 || n > 10) return false;
  if (ring_.open && mesh_.has_edge(r.front(), r.back())) return false;
  if (n == 3 && mesh_.tets_with(r[0], r[1], r[2]) > 0) return false;
  const double before = when == When::better ? min_quality(ring_.tets) : worst;
  // The triangulation of the ring whose worst tetrahedron is best: best[i][k] is that of the vertices from i to k.
  std::array<std::array<double, 10>, 10> best;
  std::array<std::array<std::size_t, 10>, 10> middle{};
  for (std::size_t i = 0; i + 1 < n; ++i) best[i][i + 1] = 1;
  for (std::size_t span = 2; span < n; ++span)
    for (std::size_t i = 0; i + span < n; ++i) {
      const std::size_t k = i + span;
      best[i][k] = worst;
      for (std::size_t m = i + 1; m < k; ++m) {
        double q = std::min(best[i][m], best[m][k]);
        if (q <= best[i][k] || !is_better(q, before)) continue;
        q = std::min(q, mesh_.quality({r[i], r[m], r[k], b}));
        if (q <= best[i][k]) continue;
        q = std::min(q, mesh_.quality({r[i], r[k], r[m], a}));
        if (q <= best[i][k]) continue;
        best[i][k] = q;
        middle[i][k] = m;
      }
    }
  if (!is_better(best[0][n - 1], before)) return false;
  std::vector<mesh::Tet> fresh;
  std::vector<std::array<std::size_t, 2>> open{{0, n - 1}};
  while (!open.empty()) {
    const auto [i, k] = open.back();
    open.pop_back();
    if (k < i + 2) continue;
    const std::size_t m = middle[i][k];
    // Among inverted tetrahedra a diagonal may be there already.
    if (i + 1 < m && mesh_.has_edge(r[i], r[m])) return false;
    if (m + 1 < k && mesh_.has_edge(r[m], r[k])) return false;
    fresh.push_back({r[i], r[m], r[k], b});
    fresh.push_back({r[i], r[k], r[m], a});
    open.push_back({i, m});
    open.push_back({m, k});
  }
  const std::vector<std::int32_t> old = ring_.tets;
  return exchange(old, fresh, ring_.open && when == When::better);
}

bool ConstrainedImprovement::improve_tet(std::int32_t t, double target) {
  const mesh::Tet corners = mesh_.tet(t);
  for (const auto& e : mesh::tet_edges) {
    if (remove_edge(corners[e[0]], corners[e[1]])) return true;
  }
  bool moved = false;
  for (const std::int32_t v : corners) moved |= smooth(v, target);
  if (moved) return true;
  for (const auto& e : mesh::tet_edges) {
    if (contract(corners[e[0]], corners[e[1]])) return true;
    if (contract(corners[e[1]], corners[e[0]])) return true;
  }
  return false;
}

Index ConstrainedImprovement::improve_tets(std::span<const std::int32_t> tets, double target, std::size_t most) {
  std::vector<std::pair<double, std::int32_t>> bad;
  for (const std::int32_t t : tets) {
    if (!mesh_.alive(t)) continue;
    const double q = mesh_.quality(mesh_.tet(t));
    if (q < target) bad.push_back({q, t});
  }
  std::sort(bad.begin(), bad.end());
  if (bad.size() > most) bad.resize(most);
  Index useful = 0;
  for (const auto& [q, t] : bad)
    if (mesh_.alive(t) && mesh_.quality(mesh_.tet(t)) < target) useful += improve_tet(t, target);
  return useful;
}

void ConstrainedImprovement::improve(std::span<const std::int32_t> seeds, double target, int passes) {
  const std::size_t mark = mesh_.mark();
  std::vector<std::int32_t> tets, changed;
  for (const std::int32_t v : seeds) tets.insert(tets.end(), mesh_.star(v).begin(), mesh_.star(v).end());
  for (int pass = 0; pass < passes; ++pass) {
    std::sort(tets.begin(), tets.end());
    tets.erase(std::unique(tets.begin(), tets.end()), tets.end());
    if (improve_tets(tets, target, max_at_once) == 0) break;
    mesh_.changed(mark, changed);
    tets.insert(tets.end(), changed.begin(), changed.end());
  }
}

}  // namespace meniscus::surface
