// Strands of hair.
#include "solids/body_arrays.hpp"
#include "solids/force_arrays.hpp"
#include "solids/hair/strand_arrays.hpp"

#include "meniscus/solids/hair/rod_force.hpp"

namespace meniscus::bindings {
namespace {

using solids::hair::RodStrands;
using solids::hair::StrandEnd;

std::vector<StrandEnd> ends_of(const py::array& clamped, const char* name) {
  const auto values = values_of<bool>(clamped, name);
  std::vector<StrandEnd> ends;
  for (const bool c : values) ends.push_back(c ? StrandEnd::clamped : StrandEnd::loose);
  return ends;
}

std::shared_ptr<RodStrands> strands_of(const py::array& offsets, const py::array& rest, const py::array& stiffness,
                                       const py::array& roots, const py::array& tips, bool curved) {
  std::vector<solids::hair::RodStiffness> each;
  for (const mesh::Point& s : positions_of(stiffness, "stiffness")) each.push_back({s[0], s[1], s[2]});
  const auto o = values_of<std::int64_t>(offsets, "offsets");
  return std::make_shared<RodStrands>(o, positions_of(rest, "rest"), each, ends_of(roots, "roots"), ends_of(tips, "tips"),
                                      curved);
}

}  // namespace

void bind_hair(py::module_& m) {
  py::class_<RodStrands, std::shared_ptr<RodStrands>>(m, "RodStrands")
      .def(py::init(&strands_of), py::arg("offsets"), py::arg("rest"), py::arg("stiffness"), py::arg("roots"), py::arg("tips"),
           py::arg("curved"))
      .def("__copy__", [](const RodStrands& s) { return std::make_shared<RodStrands>(s); })
      .def_property_readonly("strands", &RodStrands::strands)
      .def_property_readonly("size", &RodStrands::size)
      .def_property_readonly("nbytes", &RodStrands::nbytes)
      .def_property_readonly("memory",
                             [](const py::object& self) {
                               const std::span<double> memory = self.cast<RodStrands&>().memory();
                               return py::array_t<double>(static_cast<py::ssize_t>(memory.size()), memory.data(), self);
                             })
      .def(
          "set_clamps",
          [](RodStrands& s, bool tips, const py::array& directions, const py::array& directors) {
            const auto t = points_of(directions, "directions", s.strands()), d = points_of(directors, "directors", s.strands());
            interruptible([&] { s.set_clamps(tips, t, d); });
          },
          py::arg("tips"), py::arg("directions"), py::arg("directors"))
      .def("step", &step_strands<RodStrands>, py::arg("dt"), py::arg("gravity"), py::arg("drag"), py::arg("midpoint"),
           py::arg("max_newton"), py::arg("tolerance"), py::arg("arrays"))
      .def("equilibrium", &settle_strands<RodStrands>, py::arg("gravity"), py::arg("x"), py::arg("masses"), py::arg("held"),
           py::arg("iterations"), py::arg("tolerance"))
      .def("energies", &strand_energies<RodStrands>, py::arg("x"), py::arg("out"))
      .def(
          "forces",
          [](const RodStrands& s, const py::array& x, const py::array& forces, const py::array& moments) {
            const auto at = points_of(x, "x", s.size());
            const auto f = writable_points(forces, "forces", s.size());
            const auto m_out = writable_values(moments, "moments", s.size());
            interruptible([&] { s.forces(at, f, m_out); });
          },
          py::arg("x"), py::arg("forces"), py::arg("moments"))
      .def("stable", &stable_strands<RodStrands>, py::arg("x"), py::arg("held"), py::arg("out"))
      .def(
          "frames",
          [](const RodStrands& s, const py::array& directors, const py::array& twists) {
            s.frames(writable_points(directors, "directors", s.size()), writable_values(twists, "twists", s.size()));
          },
          py::arg("directors"), py::arg("twists"))
      .def(
          "carry",
          [](RodStrands& s, const py::array& x) {
            const auto at = points_of(x, "x", s.size());
            interruptible([&] { s.carry(at); });
          },
          py::arg("x"))
      .def(
          "untwist",
          [](RodStrands& s, const py::array& x) {
            const auto at = points_of(x, "x", s.size());
            interruptible([&] { s.untwist(at); });
          },
          py::arg("x"))
      .def(
          "natural",
          [](const RodStrands& s, const py::array& first, const py::array& second, const py::array& twist) {
            const Index n = s.size();
            s.natural(writable_values(first, "first", n), writable_values(second, "second", n),
                      writable_values(twist, "twist", n));
          },
          py::arg("first"), py::arg("second"), py::arg("twist"))
      .def(
          "set_natural",
          [](RodStrands& s, const py::array& first, const py::array& second, const py::array& twist) {
            const Index n = s.size();
            s.set_natural(writable_values(first, "first", n), writable_values(second, "second", n),
                          writable_values(twist, "twist", n));
          },
          py::arg("first"), py::arg("second"), py::arg("twist"))
      .def(
          "stiffen", [](RodStrands& s, const py::array& factors) { s.stiffen(writable_values(factors, "factors", s.strands())); },
          py::arg("factors"))
      .def(
          "rest_at",
          [](RodStrands& s, const py::array& x, const py::array& masses, const std::array<double, 3>& gravity,
             const py::array& chosen, const py::array& turns, const py::array& lengths) {
            const auto at = points_of(x, "x", s.size());
            const auto mass = values_of<double>(masses, "masses");
            const auto which = flags_of(chosen, "chosen", s.strands());
            const auto t = writable_values(turns, "turns", s.strands()), l = writable_values(lengths, "lengths", s.strands());
            interruptible([&] { s.rest_at(at, mass, {gravity[0], gravity[1], gravity[2]}, which, t, l); });
          },
          py::arg("x"), py::arg("masses"), py::arg("gravity"), py::arg("chosen"), py::arg("turns"), py::arg("lengths"))
      .def(
          "rest_lengths",
          [](const RodStrands& s, const py::array& out) { s.rest_lengths(writable_values(out, "out", s.size())); },
          py::arg("out"))
      .def(
          "set_rest_lengths",
          [](RodStrands& s, const py::array& lengths) { s.set_rest_lengths(writable_values(lengths, "lengths", s.size())); },
          py::arg("lengths"));
  using solids::hair::RodForce;
  py::class_<RodForce, solids::Force, std::shared_ptr<RodForce>>(m, "RodForce")
      .def(py::init([](const py::array& offsets, const py::array& rest, const py::array& stiffness, const py::array& roots,
                       const py::array& tips, bool curved) {
             return std::make_shared<RodForce>(strands_of(offsets, rest, stiffness, roots, tips, curved));
           }),
           py::arg("offsets"), py::arg("rest"), py::arg("stiffness"), py::arg("roots"), py::arg("tips"), py::arg("curved"))
      .def_property_readonly("strands", &RodForce::strands);
  bind_altitude_hair(m);
}

}  // namespace meniscus::bindings
