/// Impulses against contacts on the paths of a step: inelastic ones that end the approach, and a push where elements would end
/// too close.
///
/// Sources: Selle 2008, section 6.3, step C; Bridson et al. 2002, section 7; Brochu 2012, section 3.2.7.
#pragma once

#include "meniscus/collision/contact/contact_detection.hpp"

namespace meniscus::collision {

/// Elastic push of pairs that would end closer than their thickness.
struct ContactPush {
  /// Distance that the two elements of a pair should keep, m; one value per vertex, of which a pair takes the mean of its
  /// elements. Empty: no push.
  std::span<const double> thickness;
  /// Part of the missing distance that one inner time step may add; 0.1 in Selle 2008, eq. 6.1.
  double part = 0.1;
  /// Number of inner time steps in the step, k_i: the push is that of one of them, carried over the whole step.
  double inner_steps = 1;
  /// Part of the thickness that a pair keeps at least, whatever that takes: gaps would otherwise shrink from step to step until
  /// nothing is left that a step could be cut to.
  double least = 0.02;
};

class ContactImpulses {
 public:
  /// Treats the contacts one after the other, each with the displacements that those before have left: sets the relative normal
  /// displacement to zero where the elements approach, then adds the push. Momentum is conserved; without the push, kinetic
  /// energy never grows. Moves the paths of all nodes of the contacts. Returns the number of impulses.
  Index apply(ContactPaths& paths, std::span<const PathContact> contacts, const ContactPush& push);

  /// Nodes of the contacts of the last call that can move.
  std::span<const std::int32_t> moved() const { return moved_; }

  Index nbytes() const { return static_cast<Index>(moved_.capacity() * sizeof(std::int32_t)); }

 private:
  std::vector<std::int32_t> moved_;
};

}  // namespace meniscus::collision
