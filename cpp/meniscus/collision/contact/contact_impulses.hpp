/// Impulses against contacts on the paths of a step: inelastic ones that end the approach, and a push where elements would end
/// too close.
///
/// Impulses answer one contact after the other, and each may bring others back, some of which the exact test has to find again.
/// Where contacts remain after some passes, the following passes therefore go on with all contacts that they have known, as
/// linear inequalities, until none of them approaches. So deep tangles end without impact zones, which would freeze them.
///
/// Sources: Selle 2008, section 6.3, step C; Bridson et al. 2002, section 7; Brochu 2012, section 3.2.7. Known contacts are ours.
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
  /// Forgets all contacts; a new step begins.
  void begin();

  /// Treats the contacts one after the other, each with the displacements that those before have left: sets the relative normal
  /// displacement to zero where the elements approach, then adds the push. Momentum is conserved; without the push, kinetic
  /// energy never grows. Moves the paths of all nodes of the contacts. Returns the number of impulses.
  Index apply(ContactPaths& paths, std::span<const PathContact> contacts, const ContactPush& push);

  /// Nodes of the contacts of the last call that can move.
  std::span<const std::int32_t> moved() const { return moved_; }

  Index nbytes() const {
    return static_cast<Index>((moved_.capacity() + changed_.capacity()) * sizeof(std::int32_t) +
                              known_.capacity() * sizeof(ContactRow));
  }

 private:
  /// Ends the approach of known contacts, one after the other. Returns the number of impulses.
  Index sweep(const ContactNodes& nodes, std::span<mesh::Point> u);
  void note(const ContactRow& row);

  std::vector<std::int32_t> moved_;
  std::vector<ContactRow> known_;
  /// The sweep in which a node was changed last.
  std::vector<std::int32_t> changed_;
  std::int32_t sweeps_ = 0;
  int passes_ = 0;
};

}  // namespace meniscus::collision
