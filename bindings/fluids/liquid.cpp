// Masks of faces and cells around the surface of a liquid, the air in narrow gaps and in pockets, and the energy of a liquid.
#include "masks.hpp"

#include "meniscus/fluids/liquid/air_gaps.hpp"
#include "meniscus/fluids/liquid/air_pockets.hpp"
#include "meniscus/fluids/liquid/liquid_components.hpp"
#include "meniscus/fluids/liquid/near_surface.hpp"
#include "meniscus/fluids/liquid/two_fluids.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
void bind_liquid_scalar(py::module_& m) {
  using F = grid::Field<T, D>;
  using M = grid::MacField<T, D>;
  m.def(
      "liquid_faces",
      [](F& liquid, const std::array<py::array, D>& masks) {
        const auto out = writable_face_masks_of<D>(masks, "masks", liquid.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::liquid_faces<T, D>(liquid, d, out[d]);
        });
      },
      py::arg("liquid"), py::arg("masks"));
  m.def(
      "near_surface_faces",
      [](F& levelset, double distance, const std::array<py::array, D>& near) {
        const auto out = writable_face_masks_of<D>(near, "near", levelset.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::near_surface_faces<T, D>(levelset, d, distance, out[d]);
        });
      },
      py::arg("levelset"), py::arg("distance"), py::arg("near"));
  m.def(
      "near_air_cells",
      [](const F& levelset, double distance, const py::array& air) {
        auto* out = mask_of(air, "air", product<D>(levelset.extents()), true);
        interruptible([&] { fluids::near_air_cells<T, D>(levelset, distance, out); });
      },
      py::arg("levelset"), py::arg("distance"), py::arg("air"));
  m.def(
      "limit_air_speed",
      [](M& velocity, F& levelset, const py::array& air, const std::array<py::array, D>& given, double factor, F& bounds) {
        const auto* cells = mask_of(air, "air", product<D>(levelset.extents()));
        const auto masks = face_masks_of<D>(given, "given", levelset.extents());
        interruptible([&] { fluids::limit_air_speed<T, D>(velocity, levelset, cells, masks, factor, bounds); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("air"), py::arg("given"), py::arg("factor"), py::arg("bounds"));
  m.def(
      "mark_gaps_at_walls",
      [](const M& velocity, F& levelset, double distance, const std::optional<std::array<py::array, D>>& closed, F& region) {
        std::array<const std::uint8_t*, D> masks{};
        if (closed) masks = face_masks_of<D>(*closed, "closed", levelset.extents());
        interruptible([&] { fluids::mark_gaps_at_walls<T, D>(velocity, levelset, distance, masks, region); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("distance"), py::arg("closed"), py::arg("region"));
  m.def(
      "find_air_pockets",
      [](const F& levelset, const std::optional<py::array>& outside, const std::array<bool, 2 * D>& open_sides, F& scratch,
         const py::array& pockets, Workspace& workspace) {
        const Index cells = product<D>(levelset.extents());
        const auto* mask = mask_of(outside, "outside", cells);
        auto* out = mask_of(pockets, "pockets", cells, true);
        return interruptible([&] { return fluids::find_air_pockets(levelset, mask, open_sides, scratch, out, workspace); });
      },
      py::arg("levelset"), py::arg("outside"), py::arg("open_sides"), py::arg("scratch"), py::arg("pockets"),
      py::arg("workspace"));
  m.def(
      "unite_velocities",
      [](M& velocity, const M& air, F& levelset, double air_density) {
        interruptible([&] { fluids::unite_velocities(velocity, air, levelset, air_density); });
      },
      py::arg("velocity"), py::arg("air"), py::arg("levelset"), py::arg("air_density"));
  m.def(
      "mostly_liquid_faces",
      [](F& levelset, const std::array<py::array, D>& masks) {
        const auto out = writable_face_masks_of<D>(masks, "masks", levelset.extents());
        interruptible([&] {
          for (int d = 0; d < D; ++d) fluids::mostly_liquid_faces<T, D>(levelset, d, out[d]);
        });
      },
      py::arg("levelset"), py::arg("masks"));
  m.def(
      "liquid_energy",
      [](const M& velocity, F& levelset, const std::optional<py::array>& outside) {
        const auto* mask = mask_of(outside, "outside", product<D>(levelset.extents()));
        return interruptible([&] { return fluids::liquid_energy(velocity, levelset, mask); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("outside"));
}

}  // namespace

void bind_liquid(py::module_& m) {
  bind_liquid_scalar<double, 2>(m);
  bind_liquid_scalar<float, 3>(m);
  bind_liquid_scalar<double, 3>(m);
}

}  // namespace meniscus::bindings
