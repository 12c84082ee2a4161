// Bending of plates, and sheets that are remeshed.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/cloth/sheet_editor.hpp"
#include "meniscus/solids/plates/plate_bending.hpp"

namespace meniscus::bindings {
namespace {

using solids::PlateBending;

/// Rows of two coordinates at rest.
std::span<const solids::PlateCurvature::Plane> plane_of(const py::array& a, const char* name) {
  const double* const first = data_of<double>(a, name);
  require(a.ndim() == 2 && a.shape(1) == 2, name, " must have shape (n, 2)");
  return {reinterpret_cast<const solids::PlateCurvature::Plane*>(first), static_cast<std::size_t>(a.shape(0))};
}

std::span<const std::uint8_t> flags_of(const py::array& flags, const char* name) {
  return {reinterpret_cast<const std::uint8_t*>(data_of<bool>(flags, name)), static_cast<std::size_t>(flags.size())};
}

void bind_plates(py::module_& m) {
  py::class_<PlateBending, solids::Force, std::shared_ptr<PlateBending>>(m, "PlateBending")
      .def(py::init([](const py::array& triangles, const py::array& rest, const py::array& hinges, const py::array& rigid,
                       const py::array& stiffness, double damping, double collapsed) {
             const auto t = triangles_of(triangles);
             const auto h = elements_of<4>(hinges, "hinges");
             const auto x = plane_of(rest, "rest");
             const auto held = flags_of(rigid, "rigid");
             const double* const first = data_of<double>(stiffness, "stiffness");
             const std::span<const PlateBending::Stiffness> d{reinterpret_cast<const PlateBending::Stiffness*>(first),
                                                              static_cast<std::size_t>(stiffness.size() / 9)};
             return interruptible(
                 [&] { return std::make_shared<PlateBending>(PlateBending::Parameters{t, x, h, held, d, damping, collapsed}); });
           }),
           py::arg("triangles"), py::arg("rest"), py::arg("hinges"), py::arg("rigid"), py::arg("stiffness"), py::arg("damping"),
           py::arg("collapsed"))
      .def(
          "curvatures",
          [](const PlateBending& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            py::array_t<double> out({static_cast<py::ssize_t>(self.curvature().triangles()), py::ssize_t{3}});
            const std::span<solids::PlateCurvature::Tensor> rows{
                reinterpret_cast<solids::PlateCurvature::Tensor*>(out.mutable_data()),
                static_cast<std::size_t>(self.curvature().triangles())};
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.curvatures(at, rows);
            });
            return out;
          },
          py::arg("x"));
}

/// A copy as an array (n,) or (n, columns).
template <class Out, class T>
py::array rows_of(const std::vector<T>& values) {
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(T) / sizeof(Out));
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(values.size())};
  if (columns > 1) shape.push_back(columns);
  py::array_t<Out> a(shape);
  std::copy_n(reinterpret_cast<const Out*>(values.data()), values.size() * sizeof(T) / sizeof(Out), a.mutable_data());
  return a;
}

/// The arrays of a sheet, as long as these live.
struct SheetArrays {
  py::array positions, velocities, rest, held, triangles;
  Indices<mesh::Triangle> corners = triangles_of(triangles);

  solids::SheetView view() const {
    const auto x = positions_of(positions, "positions"), v = positions_of(velocities, "velocities");
    const auto at_rest = plane_of(rest, "rest");
    const auto flags = flags_of(held, "held");
    require(x.size() == v.size() && x.size() == at_rest.size() && x.size() == flags.size(),
            "positions, velocities, rest and held must have as many rows");
    return {x, v, at_rest, flags, corners};
  }
};

py::dict ends_of(const surface::OperationCounts& counts) {
  static constexpr std::array names{"done", "intersection", "enclosed", "volume", "normal", "shape", "topology", "energy"};
  static_assert(names.size() == surface::refusals);
  py::dict out;
  for (std::size_t k = 0; k < names.size(); ++k) out[names[k]] = counts.ends[k];
  return out;
}

surface::Obstacles obstacles_from(const py::array& vertices, const py::array& triangles) {
  const auto x = positions_of(vertices, "vertices of obstacles");
  const auto corners = triangles_of(triangles);
  const std::span<const mesh::Triangle> t = corners;
  return {{x.begin(), x.end()}, {t.begin(), t.end()}};
}

py::tuple result_of(solids::SheetEditor& editor) {
  solids::Sheet sheet;
  interruptible([&] { editor.finish(sheet); });
  py::array_t<bool> held(static_cast<py::ssize_t>(sheet.held.size()));
  std::copy(sheet.held.begin(), sheet.held.end(), held.mutable_data());
  return py::make_tuple(rows_of<double>(sheet.positions), rows_of<double>(sheet.velocities), rows_of<double>(sheet.rest), held,
                        rows_of<std::int32_t>(sheet.triangles), editor.counts(), mesh::SurfaceEvents(editor.events()));
}

void bind_sheets(py::module_& m) {
  using solids::SheetEditor;
  using solids::SheetOptions;
  py::native_enum<solids::SheetSizing>(m, "SheetSizing", "enum.Enum")
      .value("curvature", solids::SheetSizing::curvature)
      .value("tensor", solids::SheetSizing::tensor)
      .finalize();
  py::class_<SheetOptions>(m, "SheetOptions")
      .def(py::init<>())
      .def_readwrite("shortest", &SheetOptions::shortest)
      .def_readwrite("longest", &SheetOptions::longest)
      .def_readwrite("turn", &SheetOptions::turn)
      .def_readwrite("sizing", &SheetOptions::sizing)
      .def_readwrite("collapse_below", &SheetOptions::collapse_below)
      .def_readwrite("collapse_to", &SheetOptions::collapse_to)
      .def_readwrite("split_above", &SheetOptions::split_above)
      .def_readwrite("grading", &SheetOptions::grading)
      .def_readwrite("least_angle", &SheetOptions::least_angle)
      .def_readwrite("split", &SheetOptions::split)
      .def_readwrite("flip", &SheetOptions::flip)
      .def_readwrite("collapse", &SheetOptions::collapse)
      .def_readwrite("butterfly", &SheetOptions::butterfly)
      .def_readwrite("density", &SheetOptions::density)
      .def_readwrite("lame_lambda", &SheetOptions::lambda)
      .def_readwrite("lame_mu", &SheetOptions::mu)
      .def_readwrite("bending", &SheetOptions::bending)
      .def_readwrite("energy_rise", &SheetOptions::energy_rise)
      .def_readwrite("energy_floor", &SheetOptions::energy_floor);
  py::class_<solids::SheetCounts>(m, "SheetCounts")
      .def_property_readonly("split", [](const solids::SheetCounts& c) { return ends_of(c.split); })
      .def_property_readonly("flip", [](const solids::SheetCounts& c) { return ends_of(c.flip); })
      .def_property_readonly("collapse", [](const solids::SheetCounts& c) { return ends_of(c.collapse); })
      .def_readonly("second_places", &solids::SheetCounts::second_places)
      .def_readonly("energy_change", &solids::SheetCounts::energy_change)
      .def_readonly("energy_jumps", &solids::SheetCounts::energy_jumps);
  py::class_<SheetArrays>(m, "SheetArrays")
      .def(py::init([](const py::array& x, const py::array& v, const py::array& rest, const py::array& held, const py::array& t) {
             return SheetArrays{x, v, rest, held, t};
           }),
           py::arg("positions"), py::arg("velocities"), py::arg("rest"), py::arg("held"), py::arg("triangles"));
  py::class_<SheetEditor>(m, "SheetEditor")
      .def(py::init<>())
      .def(
          "improve",
          [](SheetEditor& self, const SheetArrays& sheet, const py::array& vertices, const py::array& triangles,
             const SheetOptions& options) {
            const surface::Obstacles obstacles = obstacles_from(vertices, triangles);
            const solids::SheetView view = sheet.view();
            interruptible([&] {
              self.assign(view, obstacles, options);
              self.improve();
            });
            return result_of(self);
          },
          py::arg("sheet"), py::arg("vertices"), py::arg("triangles"), py::arg("options"))
      .def(
          "apply",
          [](SheetEditor& self, const SheetArrays& sheet, const py::array& vertices, const py::array& triangles,
             const SheetOptions& options, mesh::EventKind kind, const py::array& rows) {
            const surface::Obstacles obstacles = obstacles_from(vertices, triangles);
            const solids::SheetView view = sheet.view();
            const std::int32_t* const first = data_of<std::int32_t>(rows, "edges");
            const std::span<const std::int32_t> edges{first, static_cast<std::size_t>(rows.size())};
            std::vector<surface::Refusal> ends;
            interruptible([&] {
              self.assign(view, obstacles, options);
              self.apply(kind, edges, ends);
            });
            return result_of(self);
          },
          py::arg("sheet"), py::arg("vertices"), py::arg("triangles"), py::arg("options"), py::arg("kind"), py::arg("edges"));
  m.def(
      "edge_sizes",
      [](const SheetArrays& sheet, const py::array& edges, const SheetOptions& options) {
        const solids::SheetView view = sheet.view();
        const auto rows = elements_of<2>(edges, "edges");
        const std::span<const std::array<std::int32_t, 2>> pairs = rows;
        py::array_t<double> out(static_cast<py::ssize_t>(pairs.size()));
        double* const sizes = out.mutable_data();
        interruptible([&] {
          std::vector<solids::SheetMetric> metrics;
          solids::find_metrics({view.positions, view.triangles}, view.rest, options, metrics);
          for (std::size_t e = 0; e < pairs.size(); ++e) {
            const auto [a, b] = pairs[e];
            sizes[e] = solids::edge_size(options.sizing, metrics[a], metrics[b], view.rest[b] - view.rest[a],
                                         (view.positions[b] - view.positions[a]).norm());
          }
        });
        return out;
      },
      py::arg("sheet"), py::arg("edges"), py::arg("options"));
}

}  // namespace

void bind_cloth(py::module_& m) {
  bind_plates(m);
  bind_sheets(m);
}

}  // namespace meniscus::bindings
