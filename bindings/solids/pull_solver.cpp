// Impulses that pull points of bodies.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/interaction/pull_solver.hpp"

namespace meniscus::bindings {

void bind_pull_solver(py::module_& m) {
  using solids::PullSolver;
  py::class_<PullSolver>(m, "PullSolver")
      .def(py::init<>())
      .def(
          "solve",
          [](PullSolver& self, const py::array& first, const py::array& coordinates, const py::array& directions,
             const py::array& responses, const py::array& bias, const py::array& softness, const py::array& limits,
             int iterations, double tolerance, const py::array& velocity, const py::array& impulses) {
            const solids::PullRows rows{.first = values_of<std::int64_t>(first, "first"),
                                        .coordinates = values_of<std::int32_t>(coordinates, "coordinates"),
                                        .directions = positions_of(directions, "directions"),
                                        .responses = positions_of(responses, "responses"),
                                        .bias = positions_of(bias, "bias"),
                                        .softness = values_of<double>(softness, "softness"),
                                        .limits = values_of<double>(limits, "limits")};
            const std::size_t n = rows.bias.size(), entries = rows.coordinates.size();
            require(rows.first.size() == n + 1 && rows.softness.size() == n && rows.limits.size() == n,
                    "rows must be as many in all arrays, not ", n, " of the bias");
            require(rows.directions.size() == entries && rows.responses.size() == entries,
                    "entries must be as many in all arrays, not ", entries, " coordinates");
            require(rows.first[0] == 0 && rows.first[n] == static_cast<std::int64_t>(entries), "rows must hold all entries");
            const std::span<double> u{data_of<double>(velocity, "velocity", -1, true), static_cast<std::size_t>(velocity.size())};
            for (std::size_t i = 0; i < n; ++i) require(rows.first[i] <= rows.first[i + 1], "rows must be in order");
            for (const std::int32_t c : rows.coordinates)
              require(c >= 0 && static_cast<std::size_t>(c) < u.size(), "there is no generalised velocity ", c);
            const auto p = writable_nodes_of(impulses, "impulses", static_cast<Index>(n));
            const solids::PullReport report = interruptible([&] { return self.solve(rows, iterations, tolerance, u, p); });
            return py::make_tuple(report.iterations, report.change);
          },
          py::arg("first"), py::arg("coordinates"), py::arg("directions"), py::arg("responses"), py::arg("bias"),
          py::arg("softness"), py::arg("limits"), py::arg("iterations"), py::arg("tolerance"), py::arg("velocity"),
          py::arg("impulses"))
      .def_property_readonly("nbytes", &PullSolver::nbytes);
}

}  // namespace meniscus::bindings
