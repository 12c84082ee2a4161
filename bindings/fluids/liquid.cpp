// Masks of faces and cells around the surface of a liquid, the air in narrow gaps and in pockets, and the energy of a liquid.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/fluids/liquid/air_gaps.hpp"
#include "meniscus/fluids/liquid/air_pockets.hpp"
#include "meniscus/fluids/liquid/liquid_components.hpp"
#include "meniscus/fluids/liquid/near_surface.hpp"
#include "meniscus/fluids/liquid/two_fluids.hpp"

namespace meniscus::bindings {
namespace {

void bind_liquid_scalar(py::module_& m) {
  def_fields(
      m, "liquid_faces",
      []<class T, int D>(Field<T, D>& liquid, const std::array<py::array, D>& masks) {
        const auto out = writable_face_masks_of<D>(masks, "masks", liquid.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::liquid_faces<T, D>(liquid, d, out[d]);
        });
      },
      py::arg("liquid"), py::arg("masks"));
  def_fields(
      m, "near_surface_faces",
      []<class T, int D>(Field<T, D>& levelset, double distance, const std::array<py::array, D>& near) {
        const auto out = writable_face_masks_of<D>(near, "near", levelset.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::near_surface_faces<T, D>(levelset, d, distance, out[d]);
        });
      },
      py::arg("levelset"), py::arg("distance"), py::arg("near"));
  def_fields(
      m, "near_air_cells",
      []<class T, int D>(const Field<T, D>& levelset, double distance, const py::array& air) {
        auto* out = mask_of(air, "air", product<D>(levelset.extents()), true);
        interruptible([&] { fluids::near_air_cells<T, D>(levelset, distance, out); });
      },
      py::arg("levelset"), py::arg("distance"), py::arg("air"));
  def_fields(
      m, "limit_air_speed",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, const py::array& air,
                         const std::array<py::array, D>& given, double factor, Field<T, D>& bounds) {
        const auto* cells = mask_of(air, "air", product<D>(levelset.extents()));
        const auto masks = face_masks_of<D>(given, "given", levelset.extents());
        interruptible([&] { fluids::limit_air_speed<T, D>(velocity, levelset, cells, masks, factor, bounds); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("air"), py::arg("given"), py::arg("factor"), py::arg("bounds"));
  def_fields(
      m, "mark_gaps_at_walls",
      []<class T, int D>(const MacField<T, D>& velocity, Field<T, D>& levelset, double distance,
                         const std::optional<std::array<py::array, D>>& closed, Field<T, D>& region) {
        std::array<const std::uint8_t*, D> masks{};
        if (closed) masks = face_masks_of<D>(*closed, "closed", levelset.extents());
        interruptible([&] { fluids::mark_gaps_at_walls<T, D>(velocity, levelset, distance, masks, region); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("distance"), py::arg("closed"), py::arg("region"));
  def_fields(
      m, "find_air_pockets",
      []<class T, int D>(const Field<T, D>& levelset, const std::optional<py::array>& outside,
                         const std::array<bool, 2 * D>& open_sides, Field<T, D>& scratch, const py::array& pockets,
                         Workspace& workspace) {
        const Index cells = product<D>(levelset.extents());
        const auto* mask = mask_of(outside, "outside", cells);
        auto* out = mask_of(pockets, "pockets", cells, true);
        return interruptible([&] { return fluids::find_air_pockets(levelset, mask, open_sides, scratch, out, workspace); });
      },
      py::arg("levelset"), py::arg("outside"), py::arg("open_sides"), py::arg("scratch"), py::arg("pockets"),
      py::arg("workspace"));
  def_fields(
      m, "unite_velocities",
      []<class T, int D>(MacField<T, D>& velocity, const MacField<T, D>& air, Field<T, D>& levelset, double air_density) {
        interruptible([&] { fluids::unite_velocities(velocity, air, levelset, air_density); });
      },
      py::arg("velocity"), py::arg("air"), py::arg("levelset"), py::arg("air_density"));
  def_fields(
      m, "mostly_liquid_faces",
      []<class T, int D>(Field<T, D>& levelset, const std::array<py::array, D>& masks) {
        const auto out = writable_face_masks_of<D>(masks, "masks", levelset.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::mostly_liquid_faces<T, D>(levelset, d, out[d]);
        });
      },
      py::arg("levelset"), py::arg("masks"));
  def_fields(
      m, "air_around_liquid",
      []<class T, int D>(Field<T, D>& levelset, double distance, const std::vector<std::array<py::array, D>>& closed,
                         const py::array& air, const std::array<py::array, D>& given) {
        std::vector<std::array<const std::uint8_t*, D>> masks;
        for (const auto& faces : closed) masks.push_back(face_masks_of<D>(faces, "closed", levelset.extents()));
        auto* cells = mask_of(air, "air", product<D>(levelset.extents()), true);
        const auto out = writable_face_masks_of<D>(given, "given", levelset.extents());
        interruptible([&] { fluids::air_around_liquid<T, D>(levelset, distance, masks, cells, out); });
      },
      py::arg("levelset"), py::arg("distance"), py::arg("closed"), py::arg("air"), py::arg("given"));
  def_fields(
      m, "extend_from_liquid",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, const std::optional<std::array<py::array, D>>& closed,
                         double band, const std::array<py::array, D>& liquid, const std::array<py::array, D>& known,
                         Workspace& workspace) {
        std::array<const std::uint8_t*, D> masks{};
        if (closed) masks = face_masks_of<D>(*closed, "closed", levelset.extents());
        const auto from = writable_face_masks_of<D>(liquid, "liquid", levelset.extents());
        const auto out = writable_face_masks_of<D>(known, "known", levelset.extents());
        interruptible([&] { fluids::extend_from_liquid<T, D>(velocity, levelset, masks, band, from, out, workspace); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("closed"), py::arg("band"), py::arg("liquid"), py::arg("known"),
      py::arg("workspace"));
  def_fields(
      m, "liquid_motion",
      []<class T, int D>(const MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid,
                         const std::array<py::array, D>& liquid) {
        const auto faces = writable_face_masks_of<D>(liquid, "liquid", levelset.extents());
        const fluids::LiquidMotion i =
            interruptible([&] { return fluids::liquid_motion<T, D>(velocity, levelset, solid, faces); });
        return std::pair(i.energy, i.max_speed);
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"), py::arg("liquid"));
}

}  // namespace

void bind_liquid(py::module_& m) { bind_liquid_scalar(m); }

}  // namespace meniscus::bindings
