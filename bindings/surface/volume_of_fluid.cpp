// Volume fractions: geometric transport, volumes, distances.
#include "any_field.hpp"

#include "meniscus/surface/volume_of_fluid/fraction_distance.hpp"
#include "meniscus/surface/volume_of_fluid/fraction_transport.hpp"
#include "meniscus/surface/volume_of_fluid/solid_volume.hpp"

namespace meniscus::bindings {

namespace {

template <int D>
double volume_of_nodes(const py::array& nodes, double level) {
  Coord<D> extents;
  for (int d = 0; d < D; ++d) {
    extents[d] = nodes.shape(d);
    require(extents[d] > 1, "nodes must be at least two along each axis");
  }
  const double* const values = data_of<double>(nodes, "nodes", product<D>(extents));
  return interruptible([&] { return surface::solid_volume<D>(values, extents, level); });
}

}  // namespace

void bind_volume_of_fluid(py::module_& m) {
  m.def(
      "solid_volume",
      [](const py::array& nodes, double level) {
        require(nodes.ndim() == 2 || nodes.ndim() == 3, "nodes must have two or three axes");
        return nodes.ndim() == 2 ? volume_of_nodes<2>(nodes, level) : volume_of_nodes<3>(nodes, level);
      },
      py::arg("nodes"), py::arg("level"));
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
