/// Whose the water in tetrahedra is: their own, or that of a grid around them.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <span>

namespace meniscus::coupling {

enum class WaterOwner : std::uint8_t { tets, grid };

/// What a grid keeps of its liquid, on cells with filled ghosts.
struct KeptLiquid {
  const grid::Field<double, 3>& distance;  ///< how far beyond what the grid keeps, m; negative within
  const grid::Field<double, 3>& liquid;    ///< level set
  double hold;                             ///< m, by which water must leave before its tetrahedra are free again
  mesh::Point low, high;                   ///< corners of the domain; beyond, tetrahedra hold no water of their own
};

/// Sets the owner of each tetrahedron by its centroid; before, it is the present one. Whether any has changed. Outside of the
/// grid of the fields tetrahedra are their own.
bool update_owners(std::span<const mesh::Point> positions, std::span<const mesh::Tet> tets, const KeptLiquid& kept,
                   std::span<WaterOwner> owners);

/// centroids[i] = that of tets[chosen[i]].
void centroids_of(std::span<const mesh::Point> positions, std::span<const mesh::Tet> tets, std::span<const std::int32_t> chosen,
                  std::span<mesh::Point> centroids);

}  // namespace meniscus::coupling
