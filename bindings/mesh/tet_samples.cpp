// Sample points of tetrahedra.
#include "bridge.hpp"

#include "meniscus/mesh/quadrature/tet_rules.hpp"

namespace meniscus::bindings {
namespace {

py::array_t<double> rows_of(std::span<const mesh::TetWeights> points) {
  py::array_t<double> result({static_cast<py::ssize_t>(points.size()), py::ssize_t{4}});
  std::copy_n(points[0].data(), 4 * points.size(), result.mutable_data());
  return result;
}

}  // namespace

void bind_tet_samples(py::module_& m) {
  py::native_enum<mesh::TetSampling>(m, "RandomTetSampling", "enum.Enum")
      .value("stratified", mesh::TetSampling::stratified)
      .value("independent", mesh::TetSampling::independent)
      .finalize();
  m.def("fixed_tet_samples", [](Index count) { return rows_of(mesh::fixed_samples(count)); }, py::arg("count"));
  m.def("quadrature_tet_samples", [](Index count) { return rows_of(mesh::quadrature_samples(count)); }, py::arg("count"));
  m.def(
      "tet_rule",
      [](int degree) {
        const mesh::TetRule& rule = mesh::tet_rule(degree);
        return py::make_tuple(rows_of(rule.points),
                              py::array_t<double>(static_cast<py::ssize_t>(rule.weights.size()), rule.weights.data()));
      },
      py::arg("degree"));
  m.def(
      "random_tet_samples",
      [](mesh::TetSampling kind, Index count, const py::array& elements, std::uint64_t seed, std::uint32_t step) {
        const auto n = static_cast<std::size_t>(elements.size());
        const std::span<const std::int64_t> ids(data_of<std::int64_t>(elements, "elements"), n);
        py::array_t<double> result({elements.size(), static_cast<py::ssize_t>(count), py::ssize_t{4}});
        const std::span<mesh::TetWeights> out(reinterpret_cast<mesh::TetWeights*>(result.mutable_data()),
                                              n * static_cast<std::size_t>(count));
        interruptible([&] { mesh::random_samples(kind, seed, ids, step, out); });
        return result;
      },
      py::arg("kind"), py::arg("count"), py::arg("elements"), py::arg("seed"), py::arg("step"));
}

}  // namespace meniscus::bindings
