/// Impulses at all contacts of an island at once, in the cone of friction, where sweeps carry them too slowly: towers, walls,
/// much that rests on little.
///
/// The velocities of bodies are the unknowns. Impulses are the projections of p - r u onto the cone of friction (u: the relative
/// velocity beyond what it must be), which is the proximal point method for the dual problem: contacts that share a load in more
/// than one way need nothing else. The velocities are then the minimum of a convex function, found by Newton's method with a line
/// search, whose matrix has the graph of the contacts. What slides would part by its speed times the coefficient, which that of
/// the turn before takes back. An outer loop moves p, and stiffens r.
///
/// Sources: Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991
/// (projections); Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming",
/// 1976; De Saxcé and Feng, "The bipotential method", 1998 (Coulomb's law as a convex one with a shift).
#pragma once

#include "meniscus/numerics/sparse/envelope_cholesky.hpp"
#include "meniscus/solids/rigid/contact/velocity_solver.hpp"

namespace meniscus::solids {

/// Which of the impulses of points: of velocities, with friction, or of pseudo-velocities, without.
enum class IslandImpulses : std::uint8_t { contact, push };

/// What a solve reads and writes, by the numbers of bodies and points.
struct IslandBodies {
  std::span<const SolverGroup> groups;
  std::span<SolverPoint> points;
  std::span<SolverTurns> turns;  ///< as many as points, or none
  std::span<const WorldInertia> inertias;
  std::span<const std::uint8_t> moves;
  std::span<RigidVelocity> velocities;
};

/// Of one island; keeps its memory.
class IslandSolve {
 public:
  /// Takes the groups of an island, by their numbers; returns the products of blocks that one factorisation takes. `numbers` (by
  /// bodies, -1 before) is scratch of all islands, each of which writes those of its own bodies.
  Index order(const IslandBodies& all, std::span<const std::int32_t> groups, std::span<std::int32_t> numbers);
  /// Finds impulses after which the next sweep would change no velocity at a point by more than `enough` (m/s), or comes near;
  /// writes them and the velocities, and returns what it would change.
  double solve(const IslandBodies& all, const ContactOptions& options, IslandImpulses which, double enough);
  /// Writes what was before `solve`.
  void restore(const IslandBodies& all) const;
  Index nbytes() const;

 private:
  using Vector6 = numerics::EnvelopeCholesky::Vector6;
  using Matrix6 = numerics::EnvelopeCholesky::Matrix6;
  using Vector2 = Vec<double, 2>;
  /// Impulses at a point: along the normal, in the tangent plane, about the normal and about the tangents.
  struct Impulses {
    double normal = 0, spin = 0;
    Vector2 slide = Vector2::Zero(), roll = Vector2::Zero();
  };
  /// Largest impulses of friction.
  struct Limits {
    double spin = 0, roll = 0;
  };
  /// Of the cone of friction: beyond its tip, inside, beyond its side.
  enum class Zone : std::uint8_t { open, holds, slides };
  /// Which friction is at its limit.
  struct State {
    Zone zone = Zone::open;
    bool spins = false, rolls = false;
    bool operator==(const State&) const = default;
  };
  struct Node {
    std::int32_t body = 0;
    RigidVelocity before, free, now, best;  ///< before the solve; without impulses of the island
    double mass = 0;
    Eigen::Matrix3d inertia;
  };
  struct Pair {
    std::int32_t group = 0;
    std::array<std::int32_t, 2> nodes{};  ///< -1: does not move
  };
  struct Point {
    Index at = 0;  ///< in the system
    std::int32_t group = 0;
    std::array<std::int32_t, 2> nodes{};  ///< -1: does not move
    double target = 0;
    double friction = 0, parting = 0;  ///< coefficient; m/s: what the convex problem would part surfaces by, as they slide
    Impulses before, kept, now, best;  ///< before the solve; p of the method; at the present velocities
    Limits limits;
    State state, factored;
    Eigen::Matrix3d stiffness;
    Eigen::Matrix2d roll_stiffness;
  };
  void begin(const IslandBodies& all, IslandImpulses which);
  const SolverTurns* turns_of(const IslandBodies& all, const Point& p) const;
  const RigidVelocity& velocity(const IslandBodies& all, const Point& p, std::size_t side) const;
  void add_impulses(const IslandBodies& all, const Point& p, const Impulses& x, double factor, RigidVelocity Node::* field);
  /// Brings impulses into the cone.
  void project(Point& p, double normal, const Vector2& slide) const;
  /// Impulses and the gradient at the present velocities; returns whether the matrix there is not the one that was factored.
  bool respond(const IslandBodies& all);
  void assemble(const IslandBodies& all);
  /// Of the function along the step.
  double slope() const;
  /// Goes a part of the step.
  bool go(const IslandBodies& all, double part);
  /// The minimum for the present limits; returns whether it was found.
  bool find_velocities(const IslandBodies& all, double enough);
  void limit(const IslandBodies& all, const ContactOptions& options);
  Vector2 slide_speed(const IslandBodies& all, const Point& p) const;
  /// Tangential impulses of a sweep, without a limit.
  Vector2 slide_wanted(const IslandBodies& all, const Point& p) const;
  /// Takes the present impulses for p; returns what the next sweep would change of a velocity at a point, m/s.
  double keep(const IslandBodies& all, const ContactOptions& options);
  void write(const IslandBodies& all, const Point& p, const Impulses& x) const;

  std::vector<Node> nodes_;
  std::vector<Pair> pairs_;
  std::vector<Point> points_;
  std::vector<Vector6> gradient_, step_;
  std::vector<RigidVelocity> start_;
  numerics::EnvelopeCholesky matrix_;
  IslandImpulses which_ = IslandImpulses::contact;
  double stiffness_ = 0, turn_stiffness_ = 0, mass_ = 0, turning_mass_ = 0;
  bool factored_ = false;
};

}  // namespace meniscus::solids
