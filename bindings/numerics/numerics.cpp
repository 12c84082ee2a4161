// Amplification factors of BFECC and MacCormack, and fractal noise.
#include "bridge.hpp"

#include "meniscus/numerics/error_compensation.hpp"
#include "meniscus/numerics/noise.hpp"

#include <pybind11/complex.h>

namespace meniscus::bindings {
namespace {

template <int D>
py::tuple sample_noise(const numerics::FractalNoiseOptions& options, const py::array& points, double time) {
  const auto* x = data_of<double>(points, "points");
  const Index n = points.size() / D;
  py::array_t<double> values(static_cast<py::ssize_t>(n));
  py::array_t<double> gradients({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(D)});
  double* v = values.mutable_data();
  double* g = gradients.mutable_data();
  interruptible([&] { numerics::sample_noise<D>(options, x, n, time, v, g); });
  return py::make_tuple(values, gradients);
}

}  // namespace

void bind_numerics(py::module_& m) {
  py::native_enum<numerics::CompensationScheme>(m, "CompensationScheme", "enum.Enum")
      .value("forward_euler", numerics::CompensationScheme::forward_euler)
      .value("bfecc", numerics::CompensationScheme::bfecc)
      .value("maccormack", numerics::CompensationScheme::maccormack)
      .finalize();
  m.def(
      "amplification",
      [](numerics::CompensationScheme scheme, const py::array_t<std::complex<double>>& z) {
        return py::vectorize([scheme](std::complex<double> each) { return numerics::amplification(scheme, each); })(z);
      },
      py::arg("scheme"), py::arg("z"));
  py::class_<numerics::FractalNoiseOptions>(m, "FractalNoiseOptions")
      .def(py::init([](std::uint64_t seed, double wavelength, double rate, int octaves, double gain, double lacunarity) {
             return numerics::FractalNoiseOptions{seed, wavelength, rate, octaves, gain, lacunarity};
           }),
           py::arg("seed"), py::arg("wavelength"), py::arg("rate"), py::arg("octaves"), py::arg("gain"), py::arg("lacunarity"));
  m.def("sample_noise2", &sample_noise<2>, py::arg("options"), py::arg("points"), py::arg("time"));
  m.def("sample_noise3", &sample_noise<3>, py::arg("options"), py::arg("points"), py::arg("time"));
}

}  // namespace meniscus::bindings
