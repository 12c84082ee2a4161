// Reduced deformable models.
#include "solids/force_arrays.hpp"

#include "meniscus/solids/reduced/cubic_forces.hpp"
#include "meniscus/solids/reduced/reduced_contacts.hpp"
#include "meniscus/solids/reduced/reduced_response.hpp"
#include "meniscus/solids/reduced/sampled_forces.hpp"
#include "meniscus/solids/reduced/static_modes.hpp"

namespace meniscus::bindings {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using solids::ReducedForces;
using solids::ReducedModel;
using solids::ReducedMotion;

VectorXd vector_of(const py::array& a, const char* name, Index size = -1) {
  const double* const first = data_of<double>(a, name, size);
  return Eigen::Map<const VectorXd>(first, a.size());
}

/// Vectors as rows of an array, which are columns here.
MatrixXd columns_of(const py::array& a, const char* name) {
  const double* const first = data_of<double>(a, name);
  require(a.ndim() == 2, name, " must have two dimensions");
  return Eigen::Map<const MatrixXd>(first, a.shape(1), a.shape(0));
}

py::array array_of(const MatrixXd& m) {
  return py::array_t<double>({static_cast<py::ssize_t>(m.cols()), static_cast<py::ssize_t>(m.rows())}, m.data());
}

py::array array_of(const VectorXd& v) { return py::array_t<double>(static_cast<py::ssize_t>(v.size()), v.data()); }

/// Elements with their constants, from four arrays.
struct Elements {
  std::span<const mesh::Point> rest;
  std::vector<solids::TetGradient> gradients;

  Elements(const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios)
      : rest(positions_of(x, "rest_positions")) {
    const auto nodes = elements_of<4>(tets, "tets");
    gradients = solids::tet_gradients(rest, nodes, values_of<double>(moduli, "youngs_modulus"),
                                      values_of<double>(ratios, "poissons_ratio"));
  }
};

solids::RigidState& frame_of(const py::array& a, bool writable) {
  return *reinterpret_cast<solids::RigidState*>(data_of<double>(a, "frame", 13, writable));
}

void load(ReducedMotion& self, const py::array& q, const py::array& v, const py::array& frame) {
  const auto r = static_cast<std::size_t>(self.model().size());
  self.load({data_of<double>(q, "coordinates", self.model().size()), r}, {data_of<double>(v, "rates", self.model().size()), r},
            frame_of(frame, false));
}

void store(ReducedMotion& self, const py::array& q, const py::array& v, const py::array& frame) {
  const Index r = self.model().size();
  Eigen::Map<VectorXd>(data_of<double>(q, "coordinates", r, true), r) = self.coordinates();
  Eigen::Map<VectorXd>(data_of<double>(v, "rates", r, true), r) = self.rates();
  frame_of(frame, true) = self.frame();
}

std::span<const std::int32_t> nodes_in(const ReducedMotion& self, const py::array& a) {
  const std::int32_t* const first = data_of<std::int32_t>(a, "nodes");
  const std::span<const std::int32_t> nodes(first, static_cast<std::size_t>(a.size()));
  for (const std::int32_t i : nodes) require(i >= 0 && i < self.model().nodes(), "nodes must be those of the body, not ", i);
  return nodes;
}

/// Nodes (n, k) with weights of as many points.
struct Points {
  std::span<const std::int32_t> nodes;
  std::span<const double> weights;
  Index corners;

  Points(const ReducedMotion& self, const py::array& n, const py::array& w)
      : nodes(nodes_in(self, n)),
        weights(values_of<double>(w, "weights")),
        corners(n.ndim() == 2 ? static_cast<Index>(n.shape(1)) : 0) {
    require(corners > 0 && weights.size() == nodes.size(), "nodes and weights must have the same shape (n, k)");
  }
  Index size() const { return static_cast<Index>(nodes.size()) / corners; }
  solids::ReducedPoint operator[](Index i) const {
    const auto first = static_cast<std::size_t>(i * corners), count = static_cast<std::size_t>(corners);
    return {nodes.subspan(first, count), weights.subspan(first, count)};
  }
};

void bind_setup(py::module_& m) {
  m.def(
      "reduced_basis",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& masses,
         const py::array& fixed, const py::array& interface, Index modes, Index size) {
        const auto mass = values_of<double>(masses, "masses");
        const auto held = values_of<std::uint8_t>(fixed, "fixed");
        const auto ends = values_of<std::int32_t>(interface, "interface");
        const solids::ReducedBasis basis = interruptible([&] {
          const Elements e(x, tets, moduli, ratios);
          if (!ends.empty()) return solids::basis_of_components(e.gradients, e.rest, mass, held, ends, modes);
          return size == modes ? solids::vibration_modes(e.gradients, e.rest, mass, held, modes)
                               : solids::basis_with_derivatives(e.gradients, e.rest, mass, held, modes, size);
        });
        return py::make_tuple(array_of(basis.vectors), array_of(basis.eigenvalues));
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("masses"),
      py::arg("fixed"), py::arg("interface"), py::arg("modes"), py::arg("size"));
  m.def(
      "component_modes",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& masses,
         const py::array& fixed, const py::array& interface, Index modes) {
        const auto mass = values_of<double>(masses, "masses");
        const auto held = values_of<std::uint8_t>(fixed, "fixed");
        const auto ends = values_of<std::int32_t>(interface, "interface");
        const solids::ComponentModes c = interruptible([&] {
          const Elements e(x, tets, moduli, ratios);
          return solids::component_modes(e.gradients, e.rest, mass, held, ends, modes);
        });
        return py::make_tuple(array_of(c.vectors), array_of(c.stiffness), array_of(c.mass));
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("masses"),
      py::arg("fixed"), py::arg("interface"), py::arg("modes"));
  m.def(
      "compliance",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& masses,
         const py::array& fixed, const py::array& nodes) {
        const auto mass = values_of<double>(masses, "masses");
        const auto held = values_of<std::uint8_t>(fixed, "fixed");
        const auto at = values_of<std::int32_t>(nodes, "nodes");
        return array_of(interruptible([&] {
          const Elements e(x, tets, moduli, ratios);
          return solids::Compliance(e.gradients, e.rest, mass, held, at).matrix();
        }));
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("masses"),
      py::arg("fixed"), py::arg("nodes"));
  m.def(
      "press",
      [](const py::array& matrix, const py::array& places, const py::array& directions, const py::array& displacements,
         const py::array& forces) {
        const solids::Compliance compliance(columns_of(matrix, "matrix"));
        const auto at = values_of<std::int32_t>(places, "contacts");
        const auto n = positions_of(directions, "directions");
        const auto d = values_of<double>(displacements, "displacements");
        VectorXd f = vector_of(forces, "forces"), u;
        interruptible([&] { compliance.press(at, n, d, f, u); });
        return py::make_tuple(array_of(u), array_of(f));
      },
      py::arg("matrix"), py::arg("places"), py::arg("directions"), py::arg("displacements"), py::arg("forces"));
  m.def(
      "node_turns",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& vectors) {
        const Elements e(x, tets, moduli, ratios);
        const MatrixXd basis = columns_of(vectors, "vectors");
        return array_of(interruptible([&] { return solids::node_turns(e.gradients, basis); }));
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("vectors"));
  m.def(
      "cubic_coefficients",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& vectors,
         bool quadratic_strain) {
        const Elements e(x, tets, moduli, ratios);
        const MatrixXd basis = columns_of(vectors, "vectors");
        const auto forces = interruptible([&] { return solids::CubicForces(e.gradients, basis, quadratic_strain); });
        return copy_of(forces.coefficients());
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("vectors"),
      py::arg("quadratic_strain"));
  m.def(
      "choose_cubature",
      [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios, const py::array& vectors,
         solids::Material material, const py::array& poses, double tolerance, Index most, std::uint64_t seed) {
        const Elements e(x, tets, moduli, ratios);
        const MatrixXd basis = columns_of(vectors, "vectors"), q = columns_of(poses, "poses");
        const auto c = interruptible([&] {
          const std::vector<double> ones(e.gradients.size(), 1.0);
          return solids::choose_cubature(solids::SampledForces(e.gradients, ones, basis, material), q, tolerance, most, seed);
        });
        return py::make_tuple(py::array_t<std::int32_t>(static_cast<py::ssize_t>(c.elements.size()), c.elements.data()),
                              copy_of(std::span<const double>(c.weights)), c.error);
      },
      py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("vectors"),
      py::arg("material"), py::arg("poses"), py::arg("tolerance"), py::arg("most"), py::arg("seed"));
}

void bind_forces(py::module_& m) {
  py::class_<ReducedForces, std::shared_ptr<ReducedForces>>(m, "ReducedForces")
      .def_static(
          "cubic",
          [](Index size, const py::array& coefficients) {
            return std::shared_ptr<ReducedForces>(
                std::make_shared<solids::CubicForces>(size, values_of<double>(coefficients, "coefficients")));
          },
          py::arg("size"), py::arg("coefficients"))
      .def_static(
          "sampled",
          [](const py::array& x, const py::array& tets, const py::array& moduli, const py::array& ratios,
             const py::array& weights, const py::array& vectors, solids::Material material) {
            const Elements e(x, tets, moduli, ratios);
            return std::shared_ptr<ReducedForces>(std::make_shared<solids::SampledForces>(
                e.gradients, values_of<double>(weights, "weights"), columns_of(vectors, "vectors"), material));
          },
          py::arg("rest_positions"), py::arg("tets"), py::arg("youngs_modulus"), py::arg("poissons_ratio"), py::arg("weights"),
          py::arg("vectors"), py::arg("material"))
      .def(
          "at",
          [](ReducedForces& self, const py::array& coordinates) {
            const VectorXd q = vector_of(coordinates, "coordinates", self.size());
            VectorXd gradient(self.size());
            MatrixXd stiffness(self.size(), self.size());
            const double energy = interruptible([&] { return self.at(q, gradient, &stiffness); });
            return py::make_tuple(energy, array_of(gradient), array_of(stiffness));
          },
          py::arg("coordinates"))
      .def_property_readonly("nbytes", &ReducedForces::nbytes);
  py::class_<ReducedModel, std::shared_ptr<ReducedModel>>(m, "ReducedModel")
      .def(py::init([](const py::array& rest, const py::array& masses, const py::array& vectors, const py::array& eigenvalues,
                       bool held, const std::optional<py::array>& turns) {
             return std::make_shared<ReducedModel>(positions_of(rest, "rest_positions"), values_of<double>(masses, "masses"),
                                                   columns_of(vectors, "vectors"), vector_of(eigenvalues, "eigenvalues"), held,
                                                   turns ? columns_of(*turns, "turns") : MatrixXd());
           }),
           py::arg("rest_positions"), py::arg("masses"), py::arg("vectors"), py::arg("eigenvalues"), py::arg("held"),
           py::arg("turns"))
      .def(
          "positions",
          [](const ReducedModel& self, const py::array& coordinates) {
            const VectorXd q = vector_of(coordinates, "coordinates", self.size());
            py::array_t<double> out({static_cast<py::ssize_t>(self.nodes()), py::ssize_t{3}});
            const auto x = writable_nodes_of(out, "out", self.nodes());
            interruptible([&] { self.positions(q, Eigen::Matrix3d::Identity(), self.centre(), x); });
            return out;
          },
          py::arg("coordinates"))
      .def_property_readonly("mass", &ReducedModel::mass)
      .def_property_readonly("center",
                             [](const ReducedModel& self) { return py::array_t<double>(py::ssize_t{3}, self.centre().data()); })
      .def_property_readonly("nbytes", &ReducedModel::nbytes);
}

void bind_reduced_contacts(py::module_& m) {
  using solids::ReducedContacts;
  py::class_<ReducedContacts>(m, "ReducedContacts")
      .def(py::init<>())
      .def(
          "inverse_masses",
          [](ReducedContacts& self, ReducedMotion& body, const py::array& nodes, const py::array& weights) {
            const Points p(body, nodes, weights);
            py::array_t<double> out({static_cast<py::ssize_t>(p.size()), py::ssize_t{3}, py::ssize_t{3}});
            auto* const first = reinterpret_cast<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>*>(out.mutable_data());
            interruptible(
                [&] { self.inverse_masses(body, p.nodes, p.weights, p.corners, {first, static_cast<std::size_t>(p.size())}); });
            return out;
          },
          py::arg("body"), py::arg("nodes"), py::arg("weights"))
      .def(
          "rows",
          [](ReducedContacts& self, ReducedMotion& body, const py::array& nodes, const py::array& weights) {
            const Points p(body, nodes, weights);
            const auto k = static_cast<py::ssize_t>(p.size()), d = static_cast<py::ssize_t>(body.degrees());
            const auto size = static_cast<std::size_t>(3 * d * k);
            py::array_t<double> j({k, py::ssize_t{3}, d}), y({k, d, py::ssize_t{3}}), u(d);
            double *const first = j.mutable_data(), *const second = y.mutable_data(), *const third = u.mutable_data();
            interruptible([&] {
              self.rows(body, p.nodes, p.weights, p.corners, {first, size}, {second, size}, {third, static_cast<std::size_t>(d)});
            });
            return py::make_tuple(j, y, u);
          },
          py::arg("body"), py::arg("nodes"), py::arg("weights"))
      .def(
          "solve",
          [](ReducedContacts& self, ReducedMotion& body, const py::array& nodes, const py::array& weights,
             const py::array& normals, const py::array& obstacle_velocities, const py::array& least_speeds,
             const py::array& friction, int iterations, const py::array& impulses) {
            const Points p(body, nodes, weights);
            const auto n = positions_of(normals, "normals"), v = positions_of(obstacle_velocities, "obstacle_velocities");
            const auto least = values_of<double>(least_speeds, "least_speeds"), mu = values_of<double>(friction, "friction");
            const auto count = static_cast<std::size_t>(p.size());
            require(n.size() == count && v.size() == count && least.size() == count && mu.size() == count,
                    "contacts must have one row each");
            const auto out = writable_nodes_of(impulses, "impulses", p.size());
            return interruptible([&] {
              return self.solve(body,
                                {.nodes = p.nodes,
                                 .weights = p.weights,
                                 .corners = p.corners,
                                 .normals = n,
                                 .obstacle_velocities = v,
                                 .least_speeds = least,
                                 .friction = mu},
                                iterations, out);
            });
          },
          py::arg("body"), py::arg("nodes"), py::arg("weights"), py::arg("normals"), py::arg("obstacle_velocities"),
          py::arg("least_speeds"), py::arg("friction"), py::arg("iterations"), py::arg("impulses"))
      .def_property_readonly("nbytes", &ReducedContacts::nbytes);
}

void bind_reduced_response(py::module_& m) {
  using solids::ReducedResponse;
  py::class_<ReducedResponse>(m, "ReducedResponse")
      .def(py::init<>())
      .def(
          "set",
          [](ReducedResponse& self, ReducedMotion& body, const py::array& nodes) {
            const auto n = nodes_in(body, nodes);
            interruptible([&] { self.set(body, n); });
            const auto& g = self.response();
            return py::array_t<double>({static_cast<py::ssize_t>(n.size()), py::ssize_t{3}, static_cast<py::ssize_t>(g.cols())},
                                       g.data());
          },
          py::arg("body"), py::arg("nodes"))
      .def(
          "closest",
          [](ReducedResponse& self, const py::array& velocities) {
            const auto v = positions_of(velocities, "velocities");
            VectorXd out(self.degrees());
            interruptible([&] { self.closest(v, out); });
            return array_of(out);
          },
          py::arg("velocities"))
      .def_property_readonly("nbytes", &ReducedResponse::nbytes);
}

}  // namespace

void bind_reduced_body(py::module_& m) {
  using solids::ReducedMethod;
  bind_setup(m);
  bind_forces(m);
  py::native_enum<ReducedMethod>(m, "ReducedMethod", "enum.Enum")
      .value("newmark", ReducedMethod::newmark)
      .value("implicit_euler", ReducedMethod::implicit_euler)
      .value("recurrence", ReducedMethod::recurrence)
      .finalize();
  py::class_<ReducedMotion>(m, "ReducedMotion")
      .def(py::init([](const std::shared_ptr<ReducedModel>& model, const std::shared_ptr<ReducedForces>& forces) {
             return std::make_unique<ReducedMotion>(model, forces);
           }),
           py::arg("model"), py::arg("forces"))
      .def("load", &load, py::arg("coordinates"), py::arg("rates"), py::arg("frame"))
      .def("store", &store, py::arg("coordinates"), py::arg("rates"), py::arg("frame"))
      .def("clear_loads", &ReducedMotion::clear_loads)
      .def(
          "add_loads",
          [](ReducedMotion& self, const py::array& nodes, const py::array& forces) {
            const auto n = nodes_in(self, nodes);
            const auto f = positions_of(forces, "forces");
            require(n.size() == f.size(), "nodes and forces must be as many, not ", n.size(), " and ", f.size());
            interruptible([&] { self.add_loads(n, f); });
          },
          py::arg("nodes"), py::arg("forces"))
      .def(
          "predict",
          [](ReducedMotion& self, double dt, ReducedMethod method, double mass_damping, double stiffness_damping,
             std::array<double, 3> gravity, double tolerance, int max_iterations) {
            const solids::ReducedStepInfo info = interruptible([&] {
              return self.predict({.dt = dt,
                                   .method = method,
                                   .mass_damping = mass_damping,
                                   .stiffness_damping = stiffness_damping,
                                   .gravity = mesh::Point(gravity.data()),
                                   .tolerance = tolerance,
                                   .max_iterations = max_iterations});
            });
            return py::make_tuple(info.iterations, info.residual, info.converged);
          },
          py::arg("dt"), py::arg("method"), py::arg("mass_damping"), py::arg("stiffness_damping"), py::arg("gravity"),
          py::arg("tolerance"), py::arg("max_iterations"))
      .def("finish", &ReducedMotion::finish)
      .def("prepare_impulses", &ReducedMotion::prepare_impulses, py::arg("dt") = 0.0, py::arg("mass_damping") = 0.0,
           py::arg("stiffness_damping") = 0.0)
      .def(
          "apply_impulses",
          [](ReducedMotion& self, const py::array& nodes, const py::array& weights, const py::array& impulses) {
            const Points p(self, nodes, weights);
            const auto j = positions_of(impulses, "impulses");
            require(static_cast<Index>(j.size()) == p.size(), "impulses must be as many as points");
            interruptible([&] {
              for (Index i = 0; i < p.size(); ++i) self.apply_impulse(p[i], j[i]);
            });
          },
          py::arg("nodes"), py::arg("weights"), py::arg("impulses"))
      .def(
          "positions",
          [](const ReducedMotion& self, const py::array& out) {
            const auto x = writable_nodes_of(out, "out", self.model().nodes());
            interruptible([&] { self.positions(x); });
          },
          py::arg("out"))
      .def(
          "next_positions",
          [](ReducedMotion& self, const py::array& nodes, const py::array& out) {
            const auto n = nodes_in(self, nodes);
            const auto x = writable_nodes_of(out, "out", static_cast<Index>(n.size()));
            interruptible([&] { self.next_positions(n, x); });
          },
          py::arg("nodes"), py::arg("out"))
      .def(
          "velocities",
          [](ReducedMotion& self, const py::array& out) {
            const auto x = writable_nodes_of(out, "out", self.model().nodes());
            interruptible([&] { self.velocities(x); });
          },
          py::arg("out"))
      .def(
          "add_velocity",
          [](ReducedMotion& self, const py::array& change) { self.add_velocity(vector_of(change, "change", self.degrees())); },
          py::arg("change"))
      .def(
          "displace", [](ReducedMotion& self, const py::array& way) { self.displace(vector_of(way, "way", self.degrees())); },
          py::arg("way"))
      .def("energy", &ReducedMotion::energy)
      .def(
          "set_velocity",
          [](ReducedMotion& self, std::array<double, 3> linear, std::array<double, 3> angular) {
            self.set_velocity(mesh::Point(linear.data()), mesh::Point(angular.data()));
          },
          py::arg("linear"), py::arg("angular"))
      .def("angular_velocity", [](ReducedMotion& self) {
        const Eigen::Vector3d w = self.angular_velocity();
        return py::array_t<double>(py::ssize_t{3}, w.data());
      });
  bind_reduced_contacts(m);
  bind_reduced_response(m);
}

}  // namespace meniscus::bindings
