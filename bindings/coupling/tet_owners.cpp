// Owners of the water in tetrahedra.
#include "collision/triangle_arrays.hpp"
#include "mesh/mesh_arrays.hpp"

#include "meniscus/coupling/tet_owners.hpp"

namespace meniscus::bindings {

namespace {

mesh::Point point(const std::array<double, 3>& x) { return {x[0], x[1], x[2]}; }

}  // namespace

void bind_tet_owners(py::module_& m) {
  using grid::Field;
  m.def(
      "update_owners",
      [](const py::array& positions, const py::array& tets, Field<double, 3>& distance, Field<double, 3>& liquid, double hold,
         const std::array<double, 3>& low, const std::array<double, 3>& high, const py::array& owners) {
        const auto x = positions_of(positions, "positions");
        const auto t = elements_of<4>(tets, "tets");
        auto* const o =
            reinterpret_cast<coupling::WaterOwner*>(data_of<std::uint8_t>(owners, "owners", static_cast<Index>(t.size()), true));
        return interruptible([&] {
          distance.fill_ghosts(0.0);
          liquid.fill_ghosts(0.0);
          return coupling::update_owners(x, t, {distance, liquid, hold, point(low), point(high)}, {o, t.size()});
        });
      },
      py::arg("positions"), py::arg("tets"), py::arg("distance"), py::arg("liquid"), py::arg("hold"), py::arg("low"),
      py::arg("high"), py::arg("owners"));
  m.def(
      "centroids",
      [](const py::array& positions, const py::array& tets, const py::array& chosen, const py::array& out) {
        const auto x = positions_of(positions, "positions");
        const auto t = elements_of<4>(tets, "tets");
        const Index n = chosen.size();
        const auto* const which = data_of<std::int32_t>(chosen, "chosen", n);
        const bool known =
            std::all_of(which, which + n, [&](std::int32_t i) { return i >= 0 && static_cast<std::size_t>(i) < t.size(); });
        require(known, "chosen must be numbers of tetrahedra");
        auto* const c = reinterpret_cast<mesh::Point*>(data_of<double>(out, "out", 3 * n, true));
        interruptible(
            [&] { coupling::centroids_of(x, t, {which, static_cast<std::size_t>(n)}, {c, static_cast<std::size_t>(n)}); });
      },
      py::arg("positions"), py::arg("tets"), py::arg("chosen"), py::arg("out"));
}

}  // namespace meniscus::bindings
