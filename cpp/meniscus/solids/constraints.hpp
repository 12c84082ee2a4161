/// Constraints on nodes: fixed, moved along a given path, or sliding in planes. All are exact conditions on velocities, which the
/// linear solves filter out of right-hand sides, residuals and search directions.
///
/// Source: Selle 2008, sections 5.4 and 6.5 (constraints in the conjugate gradients); Baraff and Witkin 1998, section 5.3.
#pragma once

#include "meniscus/solids/node_fields.hpp"

#include <map>
#include <vector>

namespace meniscus::solids {

enum class ConstraintKind : std::uint8_t {
  free,
  fixed,    ///< does not move
  moved,    ///< follows a path
  sliding,  ///< keeps its velocity across one, two or three directions zero
};

/// Paths of the moved nodes during one step, in the order of `Constraints::moved`. All empty: the nodes stay where they are.
struct NodeMotion {
  /// At the middle and at the end of the step, m.
  ConstPoints middle, end;
  /// At the start, in the middle and at the end, m/s.
  ConstPoints start_velocity, middle_velocity, end_velocity;
};

/// Constrained nodes of a body, with the kind of their constraints.
class Constraints {
 public:
  explicit Constraints(Index nodes) : kinds_(nodes, ConstraintKind::free) {}

  Index nodes() const { return static_cast<Index>(kinds_.size()); }

  /// Each replaces earlier constraints of the nodes. Throws InvalidArgument for an unknown node; then nothing is changed.
  void fix(std::span<const std::int32_t> nodes);
  void move(std::span<const std::int32_t> nodes);
  void release(std::span<const std::int32_t> nodes);

  /// Adds a normal direction, of any length but zero, to each of the nodes; a node slides across all its directions. A node that
  /// is fixed or moved stays so. A third independent direction leaves no freedom. Throws InvalidArgument for unknown nodes and
  /// for normals that are zero or not finite; then nothing is changed.
  void slide(std::span<const std::int32_t> nodes, ConstPoints normals);

  /// Up to three orthonormal directions; unused ones are zero.
  using Directions = std::array<mesh::Point, 3>;

  /// The sliding nodes, ascending, and their directions.
  std::vector<std::int32_t> sliding() const;
  Directions directions(std::int32_t node) const { return directions_.at(node); }

  /// Restores the sliding nodes and their directions exactly, from the state of another object.
  void restore_sliding(std::span<const std::int32_t> nodes, std::span<const Directions> directions);

  ConstraintKind kind(Index node) const { return kinds_[node]; }
  /// Of all nodes.
  std::span<const ConstraintKind> kinds() const { return kinds_; }

  /// All constrained nodes, ascending, with the projection onto their free velocities.
  const std::vector<std::int32_t>& constrained() const { return constrained_; }
  const std::vector<Eigen::Matrix3d>& projections() const { return projections_; }

  /// The moved nodes, ascending.
  const std::vector<std::int32_t>& moved() const { return moved_; }

  /// Removes the constrained components from a vector per node.
  void project(Points v) const;

  std::size_t nbytes() const;

 private:
  void check(std::span<const std::int32_t> nodes) const;
  void set(std::span<const std::int32_t> nodes, ConstraintKind kind);
  void rebuild();

  std::vector<ConstraintKind> kinds_;
  std::map<std::int32_t, Directions> directions_;
  std::vector<std::int32_t> constrained_, moved_;
  std::vector<Eigen::Matrix3d> projections_;
};

}  // namespace meniscus::solids
