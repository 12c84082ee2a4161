// Steps of several bodies with barriers.
#include "solids/body_arrays.hpp"
#include "solids/force_arrays.hpp"

#include "meniscus/solids/contact/barrier_step.hpp"
#include "meniscus/solids/contact/coordinate_force.hpp"
#include "meniscus/solids/contact/solid_meeting.hpp"

#include <optional>
#include <tuple>

namespace meniscus::bindings {
namespace {

using BarrierBodies = std::vector<std::shared_ptr<solids::DeformableBody>>;

/// A `SolidObstacle` of Python, which is asked once for what it is at a time.
class PythonSolid final : public solids::ImplicitSolid {
 public:
  explicit PythonSolid(py::object obstacle)
      : ImplicitSolid(py::cast<double>(obstacle.attr("friction")), py::cast<bool>(obstacle.attr("solid").attr("moves"))),
        // The last owner may be a thread without the GIL.
        obstacle_(new py::object(std::move(obstacle)), [](py::object* o) { with_gil([&] { delete o; }); }) {}

  mesh::Box box(double time) const override {
    const surface::Bounds<3> bounds = at(time, last_).bounds();
    return {bounds.lower, bounds.upper};
  }
  void distances(solids::ConstPoints x, double time, std::span<double> out) const override {
    at(time, last_).ask(x, {out, {}, {}});
  }
  void normals(solids::ConstPoints x, double time, solids::Points out) const override { at(time, last_).ask(x, {{}, out, {}}); }
  void velocities(solids::ConstPoints x, double time, double dt, solids::Points out) const override {
    at(time, dt).ask(x, {{}, {}, out});
  }

 private:
  /// With mean velocities over the dt seconds before a time, those at the time for 0.
  const solids::SolidObstacle& at(double time, double dt) const {
    if (known_ && (!moves() || (time == known_at_ && dt == last_))) return *known_;
    with_gil([&] {
      using Parts = std::tuple<std::shared_ptr<surface::SolidAt>, double, double>;
      const auto [solid, thickness, friction] =
          py::cast<Parts>(obstacle_->attr("at")(time, dt > 0 ? py::object(py::float_(-dt)) : py::none()));
      known_ = solids::SolidObstacle{solid, thickness, friction};
    });
    known_at_ = time;
    last_ = dt;
    return *known_;
  }

  std::shared_ptr<py::object> obstacle_;
  mutable std::optional<solids::SolidObstacle> known_;
  mutable double known_at_ = 0, last_ = 0;
};

solids::SolidBarrier::Solids solids_of(const py::list& obstacles) {
  solids::SolidBarrier::Solids found;
  for (const py::handle o : obstacles) found.push_back(std::make_shared<PythonSolid>(py::reinterpret_borrow<py::object>(o)));
  return found;
}

std::vector<solids::BodyInStep> parts_of(const BarrierBodies& bodies, const py::list& motions) {
  require(!bodies.empty(), "a system has at least one body");
  require(bodies.size() == motions.size(), "there must be one motion per body, not ", motions.size(), " for ", bodies.size());
  std::vector<solids::BodyInStep> parts;
  for (std::size_t k = 0; k < bodies.size(); ++k) parts.push_back({bodies[k].get(), motion_of(motions[k])});
  return parts;
}

/// A step, with what it refers to.
class BarrierSystemStep {
 public:
  BarrierSystemStep(BarrierBodies bodies, py::list motions, double dt, Workspace& workspace,
                    const solids::ContactSurfaces& surfaces, const py::list& obstacles, py::array start, py::array end,
                    double time, bool end_is_given, const solids::BarrierStepOptions& options)
      : bodies_(std::move(bodies)),
        kept_(std::move(motions), start, end),
        parts_(parts_of(bodies_, std::get<0>(kept_))),
        step_(parts_, dt, workspace),
        ends_(writable_points(end, "end", surfaces.nodes->nodes())),
        contact_(surfaces, solids_of(obstacles), {points_of(start, "start", surfaces.nodes->nodes()), ends_, time, dt},
                 step_.size(), options) {
    const solids::Points own = ends_.first(static_cast<std::size_t>(step_.size()));
    if (!end_is_given) solids::free_ends(step_, own);
    barrier_.emplace(step_, contact_, ends_, options);
    if (end_is_given) barrier_->set_minimum(own);
  }

  solids::BarrierStep& step() { return *barrier_; }
  solids::BarrierContact& contact() { return contact_; }
  solids::ConstPoints in(const py::array& a, const char* name) const { return points_of(a, name, step_.size()); }
  solids::Points out(const py::array& a, const char* name) const { return writable_points(a, name, step_.size()); }
  solids::Points all(const py::array& a, const char* name) const {
    return writable_points(a, name, static_cast<Index>(ends_.size()));
  }

 private:
  BarrierBodies bodies_;
  std::tuple<py::list, py::array, py::array> kept_;
  std::vector<solids::BodyInStep> parts_;
  solids::BodyStep step_;
  solids::Points ends_;
  solids::BarrierContact contact_;
  std::optional<solids::BarrierStep> barrier_;
};

/// Calls a Python function with the positions of all nodes after each move; None: nothing.
void watch(BarrierSystemStep& s, py::object function) {
  s.contact().on_iterate = nullptr;
  if (function.is_none()) return;
  const std::shared_ptr<py::object> kept(new py::object(std::move(function)), [](py::object* f) { with_gil([&] { delete f; }); });
  s.contact().on_iterate = [kept](solids::ConstPoints x) {
    with_gil([&] { (*kept)(py::array_t<double>({static_cast<py::ssize_t>(x.size()), py::ssize_t{3}}, x[0].data())); });
  };
}

std::shared_ptr<solids::CoordinateForce> coordinate_force(const py::array& nodes, const py::array& masses,
                                                          const py::array& response, const py::array& places, double over,
                                                          double stiffness) {
  using Rows = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const auto* const r = data_of<double>(response, "response");
  require(response.ndim() == 3 && response.shape(1) == 3, "response must have shape (n, 3, d)");
  const auto numbers = indices_of(nodes, "nodes");
  const std::span<const std::int32_t> n = numbers;
  const auto m = values_of<double>(masses, "masses");
  const auto x = positions_of(places, "places");
  return std::make_shared<solids::CoordinateForce>(
      std::vector<std::int32_t>(n.begin(), n.end()), std::vector<double>(m.begin(), m.end()),
      Rows(r, 3 * response.shape(0), response.shape(2)), std::vector<mesh::Point>(x.begin(), x.end()), over, stiffness);
}

void bind_barrier_options(py::module_& m) {
  using Options = solids::BarrierStepOptions;
  py::class_<Options>(m, "BarrierStepOptions")
      .def(py::init<>())
      .def_readwrite("fixed_stiffness", &Options::fixed_stiffness)
      .def_readwrite("least_part", &Options::least_part)
      .def_readwrite("activation", &Options::activation)
      .def_readwrite("slip_speed", &Options::slip_speed)
      .def_readwrite("tolerance", &Options::tolerance)
      .def_readwrite("most", &Options::most)
      .def_readwrite("linear_tolerance", &Options::linear_tolerance)
      .def_readwrite("max_linear_iterations", &Options::max_linear_iterations)
      .def_readwrite("increments", &Options::increments);
  py::class_<solids::ContactSurfaces>(m, "ContactSurfaces")
      .def(py::init([](collision::CollisionMesh& mesh, const collision::ContactNodes& nodes, collision::Barrier& barrier,
                       const py::array& friction) {
             const double* mu = data_of<double>(friction, "friction", nodes.vertices());
             return solids::ContactSurfaces{&mesh, &nodes, &barrier, {mu, static_cast<std::size_t>(friction.size())}};
           }),
           py::arg("mesh"), py::arg("nodes"), py::arg("barrier"), py::arg("friction"), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>(), py::keep_alive<1, 4>(), py::keep_alive<1, 5>());
}

}  // namespace

void bind_barrier_step(py::module_& m) {
  using Step = BarrierSystemStep;
  bind_barrier_options(m);
  py::class_<solids::CoordinateForce, solids::Force, std::shared_ptr<solids::CoordinateForce>>(m, "CoordinateForce")
      .def(py::init(&coordinate_force), py::arg("nodes"), py::arg("masses"), py::arg("response"), py::arg("places"),
           py::arg("over"), py::arg("stiffness"));
  py::class_<Step>(m, "BarrierStep")
      .def(py::init<BarrierBodies, py::list, double, Workspace&, const solids::ContactSurfaces&, const py::list&, py::array,
                    py::array, double, bool, const solids::BarrierStepOptions&>(),
           py::arg("bodies"), py::arg("motions"), py::arg("dt"), py::arg("workspace"), py::arg("surfaces"), py::arg("solids"),
           py::arg("start"), py::arg("end"), py::arg("time"), py::arg("end_is_given"), py::arg("options"), py::keep_alive<1, 5>(),
           py::keep_alive<1, 6>())
      .def("watch", &watch, py::arg("function"))
      .def("begin", [](Step& s) { return interruptible([&] { return s.step().begin(); }); })
      .def(
          "meet", [](Step& s, double kept) { interruptible([&] { s.step().meet(kept); }); }, py::arg("stiffness"))
      .def(
          "set_stiffness", [](Step& s, double j) { s.contact().set_stiffness(j, j); }, py::arg("stiffness"))
      .def("approach", [](Step& s) { return interruptible([&] { return s.step().approach(); }); })
      .def(
          "minimise", [](Step& s, int most) { return interruptible([&] { return s.step().minimise(most); }); },
          py::arg("max_iterations"))
      .def("lag_friction", [](Step& s) { return interruptible([&] { return s.step().lag_friction(); }); })
      .def("commit", [](Step& s) { return interruptible([&] { return s.step().commit(); }); })
      .def(
          "positions",
          [](Step& s, const py::array& out) {
            const auto to = s.all(out, "out");
            interruptible([&] { s.contact().all(s.step().positions(), to); });
          },
          py::arg("out"))
      .def(
          "add_barrier_forces",
          [](Step& s, double stiffness, const py::array& out) {
            const auto to = s.all(out, "out");
            interruptible([&] { s.contact().add_barrier_forces(stiffness, to); });
          },
          py::arg("stiffness"), py::arg("out"))
      .def(
          "evaluate",
          [](Step& s, const py::array& x, const py::array& gradient) {
            const auto xs = s.in(x, "positions");
            const auto g = s.out(gradient, "gradient");
            return interruptible([&] { return s.step().evaluate(xs, g); });
          },
          py::arg("positions"), py::arg("gradient"))
      .def(
          "direction",
          [](Step& s, const py::array& x, const py::array& out) {
            const auto xs = s.in(x, "positions");
            const auto p = s.out(out, "out");
            interruptible([&] { s.step().direction(xs, p); });
          },
          py::arg("positions"), py::arg("out"))
      .def_property_readonly("fraction", [](Step& s) { return s.contact().fraction(); })
      .def_property_readonly("stiffness", [](Step& s) { return s.contact().stiffness(); })
      .def_property_readonly("closest", [](Step& s) { return s.contact().closest().first; })
      .def_property_readonly("near_solids", [](Step& s) { return s.contact().solids().size(); })
      .def_property_readonly("friction_pairs", [](Step& s) { return s.contact().friction_pairs(); })
      .def_property_readonly("tolerance", [](Step& s) { return s.step().tolerance(); })
      .def_property_readonly("iterations", [](Step& s) { return s.step().info().iterations; })
      .def_property_readonly("linear_iterations", [](Step& s) { return s.step().info().linear_iterations; })
      .def_property_readonly("increments", [](Step& s) { return s.step().increments(); });
}

}  // namespace meniscus::bindings
