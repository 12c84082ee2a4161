#include "meniscus/coupling/tet_owners.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/field_probe.hpp"

#include <atomic>

namespace meniscus::coupling {
namespace {

constexpr Index owner_chunk = 4096;

mesh::Point centroid(std::span<const mesh::Point> x, const mesh::Tet& t) {
  const auto at = [&](std::size_t k) -> const mesh::Point& { return x[t[k]]; };
  return 0.25 * (((at(0) + at(1)) + at(2)) + at(3));
}

}  // namespace

bool update_owners(std::span<const mesh::Point> positions, std::span<const mesh::Tet> tets, const KeptLiquid& kept,
                   std::span<WaterOwner> owners) {
  const grid::Grid<3>& g = kept.distance.grid();
  mesh::Point low, high;
  for (int d = 0; d < 3; ++d) {
    const Index i = d;
    low[d] = g.origin()[i];
    high[d] = g.origin()[i] + static_cast<double>(g.shape()[i]) * g.spacing();
  }
  const grid::FieldProbe<double, 3> distance(kept.distance), liquid(kept.liquid);
  std::atomic<bool> changed = false;
  parallel_for(0, static_cast<Index>(tets.size()), owner_chunk, [&](Index b, Index e) {
    bool some = false;
    for (Index i = b; i < e; ++i) {
      const mesh::Point c = centroid(positions, tets[i]);
      const auto within = [&](const mesh::Point& from, const mesh::Point& to) {
        return (c.array() >= from.array()).all() && (c.array() <= to.array()).all();
      };
      WaterOwner owner = within(kept.low, kept.high) ? WaterOwner::tets : WaterOwner::grid;
      if (within(low, high)) {
        const double hold = owners[i] == WaterOwner::grid ? kept.hold : 0.0;
        if (liquid.value(c) <= hold && distance.value(c) <= hold) owner = WaterOwner::grid;
      }
      some = some || owner != owners[i];
      owners[i] = owner;
    }
    if (some) changed = true;
  });
  return changed;
}

void centroids_of(std::span<const mesh::Point> positions, std::span<const mesh::Tet> tets, std::span<const std::int32_t> chosen,
                  std::span<mesh::Point> centroids) {
  parallel_for(0, static_cast<Index>(chosen.size()), owner_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) centroids[i] = centroid(positions, tets[chosen[i]]);
  });
}

}  // namespace meniscus::coupling
