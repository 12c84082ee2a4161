// Parts of the reconstruction of a surface of water: filters on boxes of a lattice, amounts in tetrahedra spread over cells.
#include "mesh/mesh_arrays.hpp"

#include "meniscus/surface/reconstruction/binomial_filter.hpp"
#include "meniscus/surface/reconstruction/tet_deposit.hpp"

namespace meniscus::bindings {
namespace {

std::span<double> box_of(const py::array& values, const Coord<3>& shape) {
  const Index n = product<3>(shape);
  return {data_of<double>(values, "values", n, true), static_cast<std::size_t>(n)};
}

}  // namespace

void bind_reconstruction(py::module_& m) {
  m.def(
      "smooth_binomial",
      [](const py::array& values, const Coord<3>& shape, int passes, Workspace& workspace) {
        const auto box = box_of(values, shape);
        interruptible([&] { surface::smooth_binomial(box, shape, passes, workspace); });
      },
      py::arg("values"), py::arg("shape"), py::arg("passes"), py::arg("workspace"));
  m.def(
      "dilate",
      [](const py::array& values, const Coord<3>& shape, Index reach, Workspace& workspace) {
        const auto box = box_of(values, shape);
        interruptible([&] { surface::dilate(box, shape, reach, workspace); });
      },
      py::arg("values"), py::arg("shape"), py::arg("reach"), py::arg("workspace"));
  m.def(
      "deposit_tets",
      [](const py::array& positions, const py::array& tets, const py::array& amounts, std::size_t kinds, const Coord<3>& low,
         const Coord<3>& shape, const py::array& out, Workspace& workspace) {
        const auto x = positions_of(positions, "positions");
        require(tets.ndim() == 2 && tets.shape(1) == 4, "tets must have shape (m, 4)");
        const auto count = static_cast<std::size_t>(tets.shape(0));
        const mesh::TetMeshView mesh{x, {reinterpret_cast<const mesh::Tet*>(data_of<std::int32_t>(tets, "tets")), count}};
        const std::span<const double> given(data_of<double>(amounts, "amounts", static_cast<Index>(count * kinds)),
                                            count * kinds);
        const std::size_t n = kinds * static_cast<std::size_t>(product<3>(shape));
        const std::span<double> to(data_of<double>(out, "out", static_cast<Index>(n), true), n);
        interruptible([&] { surface::deposit_tets(mesh, given, kinds, low, shape, to, workspace); });
      },
      py::arg("positions"), py::arg("tets"), py::arg("amounts"), py::arg("kinds"), py::arg("low"), py::arg("shape"),
      py::arg("out"), py::arg("workspace"));
}

}  // namespace meniscus::bindings
