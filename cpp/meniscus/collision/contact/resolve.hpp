/// Resolution of contacts within a step: after it, no pair of elements touches anywhere on the path from start to end.
///
/// Stages, each for what the one before has left: impulses, inelastic impact zones, rigid ones, and a cut of the step at a time
/// before the first contact. Only pairs with a vertex that has moved are tested again. Every test is exact (mode `any`), with the
/// paths as they are after rounding. So the result is certain: a pair that has not been moved since its last test is free of
/// contact, and the last test found no other.
///
/// If edges and faces do not intersect at the start, they do not intersect at the end: an edge enters or leaves a face only when
/// one of its ends touches the face or when it touches an edge of the face, and neither happens anywhere on the path. By the same
/// argument elements that intersect at the start go on intersecting.
///
/// Sources: Selle 2008, sections 6.2 and 6.3; Brochu 2012, section 3.2.7; Bridson et al. 2002, section 7; Harmon et al. 2008.
#pragma once

#include "meniscus/collision/contact/contact_impulses.hpp"
#include "meniscus/collision/contact/zones/impact_zones.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

namespace meniscus::collision {

struct ResolveOptions {
  /// Passes of impulses before zones are built.
  int impulse_passes = 400;
  ZoneOptions zones;
  /// Detections after which zones give up.
  int zone_passes = 200;
  /// End the step before the first contact where nothing else helps.
  bool cut = true;
  ContactPush push;
};

enum class ResolveEnd : std::int8_t {
  free,     ///< no contact on the path
  cut,      ///< none up to `fraction` of the step, where the paths end
  pinched,  ///< contact that nothing resolves, such as at the start already; positions are those of the last attempt
};

struct ResolveReport {
  ResolveEnd end = ResolveEnd::free;
  /// Part of the step that was taken.
  double fraction = 1;
  /// Pairs in contact on the paths as given.
  Index contacts = 0;
  Index impulses = 0;
  /// Detections, the first one included.
  int passes = 0;
  ZoneCounts zones;
  /// Pairs left in contact, unless `end` is `free`: those before which the step was cut, or which nothing resolves; at most 1000
  /// of each kind.
  std::vector<ElementPair> vertex_face, edge_edge;
};

/// Keeps its memory from call to call.
class ContactResolver {
 public:
  /// `mesh` is over the vertices of `nodes`.
  ContactResolver(CollisionMesh& mesh, const ContactNodes& nodes) : paths_(mesh, nodes) {}

  /// Positions of nodes at the start, and at the end of the step. Afterwards `paths().end()` holds the ends without contact.
  /// Throws InvalidArgument for positions that are not finite and for deactivated pairs that do not exist; Interrupted.
  ResolveReport resolve(std::span<const mesh::Point> start, std::span<const mesh::Point> end, const DeactivatedPairs& deactivated,
                        const ResolveOptions& options);

  const ContactPaths& paths() const { return paths_; }

  /// Writes for each node the lowest node of those that contacts since the last call have moved
  /// together with it; itself if none did.
  void take_groups(std::span<std::int32_t> out);

  Index nbytes() const { return paths_.nbytes() + impulses_.nbytes() + zones_.nbytes() + groups_.bytes(); }

 private:
  void cut(std::span<const PathContact> contacts, const DeactivatedPairs& deactivated, ResolveReport& report);
  /// Nodes of a contact that can move get into one group.
  void group(std::span<const PathContact> contacts);

  ContactPaths paths_;
  numerics::DisjointSets<std::int32_t> groups_;
  ContactImpulses impulses_;
  ImpactZones zones_;
};

}  // namespace meniscus::collision
