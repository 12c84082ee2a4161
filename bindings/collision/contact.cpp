// Contact of surfaces: nodes behind their vertices, and resolution of contacts within a step.
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/contact/resolve.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using collision::ElementPair;

std::span<const double> doubles_in(const py::array& a, const char* name) {
  const double* first = data_of<double>(a, name);
  return {first, static_cast<std::size_t>(a.size())};
}

collision::ContactNodes nodes_of(const py::array& inverse_masses, const std::optional<py::array>& nodes,
                                 const std::optional<py::array>& weights) {
  const auto w = doubles_in(inverse_masses, "inverse_masses");
  if (!nodes) return collision::ContactNodes(w);
  const std::int32_t* node = data_of<std::int32_t>(*nodes, "nodes");
  const double* weight = data_of<double>(*weights, "weights");
  require(nodes->ndim() == 2 && weights->ndim() == 2 && nodes->shape(0) == weights->shape(0) && nodes->shape(1) == weights->shape(1),
          "nodes and weights must have the same shape (vertices, nodes of a vertex)");
  std::vector<std::int32_t> first{0};
  std::vector<collision::NodeShare> shares;
  const py::ssize_t columns = nodes->shape(1);
  for (py::ssize_t v = 0; v < nodes->shape(0); ++v) {
    for (py::ssize_t k = 0; k < columns; ++k)
      if (weight[v * columns + k] != 0) shares.push_back({node[v * columns + k], weight[v * columns + k]});
    first.push_back(static_cast<std::int32_t>(shares.size()));
  }
  return collision::ContactNodes(w, first, shares);
}

/// Pairs as an array (k, 2) with memory of its own.
py::array_t<std::int32_t> array_of(const std::vector<ElementPair>& pairs) {
  py::array_t<std::int32_t> a({static_cast<py::ssize_t>(pairs.size()), static_cast<py::ssize_t>(2)});
  std::copy_n(reinterpret_cast<const std::int32_t*>(pairs.data()), 2 * pairs.size(), a.mutable_data());
  return a;
}

std::vector<ElementPair> pairs_in(const py::array& a, const char* name) {
  const std::int32_t* first = data_of<std::int32_t>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 2, name, " must have shape (k, 2)");
  std::vector<ElementPair> pairs(static_cast<std::size_t>(a.shape(0)));
  std::copy_n(first, 2 * pairs.size(), reinterpret_cast<std::int32_t*>(pairs.data()));
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

/// What a resolver works on stays alive as long as it does.
struct Resolver {
  py::object mesh, nodes;
  collision::ContactResolver core;
};

}  // namespace

void bind_contact(py::module_& m) {
  py::native_enum<collision::ResolveEnd>(m, "ResolveEnd", "enum.Enum")
      .value("free", collision::ResolveEnd::free)
      .value("cut", collision::ResolveEnd::cut)
      .value("pinched", collision::ResolveEnd::pinched)
      .finalize();
  py::class_<collision::ContactNodes>(m, "ContactNodes")
      .def(py::init(&nodes_of), py::arg("inverse_masses"), py::arg("nodes"), py::arg("weights"))
      .def_property_readonly("nodes", &collision::ContactNodes::nodes)
      .def_property_readonly("vertices", &collision::ContactNodes::vertices)
      .def_property_readonly("nbytes", &collision::ContactNodes::nbytes)
      .def(
          "set_inverse_masses",
          [](collision::ContactNodes& self, const py::array& inverse_masses) {
            self.set_inverse_masses(doubles_in(inverse_masses, "inverse_masses"));
          },
          py::arg("inverse_masses"))
      .def(
          "set_guided",
          [](collision::ContactNodes& self, const py::array& nodes, const py::array& projections) {
            const std::int32_t* node = data_of<std::int32_t>(nodes, "nodes");
            const double* p = data_of<double>(projections, "projections");
            require(projections.size() == 9 * nodes.size(), "projections must have shape (nodes, 3, 3)");
            std::vector<collision::GuidedNode> guided(static_cast<std::size_t>(nodes.size()));
            for (std::size_t k = 0; k < guided.size(); ++k)
              guided[k] = {node[k], Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(p + 9 * k)};
            self.set_guided(guided);
          },
          py::arg("nodes"), py::arg("projections"))
      .def(
          "at_vertices",
          [](const collision::ContactNodes& self, const py::array& of_nodes) {
            const auto x = positions_of(of_nodes, "of_nodes");
            py::array_t<double> out({static_cast<py::ssize_t>(self.vertices()), static_cast<py::ssize_t>(3)});
            const std::span to{reinterpret_cast<mesh::Point*>(out.mutable_data()), static_cast<std::size_t>(self.vertices())};
            interruptible([&] { self.at_vertices(x, to); });
            return out;
          },
          py::arg("of_nodes"));
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
      .def_property_readonly("vertex_face", [](const collision::ResolveReport& r) { return array_of(r.vertex_face); })
      .def_property_readonly("edge_edge", [](const collision::ResolveReport& r) { return array_of(r.edge_edge); });
  py::class_<Resolver>(m, "ContactResolver")
      .def(py::init([](py::object mesh, py::object nodes) {
             auto& core_mesh = mesh.cast<collision::CollisionMesh&>();
             const auto& core_nodes = nodes.cast<const collision::ContactNodes&>();
             return std::make_unique<Resolver>(Resolver{std::move(mesh), std::move(nodes), {core_mesh, core_nodes}});
           }),
           py::arg("mesh"), py::arg("nodes"))
      .def_property_readonly("nbytes", [](const Resolver& self) { return self.core.nbytes(); })
      .def(
          "resolve",
          [](Resolver& self, const py::array& start, const py::array& end, const py::array& aside_vertex_face,
             const py::array& aside_edge_edge, int impulse_passes, int inelastic_solves, bool rigid, bool cut,
             const std::optional<py::array>& thickness, double push_part, double inner_steps, py::array& out) {
            const auto from = positions_of(start, "start");
            const auto to = positions_of(end, "end");
            const collision::PairsAside aside{pairs_in(aside_vertex_face, "vertex_face"), pairs_in(aside_edge_edge, "edge_edge")};
            collision::ResolveOptions options;
            options.impulse_passes = impulse_passes;
            options.zones = {inelastic_solves, rigid};
            options.cut = cut;
            options.push = {{}, push_part, inner_steps};
            if (thickness) {
              options.push.thickness = doubles_in(*thickness, "thickness");
              require(thickness->size() == self.nodes.cast<const collision::ContactNodes&>().vertices(),
                      "thickness must have one value per vertex, not ", thickness->size());
            }
            const auto written = positions_of(out, "out");
            require(written.size() == from.size(), "out must have the shape of start");
            auto* const x = reinterpret_cast<mesh::Point*>(out.mutable_data());
            return interruptible([&] {
              collision::ResolveReport report = self.core.resolve(from, to, aside, options);
              std::ranges::copy(self.core.paths().end(), x);
              return report;
            });
          },
          py::arg("start"), py::arg("end"), py::arg("aside_vertex_face"), py::arg("aside_edge_edge"), py::arg("impulse_passes"),
          py::arg("inelastic_solves"), py::arg("rigid"), py::arg("cut"), py::arg("thickness"), py::arg("push_part"),
          py::arg("inner_steps"), py::arg("out"));
}

}  // namespace meniscus::bindings
