// Nodes behind vertices in contact, and repulsion.
#include "collision/pair_arrays.hpp"
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/contact/repulsion.hpp"

namespace meniscus::bindings {
namespace {

using collision::PairKind;
using collision::Repulsion;

std::span<const double> contact_values_of(const py::array& a, const char* name) {
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 1, name, " must have shape (n,)");
  return {first, static_cast<std::size_t>(a.size())};
}

std::span<mesh::Point> contact_rows_of(const py::array& a, const char* name) {
  double* first = data_of<double>(a, name, -1, true);
  require(a.ndim() == 2 && a.shape(1) == 3, name, " must have shape (n, 3)");
  return {reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::unique_ptr<collision::ContactNodes> make_contact_nodes(const py::array& inverse_masses,
                                                            const std::optional<py::array>& first,
                                                            const std::optional<py::array>& node,
                                                            const std::optional<py::array>& weight) {
  const auto w = contact_values_of(inverse_masses, "inverse_masses");
  if (!first) return std::make_unique<collision::ContactNodes>(w);
  const auto offsets = indices_of(first, "first");
  const auto numbers = indices_of(node, "node");
  const auto weights = weight ? contact_values_of(*weight, "weight") : std::span<const double>();
  require(numbers.size() == weights.size(), "node and weight must have the same length, not ", numbers.size(), " and ",
          weights.size());
  std::vector<collision::NodeShare> shares(numbers.size());
  const std::span<const std::int32_t> n = numbers;
  for (std::size_t k = 0; k < shares.size(); ++k) shares[k] = {n[k], weights[k]};
  return std::make_unique<collision::ContactNodes>(w, offsets, shares);
}

void guide_contact_nodes(collision::ContactNodes& self, const py::array& node, const py::array& free) {
  const auto numbers = indices_of(node, "node");
  const double* matrices = data_of<double>(free, "free", 9 * static_cast<Index>(numbers.size()));
  const std::span<const std::int32_t> n = numbers;
  std::vector<collision::GuidedNode> guided(n.size());
  for (std::size_t k = 0; k < n.size(); ++k)
    guided[k] = {n[k], Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(matrices + 9 * k)};
  self.set_guided(guided);
}

void set_rigid_nodes(collision::ContactNodes& self, const py::array& node, const py::array& arm, const py::array& inverse_mass,
                     const py::array& inverse_inertia, const py::array& held) {
  const auto masses = contact_values_of(inverse_mass, "inverse_mass");
  const auto bodies = static_cast<Index>(masses.size());
  const auto* nodes = data_of<std::int32_t>(node, "node", 4 * bodies);
  const auto* arms = data_of<double>(arm, "arm", 12 * bodies);
  const auto* inertias = data_of<double>(inverse_inertia, "inverse_inertia", 9 * bodies);
  std::vector<collision::RigidNodes> rigid(masses.size());
  for (std::size_t b = 0; b < rigid.size(); ++b) {
    std::copy_n(nodes + 4 * b, 4, rigid[b].nodes.begin());
    std::copy_n(arms + 12 * b, 12, rigid[b].arms[0].data());
    rigid[b].inverse_mass = masses[b];
    rigid[b].inverse_inertia = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(inertias + 9 * b);
  }
  const auto held_nodes = indices_of(held, "held");
  self.set_rigid(rigid, held_nodes);
}

void set_coupled_nodes(collision::ContactNodes& self, const std::vector<std::tuple<std::int32_t, std::int32_t, py::array>>& of) {
  std::vector<collision::CoupledNodes> bodies;
  for (const auto& [first, lead, response] : of) {
    const auto* const values = data_of<double>(response, "response");
    require(response.ndim() == 3 && response.shape(1) == 3, "response must have shape (n, 3, d)");
    bodies.push_back({first, static_cast<std::int32_t>(response.shape(0)), lead, static_cast<Index>(response.shape(2)),
                      std::vector<double>(values, values + response.size())});
  }
  self.set_coupled(std::move(bodies));
}

py::array_t<double> contact_column(std::span<const double> values) {
  py::array_t<double> a(static_cast<py::ssize_t>(values.size()));
  std::ranges::copy(values, a.mutable_data());
  return a;
}

py::tuple repulsion_pairs_of(const Repulsion& self, PairKind kind) {
  const collision::RepulsionPairs p = interruptible([&] { return self.copy_of_pairs(kind); });
  py::array_t<std::int32_t> colour(static_cast<py::ssize_t>(p.size()));
  for (std::size_t c = 0; c + 1 < p.colours.size(); ++c)
    std::fill(colour.mutable_data() + p.colours[c], colour.mutable_data() + p.colours[c + 1], static_cast<std::int32_t>(c));
  return py::make_tuple(copied_rows(p.elements), copied_rows(p.places), contact_column(p.thickness), contact_column(p.friction),
                        copied_rows(p.direction), colour);
}

py::tuple repulsion_report_of(const collision::RepulsionReport& r) {
  return py::make_tuple(r.pairs, r.active, r.inverted, r.impulses, r.largest_overlap);
}

}  // namespace

void bind_contact(py::module_& m) {
  py::native_enum<collision::ElasticRule>(m, "ElasticRule", "enum.Enum")
      .value("corrected", collision::ElasticRule::corrected)
      .value("literal", collision::ElasticRule::literal)
      .value("full_gap", collision::ElasticRule::full_gap)
      .finalize();
  py::native_enum<collision::EdgeHistory>(m, "EdgeHistory", "enum.Enum")
      .value("sided", collision::EdgeHistory::sided)
      .value("direction", collision::EdgeHistory::direction)
      .finalize();
  py::class_<collision::ContactNodes>(m, "ContactNodes")
      .def(py::init(&make_contact_nodes), py::arg("inverse_masses"), py::arg("first"), py::arg("node"), py::arg("weight"))
      .def("guide", &guide_contact_nodes, py::arg("node"), py::arg("free"))
      .def("set_rigid", &set_rigid_nodes, py::arg("node"), py::arg("arm"), py::arg("inverse_mass"), py::arg("inverse_inertia"),
           py::arg("held"))
      .def("set_coupled", &set_coupled_nodes, py::arg("bodies"))
      .def_property_readonly("nodes", &collision::ContactNodes::nodes)
      .def_property_readonly("vertices", &collision::ContactNodes::vertices)
      .def_property_readonly("inverse_masses",
                             [](const collision::ContactNodes& self) { return contact_column(self.inverse_masses()); })
      .def(
          "set_inverse_masses",
          [](collision::ContactNodes& self, const py::array& w) {
            self.set_inverse_masses(contact_values_of(w, "inverse_masses"));
          },
          py::arg("inverse_masses"))
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
  py::class_<collision::RepulsionOptions>(m, "RepulsionOptions")
      .def(py::init<>())
      .def_readwrite("stiffness", &collision::RepulsionOptions::stiffness)
      .def_readwrite("part", &collision::RepulsionOptions::part)
      .def_readwrite("elastic", &collision::RepulsionOptions::elastic)
      .def_readwrite("common_mass", &collision::RepulsionOptions::common_mass)
      .def_readwrite("generous", &collision::RepulsionOptions::generous)
      .def_readwrite("margin", &collision::RepulsionOptions::margin)
      .def_readwrite("history", &collision::RepulsionOptions::history)
      .def_readwrite("edge_history", &collision::RepulsionOptions::edge_history)
      .def_readwrite("flip", &collision::RepulsionOptions::flip)
      .def_readwrite("reach", &collision::RepulsionOptions::reach)
      .def_readwrite("clamp", &collision::RepulsionOptions::clamp)
      .def_readwrite("most_motion", &collision::RepulsionOptions::most_motion)
      .def_readwrite("bare_motion", &collision::RepulsionOptions::bare_motion);
  py::class_<Repulsion>(m, "Repulsion")
      .def(py::init([](const collision::CollisionMesh& mesh, const py::array& rest, const py::array& thickness,
                       const py::array& friction, const collision::RepulsionOptions& options) {
             const auto x = positions_of(rest, "rest");
             const auto h = contact_values_of(thickness, "thickness");
             const auto mu = contact_values_of(friction, "friction");
             return interruptible([&] { return std::make_unique<Repulsion>(mesh, x, h, mu, options); });
           }),
           py::arg("mesh"), py::arg("rest"), py::arg("thickness"), py::arg("friction"), py::arg("options"))
      .def_property_readonly("thickness", [](const Repulsion& self) { return contact_column(self.thickness()); })
      .def_property_readonly("clamped", &Repulsion::clamped)
      .def_property_readonly("size", &Repulsion::size)
      .def_property_readonly("nbytes", [](const Repulsion& self) { return interruptible([&] { return self.nbytes(); }); })
      .def("forget", [](Repulsion& self) { interruptible([&] { self.forget(); }); })
      .def(
          "pairs",
          [](const Repulsion& self, bool edges) {
            return repulsion_pairs_of(self, edges ? PairKind::edge_edge : PairKind::vertex_face);
          },
          py::arg("edges"))
      .def(
          "find",
          [](Repulsion& self, collision::CollisionMesh& mesh, const collision::ContactNodes& nodes, const py::array& positions,
             const std::optional<py::array>& motion) {
            const auto x = positions_of(positions, "positions");
            const auto u = motion ? positions_of(*motion, "motion") : std::span<const mesh::Point>();
            interruptible([&] { self.find(mesh, nodes, x, u); });
          },
          py::arg("mesh"), py::arg("nodes"), py::arg("positions"), py::arg("motion") = py::none())
      .def_property_readonly("approaching", &Repulsion::approaching)
      .def(
          "push",
          [](Repulsion& self, const collision::ContactNodes& nodes, const py::array& positions, const py::array& velocities,
             double dt) {
            const auto x = positions_of(positions, "positions");
            const auto v = contact_rows_of(velocities, "velocities");
            return repulsion_report_of(interruptible([&] { return self.push(nodes, x, v, dt); }));
          },
          py::arg("nodes"), py::arg("positions"), py::arg("velocities"), py::arg("dt"))
      .def(
          "rub",
          [](Repulsion& self, const collision::ContactNodes& nodes, const py::array& positions, const py::array& velocities) {
            const auto x = positions_of(positions, "positions");
            const auto v = contact_rows_of(velocities, "velocities");
            return repulsion_report_of(interruptible([&] { return self.rub(nodes, x, v); }));
          },
          py::arg("nodes"), py::arg("positions"), py::arg("velocities"))
      .def(
          "supports",
          [](Repulsion& self, const collision::ContactNodes& nodes, const py::array& positions, const py::array& velocities,
             double wider) {
            const auto x = positions_of(positions, "positions");
            const auto v = contact_rows_of(velocities, "velocities");
            const auto found = interruptible([&] { return self.supports(nodes, x, v, wider); });
            const auto n = static_cast<py::ssize_t>(found.size());
            py::array_t<std::int32_t> where(n);
            py::array_t<double> normals({n, py::ssize_t{3}}), given({n, py::ssize_t{3}}), friction(n), gaps(n);
            for (py::ssize_t k = 0; k < n; ++k) {
              const collision::NodeSupport& s = found[k];
              where.mutable_at(k) = s.node;
              std::copy_n(s.normal.data(), 3, normals.mutable_data(k, 0));
              std::copy_n(s.velocity.data(), 3, given.mutable_data(k, 0));
              friction.mutable_at(k) = s.friction;
              gaps.mutable_at(k) = s.gap;
            }
            return py::make_tuple(where, normals, given, friction, gaps);
          },
          py::arg("nodes"), py::arg("positions"), py::arg("velocities"), py::arg("wider"));
}

}  // namespace meniscus::bindings
