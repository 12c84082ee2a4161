/// One mesh from the parts of a surface in the blocks of a domain, in an order that does not depend on the blocks.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/parallel/communicator.hpp"

#include <vector>

namespace meniscus::surface {

/// A vertex of the surface. Its key tells its place in the order of all vertices, and that of a copy in another block is the
/// same.
template <int D>
struct WeldedVertex {
  std::uint64_t key;
  std::array<double, D> position, normal;
};

/// An element, with its place in the order of all elements and the keys of its vertices.
template <int D>
struct WeldedElement {
  std::uint64_t key;
  std::array<std::uint64_t, D> vertices;
};

template <int D>
struct WeldedMesh {
  std::vector<WeldedVertex<D>> vertices;
  std::vector<std::array<std::int32_t, D>> elements;
};

/// Collective: gathers the parts of all blocks, orders them by their keys, and numbers the vertices. Every vertex and every
/// element is in one part. Throws InvalidArgument for more of them than 32 bits count.
template <int D>
WeldedMesh<D> weld(parallel::Communicator& communicator, const std::vector<WeldedVertex<D>>& vertices,
                   const std::vector<WeldedElement<D>>& elements);

}  // namespace meniscus::surface
