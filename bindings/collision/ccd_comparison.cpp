// Classical methods of continuous collision detection, for comparison.
#include "collision/pair_arrays.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

/// Rows of vertex numbers, one per pair, or none.
template <std::size_t N>
std::span<const std::array<std::int32_t, N>> vertices_of(const std::optional<py::array>& indices, py::ssize_t pairs) {
  if (!indices) return {};
  const auto* first = data_of<std::int32_t>(*indices, "indices");
  require(indices->ndim() == 2 && indices->shape(0) == pairs && indices->shape(1) == static_cast<py::ssize_t>(N),
          "indices must have shape (", pairs, ", ", N, ")");
  return {reinterpret_cast<const std::array<std::int32_t, N>*>(first), static_cast<std::size_t>(pairs)};
}

/// Times (n,), normals (n, dimension) and displacements (n,), filled by find(columns).
template <class Find>
py::tuple contact_arrays(py::ssize_t n, py::ssize_t dimension, Find&& find) {
  py::array_t<double> times(n), normals({n, dimension}), displacements(n);
  const collision::SpaceTimeColumns out{times.mutable_data(), normals.mutable_data(), displacements.mutable_data()};
  interruptible([&] { find(out); });
  return py::make_tuple(times, normals, displacements);
}

py::array_t<double> cubic_contacts(collision::PairKind kind, const py::array& start, const py::array& end, double tolerance) {
  const collision::SeparatePairs pairs = pairs_of(start, end);
  py::array_t<double> times(pairs.size());
  const std::span out(times.mutable_data(), static_cast<std::size_t>(times.size()));
  interruptible([&] { find_cubic_contacts(kind, pairs, tolerance, out); });
  return times;
}

py::tuple space_time_contacts(collision::PairKind kind, const py::array& start, const py::array& end,
                              const std::optional<py::array>& indices, collision::SimplexMethod method) {
  const collision::SeparatePairs pairs = pairs_of(start, end);
  const auto vertices = vertices_of<4>(indices, pairs.size());
  return contact_arrays(pairs.size(), 3, [&](const collision::SpaceTimeColumns& out) {
    find_space_time_contacts(kind, method, pairs, vertices, out);
  });
}

py::tuple point_segment_contacts(const py::array& start, const py::array& end, const std::optional<py::array>& indices,
                                 collision::SimplexMethod method) {
  const auto from = pair_points<Vec<double, 2>>(start, "start", 3), to = pair_points<Vec<double, 2>>(end, "end", 3);
  const auto vertices = vertices_of<3>(indices, start.shape(0));
  return contact_arrays(start.shape(0), 2, [&](const collision::SpaceTimeColumns& out) {
    find_space_time_contacts(method, from, to, vertices, out);
  });
}

}  // namespace

void bind_ccd_comparison(py::module_& m) {
  py::native_enum<collision::SimplexMethod>(m, "SimplexMethod", "enum.Enum")
      .value("cramer", collision::SimplexMethod::cramer)
      .value("elimination", collision::SimplexMethod::elimination)
      .value("integer_elimination", collision::SimplexMethod::integer_elimination)
      .finalize();
  m.def("cubic_contacts", &cubic_contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("tolerance"));
  m.def("space_time_contacts", &space_time_contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("indices"),
        py::arg("method"));
  m.def("space_time_point_segment", &point_segment_contacts, py::arg("start"), py::arg("end"), py::arg("indices"),
        py::arg("method"));
}

}  // namespace meniscus::bindings
