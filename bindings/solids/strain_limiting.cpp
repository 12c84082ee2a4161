// Limits of strain.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/strain_limiting.hpp"

namespace meniscus::bindings {

void bind_strain_limiting(py::module_& m) {
  m.def(
      "limit_strain",
      [](const py::array& edges, const py::array& rest_lengths, const py::array& inverse_masses, const py::array& positions,
         const py::array& velocities, double dt, double limit, Index sweeps) {
        const auto e = elements_of<2>(edges, "edges");
        const auto lengths = values_of<double>(rest_lengths, "rest_lengths");
        const auto w = values_of<double>(inverse_masses, "inverse_masses");
        const auto x = positions_of(positions, "positions");
        const auto v = writable_nodes_of(velocities, "velocities", 0);
        const auto r = interruptible(
            [&] { return solids::StrainLimiter(e, lengths, w).limit(x, v, dt, {.limit = limit, .sweeps = sweeps}); });
        return py::make_tuple(r.sweeps, r.impulses, r.before, r.after);
      },
      py::arg("edges"), py::arg("rest_lengths"), py::arg("inverse_masses"), py::arg("positions"), py::arg("velocities"),
      py::arg("dt"), py::arg("limit"), py::arg("sweeps"));
}

}  // namespace meniscus::bindings
