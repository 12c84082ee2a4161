/// Impact zones: groups of nodes whose contacts are resolved together.
///
/// An inelastic zone takes the displacements closest to those before, in the sense of kinetic energy, for which no contact of the
/// zone has a relative normal displacement: min |w - u|_M subject to C w = 0. Redundant contacts are welcome: C M^-1 C^T is then
/// singular, and conjugate gradients still converge, because the right-hand side lies in its range. A rigid zone moves as a rigid
/// body, or with the nodes on given paths that it touches if these move rigidly.
///
/// Displacements are projected from those that the nodes had when the zones began, not from those before any response: impulses
/// between a node of the zone and another outside stay equal and opposite, so that momentum is conserved.
///
/// Sources: Brochu 2012, section 3.2.7 (Harmon et al. 2008), with the sign of the specification's erratum; Selle 2008,
/// section 6.3; Bridson et al. 2002, section 7.3.
#pragma once

#include "meniscus/collision/contact/contact_detection.hpp"

#include <limits>

namespace meniscus::collision {

struct ZoneOptions {
  /// Zones that still collide after so many solves become rigid; 0: all are rigid from the start.
  int inelastic_solves = 20;
  bool rigid = true;
  /// Nodes; zones of more are never inelastic.
  Index largest_inelastic = std::numeric_limits<Index>::max();
  /// Inelastic solves that move a node farther, m, count as failed.
  double most_displacement = std::numeric_limits<double>::infinity();
};

struct ZoneCounts {
  Index zones = 0;
  /// Nodes in zones, in the largest one, and in rigid ones.
  Index nodes = 0;
  Index largest = 0;
  Index rigid_zones = 0;
  Index rigid_nodes = 0;
  /// Solves whose constraints were not met to 1e-10 of the largest displacement.
  Index failed_solves = 0;
  Index iterations = 0;
};

class ImpactZones {
 public:
  /// Forgets all zones; the displacements of `paths` are those that zones start from.
  void begin(const ContactPaths& paths);

  /// Adds contacts to the zones of their nodes, joins zones that have nodes in common, solves the zones that have grown and moves
  /// their paths. False if a rigid zone cannot resolve what it was given: a contact within it, or paths that are given and not
  /// rigid.
  bool add(ContactPaths& paths, std::span<const PathContact> contacts, const ZoneOptions& options);

  ZoneCounts counts();
  Index nbytes() const;

 private:
  struct Group {
    Index begin, end;
    std::int32_t root;
  };

  std::int32_t root(std::int32_t node);
  std::int32_t join(std::int32_t a, std::int32_t b);
  /// Whether a contact is new to the zones that it is in.
  bool can_resolve(const ContactNodes& nodes, const ContactRow& row);
  void group_rows(const ContactNodes& nodes);
  /// The free nodes of the rows of a group, ascending, and those on given paths.
  void members(const ContactNodes& nodes, const Group& group, std::vector<std::int32_t>& free,
               std::vector<std::int32_t>& given) const;
  /// Takes the momentum back that rounding has cost: nearly contradictory constraints need impulses many times that of the zone.
  /// No constraint sees a translation of the whole zone.
  void keep_momentum(ContactPaths& paths, std::span<const std::int32_t> free) const;
  bool move_rigidly(ContactPaths& paths, std::span<const std::int32_t> free, std::span<const std::int32_t> given) const;

  std::vector<mesh::Point> reference_;
  std::vector<mesh::Point> change_;
  std::vector<std::int32_t> parent_;
  std::vector<std::uint8_t> rigid_, grown_;
  std::vector<std::int32_t> age_;
  std::vector<std::int32_t> used_;
  std::vector<ContactRow> rows_;
  std::vector<std::int32_t> order_, row_root_;
  std::vector<Group> groups_;
  ZoneCounts counts_;
};

}  // namespace meniscus::collision
