/// Penalty forces between tetrahedral bodies that overlap, or a body and itself, by one of two responses.
///
/// Consistent depths: nodes next to a surface get depth and direction from where their edges pass through it, weighted by inverse
/// squared distances; those farther inside from their neighbours, front by front.
///
/// Rays: nodes of the surface go back to where they came in, which is where the ray along their own surface's normal, backwards,
/// first leaves the body around them; where it does not, to the closest point.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 3.8; Heidelberger et al., "Consistent penetration depth estimation for
/// deformable collision response", 2004.
#pragma once

#include "meniscus/collision/broad_phase/hash_queries.hpp"
#include "meniscus/mesh/search/box_tree.hpp"

#include <optional>

namespace meniscus::solids {

enum class PenaltyResponse : std::uint8_t { consistent, ray };

struct PenaltyOptions {
  double stiffness = 1;  ///< N/m per node
  double damping = 0;    ///< N s/m
  double friction = 0;
  PenaltyResponse response = PenaltyResponse::consistent;
  bool self_collision = false;  ///< Nodes inside of their own body count, too.
};

/// A body: its nodes are consecutive numbers, its tetrahedra and the triangles of its surface have these.
struct PenaltyBody {
  std::int32_t nodes = 0;
  std::vector<mesh::Tet> tets;
  std::vector<mesh::Triangle> surface;
};

class TetPenalty {
 public:
  /// Throws InvalidArgument for elements of nodes that are not those of their body.
  explicit TetPenalty(std::vector<PenaltyBody> bodies);

  /// Writes the forces at positions and velocities of all nodes. The bits do not depend on the number of threads; a call after
  /// the first allocates nothing where not more nodes are near other bodies than before.
  void forces(std::span<const mesh::Point> x, std::span<const mesh::Point> v, const PenaltyOptions& options,
              std::span<mesh::Point> f);

  /// Of the last call: nodes inside of other bodies whose depth is known and positive, ascending; their depths, m, and directions
  /// out of the other body.
  std::span<const std::int32_t> nodes() const { return known_; }
  std::span<const double> depths() const { return depths_; }
  std::span<const mesh::Point> directions() const { return directions_; }
  Index size() const { return static_cast<Index>(body_of_node_.size()); }

 private:
  struct Surface {
    std::vector<mesh::Triangle> triangles;
    std::vector<mesh::Box> boxes;
    std::optional<mesh::BoxTree> tree;
  };
  void find_inside(std::span<const mesh::Point> x, bool self_collision);
  /// The body around a node that is inside of one.
  std::size_t host(std::int32_t i) const { return body_of_node_[tets_[tet_[i]][0]]; }
  void fit_trees(std::span<const mesh::Point> x);
  void from_the_surface(std::span<const mesh::Point> x);
  static std::pair<double, std::int32_t> first_leaving(const Surface& s, std::span<const mesh::Point> x, std::int32_t i,
                                                       const mesh::Point& d);
  void along_rays(std::span<const mesh::Point> x);
  void from_neighbours(std::span<const mesh::Point> x);
  std::span<const std::int32_t> neighbours(std::int32_t i) const {
    const Index k = i;
    return {neighbours_.data() + first_[k], static_cast<std::size_t>(first_[k + 1] - first_[k])};
  }

  std::vector<std::int32_t> body_of_node_;
  std::vector<mesh::Tet> tets_;
  /// The other ends of the edges of each node, ascending.
  std::vector<Index> first_;
  std::vector<std::int32_t> neighbours_;
  std::vector<Surface> surfaces_;
  // Scratch memory of a call.
  std::vector<mesh::Box> bodies_;
  collision::VertexTetPairs search_;
  std::vector<std::int32_t> points_, numbers_;
  std::vector<mesh::Tet> near_;
  /// Of each node: the tetrahedron of another body around it, or -1; whether its depth is known.
  std::vector<std::int32_t> tet_;
  std::vector<std::uint8_t> state_;
  /// The triangle of that body's surface that a ray has hit.
  std::vector<std::int32_t> face_;
  std::vector<double> depth_;
  std::vector<mesh::Point> direction_;
  std::vector<std::int32_t> inside_, waiting_, front_;
  /// A force at a node, the part of it that acts across, and the weights of corners of the tetrahedron around the node; with
  /// rays, of the triangle that is hit for the part along the ray.
  struct Push {
    mesh::Point force, across;
    std::array<double, 4> weights;
    mesh::Point face_weights;
  };
  std::vector<Push> pushes_;
  std::vector<std::int32_t> known_;
  std::vector<double> depths_;
  std::vector<mesh::Point> directions_;
};

}  // namespace meniscus::solids
