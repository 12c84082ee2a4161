// Volume fractions: geometric transport, volumes, distances.
#include "any_field.hpp"

#include "meniscus/surface/volume_of_fluid/fraction_distance.hpp"
#include "meniscus/surface/volume_of_fluid/fraction_transport.hpp"

namespace meniscus::bindings {

void bind_volume_of_fluid(py::module_& m) {
  def_fields(
      m, "advect_fractions",
      []<class T, int D>(Field<double, D>& fractions, MacField<T, D>& velocity, double dt, int first_axis,
                         const Field<double, D>* solid, Workspace& workspace) {
        const surface::FractionTransport t = interruptible([&] {
          velocity.fill_ghosts(0.0);
          return surface::advect_fractions(fractions, velocity, dt, first_axis,
                                           surface::OpenSpace<D>(fractions.grid(), solid, workspace), workspace);
        });
        return py::make_tuple(t.substeps, t.outflow, t.overfull);
      },
      py::arg("fractions"), py::arg("velocity"), py::arg("dt"), py::arg("first_axis"), py::arg("solid"), py::arg("workspace"));
  def_dimensions(
      m, "fraction_volume",
      []<int D>(const Field<double, D>& fractions, const Field<double, D>* solid, Workspace& workspace) {
        return interruptible(
            [&] { return surface::fraction_volume(fractions, surface::OpenSpace<D>(fractions.grid(), solid, workspace)); });
      },
      py::arg("fractions"), py::arg("solid"), py::arg("workspace"));
  def_fields(
      m, "fractions_below",
      []<class T, int D>(Field<T, D>& phi, const Field<double, D>* solid, Field<double, D>& out, Workspace& workspace) {
        interruptible([&] {
          phi.fill_ghosts(0.0);
          surface::fractions_below(phi, surface::OpenSpace<D>(phi.grid(), solid, workspace), out);
        });
      },
      py::arg("phi"), py::arg("solid"), py::arg("out"), py::arg("workspace"));
  def_dimensions(
      m, "fraction_distance",
      []<int D>(Field<double, D>& fractions, const Field<double, D>* solid, double far, Field<double, D>& out,
                Workspace& workspace) {
        interruptible([&] {
          fractions.fill_ghosts(0.0);
          surface::fraction_distance(fractions, surface::OpenSpace<D>(fractions.grid(), solid, workspace), far, out);
        });
      },
      py::arg("fractions"), py::arg("solid"), py::arg("far"), py::arg("out"), py::arg("workspace"));
}

}  // namespace meniscus::bindings
