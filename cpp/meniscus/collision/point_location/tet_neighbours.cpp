#include "meniscus/collision/point_location/tet_neighbours.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"

namespace meniscus::collision {
namespace {

constexpr Index neighbour_chunk = 2048;

/// The corners of face k, ascending.
std::array<std::int32_t, 3> face_key(const mesh::Tet& t, std::size_t k) {
  std::array<std::int32_t, 3> f{t[(k + 1) % 4], t[(k + 2) % 4], t[(k + 3) % 4]};
  std::sort(f.begin(), f.end());
  return f;
}

}  // namespace

std::vector<mesh::Tet> find_neighbours(std::span<const mesh::Tet> tets) {
  std::vector<mesh::Tet> neighbours(tets.size(), mesh::Tet{-1, -1, -1, -1});
  const auto faces = static_cast<Index>(4 * tets.size());
  std::vector<std::uint64_t> keys(faces);
  std::vector<Index> order(keys.size());
  const auto key = [&](Index f) { return face_key(tets[f / 4], static_cast<std::size_t>(f % 4)); };
  parallel_for(0, faces, neighbour_chunk, [&](Index b, Index e) {
    for (Index f = b; f < e; ++f) {
      const auto k = key(f);
      keys[f] = static_cast<std::uint64_t>(k[0]) << 31 | static_cast<std::uint64_t>(k[1]);
    }
  });
  Workspace workspace;
  radix_sort(keys.data(), order.data(), faces, std::uint64_t{1} << 62, workspace);
  for (std::size_t first = 0; first < keys.size();) {
    std::size_t end = first + 1;
    while (end < keys.size() && keys[end] == keys[first]) ++end;
    const auto begin = order.begin();
    const auto third = [&](Index f) { return key(f)[2]; };
    std::sort(begin + static_cast<Index>(first), begin + static_cast<Index>(end),
              [&](Index f, Index g) { return third(f) != third(g) ? third(f) < third(g) : f < g; });
    while (first < end) {
      std::size_t next = first + 1;
      while (next < end && third(order[next]) == third(order[first])) ++next;
      if (next == first + 2) {
        const Index f = order[first];
        const Index g = order[first + 1];
        neighbours[f / 4][f % 4] = static_cast<std::int32_t>(g / 4);
        neighbours[g / 4][g % 4] = static_cast<std::int32_t>(f / 4);
      }
      first = next;
    }
  }
  return neighbours;
}

}  // namespace meniscus::collision
