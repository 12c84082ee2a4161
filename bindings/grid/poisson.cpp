// Poisson solver on plain arrays.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/grid/poisson/array_poisson.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <int D>
bool set_coefficients(grid::ArrayPoissonSolver<D>& solver, const std::array<py::array, D>& faces,
                      const std::optional<py::array>& active) {
  std::array<const double*, D> data;
  for (std::size_t d = 0; d < D; ++d) {
    const Coord<D> extents = grid::Stagger<D>::face(static_cast<int>(d)).extents(solver.layout().cells);
    data[d] = data_of<double>(faces[d], "faces", product<D>(extents));
  }
  const auto* mask = active ? mask_of(*active, "active", solver.layout().count()) : nullptr;
  bool valid = false;
  interruptible([&] { valid = solver.set_coefficients(data, mask); });
  return valid;
}

template <int D>
numerics::SolveInfo solve(grid::ArrayPoissonSolver<D>& solver, const py::array& rhs, const py::array& x,
                          const numerics::SolveOptions& options, bool warm_start) {
  const Index n = solver.layout().count();
  const double* b = data_of<double>(rhs, "rhs", n);
  double* to = data_of<double>(x, "x", n, true);
  numerics::SolveInfo info;
  interruptible([&] { solver.solve(b, to, options, warm_start, info); });
  return info;
}

template <int D>
void multiply(grid::ArrayPoissonSolver<D>& solver, const py::array& x, const py::array& out) {
  const Index n = solver.layout().count();
  const double* from = data_of<double>(x, "x", n);
  double* to = data_of<double>(out, "out", n, true);
  interruptible([&] { solver.multiply(from, to); });
}

/// Cells, closedness and first cell of each region.
template <int D>
py::list regions(const grid::ArrayPoissonSolver<D>& solver) {
  py::list out;
  for (const auto& r : solver.regions().regions()) out.append(py::make_tuple(r.cells, r.closed, r.first_cell));
  return out;
}

template <int D>
void bind_array_solver(py::module_& m, const char* name) {
  using Solver = grid::ArrayPoissonSolver<D>;
  py::class_<Solver>(m, name)
      .def("set_coefficients", &set_coefficients<D>, py::arg("faces"), py::arg("active"))
      .def("solve", &solve<D>, py::arg("rhs"), py::arg("x"), py::arg("options"), py::arg("warm_start"))
      .def("multiply", &multiply<D>, py::arg("x"), py::arg("out"))
      .def_property_readonly("setup_seconds", &Solver::setup_seconds)
      .def_property_readonly("bytes", &Solver::bytes)
      .def_property_readonly("levels", &Solver::levels)
      .def_property_readonly("regions", &regions<D>);
}

}  // namespace

void bind_poisson(py::module_& m) {
  bind_array_solver<2>(m, "PoissonSolver2");
  bind_array_solver<3>(m, "PoissonSolver3");
  def_dimensions(
      m, "new_poisson_solver",
      []<int D>(const grid::Grid<D>& grid) { return std::make_unique<grid::ArrayPoissonSolver<D>>(grid); }, py::arg("grid"));
}

}  // namespace meniscus::bindings
