// Bindings of level-set surfaces, their volumes, curvatures and connected components.
#include "any_field.hpp"

#include "meniscus/surface/extraction/curvature.hpp"
#include "meniscus/surface/extraction/extraction.hpp"
#include "meniscus/surface/extraction/level_set_components.hpp"
#include "meniscus/surface/extraction/level_set_volume.hpp"
#include "meniscus/surface/shapes/level_set_blend.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

void bind_extraction_functions(py::module_& m) {
  def_fields(
      m, "extract",
      []<class T, int D>(const Field<T, D>& phi, bool close_sides, bool close_periods, bool cubic, bool with_normals,
                         Workspace& workspace) {
        const surface::SurfaceExtraction<T, D> surface =
            interruptible([&] { return surface::SurfaceExtraction<T, D>(phi, {close_sides, close_periods, cubic}, workspace); });
        const auto n = static_cast<py::ssize_t>(surface.vertices());
        py::array_t<double> positions({n, py::ssize_t{D}});
        py::array_t<std::int32_t> elements({static_cast<py::ssize_t>(surface.elements()), py::ssize_t{D}});
        py::array_t<double> normals({with_normals ? n : py::ssize_t{0}, py::ssize_t{D}});
        double* const x = positions.mutable_data();
        std::int32_t* const e = elements.mutable_data();
        double* const y = with_normals ? normals.mutable_data() : nullptr;
        interruptible([&] { surface.fill(x, e, y); });
        return py::make_tuple(positions, elements, normals);
      },
      py::arg("phi"), py::arg("close_sides"), py::arg("close_periods"), py::arg("cubic"), py::arg("normals"),
      py::arg("workspace"));
  def_fields(
      m, "measure_level_set",
      []<class T, int D>(const Field<T, D>& phi, Workspace& workspace) {
        const surface::LevelSetMeasure measure = interruptible([&] { return surface::measure_level_set(phi, workspace); });
        return std::array<double, 2>{measure.volume, measure.area};
      },
      py::arg("phi"), py::arg("workspace"));
  def_fields(
      m, "volume_fractions",
      []<class T, int D>(const Field<T, D>& phi, Field<T, D>& out, Workspace& workspace) {
        interruptible([&] { surface::volume_fractions(phi, out, workspace); });
      },
      py::arg("phi"), py::arg("out"), py::arg("workspace"));
  def_fields(
      m, "level_set_curvature",
      []<class T, int D>(Field<T, D>& phi, surface::CurvatureKind kind, double limit, Field<T, D>& out) {
        interruptible([&] {
          phi.fill_ghosts(0.0);
          surface::level_set_curvature(phi, kind, limit, out);
        });
      },
      py::arg("phi"), py::arg("kind"), py::arg("limit"), py::arg("out"));
  def_fields(
      m, "label_components",
      []<class T, int D>(const Field<T, D>& phi, bool both, const py::array& labels, Workspace& workspace) {
        auto* const to = data_of<std::int32_t>(labels, "labels", product<D>(phi.extents()), true);
        const surface::ComponentCounts counts =
            interruptible([&] { return surface::label_components(phi, both, to, workspace); });
        return std::array<Index, 2>{counts.inside, counts.outside};
      },
      py::arg("phi"), py::arg("both"), py::arg("labels"), py::arg("workspace"));
  def_fields(
      m, "component_volumes",
      []<class T, int D>(const Field<T, D>& phi, const py::array& labels, const std::array<Index, 2>& counts,
                         Workspace& workspace) {
        const auto* const from = data_of<std::int32_t>(labels, "labels", product<D>(phi.extents()));
        py::array_t<double> inside(static_cast<py::ssize_t>(counts[0]));
        py::array_t<double> outside(static_cast<py::ssize_t>(counts[1]));
        double* const a = inside.mutable_data();
        double* const b = outside.mutable_data();
        interruptible([&] { surface::component_volumes(phi, from, {counts[0], counts[1]}, a, b, workspace); });
        return py::make_tuple(inside, outside);
      },
      py::arg("phi"), py::arg("labels"), py::arg("counts"), py::arg("workspace"));
  def_fields(
      m, "blend_level_sets",
      []<class T, int D>(Field<T, D>& phi0, Field<T, D>& phi1, MacField<T, D>* velocity0, MacField<T, D>* velocity1, double dt,
                         double alpha, surface::BlendMethod blend, grid::Interpolation interpolation, Field<T, D>& out) {
        interruptible([&] {
          for (Field<T, D>* phi : {&phi0, &phi1}) phi->fill_ghosts(0.0);
          for (MacField<T, D>* v : {velocity0, velocity1})
            if (v) v->fill_ghosts(0.0);
          surface::blend_level_sets<T, D>(phi0, phi1, velocity0, velocity1, dt, alpha, blend, interpolation, out);
        });
      },
      py::arg("phi0"), py::arg("phi1"), py::arg("velocity0"), py::arg("velocity1"), py::arg("dt"), py::arg("alpha"),
      py::arg("blend"), py::arg("interpolation"), py::arg("out"));
}

}  // namespace

void bind_extraction(py::module_& m) {
  py::native_enum<surface::CurvatureKind>(m, "CurvatureKind", "enum.Enum")
      .value("level", surface::CurvatureKind::level)
      .value("surface", surface::CurvatureKind::surface)
      .value("columns", surface::CurvatureKind::columns)
      .finalize();
  py::native_enum<surface::BlendMethod>(m, "BlendMethod", "enum.Enum")
      .value("two_sided", surface::BlendMethod::two_sided)
      .value("one_sided", surface::BlendMethod::one_sided)
      .value("linear", surface::BlendMethod::linear)
      .finalize();
  bind_extraction_functions(m);
}

}  // namespace meniscus::bindings
