// Steps of several bodies with barriers.
#include "solids/body_arrays.hpp"

#include "meniscus/solids/contact/barrier_step.hpp"

namespace meniscus::bindings {
namespace {

using BarrierBodies = std::vector<std::shared_ptr<solids::DeformableBody>>;

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
  using Points = solids::Points;

  BarrierSystemStep(BarrierBodies bodies, py::list motions, double dt, Workspace& workspace)
      : bodies_(std::move(bodies)),
        motions_(std::move(motions)),
        parts_(parts_of(bodies_, motions_)),
        step_(parts_, dt, workspace),
        potential_(step_) {}

  /// Positions and velocities at the start, and where nodes would be without forces, on their paths where these are given.
  void begin(Points x, Points v, Points ahead) {
    solids::nodes::copy(step_.positions(), x);
    step_.start(v);
    const solids::ScratchPoints mean = step_.scratch();
    solids::nodes::copy(v, mean);
    step_.hold_mean_velocities(mean);
    solids::nodes::each(step_.size(), [&](std::size_t i) { ahead[i] = x[i] + step_.dt() * mean[i]; });
    step_.hold_positions(solids::StepTime::end, ahead);
  }

  double commit(solids::ConstPoints x, Points v) {
    const solids::ConstPoints before = step_.positions();
    solids::nodes::each(step_.size(), [&](std::size_t i) { v[i] = (x[i] - before[i]) / step_.dt(); });
    step_.hold_velocities(solids::StepTime::end, v);
    return step_.commit(x, v);
  }

  const solids::BarrierStep& potential() const { return potential_; }
  solids::ConstPoints in(const py::array& a, const char* name) const { return points_of(a, name, step_.size()); }
  Points out(const py::array& a, const char* name) const { return writable_points(a, name, step_.size()); }

 private:
  BarrierBodies bodies_;
  py::list motions_;
  std::vector<solids::BodyInStep> parts_;
  solids::BodyStep step_;
  solids::BarrierStep potential_;
};

numerics::SolveInfo solve_barrier_step(BarrierSystemStep& s, const collision::ContactNodes& nodes, collision::Barrier& barrier,
                                       double stiffness, collision::BarrierFriction& friction, const py::array& single,
                                       const py::array& blocks, const py::array& gradient, const py::array& p, double tolerance,
                                       int max_iterations) {
  const auto numbers = indices_of(single, "single");
  const std::span<const std::int32_t> where(numbers);
  // Blocks are symmetric, so that it does not matter that Eigen stores columns.
  const double* first = data_of<double>(blocks, "blocks", 9 * static_cast<Index>(where.size()));
  const std::span<const solids::Block3> of_nodes{reinterpret_cast<const solids::Block3*>(first), where.size()};
  const auto g = points_of(gradient, "gradient", nodes.nodes());
  const auto out = writable_points(p, "direction", nodes.nodes());
  numerics::SolveInfo info;
  interruptible([&] {
    solids::BarrierTangent contact(nodes, barrier, stiffness, friction, where, of_nodes);
    numerics::SolveOptions options;
    options.tolerance = tolerance;
    options.max_iterations = max_iterations;
    s.potential().solve(contact, g, out, options, info);
  });
  return info;
}

}  // namespace

void bind_barrier_step(py::module_& m) {
  m.def(
      "add_to_nodes",
      [](const collision::ContactNodes& nodes, const py::array& of_vertices, const py::array& out) {
        const auto from = points_of(of_vertices, "of_vertices", nodes.vertices());
        const auto to = writable_points(out, "out", nodes.nodes());
        interruptible([&] { solids::add_to_nodes(nodes, from, to); });
      },
      py::arg("nodes"), py::arg("of_vertices"), py::arg("out"));
  py::class_<BarrierSystemStep>(m, "BarrierStep")
      .def(py::init<BarrierBodies, py::list, double, Workspace&>(), py::arg("bodies"), py::arg("motions"), py::arg("dt"),
           py::arg("workspace"), py::keep_alive<1, 5>())
      .def(
          "begin",
          [](BarrierSystemStep& s, const py::array& x, const py::array& v, const py::array& ahead) {
            const auto xs = s.out(x, "positions"), vs = s.out(v, "velocities"), to = s.out(ahead, "ahead");
            interruptible([&] { s.begin(xs, vs, to); });
          },
          py::arg("positions"), py::arg("velocities"), py::arg("ahead"))
      .def(
          "evaluate",
          [](const BarrierSystemStep& s, const py::array& x, const py::array& gradient) {
            const auto xs = s.in(x, "positions");
            const auto g = s.out(gradient, "gradient");
            return interruptible([&] { return s.potential().evaluate(xs, g); });
          },
          py::arg("positions"), py::arg("gradient"))
      .def(
          "linearise",
          [](const BarrierSystemStep& s, const py::array& x) {
            const auto xs = s.in(x, "positions");
            interruptible([&] { s.potential().linearise(xs); });
          },
          py::arg("positions"))
      .def("solve", &solve_barrier_step, py::arg("nodes"), py::arg("barrier"), py::arg("stiffness"), py::arg("friction"),
           py::arg("single"), py::arg("blocks"), py::arg("gradient"), py::arg("direction"), py::arg("tolerance"),
           py::arg("max_iterations"))
      .def(
          "commit",
          [](BarrierSystemStep& s, const py::array& x, const py::array& v) {
            const auto xs = s.in(x, "positions");
            const auto vs = s.out(v, "velocities");
            return interruptible([&] { return s.commit(xs, vs); });
          },
          py::arg("positions"), py::arg("velocities"));
}

}  // namespace meniscus::bindings
