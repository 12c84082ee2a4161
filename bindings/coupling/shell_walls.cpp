// Thin shells on a grid.
#include <algorithm>

#include "collision/point_rows.hpp"
#include "masks.hpp"

#include "meniscus/coupling/shells/revalidation.hpp"
#include "meniscus/coupling/shells/shell_walls.hpp"

namespace meniscus::bindings {
namespace {

template <int D>
std::span<const Vec<double, D>> shell_rows(const py::array& a, const char* name) {
  static_assert(sizeof(Vec<double, D>) == D * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == D, name, " must have shape (n, ", D, ")");
  require_finite_values(a, name);
  return {reinterpret_cast<const Vec<double, D>*>(first), static_cast<std::size_t>(a.shape(0))};
}

template <int D>
std::span<const std::array<std::int32_t, D>> shell_elements(const py::array& a) {
  const auto* first = data_of<std::int32_t>(a, "elements");
  require(a.ndim() == 2 && a.shape(1) == D, "elements must have shape (m, ", D, ")");
  return {reinterpret_cast<const std::array<std::int32_t, D>*>(first), static_cast<std::size_t>(a.shape(0))};
}

/// Blocked faces as arrays: axes (k,), faces (k, D), velocities (k, D), elements (k,).
template <int D>
py::tuple shell_faces(std::span<const coupling::ShellFace<D>> faces) {
  const auto k = static_cast<py::ssize_t>(faces.size());
  py::array_t<std::int32_t> axes(k), elements(k);
  py::array_t<Index> places({k, py::ssize_t{D}});
  py::array_t<double> velocities({k, py::ssize_t{D}});
  for (py::ssize_t i = 0; i < k; ++i) {
    const auto& f = faces[i];
    axes.mutable_at(i) = f.axis;
    elements.mutable_at(i) = f.element;
    std::ranges::copy(f.face, places.mutable_data(i, 0));
    std::copy_n(f.velocity.data(), D, velocities.mutable_data(i, 0));
  }
  return py::make_tuple(axes, places, velocities, elements);
}

/// What both cells of each blocked face see first, lower and upper one after the other: corners (2k, 3), weights (2k, 3),
/// positions (2k, D). Corners are -1 where the way is free.
template <int D>
py::tuple shell_hits(const coupling::ShellWalls<D>& walls) {
  const auto hits = walls.face_hits();
  const auto k = static_cast<py::ssize_t>(2 * hits.size());
  py::array_t<std::int32_t> corners({k, py::ssize_t{3}});
  py::array_t<double> weights({k, py::ssize_t{3}}), positions({k, py::ssize_t{D}});
  for (py::ssize_t i = 0; i < k; ++i) {
    const auto& hit = hits[i / 2][i % 2];
    const auto nodes = hit.triangle < 0 ? std::array<std::int32_t, 3>{-1, -1, -1} : walls.corners_of(hit);
    std::ranges::copy(nodes, corners.mutable_data(i, 0));
    std::copy_n(hit.barycentric.data(), 3, weights.mutable_data(i, 0));
    std::copy_n(hit.position.data(), D, positions.mutable_data(i, 0));
  }
  return py::make_tuple(corners, weights, positions);
}

template <class T, int D>
void bind_revalidation(py::module_& m) {
  m.def(
      "sample_one_sided",
      [](grid::Field<T, D>& field, const grid::ThinWalls<D>& walls, double stand_in, bool mean, const py::array& points,
         double time) {
        const auto x = shell_rows<D>(points, "points");
        py::array_t<double> out(static_cast<py::ssize_t>(x.size()));
        double* const to = out.mutable_data();
        interruptible([&] {
          grid::sample_points_one_sided<T, D>(field, walls, {-1, stand_in, mean}, reinterpret_cast<const double*>(x.data()),
                                              static_cast<Index>(x.size()), time, to);
        });
        return out;
      },
      py::arg("field"), py::arg("walls"), py::arg("stand_in"), py::arg("mean"), py::arg("points"), py::arg("time"));
  m.def(
      "revalidate",
      [](grid::Field<T, D>& field, const py::array& invalid, const grid::ThinWalls<D>& walls, int component, double value) {
        const auto* mask = mask_of(invalid, "invalid", product<D>(field.extents()));
        const auto report = interruptible([&] { return coupling::revalidate<T, D>(field, mask, walls, {component, value}); });
        return py::make_tuple(report.samples, report.from_stand_ins, report.sweeps);
      },
      py::arg("field"), py::arg("invalid"), py::arg("walls"), py::arg("component"), py::arg("value"));
  m.def(
      "revalidate_component",
      [](grid::MacField<T, D>& field, int axis, const py::array& invalid, const grid::ThinWalls<D>& walls) {
        grid::Field<T, D>& f = field.component(axis);
        const auto* mask = mask_of(invalid, "invalid", product<D>(f.extents()));
        const auto report = interruptible([&] { return coupling::revalidate<T, D>(f, mask, walls, {axis, 0.0}); });
        return py::make_tuple(report.samples, report.from_stand_ins, report.sweeps);
      },
      py::arg("field"), py::arg("axis"), py::arg("invalid"), py::arg("walls"));
}

template <int D>
void bind_walls(py::module_& m, const char* name) {
  using Walls = coupling::ShellWalls<D>;
  py::class_<Walls, grid::ThinWalls<D>>(m, name)
      .def(py::init([](const grid::Grid<D>& grid, const py::array& vertices, const py::array& elements, double thickness) {
             const auto x = shell_rows<D>(vertices, "vertices");
             const auto e = shell_elements<D>(elements);
             return interruptible([&] { return std::make_unique<Walls>(grid, x, e, thickness); });
           }),
           py::arg("grid"), py::arg("vertices"), py::arg("elements"), py::arg("thickness"))
      .def(
          "place",
          [](Walls& self, const py::array& vertices, const py::array& velocities) {
            const auto x = shell_rows<D>(vertices, "vertices");
            const auto v = shell_rows<D>(velocities, "velocities");
            interruptible([&] { self.place(x, v); });
          },
          py::arg("vertices"), py::arg("velocities"))
      .def(
          "set_velocities",
          [](Walls& self, const py::array& velocities) {
            const auto v = shell_rows<D>(velocities, "velocities");
            interruptible([&] { self.set_velocities(v); });
          },
          py::arg("velocities"))
      .def(
          "see_solid",
          [](Walls& self, const grid::Field<double, D>* levelset, bool through) {
            const auto sight = through ? coupling::SolidSight::through : coupling::SolidSight::outside;
            interruptible([&] { self.see_solid(levelset, sight); });
          },
          py::arg("levelset").none(true), py::arg("through"))
      .def("solid_levels",
           [](const Walls& self, const py::array& points) {
             const auto x = shell_rows<D>(points, "points");
             py::array_t<double> out(static_cast<py::ssize_t>(x.size()));
             std::ranges::transform(x, out.mutable_data(), [&](const auto& p) { return self.solid().level(p); });
             return out;
           })
      .def("out_of_solid",
           [](const Walls& self, const py::array& begins, const py::array& ends) {
             const auto x = shell_rows<D>(begins, "begins"), y = shell_rows<D>(ends, "ends");
             require(x.size() == y.size(), "ways must have as many ends as beginnings");
             py::array_t<double> out({static_cast<py::ssize_t>(x.size()), py::ssize_t{D}});
             auto* to = reinterpret_cast<Vec<double, D>*>(out.mutable_data());
             std::ranges::transform(x, y, to, [&](const auto& p, const auto& q) { return self.beside_solid(p, q); });
             return out;
           })
      .def("faces", [](const Walls& self) { return shell_faces<D>(self.faces()); })
      .def("face_hits", [](const Walls& self) { return shell_hits<D>(self); })
      .def(
          "swept_samples",
          [](const Walls& self, const Walls& end, const std::array<int, D>& on_side) {
            const grid::Stagger<D> stagger{on_side};
            const Coord<D> n = stagger.extents(self.grid().local_shape());
            py::array_t<bool> out(std::vector<py::ssize_t>(n.begin(), n.end()));
            static_assert(sizeof(bool) == 1);
            const std::span<std::uint8_t> marks(reinterpret_cast<std::uint8_t*>(out.mutable_data()),
                                                static_cast<std::size_t>(out.size()));
            interruptible([&] { self.mark_swept_samples(end, stagger, marks); });
            return out;
          },
          py::arg("end"), py::arg("on_side"))
      .def("hidden",
           [](const Walls& self, const py::array& origin, const py::array& targets) {
             const auto from = shell_rows<D>(origin, "origin");
             const auto to = shell_rows<D>(targets, "targets");
             require(from.size() == 1 && to.size() <= 8, "hidden needs one origin and at most 8 targets");
             std::array<Vec<double, D>, 8> velocity;
             return self.hidden(from[0], to.data(), static_cast<int>(to.size()), velocity.data());
           })
      .def("clearance",
           [](const Walls& self) {
             const Coord<D>& n = self.grid().local_shape();
             py::array_t<std::uint8_t> out(std::vector<py::ssize_t>(n.begin(), n.end()));
             std::copy_n(self.clearance(), out.size(), out.mutable_data());
             return out;
           })
      .def_property_readonly("marked_cells", &Walls::marked_cells)
      .def_property_readonly("thickness", &Walls::thickness)
      .def_property_readonly("nbytes", &Walls::bytes);
  if constexpr (D == 3) bind_revalidation<float, D>(m);
  bind_revalidation<double, D>(m);
}

}  // namespace

void bind_shell_walls(py::module_& m) {
  bind_walls<2>(m, "ShellWalls2");
  bind_walls<3>(m, "ShellWalls3");
}

}  // namespace meniscus::bindings
