#include "meniscus/fluids/tet_vof/tet_graph.hpp"

#include "meniscus/collision/point_location/tet_neighbours.hpp"
#include "meniscus/core/parallel.hpp"

namespace meniscus::fluids {

TetGraph::TetGraph(std::shared_ptr<const mesh::VertexStars<4>> stars)
    : stars_(std::move(stars)),
      tets_(stars_->elements()),
      neighbours_(collision::find_neighbours(tets_)),
      back_faces_(tets_.size(), 0) {
  parallel_for(0, size(), 1 << 12, [&](Index b, Index e) {
    for (auto t = static_cast<std::int32_t>(b); t < static_cast<std::int32_t>(e); ++t)
      for (std::size_t face = 0; face < 4; ++face) {
        const std::int32_t beyond = neighbours(t)[face];
        if (beyond < 0) continue;
        // Two tetrahedra may have two faces in common; the corner opposite of the right one is not on this face.
        const mesh::Tet& c = tet(t);
        for (std::size_t k = 0; k < 4; ++k) {
          const std::int32_t apex = tet(beyond)[k];
          if (neighbours(beyond)[k] == t && apex != c[(face + 1) % 4] && apex != c[(face + 2) % 4] && apex != c[(face + 3) % 4])
            back_faces_[t] |= static_cast<std::uint8_t>(k << (2 * face));
        }
      }
  });
}

}  // namespace meniscus::fluids
