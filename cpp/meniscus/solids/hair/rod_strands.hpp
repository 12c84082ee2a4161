/// Many elastic strands, each a discrete elastic rod, solved strand by strand with a banded direct factorisation, eight at a
/// time.
///
/// Twist has no inertia: it is in balance at the end of every step. Strands do not know of each other.
///
/// Sources: Bergou et al. 2008 and 2010 (see `rod_kernels.hpp`); steps: minima of incremental potentials, as in `implicit_euler`.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/solids/hair/strand_groups.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace meniscus::solids::hair {

/// How an end of a strand is held, beside its position: by a frame, which gives its direction and stops its twist, or not.
enum class StrandEnd : std::uint8_t { loose, clamped };

/// Stiffness of a strand: bending, twisting (N m^2), stretching (N).
struct RodStiffness {
  double bending = 0;
  double twisting = 0;
  double stretching = 0;
};

class RodStrands : public StrandGroups {
 public:
  using Points = std::span<mesh::Point>;
  using ConstPoints = std::span<const mesh::Point>;

  /// Strand s has the points offsets[s] to offsets[s + 1] - 1 of `rest`, two at least. Ends are given per strand, root and tip;
  /// of the clamped ones the frames are those of the rest shape until `set_clamps`. `curved`: the rest shape has no bending
  /// forces, else straight strands have none. Throws InvalidArgument.
  RodStrands(std::span<const std::int64_t> offsets, ConstPoints rest, std::span<const RodStiffness> stiffness,
             std::span<const StrandEnd> roots, std::span<const StrandEnd> tips, bool curved);
  RodStrands(const RodStrands& other);
  RodStrands& operator=(const RodStrands&) = delete;
  ~RodStrands();

  /// Of a strand, m.
  double length(Index strand) const { return length_[strand]; }

  /// Directions and directors of clamped roots or tips, one per strand; made unit and perpendicular. Those of the tips point out.
  void set_clamps(bool tips, ConstPoints directions, ConstPoints directors);

  /// Advances positions and velocities; nodes with held != 0 go to `targets` in a straight line.
  StrandReport step(const StrandStep& options, Points x, Points v, std::span<const double> masses,
                    std::span<const std::uint8_t> held, ConstPoints targets);

  /// Goes to the equilibrium under gravity, from x downhill. `iterations` at most; tolerance as in StrandStep.
  StrandReport equilibrium(const mesh::Point& gravity, Points x, std::span<const double> masses,
                           std::span<const std::uint8_t> held, int iterations, double tolerance);

  /// Per strand, J, with the twists as they are in `memory`.
  void energies(ConstPoints x, std::span<double> out) const;

  /// Minus the derivatives of the energy: forces on points, N, and moments about edges, N m (0 at the last point of each strand).
  void forces(ConstPoints x, Points out, std::span<double> moments) const;

  /// Whether the second derivative of the energy is positive definite, per strand, with held nodes.
  void stable(ConstPoints x, std::span<const std::uint8_t> held, std::span<std::uint8_t> out) const;

  /// The directors of all edges, at the first of their two points; the twist at all points, rad.
  void frames(Points directors, std::span<double> twists) const;

  /// Takes the frames at new positions, each carried along the shortest turn.
  void carry(ConstPoints x);

  /// Lets the frames of all edges follow from those of clamped roots without twist.
  void untwist(ConstPoints x);

  /// Frames and twists from step to step: the state of the strands.
  std::span<double> memory() { return {state_.begin(), state_.end()}; }

  /// Natural curvature binormals per point along the two directors, and natural twists, rad.
  void natural(std::span<double> first, std::span<double> second, std::span<double> twist) const;
  void set_natural(std::span<const double> first, std::span<const double> second, std::span<const double> twist);
  /// Of the segments, at the first of their two points; 0 at the last of each strand.
  void rest_lengths(std::span<double> lengths) const;
  void set_rest_lengths(std::span<const double> lengths);

  /// Multiplies bending and twisting stiffness of each strand.
  void stiffen(std::span<const double> factors);

  /// Chooses natural curvature, natural twist and rest lengths such that x is an equilibrium under gravity, point by point from
  /// the tips, and the present frames stay. Strands with `chosen` != 0 alone. Sets per strand the largest natural turn (rad) and
  /// the shortest rest length relative to that at x. Of strands that no root clamps nothing is chosen: their turn is infinite.
  void rest_at(ConstPoints x, std::span<const double> masses, const mesh::Point& gravity, std::span<const std::uint8_t> chosen,
               std::span<double> turns, std::span<double> lengths);

  std::size_t nbytes() const;

  // --- for kernels over groups of eight strands (see `rod_group.hpp`) ---

  struct Scratch;
  struct Group;
  /// Calls body(group, scratch, number) for all groups in parallel.
  template <class Body>
  void for_groups(Body&& body) const;

 private:
  Group group(Index g) const;
  double* plane(int k) const;

  std::vector<double> length_;
  /// Constants and state, one plane per quantity, eight lanes per slot.
  core::Block<double> law_, state_;
  ScratchPool<Scratch> pool_;
};

}  // namespace meniscus::solids::hair
