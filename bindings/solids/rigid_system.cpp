// Rigid bodies in contact and with joints.
#include "solids/rigid_arrays.hpp"

namespace meniscus::bindings {
namespace {

using solids::FrictionLaw;
using solids::JointKind;
using solids::RigidForm;
using solids::RigidSolver;
using solids::RigidSystem;
using solids::Vector3;

py::tuple write_contacts(const solids::ContactList& list) {
  const py::array_t<std::int32_t> groups({static_cast<py::ssize_t>(list.groups.size()), py::ssize_t{3}});
  auto* out = const_cast<std::int32_t*>(groups.data());
  for (const solids::ContactGroup& g : list.groups) {
    *out++ = g.bodies[0];
    *out++ = g.bodies[1];
    *out++ = g.count;
  }
  return py::make_tuple(groups, copy_records(std::span<const solids::ContactPoint>(list.points)));
}

Vector3 vector_of(const std::array<double, 3>& v) { return Vector3(v[0], v[1], v[2]); }

void bind_enums(py::module_& m) {
  py::native_enum<FrictionLaw>(m, "FrictionLaw", "enum.Enum")
      .value("cone", FrictionLaw::cone)
      .value("printed", FrictionLaw::printed)
      .finalize();
  py::native_enum<RigidSolver>(m, "RigidSolver", "enum.Enum")
      .value("auto", RigidSolver::automatic)
      .value("sweeps", RigidSolver::sweeps)
      .value("exact", RigidSolver::exact)
      .finalize();
  py::native_enum<JointKind>(m, "JointKind", "enum.Enum")
      .value("ball", JointKind::ball)
      .value("hinge", JointKind::hinge)
      .value("slider", JointKind::slider)
      .value("fixed", JointKind::fixed)
      .finalize();
}

void bind_forms(py::module_& m) {
  py::class_<RigidForm, std::shared_ptr<RigidForm>>(m, "RigidForm")
      .def(py::init<>())
      .def_static("rounded",
                  [](const py::array& points, double radius) {
                    return std::make_shared<RigidForm>(RigidForm::rounded(positions_of(points, "points"), radius));
                  })
      .def_static("polyhedron",
                  [](const py::array& vertices, const py::array& triangles) {
                    const auto t = elements_of<3>(triangles, "triangles");
                    return std::make_shared<RigidForm>(RigidForm::polyhedron(positions_of(vertices, "vertices"), t));
                  })
      .def_static("half_space",
                  [](std::array<double, 3> point, std::array<double, 3> normal) {
                    return std::make_shared<RigidForm>(RigidForm::half_space(vector_of(point), vector_of(normal)));
                  })
      .def_static("surface",
                  [](const py::array& vertices, const py::array& triangles, bool closed) {
                    const auto t = elements_of<3>(triangles, "triangles");
                    return std::make_shared<RigidForm>(RigidForm::surface(positions_of(vertices, "vertices"), t, closed));
                  })
      .def_static("is_convex",
                  [](const py::array& vertices, const py::array& triangles, double tolerance) {
                    const auto t = elements_of<3>(triangles, "triangles");
                    return solids::is_convex(positions_of(vertices, "vertices"), t, tolerance);
                  })
      .def_readonly("reach", &RigidForm::reach)
      .def_readonly("thin", &RigidForm::thin)
      .def_property_readonly("faces", [](const RigidForm& f) { return f.faces.size(); })
      .def_property_readonly("nbytes", &RigidForm::nbytes);
}

/// The stages of a step.
template <class F>
void run_stage(RigidSystem& self, const py::tuple& arrays, F&& f) {
  const solids::RigidArrays a = arrays_of(arrays);
  interruptible([&] { f(self, a); });
}

void bind_stages(py::class_<RigidSystem>& c) {
  c.def("find_contacts",
        [](RigidSystem& self, const py::tuple& arrays, double dt, const py::array& groups, const py::array& points) {
          solids::ContactList given;
          read_contacts(groups, points, given);
          run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.find_contacts(a, dt, given); });
        })
      .def("follow_contacts",
           [](RigidSystem& self, const py::tuple& arrays, double h, const py::array& groups, const py::array& points) {
             solids::ContactList given;
             read_contacts(groups, points, given);
             run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.follow_contacts(a, h, given); });
           })
      .def("bounce", [](RigidSystem& self, const py::tuple& arrays,
                        double h) { run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.bounce(a, h); }); })
      .def("predict", [](RigidSystem& self, const py::tuple& arrays,
                         double h) { run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.predict(a, h); }); })
      .def("solve", [](RigidSystem& self, const py::tuple& arrays,
                       double h) { run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.solve(a, h); }); })
      .def("begin_solve", [](RigidSystem& self, double h) { interruptible([&] { self.begin_solve(h); }); })
      .def("sweep", [](RigidSystem& self, double h) { return interruptible([&] { return self.sweep(h); }); })
      .def("end_solve",
           [](RigidSystem& self, const py::tuple& arrays) {
             run_stage(self, arrays, [](RigidSystem& s, const auto& a) { s.end_solve(a); });
           })
      .def("advance", [](RigidSystem& self, const py::tuple& arrays, double h) {
        run_stage(self, arrays, [&](RigidSystem& s, const auto& a) { s.advance(a, h); });
      });
}

void bind_memory(py::class_<RigidSystem>& c) {
  c.def("contacts", [](const RigidSystem& self) { return write_contacts(self.contacts); })
      .def("set_contacts", [](RigidSystem& self, const py::array& groups,
                              const py::array& points) { read_contacts(groups, points, self.contacts); })
      .def("joint_memory",
           [](const RigidSystem& self) { return copy_records(std::span<const solids::JointMemory>(self.joint_memory)); })
      .def("held_motions",
           [](const RigidSystem& self, const py::array& states) {
             const auto s = records_of<const solids::RigidState>(states, "states");
             require(s.size() == self.parts.size(), "there are ", self.parts.size(), " parts, not ", s.size());
             const std::vector<solids::HeldMotion> held = held_motions(self.joints, self.joint_memory, s);
             const auto n = static_cast<py::ssize_t>(held.size());
             const py::array_t<std::int32_t> joints(n);
             const py::array_t<double> rows({n, py::ssize_t{12}});
             for (std::size_t k = 0; k < held.size(); ++k) {
               const_cast<std::int32_t*>(joints.data())[k] = held[k].joint;
               std::ranges::copy(held[k].row, const_cast<double*>(rows.data()) + 12 * k);
             }
             return py::make_tuple(joints, rows);
           })
      .def("set_joint_memory",
           [](RigidSystem& self, const py::array& rows) {
             const auto r = records_of<const solids::JointMemory>(rows, "rows");
             require(r.size() == self.joints.size(), "there are ", self.joints.size(), " joints, not ", r.size());
             self.joint_memory.assign(r.begin(), r.end());
           })
      .def("velocities",
           [](RigidSystem& self) { return copy_records(std::span<const solids::RigidVelocity>(self.velocities())); })
      .def("report", [](const RigidSystem& self) {
        const solids::RigidReport& r = self.report();
        py::dict out;
        out["pairs"] = r.pairs;
        out["contacts"] = r.contacts;
        out["groups"] = r.groups;
        out["impacts"] = r.impacts;
        out["islands"] = r.islands;
        out["asleep"] = r.asleep;
        out["iterations"] = r.iterations;
        out["colours"] = r.colours;
        out["residual"] = r.residual;
        out["deepest"] = r.deepest;
        out["exact"] = r.exact;
        out["direct"] = r.direct;
        return out;
      });
}

void bind_setup(py::class_<RigidSystem>& c) {
  c.def("add_part",
        [](RigidSystem& self, std::shared_ptr<RigidForm> form, std::shared_ptr<RigidForm> surface, const py::array& properties,
           const py::array& inertia) {
          self.parts.push_back({.form = std::move(form),
                                .surface = std::move(surface),
                                .properties = records_of<const solids::RigidSurface>(properties, "properties")[0],
                                .inertia = records_of<const solids::RigidInertia>(inertia, "inertia")[0]});
        })
      .def("add_joint",
           [](RigidSystem& self, JointKind kind, std::array<std::int32_t, 2> bodies, std::array<std::array<double, 3>, 2> points,
              std::array<std::array<double, 3>, 2> axes, std::array<double, 4> relative, std::array<double, 2> limits,
              std::array<double, 2> motor, std::array<double, 3> spring) {
             self.joints.push_back({.bodies = bodies,
                                    .kind = kind,
                                    .points = {vector_of(points[0]), vector_of(points[1])},
                                    .axes = {vector_of(axes[0]), vector_of(axes[1])},
                                    .relative = relative,
                                    .lowest = limits[0],
                                    .highest = limits[1],
                                    .motor_speed = motor[0],
                                    .motor_limit = motor[1],
                                    .stiffness = spring[0],
                                    .damping = spring[1],
                                    .rest = spring[2]});
             self.joint_memory.emplace_back();
           })
      .def("set_motor",
           [](RigidSystem& self, std::size_t joint, double speed, double limit) {
             self.joints.at(joint).motor_speed = speed;
             self.joints.at(joint).motor_limit = limit;
           })
      .def("place",
           [](const RigidSystem& self, std::size_t joint, const py::array& states) {
             const auto s = records_of<const solids::RigidState>(states, "states");
             return solids::joint_place(self.joints.at(joint), s);
           })
      .def("set_apart", [](RigidSystem& self, std::vector<std::array<std::int32_t, 2>> pairs) { self.apart = std::move(pairs); })
      .def("set_options",
           [](RigidSystem& self, int iterations, double tolerance, double restitution_speed, double push, double slop,
              FrictionLaw law, double holding_impulse, double warm, RigidSolver solver, double sleep_after, double mesh_reach) {
             self.options = {.iterations = iterations,
                             .tolerance = tolerance,
                             .restitution_speed = restitution_speed,
                             .push = push,
                             .slop = slop,
                             .law = law,
                             .holding_impulse = holding_impulse,
                             .warm = warm,
                             .solver = solver};
             self.sleep.after = sleep_after;
             self.mesh_reach = mesh_reach;
           })
      .def("margin", &RigidSystem::margin_of)
      .def_property_readonly("nbytes", &RigidSystem::nbytes);
}

}  // namespace

void bind_rigid_system(py::module_& m) {
  bind_enums(m);
  bind_forms(m);
  py::class_<RigidSystem> c(m, "RigidSystem");
  c.def(py::init<>());
  bind_setup(c);
  bind_memory(c);
  bind_stages(c);
  m.def("solve_lcp", [](const py::array& matrix, const py::array& u, int most_pivots) -> std::optional<py::array> {
    const auto b = values_of<double>(u, "u");
    const std::span<const double> a(data_of<double>(matrix, "matrix", u.size() * u.size()), b.size() * b.size());
    std::vector<double> p(b.size());
    solids::LcpScratch scratch;
    const bool found = interruptible([&] { return solids::solve_lcp(a, b, p, most_pivots, scratch); });
    if (!found) return std::nullopt;
    return copy_of(std::span<const double>(p));
  });
}

}  // namespace meniscus::bindings
