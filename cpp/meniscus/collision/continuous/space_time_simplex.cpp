#include "meniscus/collision/continuous/space_time_simplex.hpp"

#include <algorithm>

namespace meniscus::collision {
namespace {

/// b - a in direction; halves cannot overflow.
mesh::Point direction(const mesh::Point& a, const mesh::Point& b) { return (0.5 * b - 0.5 * a).stableNormalized(); }

/// The moving elements, and the simplices that they are cut into.
class Cutting {
 public:
  Cutting(const mesh::Point* start, const mesh::Point* end, const std::int64_t* indices)
      : start_(start), end_(end), indices_(indices) {}

  /// Vertices i .. i + n - 1, in the order of their indices.
  std::array<int, 3> ordered(int first, int n) const {
    std::array<int, 3> order{first, first + 1, first + 2};
    std::stable_sort(order.begin(), order.begin() + n, [&](int i, int j) { return indices_[i] < indices_[j]; });
    return order;
  }
  const mesh::Point& start(int i) const { return start_[i]; }
  const mesh::Point& end(int i) const { return end_[i]; }

  void add_start(SimplexPair& pair, int i, bool second) const { pair.add(start_[i], false, second); }
  void add_end(SimplexPair& pair, int i, bool second) const { pair.add(end_[i], true, second); }

  /// Triangle k of edge (i, j), i before j in order: that with the whole edge at the start, then that with the whole edge at the
  /// end.
  void add_edge(SimplexPair& pair, int i, int j, int k, bool second) const {
    add_start(pair, i, second);
    k == 0 ? add_start(pair, j, second) : add_end(pair, i, second);
    add_end(pair, j, second);
  }
  mesh::Point edge_direction(int i, int j, int k) const {
    return k == 0 ? direction(start_[i], start_[j]) : direction(end_[i], end_[j]);
  }

  /// Displacement of vertex i minus that of vertex j, along n.
  double displacement(int i, int j, const mesh::Point& n) const {
    return 2 * (n.dot(0.5 * end_[i] - 0.5 * start_[i]) - n.dot(0.5 * end_[j] - 0.5 * start_[j]));
  }

 private:
  const mesh::Point* start_;
  const mesh::Point* end_;
  const std::int64_t* indices_;
};

/// Keeps the earlier of two contacts; the first one where they are simultaneous.
void keep(SpaceTimeContact& best, double time, const mesh::Point& normal, double displacement) {
  if (time < best.time) best = {time, normal, displacement};
}

SpaceTimeContact vertex_face(SimplexMethod method, const Cutting& cutting) {
  const auto [a, b, c] = cutting.ordered(1, 3);
  const bool even = (a == 1 && b == 2) || (a == 2 && b == 3) || (a == 3 && b == 1);
  SpaceTimeContact best;
  for (int k = 0; k < 3; ++k) {
    SimplexPair pair;
    cutting.add_start(pair, 0, false);
    cutting.add_end(pair, 0, false);
    // Up to vertex number 2 - k at the start, from that one on at the end.
    cutting.add_start(pair, a, true);
    k < 2 ? cutting.add_start(pair, b, true) : cutting.add_end(pair, a, true);
    k < 1 ? cutting.add_start(pair, c, true) : cutting.add_end(pair, b, true);
    cutting.add_end(pair, c, true);
    const SimplexContact found = intersect(pair, method);
    if (!found.contact) continue;
    const mesh::Point n = cutting.edge_direction(a, b, k == 2).cross(cutting.edge_direction(b, c, k >= 1)).stableNormalized();
    const mesh::Point normal = even ? n : -n;
    keep(best, found.time, normal, cutting.displacement(0, k == 0 ? c : k == 1 ? b : a, normal));
  }
  return best;
}

SpaceTimeContact edge_edge(SimplexMethod method, const Cutting& cutting) {
  const auto p = cutting.ordered(0, 2);
  const auto q = cutting.ordered(2, 2);
  SpaceTimeContact best;
  for (int k = 0; k < 4; ++k) {
    const int i = k / 2;
    const int j = k % 2;
    SimplexPair pair;
    cutting.add_edge(pair, p[0], p[1], i, false);
    cutting.add_edge(pair, q[0], q[1], j, true);
    const SimplexContact found = intersect(pair, method);
    if (!found.contact) continue;
    const mesh::Point normal = cutting.edge_direction(0, 1, i).cross(cutting.edge_direction(2, 3, j)).stableNormalized();
    keep(best, found.time, normal, cutting.displacement(p[i == 0 ? 1 : 0], q[j == 0 ? 1 : 0], normal));
  }
  return best;
}

}  // namespace

SpaceTimeContact space_time_contact(PairKind kind, SimplexMethod method, std::span<const mesh::Point, 4> start,
                                    std::span<const mesh::Point, 4> end, const std::array<std::int64_t, 4>& indices) {
  const Cutting cutting(start.data(), end.data(), indices.data());
  return kind == PairKind::vertex_face ? vertex_face(method, cutting) : edge_edge(method, cutting);
}

SpaceTimeContact space_time_point_segment(SimplexMethod method, std::span<const mesh::Point, 3> start,
                                          std::span<const mesh::Point, 3> end, const std::array<std::int64_t, 3>& indices) {
  const Cutting cutting(start.data(), end.data(), indices.data());
  const auto order = cutting.ordered(1, 2);
  SpaceTimeContact best;
  for (int k = 0; k < 2; ++k) {
    SimplexPair pair;
    pair.dimension = 2;
    cutting.add_start(pair, 0, false);
    cutting.add_end(pair, 0, false);
    cutting.add_edge(pair, order[0], order[1], k, true);
    const SimplexContact found = intersect(pair, method);
    if (!found.contact) continue;
    const mesh::Point along = cutting.edge_direction(1, 2, k);
    const mesh::Point normal(-along[1], along[0], 0);
    keep(best, found.time, normal, cutting.displacement(0, order[k == 0 ? 1 : 0], normal));
  }
  return best;
}

}  // namespace meniscus::collision
