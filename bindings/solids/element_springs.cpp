// Altitude springs, bending of shells, and soft bindings.
#include "solids/spring_arrays.hpp"

#include "meniscus/solids/springs/dihedral_bending.hpp"
#include "meniscus/solids/springs/soft_bindings.hpp"

namespace meniscus::bindings {
namespace {

template <std::size_t N>
py::array_t<double> doubles(Index rows) {
  return py::array_t<double>({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(N)});
}

void bind_altitude_springs(py::module_& m) {
  using Springs = solids::AltitudeSprings;
  py::class_<Springs, solids::Force, std::shared_ptr<Springs>>(m, "AltitudeSprings")
      .def(py::init([](const py::array& tets, const py::array& rest, const SpringArrays& options, double only_beyond,
                       double collapsed_edge, double line_sine, double flat) {
             const auto t = elements_of<4>(tets, "tets");
             const Springs::Parameters p{t, only_beyond, collapsed_edge, line_sine, flat};
             return std::make_shared<Springs>(p, options.options(), positions_of(rest, "rest_positions"));
           }),
           py::arg("tets"), py::arg("rest"), py::arg("options"), py::arg("only_beyond"), py::arg("collapsed_edge"),
           py::arg("line_sine"), py::arg("flat"))
      .def_property_readonly("tets",
                             [](const Springs& s) {
                               auto a = py::array_t<std::int32_t>({static_cast<py::ssize_t>(s.size()), py::ssize_t{4}});
                               std::copy_n(s.tets().data()->data(), 4 * s.tets().size(), a.mutable_data());
                               return a;
                             })
      .def_property_readonly("rest_lengths",
                             [](const Springs& s) {
                               auto a = doubles<Springs::candidates>(s.size());
                               for (Index t = 0; t < s.size(); ++t)
                                 std::copy_n(s.rest_lengths(t).data(), Springs::candidates,
                                             a.mutable_data() + t * static_cast<Index>(Springs::candidates));
                               return a;
                             })
      .def(
          "selection",
          [](const Springs& s, const py::array& x) {
            const auto at = nodes_of(x, "x", s.nodes());
            py::array_t<std::int32_t> candidate(static_cast<py::ssize_t>(s.size()));
            auto weights = doubles<4>(s.size());
            py::array_t<double> length(static_cast<py::ssize_t>(s.size()));
            auto direction = doubles<3>(s.size());
            std::int32_t* const c = candidate.mutable_data();
            double* const w = weights.mutable_data();
            double* const l = length.mutable_data();
            double* const d = direction.mutable_data();
            interruptible([&] {
              mesh::require_finite(at, "x");
              std::vector<Springs::Choice> choices(static_cast<std::size_t>(s.size()));
              s.choices(at, choices);
              for (std::size_t t = 0; t < choices.size(); ++t) {
                c[t] = choices[t].candidate;
                std::copy_n(choices[t].weight.data(), 4, w + 4 * t);
                l[t] = choices[t].length;
                std::copy_n(choices[t].direction.data(), 3, d + 3 * t);
              }
            });
            return py::make_tuple(candidate, weights, length, direction);
          },
          py::arg("x"));
}

void bind_dihedral_bending(py::module_& m) {
  py::native_enum<solids::BendingLaw>(m, "BendingLaw", "enum.Enum")
      .value("shell", solids::BendingLaw::shell)
      .value("sine", solids::BendingLaw::sine)
      .value("bridson", solids::BendingLaw::bridson)
      .finalize();
  using Bending = solids::DihedralBending;
  py::class_<Bending, solids::Force, std::shared_ptr<Bending>>(m, "DihedralBending")
      .def(py::init([](const py::array& hinges, const py::array& rest, const SpringArrays& options, const py::array& rest_angles,
                       solids::BendingLaw law, double collapsed) {
             const auto h = elements_of<4>(hinges, "hinges");
             const Bending::Parameters p{h, values_of<double>(rest_angles, "rest_angles"), law, collapsed};
             return std::make_shared<Bending>(p, options.options(), positions_of(rest, "rest_positions"));
           }),
           py::arg("hinges"), py::arg("rest"), py::arg("options"), py::arg("rest_angles"), py::arg("law"), py::arg("collapsed"))
      .def(
          "angles",
          [](const Bending& self, const py::array& x) {
            const auto at = nodes_of(x, "x", self.nodes());
            py::array_t<double> result(static_cast<py::ssize_t>(self.size()));
            const std::span<double> out(result.mutable_data(), static_cast<std::size_t>(self.size()));
            interruptible([&] {
              mesh::require_finite(at, "x");
              self.angles(at, out);
            });
            return result;
          },
          py::arg("x"));
  m.def(
      "hinge_angles",
      [](const py::array& hinges, const py::array& x) {
        const auto h = elements_of<4>(hinges, "hinges");
        const auto at = positions_of(x, "x");
        py::array_t<double> result(static_cast<py::ssize_t>(h.size()));
        Bending::angles(h, at, {result.mutable_data(), h.size()});
        return result;
      },
      py::arg("hinges"), py::arg("x"));
}

void bind_soft_bindings(py::module_& m) {
  py::class_<solids::SoftBindings, solids::Force, std::shared_ptr<solids::SoftBindings>>(m, "SoftBindings")
      .def(py::init([](const py::array& first, const py::array& first_weights, const py::array& second,
                       const py::array& second_weights, const SpringArrays& options, const py::array& targets) {
             require(first.ndim() == 2 && second.ndim() == 2, "parents must have shape (m, k)");
             const auto parents = indices_of(first, "parents"), others = indices_of(second, "parents");
             const auto end = [](const Indices<std::int32_t>& nodes, const py::array& weights, const py::array& rows) {
               return solids::SoftBindings::End{nodes, values_of<double>(weights, "weights"),
                                                static_cast<std::size_t>(rows.shape(1))};
             };
             return std::make_shared<solids::SoftBindings>(end(parents, first_weights, first),
                                                           end(others, second_weights, second), options.options(),
                                                           positions_of(targets, "targets"));
           }),
           py::arg("first"), py::arg("first_weights"), py::arg("second"), py::arg("second_weights"), py::arg("options"),
           py::arg("targets"))
      .def_property_readonly("damping", [](const solids::SoftBindings& s) { return copy_of(s.damping()); })
      .def_property_readonly("targets", [](const solids::SoftBindings& s) { return copy_of(s.targets()); })
      .def_property_readonly("target_velocities", [](const solids::SoftBindings& s) { return copy_of(s.target_velocities()); })
      .def(
          "set_targets",
          [](solids::SoftBindings& s, const py::array& positions, const py::array& velocities) {
            s.set_targets(positions_of(positions, "positions"), positions_of(velocities, "velocities"));
          },
          py::arg("positions"), py::arg("velocities"))
      .def(
          "gaps",
          [](const solids::SoftBindings& s, const py::array& x) {
            const auto at = nodes_of(x, "x", s.nodes());
            auto result = doubles<3>(s.size());
            const std::span<mesh::Point> out{reinterpret_cast<mesh::Point*>(result.mutable_data()),
                                             static_cast<std::size_t>(s.size())};
            interruptible([&] {
              mesh::require_finite(at, "x");
              s.gaps(at, out);
            });
            return result;
          },
          py::arg("x"));
}

}  // namespace

void bind_element_springs(py::module_& m) {
  bind_altitude_springs(m);
  bind_dihedral_bending(m);
  bind_soft_bindings(m);
}

}  // namespace meniscus::bindings
