/// Many strands of altitude-spring hair, each a strip of particles of which four in a row span a tetrahedron, solved strand by
/// strand with a banded direct factorisation, eight at a time.
///
/// A particle has springs to the next three: edges, bending and torsion springs; an altitude spring acts on each tetrahedron. The
/// first two are a truss that is just stiff: its tensions follow from the loads alone.
///
/// Sources: Selle 2008, section 7.3 (model), 5.3.4 (altitudes), 5.5 (frozen directions), 7.4 (steps, limits from root to tip).
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/solids/hair/strand_groups.hpp"

#include <array>
#include <span>
#include <vector>

namespace meniscus::solids::hair::strips {

/// Of a particle: constants of its springs to the next three particles (edge, bending, torsion or edge, torsion), and of the
/// altitude spring of the tetrahedron that it begins, N/m. 0 where there is none.
using SpringConstants = std::array<double, 4>;

class StripStrands : public StrandGroups {
 public:
  using Points = std::span<mesh::Point>;
  using ConstPoints = std::span<const mesh::Point>;

  /// Strand s has the particles offsets[s] to offsets[s + 1] - 1 of `rest`. Altitude springs act once they are compressed by more
  /// than the fraction `beyond`; negative: always. Throws InvalidArgument for strips of less than three particles.
  StripStrands(std::span<const std::int64_t> offsets, ConstPoints rest, std::span<const SpringConstants> constants,
               double beyond);
  StripStrands(const StripStrands& other);
  StripStrands& operator=(const StripStrands&) = delete;
  ~StripStrands();

  /// Of a strand's edges to the next particles, m.
  double length(Index strand) const { return length_[strand]; }

  StrandReport step(const StrandStep& options, Points x, Points v, std::span<const double> masses,
                    std::span<const std::uint8_t> held, ConstPoints targets);

  /// What a step of Newmark's method in the order of Selle 2008, section 7.4, takes beside dt, gravity and drag: lengths to which
  /// distances from particles nearer to the root are limited, for the new positions (none: no limits), and those particles.
  struct Limits {
    std::span<const std::int32_t> parents;
    std::span<const double> longest;
  };

  /// Two solves with frozen directions, implicit over half a step each, the first for the positions, the second, at the
  /// positions between, for the velocities, which are then extrapolated.
  void newmark(const StrandStep& options, const Limits& limits, Points x, Points v, std::span<const double> masses,
               std::span<const std::uint8_t> held, ConstPoints targets);

  StrandReport equilibrium(const mesh::Point& gravity, Points x, std::span<const double> masses,
                           std::span<const std::uint8_t> held, int iterations, double tolerance);

  /// Per strand, J.
  void energies(ConstPoints x, std::span<double> out) const;

  void stable(ConstPoints x, std::span<const std::uint8_t> held, std::span<std::uint8_t> out) const;

  /// Rest lengths (to the next three particles) such that x is in equilibrium under gravity when the first three particles of
  /// each strand are held. Strands with `chosen` != 0 alone; sets per strand the least ratio of a rest length to the length at x,
  /// 0 where the springs have no direction.
  void rest_at(ConstPoints x, std::span<const double> masses, const mesh::Point& gravity, std::span<const std::uint8_t> chosen,
               std::span<double> lengths);

  /// Multiplies the constants of bending, torsion and altitude springs of each strand; edges, whose constants are marked by
  /// `edges` (n, 2: to the next particle, and to the one after it), stay.
  void stiffen(std::span<const double> factors, std::span<const std::array<std::uint8_t, 2>> edges);

  /// Constants and rest lengths of all springs.
  void constants(std::span<SpringConstants> out) const;
  void rest_lengths(std::span<std::array<double, 3>> out) const;
  void set_rest_lengths(std::span<const std::array<double, 3>> lengths);

  std::size_t nbytes() const;

  struct Scratch;
  struct Group;
  /// Calls body(group, scratch, number) for all groups in parallel.
  template <class Body>
  void for_groups(Body&& body) const;

 private:
  Group group(Index g) const;
  double* plane(int k) const;

  std::vector<double> length_;
  double beyond_;
  Index planes_stride_ = 0;
  core::Block<double> law_;
  ScratchPool<Scratch> pool_;
};

/// Moves particles that are too far from their parents towards these, from root to tip.
void limit_lengths(std::span<const std::int64_t> offsets, std::span<const std::int32_t> parents, std::span<const double> longest,
                   std::span<mesh::Point> x);

}  // namespace meniscus::solids::hair::strips
