// Volumes of hair in cells.
#include "collision/triangle_arrays.hpp"

#include "meniscus/coupling/hair/hair_volume.hpp"

namespace meniscus::bindings {

void bind_hair_volume(py::module_& m) {
  m.def(
      "add_hair",
      [](const py::array& offsets, const py::array& points, const py::array& velocities, const py::array& radii,
         const grid::Grid<3>& grid, const py::array& cells) {
        const Index strands = radii.size();
        const auto* const o = data_of<std::int64_t>(offsets, "offsets", strands + 1);
        const auto x = positions_of(points, "points"), v = positions_of(velocities, "velocities");
        require(v.size() == x.size() && o[0] == 0 && o[strands] == std::ssize(x), "offsets must end with the number of points");
        const auto* const r = data_of<double>(radii, "radii", strands);
        const auto count = static_cast<std::size_t>(cells.size() / 10);
        auto* const to = reinterpret_cast<coupling::HairCell*>(data_of<double>(cells, "cells", cells.size(), true));
        return interruptible([&] {
          return coupling::add_hair({o, static_cast<std::size_t>(strands + 1)}, x, v, {r, static_cast<std::size_t>(strands)},
                                    grid, {to, count});
        });
      },
      py::arg("offsets"), py::arg("points"), py::arg("velocities"), py::arg("radii"), py::arg("grid"), py::arg("cells"));
}

}  // namespace meniscus::bindings
