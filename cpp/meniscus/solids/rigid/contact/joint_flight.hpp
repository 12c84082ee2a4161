/// Trees of joints that nothing else touches, moved over a step such that energy, momenta and joints keep what they have.
///
/// Bodies turn about their mean angular velocity w by the Cayley map, so that what a joint carries, r, moves by h w x (r + r') /
/// 2: an impulse at the mean of both ends then does the work of the way that it is moved along, and none where the joint keeps
/// its error. Constant forces do theirs, and J w is the mean of the angular momenta of both ends. Second order, symmetric in
/// time; the equations of a tree are solved by Newton's method, with blocks eliminated from the leaves to the root: as many
/// operations as there are joints.
///
/// Sources: Simo and Wong 1991 (rotations); Gonzalez, "Mechanical systems subject to holonomic constraints:
/// differential-algebraic formulations and conservative integration", 1999; Betsch and Steinmann, "Constrained integration of
/// rigid body dynamics", 2001; Baraff 1996 (elimination along a tree).
#pragma once

#include "meniscus/solids/rigid/contact/joint_trees.hpp"

namespace meniscus::solids {

/// Joints and bodies of a system as they are at the start of a step.
struct FlightStart {
  std::span<const Joint> joints;
  std::span<const RigidInertia> inertias;  ///< by bodies
  std::span<const RigidState> states;      ///< before forces act
  std::span<const RigidVelocity> given;    ///< m/s, rad/s: of what forces do not move
  std::span<const RigidVelocity> loads;    ///< N, N m: forces and torques
  double dt = 0;
};

class JointFlight {
 public:
  /// Moves the bodies of tree t. Steps in which they turn far, or whose equations have no solution nearby, are taken in parts.
  /// Writes states and impulses of the end, and returns true; or returns false, where no number of parts does.
  /// `memory` has impulses of the step before, from which the search begins. May be called for several trees at a time.
  bool fly(const JointTrees& trees, std::size_t t, const FlightStart& start, std::span<RigidState> ends,
           std::span<JointMemory> memory);
  /// Makes room for the bodies of all trees.
  void begin(const JointTrees& trees) { links_.resize(trees.links()); }
  Index nbytes() const;

 private:
  using Vector6 = Vec<double, 6>;
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector12 = Vec<double, 12>;
  /// A vector that a body carries, in axes of the world.
  struct Carried {
    Vector3 start, mean, end;
    Eigen::Matrix3d slope;  ///< of the mean with the mean angular velocity; half of that of the end
  };
  /// A body of a tree with the joint towards its root, as unknowns of a part of a step.
  struct Link {
    RigidState state;               ///< at the start of the part
    Eigen::Matrix3d turn, inertia;  ///< there, in axes of the world
    Vector3 velocity, spin;         ///< means over the part
    Eigen::Matrix3d mean;           ///< what is carried, from the start to the mean of both ends
    Vector6 impulse, total;         ///< half of those of the part; sums over the parts
    // Newton's equations: of the body, of the joint, and with the parent.
    Vector6 lack, miss;
    Matrix6 own, rows, slopes;  ///< d lack / d body; rows of the joint at the mean, and slopes of its error, on the body
    Matrix6 parent_rows, parent_slopes, from_parent, to_parent;
    Vector12 solved;
    Eigen::Matrix<double, 12, 6> response;
  };
  struct Tree;
  bool fly_part(const Tree& tree, double from, double h);
  void place_bodies(const Tree& tree, double h);
  void place_joint(const Tree& tree, std::size_t i, double from, double h);
  double update(const Tree& tree, double h);
  Carried carried(const Link* l, const FormPose* base, const Vector3& own, double h) const;

  std::vector<Link> links_;
};

}  // namespace meniscus::solids
