#include "meniscus/surface/extraction/mesh_welding.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/parallel/parcels.hpp"

#include <limits>

namespace meniscus::surface {

template <int D>
WeldedMesh<D> weld(parallel::Communicator& communicator, const std::vector<WeldedVertex<D>>& vertices,
                   const std::vector<WeldedElement<D>>& elements) {
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  WeldedMesh<D> mesh;
  mesh.vertices = parallel::gather_lists(communicator, vertices);
  std::vector<WeldedElement<D>> all = parallel::gather_lists(communicator, elements);
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  require(mesh.vertices.size() <= most && all.size() <= most, "the surface has ", mesh.vertices.size(), " vertices and ",
          all.size(), " elements; at most ", most, " can be numbered");
  std::sort(mesh.vertices.begin(), mesh.vertices.end(), by_key);
  std::sort(all.begin(), all.end(), by_key);
  mesh.elements.reserve(all.size());
  for (const WeldedElement<D>& e : all) {
    std::array<std::int32_t, D>& element = mesh.elements.emplace_back();
    for (std::size_t k = 0; k < D; ++k) {
      const auto at =
          std::lower_bound(mesh.vertices.begin(), mesh.vertices.end(), WeldedVertex<D>{e.vertices[k], {}, {}}, by_key);
      element[k] = static_cast<std::int32_t>(at - mesh.vertices.begin());
    }
  }
  return mesh;
}

template WeldedMesh<2> weld<2>(parallel::Communicator&, const std::vector<WeldedVertex<2>>&,
                               const std::vector<WeldedElement<2>>&);
template WeldedMesh<3> weld<3>(parallel::Communicator&, const std::vector<WeldedVertex<3>>&,
                               const std::vector<WeldedElement<3>>&);

}  // namespace meniscus::surface
