// Lattice Boltzmann flows.
#include "bridge.hpp"

#include "meniscus/fluids/lattice/lattice_flow.hpp"

namespace meniscus::bindings {
namespace {

namespace lattice = fluids::lattice;
using lattice::LatticeFlow;

/// An array of doubles with one number for each cell, or `parts` of them.
py::array_t<double> cell_values(const LatticeFlow& flow, Index parts) {
  std::vector<py::ssize_t> shape;
  if (parts > 1) shape.push_back(static_cast<py::ssize_t>(parts));
  for (const Index n : flow.cells()) shape.push_back(static_cast<py::ssize_t>(n));
  return py::array_t<double>(shape);
}

Index count_of(const LatticeFlow& flow) {
  Index n = 1;
  for (const Index c : flow.cells()) n *= c;
  return n;
}

/// An array of doubles with `rows` rows.
py::array_t<double> lattice_rows(Index rows, Index columns) {
  return py::array_t<double>(std::vector<py::ssize_t>{static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)});
}

void bind_solids(py::class_<LatticeFlow>& flow_class) {
  flow_class.def("begin_solids", &LatticeFlow::begin_solids)
      .def(
          "add_solid_cells",
          [](LatticeFlow& flow, const std::vector<Index>& lower, const std::vector<Index>& upper, const py::array& distance) {
            const Index dimension = flow.dimension();
            require(static_cast<Index>(lower.size()) == dimension && static_cast<Index>(upper.size()) == dimension,
                    "corners must have one number for each axis");
            Index count = 1;
            for (std::size_t d = 0; d < lower.size(); ++d) {
              require(lower[d] >= 0 && upper[d] <= flow.cells()[d] && lower[d] <= upper[d], "the box must lie in the domain");
              count *= upper[d] - lower[d];
            }
            flow.add_solid_cells(lower.data(), upper.data(), data_of<double>(distance, "distance", count));
          },
          py::arg("lower"), py::arg("upper"), py::arg("distance"))
      .def("find_links", &LatticeFlow::find_links)
      .def(
          "link_points",
          [](const LatticeFlow& flow, double fraction) {
            auto out = lattice_rows(flow.link_count(), flow.dimension());
            flow.link_points(fraction, out.mutable_data());
            return out;
          },
          py::arg("fraction"))
      .def(
          "set_link_ends",
          [](LatticeFlow& flow, const py::array& distance, bool solid) {
            flow.set_link_ends(data_of<double>(distance, "distance", flow.link_count()), solid);
          },
          py::arg("distance"), py::arg("solid"))
      .def(
          "narrow_links",
          [](LatticeFlow& flow, const py::array& distance) {
            flow.narrow_links(data_of<double>(distance, "distance", flow.link_count()));
          },
          py::arg("distance"))
      .def(
          "prepare_links",
          [](LatticeFlow& flow, const std::optional<py::array>& velocities, const std::optional<py::array>& owners,
             bool interpolated) {
            const Index n = flow.link_count();
            flow.prepare_links(velocities ? data_of<double>(*velocities, "velocities", n * flow.dimension()) : nullptr,
                               owners ? data_of<std::int32_t>(*owners, "owners", n) : nullptr, interpolated);
          },
          py::arg("velocities"), py::arg("owners"), py::arg("interpolated"))
      .def("link_forces",
           [](const LatticeFlow& flow) {
             auto out = lattice_rows(flow.link_count(), flow.dimension());
             flow.link_forces(out.mutable_data());
             return out;
           })
      .def(
          "changed_points",
          [](const LatticeFlow& flow, bool covered) {
            auto out = lattice_rows(flow.changed_count(covered), flow.dimension());
            flow.changed_points(covered, out.mutable_data());
            return out;
          },
          py::arg("covered"))
      .def(
          "changed_contents",
          [](const LatticeFlow& flow, bool covered) {
            auto out = lattice_rows(flow.changed_count(covered), 1 + flow.dimension());
            flow.changed_contents(covered, out.mutable_data());
            return out;
          },
          py::arg("covered"))
      .def(
          "fill_uncovered",
          [](LatticeFlow& flow, const py::array& velocities) {
            flow.fill_uncovered(data_of<double>(velocities, "velocities", flow.changed_count(false) * flow.dimension()));
          },
          py::arg("velocities"));
}

}  // namespace

void bind_lattice(py::module_& m) {
  py::native_enum<lattice::LatticeSet>(m, "LatticeSet", "enum.Enum")
      .value("D2Q9", lattice::LatticeSet::D2Q9)
      .value("D3Q15", lattice::LatticeSet::D3Q15)
      .value("D3Q19", lattice::LatticeSet::D3Q19)
      .value("D3Q27", lattice::LatticeSet::D3Q27)
      .finalize();
  py::native_enum<lattice::LatticeStorage>(m, "LatticeStorage", "enum.Enum")
      .value("float64", lattice::LatticeStorage::float64)
      .value("float32", lattice::LatticeStorage::float32)
      .value("int16", lattice::LatticeStorage::int16)
      .finalize();
  py::native_enum<lattice::Streaming>(m, "LatticeStreaming", "enum.Enum")
      .value("in_place", lattice::Streaming::in_place)
      .value("two_lattices", lattice::Streaming::two_lattices)
      .finalize();
  py::native_enum<lattice::CollisionKind>(m, "LatticeCollision", "enum.Enum")
      .value("bgk", lattice::CollisionKind::bgk)
      .value("trt", lattice::CollisionKind::trt)
      .value("cumulant", lattice::CollisionKind::cumulant)
      .finalize();
  py::native_enum<lattice::EddyForm>(m, "EddyForm", "enum.Enum")
      .value("consistent", lattice::EddyForm::consistent)
      .value("printed", lattice::EddyForm::printed)
      .finalize();
  py::native_enum<lattice::SideKind>(m, "LatticeSide", "enum.Enum")
      .value("around", lattice::SideKind::around)
      .value("no_slip", lattice::SideKind::no_slip)
      .value("free_slip", lattice::SideKind::free_slip)
      .value("pressure", lattice::SideKind::pressure)
      .value("outflow", lattice::SideKind::outflow)
      .finalize();

  py::class_<lattice::CollisionRule>(m, "CollisionRule")
      .def(py::init([](lattice::CollisionKind kind, double viscosity, double magic, const std::vector<double>& force,
                       double smagorinsky, lattice::EddyForm form, double limit) {
             lattice::CollisionRule rule{kind, viscosity, magic, {}, smagorinsky, form, limit};
             for (std::size_t d = 0; d < force.size() && d < 3; ++d) rule.force[d] = force[d];
             return rule;
           }),
           py::arg("kind"), py::arg("viscosity"), py::arg("magic"), py::arg("force"), py::arg("smagorinsky"), py::arg("form"),
           py::arg("limit"))
      .def_property_readonly("tau", &lattice::CollisionRule::tau);

  using lattice::CollisionRule;
  py::class_<LatticeFlow> flow_class(m, "LatticeFlow");
  bind_solids(flow_class);
  flow_class.def_property_readonly("directions", &LatticeFlow::directions)
      .def_property_readonly("velocities", &LatticeFlow::velocities)
      .def_property_readonly("weights", &LatticeFlow::weights)
      .def_property_readonly("nbytes", &LatticeFlow::bytes)
      .def(
          "set_side",
          [](LatticeFlow& flow, int number, lattice::SideKind kind, const std::vector<double>& velocity, double density,
             double relaxation, const std::optional<py::array>& profile) {
            lattice::Side& side = flow.side(number);
            side.kind = kind;
            side.velocity = {};
            for (std::size_t d = 0; d < velocity.size() && d < 3; ++d) side.velocity[d] = velocity[d];
            side.density = density;
            side.relaxation = relaxation;
            side.set_profile(
                profile ? std::span<const double>(data_of<double>(*profile, "profile"), static_cast<std::size_t>(profile->size()))
                        : std::span<const double>());
          },
          py::arg("number"), py::arg("kind"), py::arg("velocity"), py::arg("density"), py::arg("relaxation"), py::arg("profile"))
      .def(
          "step",
          [](LatticeFlow& flow, const CollisionRule& rule) {
            const auto report = interruptible([&] { return flow.step(rule); });
            return std::pair(report.max_speed, report.refused);
          },
          py::arg("rule"))
      .def("read",
           [](const LatticeFlow& flow) {
             auto out = cell_values(flow, flow.directions());
             double* to = out.mutable_data();
             interruptible([&] { flow.read(to); });
             return out;
           })
      .def(
          "write",
          [](LatticeFlow& flow, const py::array& values) {
            const double* from = data_of<double>(values, "populations", count_of(flow) * flow.directions());
            interruptible([&] { flow.write(from); });
          },
          py::arg("populations"))
      .def("save",
           [](const LatticeFlow& flow) {
             py::array_t<std::uint8_t> out(static_cast<py::ssize_t>(flow.saved_bytes()));
             auto* to = reinterpret_cast<std::byte*>(out.mutable_data());
             interruptible([&] { flow.save(to); });
             return out;
           })
      .def(
          "restore",
          [](LatticeFlow& flow, const py::array& saved) {
            const auto* from =
                reinterpret_cast<const std::byte*>(data_of<std::uint8_t>(saved, "populations", flow.saved_bytes()));
            flow.restore(from);
          },
          py::arg("saved"))
      .def_property_readonly("memory", &LatticeFlow::memory)
      .def(
          "set_memory", [](LatticeFlow& flow, const std::vector<double>& values) { flow.set_memory(values); }, py::arg("values"))
      .def(
          "moments",
          [](const LatticeFlow& flow, const CollisionRule& rule, const py::array& density, const py::array& velocity) {
            double* rho = data_of<double>(density, "density", count_of(flow), true);
            double* u = data_of<double>(velocity, "velocity", count_of(flow) * flow.dimension(), true);
            interruptible([&] { flow.moments(rule, rho, u); });
          },
          py::arg("rule"), py::arg("density"), py::arg("velocity"))
      .def(
          "strain",
          [](const LatticeFlow& flow, const CollisionRule& rule) {
            auto norm = cell_values(flow, 1), viscosity = cell_values(flow, 1);
            double *to = norm.mutable_data(), *also = viscosity.mutable_data();
            interruptible([&] { flow.strain(rule, to, also); });
            return std::pair(norm, viscosity);
          },
          py::arg("rule"))
      .def(
          "set_moments",
          [](LatticeFlow& flow, const CollisionRule& rule, const py::array& density, const py::array& velocity,
             const std::optional<py::array>& gradients) {
            const Index n = count_of(flow), d = flow.dimension();
            const double* rho = data_of<double>(density, "density", n);
            const double* u = data_of<double>(velocity, "velocity", n * d);
            const double* g = gradients ? data_of<double>(*gradients, "gradients", n * d * d) : nullptr;
            flow.set_moments(rule, rho, u, g);
          },
          py::arg("rule"), py::arg("density"), py::arg("velocity"), py::arg("gradients"))
      .def("rescale", &LatticeFlow::rescale, py::arg("before"), py::arg("after"), py::arg("ratio"))
      .def_property_readonly("totals", &LatticeFlow::totals);

  m.def(
      "new_lattice_flow",
      [](lattice::LatticeSet set, lattice::LatticeStorage storage, lattice::Streaming streaming, const std::vector<Index>& cells,
         double unit) { return lattice::make_lattice_flow(set, storage, streaming, cells, unit); },
      py::arg("set"), py::arg("storage"), py::arg("streaming"), py::arg("cells"), py::arg("unit"));
}

}  // namespace meniscus::bindings
