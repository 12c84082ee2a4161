#include "meniscus/surface/tetrahedra/touched_tets.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/intersection/intersection.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

using mesh::Box;
using mesh::Point;
using Corners = std::array<Point, 4>;
using TriangleCorners = std::array<Point, 3>;

constexpr Index coarse_run = 512;
constexpr std::size_t fine_run = 32;

int filtered_side(const Point& a, const Point& b, const Point& c, const Point& d) {
  return numerics::detail::orient3d_filter(a.data(), b.data(), c.data(), d.data());
}

/// A tetrahedron with its box and orientation, 0 where a rounded determinant does not tell.
struct Candidate {
  Corners x;
  Box box;
  int orientation;

  explicit Candidate(const Corners& corners)
      : x(corners), orientation(filtered_side(corners[0], corners[1], corners[2], corners[3])) {
    for (const Point& p : x) box.add(p);
  }
};

enum class Answer : std::int8_t { no, yes, unknown };

/// Answers from signs that rounded determinants are certain of.
Answer filtered(const Candidate& tet, const TriangleCorners& triangle) {
  std::array<int, 4> side;
  int sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum += side[k] = filtered_side(triangle[0], triangle[1], triangle[2], tet.x[k]);
  if (sum == 4 || sum == -4) return Answer::no;
  if (tet.orientation != 0) {
    std::array<bool, 3> inside{true, true, true};
    for (const auto& face : mesh::tet_faces) {
      int out = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        // A corner opposite of a face is on its negative side where the volume is positive.
        const int s = -tet.orientation * filtered_side(tet.x[face[0]], tet.x[face[1]], tet.x[face[2]], triangle[k]);
        out += s < 0;
        inside[k] = inside[k] && s > 0;
      }
      if (out == 3) return Answer::no;
    }
    if (inside[0] || inside[1] || inside[2]) return Answer::yes;
  }
  for (const auto& edge : mesh::tet_edges) {
    if (side[edge[0]] * side[edge[1]] >= 0) continue;
    const Point& p = tet.x[edge[0]];
    const Point& q = tet.x[edge[1]];
    const int turn = filtered_side(p, q, triangle[0], triangle[1]);
    if (turn != 0 && turn == filtered_side(p, q, triangle[1], triangle[2]) &&
        turn == filtered_side(p, q, triangle[2], triangle[0]))
      return Answer::yes;
  }
  return Answer::unknown;
}

bool exact(const Corners& x, const TriangleCorners& t) {
  // A triangle that meets no face lies on one side of all of them.
  for (const auto& face : mesh::tet_faces)
    if (mesh::triangle_meets_triangle(x[face[0]], x[face[1]], x[face[2]], t[0], t[1], t[2], mesh::DegenerateContact::counts))
      return true;
  return mesh::point_in_tetrahedron(t[0], x[0], x[1], x[2], x[3]) != mesh::Containment::outside;
}

bool meets(const Candidate& tet, const TriangleCorners& triangle) {
  Box box;
  for (const Point& p : triangle) box.add(p);
  if (!box.overlaps(tet.box)) return false;
  const Answer answer = filtered(tet, triangle);
  return answer == Answer::unknown ? exact(tet.x, triangle) : answer == Answer::yes;
}

/// Nodes of a tree below which all triangles lie whose boxes a box may overlap. Few, and as deep as that allows.
class Frontier {
 public:
  /// Narrows `from`, or begins at the root if that is empty, to a box.
  void narrow(const mesh::BoundingVolumeTree& tree, const Frontier* from, const Box& box) {
    count_ = 0;
    const auto keep = [&](std::int32_t i) {
      if (tree.node(i).box.overlaps(box)) nodes_[count_++] = i;
    };
    if (from)
      for (std::size_t k = 0; k < from->count_; ++k) keep(from->nodes_[k]);
    else if (!tree.nodes().empty())
      keep(0);
    for (bool opened = true; opened;) {
      opened = false;
      for (std::size_t k = 0; k < count_ && count_ < most; ++k) {
        const std::int32_t child = tree.node(nodes_[k]).child;
        if (child == 0) continue;
        nodes_[k] = nodes_[--count_];
        keep(child);
        keep(child + 1);
        opened = true;
      }
    }
  }
  bool empty() const { return count_ == 0; }

  /// Whether a leaf below satisfies `found`.
  template <class Found>
  bool any(const mesh::BoundingVolumeTree& tree, const Box& box, Found&& found) const {
    std::array<std::int32_t, most + 128> stack;
    std::size_t top = count_;
    std::copy_n(nodes_.begin(), count_, stack.begin());
    while (top > 0) {
      const auto& node = tree.node(stack[--top]);
      if (!node.box.overlaps(box)) continue;
      if (node.leaf()) {
        if (found(node)) return true;
      } else {
        stack[top++] = node.child + 1;
        stack[top++] = node.child;
      }
    }
    return false;
  }

 private:
  static constexpr std::size_t most = 16;
  std::array<std::int32_t, most + 1> nodes_;
  std::size_t count_ = 0;
};

/// What distances at its corners say of a tetrahedron.
Answer by_distances(const mesh::TetMeshView& mesh, std::span<const double> phi, double longest_edge, bool signs, Index t) {
  std::size_t farthest = 0;
  double distance = -1, least = std::numeric_limits<double>::infinity(), most = -least;
  for (std::size_t k = 0; k < 4; ++k) {
    const double here = phi[mesh.tet(t)[k]];
    least = std::min(least, here);
    most = std::max(most, here);
    if (std::abs(here) > distance) {
      distance = std::abs(here);
      farthest = k;
    }
  }
  if (distance > 1.25 * longest_edge) return Answer::no;
  const Point& corner = mesh.corner(t, static_cast<int>(farthest));
  // Round-off of a distance is relative to the coordinates.
  const double rounding = 1e-12 * corner.cwiseAbs().maxCoeff();
  if (signs && least < -rounding && most > rounding) return Answer::yes;
  // A tetrahedron lies in the ball around each corner that reaches the farthest other one.
  double reach = 0;
  for (int k = 0; k < 4; ++k) reach = std::max(reach, (mesh.corner(t, k) - corner).squaredNorm());
  return distance - rounding <= std::sqrt(reach) * (1 + 1e-9) ? Answer::unknown : Answer::no;
}

/// Tetrahedra of a run that may be near the surface.
class Nearby {
 public:
  /// Sets the answers that distances give, and keeps the tetrahedra for which they give none.
  void find(const mesh::TetMeshView& mesh, std::span<const double> phi, double longest_edge, bool signs, Index begin, Index end,
            std::span<bool> out) {
    count_ = 0;
    for (Index t = begin; t < end; ++t) {
      const Answer answer = phi.empty() ? Answer::unknown : by_distances(mesh, phi, longest_edge, signs, t);
      out[t] = answer == Answer::yes;
      if (answer == Answer::unknown) tets_[count_++] = t;
    }
  }
  std::span<const Index> tets() const { return {tets_.data(), count_}; }

 private:
  std::array<Index, coarse_run> tets_;
  std::size_t count_ = 0;
};

Box box_of(const mesh::TetMeshView& mesh, std::span<const Index> tets) {
  Box box;
  for (const Index t : tets)
    for (int k = 0; k < 4; ++k) box.add(mesh.corner(t, k));
  return box;
}

}  // namespace

bool tet_meets_triangle(const Corners& tet, const TriangleCorners& triangle) { return meets(Candidate(tet), triangle); }

void touched_tets(const mesh::TetMeshView& mesh, const mesh::TriangleTree& triangles, std::span<const double> phi,
                  double longest_edge, bool signs, std::span<bool> out) {
  const mesh::BoundingVolumeTree& tree = triangles.volumes();
  parallel_for(0, mesh.size(), coarse_run, [&](Index begin, Index end) {
    Nearby nearby;
    nearby.find(mesh, phi, longest_edge, signs, begin, end, out);
    if (nearby.tets().empty()) return;
    Frontier coarse, fine;
    coarse.narrow(tree, nullptr, box_of(mesh, nearby.tets()));
    if (coarse.empty()) return;
    for (std::size_t first = 0; first < nearby.tets().size(); first += fine_run) {
      const auto run = nearby.tets().subspan(first, std::min(fine_run, nearby.tets().size() - first));
      fine.narrow(tree, &coarse, box_of(mesh, run));
      if (fine.empty()) continue;
      for (const Index t : run) {
        const Candidate tet({mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2), mesh.corner(t, 3)});
        out[t] = fine.any(tree, tet.box, [&](const mesh::BoundingVolumeTree::Node& leaf) {
          for (Index slot = leaf.first; slot < Index{leaf.first} + leaf.count; ++slot)
            if (meets(tet, triangles.corners(slot))) return true;
          return false;
        });
      }
    }
  });
}

}  // namespace meniscus::surface
