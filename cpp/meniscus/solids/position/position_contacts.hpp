/// Contact of surfaces with thickness in position based dynamics: vertices stay a thickness away from faces, and edges from
/// edges, on the side on which they were.
///
/// A pair with closest points of weights a (those of the second element negative), normal n from the second to the first on the
/// stored side, and thickness h is the inequality C = n . sum a_i x_i - h >= 0, whose gradients are a_i n: exactly those of the
/// distance, since closest points are where it is least. Printed: the height above the plane of the face, which is the same where
/// the vertex projects into it; edges are ours, and so is the side, which is that when the pair was found, not that of now. Pairs
/// are projected one after the other, vertices and faces first, colour by colour, with the bits of that order.
///
/// Friction bounds the correction against sliding by its coefficient times that along the normal, both summed over the step.
///
/// Vertices may belong to bodies that move as a whole, or in few coordinates. Pairs with such a vertex are not projected here but
/// handed out as rows; those within one body are left out.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 5.4.3; Selle 2008, section 6.4 (sides); Macklin, Müller, Chentanez and
/// Kim, "Unified particle physics for real-time applications", 2014, section 6.1 (friction by positions).
#pragma once

#include "meniscus/collision/contact/repulsion.hpp"
#include "meniscus/solids/position/position_nodes.hpp"

#include <optional>

namespace meniscus::solids {

struct PositionContactOptions {
  /// Pairs are found within this multiple of their thickness, and beyond it by `margin` (m).
  double generous = 1.1;
  double margin = 0;
  /// Pairs that have passed each other by more than this multiple of their thickness are left alone; farther, where vertices move
  /// farther in a substep.
  double reach = 4;
  /// Thickness is at most this multiple of the shortest edge and of the distance at rest.
  double clamp = 0.9;
  /// Greatest velocity at which pairs that begin a step too close are brought apart, m/s.
  double recovery = 1;
  /// Pairs are looked for along motion of at most this multiple of the thickness, which bounds their number.
  double most_motion = 64;
  /// With bodies: whether edges of nodes touch other edges; vertices and faces always do.
  bool soft_edges = true;
};

/// A pair on the wrong side of each other: kind (0 or 1) and elements.
using PassedPair = std::array<std::int32_t, 3>;

struct PositionContactReport {
  Index pairs = 0;
  /// Of these, too close or on the wrong side now.
  Index active = 0;
  Index passed = 0;
  /// Least signed distance over thickness; infinite without a pair that faces each other within its thickness.
  double least = 0;
};

/// A pair with vertices of bodies where it is now: the gap grows by n . sum a_i dx_i.
struct SurfaceRow {
  std::array<std::int32_t, 4> vertices;
  /// Those of the second element are negative.
  std::array<double, 4> weights;
  mesh::Point normal;  ///< from the second element to the first, on the stored side
  double distance;     ///< m; negative on the other side
  double gap;          ///< distance beyond the one that is kept, m
  double apart;        ///< m, of what began the substep too close: what comes apart by places alone
  double friction;
};

class PositionContacts {
 public:
  using Node = PositionNode<double>;
  /// Of the speed of recovery: pairs with bodies come apart by velocities as slow as that, which makes up for what sweeps have
  /// not held, and beyond it by places alone, which throws nothing.
  static constexpr double moving_part = 0.03;

  /// A surface over its vertices, with positions at rest (m), thickness (m) and friction of each. Throws InvalidArgument as
  /// `collision::Repulsion` does.
  PositionContacts(std::optional<std::span<const collision::CollisionMesh::Edge>> edges,
                   std::span<const mesh::Triangle> triangles, std::span<const mesh::Point> rest,
                   std::span<const double> thickness, std::span<const double> friction, const PositionContactOptions& options);

  /// Says which vertices belong to bodies: their numbers, from 0, and -1 for nodes; and which bodies are closed. The side of the
  /// face of a closed body is its outside, whatever the history: what slides around an edge would else be on the wrong side of
  /// the next face. A vertex inside is held by the nearest face alone. Pairs of nodes and bodies that are `apart` are left out:
  /// they touch in another way.
  void set_bodies(std::span<const std::int32_t> body_of_vertex, std::span<const std::uint8_t> closed,
                  std::span<const std::uint8_t> apart);

  /// Stores the pairs that are near each other at the places of the vertices, or come near each other along `motion` (m, until
  /// the next call). Those of `passed`, ascending, which have passed each other, stay on their old side.
  void find(std::span<const Node> vertices, std::span<const mesh::Point> motion, std::span<const PassedPair> passed);
  /// Whether some vertex is farther than allowed from the way that `find` was told, of which a part has gone by.
  bool outdated(std::span<const Node> vertices, double part) const;

  /// Begins a substep from `vertices` to `predicted` places, m. Returns the multiple of the thickness within which pairs that
  /// have passed each other are looked for.
  double begin(std::span<const Node> vertices, std::span<const Node> predicted, double dt);
  /// Projects all pairs once, with the colours in their order or backward; friction is against the ways since `begin`.
  void project(std::span<Node> vertices, bool backward);
  /// Writes the rows of pairs with bodies that may touch in this substep, vertices and faces first, in an order that does not
  /// depend on the number of threads.
  void rows(std::span<const Node> vertices, std::vector<SurfaceRow>& out);
  /// Reflects velocities (m/s) of pairs that were pressed, of which `before` are those at the start of the substep.
  void rebound(std::span<const Node> vertices, std::span<const mesh::Point> before, std::span<mesh::Point> velocities,
               double restitution, double threshold);

  /// Pairs that have passed each other by at most so many thicknesses, ascending.
  std::span<const PassedPair> passed(std::span<const Node> vertices, double reach);
  PositionContactReport report(std::span<const Node> vertices) const;
  const collision::RepulsionPairs& pairs(collision::PairKind kind) const {
    return pairs_[kind == collision::PairKind::vertex_face ? 0 : 1];
  }
  std::span<const double> thickness() const { return repulsion_.thickness(); }
  std::span<const double> friction() const { return repulsion_.friction(); }
  std::span<const mesh::Point> rest() const { return repulsion_.rest(); }
  const collision::CollisionMesh& mesh() const { return mesh_; }
  Index size() const { return pairs_[0].size() + pairs_[1].size() + pairs_[2].size() + pairs_[3].size(); }
  /// Pairs of nodes alone that can touch in this substep.
  Index near() const { return static_cast<Index>(work_[0].pairs.size() + work_[1].pairs.size()); }
  Index nbytes() const;

 private:
  /// What the step has done to a pair.
  struct Effect {
    /// Distance that is kept, m; sum of the corrections along the normal over those of the nodes; and those against sliding.
    double kept = 0;
    /// m: part of that by which it comes apart by places alone, if it has a body.
    double apart = 0;
    double pressed = 0;
    std::array<double, 3> rubbed{};
    /// Whether it can touch in this substep.
    bool near = true;
  };
  /// Pairs that can touch in a substep, colour by colour.
  struct Work {
    std::vector<std::int32_t> pairs;
    std::vector<Index> colours;
  };
  void require_vertices(std::size_t n) const;
  void choose(std::size_t kind);
  void separate(std::size_t kind);
  void keep_nearest(std::span<const std::int32_t> list);
  void turn(std::span<const PassedPair> passed);

  PositionContactOptions options_;
  collision::CollisionMesh mesh_;
  collision::Repulsion repulsion_;
  collision::ContactNodes nodes_;
  bool ends_ = false;
  /// Of this substep: multiple of the thickness.
  double reach_ = 0;
  /// Vertices and faces, edges and edges; then those with bodies.
  std::array<collision::RepulsionPairs, 4> pairs_;
  std::array<std::vector<Effect>, 4> effects_;
  std::array<Work, 4> work_;
  /// Empty without bodies.
  std::vector<std::int32_t> bodies_;
  std::vector<std::uint8_t> closed_;
  /// Of pairs of vertices and faces with bodies: whether the face is that of a closed one. Of vertices: the least depth in such.
  std::vector<std::uint8_t> outward_;
  std::vector<double> depths_;
  std::vector<SurfaceRow> candidates_;
  std::vector<PassedPair> passed_;
  std::vector<std::uint8_t> flags_;
  std::vector<double> inverse_masses_;
  /// Places and motion at `find`, and places at `begin`.
  std::vector<mesh::Point> found_, motion_, start_, ways_;
};

}  // namespace meniscus::solids
