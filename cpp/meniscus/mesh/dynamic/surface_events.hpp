/// Record of what was done to a surface: for each operation the elements before and after, and which share of their data goes
/// where. Played back, it turns the first triangles and data into the last.
///
/// Source: Brochu 2012, sections 3.2.1 and 6.3.1 (data of elements have to follow operations); the record is ours.
#pragma once

#include "meniscus/mesh/dynamic/dynamic_surface.hpp"

namespace meniscus::mesh {

enum class EventKind : std::int8_t {
  split,     ///< an edge gets a vertex
  flip,      ///< the edge between two triangles joins their other corners
  collapse,  ///< the ends of an edge become one
  pinch,     ///< sheets that touch at vertices part
  merge,     ///< two edges become a tube
};

/// What flows from an element into another. Values per unit (positions, ages, densities) become the sum of weight times value,
/// where the weights of a target have the sum 1; amounts (masses, circulations) become the sum of share times amount, where the
/// shares of a source have the sum 1. Elements that are no target keep what they have.
struct Transfer {
  std::int32_t target, source;
  double weight, share;
};

/// The same for edges, which are pairs of vertices, the lower first.
struct EdgeTransfer {
  std::array<std::int32_t, 2> target, source;
  double weight, share;
};

/// Transfers of an operation.
struct EventTransfers {
  std::vector<Transfer> vertices, triangles;
  std::vector<EdgeTransfer> edges;

  void clear();
  void edge(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, double weight, double share);
  /// `fresh` takes the place of a triangle.
  void replace_triangle(std::int32_t old, std::int32_t fresh);
  /// A triangle goes, and leaves its amounts to another one.
  void leave_triangle(std::int32_t gone, std::int32_t heir);
  /// The same of vertices and of edges.
  void leave_vertex(std::int32_t gone, std::int32_t heir);
  void leave_edge(std::array<std::int32_t, 2> gone, std::array<std::int32_t, 2> heir);
};

/// Entries of event i are [first[i], first[i + 1]) of each list.
struct SurfaceEvents {
  std::vector<EventKind> kinds;
  /// Changes in their order: of vertices with a row of `points`, of triangles with one of `corners`.
  std::vector<Index> first_change{0};
  std::vector<Change> changes;
  std::vector<std::int32_t> which;
  std::vector<std::int32_t> rows;
  std::vector<Point> points;
  std::vector<Triangle> corners;
  std::vector<Index> first_vertex_transfer{0}, first_triangle_transfer{0}, first_edge_transfer{0};
  std::vector<Transfer> vertex_transfers, triangle_transfers;
  std::vector<EdgeTransfer> edge_transfers;
  /// Vertices and triangles before the events.
  Index vertices_before = 0, triangles_before = 0;
  /// The slots that are left at the end, in the order of their new numbers.
  std::vector<std::int32_t> vertices, triangles;

  Index size() const { return static_cast<Index>(kinds.size()); }
  /// Begins a record of a surface.
  void begin(const DynamicSurface& surface);
  /// Adds the changes [begin, end) of the journal of a surface as an event.
  void add(EventKind kind, const DynamicSurface& surface, std::size_t begin, std::size_t end, const EventTransfers& transfers);
  /// Notes what is left.
  void finish(const DynamicSurface& surface);
  Index nbytes() const;
};

/// Positions and triangles with the numbers that they have after the events, from those before. Positions are those of the
/// events: vertices that move elsewhere keep what they had.
void replay(const SurfaceEvents& events, std::vector<Point>& vertices, std::vector<Triangle>& triangles);

/// Rules for data that follow.
enum class CarryRule : std::int8_t {
  interpolate,  ///< weighted mean
  inherit,      ///< that of the source with the greatest weight
  sum,          ///< amounts, whose sum is kept
  largest,      ///< the largest of the sources
};

/// Elements that data belong to.
enum class CarryOn : std::int8_t { vertices, edges, triangles };

/// Rows of `columns` numbers, one per element: before the events, and after. For edges `before_edges` and `after_edges` list the
/// edges of the rows, ascending.
void carry(const SurfaceEvents& events, CarryOn on, CarryRule rule, int columns, std::span<const double> before,
           std::span<const std::array<std::int32_t, 2>> before_edges, std::span<const std::array<std::int32_t, 2>> after_edges,
           std::vector<double>& after);

}  // namespace meniscus::mesh
