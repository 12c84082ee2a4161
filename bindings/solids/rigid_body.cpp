// Motion of rigid bodies.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/rigid/rigid_motion.hpp"

namespace meniscus::bindings {
namespace {

/// Rows of an array as structures of doubles.
template <class T>
std::span<T> structures_of(const py::array& a, const char* name) {
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(T) / sizeof(double));
  double* const first = data_of<double>(a, name, -1, !std::is_const_v<T>);
  require(a.ndim() == 2 && a.shape(1) == columns, name, " must have shape (n, ", columns, ")");
  return {reinterpret_cast<T*>(first), static_cast<std::size_t>(a.shape(0))};
}

/// The numbers of an array of a body.
std::span<double> numbers_of(const py::handle& a, Index count) {
  const auto own = py::reinterpret_borrow<py::array>(a);
  require(own.size() == count, "an array of a body must have ", count, " numbers, not ", own.size());
  return {data_of<double>(own, "an array of a body", -1, true), static_cast<std::size_t>(count)};
}

void bind_rows(py::module_& m) {
  m.def(
      "gather_rows",
      [](const py::list& arrays, const py::array& numbers, const py::array& rows) {
        const auto n = indices_of(numbers, "numbers");
        const std::span<const std::int32_t> to = n;
        double* const out = data_of<double>(rows, "rows", -1, true);
        require(rows.ndim() == 2 && arrays.size() == to.size(), "there must be as many arrays as numbers");
        for (std::size_t k = 0; k < to.size(); ++k) {
          require(to[k] >= 0 && to[k] < rows.shape(0), "there is no row ", to[k]);
          std::ranges::copy(numbers_of(arrays[k], rows.shape(1)), out + to[k] * rows.shape(1));
        }
      },
      py::arg("arrays"), py::arg("numbers"), py::arg("rows"));
  m.def(
      "scatter_rows",
      [](const py::array& rows, const py::array& numbers, const py::list& arrays) {
        const auto n = indices_of(numbers, "numbers");
        const std::span<const std::int32_t> from = n;
        const double* const in = data_of<double>(rows, "rows");
        require(rows.ndim() == 2 && arrays.size() == from.size(), "there must be as many arrays as numbers");
        // All are looked at before any is written to.
        std::vector<std::span<double>> to;
        for (std::size_t k = 0; k < from.size(); ++k) {
          require(from[k] >= 0 && from[k] < rows.shape(0), "there is no row ", from[k]);
          to.push_back(numbers_of(arrays[k], rows.shape(1)));
        }
        for (std::size_t k = 0; k < from.size(); ++k) std::copy_n(in + from[k] * rows.shape(1), to[k].size(), to[k].begin());
      },
      py::arg("rows"), py::arg("numbers"), py::arg("arrays"));
}

}  // namespace

void bind_rigid_body(py::module_& m) {
  using solids::RigidMethod;
  bind_rows(m);
  py::native_enum<RigidMethod>(m, "RigidMethod", "enum.Enum")
      .value("midpoint", RigidMethod::midpoint)
      .value("fourth_order", RigidMethod::fourth_order)
      .value("explicit_euler", RigidMethod::explicit_euler)
      .finalize();
  m.def(
      "move_rigid_bodies",
      [](const py::array& states, const py::array& inertias, const py::array& forces, const py::array& torques, double dt,
         Index steps, RigidMethod method, const py::array& matrices) {
        const auto s = structures_of<solids::RigidState>(states, "states");
        const auto i = structures_of<const solids::RigidInertia>(inertias, "inertias");
        const auto f = positions_of(forces, "forces"), t = positions_of(torques, "torques");
        const auto r = structures_of<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(matrices, "matrices");
        interruptible([&] { solids::move_rigid_bodies(s, i, f, t, dt, steps, method, r); });
      },
      py::arg("states"), py::arg("inertias"), py::arg("forces"), py::arg("torques"), py::arg("dt"), py::arg("steps"),
      py::arg("method"), py::arg("matrices"));
}

}  // namespace meniscus::bindings
