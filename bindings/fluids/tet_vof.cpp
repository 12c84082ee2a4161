// Volume of fluid on moving tetrahedral meshes.
#include "collision/triangle_arrays.hpp"
#include "fluids/tet_graph.hpp"
#include "mesh/mesh_arrays.hpp"

#include "meniscus/fluids/tet_vof/conservation/overflow.hpp"
#include "meniscus/fluids/tet_vof/conservation/shut_in_water.hpp"
#include "meniscus/fluids/tet_vof/conservation/velocity_correction.hpp"
#include "meniscus/fluids/tet_vof/transport/mesh_walls.hpp"
#include "meniscus/fluids/tet_vof/transport/water_transport.hpp"
#include "meniscus/fluids/tet_vof/water_measures.hpp"

namespace meniscus::bindings {
namespace {

using OptionalArray = std::optional<py::array>;

fluids::TetWater water_of(const TetGraph& graph, const py::array& volume, const py::array& velocity) {
  return {values_of<double>(volume, "volume", graph.size(), true), vectors_of(velocity, "velocity", graph.size(), true)};
}

/// The two ends of a step, with the arrays that they are views of.
struct Step {
  GraphHandle graph;
  py::array before, after, ranks;
  OptionalArray distance_before, distance_after;
  py::array capacity;
  py::object locator_before, locator_after;
  Index level;
  double dt;
  fluids::TetTrace trace;
  fluids::SampleOptions samples;
  bool planes;
  bool open_boundary;

  template <class F>
  void with(F&& f) const {
    const TetGraph& g = *graph.graph;
    const fluids::PlacedMesh from{g, vectors_of(before, "before", g.vertices()),
                                  locator_before.cast<const collision::SubdivisionLocator&>(), level};
    const fluids::PlacedMesh to{g, vectors_of(after, "after", g.vertices()),
                                locator_after.cast<const collision::SubdivisionLocator&>(), level};
    std::span<const double> first, second;
    if (distance_before && distance_after) {
      first = values_of<const double>(*distance_before, "distance_before", g.vertices());
      second = values_of<const double>(*distance_after, "distance_after", g.vertices());
    }
    const auto rank = values_of<const std::int32_t>(ranks, "ranks", g.size());
    const auto room = values_of<const double>(capacity, "capacity", g.size());
    const fluids::TransportStep step{from, to, rank, first, second, room, dt, trace, samples, planes, open_boundary};
    interruptible([&] { f(step); });
  }
};

py::tuple left_arrays(const std::vector<fluids::LeftWater>& left) {
  const auto n = static_cast<py::ssize_t>(left.size());
  py::array_t<double> position({n, py::ssize_t{3}}), velocity({n, py::ssize_t{3}}), volume(n);
  py::array_t<std::int32_t> tet(n);
  for (py::ssize_t i = 0; i < n; ++i) {
    const fluids::LeftWater& w = left[i];
    std::copy_n(w.position.data(), 3, position.mutable_data(i));
    std::copy_n(w.velocity.data(), 3, velocity.mutable_data(i));
    volume.mutable_at(i) = w.volume;
    tet.mutable_at(i) = w.tet;
  }
  return py::make_tuple(position, velocity, volume, tet);
}

std::array<double, 3> numbers_of(const mesh::Point& p) { return {p[0], p[1], p[2]}; }

void bind_step(py::module_& m) {
  py::class_<Step>(m, "TransportStep")
      .def(py::init([](const GraphHandle& graph, const py::array& before, const py::array& after,
                       const py::object& locator_before, const py::object& locator_after, Index level, const py::array& ranks,
                       const OptionalArray& distance_before, const OptionalArray& distance_after, const py::array& capacity,
                       double dt, fluids::TetTrace trace, fluids::WaterSampling sampling, Index count, std::uint64_t seed,
                       std::uint32_t step, bool planes, bool open_boundary) {
             require(count >= 1 && count <= fluids::most_samples, "count must be in [1, ", fluids::most_samples, "], but is ",
                     count);
             if (sampling == fluids::WaterSampling::fixed) static_cast<void>(mesh::fixed_samples(count));
             if (sampling == fluids::WaterSampling::quadrature) static_cast<void>(mesh::quadrature_samples(count));
             const fluids::SampleOptions samples{sampling, count, seed, step};
             return Step{graph,         before, after, ranks, distance_before, distance_after, capacity,     locator_before,
                         locator_after, level,  dt,    trace, samples,         planes,         open_boundary};
           }),
           py::arg("graph"), py::arg("before"), py::arg("after"), py::arg("locator_before"), py::arg("locator_after"),
           py::arg("level"), py::arg("ranks"), py::arg("distance_before"), py::arg("distance_after"), py::arg("capacity"),
           py::arg("dt"), py::arg("trace"), py::arg("sampling"), py::arg("count"), py::arg("seed"), py::arg("step"),
           py::arg("planes"), py::arg("open_boundary"));
}

/// A mesh with water: graph, quantum and scratch memory of all stages.
struct WaterStages {
  GraphHandle graph;
  fluids::Quantum quantum;
  fluids::WaterTransport transport;
  fluids::Overflow overflow;
  fluids::VelocityCorrection correction;
  fluids::Parcels parcels;
  Workspace workspace;
  std::vector<fluids::LeftWater> left;

  WaterStages(const GraphHandle& g, double largest)
      : graph(g), quantum(largest), transport(*g.graph, quantum), overflow(*g.graph, quantum), correction(*g.graph) {}

  /// What has left the mesh, which is the caller's then.
  py::tuple taken_left() {
    py::tuple arrays = left_arrays(left);
    left.clear();
    return arrays;
  }

  fluids::WaterRoom room(const py::array& positions, const py::array& capacity, const py::array& ranks, bool open) const {
    const TetGraph& g = *graph.graph;
    return {g,
            vectors_of(positions, "positions", g.vertices()),
            values_of<const double>(capacity, "capacity", g.size()),
            values_of<const std::int32_t>(ranks, "ranks", g.size()),
            {},
            open};
  }
};

/// Volume and momentum (over density) of the water in all tetrahedra, which may be rounded before.
std::pair<double, mesh::Point> totals_of(const WaterStages& w, const fluids::TetWater& water, bool round) {
  if (round) fluids::round_water(water, w.quantum);
  return {fluids::total_volume(water.volume, w.quantum), fluids::total_momentum(water)};
}

py::tuple totals_of(const WaterStages& w, const py::array& volume, const py::array& velocity, bool round) {
  const auto water = water_of(*w.graph.graph, volume, velocity);
  const auto [sum, momentum] = interruptible([&] { return totals_of(w, water, round); });
  return py::make_tuple(sum, numbers_of(momentum));
}

void bind_transport_stages(py::class_<WaterStages>& type) {
  type.def(
          "request",
          [](WaterStages& w, const Step& step, const py::array& volume, const py::array& velocity, const py::array& tets,
             const py::array& velocities, bool outside) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            const fluids::WetBoundary boundary{values_of<const std::int32_t>(tets, "tets", tets.size()),
                                               vectors_of(velocities, "velocities", tets.size())};
            double sum = 0;
            mesh::Point momentum = mesh::Point::Zero();
            step.with([&](const fluids::TransportStep& s) {
              std::tie(sum, momentum) = totals_of(w, water, true);
              w.transport.request(water, s, boundary, outside);
            });
            return std::pair(sum, numbers_of(momentum));
          },
          py::arg("step"), py::arg("volume"), py::arg("velocity"), py::arg("tets"), py::arg("velocities"), py::arg("outside"))
      .def(
          "deliver",
          [](WaterStages& w, const py::array& volume, const py::array& velocity) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            interruptible([&] { w.transport.deliver(water); });
          },
          py::arg("volume"), py::arg("velocity"))
      .def(
          "forward",
          [](WaterStages& w, const Step& step, const py::array& volume, const py::array& velocity) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            mesh::Point impulse = mesh::Point::Zero();
            step.with([&](const fluids::TransportStep& s) { impulse = w.transport.forward(water, s, w.left, w.workspace); });
            const auto& count = w.transport.count();
            return py::make_tuple(numbers_of(impulse), count.points, count.overlaps, w.taken_left());
          },
          py::arg("step"), py::arg("volume"), py::arg("velocity"))
      .def(
          "expected",
          [](const WaterStages& w, const Step& step, const py::array& tets) {
            const auto t = values_of<const std::int32_t>(tets, "tets", tets.size());
            py::array_t<double> volume(tets.size());
            const std::span<double> out(volume.mutable_data(), t.size());
            step.with([&](const fluids::TransportStep& s) { w.transport.expected(t, s, out); });
            return volume;
          },
          py::arg("step"), py::arg("tets"))
      .def("outside_points",
           [](const WaterStages& w) {
             const auto& points = w.transport.outside_points();
             const auto n = static_cast<py::ssize_t>(points.size());
             py::array_t<double> position({n, py::ssize_t{3}}), volume(n);
             py::array_t<std::int32_t> tet(n);
             for (py::ssize_t i = 0; i < n; ++i) {
               const auto& p = points[i];
               std::copy_n(p.position.data(), 3, position.mutable_data(i));
               volume.mutable_at(i) = p.volume;
               tet.mutable_at(i) = p.tet;
             }
             return py::make_tuple(position, volume, tet);
           })
      .def("requests",
           [](const WaterStages& w) {
             std::vector<std::int32_t> receiver, donor;
             std::vector<double> volume;
             w.transport.for_requests([&](std::int32_t r, std::int32_t d, double v) {
               receiver.push_back(r);
               donor.push_back(d);
               volume.push_back(v);
             });
             return py::make_tuple(taken(std::move(receiver)), taken(std::move(donor)),
                                   py::array_t<double>(static_cast<py::ssize_t>(volume.size()), volume.data()));
           })
      .def("remainder", [](const WaterStages& w) {
        return py::make_tuple(fluids::total_volume(w.transport.remainder(), w.quantum),
                              numbers_of(w.transport.remaining_momentum()));
      });
}

void bind_walls(py::class_<WaterStages>& type) {
  type.def(
      "hold_at_walls",
      [](const WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& before,
         const py::array& after, double dt) {
        const TetGraph& g = *w.graph.graph;
        const auto water = water_of(g, volume, velocity);
        const auto x = vectors_of(before, "before", g.vertices());
        const auto y = vectors_of(after, "after", g.vertices());
        return numbers_of(interruptible([&] { return fluids::hold_at_walls(water, g, x, y, dt); }));
      },
      py::arg("volume"), py::arg("velocity"), py::arg("before"), py::arg("after"), py::arg("dt"));
}

void bind_measures(py::class_<WaterStages>& type) {
  type.def(
          "total_volume",
          [](const WaterStages& w, const py::array& volume) {
            const auto v = values_of<const double>(volume, "volume", volume.size());
            return interruptible([&] { return fluids::total_volume(v, w.quantum); });
          },
          py::arg("volume"))
      .def(
          "round_water",
          [](const WaterStages& w, const py::array& volume, const py::array& velocity) {
            return totals_of(w, volume, velocity, true);
          },
          py::arg("volume"), py::arg("velocity"))
      .def(
          "totals",
          [](const WaterStages& w, const py::array& volume, const py::array& velocity) {
            return totals_of(w, volume, velocity, false);
          },
          py::arg("volume"), py::arg("velocity"))
      .def(
          "capacity",
          [](const WaterStages& w, const py::array& positions, const OptionalArray& solid, const OptionalArray& porosity,
             const py::array& kinds, const py::array& capacity) {
            const TetGraph& g = *w.graph.graph;
            const auto x = vectors_of(positions, "positions", g.vertices());
            const auto k = values_of<const std::uint8_t>(kinds, "kinds", g.size());
            const auto c = values_of<double>(capacity, "capacity", g.size(), true);
            std::span<const double> s, p;
            if (solid) s = values_of<const double>(*solid, "solid", g.size());
            if (porosity) p = values_of<const double>(*porosity, "porosity", g.size());
            interruptible([&] {
              fluids::measure_capacity(g.tets(), x, s, p, {reinterpret_cast<const fluids::TetKind*>(k.data()), k.size()}, c);
            });
          },
          py::arg("positions"), py::arg("solid"), py::arg("porosity"), py::arg("kinds"), py::arg("capacity"))
      .def(
          "accelerate",
          [](const WaterStages& w, const py::array& volume, const py::array& velocity, const std::array<double, 3>& change) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            const mesh::Point c(change[0], change[1], change[2]);
            return numbers_of(interruptible([&] { return fluids::accelerate(water, c); }));
          },
          py::arg("volume"), py::arg("velocity"), py::arg("change"))
      .def(
          "adhere",
          [](const WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& distances,
             const py::array& normals, const py::array& strengths, const OptionalArray& directions, double reach, double dt) {
            const TetGraph& g = *w.graph.graph;
            const auto water = water_of(g, volume, velocity);
            const auto phi = values_of<const double>(distances, "distances", g.vertices());
            const auto n = vectors_of(normals, "normals", g.size());
            const auto a = values_of<const double>(strengths, "strengths", strengths.size());
            require(strengths.size() == 1 || strengths.size() == g.size(),
                    "strengths must have one value, or one per tetrahedron");
            std::span<const mesh::Point> d;
            if (directions) {
              require(directions->size() == 3 || directions->size() == 3 * g.size(),
                      "directions must have one row, or one per tetrahedron");
              d = vectors_of(*directions, "directions", directions->size() / 3);
            }
            return numbers_of(interruptible([&] { return fluids::adhere(water, g.tets(), phi, n, a, d, reach, dt); }));
          },
          py::arg("volume"), py::arg("velocity"), py::arg("distances"), py::arg("normals"), py::arg("strengths"),
          py::arg("directions"), py::arg("reach"), py::arg("dt"));
}

void bind_conservation_stages(py::class_<WaterStages>& type) {
  type.def(
          "smear",
          [](WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& positions,
             const py::array& capacity, const py::array& ranks, double debris, bool open, Index iterations) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            auto room = w.room(positions, capacity, ranks, true);
            interruptible([&] {
              w.overflow.merge_debris(water, room, debris, w.workspace);
              room.open_boundary = open;
              w.overflow.smear(water, room, iterations);
            });
          },
          py::arg("volume"), py::arg("velocity"), py::arg("positions"), py::arg("capacity"), py::arg("ranks"), py::arg("debris"),
          py::arg("open_boundary"), py::arg("iterations"))
      .def(
          "free_shut_in_water",
          [](WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& positions,
             const py::array& capacity, const py::array& ranks) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            const auto room = w.room(positions, capacity, ranks, false);
            interruptible([&] { fluids::free_shut_in_water(water, room, w.quantum, w.parcels, w.workspace); });
          },
          py::arg("volume"), py::arg("velocity"), py::arg("positions"), py::arg("capacity"), py::arg("ranks"))
      .def(
          "push_out",
          [](WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& positions,
             const py::array& capacity, const py::array& ranks, bool open, const OptionalArray& closed, std::int32_t highest,
             bool nearest_room, const py::array& beside_water) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            auto room = w.room(positions, capacity, ranks, open);
            if (closed) room.closed = values_of<const std::uint8_t>(*closed, "closed", w.graph.graph->size());
            room.nearest_room = nearest_room;
            room.beside_water = values_of<const std::int32_t>(beside_water, "beside_water", beside_water.size());
            interruptible([&] { w.overflow.push_out(water, room, highest, w.left, w.workspace); });
            return py::make_tuple(w.overflow.enclosed(), w.overflow.enclosed_volume(), w.taken_left());
          },
          py::arg("volume"), py::arg("velocity"), py::arg("positions"), py::arg("capacity"), py::arg("ranks"),
          py::arg("open_boundary"), py::arg("closed"), py::arg("highest"), py::arg("nearest_room"), py::arg("beside_water"))
      .def(
          "correct",
          [](WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& positions,
             const py::array& capacity, const py::array& ranks, const py::array& normals, const py::array& solid,
             std::int32_t highest, bool whole) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            const auto room = w.room(positions, capacity, ranks, true);
            const auto n = vectors_of(normals, "normals", w.graph.graph->size());
            const auto v = vectors_of(solid, "solid", w.graph.graph->size());
            const mesh::Point p =
                interruptible([&] { return w.correction.correct(water, room, n, v, highest, whole, w.quantum); });
            return numbers_of(p);
          },
          py::arg("volume"), py::arg("velocity"), py::arg("positions"), py::arg("capacity"), py::arg("ranks"), py::arg("normals"),
          py::arg("solid"), py::arg("highest"), py::arg("whole"))
      .def(
          "add",
          [](WaterStages& w, const py::array& volume, const py::array& velocity, const py::array& tets, const py::array& volumes,
             const py::array& velocities) {
            const auto water = water_of(*w.graph.graph, volume, velocity);
            const auto t = values_of<const std::int32_t>(tets, "tets", tets.size());
            const auto v = values_of<const double>(volumes, "volumes", tets.size());
            const auto u = vectors_of(velocities, "velocities", tets.size());
            interruptible([&] {
              w.parcels.begin(1);
              for (std::size_t i = 0; i < t.size(); ++i)
                if (v[i] > 0) w.parcels.piece(0).push_back({w.quantum.nearest(v[i]), u[i], t[i]});
              w.parcels.add_to(water, w.workspace);
            });
          },
          py::arg("volume"), py::arg("velocity"), py::arg("tets"), py::arg("volumes"), py::arg("velocities"))
      .def("forget_left", [](WaterStages& w) { w.left.clear(); });
}

}  // namespace

void bind_tet_vof(py::module_& m) {
  py::native_enum<fluids::TetTrace>(m, "TetTrace", "enum.Enum")
      .value("per_tet", fluids::TetTrace::per_tet)
      .value("per_node", fluids::TetTrace::per_node)
      .finalize();
  py::native_enum<fluids::WaterSampling>(m, "WaterSampling", "enum.Enum")
      .value("random", fluids::WaterSampling::random)
      .value("independent", fluids::WaterSampling::independent)
      .value("fixed", fluids::WaterSampling::fixed)
      .value("quadrature", fluids::WaterSampling::quadrature)
      .value("exact", fluids::WaterSampling::exact)
      .value("adaptive", fluids::WaterSampling::adaptive)
      .finalize();
  m.def(
      "tet_volumes",
      [](const py::array& positions, const py::array& tets) {
        const auto x = positions_of(positions, "positions");
        const auto t = elements_of<4>(tets, "tets");
        const auto [largest, mean] = interruptible([&] { return fluids::largest_and_mean_volume(t, x); });
        return std::pair(largest, mean);
      },
      py::arg("positions"), py::arg("tets"));
  bind_tet_graph(m);
  bind_step(m);
  py::class_<WaterStages> stages(m, "TetWaterStages");
  stages.def(py::init<const GraphHandle&, double>(), py::arg("graph"), py::arg("largest"))
      .def_property_readonly("quantum", [](const WaterStages& w) { return w.quantum.size(); })
      .def_property_readonly("nbytes", [](const WaterStages& w) {
        return w.transport.nbytes() + w.overflow.nbytes() + w.correction.nbytes() + w.parcels.nbytes() +
               static_cast<std::size_t>(w.workspace.bytes());
      });
  bind_transport_stages(stages);
  bind_conservation_stages(stages);
  bind_measures(stages);
  bind_walls(stages);
}

}  // namespace meniscus::bindings
