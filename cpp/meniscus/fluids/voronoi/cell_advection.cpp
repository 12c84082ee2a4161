#include "meniscus/fluids/voronoi/cell_advection.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::fluids {
namespace {

using mesh::Point;

/// By new site: the old one at the same place or -1, and the anchor in the old liquid.
struct OldSites {
  std::vector<std::int32_t> same, anchor, tet;

  OldSites(const CellVelocity& old, const mesh::VoronoiMesh& mesh) {
    same.resize(mesh.sites().size());
    anchor.resize(same.size());
    tet.resize(same.size());
    parallel_for(0, mesh.size(), 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const Point& x = mesh.sites()[i];
        tet[i] = old.mesh().walk().start(x);
        const std::int32_t c = old.mesh().locate(x, tet[i]);
        same[i] = old.mesh().sites()[c] == x ? c : -1;
        anchor[i] = old.anchor_at(x, tet[i]);
      }
    });
  }
};

std::int32_t face_between(const mesh::VoronoiMesh& mesh, std::int32_t a, std::int32_t b) {
  for (const std::int32_t f : mesh.faces_of(a))
    if (!mesh.faces()[f].on_wall() && mesh.faces()[f].across(a) == b) return f;
  return -1;
}

}  // namespace

void advect_faces(const CellVelocity& old, std::span<const FaceVelocity> old_velocity, const mesh::VoronoiMesh& mesh,
                  const LiquidCells& cells, double dt, bool printed, std::span<FaceVelocity> out) {
  const OldSites sites(old, mesh);
  parallel_for(0, std::ssize(mesh.faces()), 128, [&](Index begin, Index end) {
    for (Index f = begin; f < end; ++f) {
      out[f] = {0, 0};
      const auto& [a, b] = mesh.faces()[f];
      if (b < 0) continue;
      const Point &x = mesh.centroids()[f], &n = mesh.normals()[f];
      const bool stays = !printed && sites.same[a] >= 0 && sites.same[b] >= 0;
      const std::int32_t kept = stays ? face_between(old.mesh(), sites.same[a], sites.same[b]) : -1;
      for (const std::size_t s : {0u, 1u}) {
        if (!cells.known(f, s)) continue;
        if (s == 1 && cells.sides[f][1].beyond == Beyond::liquid) {
          out[f][1] = out[f][0];
          continue;
        }
        const std::int32_t site = s == 0 ? a : b, anchor = sites.anchor[site];
        std::int32_t tet = sites.tet[site];
        const Point middle = old.at(x - dt / 2 * old.at(x, anchor, tet), anchor, tet);
        const Point there = old.at(x - dt * middle, anchor, tet);
        if (kept >= 0) {
          const bool swapped = old.mesh().faces()[kept].first != sites.same[a];
          const std::size_t side = swapped ? 1 - s : s;
          if (old.cells().known(kept, side) && sites.same[site] == anchor) {
            const Point here = old.at(old.mesh().centroids()[kept], anchor, tet);
            out[f][s] = (swapped ? -1 : 1) * old_velocity[kept][side] + n.dot(there - here);
            continue;
          }
        }
        out[f][s] = n.dot(there);
      }
    }
  });
}

}  // namespace meniscus::fluids
