#include "meniscus/fluids/tet_projection/tet_pressure_topology.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <limits>

namespace meniscus::fluids {
namespace {

std::vector<mesh::Tet> valid(std::span<const mesh::Tet> tets, Index vertices) {
  mesh::require_valid_elements(tets, vertices);
  constexpr Index most = std::numeric_limits<std::int32_t>::max() / 6;
  require(static_cast<Index>(tets.size()) <= most, "a mesh must have at most ", most, " tetrahedra, not ", tets.size());
  return {tets.begin(), tets.end()};
}

}  // namespace

TetPressureTopology::TetPressureTopology(std::span<const mesh::Tet> tets, Index vertices)
    : tets_(valid(tets, vertices)), stars_(tets_, vertices) {
  const mesh::EdgeGraph graph(stars_);
  ring_start_.assign(graph.ring_starts().begin(), graph.ring_starts().end());
  ring_.assign(graph.rings().begin(), graph.rings().end());
  ring_edge_.resize(ring_.size());
  parallel_for(0, vertices, 1024, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v)
      for (Index k = ring_start_[v]; k < ring_start_[v + 1]; ++k)
        ring_edge_[k] = static_cast<std::int32_t>(graph.find(static_cast<std::int32_t>(v), ring_[k]));
  });
  std::vector<std::int32_t> edge_of(6 * tets_.size());
  mesh::find_element_edges<4>(tets_, graph, edge_of);
  numerics::list_by_rows(std::ssize(graph.edges()), edge_start_, edge_places_, [&](auto&& add) {
    for (std::size_t i = 0; i < edge_of.size(); ++i) add(edge_of[i], static_cast<std::int32_t>(i));
  });
  const mesh::TetTopology topology(stars_);
  for (const std::int32_t f : topology.boundary()) boundary_.push_back({topology.faces()[f], topology.face_tets()[f][0]});
}

Index TetPressureTopology::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.size() * sizeof(v[0])); };
  return of(tets_) + of(stars_.starts()) + of(stars_.corners()) + of(ring_start_) + of(edge_start_) + of(ring_) + of(ring_edge_) +
         of(edge_places_) + of(boundary_);
}

}  // namespace meniscus::fluids
