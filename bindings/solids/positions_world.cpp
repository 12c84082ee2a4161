// Worlds of positions, rigid bodies and reduced bodies in real time.
#include "solids/position_arrays.hpp"
#include "solids/rigid_arrays.hpp"

#include "meniscus/solids/real_time/positions_world.hpp"

namespace meniscus::bindings {
namespace {

using solids::FramePlane;
using solids::NodeBody;
using solids::PositionsWorld;
using solids::RealNode;

std::vector<std::int32_t> numbers_in(const py::array& a, const char* name) {
  const auto v = flat<std::int32_t>(a, name);
  return {v.begin(), v.end()};
}

std::vector<FramePlane> planes_in(const py::array& a) {
  const auto v = structures_in<FramePlane, double>(a, "planes");
  return {v.begin(), v.end()};
}

NodeBody& body_of(PositionsWorld& self, std::size_t i) {
  require(i < self.nodes.size(), "the world has ", self.nodes.size(), " bodies of nodes");
  return self.nodes[i];
}

void set_nodes(PositionsWorld& self, std::size_t i, const py::array& nodes, const py::array& velocities,
               const py::array& previous, std::array<double, 3> gravity, double max_speed, double damping) {
  NodeBody& b = body_of(self, i);
  b.nodes = structures_in<RealNode, double>(nodes, "nodes");
  b.velocities = structures_in<mesh::Point, double>(velocities, "velocities");
  b.previous = structures_in<mesh::Point, double>(previous, "previous");
  require(b.velocities.size() == b.nodes.size() && b.previous.size() == b.nodes.size(),
          "velocities and places must be as many as nodes");
  for (const std::int32_t n : b.surface)
    require(n >= 0 && static_cast<std::size_t>(n) < b.nodes.size(), "vertices must be nodes of the body, not ", n);
  b.gravity = mesh::Point(gravity.data());
  b.max_speed = max_speed;
  b.damping = damping;
}

void lead_nodes(PositionsWorld& self, std::size_t i, const py::array& rows, const py::array& from, const py::array& to) {
  NodeBody& b = body_of(self, i);
  b.led = numbers_in(rows, "rows");
  const auto x = positions_of(from, "from"), y = positions_of(to, "to");
  require(x.size() == b.led.size() && y.size() == b.led.size(), "there must be a start and an end of each of ", b.led.size(),
          " nodes");
  b.from.assign(x.begin(), x.end());
  b.to.assign(y.begin(), y.end());
}

void bind_setup(py::class_<PositionsWorld>& c) {
  c.def("add_nodes",
        [](PositionsWorld& self, const py::array& surface, Index first) {
          NodeBody& b = self.nodes.emplace_back();
          b.surface = numbers_in(surface, "surface");
          b.first = first;
        })
      .def(
          "add_constraints",
          [](PositionsWorld& self, std::size_t i, solids::PositionConstraints<double>& set) {
            body_of(self, i).constraints.emplace_back(&set);
          },
          py::keep_alive<1, 3>())
      .def(
          "add_shapes",
          [](PositionsWorld& self, std::size_t i, solids::ShapeMatching<double>& set) {
            body_of(self, i).constraints.emplace_back(&set);
          },
          py::keep_alive<1, 3>())
      .def(
          "add_targets",
          [](PositionsWorld& self, std::size_t i, const py::array& nodes, const py::array& targets, double compliance) {
            solids::PulledNodes set;
            set.nodes = flat<std::int32_t>(nodes, "nodes");
            set.targets = positions_of(targets, "targets");
            set.multipliers.assign(set.nodes.size(), mesh::Point::Zero());
            set.compliance = compliance;
            require(set.targets.size() == set.nodes.size(), "there must be a target of each of ", set.nodes.size(), " nodes");
            body_of(self, i).constraints.emplace_back(std::move(set));
          },
          py::keep_alive<1, 3>(), py::keep_alive<1, 4>())
      .def(
          "add_volume",
          [](PositionsWorld& self, std::size_t i, const py::array& triangles, const py::array& nodes, double volume,
             double compliance, Index count) {
            solids::HeldVolume set;
            const auto rows = structures_in<std::array<std::int32_t, 3>, std::int32_t>(triangles, "triangles");
            set.surface = {
                .triangles = rows, .nodes = flat<std::int32_t>(nodes, "nodes"), .volume = volume, .compliance = compliance};
            set.gradient.assign(static_cast<std::size_t>(count), mesh::Point::Zero());
            body_of(self, i).constraints.emplace_back(std::move(set));
          },
          py::keep_alive<1, 3>(), py::keep_alive<1, 4>())
      .def("add_rigid",
           [](PositionsWorld& self, std::int32_t part, const py::array& vertices, Index first, bool closed, bool convex,
              double thickness, double friction) {
             const auto x = positions_of(vertices, "vertices");
             self.rigid.push_back({.part = part,
                                   .vertices = {x.begin(), x.end()},
                                   .first = first,
                                   .closed = closed,
                                   .convex = convex,
                                   .thickness = thickness,
                                   .friction = friction});
           })
      .def(
          "add_reduced",
          [](PositionsWorld& self, solids::ReducedMotion& motion, const py::array& nodes, Index first, double displacement,
             double tolerance, int iterations) {
            const solids::ReducedModel& model = motion.model();
            solids::ReducedStep step{.method = solids::ReducedMethod::implicit_euler,
                                     .tolerance = tolerance,
                                     .max_iterations = iterations,
                                     .bounded = true};
            self.reduced.push_back({.body = {motion, numbers_in(nodes, "nodes")},
                                    .first = first,
                                    .step = step,
                                    .bounds = {.displacement = displacement,
                                               .largest_row = model.largest_row(),
                                               .reach = model.reach() + displacement},
                                    .plane_rows = {},
                                    .planes = {},
                                    .places = {}});
          },
          py::keep_alive<1, 2>())
      .def("finish_setup", &PositionsWorld::finish_setup);
}

void bind_frames(py::class_<PositionsWorld>& c) {
  c.def("set_nodes", &set_nodes)
      .def("lead_nodes", &lead_nodes)
      .def("set_planes",
           [](PositionsWorld& self, std::size_t i, const py::array& rows, const py::array& planes) {
             body_of(self, i).plane_rows = numbers_in(rows, "rows");
             body_of(self, i).planes = planes_in(planes);
           })
      .def("set_reduced",
           [](PositionsWorld& self, std::size_t i, std::array<double, 3> gravity, double mass_damping, double stiffness_damping,
              const py::array& rows, const py::array& planes) {
             solids::ReducedPart& b = self.reduced.at(i);
             b.step.gravity = mesh::Point(gravity.data());
             b.step.mass_damping = mass_damping;
             b.step.stiffness_damping = stiffness_damping;
             b.plane_rows = numbers_in(rows, "rows");
             b.planes = planes_in(planes);
           })
      .def("begin_frame",
           [](PositionsWorld& self, double dt, std::array<int, 4> counts, double recovery, double max_speed,
              const py::tuple& arrays, const py::array& groups, const py::array& points, const py::array& passed, double depth) {
             const auto a = arrays_of(arrays);
             solids::ContactList given;
             read_contacts(groups, points, given);
             const auto old = structures_in<const solids::PassedPair, std::int32_t>(passed, "passed");
             interruptible([&] {
               self.begin_frame({.dt = dt,
                                 .substeps = counts[0],
                                 .iterations = counts[1],
                                 .rigid_every = counts[2],
                                 .searches = counts[3],
                                 .recovery = recovery,
                                 .max_speed = max_speed},
                                a, given, old, depth);
             });
           })
      .def("run",
           [](PositionsWorld& self, const py::tuple& arrays, int substeps, int iterations) {
             const auto a = arrays_of(arrays);
             self.set_iterations(iterations);
             interruptible([&] {
               for (int k = 0; k < substeps; ++k) self.substep(a);
             });
           })
      .def("end_frame",
           [](PositionsWorld& self) {
             const auto found = self.end_frame();
             return py::make_tuple(py::array_t<std::int32_t>({static_cast<py::ssize_t>(found.size()), py::ssize_t{3}},
                                                             reinterpret_cast<const std::int32_t*>(found.data())),
                                   self.depth());
           })
      .def("report",
           [](const PositionsWorld& self) {
             const solids::FrameReport r = self.report();
             py::dict out;
             out["substeps"] = r.substeps;
             out["searches"] = r.searches;
             out["pairs"] = r.pairs;
             out["rows"] = r.rows;
             out["pressing"] = r.pressing;
             out["support"] = std::array<double, 3>{r.support[0], r.support[1], r.support[2]};
             out["seconds"] = r.seconds;
             return out;
           })
      .def_property_readonly("nbytes", &PositionsWorld::nbytes);
}

}  // namespace

void bind_positions_world(py::module_& m) {
  py::class_<PositionsWorld> c(m, "PositionsWorld");
  c.def(py::init<solids::PositionContacts&, solids::RigidSystem&>(), py::keep_alive<1, 2>(), py::keep_alive<1, 3>());
  bind_setup(c);
  bind_frames(c);
}

}  // namespace meniscus::bindings
