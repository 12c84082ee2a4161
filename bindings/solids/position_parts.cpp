// Shape matching, constraints of single nodes, fast projection and contact of position based dynamics.
#include "solids/position_arrays.hpp"

#include "meniscus/solids/position/fast_projection.hpp"
#include "meniscus/solids/position/node_constraints.hpp"
#include "meniscus/solids/position/position_contacts.hpp"
#include "meniscus/solids/position/shape_matching.hpp"

namespace meniscus::bindings {
namespace {

using Vector3 = Vec<double, 3>;
using solids::NodePlane;
using solids::PositionContacts;
using solids::PositionNode;
using solids::ShapeMotion;

template <class T>
void bind_shape_matching(py::module_& m, const char* name) {
  using C = solids::ShapeMatching<T>;
  py::class_<C>(m, name)
      .def(py::init([](const py::array& first, const py::array& members, const py::array& masses, const py::array& rest,
                       ShapeMotion motion, double softness, bool keep_volume, bool centred, double compliance) {
             return std::make_unique<C>(flat<std::int32_t>(first, "first"), flat<std::int32_t>(members, "members"),
                                        flat<double>(masses, "masses"), structures_in<Vector3, double>(rest, "rest"),
                                        solids::ShapeMatchingOptions{.motion = motion,
                                                                     .softness = softness,
                                                                     .keep_volume = keep_volume,
                                                                     .centred = centred,
                                                                     .compliance = compliance});
           }),
           py::arg("first"), py::arg("members"), py::arg("masses"), py::arg("rest"), py::arg("motion"), py::arg("softness"),
           py::arg("keep_volume"), py::arg("centred"), py::arg("compliance"))
      .def(
          "project",
          [](C& self, const py::array& nodes, double dt, double part, int times) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            interruptible([&] {
              for (int i = 0; i < times; ++i) self.project(x, {.dt = dt, .part = part});
            });
          },
          py::arg("nodes"), py::arg("dt"), py::arg("part"), py::arg("times"))
      .def(
          "goals",
          [](C& self, const py::array& nodes, const py::array& out) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto g = structures_in<Vector3, double>(out, "out");
            interruptible([&] { self.goals(x, g); });
          },
          py::arg("nodes"), py::arg("out"))
      .def("rank", &C::rank, py::arg("cluster"))
      .def("clear_multipliers", &C::clear_multipliers)
      .def_property_readonly("nbytes", &C::nbytes);
}

template <class T>
void bind_fast_projection(py::module_& m, const char* name) {
  using C = solids::FastProjection<T>;
  py::class_<C>(m, name)
      .def(py::init<std::vector<solids::PositionConstraints<T>*>>(), py::arg("constraints"), py::keep_alive<1, 2>())
      .def(
          "project",
          [](C& self, const py::array& nodes, double dt, double part, int rounds, double tolerance) {
            const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
            const auto r = interruptible([&] { return self.project(x, {.dt = dt, .part = part}, rounds, tolerance); });
            return py::make_tuple(r.rounds, r.iterations, r.largest);
          },
          py::arg("nodes"), py::arg("dt"), py::arg("part"), py::arg("rounds"), py::arg("tolerance"))
      .def_property_readonly("nbytes", &C::nbytes);
}

template <class T>
void bind_node_constraints(py::module_& m) {
  m.def(
      "project_targets",
      [](const py::array_t<T>& nodes, const py::array& rows, const py::array& targets, const py::array& multipliers,
         double compliance, double dt, double part) {
        const auto x = structures_in<PositionNode<T>, T>(nodes, "nodes");
        const solids::NodeTargets given{.nodes = flat<std::int32_t>(rows, "rows"),
                                        .targets = structures_in<Vector3, double>(targets, "targets"),
                                        .multipliers = structures_in<Vector3, double>(multipliers, "multipliers"),
                                        .compliance = compliance};
        solids::project_targets<T>(x, given, {.dt = dt, .part = part});
      },
      py::arg("nodes").noconvert(), py::arg("rows"), py::arg("targets"), py::arg("multipliers"), py::arg("compliance"),
      py::arg("dt"), py::arg("part"));
  m.def(
      "project_planes",
      [](const py::array_t<T>& nodes, const py::array& previous, const py::array& rows, const py::array& planes, bool backward) {
        solids::project_planes<T>(structures_in<PositionNode<T>, T>(nodes, "nodes"),
                                  structures_in<Vec<T, 3>, T>(previous, "previous"), flat<std::int32_t>(rows, "rows"),
                                  structures_in<NodePlane, double>(planes, "planes"), backward);
      },
      py::arg("nodes").noconvert(), py::arg("previous"), py::arg("rows"), py::arg("planes"), py::arg("backward") = false);
  m.def(
      "rebound_from_planes",
      [](const py::array_t<T>& nodes, const py::array& before, const py::array& velocities, const py::array& rows,
         const py::array& planes, double restitution, double threshold, double dt) {
        solids::rebound_from_planes<T>(structures_in<PositionNode<T>, T>(nodes, "nodes"),
                                       structures_in<Vec<T, 3>, T>(before, "before"),
                                       structures_in<Vec<T, 3>, T>(velocities, "velocities"), flat<std::int32_t>(rows, "rows"),
                                       structures_in<NodePlane, double>(planes, "planes"), restitution, threshold, dt);
      },
      py::arg("nodes").noconvert(), py::arg("before"), py::arg("velocities"), py::arg("rows"), py::arg("planes"),
      py::arg("restitution"), py::arg("threshold"), py::arg("dt"));
}

void bind_contacts(py::module_& m) {
  using Node = PositionContacts::Node;
  const auto vertices_in = [](const py::array& a) { return structures_in<Node, double>(a, "vertices"); };
  py::class_<PositionContacts>(m, "PositionContacts")
      .def(py::init([](const py::array& edges, const py::array& triangles, const py::array& rest, const py::array& thickness,
                       const py::array& friction, double margin, double reach, double recovery, double most_motion,
                       bool soft_edges) {
             const auto e = elements_of<2>(edges, "edges");
             const auto t = triangles_of(triangles);
             return std::make_unique<PositionContacts>(e, t, positions_of(rest, "rest"), flat<double>(thickness, "thickness"),
                                                       flat<double>(friction, "friction"),
                                                       solids::PositionContactOptions{.margin = margin,
                                                                                      .reach = reach,
                                                                                      .recovery = recovery,
                                                                                      .most_motion = most_motion,
                                                                                      .soft_edges = soft_edges});
           }),
           py::arg("edges"), py::arg("triangles"), py::arg("rest"), py::arg("thickness"), py::arg("friction"), py::arg("margin"),
           py::arg("reach"), py::arg("recovery"), py::arg("most_motion") = 64.0, py::arg("soft_edges") = true)
      .def(
          "find",
          [vertices_in](PositionContacts& self, const py::array& vertices, const py::array& motion, const py::array& passed) {
            const auto x = vertices_in(vertices);
            const auto u = positions_of(motion, "motion");
            const auto old = structures_in<solids::PassedPair, std::int32_t>(passed, "passed");
            interruptible([&] { self.find(x, u, old); });
          },
          py::arg("vertices"), py::arg("motion"), py::arg("passed"))
      .def(
          "outdated",
          [vertices_in](const PositionContacts& self, const py::array& vertices, double part) {
            return self.outdated(vertices_in(vertices), part);
          },
          py::arg("vertices"), py::arg("part"))
      .def(
          "begin",
          [vertices_in](PositionContacts& self, const py::array& vertices, const py::array& predicted, double dt) {
            const auto x = vertices_in(vertices), to = vertices_in(predicted);
            return interruptible([&] { return self.begin(x, to, dt); });
          },
          py::arg("vertices"), py::arg("predicted"), py::arg("dt"))
      .def(
          "project",
          [vertices_in](PositionContacts& self, const py::array& vertices, bool backward) {
            const auto x = vertices_in(vertices);
            interruptible([&] { self.project(x, backward); });
          },
          py::arg("vertices"), py::arg("backward"))
      .def(
          "rebound",
          [vertices_in](PositionContacts& self, const py::array& vertices, const py::array& before, const py::array& velocities,
                        double restitution, double threshold) {
            const auto x = vertices_in(vertices);
            const auto b = structures_in<Vector3, double>(before, "before"),
                       v = structures_in<Vector3, double>(velocities, "velocities");
            interruptible([&] { self.rebound(x, b, v, restitution, threshold); });
          },
          py::arg("vertices"), py::arg("before"), py::arg("velocities"), py::arg("restitution"), py::arg("threshold"))
      .def(
          "passed",
          [vertices_in](PositionContacts& self, const py::array& vertices, double reach) {
            const auto found = self.passed(vertices_in(vertices), reach);
            return py::array_t<std::int32_t>({static_cast<py::ssize_t>(found.size()), py::ssize_t{3}},
                                             reinterpret_cast<const std::int32_t*>(found.data()));
          },
          py::arg("vertices"), py::arg("reach"))
      .def(
          "report",
          [vertices_in](const PositionContacts& self, const py::array& vertices) {
            const auto r = self.report(vertices_in(vertices));
            return py::make_tuple(r.pairs, r.active, r.passed, r.least);
          },
          py::arg("vertices"))
      .def(
          "pairs",
          [](const PositionContacts& self, bool edges) {
            const auto& p = self.pairs(edges ? collision::PairKind::edge_edge : collision::PairKind::vertex_face);
            const auto n = static_cast<py::ssize_t>(p.size());
            return py::make_tuple(
                py::array_t<std::int32_t>({n, py::ssize_t{2}}, reinterpret_cast<const std::int32_t*>(p.elements.data())),
                py::array_t<std::int32_t>({n, py::ssize_t{4}}, reinterpret_cast<const std::int32_t*>(p.places.data())),
                copy_of(std::span<const double>(p.thickness)));
          },
          py::arg("edges"))
      .def_property_readonly("thickness", [](const PositionContacts& self) { return copy_of(self.thickness()); })
      .def_property_readonly("nbytes", &PositionContacts::nbytes);
}

}  // namespace

void bind_position_parts(py::module_& m) {
  py::native_enum<ShapeMotion>(m, "ShapeMotion", "enum.Enum")
      .value("rigid", ShapeMotion::rigid)
      .value("linear", ShapeMotion::linear)
      .value("quadratic", ShapeMotion::quadratic)
      .finalize();
  bind_shape_matching<float>(m, "ShapeMatchingFloat32");
  bind_shape_matching<double>(m, "ShapeMatchingFloat64");
  bind_fast_projection<float>(m, "FastProjectionFloat32");
  bind_fast_projection<double>(m, "FastProjectionFloat64");
  bind_node_constraints<float>(m);
  bind_node_constraints<double>(m);
  bind_contacts(m);
}

}  // namespace meniscus::bindings
