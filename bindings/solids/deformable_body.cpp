// Deformable bodies, their constraints, and time integration.
#include "solids/body_arrays.hpp"

#include "meniscus/solids/integrators/integrators.hpp"
#include "meniscus/solids/integrators/time_step.hpp"

namespace meniscus::bindings {
namespace {

py::array points_view(solids::Points p, const Block<double>& block) {
  return view(reinterpret_cast<double*>(p.data()), std::array{static_cast<Index>(p.size()), Index{3}},
              std::array{Index{3}, Index{1}}, block.memory());
}

/// Calls f with node numbers.
template <class F>
void with_nodes(const py::array& nodes, F&& f) {
  const auto numbers = indices_of(nodes, "nodes");
  f(std::span<const std::int32_t>(numbers));
}

using Body = solids::DeformableBody;

void bind_options(py::module_& m) {
  py::native_enum<solids::Integrator>(m, "Integrator", "enum.Enum")
      .value("explicit_euler", solids::Integrator::explicit_euler)
      .value("symplectic_euler", solids::Integrator::symplectic_euler)
      .value("rk2", solids::Integrator::rk2)
      .value("rk4", solids::Integrator::rk4)
      .value("verlet", solids::Integrator::verlet)
      .value("velocity_verlet", solids::Integrator::velocity_verlet)
      .value("newmark", solids::Integrator::newmark)
      .value("implicit_euler", solids::Integrator::implicit_euler)
      .finalize();
  py::native_enum<solids::Preconditioner>(m, "Preconditioner", "enum.Enum")
      .value("none", solids::Preconditioner::none)
      .value("blocks", solids::Preconditioner::blocks)
      .value("multigrid", solids::Preconditioner::multigrid)
      .value("auto", solids::Preconditioner::automatic)  // `auto` is a keyword of C++
      .finalize();
  py::native_enum<solids::VerletForm>(m, "VerletForm", "enum.Enum")
      .value("positions", solids::VerletForm::positions)
      .value("velocities", solids::VerletForm::velocities)
      .finalize();
  py::native_enum<solids::NewmarkFinish>(m, "NewmarkFinish", "enum.Enum")
      .value("trapezoid", solids::NewmarkFinish::trapezoid)
      .value("backward_euler", solids::NewmarkFinish::backward_euler)
      .finalize();
  py::native_enum<solids::ImplicitElasticity>(m, "ImplicitElasticity", "enum.Enum")
      .value("explicit", solids::ImplicitElasticity::none)  // `explicit` is a keyword of C++
      .value("half_step", solids::ImplicitElasticity::half_step)
      .value("full_step", solids::ImplicitElasticity::full_step)
      .value("first_half_step", solids::ImplicitElasticity::first_half_step)
      .value("first_full_step", solids::ImplicitElasticity::first_full_step)
      .finalize();
  py::class_<solids::StepOptions>(m, "StepOptions")
      .def(py::init<>())
      .def_readwrite("preconditioner", &solids::StepOptions::preconditioner)
      .def_readwrite("accept_unconverged", &solids::StepOptions::accept_unconverged)
      .def_readwrite("tangent", &solids::StepOptions::tangent)
      .def_readwrite("newton_tangent", &solids::StepOptions::newton_tangent)
      .def_readwrite("verlet", &solids::StepOptions::verlet)
      .def_readwrite("finish", &solids::StepOptions::finish)
      .def_readwrite("elasticity", &solids::StepOptions::elasticity)
      .def_readwrite("safeguard", &solids::StepOptions::safeguard)
      .def_readwrite("budget", &solids::StepOptions::budget)
      .def_readwrite("newton", &solids::StepOptions::newton)
      .def_readwrite("newton_tolerance", &solids::StepOptions::newton_tolerance)
      .def_readwrite("max_newton", &solids::StepOptions::max_newton)
      .def_property(
          "tolerance", [](const solids::StepOptions& o) { return o.solve.tolerance; },
          [](solids::StepOptions& o, double tolerance) { o.solve.tolerance = tolerance; })
      .def_property(
          "max_iterations", [](const solids::StepOptions& o) { return o.solve.max_iterations; },
          [](solids::StepOptions& o, int n) { o.solve.max_iterations = n; });
  m.def("newmark_stability", &solids::newmark_stability, py::arg("elasticity"), py::arg("finish"));
  py::class_<solids::NewtonInfo>(m, "NewtonInfo")
      .def_readonly("iterations", &solids::NewtonInfo::iterations)
      .def_readonly("linear_iterations", &solids::NewtonInfo::linear_iterations)
      .def_readonly("halvings", &solids::NewtonInfo::halvings)
      .def_readonly("residual", &solids::NewtonInfo::residual)
      .def_readonly("converged", &solids::NewtonInfo::converged)
      .def_readonly("round_off", &solids::NewtonInfo::round_off);
  py::class_<solids::StepReport>(m, "StepReport")
      .def(py::init<>())
      .def_property_readonly("solves",
                             [](const solids::StepReport& r) {
                               return std::vector<numerics::SolveInfo>(r.solves.begin(), r.solves.begin() + r.solve_count);
                             })
      .def_property_readonly("newton",
                             [](const solids::StepReport& r) { return r.used_newton ? py::cast(r.newton) : py::none(); })
      .def_readonly("used_definite_tangent", &solids::StepReport::used_definite_tangent)
      .def_readonly("retaken", &solids::StepReport::retaken)
      .def_readonly("out_of_time", &solids::StepReport::out_of_time)
      .def_readonly("converged", &solids::StepReport::converged)
      .def_readonly("max_speed", &solids::StepReport::max_speed);
}

void bind_constraints(py::class_<Body, std::shared_ptr<Body>>& c) {
  c.def(
       "fix", [](Body& b, const py::array& nodes) { with_nodes(nodes, [&](auto n) { b.constraints().fix(n); }); },
       py::arg("nodes"))
      .def(
          "move", [](Body& b, const py::array& nodes) { with_nodes(nodes, [&](auto n) { b.constraints().move(n); }); },
          py::arg("nodes"))
      .def(
          "release", [](Body& b, const py::array& nodes) { with_nodes(nodes, [&](auto n) { b.constraints().release(n); }); },
          py::arg("nodes"))
      .def(
          "slide",
          [](Body& b, const py::array& nodes, const py::array& normals) {
            with_nodes(nodes, [&](auto n) { b.constraints().slide(n, positions_of(normals, "normals")); });
          },
          py::arg("nodes"), py::arg("normals"))
      .def_property_readonly("moved",
                             [](const Body& b) {
                               const auto& n = b.constraints().moved();
                               return py::array_t<std::int32_t>(static_cast<py::ssize_t>(n.size()), n.data());
                             })
      .def_property_readonly("constrained",
                             [](const Body& b) {
                               const auto& n = b.constraints().constrained();
                               return py::array_t<std::int32_t>(static_cast<py::ssize_t>(n.size()), n.data());
                             })
      .def("sliding",
           [](const Body& b) {
             const auto nodes = b.constraints().sliding();
             const auto n = static_cast<py::ssize_t>(nodes.size());
             py::array_t<double> normals({n, py::ssize_t{3}, py::ssize_t{3}});
             for (std::size_t k = 0; k < nodes.size(); ++k) {
               const auto directions = b.constraints().directions(nodes[k]);
               std::copy_n(reinterpret_cast<const double*>(directions.data()), 9, normals.mutable_data() + 9 * k);
             }
             return py::make_tuple(py::array_t<std::int32_t>(n, nodes.data()), normals);
           })
      .def(
          "restore_sliding",
          [](Body& b, const py::array& nodes, const py::array& normals) {
            const auto where = indices_of(nodes, "nodes");
            const double* n = data_of<double>(normals, "normals", 9 * static_cast<Index>(where.size()));
            std::vector<solids::Constraints::Directions> directions(where.size());
            for (std::size_t k = 0; k < where.size(); ++k)
              std::copy_n(n + 9 * k, 9, reinterpret_cast<double*>(directions[k].data()));
            b.constraints().restore_sliding(where, directions);
          },
          py::arg("nodes"), py::arg("normals"))
      .def_property_readonly("projections", [](const Body& b) {
        const auto& p = b.constraints().projections();
        py::array_t<double> a({static_cast<py::ssize_t>(p.size()), py::ssize_t{3}, py::ssize_t{3}});
        // Symmetric, so that the order of rows and columns does not matter.
        for (std::size_t k = 0; k < p.size(); ++k) std::copy_n(p[k].data(), 9, a.mutable_data() + 9 * k);
        return a;
      });
}

void bind_stages(py::class_<Body, std::shared_ptr<Body>>& c) {
  c.def(
       "step",
       [](Body& b, solids::Integrator integrator, double dt, const py::object& motion, const solids::StepOptions& options,
          Workspace& w, solids::StepReport& report) {
         const solids::NodeMotion given = motion_of(motion);
         return interruptible([&] { return solids::take_step(b, integrator, dt, given, options, w, report); });
       },
       py::arg("integrator"), py::arg("dt"), py::arg("motion"), py::arg("options"), py::arg("workspace"), py::arg("report"))
      .def(
          "solve_velocity",
          [](Body& b, double dt, double elastic_dt, const py::array& x, const py::array& v0, const py::array& v,
             const solids::StepOptions& options, Workspace& w) {
            const auto xs = points_of(x, "positions", b.size());
            const auto v0s = points_of(v0, "velocities", b.size());
            const auto out = writable_points(v, "out", b.size());
            numerics::SolveInfo info;
            bool used_definite_tangent = false;
            interruptible([&] {
              const solids::BodyStep step(b, dt, {}, w);
              solids::guess_velocity(step, v0s, out);
              solids::solve_velocity(step, xs, v0s, dt, elastic_dt, options, out, info, used_definite_tangent);
            });
            return info;
          },
          py::arg("dt"), py::arg("elastic_dt"), py::arg("positions"), py::arg("velocities"), py::arg("out"), py::arg("options"),
          py::arg("workspace"))
      .def(
          "commit",
          [](Body& b, double dt, const py::array& x, const py::array& v, Workspace& w) {
            const auto xs = points_of(x, "positions", b.size());
            const auto vs = points_of(v, "velocities", b.size());
            return interruptible([&] { return solids::BodyStep(b, dt, {}, w).commit(xs, vs); });
          },
          py::arg("dt"), py::arg("positions"), py::arg("velocities"), py::arg("workspace"))
      .def(
          "forces_at",
          [](const Body& b, const py::array& x, const py::array& v, const py::array& out) {
            const auto xs = points_of(x, "positions", b.size());
            const auto vs = points_of(v, "velocities", b.size());
            const auto f = writable_points(out, "out", b.size());
            interruptible([&] { b.forces_at(xs, vs, f); });
          },
          py::arg("positions"), py::arg("velocities"), py::arg("out"))
      .def(
          "time_step_limits",
          [](const Body& b, solids::Integrator integrator, Workspace& w) {
            const auto bounds = interruptible([&] { return solids::time_step_bounds(b, w); });
            return py::make_tuple(solids::stable_step(integrator, bounds.spectrum), bounds.strain_rate);
          },
          py::arg("integrator"), py::arg("workspace"));
}

}  // namespace

void bind_deformable_body(py::module_& m) {
  bind_options(m);
  py::class_<Body, std::shared_ptr<Body>> c(m, "DeformableBody");
  c.def(py::init([](const py::array& positions, const py::array& masses) {
          const auto* mass = data_of<double>(masses, "masses");
          return std::make_shared<Body>(positions_of(positions, "positions"),
                                        std::span<const double>(mass, static_cast<std::size_t>(masses.size())));
        }),
        py::arg("positions"), py::arg("masses"))
      .def_property_readonly("size", &Body::size)
      .def_property_readonly("positions", [](Body& b) { return points_view(b.positions(), b.position_block()); })
      .def_property_readonly("velocities", [](Body& b) { return points_view(b.velocities(), b.velocity_block()); })
      .def_property_readonly(
          "masses",
          [](Body& b) { return view(b.masses().data(), std::array{b.size()}, std::array{Index{1}}, b.mass_block().memory()); })
      .def_property(
          "gravity", [](const Body& b) { return std::array<double, 3>{b.gravity()[0], b.gravity()[1], b.gravity()[2]}; },
          [](Body& b, const std::array<double, 3>& g) { b.set_gravity(mesh::Point(g[0], g[1], g[2])); })
      .def_property("time", &Body::time, &Body::set_time)
      .def_property_readonly("nbytes", &Body::nbytes)
      .def("add", &Body::add, py::arg("force"))
      .def("remove", &Body::remove, py::arg("force"))
      .def("energy",
           [](const Body& b) {
             const auto e = interruptible([&] { return b.energy(); });
             return py::make_tuple(e.kinetic, e.elastic, e.gravity);
           })
      .def("momentum",
           [](const Body& b) {
             const mesh::Point p = b.momentum();
             return std::array<double, 3>{p[0], p[1], p[2]};
           })
      .def(
          "angular_momentum",
          [](const Body& b, const std::array<double, 3>& about) {
            const mesh::Point p = b.angular_momentum(mesh::Point(about[0], about[1], about[2]));
            return std::array<double, 3>{p[0], p[1], p[2]};
          },
          py::arg("about"))
      .def_property_readonly("previous_dt", &Body::previous_dt)
      .def("previous_positions",
           [](const Body& b) {
             py::array_t<double> a({static_cast<py::ssize_t>(b.size()), py::ssize_t{3}});
             const auto p = b.previous_positions();
             if (!p.empty()) std::copy_n(reinterpret_cast<const double*>(p.data()), 3 * p.size(), a.mutable_data());
             return a;
           })
      .def(
          "set_previous",
          [](Body& b, double dt, const py::array& positions) {
            const auto p = points_of(positions, "previous positions", b.size());
            b.keep_previous(dt);
            solids::nodes::copy(p, b.previous_positions());
          },
          py::arg("dt"), py::arg("positions"))
      .def("forget_previous", &Body::forget_previous);
  bind_constraints(c);
  bind_stages(c);
  bind_body_system(m);
  bind_node_rows(m);
  bind_barrier_step(m);
}

}  // namespace meniscus::bindings
