/// The one owner of the guarantee: operations change the surface through it, and what cannot be proven free of intersections is
/// taken back.
///
/// An operation calls `begin`, edits `mesh`, notes what it sweeps and how data follow, ends its parts (each an event) and calls
/// `commit`, which keeps or undoes all.
#pragma once

#include "meniscus/mesh/dynamic/surface_events.hpp"
#include "meniscus/surface/tracking/small_parts.hpp"
#include "meniscus/surface/tracking/surface_guard.hpp"
#include "meniscus/surface/tracking/tracking_options.hpp"

#include <functional>

namespace meniscus::surface {

/// Asked before an operation is kept: its kind, and the vertices of the edge (or of both edges). False forbids it.
using Observer = std::function<bool(mesh::EventKind, std::span<const std::int32_t>)>;

class SurfaceEditor {
 public:
  /// `fixed`: one flag per vertex that neither moves nor goes; may be empty. All must live as long as the editor is used.
  void assign(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, const Obstacles& obstacles,
              const TrackingOptions& options, const Observer& observer);

  mesh::DynamicSurface mesh;
  mesh::EventTransfers transfers;
  TrackingCounts counts;

  const TrackingOptions& options() const { return options_; }
  const SurfaceGuard& guard() const { return guard_; }
  /// m, m, m^3.
  double longest() const { return options_.longest * options_.edge_length; }
  double shortest() const { return options_.shortest * options_.edge_length; }
  double most_volume() const { return volume_; }

  bool fixed(std::int32_t v) const { return v < std::ssize(fixed_) && fixed_[v] != 0; }
  double length(std::int32_t a, std::int32_t b) const { return (mesh.position(a) - mesh.position(b)).norm(); }

  /// The factor of lengths at an edge: below 1 where the surface is curved, if options ask for it.
  double scale(std::int32_t a, std::int32_t b) const;
  double scale_at(std::int32_t v) const;

  void begin();
  /// Puts a triangle in the place of another one, whose data it gets.
  std::int32_t replace(std::int32_t t, const mesh::Triangle& corners);
  void sweep(const SweptTet& tet) { swept_.push_back(tet); }
  /// Adds the tetrahedron between a triangle of the surface and a point.
  void sweep(std::int32_t t, const mesh::Point& to, std::int32_t own);
  /// The changes since the last part are an event.
  void end_part(mesh::EventKind kind);
  /// Volume that the parts so far gain, m^3.
  double swept_volume() const;
  /// Takes everything back; returns the reason.
  Refusal refuse(Refusal reason);
  /// Keeps the operation if it is free of intersections and the observer agrees, else takes it back. `vertices` are for the
  /// observer. `most_volume`: refuse what changes the volume by more, m^3.
  Refusal commit(mesh::EventKind kind, std::span<const std::int32_t> vertices, double most_volume);

  /// Triangles that the last operation kept changed.
  std::span<const std::int32_t> changed() const { return changed_; }

  /// Ends the record; positions, triangles and flags of vertices that are left, in the order of the record.
  void finish(std::vector<mesh::Point>& vertices, std::vector<mesh::Triangle>& triangles, std::vector<std::uint8_t>& fixed);
  const mesh::SurfaceEvents& events() const { return events_; }

  Index nbytes() const { return mesh.nbytes() + guard_.nbytes() + events_.nbytes(); }

 private:
  struct Part {
    mesh::EventKind kind;
    std::size_t end;
    mesh::EventTransfers transfers;
  };

  /// Whether a small part has changed the sign of its volume.
  bool turns_inside_out();

  TrackingOptions options_;
  const Observer* observer_ = nullptr;
  double volume_ = 0;
  std::vector<std::uint8_t> fixed_;
  SurfaceGuard guard_;
  mesh::SurfaceEvents events_;
  std::vector<SweptTet> swept_;
  std::vector<Part> parts_;
  std::size_t part_count_ = 0;
  std::vector<std::int32_t> changed_, gone_;
  SmallPart part_;
};

/// Unit vector along the sum of the area vectors of the triangles at a vertex; zero without.
mesh::Point vertex_normal(const mesh::DynamicSurface& surface, std::int32_t v);

/// The rank of the quadric of a vertex; `ridge` as in `TrackingOptions`.
int vertex_rank(const mesh::DynamicSurface& surface, std::int32_t v, double ridge);

/// Whether the triangles at a vertex lie in two or three planes, as on the edges of a box, and not on a rounded edge.
bool on_crease(const mesh::DynamicSurface& surface, std::int32_t v);

/// The sine of the least angle of a triangle, and the cosine of the largest one. 0 and -1 where it has no area.
struct TriangleAngles {
  double least_sine, largest_cosine;
};
TriangleAngles angles_of(const mesh::Point& a, const mesh::Point& b, const mesh::Point& c);

}  // namespace meniscus::surface
