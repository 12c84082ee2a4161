#include "meniscus/fluids/sheets/circulation_transfer.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace meniscus::fluids {
namespace {

using mesh::Change;
using mesh::EventKind;
using mesh::Point;
using mesh::Triangle;

/// Two distances that differ by less than this part of an edge are the same.
constexpr double tie = 1e-7;

std::uint64_t key(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(std::min(a, b)) << 32 | static_cast<std::uint32_t>(std::max(a, b));
}

/// The triangles that an event takes away, as they were.
struct OldTriangle {
  Triangle corners;
  std::array<Point, 3> places;
  std::array<double, 3> edges;
};

/// The circulations of a mesh to which events happen, one after the other.
class Ledger {
 public:
  Ledger(const SheetView& sheet, std::span<const double> circulation, CirculationRule rule)
      : rule_(rule), points_(sheet.points.begin(), sheet.points.end()), neighbours_(points_.size()), parent_(points_.size()) {
    const mesh::TriangleTopology topology(sheet.triangles);
    require(std::ssize(circulation) == std::ssize(topology.edges()), "there must be ", topology.edges().size(),
            " circulations, one per edge, not ", circulation.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    edges_.reserve(2 * topology.edges().size());
    for (Index e = 0; e < std::ssize(topology.edges()); ++e) {
      const auto [a, b] = topology.edges()[e];
      edges_[key(a, b)] = {circulation[e], static_cast<int>(topology.triangles_at(e).size())};
      join(a, b);
    }
  }

  void apply(const mesh::SurfaceEvents& events, Index event);
  double value(std::int32_t a, std::int32_t b) const {
    const auto found = edges_.find(key(a, b));
    return found == edges_.end() ? 0.0 : found->second.value;
  }
  const std::vector<Point>& points() const { return points_; }

 private:
  struct Edge {
    double value;
    int triangles;
  };
  struct Move {
    std::int32_t vertex;
    Point before;
  };

  void join(std::int32_t a, std::int32_t b) {
    neighbours_[a].push_back(b);
    neighbours_[b].push_back(a);
    numerics::unite(parent_.data(), a, b);
  }
  void part(std::int32_t a, std::int32_t b) {
    std::erase(neighbours_[a], b);
    std::erase(neighbours_[b], a);
    edges_.erase(key(a, b));
  }
  void place(std::int32_t vertex, const Point& p);
  double old_potential(const Point& p) const;
  double old_vertex(std::int32_t v) const;
  double new_value(EventKind kind, std::int32_t a, std::int32_t b) const;
  void fit_constants();
  void hand_over(const std::vector<std::array<std::int32_t, 2>>& fresh);

  CirculationRule rule_;
  std::vector<Point> points_;
  std::vector<std::vector<std::int32_t>> neighbours_;
  std::vector<std::int32_t> parent_;
  std::unordered_map<std::uint64_t, Edge> edges_;
  std::vector<OldTriangle> old_;
  std::vector<Move> moves_;
  std::vector<std::pair<std::array<std::int32_t, 2>, double>> gone_;
  std::int32_t new_vertex_ = -1;
};

void Ledger::place(std::int32_t vertex, const Point& p) {
  while (vertex >= std::ssize(points_)) {
    parent_.push_back(static_cast<std::int32_t>(points_.size()));
    points_.push_back(p);
    neighbours_.emplace_back();
  }
  points_[vertex] = p;
}

/// The potential of the old patch at the nearest point of it, the mean where several triangles have one.
double Ledger::old_potential(const Point& p) const {
  double least = std::numeric_limits<double>::max(), sum = 0.0;
  int count = 0;
  for (const OldTriangle& t : old_) {
    const auto nearest = collision::closest_point_on_triangle(p, t.places[0], t.places[1], t.places[2]);
    const double distance = std::sqrt(nearest.squared_distance), close = tie * (t.places[1] - t.places[0]).norm();
    if (distance > least + close) continue;
    if (distance < least - close) sum = 0.0, count = 0;
    least = std::min(least, distance);
    sum += potential_in(t.edges, {nearest.barycentric[0], nearest.barycentric[1], nearest.barycentric[2]});
    ++count;
  }
  return count > 0 ? sum / count : 0.0;
}

/// The mean of the potential of the old triangles at one of their corners.
double Ledger::old_vertex(std::int32_t v) const {
  double sum = 0.0;
  int count = 0;
  for (const OldTriangle& t : old_)
    for (int k = 0; k < 3; ++k)
      if (t.corners[k] == v) {
        sum += t.edges[k] + t.edges[(k + 2) % 3] - t.edges[(k + 1) % 3];
        ++count;
      }
  return count > 0 ? sum / count : 0.0;
}

double Ledger::new_value(EventKind kind, std::int32_t a, std::int32_t b) const {
  if (kind == EventKind::merge) return 0.5 * (old_vertex(a) + old_vertex(b));
  Point pa = points_[a], pb = points_[b];
  if (kind == EventKind::split && !gone_.empty()) {
    // The vertex counts as the middle of the old edge, wherever it was put.
    const auto [from, to] = gone_.front().first;
    if (a == new_vertex_) pa = 0.5 * (points_[from] + points_[to]);
    if (b == new_vertex_) pb = 0.5 * (points_[from] + points_[to]);
  }
  return old_potential(0.5 * (pa + pb));
}

/// Where a tube joins two parts, shifts the potential of the one with fewer edges such that both have the same mean at the tube.
void Ledger::fit_constants() {
  const auto root = [&](std::int32_t v) { return numerics::root_of(parent_.data(), v); };
  const std::int32_t one = root(old_.front().corners[0]);
  std::int32_t other = one;
  std::array<double, 2> sum{}, count{};
  for (const OldTriangle& t : old_) {
    const std::int32_t r = root(t.corners[0]);
    if (r != one) other = r;
    for (const double e : t.edges) sum[r != one] += e, count[r != one] += 1.0;
  }
  if (other == one) return;
  std::array<Index, 2> edges{};
  for (const auto& [k, edge] : edges_) {
    const std::int32_t r = root(static_cast<std::int32_t>(k >> 32));
    if (r == one || r == other) ++edges[r == other];
  }
  const bool second = edges[1] <= edges[0];
  const double shift = (sum[0] / count[0] - sum[1] / count[1]) * (second ? 1.0 : -1.0);
  const std::int32_t smaller = second ? other : one;
  for (auto& [k, edge] : edges_)
    if (root(static_cast<std::int32_t>(k >> 32)) == smaller) edge.value += shift;
  for (OldTriangle& t : old_)
    if (root(t.corners[0]) == smaller)
      for (double& e : t.edges) e += shift;
}

/// The printed rule of tubes: the two new edges that are most like the two that go take over their circulations.
void Ledger::hand_over(const std::vector<std::array<std::int32_t, 2>>& fresh) {
  for (const auto& [ends, circulation] : gone_) {
    const Point vector = points_[ends[1]] - points_[ends[0]];
    double least = std::numeric_limits<double>::max();
    std::uint64_t best = 0;
    for (const auto& [a, b] : fresh) {
      const Point edge = points_[b] - points_[a];
      const double difference = std::min((edge - vector).norm(), (edge + vector).norm());
      if (difference < least && edges_[key(a, b)].value == 0.0) {
        least = difference;
        best = key(a, b);
      }
    }
    if (least < std::numeric_limits<double>::max()) edges_[best].value = circulation;
  }
}

void Ledger::apply(const mesh::SurfaceEvents& events, Index event) {
  const EventKind kind = events.kinds[event];
  const Index begin = events.first_change[event], end = events.first_change[event + 1];
  old_.clear();
  moves_.clear();
  gone_.clear();
  new_vertex_ = -1;
  for (Index i = begin; i < end; ++i) {
    if (events.changes[i] != Change::removed_element) continue;
    const Triangle& c = events.corners[events.rows[i]];
    OldTriangle t{c, {points_[c[0]], points_[c[1]], points_[c[2]]}, {}};
    for (int k = 0; k < 3; ++k) t.edges[k] = value(c[k], c[(k + 1) % 3]);
    old_.push_back(t);
  }
  if (kind == EventKind::merge && rule_ == CirculationRule::exact && !old_.empty()) fit_constants();
  for (const OldTriangle& t : old_)
    for (int k = 0; k < 3; ++k) {
      const std::int32_t a = t.corners[k], b = t.corners[(k + 1) % 3];
      const auto found = edges_.find(key(a, b));
      if (found == edges_.end() || --found->second.triangles > 0) continue;
      gone_.push_back({{std::min(a, b), std::max(a, b)}, found->second.value});
      part(a, b);
    }
  for (Index i = begin; i < end; ++i) {
    const std::int32_t v = events.which[i];
    if (events.changes[i] == Change::new_vertex) new_vertex_ = v;
    if (events.changes[i] == Change::moved && v < std::ssize(points_)) moves_.push_back({v, points_[v]});
    if (events.changes[i] == Change::new_vertex || events.changes[i] == Change::moved) place(v, events.points[events.rows[i]]);
  }
  if (rule_ == CirculationRule::exact && !old_.empty())
    for (const Move& m : moves_) {
      const double change = 0.5 * (old_potential(points_[m.vertex]) - old_potential(m.before));
      for (const std::int32_t other : neighbours_[m.vertex]) edges_[key(m.vertex, other)].value += change;
    }
  std::vector<std::array<std::int32_t, 2>> fresh;
  for (Index i = begin; i < end; ++i) {
    if (events.changes[i] != Change::new_element) continue;
    const Triangle& c = events.corners[events.rows[i]];
    for (int k = 0; k < 3; ++k) {
      const std::int32_t a = c[k], b = c[(k + 1) % 3];
      Edge& edge = edges_.try_emplace(key(a, b), Edge{0.0, 0}).first->second;
      if (edge.triangles++ > 0) continue;
      fresh.push_back({a, b});
      join(a, b);
    }
  }
  if (rule_ == CirculationRule::exact || kind == EventKind::pinch || kind == EventKind::flip || kind == EventKind::collapse) {
    for (const auto& [a, b] : fresh) edges_[key(a, b)].value = new_value(kind, a, b);
  } else if (kind == EventKind::merge) {
    hand_over(fresh);
  } else if (!gone_.empty()) {
    for (const auto& [a, b] : fresh)
      for (const auto& [ends, circulation] : gone_) {
        const std::int32_t other = a == new_vertex_ ? b : a;
        if (other == ends[0] || other == ends[1]) edges_[key(a, b)].value = circulation;
      }
  }
}

}  // namespace

void follow_smoothing(std::span<const Point> before, const SheetView& after, const mesh::TriangleTopology& topology,
                      std::span<double> circulation) {
  const std::vector<double> old(circulation.begin(), circulation.end());
  parallel_for(0, std::ssize(topology.edges()), 1024, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      const auto [a, b] = topology.edges()[e];
      const Point way = 0.5 * (after.points[a] - before[a] + after.points[b] - before[b]);
      if (way.isZero(0.0)) continue;
      double sum = 0.0;
      const auto around = topology.triangles_at(e);
      for (const std::int32_t t : around) {
        const Triangle& c = after.triangles[t];
        const auto& edges = topology.edges_of(t);
        sum += way.dot(
            potential_gradient({before[c[0]], before[c[1]], before[c[2]]}, {old[edges[0]], old[edges[1]], old[edges[2]]}));
      }
      circulation[e] += sum / static_cast<double>(around.size());
    }
  });
}

std::vector<double> transfer_circulation(const mesh::SurfaceEvents& events, CirculationRule rule, const SheetView& before,
                                         std::span<const double> circulation, const SheetView& after) {
  require(std::ssize(before.points) == events.vertices_before && std::ssize(after.points) == std::ssize(events.vertices),
          "the events are of another surface");
  Ledger ledger(before, circulation, rule);
  for (Index i = 0; i < events.size(); ++i) ledger.apply(events, i);
  const mesh::TriangleTopology topology(after.triangles);
  std::vector<double> result;
  for (const auto& [a, b] : topology.edges()) result.push_back(ledger.value(events.vertices[a], events.vertices[b]));
  if (rule == CirculationRule::exact) {
    std::vector<Point> unsmoothed;
    for (const std::int32_t v : events.vertices) unsmoothed.push_back(ledger.points()[v]);
    follow_smoothing(unsmoothed, after, topology, result);
  }
  return result;
}

}  // namespace meniscus::fluids
