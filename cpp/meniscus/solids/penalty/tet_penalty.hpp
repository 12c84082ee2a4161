/// Penalty forces between tetrahedral bodies that overlap, with consistent penetration depths.
///
/// Nodes next to a surface get depth and direction from where their edges pass through it, weighted by inverse squared distances;
/// those farther inside from their neighbours, front by front.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 3.8; Heidelberger et al., "Consistent penetration depth estimation for
/// deformable collision response", 2004.
#pragma once

#include "meniscus/collision/broad_phase/hash_queries.hpp"
#include "meniscus/mesh/search/box_tree.hpp"

#include <optional>

namespace meniscus::solids {

struct PenaltyOptions {
  double stiffness = 1;  ///< N/m per node
  double damping = 0;    ///< N s/m
  double friction = 0;
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
  void find_inside(std::span<const mesh::Point> x);
  void from_the_surface(std::span<const mesh::Point> x);
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
  struct Surface {
    std::vector<mesh::Triangle> triangles;
    std::vector<mesh::Box> boxes;
    std::optional<mesh::BoxTree> tree;
  };
  std::vector<Surface> surfaces_;
  // Scratch memory of a call.
  std::vector<mesh::Box> bodies_;
  collision::VertexTetPairs search_;
  std::vector<std::int32_t> points_, numbers_;
  std::vector<mesh::Tet> near_;
  /// Of each node: the tetrahedron of another body around it, or -1; whether its depth is known.
  std::vector<std::int32_t> tet_;
  std::vector<std::uint8_t> state_;
  std::vector<double> depth_;
  std::vector<mesh::Point> direction_;
  std::vector<std::int32_t> inside_, waiting_, front_;
  struct Push {
    mesh::Point force;
    std::array<double, 4> weights;
  };
  std::vector<Push> pushes_;
  std::vector<std::int32_t> known_;
  std::vector<double> depths_;
  std::vector<mesh::Point> directions_;
};

}  // namespace meniscus::solids
