/// Functions that all models of strands of hair have.
#pragma once

#include "solids/body_arrays.hpp"
#include "solids/force_arrays.hpp"

#include "meniscus/solids/hair/strand_groups.hpp"

namespace meniscus::bindings {

inline std::span<const std::uint8_t> flags_of(const py::array& a, const char* name, Index n) {
  return {data_of<std::uint8_t>(a, name, n), static_cast<std::size_t>(n)};
}

inline std::span<double> writable_values(const py::array& a, const char* name, Index n) {
  return {data_of<double>(a, name, n, true), static_cast<std::size_t>(n)};
}

/// Rows of as many numbers as the arrays T have.
template <class T>
std::span<T> rows_of(const py::array& a, const char* name, Index n, bool writable = false) {
  using Number = typename std::remove_const_t<T>::value_type;
  const Index width = std::tuple_size_v<std::remove_const_t<T>>;
  auto* const first = data_of<Number>(a, name, width * n, writable);
  return {reinterpret_cast<T*>(first), static_cast<std::size_t>(n)};
}

/// Positions, velocities, masses, held points and where these go.
struct StepArrays {
  std::span<mesh::Point> x, v;
  std::span<const double> masses;
  std::span<const std::uint8_t> held;
  std::span<const mesh::Point> targets;

  StepArrays(const std::array<py::array, 5>& arrays, Index n)
      : x(writable_points(arrays[0], "x", n)),
        v(writable_points(arrays[1], "v", n)),
        masses(values_of<double>(arrays[2], "masses")),
        held(flags_of(arrays[3], "held", n)),
        targets(points_of(arrays[4], "targets", n)) {}
};

inline py::tuple tuple_of(const solids::hair::StrandReport& r) { return py::make_tuple(r.iterations, r.unfinished); }

template <class Strands>
py::tuple step_strands(Strands& s, double dt, const std::array<double, 3>& gravity, double drag, bool midpoint, int max_newton,
                       double tolerance, const std::array<py::array, 5>& arrays) {
  const StepArrays a(arrays, s.size());
  const solids::hair::StrandStep options{dt, {gravity[0], gravity[1], gravity[2]}, drag, midpoint, max_newton, tolerance};
  return tuple_of(interruptible([&] { return s.step(options, a.x, a.v, a.masses, a.held, a.targets); }));
}

template <class Strands>
py::tuple settle_strands(Strands& s, const std::array<double, 3>& gravity, const py::array& x, const py::array& masses,
                         const py::array& held, int iterations, double tolerance) {
  const auto at = writable_points(x, "x", s.size());
  const auto mass = values_of<double>(masses, "masses");
  const auto holds = flags_of(held, "held", s.size());
  return tuple_of(
      interruptible([&] { return s.equilibrium({gravity[0], gravity[1], gravity[2]}, at, mass, holds, iterations, tolerance); }));
}

template <class Strands>
void strand_energies(const Strands& s, const py::array& x, const py::array& out) {
  const auto at = points_of(x, "x", s.size());
  const auto to = writable_values(out, "out", s.strands());
  interruptible([&] { s.energies(at, to); });
}

template <class Strands>
void stable_strands(const Strands& s, const py::array& x, const py::array& held, const py::array& out) {
  const auto at = points_of(x, "x", s.size());
  const auto holds = flags_of(held, "held", s.size());
  const std::span<std::uint8_t> to{data_of<std::uint8_t>(out, "out", s.strands(), true), static_cast<std::size_t>(s.strands())};
  interruptible([&] { s.stable(at, holds, to); });
}

// What `bind_hair` binds as well.
void bind_altitude_hair(py::module_& m);

}  // namespace meniscus::bindings
