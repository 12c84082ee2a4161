/// Bodies of position based dynamics, rigid bodies and reduced bodies that touch, in real time: frames of a bounded number of
/// substeps.
///
/// A substep of h seconds, after `begin_frame`:
///
/// 1. Rigid bodies: impacts, forces, joints and contacts among themselves and with obstacles by their own solver, whose contacts
///    were found once for the frame, and whose impulses go on from substep to substep; every `rigid_every` substeps for as many
///    of them. Then they move.
/// 2. Nodes and reduced bodies move as if nothing touched.
/// 3. Constraints, contacts between nodes, those of nodes with convex bodies, rows with other bodies and planes of obstacles are
///    projected, `iterations` times. Rows move places, and bodies in z.
/// 4. What rows have moved is also momentum: over h seconds. Velocities of nodes are ways over h.
///
/// Between two solves of the rigid bodies rows may push one of them into another; the next solve, which knows their places then,
/// takes that back. Work is bounded: pairs are looked for as a frame begins and `searches` times more, where nodes are far from
/// where they were expected; nothing is iterated until it converges; speeds are cut.
///
/// Sources: Müller, Stam, James and Thürey 2008, sections 1.3, 5.1 and 6.6; Macklin et al., "Small steps in physics simulation",
/// 2019; Müller, Macklin, Chentanez, Jeschke and Kim 2020 (substeps of rigid bodies).
#pragma once

#include "meniscus/solids/position/node_constraints.hpp"
#include "meniscus/solids/position/position_constraints.hpp"
#include "meniscus/solids/position/shape_matching.hpp"
#include "meniscus/solids/real_time/convex_contacts.hpp"
#include "meniscus/solids/real_time/mixed_rows.hpp"
#include "meniscus/solids/rigid/contact/rigid_system.hpp"

#include <variant>

namespace meniscus::solids {

using RealNode = PositionNode<double>;

/// A plane of an obstacle that a vertex stays above during a frame.
struct FramePlane {
  mesh::Point normal;
  double offset;         ///< least n . x as the frame begins, m
  mesh::Point velocity;  ///< of the obstacle, m/s
  double friction;
};
static_assert(sizeof(FramePlane) == 8 * sizeof(double));

/// Nodes that are pulled to places, as a set among constraints.
struct PulledNodes {
  std::span<const std::int32_t> nodes;
  std::span<const mesh::Point> targets;
  std::vector<mesh::Point> multipliers;
  double compliance = 0;
};

/// A closed surface whose inside keeps a volume, as a set among constraints.
struct HeldVolume {
  ClosedVolume surface;
  double multiplier = 0;
  std::vector<mesh::Point> gradient;
};

using ConstraintSet = std::variant<PositionConstraints<double>*, ShapeMatching<double>*, PulledNodes, HeldVolume>;

/// A body of position based dynamics. Spans are those of its owner and stay valid.
struct NodeBody {
  std::span<RealNode> nodes;
  std::span<mesh::Point> velocities, previous;
  mesh::Point gravity = mesh::Point::Zero();
  double max_speed = 0;
  double damping = 0;  ///< 1/s
  std::vector<ConstraintSet> constraints;
  /// Nodes of the vertices of its surface, and the first vertex among those of all surfaces.
  std::vector<std::int32_t> surface;
  Index first = 0;
  /// Nodes on paths, and where they are as the frame begins and ends.
  std::vector<std::int32_t> led;
  std::vector<mesh::Point> from, to;
  /// Rows of vertices (of this surface), ascending, and their planes.
  std::vector<std::int32_t> plane_rows, plane_nodes;
  std::vector<FramePlane> planes;
  std::vector<NodePlane> now;
};

/// The surface of a rigid body: vertices from the centre of mass, in axes of the body.
struct RigidSurfacePart {
  std::int32_t part = 0;  ///< of the system
  std::vector<mesh::Point> vertices;
  Index first = 0;
  bool closed = true;
  /// Whether the form of the part is the surface, and convex: then nodes touch the form.
  bool convex = false;
  double thickness = 0;  ///< m
  double friction = 0;
};

struct ReducedPart {
  ReducedRowBody body;
  Index first = 0;
  ReducedStep step;
  ReducedBounds bounds;
  std::vector<std::int32_t> plane_rows;
  std::vector<FramePlane> planes;
  std::vector<mesh::Point> places;
};

struct FrameRules {
  double dt = 0;
  int substeps = 1;
  int iterations = 1;
  int rigid_every = 1;
  int searches = 1;
  double recovery = 1;     ///< m/s
  double max_speed = 100;  ///< m/s
};

struct FrameReport {
  int substeps = 0;
  int searches = 0;
  Index pairs = 0;     ///< of nodes and bodies, as they were looked for last
  Index rows = 0;      ///< with bodies and planes, of the last substep
  Index pressing = 0;  ///< of these
  /// Of the obstacles on all bodies, N s.
  Vector3 support = Vector3::Zero();
  /// s, of the frame, by stages: rigid bodies; prediction; search; constraints and contacts of nodes; rows; ends.
  std::array<double, 6> seconds{};
};

class PositionsWorld {
 public:
  /// Contacts over the vertices of all surfaces: those of node bodies, rigid bodies and reduced bodies in this order. Both must
  /// outlive the world.
  PositionsWorld(PositionContacts& contacts, RigidSystem& system) : contacts_(&contacts), system_(&system) {}

  std::vector<NodeBody> nodes;
  std::vector<RigidSurfacePart> rigid;
  std::vector<ReducedPart> reduced;

  /// Ends the set-up.
  void finish_setup();

  /// `a` are the states of the rigid system, as they are now; `given` as for `RigidSystem::find_contacts`. `passed`: pairs of
  /// surfaces that had passed each other as the last frame ended, and `depth` how deep, over the thickness.
  void begin_frame(const FrameRules& rules, const RigidArrays& a, const ContactList& given, std::span<const PassedPair> passed,
                   double depth);
  void substep(const RigidArrays& a);
  /// Of the substeps that follow.
  void set_iterations(int iterations) { rules_.iterations = iterations; }
  /// Pairs that have passed each other now.
  std::span<const PassedPair> end_frame();
  double depth() const { return depth_; }

  FrameReport report() const { return report_; }
  PositionContacts& contacts() { return *contacts_; }
  Index nbytes() const;

 private:
  void place_all(const RigidArrays& a, std::span<RealNode> out);
  void place_rigid(const RigidArrays& a, std::span<RealNode> out);
  void gather_nodes(std::span<RealNode> out);
  void scatter_nodes();
  void move_rigid(const RigidArrays& a, double h);
  void predict(double h);
  void search(double h);
  void set_planes(double h);
  void start_convex(const RigidArrays& a);
  void predict_convex(const RigidArrays& a);
  void sweep_convex(bool recovering);
  void recover(const RigidArrays& a);
  void project(double h);
  void take(const RigidArrays& a, double h);
  void add_support(double h);

  PositionContacts* contacts_;
  RigidSystem* system_;
  FrameRules rules_;
  FrameReport report_;
  int done_ = 0;
  /// Substeps since pairs were looked for, and those it was for.
  int gone_ = 0, ahead_ = 0, searched_ = 0;
  double depth_ = 0;
  std::vector<RealNode> start_, x_;
  std::vector<mesh::Point> motion_;
  std::vector<std::int32_t> body_of_vertex_, vertex_in_body_;
  std::vector<RigidRowBody> rigid_bodies_;
  std::vector<RowBody*> bodies_;
  std::vector<SurfaceRow> contact_rows_;
  std::vector<BodyPlane> body_planes_;
  MixedRows rows_;
  ConvexContacts convex_;
  /// Of each convex body its number among the rigid ones.
  std::vector<std::size_t> convex_rigid_;
  std::vector<Vector3> shifts_;
  std::vector<PassedPair> passed_;
};

}  // namespace meniscus::solids
