// Exact continuous collision detection of pairs of elements.
#include "collision/pair_arrays.hpp"

namespace meniscus::bindings {
namespace {

py::array_t<bool> contacts(collision::PairKind kind, const py::array& start, const py::array& end, collision::ContactMode mode) {
  const collision::SeparatePairs pairs = pairs_of(start, end);
  py::array_t<bool> result(pairs.size());
  const std::span out(reinterpret_cast<std::uint8_t*>(result.mutable_data()), static_cast<std::size_t>(result.size()));
  interruptible([&] { find_contacts(kind, mode, pairs, out); });
  return result;
}

py::array_t<double> times_of_impact(collision::PairKind kind, const py::array& start, const py::array& end, double tolerance) {
  const collision::SeparatePairs pairs = pairs_of(start, end);
  py::array_t<double> result(pairs.size());
  const std::span out(result.mutable_data(), static_cast<std::size_t>(result.size()));
  interruptible([&] { find_times_of_impact(kind, pairs, tolerance, out); });
  return result;
}

}  // namespace

void bind_continuous_collision(py::module_& m) {
  py::native_enum<collision::ContactMode>(m, "ContactMode", "enum.Enum")
      .value("parity", collision::ContactMode::parity)
      .value("any", collision::ContactMode::any)
      .finalize();
  py::native_enum<collision::PairKind>(m, "PairKind", "enum.Enum")
      .value("vertex_face", collision::PairKind::vertex_face)
      .value("edge_edge", collision::PairKind::edge_edge)
      .finalize();
  m.def("contacts", &contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("mode"));
  m.def("times_of_impact", &times_of_impact, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("tolerance"));
}

}  // namespace meniscus::bindings
