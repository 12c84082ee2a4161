// Overlaps of tetrahedra and planes in them.
#include "mesh/mesh_arrays.hpp"

#include "meniscus/mesh/clipping/tet_overlap.hpp"
#include "meniscus/mesh/clipping/tet_plane.hpp"

namespace meniscus::bindings {
namespace {

using TetCorners = std::array<mesh::Point, 4>;
using FourValues = std::array<double, 4>;

std::span<const TetCorners> corners_of(const py::array& a, const char* name) {
  static_assert(sizeof(TetCorners) == 12 * sizeof(double));
  const double* const first = data_of<double>(a, name);
  require(a.ndim() == 3 && a.shape(1) == 4 && a.shape(2) == 3, name, " must have shape (n, 4, 3)");
  return {reinterpret_cast<const TetCorners*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::span<const FourValues> corner_values(const py::array& a, const char* name) {
  const double* const first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 4, name, " must have shape (m, 4)");
  return {reinterpret_cast<const FourValues*>(first), static_cast<std::size_t>(a.shape(0))};
}

}  // namespace

void bind_clipping(py::module_& m) {
  m.def(
      "overlap_volumes",
      [](const py::array& a, const py::array& b, const py::array& out) {
        const auto x = corners_of(a, "a");
        const auto y = corners_of(b, "b");
        require(x.size() == y.size(), "a and b must have as many tetrahedra, not ", x.size(), " and ", y.size());
        double* const first = data_of<double>(out, "out", static_cast<Index>(x.size()), true);
        interruptible([&] { mesh::overlap_volumes(x, y, {first, x.size()}); });
      },
      py::arg("a"), py::arg("b"), py::arg("out"));
  m.def(
      "fractions_below",
      [](const py::array& values, const py::array& out) {
        const auto phi = corner_values(values, "values");
        double* const first = data_of<double>(out, "out", static_cast<Index>(phi.size()), true);
        interruptible([&] { mesh::fractions_below(phi, {first, phi.size()}); });
      },
      py::arg("values"), py::arg("out"));
  m.def(
      "plane_offsets",
      [](const py::array& heights, const py::array& fractions, const py::array& out) {
        const auto h = corner_values(heights, "heights");
        const double* const f = data_of<double>(fractions, "fractions", static_cast<Index>(h.size()));
        double* const first = data_of<double>(out, "out", static_cast<Index>(h.size()), true);
        interruptible([&] { mesh::plane_offsets(h, {f, h.size()}, {first, h.size()}); });
      },
      py::arg("heights"), py::arg("fractions"), py::arg("out"));
}

}  // namespace meniscus::bindings
