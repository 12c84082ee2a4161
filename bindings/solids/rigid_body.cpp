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

}  // namespace

void bind_rigid_body(py::module_& m) {
  using solids::RigidMethod;
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
