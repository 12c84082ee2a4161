/// Repulsion of surfaces: impulses between elements that are closer than their thickness, in every time step, with a memory of
/// the side on which they were.
///
/// All surfaces are one `CollisionMesh`; `ContactNodes` says how its vertices yield. `find` takes positions without collisions
/// and stores the pairs within a generous thickness, with their orientation. Until the next `find`, `push` and `rub` act on the
/// velocities of the nodes in every step: elements that pass each other are pulled back to the side they came from. Both work on
/// pair after pair with the newest velocities: all vertex-face pairs, colour by colour, within a colour by ascending vertex and
/// face; then all edge-edge pairs likewise. Pairs of one colour have no yielding node in common, so the pairs of a colour are
/// done in parallel with the bits of that serial order.
///
/// A pair is an element at distance d from another along the normal n, and h is its thickness. With weights a of its vertices,
/// relative normal velocity v = n . sum a_i v_i and inverse mass w, the impulses along n are
///   inelastic: -v / w where v < 0;
///   elastic:   min(2 dt k (h - d) / sum a_i^2, (c (h - d) / dt - v) / w) where v < c (h - d) / dt, with k the stiffness and c =
///   0.1; friction:  against the tangential velocity u, min(mu J, |u| / w) with the inelastic impulse J.
///
/// Thickness of an element is the least of its vertices'; that of a pair is the mean of its elements'. Friction of an element is
/// the mean of its vertices', that of a pair the geometric mean of its elements'.
///
/// Sources: Selle 2008, section 6.4, equations 6.1 and 6.2; Bridson, Fedkiw and Anderson, "Robust treatment of collisions,
/// contact and friction for cloth animation", 2002, section 7.2 and 7.4; Brochu 2012, section 3.2.7.
#pragma once

#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/contact/contact_nodes.hpp"
#include "meniscus/collision/contact/repulsion_pairs.hpp"
#include "meniscus/collision/contact/surface_grid.hpp"

namespace meniscus::collision {

/// Position, velocity and inverse mass of a vertex in one line of memory.
struct alignas(64) PackedVertex {
  double position[3];
  double velocity[3];
  double inverse_mass;
  double unused;
};

/// Rules of the elastic impulse.
enum class ElasticRule : std::int8_t {
  /// As above: at most a part c of the overlap goes in a step, for any masses.
  corrected,
  /// As printed: with one common mass m for all nodes, and twice the second term, which is then m (c (h - d) / dt - v)
  /// distributed like
  /// the spring's. So up to 2 c of the overlap goes, and momentum is conserved only if the masses are equal.
  literal,
  /// The whole overlap goes in a step, without a spring (Brochu).
  full_gap,
};

/// Signs that two edges have passed each other.
enum class EdgeHistory : std::int8_t {
  /// The shortest vector between them has turned, and the volume of their tetrahedron has changed sign. A pair of edges that
  /// rotates
  /// as one body is on its old side.
  sided,
  /// The vector has turned, as printed.
  direction,
};

struct RepulsionOptions {
  /// Stiffness k of the spring between two elements, N/m.
  double stiffness = 30;
  /// The part c of the overlap that goes in a step.
  double part = 0.1;
  ElasticRule elastic = ElasticRule::corrected;
  /// Of the literal rule, kg. 0 for the mean of all nodes that can move.
  double common_mass = 0;
  /// `find` looks for pairs within this multiple of the thickness, and `margin` (m) more.
  double generous = 1.1;
  double margin = 0;
  /// False: pairs of one surface that would be found at rest have no margin: in a flat sheet these are many, and of no use.
  bool margin_at_rest = true;
  /// False: the current positions tell the side, so that elements that have passed each other are pushed on.
  bool history = true;
  EdgeHistory edge_history = EdgeHistory::sided;
  /// Edges have turned where the scalar product of their direction in `find` and the current one is below this: -1.5 for never, 0
  /// for soon.
  double flip = -0.5;
  /// Pairs that are inverted deeper than this multiple of the thickness are left alone: at a tenth of the overlap in a step they
  /// would not come back within 16 steps.
  double reach = 4;
  /// The thickness of a vertex is at most this multiple of the shortest of its edges at rest; that of a pair of elements of one
  /// connected surface, this multiple of their distance at rest, so that a surface at rest does not repel itself.
  /// Infinite for surfaces that have no shape at rest.
  double clamp = 0.9;
  /// `find` allows for motion of at most this multiple of the thickness of a vertex, which bounds the number of pairs.
  double most_motion = 8;
  /// Whether that is the greatest thickness: else vertices without thickness count as moving with the mean of all others.
  bool bare_motion = false;
  /// With bodies: whether edges of soft surfaces are paired with other edges; vertices and faces always are.
  bool soft_edges = true;
};

/// Counts of a call.
struct RepulsionReport {
  /// Pairs of the last `find`.
  Index pairs = 0;
  /// Of these, within their thickness now, or inverted.
  Index active = 0;
  /// Of these, on the wrong side.
  Index inverted = 0;
  /// Pairs that took an impulse.
  Index impulses = 0;
  /// Greatest h - d of the active pairs, m; 0 without any.
  double largest_overlap = 0;
};

/// What a node stands on: the mean over its pairs with elements that do not yield.
struct NodeSupport {
  std::int32_t node = 0;
  /// Away from those elements, of length 1.
  mesh::Point normal;
  /// Of those elements, m/s.
  mesh::Point velocity;
  /// Coefficient.
  double friction = 0;
  /// Least distance from them minus thickness, m.
  double gap = 0;
};

/// Calls from several threads wait for each other; `pairs` and `vertices` are for callers without such threads.
class Repulsion {
 public:
  /// A surface with positions at rest (m), thickness (m) and coefficient of friction of each vertex. Throws InvalidArgument for
  /// arrays of different lengths, and for values and options that are negative or not finite (`reach` may be infinite).
  Repulsion(const CollisionMesh& mesh, std::span<const mesh::Point> rest, std::span<const double> thickness,
            std::span<const double> friction, const RepulsionOptions& options);

  /// Says which vertices belong to bodies that move in few coordinates: their numbers, from 0, and -1 for others, which are
  /// soft. `find` leaves out pairs within a body, those of soft surfaces and a body that is `apart` (flags of bodies), and those
  /// within one soft surface that are near each other at rest (`SurfaceGrid`).
  void set_bodies(const CollisionMesh& mesh, std::span<const std::int32_t> body_of_vertex, std::span<const std::uint8_t> apart);

  const RepulsionOptions& options() const { return options_; }

  /// Thickness of the vertices after the clamp, m.
  std::span<const double> thickness() const { return surface_.thickness; }
  std::span<const double> friction() const { return surface_.friction; }
  std::span<const mesh::Point> rest() const { return surface_.rest; }
  /// Vertices whose thickness was too great for their edges.
  Index clamped() const { return clamped_; }

  /// Stores the pairs of elements of the mesh that are near each other at positions without collisions, m; pairs of which no
  /// vertex yields are left out. If it throws, there are no pairs.
  ///
  /// With `motion`, the displacements (m) of the vertices until the next `find`, also pairs that come near each other along it
  /// and face each other. Motion against the mean of all vertices that yield is cut to `most_motion` times the thickness.
  void find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions,
            std::span<const mesh::Point> motion = {});

  /// Pairs of the last `find` that were not near each other yet.
  Index approaching() const { return size() == 0 ? 0 : finder_.approaching(); }

  /// Forgets the pairs.
  void forget();

  /// Pairs of a kind, in the order in which they are worked on.
  const RepulsionPairs& pairs(PairKind kind) const { return pairs_[kind == PairKind::vertex_face ? 0 : 1]; }
  Index size() const { return pairs_[0].size() + pairs_[1].size(); }
  /// A copy, with vertices in place of places.
  RepulsionPairs copy_of_pairs(PairKind kind) const;
  /// Vertices of pairs, ascending.
  std::span<const std::int32_t> vertices() const { return vertices_; }

  /// Applies inelastic and elastic impulses to the velocities of the nodes (m/s), for vertices at `positions` (m) and a step dt
  /// (s). The nodes must be those of `find`; masses may have changed, but no node may yield that did not. If it throws, the
  /// velocities are unchanged.
  RepulsionReport push(const ContactNodes& nodes, std::span<const mesh::Point> positions, std::span<mesh::Point> velocities,
                       double dt);

  /// Applies inelastic impulses and friction, as `push` does.
  RepulsionReport rub(const ContactNodes& nodes, std::span<const mesh::Point> positions, std::span<mesh::Point> velocities);

  /// What the nodes stand on, in pairs within `wider` times their thickness, ascending; the velocities are those of the nodes,
  /// m/s. Left out are nodes between elements that press against each other. The nodes must be those of `find`.
  std::vector<NodeSupport> supports(const ContactNodes& nodes, std::span<const mesh::Point> positions,
                                    std::span<const mesh::Point> velocities, double wider);

  Index nbytes() const;

 private:
  void clear();
  /// Fills `looking_`.
  void look_for_others();
  /// Fills `motion_`, and `middle_` with positions in the middle of it; lets `growth_` reach its ends.
  void follow(std::span<const mesh::Point> positions, std::span<const mesh::Point> motion);
  RepulsionReport sweep(const ContactNodes& nodes, std::span<const mesh::Point> positions, std::span<mesh::Point> velocities,
                        double dt, bool friction);
  void require_matching(const ContactNodes& nodes, std::span<const mesh::Point> positions) const;
  /// Lists the vertices of all pairs, and turns those of pairs into places in the list.
  void number_vertices(std::size_t vertices);
  void pack(const ContactNodes& nodes, std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities);

  mutable std::mutex mutex_;
  RepulsionOptions options_;
  RepulsionSurface surface_;
  Index clamped_ = 0;
  /// Whether some edge is in no face.
  bool ends_ = false;
  std::array<RepulsionPairs, 2> pairs_;
  std::vector<std::int32_t> vertices_;
  std::vector<std::int32_t> place_;
  /// Flags of nodes and of vertices that yielded in `find`.
  std::vector<std::uint8_t> yielding_nodes_;
  std::vector<std::uint8_t> yielding_;
  /// With bodies: vertices of elements that look for others; the greatest body, and whether it has more vertices than soft
  /// surfaces have.
  std::vector<std::uint8_t> looking_;
  std::int32_t greatest_ = -1;
  bool mostly_bodies_ = false;
  double thickest_ = 0;  ///< m
  SurfaceGrid grid_;
  std::vector<double> growth_;
  /// The same without motion.
  std::vector<double> resting_;
  /// Displacements that `find` allows for, and places in the middle of them.
  std::vector<mesh::Point> motion_, middle_;
  PairFinder finder_;
  Block<PackedVertex> packed_{0};
  /// Velocities of nodes during a sweep over vertices that are not nodes.
  std::vector<mesh::Point> moved_;
  std::vector<NodeSupport> supports_;
  std::vector<double> shares_;
};

}  // namespace meniscus::collision
