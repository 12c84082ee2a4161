// Resolution of contacts within a step.
#include "collision/pair_arrays.hpp"
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/contact/resolve.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using collision::ElementPair;

std::vector<ElementPair> pairs_in(const py::array& a, const char* name) {
  const std::int32_t* first = data_of<std::int32_t>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 2, name, " must have shape (k, 2)");
  std::vector<ElementPair> pairs(static_cast<std::size_t>(a.shape(0)));
  std::copy_n(first, 2 * pairs.size(), reinterpret_cast<std::int32_t*>(pairs.data()));
  return pairs;
}

/// What a resolver works on stays alive as long as it does.
struct Resolver {
  py::object mesh, nodes;
  collision::ContactResolver core;
};

}  // namespace

void bind_contact_resolver(py::module_& m) {
  py::native_enum<collision::ResolveEnd>(m, "ResolveEnd", "enum.Enum")
      .value("free", collision::ResolveEnd::free)
      .value("cut", collision::ResolveEnd::cut)
      .value("pinched", collision::ResolveEnd::pinched)
      .finalize();
  py::class_<collision::ResolveReport>(m, "ResolveReport")
      .def_readonly("end", &collision::ResolveReport::end)
      .def_readonly("fraction", &collision::ResolveReport::fraction)
      .def_readonly("contacts", &collision::ResolveReport::contacts)
      .def_readonly("impulses", &collision::ResolveReport::impulses)
      .def_readonly("passes", &collision::ResolveReport::passes)
      .def_property_readonly("zones", [](const collision::ResolveReport& r) { return r.zones.zones; })
      .def_property_readonly("zone_nodes", [](const collision::ResolveReport& r) { return r.zones.nodes; })
      .def_property_readonly("largest_zone", [](const collision::ResolveReport& r) { return r.zones.largest; })
      .def_property_readonly("rigid_zones", [](const collision::ResolveReport& r) { return r.zones.rigid_zones; })
      .def_property_readonly("rigid_nodes", [](const collision::ResolveReport& r) { return r.zones.rigid_nodes; })
      .def_property_readonly("failed_solves", [](const collision::ResolveReport& r) { return r.zones.failed_solves; })
      .def_property_readonly("zone_iterations", [](const collision::ResolveReport& r) { return r.zones.iterations; })
      .def_property_readonly("vertex_face", [](const collision::ResolveReport& r) { return copied_rows(r.vertex_face); })
      .def_property_readonly("edge_edge", [](const collision::ResolveReport& r) { return copied_rows(r.edge_edge); });
  py::class_<Resolver>(m, "ContactResolver")
      .def(py::init([](py::object mesh, py::object nodes) {
             auto& core_mesh = mesh.cast<collision::CollisionMesh&>();
             const auto& core_nodes = nodes.cast<const collision::ContactNodes&>();
             return std::make_unique<Resolver>(Resolver{std::move(mesh), std::move(nodes), {core_mesh, core_nodes}});
           }),
           py::arg("mesh"), py::arg("nodes"))
      .def_property_readonly("nbytes", [](const Resolver& self) { return self.core.nbytes(); })
      .def("take_groups",
           [](Resolver& self) {
             py::array_t<std::int32_t> out(self.nodes.cast<const collision::ContactNodes&>().nodes());
             self.core.take_groups({out.mutable_data(), static_cast<std::size_t>(out.size())});
             return out;
           })
      .def(
          "resolve",
          [](Resolver& self, const py::array& start, const py::array& end, const py::array& deactivated_vertex_face,
             const py::array& deactivated_edge_edge, int impulse_passes, int inelastic_solves, bool rigid,
             Index largest_inelastic, bool cut, const std::optional<py::array>& thickness, double push_part, double inner_steps,
             py::array& out) {
            const auto from = positions_of(start, "start");
            const auto to = positions_of(end, "end");
            collision::DeactivatedPairs deactivated{pairs_in(deactivated_vertex_face, "vertex_face"),
                                                    pairs_in(deactivated_edge_edge, "edge_edge")};
            deactivated.sort();
            collision::ResolveOptions options;
            options.impulse_passes = impulse_passes;
            options.zones = {inelastic_solves, rigid, largest_inelastic};
            options.cut = cut;
            options.push = {{}, push_part, inner_steps};
            if (thickness) {
              options.push.thickness = {data_of<double>(*thickness, "thickness"), static_cast<std::size_t>(thickness->size())};
              require(thickness->size() == self.nodes.cast<const collision::ContactNodes&>().vertices(),
                      "thickness must have one value per vertex, not ", thickness->size());
            }
            const auto written = positions_of(out, "out");
            require(written.size() == from.size(), "out must have the shape of start");
            auto* const x = reinterpret_cast<mesh::Point*>(out.mutable_data());
            return interruptible([&] {
              collision::ResolveReport report = self.core.resolve(from, to, deactivated, options);
              std::ranges::copy(self.core.paths().end(), x);
              return report;
            });
          },
          py::arg("start"), py::arg("end"), py::arg("deactivated_vertex_face"), py::arg("deactivated_edge_edge"),
          py::arg("impulse_passes"), py::arg("inelastic_solves"), py::arg("rigid"), py::arg("largest_inelastic"), py::arg("cut"),
          py::arg("thickness"), py::arg("push_part"), py::arg("inner_steps"), py::arg("out"));
}

}  // namespace meniscus::bindings
