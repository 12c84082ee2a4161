// Penalty forces of tetrahedral bodies.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/penalty/tet_penalty.hpp"

namespace meniscus::bindings {

void bind_tet_penalty(py::module_& m) {
  using solids::TetPenalty, solids::PenaltyResponse;
  py::native_enum<PenaltyResponse>(m, "PenaltyResponse", "enum.Enum")
      .value("consistent", PenaltyResponse::consistent)
      .value("ray", PenaltyResponse::ray)
      .finalize();
  py::class_<TetPenalty>(m, "TetPenalty")
      .def(py::init([](const std::vector<std::int32_t>& nodes, const std::vector<py::array>& tets,
                       const std::vector<py::array>& surfaces) {
             require(tets.size() == nodes.size() && surfaces.size() == nodes.size(), "each body needs tetrahedra and a surface");
             std::vector<solids::PenaltyBody> bodies(nodes.size());
             for (std::size_t b = 0; b < nodes.size(); ++b) {
               const auto tet_rows = elements_of<4>(tets[b], "tets");
               const auto triangle_rows = triangles_of(surfaces[b]);
               const std::span<const mesh::Tet> t = tet_rows;
               const std::span<const mesh::Triangle> s = triangle_rows;
               bodies[b] = {nodes[b], {t.begin(), t.end()}, {s.begin(), s.end()}};
             }
             return std::make_unique<TetPenalty>(std::move(bodies));
           }),
           py::arg("nodes"), py::arg("tets"), py::arg("surfaces"))
      .def(
          "forces",
          [](TetPenalty& self, const py::array& positions, const py::array& velocities, double stiffness, double damping,
             double friction, PenaltyResponse response, bool self_collision, const py::array& out) {
            const auto x = nodes_of(positions, "positions", self.size()), v = nodes_of(velocities, "velocities", self.size());
            const auto f = writable_nodes_of(out, "out", self.size());
            const solids::PenaltyOptions options{stiffness, damping, friction, response, self_collision};
            interruptible([&] { self.forces(x, v, options, f); });
            return py::make_tuple(py::array_t<std::int32_t>(static_cast<py::ssize_t>(self.nodes().size()), self.nodes().data()),
                                  copy_of(self.depths()), copy_of(self.directions()));
          },
          py::arg("positions"), py::arg("velocities"), py::arg("stiffness"), py::arg("damping"), py::arg("friction"),
          py::arg("response"), py::arg("self_collision"), py::arg("out"));
}

}  // namespace meniscus::bindings
