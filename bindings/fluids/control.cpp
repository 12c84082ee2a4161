// Control of flows by particles and shapes.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/fluids/control/control_force.hpp"
#include "meniscus/fluids/control/control_points.hpp"
#include "meniscus/fluids/control/control_shape.hpp"

namespace meniscus::bindings {
namespace {

template <class T, int D>
fluids::ControlMedium<T, D> control_medium(Field<T, D>* levelset, Field<T, D>* density, double full_density,
                                           const Field<double, D>* solid) {
  require((levelset || density) && full_density > 0.0, "a level set, or a density of smoke, must be given");
  return {levelset, density, full_density, solid};
}

template <class T, int D>
std::array<const std::uint8_t*, D> controlled_faces(const std::optional<std::array<py::array, D>>& faces,
                                                    const MacField<T, D>& velocity) {
  std::array<const std::uint8_t*, D> masks{};
  if (faces) masks = face_masks_of<D>(*faces, "faces", velocity.grid().local_shape());
  return masks;
}

/// Sets the cells with `fill`, and lets them act.
template <class T, int D, class Fill>
std::vector<double> control(MacField<T, D>& velocity, const fluids::ControlMedium<T, D>& medium,
                            const std::array<const std::uint8_t*, D>& faces, const fluids::ControlForce& force, double dt,
                            Workspace& workspace, Fill&& fill) {
  const fluids::VectorSum gained = interruptible([&] {
    fluids::ControlCells<D> cells(velocity.grid(), workspace);
    fill(cells);
    return fluids::apply_control<T, D>(cells, medium, force, dt, faces, velocity, workspace);
  });
  return {gained.begin(), gained.begin() + D};
}

}  // namespace

void bind_control(py::module_& m) {
  py::class_<fluids::ControlForce>(m, "ControlForce")
      .def(py::init([](double rate, double detail, double max_acceleration) {
             return fluids::ControlForce{rate, detail, max_acceleration};
           }),
           py::arg("rate"), py::arg("detail"), py::arg("max_acceleration"));
  def_fields(
      m, "control_by_particles",
      []<class T, int D>(MacField<T, D>& velocity, const py::array& positions, const py::array& velocities,
                         const py::array& radii, const py::array& heights, double attraction, bool limited,
                         const fluids::ControlForce& force, double dt, Field<T, D>* levelset, Field<T, D>* density,
                         double full_density, Field<double, D>* solid, const std::optional<std::array<py::array, D>>& faces,
                         Workspace& workspace) {
        fluids::ControlPoints points;
        points.count = radii.size();
        points.radii = data_of<double>(radii, "radii", points.count);
        points.heights = data_of<double>(heights, "heights", points.count);
        points.positions = data_of<double>(positions, "positions", D * points.count);
        points.velocities = data_of<double>(velocities, "velocities", D * points.count);
        const auto medium = control_medium<T, D>(levelset, density, full_density, solid);
        return control<T, D>(velocity, medium, controlled_faces<T, D>(faces, velocity), force, dt, workspace, [&](auto& cells) {
          fluids::set_control_cells<T, D>(points, attraction, limited ? &medium : nullptr, cells, workspace);
        });
      },
      py::arg("velocity"), py::arg("positions"), py::arg("velocities"), py::arg("radii"), py::arg("heights"),
      py::arg("attraction"), py::arg("limited"), py::arg("force"), py::arg("dt"), py::arg("levelset"), py::arg("density"),
      py::arg("full_density"), py::arg("solid"), py::arg("faces"), py::arg("workspace"));
  def_fields(
      m, "control_by_shape",
      []<class T, int D>(MacField<T, D>& velocity, const Field<double, D>& distance, const MacField<T, D>& motion,
                         double attraction, double reach, const fluids::ControlForce& force, double dt, Field<T, D>* levelset,
                         Field<T, D>* density, double full_density, Field<double, D>* solid,
                         const std::optional<std::array<py::array, D>>& faces, Workspace& workspace) {
        const auto medium = control_medium<T, D>(levelset, density, full_density, solid);
        return control<T, D>(velocity, medium, controlled_faces<T, D>(faces, velocity), force, dt, workspace,
                             [&](auto& cells) { fluids::set_control_cells<T, D>(distance, motion, attraction, reach, cells); });
      },
      py::arg("velocity"), py::arg("distance"), py::arg("motion"), py::arg("attraction"), py::arg("reach"), py::arg("force"),
      py::arg("dt"), py::arg("levelset"), py::arg("density"), py::arg("full_density"), py::arg("solid"), py::arg("faces"),
      py::arg("workspace"));
}

}  // namespace meniscus::bindings
