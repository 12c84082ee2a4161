// Sample points of tetrahedra.
#include "bridge.hpp"

#include "meniscus/mesh/quadrature/tet_samples.hpp"

namespace meniscus::bindings {

void bind_tet_samples(py::module_& m) {
  py::native_enum<mesh::TetSampling>(m, "RandomTetSampling", "enum.Enum")
      .value("stratified", mesh::TetSampling::stratified)
      .value("independent", mesh::TetSampling::independent)
      .finalize();
  m.def(
      "fixed_tet_samples",
      [](Index count) {
        const auto points = mesh::fixed_samples(count);
        py::array_t<double> result({static_cast<py::ssize_t>(points.size()), py::ssize_t{4}});
        std::copy_n(points[0].data(), 4 * points.size(), result.mutable_data());
        return result;
      },
      py::arg("count"));
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
