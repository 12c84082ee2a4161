// Fast multipole method, and direct sums as its reference.
#include "bridge.hpp"

#include "meniscus/numerics/multipole/fast_multipole.hpp"

namespace meniscus::bindings {
namespace {

using numerics::BiotSavartKernel;
using numerics::FastMultipole;
using Floats = py::array_t<double>;

Index rows(const py::array& points) { return points.ndim() == 2 ? points.shape(0) : 0; }

Floats like_points(Index n) { return Floats({static_cast<py::ssize_t>(n), py::ssize_t{3}}); }

std::unique_ptr<FastMultipole> make(const py::array& sources, const std::optional<py::array>& targets, double accuracy,
                                    BiotSavartKernel vortex, double core, int order, Index most_points) {
  const auto* x = data_of<double>(sources, "sources");
  const auto* y = targets ? data_of<double>(*targets, "targets") : nullptr;
  const Index n = rows(sources), m = targets ? rows(*targets) : n;
  return interruptible([&] {
    return std::make_unique<FastMultipole>(x, n, y, m, numerics::MultipoleOptions{accuracy, vortex, core, order, most_points});
  });
}

py::tuple laplace(const FastMultipole& self, const py::array& charges, const std::optional<py::array>& dipoles) {
  const Index n = self.sources(), m = self.targets();
  const int columns = charges.ndim() == 2 ? static_cast<int>(charges.shape(1)) : 1;
  const auto* q = data_of<double>(charges, "charges", n * columns);
  const auto* p = dipoles ? data_of<double>(*dipoles, "dipoles", 3 * n) : nullptr;
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(m)};
  if (charges.ndim() == 2) shape.push_back(columns);
  Floats potential(shape);
  shape.push_back(3);
  Floats gradient(shape);
  double* const u = potential.mutable_data();
  double* const g = gradient.mutable_data();
  interruptible([&] {
    if (p)
      self.laplace(q, p, u, g);
    else
      self.laplace(q, columns, u, g);
  });
  return py::make_tuple(potential, gradient);
}

}  // namespace

void bind_multipole(py::module_& m) {
  py::native_enum<BiotSavartKernel>(m, "BiotSavartKernel", "enum.Enum")
      .value("singular", BiotSavartKernel::singular)
      .value("mollified", BiotSavartKernel::mollified)
      .value("second_order", BiotSavartKernel::second_order)
      .finalize();
  py::class_<FastMultipole>(m, "FastMultipole")
      .def(py::init(&make), py::arg("sources"), py::arg("targets"), py::arg("accuracy"), py::arg("vortex"), py::arg("core"),
           py::arg("order"), py::arg("most_points"))
      .def_property_readonly("order", &FastMultipole::order)
      .def_property_readonly("levels", &FastMultipole::levels)
      .def_property_readonly("boxes", &FastMultipole::boxes)
      .def_property_readonly("bytes", &FastMultipole::bytes)
      .def("laplace", &laplace, py::arg("charges"), py::arg("dipoles"))
      .def(
          "biot_savart",
          [](const FastMultipole& self, const py::array& strengths) {
            const auto* w = data_of<double>(strengths, "strengths", 3 * self.sources());
            Floats velocity = like_points(self.targets());
            double* const u = velocity.mutable_data();
            interruptible([&] { self.biot_savart(w, u); });
            return velocity;
          },
          py::arg("strengths"));
  m.def(
      "direct_laplace",
      [](const py::array& sources, const std::optional<py::array>& targets, const py::array& charges,
         const std::optional<py::array>& dipoles) {
        const Index n = rows(sources), count = targets ? rows(*targets) : n;
        const auto* x = data_of<double>(sources, "sources");
        const auto* y = targets ? data_of<double>(*targets, "targets") : nullptr;
        const auto* q = data_of<double>(charges, "charges", n);
        const auto* p = dipoles ? data_of<double>(*dipoles, "dipoles", 3 * n) : nullptr;
        Floats potential(static_cast<py::ssize_t>(count)), gradient = like_points(count);
        double* const u = potential.mutable_data();
        double* const g = gradient.mutable_data();
        interruptible([&] { numerics::direct_laplace(x, n, y, count, q, p, u, g); });
        return py::make_tuple(potential, gradient);
      },
      py::arg("sources"), py::arg("targets"), py::arg("charges"), py::arg("dipoles"));
  m.def(
      "direct_biot_savart",
      [](const py::array& sources, const std::optional<py::array>& targets, const py::array& strengths, BiotSavartKernel vortex,
         double core) {
        const Index n = rows(sources), count = targets ? rows(*targets) : n;
        const auto* x = data_of<double>(sources, "sources");
        const auto* y = targets ? data_of<double>(*targets, "targets") : nullptr;
        const auto* w = data_of<double>(strengths, "strengths", 3 * n);
        Floats velocity = like_points(count);
        double* const u = velocity.mutable_data();
        interruptible([&] { numerics::direct_biot_savart(x, n, y, count, w, vortex, core, u); });
        return velocity;
      },
      py::arg("sources"), py::arg("targets"), py::arg("strengths"), py::arg("vortex"), py::arg("core"));
}

}  // namespace meniscus::bindings
