/// Constraints on nodes: fixed, moved along a given path, or sliding in planes. All are exact conditions on velocities, which the
/// linear solves filter out of right-hand sides, residuals and search directions.
///
/// Source: Selle 2008, sections 5.4 and 6.5 (constraints in the conjugate gradients); Baraff and Witkin 1998, section 5.3.
#pragma once

#include "meniscus/solids/node_fields.hpp"

#include <map>
#include <vector>

namespace meniscus::solids {

enum class NodeHold : std::uint8_t {
  free,
  fixed,    ///< does not move
  moved,    ///< follows a path
  sliding,  ///< keeps its velocity across one, two or three directions zero
};

/// The moved nodes during one step, in the order of `Constraints::moved`. All empty: they stay where they are.
struct NodeMotion {
  /// At the middle and at the end of the step, m.
  ConstPoints middle, end;
  /// At the start, in the middle and at the end, m/s.
  ConstPoints start_velocity, middle_velocity, end_velocity;
};

/// Which nodes of a body are held, and how.
class Constraints {
 public:
  explicit Constraints(Index nodes) : hold_(static_cast<std::size_t>(nodes), NodeHold::free) {}

  Index nodes() const { return static_cast<Index>(hold_.size()); }

  /// Each takes the place of what held the nodes before. Throws InvalidArgument for an unknown node; then nothing is changed.
  void fix(std::span<const std::int32_t> nodes);
  void move(std::span<const std::int32_t> nodes);
  void release(std::span<const std::int32_t> nodes);

  /// Adds a direction to each node that slides already, and lets the others slide across theirs; one per node, of any length
  /// but zero. A node that is fixed or moved stays so. A third independent direction leaves no freedom. Throws InvalidArgument
  /// for unknown nodes and for normals that are zero or not finite; then nothing is changed.
  void slide(std::span<const std::int32_t> nodes, ConstPoints normals);

  /// Up to three orthonormal directions; those beyond the number held are zero.
  using Directions = std::array<mesh::Point, 3>;

  /// The nodes that slide, ascending, and across which directions.
  std::vector<std::int32_t> sliding() const;
  Directions directions(std::int32_t node) const { return directions_.at(node); }

  /// Lets nodes slide across exactly the directions that another constraint had.
  void restore_sliding(std::span<const std::int32_t> nodes, std::span<const Directions> directions);

  NodeHold hold(Index node) const { return hold_[static_cast<std::size_t>(node)]; }

  /// Everything that is not free, ascending, with the projection onto the velocities that are left to it.
  const std::vector<std::int32_t>& held() const { return held_; }
  const std::vector<Eigen::Matrix3d>& projections() const { return projections_; }

  /// The moved nodes, ascending.
  const std::vector<std::int32_t>& moved() const { return moved_; }

  /// Takes the held components out of a vector per node.
  void project(Points v) const;

  std::size_t nbytes() const;

 private:
  void check(std::span<const std::int32_t> nodes) const;
  void set(std::span<const std::int32_t> nodes, NodeHold hold);
  void rebuild();

  std::vector<NodeHold> hold_;
  std::map<std::int32_t, Directions> directions_;
  std::vector<std::int32_t> held_, moved_;
  std::vector<Eigen::Matrix3d> projections_;
};

}  // namespace meniscus::solids
