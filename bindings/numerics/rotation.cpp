// Rotations and singular values of 3 x 3 matrices.
#include "bridge.hpp"

#include "meniscus/numerics/rotation.hpp"

#include <optional>
#include <span>

namespace meniscus::bindings {
namespace {

std::span<const numerics::RowMatrix3> matrices_of(const py::array& a) {
  const double* first = data_of<double>(a, "matrices");
  require(a.ndim() == 3 && a.shape(1) == 3 && a.shape(2) == 3, "matrices must have shape (n, 3, 3)");
  return {reinterpret_cast<const numerics::RowMatrix3*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::span<numerics::RowMatrix3> writable(py::array_t<double>& a) {
  return {reinterpret_cast<numerics::RowMatrix3*>(a.mutable_data()), static_cast<std::size_t>(a.shape(0))};
}

}  // namespace

void bind_rotation(py::module_& m) {
  py::native_enum<numerics::RotationMethod>(m, "RotationMethod", "enum.Enum")
      .value("polar", numerics::RotationMethod::polar)
      .value("svd", numerics::RotationMethod::svd)
      .value("quaternion", numerics::RotationMethod::quaternion)
      .value("newton", numerics::RotationMethod::newton)
      .value("gram_schmidt", numerics::RotationMethod::gram_schmidt)
      .finalize();
  m.def(
      "rotations",
      [](const py::array& matrices, numerics::RotationMethod method, const std::optional<py::array>& start, int max_iterations,
         double tolerance) {
        const auto a = matrices_of(matrices);
        std::span<Vec<double, 4>> q;
        if (start)
          q = {reinterpret_cast<Vec<double, 4>*>(data_of<double>(*start, "start", static_cast<Index>(4 * a.size()), true)),
               a.size()};
        py::array_t<double> result({matrices.shape(0), py::ssize_t{3}, py::ssize_t{3}});
        const auto out = writable(result);
        interruptible([&] { numerics::rotations(a, {method, max_iterations, tolerance}, q, out); });
        return result;
      },
      py::arg("matrices"), py::arg("method"), py::arg("start"), py::arg("max_iterations"), py::arg("tolerance"));
  m.def(
      "signed_svds",
      [](const py::array& matrices) {
        const auto a = matrices_of(matrices);
        const py::ssize_t n = matrices.shape(0), three = 3;
        py::array_t<double> u({n, three, three}), s({n, three}), v({n, three, three});
        const auto to_u = writable(u), to_v = writable(v);
        const std::span<Vec<double, 3>> to_s{reinterpret_cast<Vec<double, 3>*>(s.mutable_data()), a.size()};
        interruptible([&] { numerics::signed_svds(a, to_u, to_s, to_v); });
        return py::make_tuple(u, s, v);
      },
      py::arg("matrices"));
}

}  // namespace meniscus::bindings
