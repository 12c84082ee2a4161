#include "meniscus/mesh/dynamic/surface_events.hpp"

#include "meniscus/core/error.hpp"

#include <unordered_map>

namespace meniscus::mesh {
namespace {

using Edge = std::array<std::int32_t, 2>;

Edge ordered(std::int32_t a, std::int32_t b) { return a < b ? Edge{a, b} : Edge{b, a}; }

std::uint64_t key_of(const Edge& e) { return static_cast<std::uint64_t>(e[0]) << 32 | static_cast<std::uint32_t>(e[1]); }

/// New values of the targets of one event, from values before it. Transfers of one target follow each other.
template <class T, class RowOf>
void apply(std::span<const T> transfers, CarryRule rule, std::size_t columns, std::vector<double>& values,
           std::vector<double>& scratch, RowOf&& row_of) {
  scratch.clear();
  for (std::size_t i = 0; i < transfers.size();) {
    const std::size_t begin = i;
    while (i < transfers.size() && transfers[i].target == transfers[begin].target) ++i;
    const std::size_t at = scratch.size();
    scratch.resize(at + columns, 0.0);
    double heaviest = -1;
    for (std::size_t j = begin; j < i; ++j) {
      const T& t = transfers[j];
      const double* const source = values.data() + row_of(t.source) * columns;
      if (rule == CarryRule::inherit && t.weight <= heaviest) continue;
      heaviest = std::max(heaviest, t.weight);
      for (std::size_t c = 0; c < columns; ++c) {
        double& out = scratch[at + c];
        switch (rule) {
          case CarryRule::interpolate:
            out += t.weight * source[c];
            break;
          case CarryRule::inherit:
            out = source[c];
            break;
          case CarryRule::sum:
            out += t.share * source[c];
            break;
          case CarryRule::largest:
            out = j == begin ? source[c] : std::max(out, source[c]);
            break;
        }
      }
    }
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < transfers.size();) {
    const std::size_t begin = i;
    while (i < transfers.size() && transfers[i].target == transfers[begin].target) ++i;
    const std::size_t row = row_of(transfers[begin].target) * columns;
    if (values.size() < row + columns) values.resize(row + columns, 0.0);
    std::copy_n(scratch.begin() + static_cast<std::ptrdiff_t>(at), columns, values.begin() + static_cast<std::ptrdiff_t>(row));
    at += columns;
  }
}

template <class T, class Element>
bool targets(const std::vector<T>& transfers, const Element& element) {
  return std::any_of(transfers.begin(), transfers.end(), [&](const T& t) { return t.target == element; });
}

/// What was new in this event already hands its sources on.
template <class T, class Element>
void leave(std::vector<T>& transfers, const Element& gone, const Element& heir) {
  if (gone == heir) return;
  if (!targets(transfers, heir)) transfers.push_back({heir, heir, 1, 1});
  if (!targets(transfers, gone)) transfers.push_back({heir, gone, 0, 1});
  for (T& t : transfers)
    if (t.target == gone) t = {heir, t.source, 0, t.share};
}

}  // namespace

void EventTransfers::clear() {
  vertices.clear();
  triangles.clear();
  edges.clear();
}

void EventTransfers::edge(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, double weight, double share) {
  edges.push_back({ordered(a, b), ordered(c, d), weight, share});
}

void EventTransfers::replace_triangle(std::int32_t old, std::int32_t fresh) {
  // What was new in this event already hands its sources on.
  if (!targets(triangles, old)) triangles.push_back({fresh, old, 1, 1});
  for (Transfer& t : triangles)
    if (t.target == old) t.target = fresh;
}

void EventTransfers::leave_triangle(std::int32_t gone, std::int32_t heir) { leave(triangles, gone, heir); }
void EventTransfers::leave_vertex(std::int32_t gone, std::int32_t heir) { leave(vertices, gone, heir); }
void EventTransfers::leave_edge(Edge gone, Edge heir) { leave(edges, ordered(gone[0], gone[1]), ordered(heir[0], heir[1])); }

void SurfaceEvents::begin(const DynamicSurface& surface) {
  vertices_before = surface.vertices();
  triangles_before = surface.slots();
  kinds.clear();
  for (auto* list : {&first_change, &first_vertex_transfer, &first_triangle_transfer, &first_edge_transfer}) list->assign(1, 0);
  changes.clear();
  for (auto* list : {&which, &rows, &vertices, &triangles}) list->clear();
  points.clear();
  corners.clear();
  vertex_transfers.clear();
  triangle_transfers.clear();
  edge_transfers.clear();
}

void SurfaceEvents::add(EventKind kind, const DynamicSurface& surface, std::size_t begin, std::size_t end,
                        const EventTransfers& transfers) {
  kinds.push_back(kind);
  for (std::size_t i = begin; i < end; ++i) {
    const auto& e = surface.journal()[i];
    changes.push_back(e.change);
    which.push_back(e.which);
    if (e.change == Change::moved || e.change == Change::new_vertex) {
      rows.push_back(static_cast<std::int32_t>(points.size()));
      points.push_back(surface.position(e.which));
    } else {
      rows.push_back(static_cast<std::int32_t>(corners.size()));
      corners.push_back(surface.triangle(e.which));
    }
  }
  first_change.push_back(static_cast<Index>(changes.size()));
  const auto append = [](auto& list, auto& first, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
    std::stable_sort(list.begin() + static_cast<std::ptrdiff_t>(first.back()), list.end(),
                     [](const auto& a, const auto& b) { return a.target < b.target; });
    first.push_back(static_cast<Index>(list.size()));
  };
  append(vertex_transfers, first_vertex_transfer, transfers.vertices);
  append(triangle_transfers, first_triangle_transfer, transfers.triangles);
  append(edge_transfers, first_edge_transfer, transfers.edges);
}

void SurfaceEvents::finish(const DynamicSurface& surface) {
  vertices.clear();
  triangles.clear();
  for (std::int32_t v = 0; v < surface.vertices(); ++v)
    if (!surface.star(v).empty()) vertices.push_back(v);
  for (std::int32_t t = 0; t < surface.slots(); ++t)
    if (surface.alive(t)) triangles.push_back(t);
}

Index SurfaceEvents::nbytes() const {
  const auto bytes = [](const auto&... lists) {
    return (static_cast<Index>(lists.capacity() * sizeof(typename std::decay_t<decltype(lists)>::value_type)) + ...);
  };
  return bytes(kinds, first_change, changes, which, rows, points, corners, first_vertex_transfer, first_triangle_transfer,
               first_edge_transfer, vertex_transfers, triangle_transfers, edge_transfers, vertices, triangles);
}

void replay(const SurfaceEvents& events, std::vector<Point>& vertices, std::vector<Triangle>& triangles) {
  require(std::ssize(vertices) == events.vertices_before && std::ssize(triangles) == events.triangles_before,
          "the events are of ", events.vertices_before, " vertices and ", events.triangles_before, " triangles, not of ",
          vertices.size(), " and ", triangles.size());
  for (const Triangle& c : triangles)
    for (const std::int32_t v : c) require(v >= 0 && v < std::ssize(vertices), "vertex ", v, " does not exist");
  std::vector<std::uint8_t> alive(triangles.size(), 1);
  for (std::size_t i = 0; i < events.changes.size(); ++i) {
    const std::int32_t which = events.which[i];
    switch (events.changes[i]) {
      case Change::moved:
      case Change::new_vertex:
        if (which >= std::ssize(vertices)) vertices.resize(which + 1);
        vertices[which] = events.points[events.rows[i]];
        break;
      case Change::removed_element:
        alive[which] = 0;
        break;
      case Change::new_element:
        if (which >= std::ssize(triangles)) {
          triangles.resize(which + 1);
          alive.resize(triangles.size(), 0);
        }
        triangles[which] = events.corners[events.rows[i]];
        alive[which] = 1;
        break;
    }
  }
  std::vector<std::int32_t> number(vertices.size(), -1);
  std::vector<Point> kept_vertices(events.vertices.size());
  for (std::size_t i = 0; i < events.vertices.size(); ++i) {
    kept_vertices[i] = vertices[events.vertices[i]];
    number[events.vertices[i]] = static_cast<std::int32_t>(i);
  }
  std::vector<Triangle> kept_triangles(events.triangles.size());
  for (std::size_t i = 0; i < events.triangles.size(); ++i) {
    kept_triangles[i] = triangles[events.triangles[i]];
    for (std::int32_t& v : kept_triangles[i]) v = number[v];
  }
  vertices = std::move(kept_vertices);
  triangles = std::move(kept_triangles);
}

void carry(const SurfaceEvents& events, CarryOn on, CarryRule rule, int columns, std::span<const double> before,
           std::span<const Edge> before_edges, std::span<const Edge> after_edges, std::vector<double>& after) {
  const std::size_t width = columns;
  const Index rows_before = on == CarryOn::vertices    ? events.vertices_before
                            : on == CarryOn::triangles ? events.triangles_before
                                                       : std::ssize(before_edges);
  require(columns > 0 && std::ssize(before) == columns * rows_before, "there must be one row per element, ", rows_before,
          ", with a number at least");
  std::vector<double> values(before.begin(), before.end()), scratch;
  after.clear();
  if (on != CarryOn::edges) {
    const bool of_vertices = on == CarryOn::vertices;
    const auto& transfers = of_vertices ? events.vertex_transfers : events.triangle_transfers;
    const auto& first = of_vertices ? events.first_vertex_transfer : events.first_triangle_transfer;
    const auto row_of = [](std::int32_t i) -> std::size_t { return i; };
    for (Index i = 0; i < events.size(); ++i)
      apply(std::span(transfers).subspan(first[i], first[i + 1] - first[i]), rule, width, values, scratch, row_of);
    for (const std::int32_t slot : of_vertices ? events.vertices : events.triangles) {
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(row_of(slot) * width);
      after.insert(after.end(), from, from + columns);
    }
    return;
  }
  std::unordered_map<std::uint64_t, std::size_t> rows;
  for (std::size_t i = 0; i < before_edges.size(); ++i) rows.emplace(key_of(before_edges[i]), i);
  const auto row_of = [&](const Edge& e) {
    const auto [found, fresh] = rows.try_emplace(key_of(e), rows.size());
    if (fresh) values.resize(rows.size() * width, 0.0);
    return found->second;
  };
  for (Index i = 0; i < events.size(); ++i) {
    const std::size_t first = events.first_edge_transfer[i];
    const auto transfers = std::span(events.edge_transfers).subspan(first, events.first_edge_transfer[i + 1] - first);
    for (const EdgeTransfer& t : transfers) row_of(t.source), row_of(t.target);
    apply(transfers, rule, width, values, scratch, row_of);
  }
  for (const Edge& e : after_edges) {
    const std::size_t row = row_of(ordered(events.vertices[e[0]], events.vertices[e[1]]));
    after.insert(after.end(), values.begin() + static_cast<std::ptrdiff_t>(row * width),
                 values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  }
}

}  // namespace meniscus::mesh
