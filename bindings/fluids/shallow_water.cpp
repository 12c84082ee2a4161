// Shallow water.
#include "bridge.hpp"

#include "meniscus/fluids/shallow/shallow_water.hpp"

namespace meniscus::bindings {
namespace {

using fluids::ShallowArray;
using fluids::ShallowScheme;
using fluids::ShallowSideKind;

/// The samples of an array without its ghosts.
template <class U>
py::array samples(Block<U>& block, const fluids::ShallowLayout& at, int faces) {
  const std::array<Index, 2> extents{at.nx + (faces == 0 ? 1 : 0), at.ny + (faces == 1 ? 1 : 0)}, strides{at.stride, 1};
  return view(block.data() + at.at(0, 0), extents, strides, block.memory());
}

template <class T>
void bind_water(py::module_& m, const char* name) {
  using Water = fluids::ShallowWater<T>;
  py::class_<Water>(m, name)
      .def(py::init([](std::array<Index, 2> cells, double spacing, std::array<double, 2> origin,
                       const std::array<double, 4>& numbers, const std::array<ShallowSideKind, 4>& sides, ShallowScheme scheme) {
             fluids::ShallowModel<T> model;
             model.layout = {cells[0], cells[1]};
             model.spacing = spacing;
             model.origin = origin;
             model.gravity = numbers[0];
             model.dry = numbers[1];
             model.cfl = numbers[2];
             model.density = numbers[3];
             for (int s = 0; s < 4; ++s) model.sides[s].kind = sides[s];
             return std::make_unique<Water>(model, scheme);
           }),
           py::arg("cells"), py::arg("spacing"), py::arg("origin"), py::arg("gravity_dry_cfl_density"), py::arg("sides"),
           py::arg("scheme"))
      .def(
          "array", [](Water& w, ShallowArray which) { return samples(w.array(which), w.model().layout, w.faces_of(which)); },
          py::arg("which"))
      .def("drop", &Water::drop, py::arg("which"))
      .def(
          "walls", [](Water& w, int axis) { return samples(w.walls(axis), w.model().layout, axis); }, py::arg("axis"))
      .def(
          "set_side",
          [](Water& w, int side, std::vector<double> level, std::vector<double> discharge, std::vector<double> along) {
            auto& to = w.model().sides.at(side);
            to.level = std::move(level);
            to.discharge = std::move(discharge);
            to.along = std::move(along);
          },
          py::arg("side"), py::arg("level"), py::arg("discharge"), py::arg("along"))
      .def(
          "advance", [](Water& w, double dt) { return interruptible([&] { return w.advance(dt); }); }, py::arg("dt"))
      .def("longest_substep", [](Water& w) { return interruptible([&] { return w.longest_substep(); }); })
      .def(
          "fill_ratio",
          [](Water& w, double flat, double film, const py::array& ratio) {
            double* to = data_of<double>(ratio, "ratio", w.model().cells(), true);
            interruptible([&] { w.fill_ratio(flat, film, to); });
          },
          py::arg("flat"), py::arg("film"), py::arg("ratio"))
      .def(
          "height_over_water",
          [](Water& w, const py::array& height) {
            double* to = data_of<double>(height, "height", w.model().cells(), true);
            interruptible([&] { w.height_over_water(to); });
          },
          py::arg("height"))
      .def_property_readonly("nbytes", &Water::bytes);
}

}  // namespace

void bind_shallow_water(py::module_& m) {
  py::native_enum<ShallowScheme>(m, "ShallowScheme", "enum.Enum")
      .value("flux", ShallowScheme::flux)
      .value("staggered", ShallowScheme::staggered)
      .value("printed", ShallowScheme::printed)
      .finalize();
  py::native_enum<ShallowSideKind>(m, "ShallowSideKind", "enum.Enum")
      .value("wall", ShallowSideKind::wall)
      .value("joined", ShallowSideKind::joined)
      .value("open", ShallowSideKind::open)
      .value("inflow", ShallowSideKind::inflow)
      .value("outflow", ShallowSideKind::outflow)
      .finalize();
  py::native_enum<ShallowArray>(m, "ShallowArray", "enum.Enum")
      .value("depth", ShallowArray::depth)
      .value("u", ShallowArray::u)
      .value("v", ShallowArray::v)
      .value("ground", ShallowArray::ground)
      .value("pressure", ShallowArray::pressure)
      .value("gravity_of", ShallowArray::gravity_of)
      .value("manning", ShallowArray::manning)
      .value("push_u", ShallowArray::push_u)
      .value("push_v", ShallowArray::push_v)
      .value("stress_u", ShallowArray::stress_u)
      .value("stress_v", ShallowArray::stress_v)
      .value("damping_u", ShallowArray::damping_u)
      .value("damping_v", ShallowArray::damping_v)
      .value("level", ShallowArray::level)
      .finalize();
  py::class_<fluids::ShallowSums>(m, "ShallowSums")
      .def_readonly("before", &fluids::ShallowSums::before)
      .def_readonly("volume", &fluids::ShallowSums::volume)
      .def_readonly("kinetic", &fluids::ShallowSums::kinetic)
      .def_readonly("speed", &fluids::ShallowSums::speed)
      .def_readonly("left", &fluids::ShallowSums::left)
      .def_readonly("damped", &fluids::ShallowSums::damped)
      .def_readonly("substeps", &fluids::ShallowSums::substeps);
  bind_water<float>(m, "ShallowWater32");
  bind_water<double>(m, "ShallowWater64");
}

}  // namespace meniscus::bindings
