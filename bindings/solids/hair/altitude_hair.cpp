// Strips of altitude-spring hair.
#include "solids/body_arrays.hpp"
#include "solids/force_arrays.hpp"
#include "solids/hair/strand_arrays.hpp"

#include "meniscus/solids/hair/shapes/strip_shape.hpp"
#include "meniscus/solids/hair/strips/strip_force.hpp"

namespace meniscus::bindings {
namespace {

using namespace solids::hair;
using strips::SpringConstants;
using strips::StripForce;
using strips::StripShape;
using strips::StripStrands;

std::vector<strips::StrandStiffness> stiffness_of(const py::array& stiffness) {
  std::vector<strips::StrandStiffness> each;
  for (const mesh::Point& s : positions_of(stiffness, "stiffness")) each.push_back({s[0], s[1], s[2]});
  return each;
}

std::shared_ptr<StripStrands> strips_of(const py::array& offsets, const py::array& rest, const py::array& constants,
                                        double beyond) {
  const auto o = values_of<std::int64_t>(offsets, "offsets");
  const auto x = positions_of(rest, "rest");
  const Index n = static_cast<Index>(x.size());
  return std::make_shared<StripStrands>(o, x, rows_of<const SpringConstants>(constants, "constants", n), beyond);
}

template <class T, class U>
py::array_t<T> array_of(const std::vector<U>& values, std::vector<py::ssize_t> shape) {
  return py::array_t<T>(std::move(shape), reinterpret_cast<const T*>(values.data()));
}

}  // namespace

void bind_altitude_hair(py::module_& m) {
  py::class_<StripShape>(m, "StripShape")
      .def(py::init([](const py::array& offsets, const py::array& points, const py::array& directions, const py::array& directors,
                       bool framed, bool always) {
             return strips::shape_strips(values_of<std::int64_t>(offsets, "offsets"), positions_of(points, "points"),
                                         positions_of(directions, "directions"), positions_of(directors, "directors"), framed,
                                         always ? strips::Extra::always : strips::Extra::colinear);
           }),
           py::arg("offsets"), py::arg("points"), py::arg("directions"), py::arg("directors"), py::arg("framed"),
           py::arg("always"))
      .def_property_readonly("offsets",
                             [](const StripShape& s) { return array_of<std::int64_t>(s.offsets, {std::ssize(s.offsets)}); })
      .def_property_readonly("particles",
                             [](const StripShape& s) { return array_of<double>(s.particles, {std::ssize(s.particles), 3}); })
      .def_property_readonly("kinds", [](const StripShape& s) { return array_of<std::uint8_t>(s.kinds, {std::ssize(s.kinds)}); })
      .def_property_readonly("nodes", [](const StripShape& s) { return array_of<std::int32_t>(s.nodes, {std::ssize(s.nodes)}); })
      .def_property_readonly("lengths", [](const StripShape& s) { return array_of<double>(s.lengths, {std::ssize(s.lengths)}); })
      .def_property_readonly("edges",
                             [](const StripShape& s) { return array_of<std::uint8_t>(s.edges, {std::ssize(s.edges), 2}); })
      .def_property_readonly("parents",
                             [](const StripShape& s) { return array_of<std::int32_t>(s.parents, {std::ssize(s.parents)}); })
      .def(
          "fit",
          [](const StripShape& s, const py::array& stiffness, const py::array& misfit) {
            const auto k = stiffness_of(stiffness);
            const auto out = writable_values(misfit, "misfit", std::ssize(k));
            const auto constants = interruptible([&] { return strips::fit_constants(s, k, out); });
            return array_of<double>(constants, {std::ssize(constants), 4});
          },
          py::arg("stiffness"), py::arg("misfit"));
  py::class_<StripStrands, std::shared_ptr<StripStrands>>(m, "StripStrands")
      .def_property_readonly("strands", &StripStrands::strands)
      .def_property_readonly("size", &StripStrands::size)
      .def_property_readonly("nbytes", &StripStrands::nbytes)
      .def("step", &step_strands<StripStrands>, py::arg("dt"), py::arg("gravity"), py::arg("drag"), py::arg("midpoint"),
           py::arg("max_newton"), py::arg("tolerance"), py::arg("arrays"))
      .def("equilibrium", &settle_strands<StripStrands>, py::arg("gravity"), py::arg("x"), py::arg("masses"), py::arg("held"),
           py::arg("iterations"), py::arg("tolerance"))
      .def("energies", &strand_energies<StripStrands>, py::arg("x"), py::arg("out"))
      .def("stable", &stable_strands<StripStrands>, py::arg("x"), py::arg("held"), py::arg("out"))
      .def(
          "newmark",
          [](StripStrands& s, double dt, const std::array<double, 3>& gravity, double drag, const py::array& parents,
             const py::array& longest, const std::array<py::array, 5>& arrays) {
            const StepArrays a(arrays, s.size());
            const StripStrands::Limits limits{values_of<std::int32_t>(parents, "parents"), values_of<double>(longest, "longest")};
            const StrandStep options{dt, {gravity[0], gravity[1], gravity[2]}, drag, false, 1, 0};
            interruptible([&] { s.newmark(options, limits, a.x, a.v, a.masses, a.held, a.targets); });
          },
          py::arg("dt"), py::arg("gravity"), py::arg("drag"), py::arg("parents"), py::arg("longest"), py::arg("arrays"))
      .def(
          "rest_at",
          [](StripStrands& s, const py::array& x, const py::array& masses, const std::array<double, 3>& gravity,
             const py::array& chosen, const py::array& lengths) {
            const auto at = points_of(x, "x", s.size());
            const auto mass = values_of<double>(masses, "masses");
            const auto which = flags_of(chosen, "chosen", s.strands());
            const auto l = writable_values(lengths, "lengths", s.strands());
            interruptible([&] { s.rest_at(at, mass, {gravity[0], gravity[1], gravity[2]}, which, l); });
          },
          py::arg("x"), py::arg("masses"), py::arg("gravity"), py::arg("chosen"), py::arg("lengths"))
      .def(
          "stiffen",
          [](StripStrands& s, const py::array& factors, const py::array& edges) {
            s.stiffen(writable_values(factors, "factors", s.strands()),
                      rows_of<const std::array<std::uint8_t, 2>>(edges, "edges", s.size()));
          },
          py::arg("factors"), py::arg("edges"))
      .def(
          "constants",
          [](const StripStrands& s, const py::array& out) { s.constants(rows_of<SpringConstants>(out, "out", s.size(), true)); },
          py::arg("out"))
      .def(
          "rest_lengths",
          [](const StripStrands& s, const py::array& out) {
            s.rest_lengths(rows_of<std::array<double, 3>>(out, "out", s.size(), true));
          },
          py::arg("out"))
      .def(
          "set_rest_lengths",
          [](StripStrands& s, const py::array& lengths) {
            s.set_rest_lengths(rows_of<const std::array<double, 3>>(lengths, "lengths", s.size()));
          },
          py::arg("lengths"));
  py::class_<StripForce, solids::Force, std::shared_ptr<StripForce>>(m, "StripForce")
      .def(py::init([](const py::array& offsets, const py::array& rest, const py::array& constants, double beyond) {
             return std::make_shared<StripForce>(strips_of(offsets, rest, constants, beyond));
           }),
           py::arg("offsets"), py::arg("rest"), py::arg("constants"), py::arg("beyond"))
      .def_property_readonly("strands", &StripForce::strands);
}

}  // namespace meniscus::bindings
