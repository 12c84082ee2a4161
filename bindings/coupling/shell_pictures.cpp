// Pictures of fluids beside thin shells.
#include "bridge.hpp"

#include "meniscus/coupling/shell_pictures/one_sided_surface.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
py::array_t<double> picture_rows(const std::vector<Vec<double, D>>& rows) {
  static_assert(sizeof(Vec<double, D>) == D * sizeof(double));
  py::array_t<double> out({static_cast<py::ssize_t>(rows.size()), py::ssize_t{D}});
  if (!rows.empty()) std::copy_n(rows[0].data(), rows.size() * D, out.mutable_data());
  return out;
}

template <class T, int D>
void bind_one_sided_surface(py::module_& m) {
  m.def(
      "one_sided_surface",
      [](grid::Field<T, D>& phi, const coupling::ShellWalls<D>& walls, Index refine, double time) {
        const coupling::OneSidedMesh<D> mesh =
            interruptible([&] { return coupling::one_sided_surface<T, D>(phi, walls, refine, time); });
        py::array_t<std::int32_t> elements({static_cast<py::ssize_t>(mesh.elements.size()), py::ssize_t{D}});
        if (!mesh.elements.empty()) std::copy_n(mesh.elements[0].data(), mesh.elements.size() * D, elements.mutable_data());
        py::array_t<bool> wetted(static_cast<py::ssize_t>(mesh.wetted.size()));
        std::ranges::copy(mesh.wetted, wetted.mutable_data());
        return py::make_tuple(picture_rows<D>(mesh.vertices), elements, picture_rows<D>(mesh.normals), wetted,
                              picture_rows<D>(mesh.way), picture_rows<D>(mesh.sample));
      },
      py::arg("phi"), py::arg("walls"), py::arg("refine"), py::arg("time"));
}

}  // namespace

void bind_shell_pictures(py::module_& m) {
  bind_one_sided_surface<double, 2>(m);
  bind_one_sided_surface<float, 3>(m);
  bind_one_sided_surface<double, 3>(m);
}

}  // namespace meniscus::bindings
