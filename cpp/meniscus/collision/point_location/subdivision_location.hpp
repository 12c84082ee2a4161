/// Point location in a uniformly subdivided tetrahedral mesh that moves: a search among the coarse tetrahedra, then a descent by
/// arithmetic. Nothing is stored per fine tetrahedron but the two bits that say how it is cut.
///
/// The map from rest is affine inside of a coarse tetrahedron, so the barycentric coordinates there decide which descendant holds
/// a point. Where they leave it open, within the rounding of coordinates and of fine vertices, the descendants around are formed
/// with the vertices that `UniformSubdivision::interpolate` gives them, and compared exactly. So the result is that of
/// `TetLocator` on the stored fine mesh, for every point: of several closed tetrahedra that hold it, the one with the lowest
/// number. Descendants of disabled tetrahedra hold nothing, nor do those that are flat.
///
/// With a hint, a point is searched by a walk across faces from there, and what the walk finds stands, also where another sheet
/// of a mesh that overlaps itself has lower numbers. On a face, an edge or a vertex it is again the first of the tetrahedra
/// around, namely of those that can be reached across faces with the point on them. Where the walk leaves the mesh, ends in a
/// disabled tetrahedron or does not end, the rule above holds.
///
/// Source: Lee 2018, section 3.3.1 (the hierarchy); Devillers, Pion and Teillaud, "Walking in a triangulation", 2002.
#pragma once

#include "meniscus/collision/point_location/tet_location.hpp"
#include "meniscus/mesh/refinement/uniform_subdivision.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace meniscus::collision {

class SubdivisionLocator {
 public:
  /// The mesh at rest. Copies what it needs.
  SubdivisionLocator(const mesh::UniformSubdivision<4>& subdivision, std::span<const mesh::Point> vertices);

  SubdivisionLocator(const SubdivisionLocator&) = delete;
  SubdivisionLocator& operator=(const SubdivisionLocator&) = delete;
  ~SubdivisionLocator();

  /// The same mesh at other positions of the coarse vertices, with the coarse tetrahedra whose descendants hold nothing, one
  /// value for each or none at all. Takes the memory of the last such locator that is gone.
  std::unique_ptr<SubdivisionLocator> moved(std::span<const mesh::Point> vertices, std::span<const bool> disabled) const;

  /// The tetrahedra of a level. Hints are numbers of such tetrahedra, or -1; without any, `hints` is empty. Parallel. Throws
  /// InvalidArgument for points that are not finite and hints out of range; then the results are of no use.
  void locate(std::span<const mesh::Point> points, std::span<const std::int32_t> hints, Index level, std::span<std::int32_t> tets,
              std::span<TetWeights> weights) const;

  /// The same for one point, which has to be finite; without a hint, -1. For points that are likely to lie outside of the mesh.
  TetLocation locate(const mesh::Point& p, std::int32_t hint, Index level) const;

  /// A part, in [0, 1], of a straight way beyond which it certainly does not touch the mesh, disabled tetrahedra included; -1
  /// where it touches nothing at all. No more than rounding larger than the last part at which it does, but where a tetrahedron
  /// is flat or too thin for coordinates.
  double last_touch(const mesh::Point& begin, const mesh::Point& end) const;

  /// Whether some tetrahedra are flat, or have another orientation than others. Where not, all ways to a point that stay together
  /// end in the same tetrahedron.
  bool folded() const { return pose_.folded; }

  /// Of a tetrahedron of a level.
  bool disabled(std::int32_t t, Index level) const { return pose_.placements[t >> (3 * level)].kind == Kind::disabled; }

  Index levels() const { return fixed_->levels; }
  Index size() const { return static_cast<Index>(fixed_->tets.size()); }
  /// Bytes held for this pose, and for all locators of the mesh together.
  std::size_t nbytes() const { return pose_.nbytes(); }
  std::size_t shared_nbytes() const;

 private:
  /// What no motion changes.
  struct Fixed {
    std::vector<mesh::Tet> tets;
    std::vector<mesh::Tet> neighbours;
    Index levels = 0;
    /// Of each coarse tetrahedron the diagonals of itself, its children and so on, two bits each, in `stride` bytes.
    std::size_t stride = 0;
    std::vector<std::uint8_t> diagonals;
  };
  /// Barycentric coordinates as a function of position: coordinate k of p is (k == 0) + sum of gradient[d][k] (p - origin)[d].
  struct alignas(64) AffineMap {
    std::array<std::array<double, 4>, 3> gradient;
    std::array<double, 3> origin;
    /// A point is certainly inside if all coordinates exceed this; infinite for what holds nothing and where nothing is certain.
    double margin;
  };
  enum class Kind : std::int8_t { enabled, disabled, flat };
  struct Placement {
    Kind kind = Kind::flat;
    std::int8_t orientation = 0;
  };
  /// What a motion changes.
  struct Pose {
    std::vector<mesh::Point> vertices;
    std::vector<AffineMap> maps;
    /// Bounds of the error of coordinates in and near each tetrahedron; infinite where they are not computed.
    std::vector<double> errors;
    std::vector<Placement> placements;
    std::vector<mesh::Box> boxes;
    bool folded = false;
    mesh::BoxTree tree;

    std::size_t nbytes() const;
  };
  /// The memory of a locator that is gone, for the next one: a new one of the same size costs as much as what it is filled with.
  struct Spare {
    std::mutex mutex;
    std::optional<Pose> pose;
  };

  /// Of the same mesh as the other one, with the pose to be filled.
  SubdivisionLocator(const SubdivisionLocator& other, Pose pose);

  /// A descendant on the way down: its path below the coarse tetrahedron, and the coordinates there. The point is certainly
  /// inside if they all exceed the limit.
  struct Descent {
    TetWeights b{};
    std::int32_t coarse = 0;
    std::int32_t path = 0;
    double limit = std::numeric_limits<double>::infinity();
  };

  TetCorners corners(std::int32_t t) const;
  void place(std::int32_t t, bool disabled);
  void place_all(std::span<const bool> disabled);
  TetWeights coordinates(const mesh::Point& p, std::int32_t t) const;
  TetWeights coordinates_at(const mesh::Point& p, std::int32_t t) const;
  std::size_t diagonal(std::int32_t coarse, Index before, std::int32_t path) const;
  void descend(Descent& d, Index before) const;
  std::array<int, 4> sides(const mesh::Point& p, std::int32_t t) const;
  TetLocation first_descendant(const mesh::Point& p, const TetCorners& corner, const Descent& d, Index depth, Index level) const;
  TetLocation resolve(const mesh::Point& p, std::int32_t coarse, Index level) const;
  TetLocation walk(const mesh::Point& p, std::int32_t coarse, Index level) const;
  TetLocation first_around(const mesh::Point& p, std::int32_t coarse, Index level) const;
  TetLocation search(const mesh::Point& p, Index level) const;
  Descent enter(const mesh::Point& p, std::int32_t coarse, double growth) const;
  void fetch(std::int32_t coarse) const;
  TetLocation locate_slowly(const mesh::Point& p, std::int32_t coarse, Index level) const;

  std::shared_ptr<const Fixed> fixed_;
  std::shared_ptr<Spare> spare_;
  Pose pose_;
};

}  // namespace meniscus::collision
