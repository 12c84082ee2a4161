/// Contacts of nodes with convex rigid bodies, by signed distances in the axes of the bodies.
///
/// A candidate is a body with nodes, edges and triangles near it; these are found once for several substeps, from boxes around
/// their expected ways. In a substep each candidate node has a row with the plane of the body that it stays above; each edge
/// whose ends are above different faces, one where it crosses an edge of the body; and each triangle of which the corners are
/// above different faces, one with a vertex of the body below it. What is inside comes out through the face that was nearest as
/// the substep began, what goes in or through is held by the face where it went in: the side is known from places alone.
///
/// A row is n . (x - y) >= h for the point x of the cloth and the point y of the body, with friction against the way of both
/// since the start of the substep. Both impulses act at x, so that linear and angular momentum are conserved.
///
/// What began a substep too close stays as close, and then comes apart at a bounded speed by a sweep that moves places alone: a
/// velocity of it would throw what rests.
///
/// Rows are swept body by body. Bodies without a yielding node in common have one colour and are swept at the same time.
///
/// Sources: Müller, Stam, James and Thürey 2008, sections 5.4.3 and 6.6; Macklin, Müller, Chentanez and Kim, "Unified particle
/// physics for real-time applications", 2014, section 6.1 (friction, signed distances).
#pragma once

#include "meniscus/numerics/graph/colouring.hpp"
#include "meniscus/solids/position/position_nodes.hpp"
#include "meniscus/solids/real_time/convex_distance.hpp"

#include <memory>

namespace meniscus::solids {

/// Surfaces of bodies of nodes, over all vertices.
struct NodeSurfaces {
  std::vector<std::int32_t> vertices;
  std::vector<mesh::Point> rest;  ///< m, of all vertices
  std::vector<std::array<std::int32_t, 2>> edges;
  std::vector<mesh::Triangle> triangles;
  std::vector<double> thickness, friction;  ///< of all vertices
};

struct ConvexBody {
  std::shared_ptr<const RigidForm> form;
  double thickness = 0;
  double friction = 0;
};

/// Of a substep: where the body was and is expected, and how it yields.
struct ConvexMotion {
  FormPose start, now;
  double inverse_mass = 0;
  Eigen::Matrix3d inverse_inertia = Eigen::Matrix3d::Zero();  ///< in axes of the world
  /// What rows have moved and turned it by, m and rad.
  Vector3 moved = Vector3::Zero(), turned = Vector3::Zero();
};

class ConvexContacts {
 public:
  using Node = PositionNode<double>;

  void set_up(NodeSurfaces surfaces, std::vector<ConvexBody> bodies);
  bool empty() const { return bodies.empty() || surfaces_.vertices.empty(); }

  std::vector<ConvexBody> bodies;
  /// Of each body, set by the owner before each substep.
  std::vector<ConvexMotion> motions;

  /// Finds candidates for so many substeps, of which the first goes from `start` to `predicted`.
  void find(std::span<const Node> start, std::span<const Node> predicted, int substeps);
  /// Whether something that is predicted is not within its expected way.
  bool outdated(std::span<const Node> predicted) const;

  /// Makes the rows of a substep of nodes that began it at `start`; what is too close comes apart by at most `apart` (m).
  void make(std::span<const Node> start, std::span<const Node> places, double apart);
  /// Goes over all rows once: nodes move, and bodies in their motions.
  void sweep(std::span<Node> places);
  /// Goes over those that began the substep too close, without friction: what this moves is no velocity.
  void recover(std::span<Node> places);

  Index size() const;
  Index pressing() const;
  Index colours() const { return colouring_.size(); }
  /// Pairs of a node and a body near each other.
  Index candidates() const { return static_cast<Index>(slots_.size()); }
  Index nbytes() const;

 private:
  struct Row {
    std::array<std::int32_t, 3> node;
    std::array<double, 3> weight;
    int nodes;
    double friction;
    Vector3 normal, base, slip, arm;
    double gap;       ///< m, where all is at `base`
    double apart;     ///< m, by which places alone come apart
    double inverse;   ///< of the nodes, along any direction
    double response;  ///< along the normal
    double pressed;
    Vector3 rubbed;
  };
  /// A vertex near a body: where it is in the axes of the body.
  struct Slot {
    std::int32_t vertex;
    std::int32_t face;  ///< the highest one
    double reach;       ///< distance that is kept, m
    double height;      ///< above the face, m
    Vector3 now;
  };
  struct Swept {
    mesh::Box box;
    std::array<int, 3> low, high;  ///< cells
  };
  /// Elements that are not longer than twice the slack are near where one of their vertices is; others are looked for.
  template <std::size_t n>
  struct Elements {
    using Element = std::array<std::int32_t, n>;
    /// Long ones, and the others by their vertices: those of vertex v are those from `first[v]` on.
    std::vector<Element> coarse, fine;
    std::vector<std::int32_t> first, around;
    /// Of candidates: slots, and where those of each body begin.
    std::vector<Element> slots;
    std::vector<Index> slot_first;
    void set_up(const std::vector<Element>& all, std::size_t vertices, const std::vector<mesh::Point>& rest, double longest);
    Index nbytes() const;
  };
  /// Elements of a kind near bodies: pairs (body, element), by body, and where those of each body begin.
  struct Near {
    std::vector<std::vector<std::array<std::int32_t, 2>>> found;
    std::vector<std::int32_t> elements;
    std::vector<Index> first;
  };
  mesh::Box box_of(const ConvexBody& body, const FormPose& pose, double slack) const;
  void fill_cells();
  template <class Vertices>
  void find_elements(Index count, Near& out, Vertices&& vertices_of);
  void number_slots();
  std::int32_t slot_of(std::size_t body, std::int32_t vertex);
  template <std::size_t n>
  void number_elements(std::size_t body, const Near& near, Elements<n>& of, std::size_t first, std::size_t end);
  void colour(std::span<const Node> start);
  void make_rows(std::size_t body, std::span<const Node> start, std::span<const Node> places, double apart);
  void add_row(std::size_t body, std::span<const Slot* const> slots, std::span<const double> weights, const FormPlane& plane,
               double h, std::span<const Node> start, std::span<const Node> places, double apart);
  void sweep_body(std::size_t body, std::span<Node> places, bool recovering);
  static void add_impulse(const Row& row, const Vector3& impulse, std::span<Node> places, ConvexMotion& m);
  void sweep_all(std::span<Node> places, bool recovering);

  NodeSurfaces surfaces_;
  std::vector<mesh::Box> local_;  ///< of the forms
  double slack_ = 0, most_ = 0;   ///< m
  // Candidates.
  std::vector<mesh::Box> ways_;  ///< of vertices
  std::vector<Swept> swept_;     ///< of bodies
  Vector3 origin_ = Vector3::Zero();
  double cell_ = 1;
  std::array<int, 3> cells_{};
  std::vector<std::int32_t> cell_first_, cell_bodies_;
  Near near_vertices_, near_edges_, near_triangles_;
  Elements<2> edges_;
  Elements<3> triangles_;
  std::vector<Slot> slots_;
  std::vector<Index> slot_first_;
  std::vector<std::int32_t> stamp_, slot_of_;
  std::vector<std::int32_t> order_;
  numerics::Colouring colouring_;
  std::vector<std::vector<Row>> rows_;
};

}  // namespace meniscus::solids
