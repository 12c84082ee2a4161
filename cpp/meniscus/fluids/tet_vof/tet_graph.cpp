#include "meniscus/fluids/tet_vof/tet_graph.hpp"

#include "meniscus/collision/point_location/tet_neighbours.hpp"

namespace meniscus::fluids {

TetGraph::TetGraph(std::span<const mesh::Tet> tets, Index vertices)
    : tets_(tets), neighbours_(collision::find_neighbours(tets)), stars_(tets, vertices) {}

}  // namespace meniscus::fluids
