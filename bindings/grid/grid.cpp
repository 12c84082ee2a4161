// Grids and boundary conditions.
#include "any_field.hpp"

#include "meniscus/grid/boundary.hpp"
#include "meniscus/grid/particles/point_images.hpp"

#include <algorithm>

namespace meniscus::bindings {
namespace {

void call_boundary_function(const py::function& f, int dimension, std::span<const double> positions, double time,
                            std::span<double> values) {
  const auto n = static_cast<py::ssize_t>(positions.size()) / dimension;
  const auto components = static_cast<py::ssize_t>(values.size()) / std::max<py::ssize_t>(n, 1);
  py::array_t<double> x({n, static_cast<py::ssize_t>(dimension)}, positions.data());
  const py::object result = f(x, time);
  std::vector<py::ssize_t> shape{n};
  if (components > 1) shape.push_back(components);
  py::array_t<double, py::array::c_style | py::array::forcecast> y;
  try {
    const py::object target = py::tuple(py::cast(shape));
    y = py::module_::import("numpy").attr("broadcast_to")(result, target).cast<decltype(y)>();
  } catch (const py::error_already_set&) {
    throw InvalidArgument("a boundary function must return values that broadcast to shape " +
                          std::string(py::str(py::tuple(py::cast(shape)))) + ", got " + std::string(py::repr(result)));
  }
  std::copy_n(y.data(), values.size(), values.begin());
}

/// Wraps f(positions (n, dimension), time) -> (n,) or (n, components). The callable dies with the GIL held, wherever the last
/// copy goes.
std::shared_ptr<const grid::BoundaryFunction> boundary_function(py::function f, int dimension) {
  auto held = std::shared_ptr<py::function>(new py::function(std::move(f)), [](py::function* p) { with_gil([&] { delete p; }); });
  return std::make_shared<const grid::BoundaryFunction>(
      [held, dimension](std::span<const double> positions, double time, std::span<double> values) {
        with_gil([&] { call_boundary_function(*held, dimension, positions, time, values); });
      });
}

grid::GivenValue given_value(const py::object& value, int dimension) {
  grid::GivenValue v;
  if (py::isinstance<py::function>(value) || PyCallable_Check(value.ptr())) {
    v.function = boundary_function(py::reinterpret_borrow<py::function>(value), dimension);
  } else {
    const auto constants = value.cast<std::vector<double>>();
    std::copy_n(constants.begin(), std::min<std::size_t>(constants.size(), 3), v.constant.begin());
  }
  return v;
}

template <int D>
void bind_grid_type(py::module_& m, const char* name) {
  py::class_<grid::Grid<D>>(m, name)
      .def_property_readonly("shared_sides",
                             [](const grid::Grid<D>& g) {
                               std::array<std::array<bool, 2>, D> sides{};
                               for (int s = 0; s < 2 * D; ++s) sides[s / 2][s % 2] = g.shared(s / 2, s % 2);
                               return sides;
                             })
      .def_property_readonly("local_shape", [](const grid::Grid<D>& g) { return py::tuple(py::cast(g.local_shape())); })
      .def_property_readonly("first_cell", [](const grid::Grid<D>& g) { return py::tuple(py::cast(g.first_cell())); });
}

}  // namespace

void bind_grid(py::module_& m) {
  bind_grid_type<2>(m, "Grid2");
  bind_grid_type<3>(m, "Grid3");
  def_dimensions(
      m, "new_grid",
      []<int D>(const std::array<Index, D>& shape, double spacing, const std::array<double, D>& origin,
                const std::array<bool, D>& periodic, const std::shared_ptr<parallel::Communicator>& communicator,
                const std::array<std::vector<Index>, D>& cells) {
        const Eigen::Map<const Vec<double, D>> x(origin.data());
        if (!communicator) return grid::Grid<D>(shape, spacing, x, periodic);
        // One of several possible numbers of ranks: what does not depend on it follows from the communicator.
        if (communicator->size() == 1) return grid::Grid<D>(parallel::whole_domain<D>(shape, periodic), spacing, x, communicator);
        const auto blocks = parallel::cut_domain<D>(shape, periodic, cells);
        require(static_cast<int>(blocks.size()) == communicator->size(), "a grid of ", blocks.size(),
                " blocks needs as many ranks, not ", communicator->size());
        return grid::Grid<D>(blocks[communicator->rank()], spacing, x, communicator);
      },
      py::arg("shape"), py::arg("spacing"), py::arg("origin"), py::arg("periodic"), py::arg("communicator"), py::arg("cells"));
  def_dimensions(
      m, "image_shifts",
      []<int D>(const grid::Grid<D>& grid, const std::array<double, D>& lower, const std::array<double, D>& upper) {
        using Point = Eigen::Map<const Vec<double, D>>;
        std::vector<std::array<double, D>> shifts;
        for (const Vec<double, D>& s : grid::image_shifts<D>(grid, Point(lower.data()), Point(upper.data()))) {
          shifts.emplace_back();
          std::copy_n(s.data(), D, shifts.back().begin());
        }
        return shifts;
      },
      py::arg("grid"), py::arg("lower"), py::arg("upper"));

  py::class_<SideHandle>(m, "SideCondition");
  m.def(
      "wall",
      [](const py::object& velocity, bool no_slip, int dimension) {
        return SideHandle{grid::Wall{given_value(velocity, dimension), no_slip}};
      },
      py::arg("velocity"), py::arg("no_slip"), py::arg("dimension"));
  m.def("open", [](double pressure) { return SideHandle{grid::Open{pressure}}; }, py::arg("pressure"));
  m.def("zero_gradient", [] { return SideHandle{grid::ZeroGradient{}}; });
  m.def(
      "prescribed",
      [](const py::object& value, int dimension) { return SideHandle{grid::Prescribed{given_value(value, dimension)}}; },
      py::arg("value"), py::arg("dimension"));
}

}  // namespace meniscus::bindings
