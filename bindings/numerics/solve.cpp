// Options and reports of linear solves.
#include "bridge.hpp"

#include "meniscus/numerics/solve_info.hpp"

namespace meniscus::bindings {

void bind_solve(py::module_& m) {
  py::native_enum<numerics::SolveMethod>(m, "SolveMethod", "enum.Enum")
      .value("multigrid", numerics::SolveMethod::multigrid)
      .value("hypre", numerics::SolveMethod::engine)
      .value("incomplete_cholesky", numerics::SolveMethod::incomplete_cholesky)
      .finalize();
  py::class_<numerics::SolveOptions>(m, "SolveOptions")
      .def(
          py::init([](double tolerance, int max_iterations, numerics::SolveMethod method, bool order_free, std::intptr_t engine) {
            numerics::SolveOptions options;
            options.tolerance = tolerance;
            options.max_iterations = max_iterations;
            options.method = method;
            options.order_free = order_free;
            options.engine = reinterpret_cast<const meniscus_structured_engine*>(engine);
            return options;
          }),
          py::arg("tolerance"), py::arg("max_iterations"), py::arg("method"), py::arg("order_free"), py::arg("engine") = 0);
  py::class_<numerics::SolveInfo>(m, "SolveInfo")
      .def_readonly("iterations", &numerics::SolveInfo::iterations)
      .def_readonly("residual", &numerics::SolveInfo::residual)
      .def_readonly("history", &numerics::SolveInfo::history)
      .def_readonly("converged", &numerics::SolveInfo::converged)
      .def_property_readonly("reason", [](const numerics::SolveInfo& i) { return std::string(describe(i.end)); })
      .def_readonly("seconds", &numerics::SolveInfo::seconds);
}

}  // namespace meniscus::bindings
