/// Rows of contact between nodes, rigid bodies and reduced bodies, and of these with planes of obstacles.
///
/// A row is the inequality C = g + n . sum a_i dx_i >= 0 at the places where it was made; n and a stay what they are during the
/// substep. Sweeps go over all rows one after the other with the newest places (projected Gauss-Seidel with accumulated
/// impulses), forward or backward, so that the bits do not depend on threads; making rows, which costs most, is parallel.
/// Friction sticks, or slides with the coefficient times what presses, against the way that the points have slid in the substep.
///
/// An impulse acts with opposite signs on the two elements, at two points on one line along n: linear momentum is conserved to
/// rounding, and angular momentum as far as nothing rubs; what rubs acts at both points, a thickness apart.
///
/// Sources: Macklin, Müller, Chentanez and Kim 2014, section 6.1 (friction by positions); Müller, Macklin, Chentanez, Jeschke and
/// Kim, "Detailed rigid body simulation with extended position based dynamics", 2020; Müller, Stam, James and Thürey 2008,
/// section 6.6.
#pragma once

#include "meniscus/solids/position/position_contacts.hpp"
#include "meniscus/solids/real_time/row_body.hpp"

namespace meniscus::solids {

/// Which bodies the vertices of a surface belong to.
struct RowSurface {
  /// -1 for nodes.
  std::span<const std::int32_t> body_of_vertex;
  /// Numbers of the vertices among those of their bodies.
  std::span<const std::int32_t> vertex_in_body;
  std::span<RowBody* const> bodies;
  /// Places at the start of the substep, m.
  std::span<const PositionNode<double>> start;
};

/// A vertex of a body above a plane of an obstacle.
struct BodyPlane {
  std::int32_t vertex;
  mesh::Point normal;
  double gap;       ///< m
  mesh::Point way;  ///< of the obstacle in the substep, m
  double friction;
};

class MixedRows {
 public:
  /// Makes rows of contacts and planes, whose vertices are at `places`. z of all bodies is zero then.
  void make(const RowSurface& surface, std::span<const SurfaceRow> contacts, std::span<const BodyPlane> planes,
            std::span<const PositionNode<double>> places);
  /// Goes over all rows once; nodes move, and z of bodies.
  void sweep(std::span<PositionNode<double>> places, bool backward);
  /// Goes over those that began the substep too close, without friction, and moves nodes and bodies of six degrees of freedom or
  /// fewer; what this moves is no velocity.
  void recover(std::span<PositionNode<double>> places);
  /// z of a body, empty if nothing moves it.
  std::span<const double> displacement(std::size_t body) const;
  std::span<double> displacement(std::size_t body);

  Index size() const { return static_cast<Index>(rows_.size()); }
  /// Rows that press.
  Index pressing() const;
  /// Sum of the impulses of planes, kg m.
  Vector3 of_planes() const;
  Index nbytes() const;

 private:
  struct Row {
    /// Normal and tangents as columns.
    Eigen::Matrix3d axes;
    /// Of nodes only; -1 where there are fewer.
    std::array<std::int32_t, 4> node;
    std::array<double, 4> weight;
    std::array<std::int32_t, 2> body;
    std::array<Index, 2> block;
    Vector3 base;            ///< C, and the slip, without nodes and bodies
    Vector3 coupling;        ///< first row of the inverse mass
    Eigen::Matrix2d across;  ///< inverse of that of the tangents
    double friction;
    double apart;  ///< m
    Vector3 impulse;
  };
  void set(Row& row, const RowSurface& surface, const SurfaceRow* contact, const BodyPlane* plane,
           std::span<const PositionNode<double>> places);

  void prepare(const RowSurface& surface, std::span<const SurfaceRow> contacts, std::span<const BodyPlane> planes,
               std::span<const PositionNode<double>> places);

  std::vector<Row> rows_;
  std::size_t contacts_ = 0;
  /// Of bodies that prepare: their vertices in rows, and places; and a flag of all vertices.
  struct Used {
    std::vector<std::int32_t> vertices;
    std::vector<Vector3> places;
  };
  std::vector<Used> used_;
  std::vector<std::uint8_t> seen_;
  std::vector<double> blocks_, z_;
  std::vector<Index> first_;
};

}  // namespace meniscus::solids
