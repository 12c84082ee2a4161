/// A term of the potential of a step beyond inertia and the forces of bodies: an energy of the positions of their nodes that may
/// be infinite, so that Newton's method must not leave the places where it is finite.
#pragma once

#include "meniscus/solids/force.hpp"
#include "meniscus/solids/node_fields.hpp"

namespace meniscus::solids {

/// Vectors are of all nodes of the bodies of a step. "Given ways" are those of what is not among these nodes.
class PotentialTerm {
 public:
  virtual ~PotentialTerm() = default;

  /// Returns the energy at the positions x, J, and adds its forces, N; infinite, without forces, where there is none.
  virtual double evaluate(ConstPoints x, Points forces) = 0;

  /// Linearises at the positions that were evaluated last, without indefinite parts, for the three functions below.
  virtual void linearise() = 0;
  /// Adds `factor` times the product of the second derivative with u.
  virtual void add_product(ConstPoints u, double factor, Points out) = 0;
  /// Adds `factor` times its blocks on the diagonal.
  virtual void add_diagonal(double factor, std::span<Block3> out) = 0;
  /// Adds `factor` times the change of the derivative by what is left of the given ways.
  virtual void add_given(double factor, Points out) = 0;

  /// How much of the straight way between two positions is certainly free, from 0 to 1: all of it, or a part that ends where the
  /// energy is finite.
  virtual double free_part(ConstPoints from, ConstPoints to) = 0;

  /// Whether by an exact test nothing is in the way to the positions that were evaluated last.
  virtual bool is_free(ConstPoints from, ConstPoints to) = 0;

  /// Tells that bodies have come to the positions that were evaluated last. True where the energy has been changed there.
  virtual bool arrive(ConstPoints x) = 0;
};

}  // namespace meniscus::solids
