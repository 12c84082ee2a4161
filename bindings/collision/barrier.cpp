// Barrier energies of pairs and of meshes, with lagged friction.
#include "collision/pair_arrays.hpp"
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/barrier/barrier_friction.hpp"

namespace meniscus::bindings {
namespace {

using collision::Barrier;
using collision::BarrierFriction;
using collision::Curvature;
using collision::PairMatrix;

std::span<const double> barrier_values(const py::array& a, const char* name) {
  const double* first = data_of<double>(a, name);
  return {first, static_cast<std::size_t>(a.size())};
}

std::span<mesh::Point> barrier_rows(const py::array& a, const char* name) {
  double* first = data_of<double>(a, name, -1, true);
  require(a.ndim() == 2 && a.shape(1) == 3, name, " must have shape (n, 3)");
  return {reinterpret_cast<mesh::Point*>(first), static_cast<std::size_t>(a.shape(0))};
}

/// Symmetric matrices as an array (k, 12, 12).
py::array_t<double> barrier_matrices(std::span<const PairMatrix> m) {
  py::array_t<double> a({static_cast<py::ssize_t>(m.size()), py::ssize_t{12}, py::ssize_t{12}});
  for (std::size_t i = 0; i < m.size(); ++i) std::copy_n(m[i].data(), 144, a.mutable_data() + 144 * i);
  return a;
}

py::tuple barrier_of_pairs(const py::array& points, const std::optional<py::array>& rest, bool edges, double distance,
                           Curvature curvature) {
  const auto x = pair_points<mesh::Point>(points, "points", 4);
  const auto at_rest = rest ? pair_points<mesh::Point>(*rest, "rest", 4) : x;
  require(at_rest.size() == x.size(), "rest must have the shape of points");
  const std::size_t n = x.size() / 4;
  py::array_t<double> value(static_cast<py::ssize_t>(n)), gradient({static_cast<py::ssize_t>(n), py::ssize_t{12}});
  std::vector<PairMatrix> hessian(n);
  const std::span<double> v(value.mutable_data(), n);
  const std::span<collision::PairVector> g(reinterpret_cast<collision::PairVector*>(gradient.mutable_data()), n);
  static_assert(sizeof(collision::PairVector) == 12 * sizeof(double));
  const auto kind = edges ? collision::PairKind::edge_edge : collision::PairKind::vertex_face;
  interruptible([&] { collision::evaluate_pairs(kind, x, at_rest, distance * distance, curvature, v, g, hessian); });
  return py::make_tuple(value, gradient, barrier_matrices(hessian));
}

py::tuple barrier_pairs_of(const Barrier& b) {
  const auto n = static_cast<py::ssize_t>(b.pairs().size());
  py::array_t<std::int32_t> elements({n, py::ssize_t{2}}), vertices({n, py::ssize_t{4}});
  py::array_t<bool> edges(n);
  py::array_t<double> reach(n);
  for (std::size_t i = 0; i < b.pairs().size(); ++i) {
    const collision::BarrierPair& p = b.pairs()[i];
    std::copy_n(p.elements.data(), 2, elements.mutable_data() + 2 * i);
    std::copy_n(p.vertices.data(), 4, vertices.mutable_data() + 4 * i);
    edges.mutable_data()[i] = p.form.kind == collision::PairKind::edge_edge;
    reach.mutable_data()[i] = p.form.activation();
  }
  return py::make_tuple(elements, vertices, edges, reach);
}

/// Runs f without the GIL, alone on a barrier.
template <class F>
auto alone(const Barrier& b, F&& f) {
  return interruptible([&] {
    const std::lock_guard lock(b.mutex());
    return f();
  });
}

void bind_barrier_class(py::module_& m) {
  py::class_<Barrier>(m, "Barrier")
      .def(py::init([](const collision::CollisionMesh& mesh, const py::array& rest, const py::array& distance,
                       const std::optional<py::array>& groups, bool normalized, double rest_part) {
             const auto x = positions_of(rest, "rest");
             const auto h = barrier_values(distance, "distance");
             std::span<const std::int32_t> g;
             if (groups) g = {data_of<std::int32_t>(*groups, "groups"), static_cast<std::size_t>(groups->size())};
             const auto scale = normalized ? collision::BarrierScale::normalized : collision::BarrierScale::plain;
             return interruptible(
                 [&] { return std::make_unique<Barrier>(mesh, x, h, g, collision::BarrierOptions{scale, rest_part}); });
           }),
           py::arg("mesh"), py::arg("rest"), py::arg("distance"), py::arg("groups"), py::arg("normalized"), py::arg("rest_part"))
      .def(
          "find",
          [](Barrier& self, collision::CollisionMesh& mesh, const collision::ContactNodes& nodes, const py::array& positions) {
            const auto x = positions_of(positions, "positions");
            alone(self, [&] { self.find(mesh, nodes, x); });
          },
          py::arg("mesh"), py::arg("nodes"), py::arg("positions"))
      .def_property_readonly("size", [](const Barrier& self) { return self.pairs().size(); })
      .def_property_readonly("least_distance", &Barrier::least_distance)
      .def_property_readonly("least_part", &Barrier::least_part)
      .def_property_readonly("nbytes", &Barrier::nbytes)
      .def("pairs", &barrier_pairs_of)
      .def(
          "energy",
          [](const Barrier& self, const py::array& x) {
            const auto at = positions_of(x, "x");
            return alone(self, [&] { return self.energy(at); });
          },
          py::arg("x"))
      .def(
          "add_gradient",
          [](Barrier& self, const py::array& x, double factor, const py::array& out) {
            const auto at = positions_of(x, "x");
            const auto to = barrier_rows(out, "out");
            alone(self, [&] { self.add_gradient(at, factor, to); });
          },
          py::arg("x"), py::arg("factor"), py::arg("out"))
      .def(
          "linearise",
          [](Barrier& self, const py::array& x, Curvature curvature) {
            const auto at = positions_of(x, "x");
            alone(self, [&] { self.linearise(at, curvature); });
          },
          py::arg("x"), py::arg("curvature"))
      .def("matrices", [](const Barrier& self) { return barrier_matrices(self.matrices()); })
      .def(
          "add_product",
          [](Barrier& self, const py::array& u, double factor, const py::array& out) {
            const auto v = positions_of(u, "u");
            const auto to = barrier_rows(out, "out");
            alone(self, [&] { self.add_product(v, factor, to); });
          },
          py::arg("u"), py::arg("factor"), py::arg("out"));
}

void bind_barrier_friction(py::module_& m) {
  py::class_<BarrierFriction>(m, "BarrierFriction")
      .def(py::init<>())
      .def(
          "lag",
          [](BarrierFriction& self, const Barrier& barrier, const py::array& x, double stiffness, const py::array& friction) {
            const auto at = positions_of(x, "x");
            const auto mu = barrier_values(friction, "friction");
            alone(barrier, [&] { self.lag(barrier, at, stiffness, mu); });
          },
          py::arg("barrier"), py::arg("x"), py::arg("stiffness"), py::arg("friction"))
      .def("clear", &BarrierFriction::clear)
      .def_property_readonly("size", &BarrierFriction::size)
      .def(
          "energy",
          [](const BarrierFriction& self, const py::array& u, double slip) {
            const auto v = positions_of(u, "u");
            return interruptible([&] { return self.energy(v, slip); });
          },
          py::arg("u"), py::arg("slip"))
      .def(
          "add_gradient",
          [](BarrierFriction& self, const py::array& u, double slip, const py::array& out) {
            const auto v = positions_of(u, "u");
            const auto to = barrier_rows(out, "out");
            interruptible([&] { self.add_gradient(v, slip, to); });
          },
          py::arg("u"), py::arg("slip"), py::arg("out"))
      .def(
          "linearise",
          [](BarrierFriction& self, const py::array& u, double slip) {
            const auto v = positions_of(u, "u");
            interruptible([&] { self.linearise(v, slip); });
          },
          py::arg("u"), py::arg("slip"))
      .def(
          "add_product",
          [](BarrierFriction& self, const py::array& u, const py::array& out) {
            const auto v = positions_of(u, "u");
            const auto to = barrier_rows(out, "out");
            interruptible([&] { self.add_product(v, to); });
          },
          py::arg("u"), py::arg("out"));
}

}  // namespace

void bind_barrier(py::module_& m) {
  py::native_enum<Curvature>(m, "Curvature", "enum.Enum")
      .value("exact", Curvature::exact)
      .value("definite", Curvature::definite)
      .finalize();
  m.def("barrier_of_pairs", &barrier_of_pairs, py::arg("points"), py::arg("rest"), py::arg("edges"), py::arg("distance"),
        py::arg("curvature"));
  bind_barrier_class(m);
  bind_barrier_friction(m);
}

}  // namespace meniscus::bindings
