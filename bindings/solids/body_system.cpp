// Steps of several bodies as one system, stage by stage.
#include "solids/system_step.hpp"

namespace meniscus::bindings {
namespace {

std::vector<solids::ContactNormal> contacts_of(const py::array& nodes, const py::array& normals) {
  const auto numbers = indices_of(nodes, "nodes");
  const std::span<const std::int32_t> where(numbers);
  const auto n = positions_of(normals, "normals");
  require(n.size() == where.size(), "there must be one normal per node, not ", n.size(), " for ", where.size());
  std::vector<solids::ContactNormal> contacts(where.size());
  for (std::size_t k = 0; k < where.size(); ++k) contacts[k] = {where[k], n[k]};
  return contacts;
}

}  // namespace

void bind_body_system(py::module_& m) {
  py::native_enum<solids::StepTime>(m, "StepTime", "enum.Enum")
      .value("start", solids::StepTime::start)
      .value("middle", solids::StepTime::middle)
      .value("end", solids::StepTime::end)
      .finalize();
  m.def(
      "take_step",
      [](const SystemBodies& bodies, const py::list& motions, solids::Integrator integrator, double dt,
         const solids::StepOptions& options, Workspace& w, solids::StepReport& report) {
        auto parts = bodies_in_step(bodies, motions);
        return interruptible([&] { return solids::take_step(parts, integrator, dt, options, w, report); });
      },
      py::arg("bodies"), py::arg("motions"), py::arg("integrator"), py::arg("dt"), py::arg("options"), py::arg("workspace"),
      py::arg("report"));
  py::class_<SystemStep>(m, "SystemStep")
      .def(py::init<SystemBodies, py::list, double, Workspace&>(), py::arg("bodies"), py::arg("motions"), py::arg("dt"),
           py::arg("workspace"), py::keep_alive<1, 5>())
      .def_property_readonly("size", [](SystemStep& s) { return s->size(); })
      .def(
          "begin",
          [](SystemStep& s, const py::array& x, const py::array& v) {
            const auto xs = s.out(x, "positions"), vs = s.out(v, "velocities");
            interruptible([&] {
              solids::nodes::copy(s->positions(), xs);
              s->start(vs);
            });
          },
          py::arg("positions"), py::arg("velocities"))
      .def(
          "require_stable",
          [](SystemStep& s, const solids::StepOptions& options) { interruptible([&] { solids::require_stable(*s, options); }); },
          py::arg("options"))
      .def(
          "hold_mean_velocities",
          [](SystemStep& s, const py::array& v) {
            const auto vs = s.out(v, "velocities");
            interruptible([&] { s->hold_mean_velocities(vs); });
          },
          py::arg("velocities"))
      .def(
          "hold_velocities",
          [](SystemStep& s, solids::StepTime when, const py::array& v) {
            const auto vs = s.out(v, "velocities");
            interruptible([&] { s->hold_velocities(when, vs); });
          },
          py::arg("when"), py::arg("velocities"))
      .def(
          "hold_positions",
          [](SystemStep& s, solids::StepTime when, const py::array& x) {
            const auto xs = s.out(x, "positions");
            interruptible([&] { s->hold_positions(when, xs); });
          },
          py::arg("when"), py::arg("positions"))
      .def(
          "set_contacts",
          [](SystemStep& s, const py::array& nodes, const py::array& normals) {
            const auto contacts = contacts_of(nodes, normals);
            interruptible([&] { s->set_contacts(contacts); });
          },
          py::arg("nodes"), py::arg("normals"))
      .def(
          "hold_contacts",
          [](SystemStep& s, const py::array& given, const py::array& v) {
            const auto from = s.in(given, "given");
            const auto vs = s.out(v, "velocities");
            interruptible([&] { s->hold_contacts(from, vs); });
          },
          py::arg("given"), py::arg("velocities"))
      .def(
          "solve_velocity",
          [](SystemStep& s, const py::array& x, const py::array& v0, double dt, double elastic_dt,
             const solids::StepOptions& options, const py::array& v, const py::object& unprojected) {
            const auto xs = s.in(x, "positions"), v0s = s.in(v0, "velocities");
            const auto out = s.out(v, "out");
            const auto loose = unprojected.is_none() ? solids::Points() : s.out(unprojected.cast<py::array>(), "unprojected");
            numerics::SolveInfo info;
            bool used_definite_tangent = false;
            interruptible(
                [&] { solids::solve_velocity(*s, xs, v0s, dt, elastic_dt, options, out, info, used_definite_tangent, loose); });
            return py::make_tuple(info, used_definite_tangent);
          },
          py::arg("positions"), py::arg("velocities"), py::arg("dt"), py::arg("elastic_dt"), py::arg("options"), py::arg("out"),
          py::arg("unprojected"))
      .def(
          "advance_positions",
          [](SystemStep& s, const py::array& v, const py::array& x1) {
            const auto vs = s.in(v, "velocities");
            const auto out = s.out(x1, "out");
            interruptible([&] { solids::advance_positions(*s, vs, out); });
          },
          py::arg("velocities"), py::arg("out"))
      .def(
          "extrapolate_velocity",
          [](SystemStep& s, const py::array& half, const py::array& v0, const py::array& v1) {
            const auto middle = s.in(half, "half"), first = s.in(v0, "start");
            const auto out = s.out(v1, "out");
            interruptible([&] { solids::extrapolate_velocity(*s, middle, first, out); });
          },
          py::arg("half"), py::arg("start"), py::arg("out"))
      .def(
          "commit",
          [](SystemStep& s, const py::array& x, const py::array& v) {
            const auto xs = s.in(x, "positions"), vs = s.in(v, "velocities");
            return interruptible([&] { return s->commit(xs, vs); });
          },
          py::arg("positions"), py::arg("velocities"));
}

}  // namespace meniscus::bindings
