/// Editor of an open sheet with a rest state in a plane: splits, flips and collapses that keep the rest state, velocities and
/// momentum, and that pass nothing.
///
/// New places are weighted sums of vertices, with the same weights at rest, in space and for velocities: a sheet that is
/// stretched uniformly or moves affinely goes on to do so. What is left of the momentum of the vertices around, whose masses
/// change with the triangles at rest, goes to them as one velocity. The outline at rest stays what it was.
///
/// Sources: Brochu 2012, section 4.2.4 (remeshing of cloth with its rest state, safe by exact tests) and 3.2.4 (operations).
#pragma once

#include "meniscus/solids/cloth/sheet_sizing.hpp"
#include "meniscus/surface/tracking/edge_collapse.hpp"
#include "meniscus/surface/tracking/placement/butterfly.hpp"

namespace meniscus::solids {

/// A sheet: one row per vertex, and the triangles.
struct SheetView {
  std::span<const mesh::Point> positions, velocities;
  std::span<const RestPoint> rest;
  /// Vertices that something holds: they neither move nor go.
  std::span<const std::uint8_t> held;
  std::span<const mesh::Triangle> triangles;
};

/// A sheet with memory of its own.
struct Sheet {
  std::vector<mesh::Point> positions, velocities;
  std::vector<RestPoint> rest;
  std::vector<std::uint8_t> held;
  std::vector<mesh::Triangle> triangles;
};

class SheetEditor {
 public:
  /// Throws InvalidArgument for triangles that are not positive at rest or edges that are not those of a sheet. Obstacles and
  /// options must live as long as the editor is used.
  void assign(const SheetView& sheet, const surface::Obstacles& obstacles, const SheetOptions& options);

  /// Splits, flips and collapses edges by their sizes.
  void improve();

  /// One kind of operation at edges (rows of two vertices), one after the other, whatever their sizes and energies.
  void apply(mesh::EventKind kind, std::span<const std::int32_t> rows, std::vector<surface::Refusal>& ends);

  const SheetCounts& counts() const { return counts_; }
  const mesh::SurfaceEvents& events() const { return editor_.events(); }
  /// Ends the record.
  void finish(Sheet& out);

 private:
  using Refusal = surface::Refusal;
  /// A place for a vertex.
  struct Place {
    std::vector<surface::VertexWeight> weights;
    mesh::Point position = mesh::Point::Zero(), velocity = mesh::Point::Zero();
    RestPoint rest = RestPoint::Zero();
    double energy = 0;
    /// Of a collapse: the end that stays.
    bool second_end = false;
  };

  const mesh::DynamicSurface& mesh() const { return editor_.mesh; }
  double size_of(std::int32_t a, std::int32_t b) const;
  double area_at_rest(const mesh::Triangle& c) const;
  double least_sine(std::int32_t t) const;
  /// Whether triangles are positive at rest, with angles that are large enough, or not worse than `before`.
  bool sound(std::span<const std::int32_t> triangles, double before) const;
  double energy(std::span<const std::int32_t> triangles) const;
  double mass(std::int32_t v) const;
  /// Fills place i.
  Place& place(std::size_t i);
  void set_place(Place& p);

  Refusal split(std::int32_t a, std::int32_t b);
  Refusal flip(std::int32_t a, std::int32_t b);
  Refusal collapse(std::int32_t a, std::int32_t b);
  bool improves(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) const;
  bool ends_of_collapse(std::int32_t a, std::int32_t b, bool& first_stays, bool& second_stays) const;
  bool straight_outline(std::int32_t v) const;
  void weigh_transfers(std::int32_t target, const Place& p);

  /// Begins an operation on triangles: their momentum and energy.
  void begin(std::span<const std::int32_t> triangles);
  /// Whether the energy may change so.
  bool may_rise(double after) const;
  /// Ends it: keeps the edit, or takes it back.
  Refusal commit(mesh::EventKind kind, std::int32_t a, std::int32_t b);
  void settle(double after);

  void split_edges();
  void flip_edges();
  void collapse_edges();

  SheetOptions options_;
  surface::Observer nobody_;
  surface::SurfaceEditor editor_;
  SheetCounts counts_;
  bool by_size_ = true;
  std::vector<RestPoint> rest_;
  std::vector<mesh::Point> velocity_;
  std::vector<SheetMetric> metric_;
  // Of the operation.
  std::vector<std::int32_t> old_, fresh_, patch_;
  mesh::Point momentum_ = mesh::Point::Zero();
  double energy_ = 0;
  std::vector<Place> places_;
  std::size_t place_count_ = 0;
  surface::Fans fans_;
};

}  // namespace meniscus::solids
