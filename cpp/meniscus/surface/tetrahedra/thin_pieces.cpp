#include "meniscus/surface/tetrahedra/thin_pieces.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::surface {
namespace {

using mesh::Point;
using PieceCorners = std::array<Point, 4>;

constexpr Index piece_chunk = 2048;
/// Parts that are evaluated at a time.
constexpr std::size_t piece_batch = 16384;
/// Halvings of the edges: 1/64.
constexpr int most_divisions = 6;
/// A distance below this share of the coordinates is none.
constexpr double round_off = 1e-14;

struct Part {
  PieceCorners x;
  std::int32_t tet;
  std::int32_t divisions;
};

struct Ball {
  Point centre;
  double radius;

  explicit Ball(const PieceCorners& x) : centre(0.25 * (x[0] + x[1] + x[2] + x[3])) {
    double squared = 0;
    for (const Point& p : x) squared = std::max(squared, (p - centre).squaredNorm());
    radius = std::sqrt(squared) * (1 + 1e-9);
  }
};

PieceCorners corners_of(const mesh::TetMeshView& mesh, Index t) {
  return {mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3)};
}

/// What the nodes tell.
enum class ByNodes : std::uint8_t { free, changes, undecided };

/// `far` is more than any tetrahedron reaches from a node of this distance, times the slope.
ByNodes by_nodes(const mesh::TetMeshView& mesh, std::span<const double> phi, double slope, double far, Index t) {
  std::array<double, 4> value;
  int inside = 0;
  double most = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    value[k] = phi[mesh.tet(t)[k]];
    inside += value[k] <= 0;
    most = std::max(most, std::abs(value[k]));
  }
  if (inside != 0 && inside != 4) return ByNodes::changes;
  if (most > far) return ByNodes::free;
  const PieceCorners x = corners_of(mesh, t);
  const Ball ball(x);
  for (std::size_t k = 0; k < 4; ++k)
    if (std::abs(value[k]) * (1 - 1e-9) > slope * ((x[k] - ball.centre).norm() + ball.radius)) return ByNodes::free;
  return ByNodes::undecided;
}

void push_children(const Part& part, std::vector<Part>& open) {
  std::array<Point, 6> middles;
  for (std::size_t e = 0; e < 6; ++e) middles[e] = 0.5 * (part.x[mesh::tet_edges[e][0]] + part.x[mesh::tet_edges[e][1]]);
  std::array<PieceCorners, 8> children;
  mesh::cut_into_eight(part.x, middles.data(), mesh::shortest_diagonal({0, 1, 2, 3}, part.x), children.data());
  for (const PieceCorners& child : children) open.push_back({child, part.tet, part.divisions + 1});
}

}  // namespace

void sign_changes(const mesh::TetMeshView& mesh, std::span<const double> phi, const SignedDistance& distance, double slope,
                  double longest_edge, std::span<bool> out) {
  // The centroid is at most 3/4 of the longest edge away from a node.
  const double far = 1.5 * slope * longest_edge * (1 + 1e-9);
  std::vector<ByNodes> answers(mesh.tets.size());
  parallel_for(0, mesh.size(), piece_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const ByNodes answer = by_nodes(mesh, phi, slope, far, t);
      answers[t] = answer;
      out[t] = answer == ByNodes::changes;
    }
  });
  // The parts divided last are looked at first, so that there are never many.
  std::vector<Part> open, now;
  std::vector<Point> points;
  std::vector<double> radii, values;
  Index next = 0;
  for (;;) {
    for (; open.size() < piece_batch && next < mesh.size(); ++next)
      if (answers[next] == ByNodes::undecided) open.push_back({corners_of(mesh, next), static_cast<std::int32_t>(next), 0});
    if (open.empty()) return;
    now.clear();
    points.clear();
    radii.clear();
    for (; !open.empty() && now.size() < piece_batch; open.pop_back()) {
      if (out[open.back().tet]) continue;
      now.push_back(open.back());
      const Ball ball(now.back().x);
      points.push_back(ball.centre);
      radii.push_back(ball.radius);
    }
    values.resize(points.size());
    if (!points.empty()) distance(points, values);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const Index tet = now[i].tet;
      const bool inside = phi[mesh.tets[tet][0]] <= 0;
      const double size = std::abs(values[i]);
      if ((values[i] <= 0) != inside || size <= round_off * (points[i].cwiseAbs().maxCoeff() + radii[i]))
        out[tet] = true;
      else if (size * (1 - 1e-9) <= slope * radii[i]) {
        if (now[i].divisions < most_divisions)
          push_children(now[i], open);
        else
          out[tet] = true;
      }
    }
  }
}

}  // namespace meniscus::surface
