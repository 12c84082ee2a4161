// Motion of level sets.
#include "any_field.hpp"

#include "meniscus/surface/evolution/evolution.hpp"

namespace meniscus::bindings {

void bind_evolution(py::module_& m) {
  def_fields(
      m, "evolve",
      []<class T, int D>(Field<T, D>& phi, double duration, MacField<T, D>* velocity, const Field<T, D>* speeds, double speed,
                         double curvature, double cfl, double band, Workspace& workspace) {
        return interruptible([&] {
          if (velocity) velocity->fill_ghosts(0.0);
          return surface::evolve<T, D>(phi, duration, {velocity, speeds, speed, curvature}, {cfl, band}, workspace);
        });
      },
      py::arg("phi"), py::arg("duration"), py::arg("velocity").none(true), py::arg("speeds").none(true), py::arg("speed"),
      py::arg("curvature"), py::arg("cfl"), py::arg("band"), py::arg("workspace"));
}

}  // namespace meniscus::bindings
