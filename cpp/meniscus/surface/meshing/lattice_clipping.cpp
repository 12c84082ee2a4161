#include "meniscus/surface/meshing/lattice_clipping.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

/// A node moves onto a crossing that is closer than this part of the edge that it lies on. Labelle and Shewchuk print other
/// ratios for their rules; with ours, these gave the largest of the least dihedral angles in a search over random values.
constexpr double near_on_long_edge = 0.28;
constexpr double near_on_short_edge = 0.39;

enum class Side : std::int8_t { outside = -1, on = 0, inside = 1 };

/// The edges across the surface and where they cross it.
class Crossings {
 public:
  using Edge = std::array<std::int32_t, 2>;

  Crossings(const LevelSetFunction& phi, const mesh::TetMeshData& mesh, std::span<const double> values) {
    for (const mesh::Tet& t : mesh.tets)
      for (const auto& e : mesh::tet_edges) {
        const std::int32_t a = t[e[0]];
        const std::int32_t b = t[e[1]];
        if ((values[a] < 0) != (values[b] < 0)) edges.push_back({std::min(a, b), std::max(a, b)});
      }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    find_roots(phi, mesh.vertices, values);
    numerics::list_by_rows(std::ssize(mesh.vertices), start, at_node, [&](auto&& add) {
      for (std::size_t i = 0; i < edges.size(); ++i)
        for (const std::int32_t v : edges[i]) add(v, i);
    });
  }

  std::size_t find(std::int32_t a, std::int32_t b) const {
    const Edge e{std::min(a, b), std::max(a, b)};
    return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), e) - edges.begin());
  }

  std::vector<Edge> edges;
  std::vector<mesh::Point> points;
  std::vector<std::size_t> start;    // of the rows of `at_node`
  std::vector<std::size_t> at_node;  // the crossings on edges of each node

 private:
  /// The Illinois variant of the secant method on all edges at once; each step keeps a change of sign between its two ends.
  void find_roots(const LevelSetFunction& phi, std::span<const mesh::Point> x, std::span<const double> values) {
    const std::size_t n = edges.size();
    std::vector<double> low(n, 0.0), high(n, 1.0), at_low(n), at_high(n), t(n), value(n);
    std::vector<std::int8_t> last(n, 0);
    points.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      at_low[i] = values[edges[i][0]];
      at_high[i] = values[edges[i][1]];
    }
    constexpr int steps = 8;
    for (int step = 0; step <= steps; ++step) {
      check_interrupt();
      for (std::size_t i = 0; i < n; ++i) {
        const double change = at_low[i] - at_high[i];
        const double s = change != 0 ? at_low[i] / change : 0.5;
        t[i] = low[i] + std::clamp(s, 0.0, 1.0) * (high[i] - low[i]);
        points[i] = x[edges[i][0]] + t[i] * (x[edges[i][1]] - x[edges[i][0]]);
      }
      if (step == steps) break;
      phi(points, value);
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i) {
        worst = std::max(worst, std::abs(value[i]) / (x[edges[i][0]] - x[edges[i][1]]).norm());
        if ((value[i] < 0) == (at_low[i] < 0)) {
          low[i] = t[i];
          at_low[i] = value[i];
          if (last[i] == 1) at_high[i] *= 0.5;
          last[i] = 1;
        } else {
          high[i] = t[i];
          at_high[i] = value[i];
          if (last[i] == 2) at_low[i] *= 0.5;
          last[i] = 2;
        }
      }
      if (worst < 1e-7) break;
    }
  }
};

/// Cuts tetrahedra and collects what is inside.
class Cutter {
 public:
  Cutter(const mesh::TetMeshData& lattice, const Crossings& crossings, std::vector<Side>& side)
      : lattice_(lattice), crossings_(crossings), side_(side), made_(crossings.edges.size(), -1) {
    result.vertices = lattice.vertices;
  }

  /// Nodes onto the surface, one after the other: a crossing is gone once a node of its edge has moved.
  void move_nodes() {
    for (std::size_t v = 0; v < side_.size(); ++v) {
      double best = 1;
      mesh::Point target;
      for (std::size_t k = crossings_.start[v]; k < crossings_.start[v + 1]; ++k) {
        const std::size_t c = crossings_.at_node[k];
        const auto& e = crossings_.edges[c];
        if (side_[e[0]] == Side::on || side_[e[1]] == Side::on) continue;
        const double distance = (crossings_.points[c] - lattice_.vertices[v]).norm();
        const double limit = (is_long(e[0], e[1]) ? near_on_long_edge : near_on_short_edge) * length(e[0], e[1]);
        if (distance < best * limit) {
          best = distance / limit;
          target = crossings_.points[c];
        }
      }
      if (best >= 1) continue;
      result.vertices[v] = target;
      side_[v] = Side::on;
    }
  }

  void cut(const mesh::Tet& t) {
    std::array<std::int32_t, 4> in{}, out{}, on{};
    std::size_t ins = 0, outs = 0, ons = 0;
    for (const std::int32_t v : t) {
      if (side_[v] == Side::inside)
        in[ins++] = v;
      else if (side_[v] == Side::outside)
        out[outs++] = v;
      else
        on[ons++] = v;
    }
    if (ins == 0) return;
    if (outs == 0)
      result.tets.push_back(t);
    else if (ins == 1)
      cut_corner(t, in[0]);
    else if (ins == 2 && outs == 1)
      cut_pyramid(in[0], in[1], on[0], out[0]);
    else if (ins == 2)
      cut_wedge(in[0], in[1], out[0], out[1]);
    else
      cut_off(in, out[0]);
  }

  mesh::TetMeshData result;

 private:
  double length(std::int32_t a, std::int32_t b) const { return (lattice_.vertices[a] - lattice_.vertices[b]).norm(); }

  /// Whether an edge is one of the two long ones of its BCC tetrahedron. Its squared length is 4/3 of that of the others.
  bool is_long(std::int32_t a, std::int32_t b) const {
    // Edges of the lattice along an axis are long ones, diagonals short ones.
    const mesh::Point d = (lattice_.vertices[a] - lattice_.vertices[b]).cwiseAbs();
    return d.maxCoeff() > 0.9 * d.norm();
  }

  std::int32_t crossing(std::int32_t a, std::int32_t b) {
    const std::size_t c = crossings_.find(a, b);
    if (made_[c] < 0) {
      made_[c] = static_cast<std::int32_t>(result.vertices.size());
      result.vertices.push_back(crossings_.points[c]);
    }
    return made_[c];
  }

  void emit(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
    const auto& x = result.vertices;
    if (mesh::signed_volume(x[a], x[b], x[c], x[d]) < 0) std::swap(c, d);
    result.tets.push_back({a, b, c, d});
  }

  /// The diagonal of the quadrilateral p, q, crossing(q, a), crossing(p, a) comes from p. It depends on the face alone, so both
  /// tetrahedra there agree. It goes to the crossing on a long edge; where both are on short edges, the parity of directions
  /// decides, which gives the two faces at the long edge p q of a tetrahedron different diagonals. Of the three nodes that a is
  /// cut off from, the one on the long edge comes last, so the diagonals of a prism never go round.
  bool from_first(std::int32_t p, std::int32_t q, std::int32_t a) const {
    if (is_long(p, a)) return false;
    if (is_long(q, a)) return true;
    const mesh::Point d = lattice_.vertices[a] - lattice_.vertices[p];
    return ((d[0] > 0) + (d[1] > 0) + (d[2] > 0)) % 2 == 0;
  }

  void cut_corner(const mesh::Tet& t, std::int32_t p) {
    mesh::Tet made = t;
    for (std::int32_t& v : made)
      if (v != p && side_[v] == Side::outside) v = crossing(p, v);
    result.tets.push_back(made);
  }

  void cut_pyramid(std::int32_t p, std::int32_t q, std::int32_t apex, std::int32_t a) {
    if (!from_first(p, q, a)) std::swap(p, q);
    emit(apex, p, q, crossing(q, a));
    emit(apex, p, crossing(q, a), crossing(p, a));
  }

  /// The diagonals of the two faces at p q come from different ends: along a short edge p q one crossing of each face is on a
  /// long edge, that of p or that of q; along a long one see above.
  void cut_wedge(std::int32_t p, std::int32_t q, std::int32_t a, std::int32_t b) {
    const bool first_a = from_first(p, q, a);
    if (!first_a) std::swap(a, b);
    emit(p, q, crossing(q, a), crossing(p, b));
    emit(q, crossing(q, a), crossing(q, b), crossing(p, b));
    emit(p, crossing(p, a), crossing(q, a), crossing(p, b));
  }

  void cut_off(std::array<std::int32_t, 4> in, std::int32_t a) {
    const auto sorted = [&](std::size_t i, std::size_t k) {
      if (from_first(in[k], in[i], a)) std::swap(in[i], in[k]);
    };
    sorted(0, 1);
    sorted(1, 2);
    sorted(0, 1);
    const std::int32_t c0 = crossing(in[0], a);
    const std::int32_t c1 = crossing(in[1], a);
    const std::int32_t c2 = crossing(in[2], a);
    emit(in[0], in[1], in[2], c2);
    emit(in[0], in[1], c2, c1);
    emit(in[0], c0, c1, c2);
  }

  const mesh::TetMeshData& lattice_;
  const Crossings& crossings_;
  std::vector<Side>& side_;
  std::vector<std::int32_t> made_;
};

}  // namespace

mesh::TetMeshData clip_lattice(const LevelSetFunction& phi, const mesh::TetMeshData& lattice, std::span<const double> values) {
  const Crossings crossings(phi, lattice, values);
  std::vector<Side> side(values.size());
  for (std::size_t v = 0; v < values.size(); ++v) side[v] = values[v] < 0 ? Side::inside : Side::outside;
  Cutter cutter(lattice, crossings, side);
  cutter.move_nodes();
  for (const mesh::Tet& t : lattice.tets) cutter.cut(t);
  return std::move(cutter.result);
}

}  // namespace meniscus::surface
