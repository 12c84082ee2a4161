// Tetrahedra at the vertices of a mesh, shared by what needs them.
#pragma once

#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/topology/vertex_stars.hpp"

namespace meniscus::bindings {

/// Keeps the elements that the stars refer to.
struct TetStars {
  py::array tets;
  std::shared_ptr<const mesh::VertexStars<4>> stars;
};

}  // namespace meniscus::bindings
