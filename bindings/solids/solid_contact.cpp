// Contact of nodes with solids whose motion is given.
#include "solids/body_arrays.hpp"

#include "meniscus/solids/contact/solid_contact.hpp"

namespace meniscus::bindings {
namespace {

/// Contacts from their nodes, normals, velocities and coefficients of friction.
std::vector<solids::SolidContact> solid_contacts(const py::array& nodes, const py::array& normals, const py::array& velocities,
                                                 const py::array& friction) {
  const auto numbers = indices_of(nodes, "nodes");
  const std::span<const std::int32_t> where(numbers);
  const auto n = static_cast<Index>(where.size());
  const auto normal = points_of(normals, "normals", n), velocity = points_of(velocities, "velocities", n);
  const double* mu = data_of<double>(friction, "friction", n);
  std::vector<solids::SolidContact> contacts(where.size());
  for (std::size_t k = 0; k < where.size(); ++k) contacts[k] = {where[k], normal[k], velocity[k], mu[k]};
  return contacts;
}

std::span<const double> numbers_of(const py::array& a, const char* name, Index n = -1) {
  const double* first = data_of<double>(a, name, n);
  return {first, static_cast<std::size_t>(a.size())};
}

}  // namespace

void bind_solid_contact(py::module_& m) {
  m.def(
      "apply_contacts",
      [](const py::array& nodes, const py::array& normals, const py::array& velocities, const py::array& friction,
         const py::array& v) {
        const auto contacts = solid_contacts(nodes, normals, velocities, friction);
        const auto out = writable_points(v, "out", v.ndim() == 2 ? v.shape(0) : 0);
        interruptible([&] { solids::apply_contacts(contacts, out); });
      },
      py::arg("nodes"), py::arg("normals"), py::arg("velocities"), py::arg("friction"), py::arg("out"));
  m.def(
      "press_only",
      [](const py::array& nodes, const py::array& normals, const py::array& velocities, const py::array& friction,
         const py::array& solved, const py::array& loose) {
        const auto contacts = solid_contacts(nodes, normals, velocities, friction);
        const auto from = positions_of(solved, "solved");
        const auto out = writable_points(loose, "out", static_cast<Index>(from.size()));
        interruptible([&] { solids::press_only(contacts, from, out); });
      },
      py::arg("nodes"), py::arg("normals"), py::arg("velocities"), py::arg("friction"), py::arg("solved"), py::arg("out"));
  m.def(
      "meeting_times",
      [](const py::array& before, const py::array& after) {
        const auto b = numbers_of(before, "before"), a = numbers_of(after, "after");
        py::array_t<double> theta(static_cast<py::ssize_t>(a.size()));
        solids::meeting_times(b, a, {theta.mutable_data(), a.size()});
        return theta;
      },
      py::arg("before"), py::arg("after"));
  m.def(
      "turn_at_contacts",
      [](const py::array& nodes, const py::array& normals, const py::array& velocities, const py::array& friction,
         const py::array& theta, double dt, const py::array& x0, const py::array& x1) {
        const auto contacts = solid_contacts(nodes, normals, velocities, friction);
        const auto when = numbers_of(theta, "theta", static_cast<Index>(contacts.size()));
        const auto start = positions_of(x0, "start");
        const auto end = writable_points(x1, "out", static_cast<Index>(start.size()));
        interruptible([&] { solids::turn_at_contacts(contacts, when, dt, start, end); });
      },
      py::arg("nodes"), py::arg("normals"), py::arg("velocities"), py::arg("friction"), py::arg("theta"), py::arg("dt"),
      py::arg("start"), py::arg("out"));
}

}  // namespace meniscus::bindings
