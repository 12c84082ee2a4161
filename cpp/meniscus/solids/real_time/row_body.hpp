/// Bodies with many vertices and few degrees of freedom, as rows of contact move them.
///
/// With the generalised mass M = L L^T and the directions D of a point (its velocity is D u), rows work with z = L^T dx, the
/// displacement of the substep in coordinates in which the mass is one, and B = L^-1 D^T: a point moves by B^T z, an impulse p
/// there (kg m, over the substep) adds B p to z, and the inverse mass along n is |B n|^2. For a rigid body that is 1/m + (r x n)
/// . J^-1 (r x n); for a node, 1/m.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 6.3 (inverse mass along a direction); Deul, Charrier and Bender,
/// "Position-based rigid-body dynamics", 2016 (impulses of positions on rigid bodies).
#pragma once

#include "meniscus/solids/reduced/reduced_motion.hpp"
#include "meniscus/solids/rigid/contact/body_motion.hpp"

namespace meniscus::solids {

/// A point of a surface by vertices, numbered as those of the body, with signed weights; and where it is.
struct RowPoint {
  std::span<const std::int32_t> vertices;
  std::span<const double> weights;
  Vector3 place;
};

using RowBlock = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, 3>>;

class RowBody {
 public:
  virtual ~RowBody() = default;

  /// Length of z; 0 for a body that nothing moves.
  virtual Index degrees() const = 0;
  /// Whether `prepare` must be told before `write` which vertices occur in points.
  virtual bool prepares() const { return false; }
  /// Vertices, each once, and where they are.
  virtual void prepare(std::span<const std::int32_t> /*vertices*/, std::span<const Vector3> /*places*/) {}
  /// Sets B times `axes`, whose columns are directions in space: (degrees, 3).
  virtual void write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const = 0;
};

/// A rigid body where it will be without contact. Its momenta change by what z says over the length of the substep.
class RigidRowBody final : public RowBody {
 public:
  Index degrees() const override { return inverse_mass_ > 0 ? 6 : 0; }
  void write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const override;

  /// Begins a substep with the predicted state.
  void begin(const RigidState& predicted, const RigidInertia& inertia);
  /// What z moves (m) and turns (rad) the body by, and the reverse.
  void read(std::span<const double> z, Vector3& moved, Vector3& turned) const;
  void store(const Vector3& moved, const Vector3& turned, std::span<double> z) const;
  /// Moves the state by z, and changes its momenta by that over h seconds.
  void take(std::span<const double> z, double h, RigidState& state) const;
  /// Moves and turns the state alone.
  static void shift(const Vector3& moved, const Vector3& turned, RigidState& state);

 private:
  double inverse_mass_ = 0, root_ = 0;
  Vector3 centre_ = Vector3::Zero();
  /// L with J^-1 = L L^T, in axes of the world.
  Eigen::Matrix3d factor_ = Eigen::Matrix3d::Zero();
};

/// A reduced body in the middle of a step, after `predict`. `nodes` are those of the vertices.
class ReducedRowBody final : public RowBody {
 public:
  ReducedRowBody(ReducedMotion& motion, std::vector<std::int32_t> nodes) : motion_(&motion), nodes_(std::move(nodes)) {}

  Index degrees() const override { return motion_->degrees(); }
  bool prepares() const override { return true; }
  /// B of vertices: that of a point is their mean, since its place is.
  void prepare(std::span<const std::int32_t> vertices, std::span<const Vector3> places) override;
  void write(const RowPoint& point, const Eigen::Matrix3d& axes, RowBlock out) const override;

  /// Begins a substep: where the frame will be, and how it is turned now.
  void begin();
  /// Changes momenta and rates by what z says over h seconds, and ends the step of the body.
  void take(std::span<const double> z, double h);

  ReducedMotion& motion() { return *motion_; }
  std::span<const std::int32_t> nodes() const { return nodes_; }
  Index nbytes() const {
    return static_cast<Index>(nodes_.capacity() * sizeof(std::int32_t) + blocks_.capacity() * sizeof(double));
  }

 private:
  ReducedMotion* motion_;
  std::vector<std::int32_t> nodes_;
  Vector3 centre_ = Vector3::Zero();
  Eigen::Matrix3d turn_ = Eigen::Matrix3d::Identity();
  Eigen::VectorXd change_, impulse_;
  /// B of vertices in axes of the frame, (degrees, 3) each.
  std::vector<double> blocks_;
};

}  // namespace meniscus::solids
