#include "meniscus/fluids/tet_vof/transport/solid_clipping.hpp"

#include "meniscus/fluids/tet_vof/tet_ranks.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr int most_steps = 32;
constexpr int most_looks = 256;

/// How often to look at a path that leaves the mesh: where it goes through the solid, and where it leaves must be seen alike.
int looks_at(const mesh::Point& path, double step) {
  return std::clamp(static_cast<int>(std::ceil(4 * path.norm() / step)), 1, most_looks);
}

/// Whether two tetrahedra share a vertex outside of the solid, and so are on the same side of it.
bool have_outside_in_common(const mesh::Tet& a, const mesh::Tet& b, std::span<const double> distance) {
  return std::any_of(a.begin(), a.end(),
                     [&](std::int32_t v) { return distance[v] > 0 && std::find(b.begin(), b.end(), v) != b.end(); });
}

}  // namespace

std::array<mesh::Point, 4> carried_by_solid(const mesh::Tet& tet, const PlacedMesh& begin, const PlacedMesh& end,
                                            std::span<const double> distance_begin, std::span<const double> distance_end) {
  std::array<mesh::Point, 4> here, there;
  double moved = 0, nearer = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const Index v = tet[k];
    here[k] = begin.positions[v];
    there[k] = end.positions[v];
    moved = std::max(moved, (there[k] - here[k]).norm());
    nearer = std::max(nearer, std::abs(distance_end[v] - distance_begin[v]));
  }
  return nearer <= 0.5 * moved ? there : here;
}

bool stop_at_solid(const mesh::Tet& tet, const std::array<mesh::Point, 4>& x, std::span<const double> distance_begin,
                   std::span<const double> distance_end, NearLocation& end, std::array<mesh::Point, 4>& y) {
  double edge = 0;
  for (std::size_t k = 1; k < 4; ++k) edge = std::max(edge, (x[k] - x[0]).norm());
  // The smallest part of its path that a corner outside of the solid can go. Those inside go as far: the solid would else let
  // them through to its other side.
  double least = 1;
  bool any_outside = false;
  // Corners go side by side: where the last one was found is close.
  std::array<std::int32_t, most_steps> beside;
  int known = 0;
  bool near = false;
  for (std::size_t k = 0; k < 4; ++k) {
    const double begin = distance_begin[tet[k]];
    near = near || begin <= 0;
    if (begin <= 0) continue;
    any_outside = true;
    const mesh::Point path = y[k] - x[k];
    const double length = path.norm();
    // The solid itself may come closer during the step, hence the factor.
    if (begin > 2 * length) continue;
    near = true;
    const int steps = std::clamp(static_cast<int>(std::ceil(length / edge)), 1, most_steps);
    double before = begin;
    for (int i = 1; i <= steps; ++i) {
      const mesh::Point p = x[k] + path * (static_cast<double>(i) / steps);
      if (i <= known) end.begin_nearer(beside[i - 1]);
      const std::int32_t t = end.find(p);
      if (t < 0) break;
      beside[i - 1] = t;
      known = std::max(known, i);
      double here = 0;
      for (std::size_t j = 0; j < 4; ++j) here += end.weights()[j] * distance_end[end.tet(t)[j]];
      if (here < 0) {
        const double part = (static_cast<double>(i - 1) + before / (before - here)) / steps;
        y[k] = x[k] + path * part;
        least = std::min(least, part);
        break;
      }
      before = here;
    }
  }
  if (!any_outside) least = 0;
  for (std::size_t k = 0; k < 4 && least < 1; ++k)
    if (distance_begin[tet[k]] <= 0) y[k] = x[k] + (y[k] - x[k]) * least;
  return near;
}

std::int32_t last_before_solid(const mesh::Point& begin, const mesh::Point& end, double step, std::span<const std::int32_t> ranks,
                               std::span<const double> distance, NearLocation& mesh) {
  std::int32_t last = -1, entered = -1;
  bool inside = false;
  const bool all = mesh.along(begin, end, [&](std::int32_t t) {
    const std::int32_t rank = ranks[t];
    inside = rank == rank_inside;
    if (last < 0) {
      last = t;
      return !inside;
    }
    if (inside) {
      if (entered < 0) entered = last;
      return true;
    }
    if (rank < 0) return true;
    if (entered >= 0 && !have_outside_in_common(mesh.tet(entered), mesh.tet(t), distance)) return false;
    entered = -1;
    last = t;
    return true;
  });
  if (last < 0 || ranks[last] == rank_inside) return -1;
  if (all || entered >= 0) return entered;
  // The way leaves the mesh. Where it comes back, the solid may have been in between.
  const mesh::Point path = end - begin;
  const int steps = looks_at(path, step);
  const double last_part = mesh.last_part(begin, end);
  const auto stops_at = [&](std::int32_t t) {
    if (t == last) return false;
    const std::int32_t rank = ranks[t];
    if (rank == rank_inside || !have_outside_in_common(mesh.tet(last), mesh.tet(t), distance)) return true;
    if (rank >= 0) last = t;
    return false;
  };
  const auto part_of = [&](int look) { return static_cast<double>(look) / steps; };
  last = mesh.find(begin);
  int i = 1;
  // Where the way leaves the mesh for the first time is known, and so is where each look before meets it.
  for (const NearLocation::Met& met : mesh.met_before_exit()) {
    if (i > steps || part_of(i) > met.part) continue;
    mesh.resume(met.tet);
    if (stops_at(met.tet)) return last;
    i = std::max(i, static_cast<int>(met.part * steps));
    while (i <= steps && part_of(i) <= met.part) ++i;
  }
  for (; i <= steps && part_of(i) <= last_part; ++i) {
    const std::int32_t t = mesh.find(begin + path * part_of(i));
    if (t >= 0 && stops_at(t)) return last;
  }
  return -1;
}

mesh::Point leaving_point(const mesh::Point& begin, const mesh::Point& end, double step, NearLocation& mesh) {
  const mesh::Point path = end - begin;
  const int steps = looks_at(path, step);
  if (!mesh.folded() && mesh.along(begin, end, [](std::int32_t) { return true; })) return end;
  const auto met = mesh.met_before_exit();
  const double first = mesh.folded() || met.empty() ? 0 : met.back().part;
  for (int i = std::max(1, static_cast<int>(first * steps)); i < steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    if (part <= first) continue;
    const mesh::Point p = begin + path * part;
    if (mesh.find(p) < 0) return p;
  }
  return end;
}

}  // namespace meniscus::fluids
