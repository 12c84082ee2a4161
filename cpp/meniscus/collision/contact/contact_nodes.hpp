/// Nodes behind the vertices of surfaces in contact: how each vertex yields to an impulse, and where it ends.
///
/// A vertex is a sum of nodes with fixed weights, whose sum is 1. Free vertices are nodes themselves; vertices of an embedded
/// surface hang in the nodes of a tetrahedron or of a triangle; vertices on given paths are nodes of infinite mass. A node takes
/// an impulse p by the change of velocity W p, where W is its inverse mass, within the directions in which it is free to move.
/// Vertices of a rigid body hang in four nodes that move as one: an impulse changes the velocity and the angular velocity of all.
/// Nodes of a body with few coordinates move by these: an impulse at one of them changes the velocities of all.
///
/// Contacts never ask what kind of body a vertex belongs to: they see nodes only.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace meniscus::collision {

/// A node that a vertex depends on, or a vertex that depends on a node.
struct NodeShare {
  std::int32_t node;
  double weight;
};

/// A node that moves in a plane or on a line only.
struct GuidedNode {
  std::int32_t node;
  /// Projection onto its free directions.
  Eigen::Matrix3d free;
};

/// Four nodes that move as a rigid body. Their own inverse masses only say that they yield.
struct RigidNodes {
  std::array<std::int32_t, 4> nodes;
  /// From the centre of mass to the nodes, m.
  std::array<mesh::Point, 4> arms;
  double inverse_mass;
  /// In axes of the world, 1/(kg m^2).
  Eigen::Matrix3d inverse_inertia;
};

/// Consecutive nodes of a body with few coordinates. An impulse p at node i changes the coordinates by h = G_i^T p, whose mass is
/// the identity, and the velocities of all nodes j by G_j h. Their own inverse masses only say whether they yield.
struct CoupledNodes {
  /// Most coordinates.
  static constexpr Index most = 160;
  using Response = Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::RowMajor>;

  std::int32_t first = 0, count = 0;
  /// One of them that yields, on which all vertices of the body depend, if only with weight 0.
  std::int32_t lead = 0;
  Index coordinates = 0;
  /// G of all nodes, one after the other, 3 rows each, kg^-1/2.
  std::vector<double> response;

  bool has(std::int32_t node) const { return node >= first && node < first + count; }
  Eigen::Map<const Response> of(std::int32_t node) const {
    return {response.data() + 3 * coordinates * (node - first), 3, coordinates};
  }
};

class ContactNodes {
 public:
  ContactNodes() = default;

  /// Every vertex is a node of its own. Inverse masses, 1/kg; 0 for vertices on given paths.
  explicit ContactNodes(std::span<const double> inverse_masses);

  /// `first[v]` to `first[v + 1]` are the shares of vertex v. Throws InvalidArgument for offsets that do not ascend, for nodes
  /// that do not exist, for vertices without shares, with more than four, and for weights whose sum is not 1 within 1e-9.
  ContactNodes(std::span<const double> inverse_masses, std::span<const std::int32_t> first, std::span<const NodeShare> shares);

  Index vertices() const { return static_cast<Index>(first_.size()) - 1; }
  Index nodes() const { return static_cast<Index>(inverse_masses_.size()); }

  /// Whether every vertex is the node of its number.
  bool plain() const { return plain_; }

  std::span<const NodeShare> shares(std::int32_t vertex) const {
    const Index v = vertex;
    return {shares_.data() + first_[v], static_cast<std::size_t>(first_[v + 1] - first_[v])};
  }
  /// Vertices that depend on a node, ascending, each once.
  std::span<const std::int32_t> vertices_of(std::int32_t node) const {
    const Index n = node;
    return {users_.data() + user_first_[n], static_cast<std::size_t>(user_first_[n + 1] - user_first_[n])};
  }

  double inverse_mass(std::int32_t node) const { return inverse_masses_[node]; }
  std::span<const double> inverse_masses() const { return inverse_masses_; }

  /// Sets inverse masses; the number of nodes stays. Throws InvalidArgument for negative ones and NaN, naming the first.
  void set_inverse_masses(std::span<const double> inverse_masses);

  /// Sets the nodes that are not free in all directions, ascending; replaces those before.
  void set_guided(std::span<const GuidedNode> guided);

  /// Whether any node is not free in all directions.
  bool guided() const { return !guided_.empty(); }

  /// Sets the rigid bodies; replaces those before. Every vertex that hangs in one of its nodes has shares of all four and of no
  /// other; weights may be zero. `held` are nodes on given paths that rigid bodies meet all the same, such as pinned nodes of
  /// cloth. Throws InvalidArgument for nodes that do not exist, do not yield, or are in two bodies, for vertices with other
  /// shares, and for held nodes that yield.
  void set_rigid(std::span<const RigidNodes> bodies, std::span<const std::int32_t> held = {});

  std::span<const RigidNodes> rigid() const { return rigid_; }

  /// Sets the bodies with few coordinates; replaces those before. Every vertex that hangs in a node of one has a share of its
  /// lead, and of no node of another body. Throws InvalidArgument for nodes that do not exist or are in two bodies, for a lead
  /// that does not yield, for more coordinates than `CoupledNodes::most`, and for vertices with other shares.
  void set_coupled(std::vector<CoupledNodes> bodies);

  std::span<const CoupledNodes> coupled() const { return coupled_; }

  /// The body with few coordinates of a node, nullptr without.
  const CoupledNodes* coupled_of(std::int32_t node) const {
    for (const CoupledNodes& body : coupled_)
      if (body.has(node)) return &body;
    return nullptr;
  }
  /// The body with few coordinates that a node leads, nullptr without.
  const CoupledNodes* led_by(std::int32_t node) const {
    for (const CoupledNodes& body : coupled_)
      if (body.lead == node) return &body;
    return nullptr;
  }

  /// Whether any nodes move as one.
  bool joint() const { return !rigid_.empty() || !coupled_.empty(); }

  /// The rigid body of a node, -1 without.
  std::int32_t rigid_of(std::int32_t node) const { return rigid_.empty() ? -1 : std::max(-1, rigid_of_[node]); }

  /// Whether a vertex is of a surface whose contact counts: it can move, and not only as part of a rigid body, or rigid bodies
  /// meet it. Contact of rigid bodies with each other and with others on given paths is left to whatever moves them.
  bool counts(std::int32_t vertex) const {
    if (rigid_.empty()) return yields(vertex);
    const std::int32_t first = rigid_of_[shares(vertex).front().node];
    return first == held || (first < 0 && yields(vertex));
  }

  /// The part of a vector along which the node is free.
  mesh::Point free_part(std::int32_t node, const mesh::Point& direction) const {
    const std::int32_t g = guide_.empty() ? -1 : guide_[node];
    return g < 0 ? direction : mesh::Point(guided_[g].free * direction);
  }

  /// Whether any node of the vertex can move.
  bool yields(std::int32_t vertex) const {
    for (const NodeShare& s : shares(vertex))
      if (s.weight != 0 && inverse_mass(s.node) > 0) return true;
    return false;
  }

  /// The position of a vertex, or any other quantity of nodes, at the vertex. Exactly that of the node for plain vertices.
  mesh::Point at_vertex(std::int32_t vertex, std::span<const mesh::Point> of_nodes) const {
    const std::span<const NodeShare> own = shares(vertex);
    if (own.size() == 1) return of_nodes[own[0].node];
    mesh::Point sum = own[0].weight * of_nodes[own[0].node];
    for (std::size_t k = 1; k < own.size(); ++k) sum += own[k].weight * of_nodes[own[k].node];
    return sum;
  }

  /// The same for all vertices, in parallel.
  void at_vertices(std::span<const mesh::Point> of_nodes, std::span<mesh::Point> out) const;

  Index nbytes() const;

 private:
  /// In place of the number of a rigid body.
  static constexpr std::int32_t held = -2;
  void connect();

  std::vector<double> inverse_masses_;
  std::vector<std::int32_t> first_{0};
  std::vector<NodeShare> shares_;
  std::vector<std::int32_t> user_first_{0};
  std::vector<std::int32_t> users_;
  std::vector<std::int32_t> guide_;
  std::vector<GuidedNode> guided_;
  std::vector<RigidNodes> rigid_;
  std::vector<std::int32_t> rigid_of_;
  std::vector<CoupledNodes> coupled_;
  bool plain_ = true;
};

}  // namespace meniscus::collision
