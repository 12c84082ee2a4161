/// Rigid bodies that touch and are joined, as one system: a step as a list of stages, each of which can be called.
///
/// Of a step of h seconds: `find_contacts`; `bounce`: impacts, before forces; `predict`: velocities with forces; `solve`:
/// impulses of joints and contacts; `advance`: positions. With several substeps, pairs of bodies are found once, and their
/// contacts again in each substep where curved surfaces have moved along each other; those of faces follow the bodies.
///
/// Sources: Müller, Stam, James and Thürey 2008, chapter 6; Guendelman, Bridson and Fedkiw 2003, section 3 (order of the stages).
#pragma once

#include "meniscus/collision/broad_phase/broad_phase.hpp"
#include "meniscus/numerics/graph/colouring.hpp"
#include "meniscus/solids/rigid/contact/islands.hpp"
#include "meniscus/solids/rigid/contact/joint_flight.hpp"
#include "meniscus/solids/rigid/contact/lcp.hpp"
#include "meniscus/solids/rigid/contact/velocity_solver.hpp"
#include "meniscus/solids/rigid/direct/island_solve.hpp"
#include "meniscus/solids/rigid/forms/convex_pair.hpp"
#include "meniscus/solids/rigid/forms/mesh_pair.hpp"

#include <memory>

namespace meniscus::solids {

/// A body as the system knows it.
struct RigidPart {
  /// Of contact; a polyhedron has its surface too, for contact with meshes.
  std::shared_ptr<const RigidForm> form, surface;
  RigidSurface properties;
  RigidInertia inertia;  ///< zeros: forces do not move it
  bool dynamic() const { return inertia.inverse_mass > 0; }
};

/// Rows of all bodies. Velocities are those of bodies that forces do not move; momenta those of the others.
struct RigidArrays {
  std::span<RigidState> states;
  std::span<const RigidVelocity> given;
  std::span<const Vector3> forces, torques;
  /// s, how long each body has been slow.
  std::span<double> quiet;
};

struct RigidReport {
  Index pairs = 0;     ///< of bodies whose boxes meet
  Index contacts = 0;  ///< points
  Index groups = 0;    ///< pairs of bodies that touch
  Index impacts = 0;
  Index islands = 0;
  Index asleep = 0;    ///< bodies
  int iterations = 0;  ///< of the last solve
  int colours = 0;
  double residual = 0;  ///< m/s: the largest speed at which surfaces approach after the solve, beyond what is allowed
  double deepest = 0;   ///< m: the largest overlap before the step
  bool exact = true;    ///< whether the exact solver found a solution
  Index direct = 0;     ///< islands whose impulses were found directly, because sweeps left too much
};

class RigidSystem {
 public:
  std::vector<RigidPart> parts;
  std::vector<Joint> joints;
  std::vector<JointMemory> joint_memory;
  ContactOptions options;
  SleepOptions sleep;
  /// Pairs of bodies that do not touch: those of joints, ascending.
  std::vector<std::array<std::int32_t, 2>> apart;
  /// m: contacts of meshes are found within that beyond their thickness, or beyond the nearest places of both.
  double mesh_reach = 0;
  /// Whether trees of joints may be moved as a whole: where `advance` is called once for each `solve`, with all of its time.
  bool whole_flights = true;

  /// Finds all contacts within what bodies go in `dt` seconds, and the islands. `given` groups come from elsewhere: points of
  /// bodies against solids; lists are in order of their bodies.
  void find_contacts(const RigidArrays& a, double dt, const ContactList& given);
  /// In a later substep, after one of h seconds: where curved surfaces have moved since, their contacts are found
  /// again.
  void follow_contacts(const RigidArrays& a, double h, const ContactList& given);
  void bounce(const RigidArrays& a, double h);
  void predict(const RigidArrays& a, double h);
  void solve(const RigidArrays& a, double h);
  /// `solve` with as many iterations as `sweep` is called, so that a clock can end it: with n calls, the bits of n iterations.
  void begin_solve(double h);
  /// Returns whether the tolerance is reached.
  bool sweep(double h);
  void end_solve(const RigidArrays& a);
  void advance(const RigidArrays& a, double h) { advance(a, h, h); }
  /// The same of a part of the time that `predict` and `solve` were called for, `whole` seconds.
  void advance(const RigidArrays& a, double h, double whole);
  /// All stages: contacts once, the others `substeps` times.
  void step(const RigidArrays& a, double dt, int substeps, const ContactList& given);

  const RigidReport& report() const { return report_; }
  /// Contacts with their impulses, which the next step begins with.
  ContactList contacts;
  /// Velocities of all bodies between `predict` and `advance`.
  std::span<RigidVelocity> velocities() { return velocities_; }
  std::span<const WorldInertia> inertias() const { return inertias_; }
  /// m: distance between two bodies, beyond their thickness, up to which `find_contacts` last looked for contacts.
  double margin_of(std::int32_t a, std::int32_t b) const;
  Index nbytes() const;

 private:
  FormPose pose(std::size_t body) const { return {rotations_[body], centers_[body]}; }
  bool awake(std::int32_t body) const { return !asleep_[body]; }
  bool moves(std::int32_t body) const { return parts[body].dynamic() && awake(body); }
  void read(const RigidArrays& a);
  void find_pairs(const RigidArrays& a, double dt);
  void touch(std::size_t pair, Manifold& out, ConvexScratch& convex, MeshScratch& meshes) const;
  /// Contacts of all pairs; those of pairs that `keep` says are as they were.
  template <class Keep>
  void touch_pairs(Keep&& keep);
  /// Lists the contacts of pairs and `given` ones, with the impulses of those before.
  void list_contacts(const ContactList& given);
  void anchor();
  /// m: how far surfaces are from the cores of two bodies, along the normal: of rounded forms, and a part of the thickness.
  std::array<double, 2> rounding(std::array<std::int32_t, 2> bodies) const;
  /// The normal of two balls when they meet within h seconds, with the velocities that they have.
  Vector3 normal_of_balls(std::size_t a, std::size_t b, double distance, double h, const Vector3& otherwise) const;
  /// Leaves out contacts with edges of bodies whose surface is flush with that on which something rests.
  void leave_out_seams();
  void find_islands(const RigidArrays& a);
  void wake_what_is_met(const RigidArrays& a);
  void prepare(double h);
  /// Points of a group that meet first within h seconds, with the speeds that they are to have.
  struct Impact {
    SolverPoint* point;
    double time, before, wanted;  ///< s; m/s: relative velocities now, such that they are right at that time
  };
  std::span<Impact> meeting(const SolverGroup& g, const RigidArrays& a, double h);
  /// Finds what impulses at points of a group do to each other, through joints too.
  void respond(const SolverGroup& g, std::span<const Impact> now);
  void spread_impulses(const SolverGroup& g);
  /// Returns how many points have bounced.
  Index bounce_group(const SolverGroup& g, const RigidArrays& a, double h);
  GroupPoints points_of(const SolverGroup& g);
  /// Sweeps over joints and contacts, colour by colour: joint(k, number, first, second), between(k), which returns whether that
  /// was enough, and group(k, group, first, second) for the k-th sweep, with velocities of the two bodies.
  template <class Joints, class Groups, class Between>
  void sweep_phases(Index sweeps, std::span<RigidVelocity> of, Joints&& joint, Groups&& group, Between&& between);
  /// Sweeps first, ..., last - 1; the one of number 0 adds the impulses of the step before.
  void iterate(Index first, Index last, double h);
  bool converged() const;
  void prepare_rows(double h);
  /// Finds the rows and trees of joints.
  void prepare_joints(double h);
  void begin_joints(double h);
  /// Moves the trees that nothing leans on as wholes, as far as they meet nothing on their way.
  void fly_joints(double h);
  /// Takes from velocities at the start what parts the joints of trees that have not flown before, or that somebody has pushed.
  void match_velocities(double h);
  /// Marks the bodies of trees that nothing leans on.
  void mark_flying();
  bool flies(std::size_t body) const { return !flying_.empty() && flying_[body]; }
  /// Turns a body without a change of its momentum.
  static void turn_in_place(const RigidInertia& inertia, Eigen::Quaterniond q, const Vector3& turn, RigidState& s);
  /// Moves bodies together where velocities have led so far apart that errors of joints are no longer small.
  void close_joints(const RigidArrays& a);
  /// Brings a body to the end of its flight, with what contact has added since; returns its orientation.
  Eigen::Quaterniond land(std::size_t body, double h, RigidState& s) const;
  void solve_exactly();
  /// Finds directly the impulses and pseudo-velocities of islands in which sweeps leave much.
  void solve_islands(const RigidArrays& a);
  Index solve_islands(IslandImpulses which, double enough);
  /// What the last sweep has changed at points, by groups; returns the most, m/s.
  double find_lacks(IslandImpulses which);
  void mark_islands(double enough);
  /// Of the points of groups, m.
  double deepest_overlap(std::span<const std::int32_t> groups);
  bool solve_island(IslandSolve& own, std::span<const std::int32_t> groups, IslandImpulses which, double enough, Index most);
  Index island_bytes() const;
  void push(Index sweeps, double h);
  void store(const RigidArrays& a);
  /// Calls f with the velocities of two bodies; bodies that do not move are not written, since others may read them.
  template <class F>
  void with_bodies(std::array<std::int32_t, 2> b, std::span<RigidVelocity> of, F&& f) const {
    RigidVelocity first = of[b[0]], second = of[b[1]];
    f(first, second);
    if (moves(b[0])) of[b[0]] = first;
    if (moves(b[1])) of[b[1]] = second;
  }

  RigidReport report_;
  double substep_ = 0;  ///< s, of the solve
  std::vector<Eigen::Matrix3d> rotations_;
  std::vector<Vector3> centers_;
  std::vector<WorldInertia> inertias_;
  std::vector<RigidVelocity> velocities_, before_, pseudo_, shifts_;
  std::vector<std::uint8_t> asleep_, touched_, still_, free_;
  std::vector<double> gone_;        ///< m, by pairs: of surfaces along each other since their contacts were found
  std::vector<std::uint8_t> kept_;  ///< by pairs
  std::vector<double> way_;         ///< m, that surfaces go in the step
  std::vector<double> reach_;       ///< the largest way of an island, at its root
  // Pairs of bodies.
  std::vector<mesh::Box> boxes_;
  std::vector<std::int32_t> bounded_, unbounded_;
  collision::ElementTree tree_;
  Index tree_size_ = -1;
  Workspace workspace_;
  collision::PairScratch pair_scratch_;
  std::vector<collision::ElementPair> pairs_;
  std::vector<Manifold> manifolds_;
  std::vector<std::size_t> edges_;  ///< pairs that may touch at a seam
  std::vector<std::size_t> pairs_at_;
  std::vector<std::size_t> pairs_of_;  ///< by bodies
  std::vector<std::uint8_t> dropped_;
  struct Narrow {
    ConvexScratch convex;
    MeshScratch meshes;
    Manifold manifold;
  };
  std::vector<std::unique_ptr<Narrow>> narrow_;
  ContactList found_;
  Manifold given_;
  Islands islands_;
  // The solve.
  struct Anchor {
    Vector3 first, second;  ///< on the cores below the surfaces, in axes of the bodies
  };
  std::vector<Anchor> anchors_, old_anchors_;
  std::vector<SolverGroup> groups_;
  std::vector<SolverPoint> points_;
  /// As many as points where any has them, else empty.
  std::vector<SolverTurns> turns_;
  std::vector<JointRows> rows_;
  JointTrees trees_;
  JointFlight flight_;
  /// By bodies: whether velocities hold their joints, whether they fly with their tree, whether errors of their joints are to be
  /// removed, whether velocities at the start are to be matched.
  std::vector<std::uint8_t> moving_, leaning_, flying_, pushed_, matched_;
  std::vector<RigidState> starts_, ends_;         ///< before forces; of flights
  std::vector<RigidVelocity> loads_, given_now_;  ///< N, N m; velocities of what does not fly
  std::vector<RigidVelocity> unmatched_, matching_;
  std::vector<RigidInertia> own_inertias_;
  std::vector<JointMemory> flown_memory_;
  numerics::Colouring joint_colours_, contact_colours_;
  LcpScratch lcp_;
  std::vector<double> matrix_, u_, p_;
  // Islands that are solved directly.
  numerics::DisjointSets<std::int32_t> joined_;
  std::vector<double> lacks_;  ///< m/s, by groups
  /// By roots.
  struct IslandGraph {
    double bodies = 0, pairs = 0;                                             ///< how many; pairs that move both
    double lightest = 0, heaviest = std::numeric_limits<double>::infinity();  ///< inverse masses, 1/kg
    Index work_of_point = 0;
  };
  std::vector<IslandGraph> graphs_;
  std::vector<Index> work_of_point_;     ///< by islands
  std::vector<std::int32_t> island_of_;  ///< by roots; -1: none that is solved directly
  std::vector<std::int32_t> numbers_;    ///< of bodies within their islands
  std::vector<std::int32_t> first_group_, island_groups_;
  std::vector<std::uint8_t> may_move_, solved_;
  std::vector<std::unique_ptr<IslandSolve>> island_solves_;
  std::vector<Impact> impacts_;
  /// Of the points of a group; see `respond`.
  struct Response {
    std::vector<const ImpulseRow*> rows;
    std::vector<std::array<RigidVelocity, 2>> columns;
    std::vector<double> matrix, impulses, speeds;
    std::vector<RigidVelocity> field;  ///< what the impulses do, by bodies
    std::vector<std::uint8_t> trees;   ///< bodies of trees that take part
    bool hangs = false;
  };
  Response response_;
};

}  // namespace meniscus::solids
