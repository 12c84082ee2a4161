// Contact of nodes with solids whose motion is given.
#include "solids/system_step.hpp"

#include "meniscus/solids/contact/resting_rows.hpp"
#include "meniscus/solids/contact/row_solves.hpp"
#include "meniscus/solids/position/node_planes.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using solids::FrictionRules;
using solids::NodeGroups;
using solids::NodeRows;
using RowsPointer = std::shared_ptr<NodeRows>;
/// Solids, with the distance that nodes keep and their friction.
using Obstacles = std::vector<std::tuple<std::shared_ptr<surface::SolidAt>, double, double>>;

std::vector<solids::SolidObstacle> obstacles_of(const Obstacles& given) {
  std::vector<solids::SolidObstacle> obstacles;
  for (const auto& [solid, thickness, friction] : given) obstacles.push_back({solid, thickness, friction});
  return obstacles;
}

RowsPointer shared(NodeRows rows) { return std::make_shared<NodeRows>(std::move(rows)); }

std::span<const double> numbers_of(const py::array& a, const char* name, Index n) {
  return {data_of<double>(a, name, n), static_cast<std::size_t>(n)};
}

/// A read-only array over a column of rows, which it keeps alive.
template <class T, class Value>
py::array column(const RowsPointer& rows, const std::vector<Value>& values) {
  static_assert(sizeof(Value) % sizeof(T) == 0);
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(values.size())};
  if (constexpr auto parts = sizeof(Value) / sizeof(T); parts > 1) shape.push_back(static_cast<py::ssize_t>(parts));
  py::array a(py::dtype::of<T>(), shape, reinterpret_cast<const T*>(values.data()), py::cast(rows));
  a.attr("flags").attr("writeable") = false;
  return a;
}

/// Nodes, normals, velocities and coefficients of contacts.
struct GivenRows {
  GivenRows(const py::array& n, const py::array& normals, const py::array& velocities, const py::array& friction)
      : nodes(indices_of(n, "nodes")),
        view(nodes, points_of(normals, "normals", static_cast<Index>(nodes.size())),
             points_of(velocities, "velocities", static_cast<Index>(nodes.size())),
             numbers_of(friction, "friction", static_cast<Index>(nodes.size()))) {}
  Indices<std::int32_t> nodes;
  solids::NodeRowView view;
};

/// Arrays of `NodeSupports`, or None.
struct GivenSupports {
  explicit GivenSupports(const std::optional<std::array<py::array, 5>>& given)
      : nodes(given ? indices_of((*given)[0], "nodes") : indices_of(py::array_t<std::int32_t>(0), "nodes")) {
    if (!given) return;
    const auto n = static_cast<Index>(nodes.size());
    view = {nodes, points_of((*given)[1], "normals", n), points_of((*given)[2], "velocities", n),
            numbers_of((*given)[3], "friction", n), numbers_of((*given)[4], "gaps", n)};
  }
  Indices<std::int32_t> nodes;
  solids::MeshSupports view;
};

/// What a solve is told.
struct SolveArguments {
  const solids::StepOptions& options;
  double h, elastic_dt;
  Index again;
  bool stops_unconverged;
};

py::tuple reported(solids::RowSolveReport& report) {
  py::list solves;
  for (auto& info : report.solves) solves.append(std::move(info));
  return py::make_tuple(solves, report.used_definite_tangent);
}

void bind_types(py::module_& m) {
  py::class_<FrictionRules>(m, "FrictionRules")
      .def(py::init<double, double, double, double, double, double>(), py::arg("few"), py::arg("tolerance"), py::arg("slack"),
           py::arg("response"), py::arg("least_speed"), py::arg("carries"));
  py::class_<NodeGroups>(m, "NodeGroups")
      .def(py::init([](const py::array& numbers, const py::array& inverse_masses, const py::array& in_tetrahedra) {
             const auto of = indices_of(numbers, "numbers");
             const auto n = static_cast<Index>(of.size());
             const bool* flags = data_of<bool>(in_tetrahedra, "in_tetrahedra", n);
             return NodeGroups(of, numbers_of(inverse_masses, "inverse_masses", n), {flags, of.size()});
           }),
           py::arg("numbers"), py::arg("inverse_masses"), py::arg("in_tetrahedra"));
  py::class_<NodeRows, RowsPointer>(m, "NodeRows")
      .def(py::init([](double fall) {
             NodeRows rows;
             rows.fall = fall;
             return rows;
           }),
           py::arg("fall") = 0.0)
      .def("__len__", &NodeRows::size)
      .def_property_readonly("columns",
                             [](const RowsPointer& rows) {
                               return py::make_tuple(
                                   column<std::int32_t>(rows, rows->nodes), column<std::int32_t>(rows, rows->solids),
                                   column<double>(rows, rows->normals), column<double>(rows, rows->velocities),
                                   column<double>(rows, rows->friction), column<bool>(rows, rows->holds.sticking));
                             })
      .def_property_readonly("impulses", [](const RowsPointer& rows) { return column<double>(rows, rows->impulses); })
      .def("of_solids",
           [](const RowsPointer& rows) {
             for (const std::int32_t s : rows->solids)
               if (s == solids::mesh_solid) return shared(of_solids(*rows));
             return rows;
           })
      .def(
          "begin",
          [](NodeRows& rows, double fall, const py::array& v, bool sticks) {
            const auto speeds = positions_of(v, "velocities");
            interruptible([&] { solids::begin_friction(rows, fall, speeds, sticks); });
          },
          py::arg("fall"), py::arg("velocities"), py::arg("sticks"))
      .def(
          "apply_solids",
          [](const NodeRows& rows, const py::array& v) {
            const auto out = writable_points(v, "out", v.ndim() == 2 ? v.shape(0) : 0);
            interruptible([&] { solids::apply_solids(rows, out); });
          },
          py::arg("out"));
  py::native_enum<solids::SolidResponse>(m, "SolidResponse", "enum.Enum")
      .value("path", solids::SolidResponse::path)
      .value("projection", solids::SolidResponse::projection)
      .finalize();
}

void bind_finding(py::module_& m) {
  m.def(
      "apply_contacts",
      [](const py::array& nodes, const py::array& normals, const py::array& velocities, const py::array& friction,
         const py::array& v) {
        const GivenRows rows(nodes, normals, velocities, friction);
        const auto out = writable_points(v, "out", v.ndim() == 2 ? v.shape(0) : 0);
        interruptible([&] { solids::apply_contacts(rows.view, out); });
      },
      py::arg("nodes"), py::arg("normals"), py::arg("velocities"), py::arg("friction"), py::arg("out"));
  m.def(
      "meet_solids",
      [](const Obstacles& given, const py::array& x0, const py::array& x1, double dt, const py::array& nodes,
         solids::SolidResponse response) {
        const auto obstacles = obstacles_of(given);
        const auto start = positions_of(x0, "start");
        const auto end = writable_points(x1, "end", static_cast<Index>(start.size()));
        const auto movable = indices_of(nodes, "nodes");
        return shared(interruptible([&] { return solids::meet_solids(obstacles, start, end, dt, movable, response); }));
      },
      py::arg("obstacles"), py::arg("start"), py::arg("end"), py::arg("dt"), py::arg("nodes"), py::arg("response"));
  m.def(
      "find_planes",
      [](const Obstacles& given, const py::array& x0, const py::array& x1, const py::array& points, double dt, double slack,
         double recovery) {
        const auto obstacles = obstacles_of(given);
        const auto start = positions_of(x0, "start"), end = positions_of(x1, "end");
        const auto movable = indices_of(points, "points");
        const auto found = interruptible([&] {
          return solids::find_planes(obstacles, start, end, movable, {.dt = dt, .slack = slack, .recovery = recovery});
        });
        constexpr auto columns = static_cast<py::ssize_t>(sizeof(solids::NodePlane) / sizeof(double));
        const auto n = static_cast<py::ssize_t>(found.nodes.size());
        return py::make_tuple(py::array_t<std::int32_t>(n, found.nodes.data()),
                              py::array_t<double>({n, columns}, reinterpret_cast<const double*>(found.planes.data())));
      },
      py::arg("obstacles"), py::arg("start"), py::arg("end"), py::arg("points"), py::arg("dt"), py::arg("slack"),
      py::arg("recovery"));
  m.def(
      "pressed_into",
      [](const Obstacles& given, const py::array& here, const py::array& ends, const py::array& nodes) {
        const auto obstacles = obstacles_of(given);
        const auto from = positions_of(here, "here");
        const auto to = points_of(ends, "ends", static_cast<Index>(from.size()));
        const auto of = indices_of(nodes, "nodes");
        const auto found = interruptible([&] { return solids::pressed_into(obstacles, from, to, of); });
        return py::array_t<std::int32_t>(static_cast<py::ssize_t>(found.size()), found.data());
      },
      py::arg("obstacles"), py::arg("here"), py::arg("ends"), py::arg("nodes"));
  m.def(
      "hold_out_of",
      [](const Obstacles& given, const py::array& here, const py::array& ends, const py::array& movable, const py::array& guided,
         const py::array& free) -> py::object {
        const auto obstacles = obstacles_of(given);
        const auto from = positions_of(here, "here");
        const auto to = points_of(ends, "ends", static_cast<Index>(from.size()));
        const auto of = indices_of(movable, "movable");
        const auto held = indices_of(guided, "guided");
        const std::span<const std::int32_t> numbers(held);
        const double* p = data_of<double>(free, "free", 9 * static_cast<Index>(held.size()));
        solids::NodeProjectors projectors{{numbers.begin(), numbers.end()}, {}};
        // Symmetric, so that the order of rows and columns does not matter.
        for (std::size_t k = 0; k < held.size(); ++k) projectors.free.emplace_back(Eigen::Map<const Eigen::Matrix3d>(p + 9 * k));
        if (!interruptible([&] { return solids::hold_out_of(obstacles, from, to, of, projectors); })) return py::none();
        const auto n = static_cast<py::ssize_t>(projectors.nodes.size());
        return py::make_tuple(py::array_t<std::int32_t>(n, projectors.nodes.data()),
                              py::array_t<double>({n, py::ssize_t{3}, py::ssize_t{3}}, projectors.free[0].data()));
      },
      py::arg("obstacles"), py::arg("here"), py::arg("ends"), py::arg("movable"), py::arg("guided"), py::arg("free"));
}

void bind_resting(py::module_& m) {
  m.def(
      "resting_nodes",
      [](const NodeRows& rows, double h, const py::array& x0, const py::array& x1) {
        const auto start = positions_of(x0, "start");
        const auto end = points_of(x1, "end", static_cast<Index>(start.size()));
        const auto held = interruptible([&] { return solids::resting_nodes(rows, h, start, end); });
        const auto n = static_cast<py::ssize_t>(held.keys.size());
        const auto numbers = [&](const std::vector<double>& values) { return py::array_t<double>(n, values.data()); };
        return py::make_tuple(
            py::array_t<std::int32_t>({n, py::ssize_t{3}}, reinterpret_cast<const std::int32_t*>(held.keys.data())),
            numbers(held.drag), numbers(held.way), numbers(held.speed));
      },
      py::arg("rows"), py::arg("h"), py::arg("start"), py::arg("end"));
  m.def(
      "rows_at_rest",
      [](const Obstacles& given, const std::optional<std::array<py::array, 5>>& meshes, const std::array<py::array, 4>& resting,
         const py::array& x, const py::array& v, double dt, double h, double fall) {
        const auto obstacles = obstacles_of(given);
        const GivenSupports supports(meshes);
        const auto keys = elements_of<3>(resting[0], "resting");
        const auto n = static_cast<Index>(keys.size());
        const solids::RestingView known{keys, numbers_of(resting[1], "drag", n), numbers_of(resting[2], "way", n),
                                        numbers_of(resting[3], "speed", n)};
        const auto at = positions_of(x, "positions");
        const auto speeds = points_of(v, "velocities", static_cast<Index>(at.size()));
        return shared(
            interruptible([&] { return solids::rows_at_rest({obstacles, supports.view}, known, at, speeds, dt, h, fall); }));
      },
      py::arg("obstacles"), py::arg("meshes"), py::arg("resting"), py::arg("positions"), py::arg("velocities"), py::arg("dt"),
      py::arg("h"), py::arg("fall"));
  m.def(
      "rows_with_met",
      [](const NodeRows& met, const NodeRows& known, const NodeGroups& groups, const FrictionRules& rules, const py::array& x0,
         const py::array& x1, double dt) -> RowsPointer {
        const auto start = points_of(x0, "start", static_cast<Index>(groups.nodes()));
        const auto end = points_of(x1, "end", static_cast<Index>(groups.nodes()));
        auto rows = interruptible([&] { return solids::rows_with_met(met, known, groups, rules, start, end, dt); });
        return rows ? shared(std::move(*rows)) : nullptr;
      },
      py::arg("met"), py::arg("known"), py::arg("groups"), py::arg("rules"), py::arg("start"), py::arg("end"), py::arg("dt"));
  m.def(
      "rows_with_resting",
      [](const NodeRows& met, const NodeRows& known, const Obstacles& given,
         const std::optional<std::array<py::array, 5>>& meshes, const py::array& x, const py::array& v) {
        const auto obstacles = obstacles_of(given);
        const GivenSupports supports(meshes);
        const auto at = positions_of(x, "positions");
        const auto speeds = points_of(v, "velocities", static_cast<Index>(at.size()));
        return shared(
            interruptible([&] { return solids::rows_with_resting(met, known, {obstacles, supports.view}, at, speeds); }));
      },
      py::arg("met"), py::arg("known"), py::arg("obstacles"), py::arg("meshes"), py::arg("positions"), py::arg("velocities"));
}

void bind_stages(py::module_& m) {
  py::class_<SolveArguments>(m, "RowSolve")
      .def(py::init<const solids::StepOptions&, double, double, Index, bool>(), py::keep_alive<1, 2>(), py::arg("options"),
           py::arg("h"), py::arg("elastic_dt"), py::arg("again"), py::arg("stops_unconverged"));
  m.def(
      "predict_with_rows",
      [](SystemStep& s, const SolveArguments& a, NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules,
         const py::array& x0, const py::array& v0, bool rubs, const py::array& v, const py::array& loose) {
        const auto x = s.in(x0, "positions"), start = s.in(v0, "velocities");
        const auto out = s.out(v, "out"), unprojected = s.out(loose, "unprojected");
        solids::RowSolveReport report;
        const solids::RowSolve solve{*s, groups, rules, a.options, a.h, a.elastic_dt, a.again, a.stops_unconverged};
        interruptible([&] { solids::predict_with_rows(solve, rows, x, start, rubs, out, unprojected, report); });
        return reported(report);
      },
      py::arg("step"), py::arg("solve"), py::arg("rows"), py::arg("groups"), py::arg("rules"), py::arg("positions"),
      py::arg("velocities"), py::arg("rubs"), py::arg("out"), py::arg("unprojected"));
  m.def(
      "solve_with_rows",
      [](SystemStep& s, const SolveArguments& a, NodeRows& rows, const NodeGroups& groups, const FrictionRules& rules,
         const py::array& positions, const py::array& v_star, bool backward, bool stopped, const py::array& v,
         const py::array& loose) {
        const auto x = s.in(positions, "positions"), start = s.in(v_star, "velocities");
        const auto out = s.out(v, "out"), unprojected = s.out(loose, "unprojected");
        solids::RowSolveReport report;
        const solids::RowSolve solve{*s, groups, rules, a.options, a.h, a.elastic_dt, a.again, a.stops_unconverged};
        interruptible([&] { solids::solve_with_rows(solve, rows, x, start, backward, stopped, out, unprojected, report); });
        return reported(report);
      },
      py::arg("step"), py::arg("solve"), py::arg("rows"), py::arg("groups"), py::arg("rules"), py::arg("positions"),
      py::arg("velocities"), py::arg("backward"), py::arg("stopped"), py::arg("out"), py::arg("unprojected"));
  m.def(
      "hold_pushed",
      [](SystemStep& s, const NodeRows& rows, const py::array& predicted, const py::array& v) {
        const auto before = s.in(predicted, "predicted");
        const auto out = s.out(v, "out");
        return interruptible([&] { return solids::hold_pushed(*s, rows, before, out); });
      },
      py::arg("step"), py::arg("rows"), py::arg("predicted"), py::arg("out"));
  m.def(
      "collide_rows",
      [](SystemStep& s, const NodeRows& rows, const py::array& x0, const py::array& v0, const py::array& x1,
         const py::array& v_star) {
        const auto x = s.in(x0, "start"), v = s.in(v0, "velocities");
        const auto end = s.out(x1, "end"), out = s.out(v_star, "out");
        interruptible([&] { solids::collide_rows(*s, rows, x, v, end, out); });
      },
      py::arg("step"), py::arg("rows"), py::arg("start"), py::arg("velocities"), py::arg("end"), py::arg("out"));
  m.def(
      "slide_rows",
      [](SystemStep& s, NodeRows& rows, const NodeGroups& groups, const py::array& v0, const py::array& v_star,
         const py::array& v1) {
        const auto v = s.in(v0, "velocities"), after = s.in(v_star, "after");
        const auto out = s.out(v1, "out");
        interruptible([&] { solids::slide_rows(*s, rows, groups, v, after, out); });
      },
      py::arg("step"), py::arg("rows"), py::arg("groups"), py::arg("velocities"), py::arg("after"), py::arg("out"));
  m.def(
      "press_rows",
      [](SystemStep& s, NodeRows& rows, const NodeGroups& groups, const py::array& v1) {
        const auto out = s.out(v1, "out");
        interruptible([&] { solids::press_rows(*s, rows, groups, out); });
      },
      py::arg("step"), py::arg("rows"), py::arg("groups"), py::arg("out"));
}

}  // namespace

void bind_node_rows(py::module_& m) {
  bind_types(m);
  bind_finding(m);
  bind_resting(m);
  bind_stages(m);
}

}  // namespace meniscus::bindings
