// Surfaces of triangles that are improved, merge and split as they move.
#include "collision/pair_arrays.hpp"
#include "mesh/mesh_arrays.hpp"

#include "meniscus/surface/tracking/motions/mean_curvature.hpp"
#include "meniscus/surface/tracking/motions/normal_motion.hpp"
#include "meniscus/surface/tracking/tracked_surface.hpp"

namespace meniscus::bindings {
namespace {

using mesh::EventKind;
using mesh::SurfaceEvents;
using surface::TrackedSurface;

std::span<const std::uint8_t> flags_of(const std::optional<py::array>& flags) {
  if (!flags) return {};
  return {reinterpret_cast<const std::uint8_t*>(data_of<bool>(*flags, "fixed")), static_cast<std::size_t>(flags->size())};
}

/// A copy as an array (n,) or (n, columns).
template <class Out, class T>
py::array copied(const std::vector<T>& values) {
  constexpr auto columns = static_cast<py::ssize_t>(sizeof(T) / sizeof(Out));
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(values.size())};
  if (columns > 1) shape.push_back(columns);
  py::array_t<Out> a(shape);
  std::copy_n(reinterpret_cast<const Out*>(values.data()), values.size() * static_cast<std::size_t>(columns), a.mutable_data());
  return a;
}

/// A read-only view (n, 3) of a block.
template <class Scalar, class T>
py::array sealed_view(Block<T>& block) {
  const Index rows = block.size() * static_cast<Index>(sizeof(T)) / static_cast<Index>(3 * sizeof(Scalar));
  py::array a = view(reinterpret_cast<Scalar*>(block.data()), Coord<2>{rows, 3}, Coord<2>{3, 1}, block.memory());
  a.attr("flags").attr("writeable") = false;
  return a;
}

/// An observer that asks a Python function.
surface::Observer observer_of(const py::object& ask) {
  if (ask.is_none()) return {};
  return [&ask](EventKind kind, std::span<const std::int32_t> vertices) {
    const py::gil_scoped_acquire gil;
    return ask(kind, py::array_t<std::int32_t>(static_cast<py::ssize_t>(vertices.size()), vertices.data())).cast<bool>();
  };
}

py::dict counts_of(const surface::OperationCounts& counts) {
  static constexpr std::array names{"done", "intersection", "enclosed", "volume", "normal", "shape", "topology", "veto"};
  static_assert(names.size() == surface::refusals);
  py::dict out;
  for (std::size_t k = 0; k < names.size(); ++k) out[names[k]] = counts.ends[k];
  return out;
}

void bind_options(py::module_& m) {
  using surface::TrackingOptions;
  py::native_enum<surface::MergeGaps>(m, "MergeGaps", "enum.Enum")
      .value("none", surface::MergeGaps::none)
      .value("outside", surface::MergeGaps::outside)
      .value("inside", surface::MergeGaps::inside)
      .value("both", surface::MergeGaps::both)
      .finalize();
  py::native_enum<EventKind>(m, "EventKind", "enum.Enum")
      .value("split", EventKind::split)
      .value("flip", EventKind::flip)
      .value("collapse", EventKind::collapse)
      .value("pinch", EventKind::pinch)
      .value("merge", EventKind::merge)
      .finalize();
  py::native_enum<mesh::CarryRule>(m, "CarryRule", "enum.Enum")
      .value("interpolate", mesh::CarryRule::interpolate)
      .value("inherit", mesh::CarryRule::inherit)
      .value("sum", mesh::CarryRule::sum)
      .value("largest", mesh::CarryRule::largest)
      .finalize();
  py::native_enum<mesh::CarryOn>(m, "CarryOn", "enum.Enum")
      .value("vertices", mesh::CarryOn::vertices)
      .value("edges", mesh::CarryOn::edges)
      .value("triangles", mesh::CarryOn::triangles)
      .finalize();
  py::class_<TrackingOptions>(m, "TrackingOptions")
      .def(py::init<>())
      .def_readwrite("edge_length", &TrackingOptions::edge_length)
      .def_readwrite("longest", &TrackingOptions::longest)
      .def_readwrite("shortest", &TrackingOptions::shortest)
      .def_readwrite("volume_change", &TrackingOptions::volume_change)
      .def_readwrite("curvature", &TrackingOptions::curvature)
      .def_readwrite("finest", &TrackingOptions::finest)
      .def_readwrite("least_angle", &TrackingOptions::least_angle)
      .def_readwrite("largest_angle", &TrackingOptions::largest_angle)
      .def_readwrite("split", &TrackingOptions::split)
      .def_readwrite("flip", &TrackingOptions::flip)
      .def_readwrite("collapse", &TrackingOptions::collapse)
      .def_readwrite("smooth", &TrackingOptions::smooth)
      .def_readwrite("topology", &TrackingOptions::topology)
      .def_readwrite("safety", &TrackingOptions::safety)
      .def_readwrite("merge", &TrackingOptions::merge)
      .def_readwrite("merge_distance", &TrackingOptions::merge_distance)
      .def_readwrite("proximity", &TrackingOptions::proximity)
      .def_readwrite("butterfly", &TrackingOptions::butterfly)
      .def_readwrite("keep_volume", &TrackingOptions::keep_volume)
      .def_readwrite("frozen_boundary", &TrackingOptions::frozen_boundary)
      .def_readwrite("ridge", &TrackingOptions::ridge)
      .def_readwrite("flip_sweeps", &TrackingOptions::flip_sweeps);
}

/// First rows of the events, targets, sources, weights and shares.
template <class T>
py::tuple transfer_columns(const std::vector<T>& rows, const std::vector<Index>& first) {
  std::vector<decltype(T::target)> targets, sources;
  std::vector<double> weights, shares;
  for (const T& row : rows) {
    targets.push_back(row.target);
    sources.push_back(row.source);
    weights.push_back(row.weight);
    shares.push_back(row.share);
  }
  return py::make_tuple(copied<Index>(first), copied<std::int32_t>(targets), copied<std::int32_t>(sources),
                        copied<double>(weights), copied<double>(shares));
}

void bind_events(py::module_& m) {
  py::class_<SurfaceEvents>(m, "SurfaceEvents")
      .def("__len__", &SurfaceEvents::size)
      .def_property_readonly("kinds", [](const SurfaceEvents& self) { return copied<std::int8_t>(self.kinds); })
      .def_property_readonly("first_change", [](const SurfaceEvents& self) { return copied<Index>(self.first_change); })
      .def_property_readonly("changes", [](const SurfaceEvents& self) { return copied<std::int8_t>(self.changes); })
      .def_property_readonly("which", [](const SurfaceEvents& self) { return copied<std::int32_t>(self.which); })
      .def_property_readonly("rows", [](const SurfaceEvents& self) { return copied<std::int32_t>(self.rows); })
      .def_property_readonly("points", [](const SurfaceEvents& self) { return copied<double>(self.points); })
      .def_property_readonly("corners", [](const SurfaceEvents& self) { return copied<std::int32_t>(self.corners); })
      .def_property_readonly("vertices", [](const SurfaceEvents& self) { return copied<std::int32_t>(self.vertices); })
      .def_property_readonly("triangles", [](const SurfaceEvents& self) { return copied<std::int32_t>(self.triangles); })
      .def("transfers",
           [](const SurfaceEvents& self, mesh::CarryOn on) {
             if (on == mesh::CarryOn::edges) return transfer_columns(self.edge_transfers, self.first_edge_transfer);
             if (on == mesh::CarryOn::triangles) return transfer_columns(self.triangle_transfers, self.first_triangle_transfer);
             return transfer_columns(self.vertex_transfers, self.first_vertex_transfer);
           })
      .def("replay",
           [](const SurfaceEvents& self, const py::array& vertices, const py::array& triangles) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = triangles_of(triangles);
             const std::span<const mesh::Triangle> rows = t;
             std::vector<mesh::Point> points(x.begin(), x.end());
             std::vector<mesh::Triangle> corners(rows.begin(), rows.end());
             interruptible([&] { mesh::replay(self, points, corners); });
             return py::make_tuple(copied<double>(points), copied<std::int32_t>(corners));
           })
      .def("carry", [](const SurfaceEvents& self, mesh::CarryOn on, mesh::CarryRule rule, const py::array& before,
                       const py::array& before_edges, const py::array& after_edges) {
        const double* const values = data_of<double>(before, "values");
        const auto columns = static_cast<int>(before.shape(1));
        const auto from = elements_of<2>(before_edges, "edges"), to = elements_of<2>(after_edges, "edges");
        std::vector<double> after;
        interruptible(
            [&] { mesh::carry(self, on, rule, columns, {values, static_cast<std::size_t>(before.size())}, from, to, after); });
        py::array_t<double> out({static_cast<py::ssize_t>(after.size()) / columns, static_cast<py::ssize_t>(columns)});
        std::copy(after.begin(), after.end(), out.mutable_data());
        return out;
      });
}

void bind_motions(py::module_& m) {
  py::native_enum<surface::NormalMotion>(m, "NormalMotion", "enum.Enum")
      .value("faces", surface::NormalMotion::faces)
      .value("vertices", surface::NormalMotion::vertices)
      .finalize();
  m.def("offset_faces", [](const py::array& vertices, const py::array& triangles, const py::array& offsets,
                           surface::NormalMotion method, double ridge) {
    const auto x = positions_of(vertices, "vertices");
    const auto t = triangles_of(triangles);
    const mesh::TriangleMeshView mesh{x, t};
    const double* const first = data_of<double>(offsets, "offsets", mesh.size());
    std::vector<mesh::Point> out(x.size());
    interruptible([&] { surface::offset_faces(mesh, {first, mesh.triangles.size()}, method, ridge, out); });
    return copied<double>(out);
  });
  m.def("largest_step", [](const py::array& vertices, const py::array& triangles, const py::array& displacements) {
    const auto x = positions_of(vertices, "vertices"), u = positions_of(displacements, "displacements");
    const auto t = triangles_of(triangles);
    return interruptible([&] { return surface::largest_step({x, t}, u); });
  });
  m.def("curvature_velocity", [](const py::array& vertices, const py::array& triangles) {
    const auto x = positions_of(vertices, "vertices");
    const auto t = triangles_of(triangles);
    std::vector<mesh::Point> out(x.size());
    const double weight = interruptible([&] { return surface::curvature_velocity({x, t}, out); });
    return py::make_tuple(copied<double>(out), weight);
  });
  m.def("curvature_step", [](const py::array& vertices, const py::array& triangles, double dt, const py::array& fixed) {
    const auto x = positions_of(vertices, "vertices");
    const auto t = triangles_of(triangles);
    std::vector<mesh::Point> out(x.size());
    const auto flags = flags_of(fixed);
    const int iterations = interruptible([&] { return surface::curvature_step({x, t}, dt, flags, out); });
    return py::make_tuple(copied<double>(out), iterations);
  });
  m.def("surface_defects", [](const py::array& triangles) {
    const auto t = triangles_of(triangles);
    const mesh::SurfaceDefects d = interruptible([&] { return mesh::find_defects(t); });
    return py::dict(py::arg("boundary_edges") = d.boundary_edges, py::arg("odd_edges") = d.odd_edges,
                    py::arg("crowded_edges") = d.crowded_edges, py::arg("unpaired_edges") = d.unpaired_edges,
                    py::arg("repeated_corners") = d.repeated_corners, py::arg("repeated_triangles") = d.repeated_triangles);
  });
}

}  // namespace

void bind_tracking(py::module_& m) {
  bind_options(m);
  bind_events(m);
  bind_motions(m);
  py::class_<surface::TrackingCounts>(m, "TrackingCounts")
      .def_property_readonly("split", [](const surface::TrackingCounts& c) { return counts_of(c.split); })
      .def_property_readonly("flip", [](const surface::TrackingCounts& c) { return counts_of(c.flip); })
      .def_property_readonly("collapse", [](const surface::TrackingCounts& c) { return counts_of(c.collapse); })
      .def_property_readonly("merge", [](const surface::TrackingCounts& c) { return counts_of(c.merge); })
      .def_readonly("pinches", &surface::TrackingCounts::pinches)
      .def_readonly("flaps", &surface::TrackingCounts::flaps)
      .def_readonly("residues", &surface::TrackingCounts::residues)
      .def_readonly("second_ways", &surface::TrackingCounts::second_ways)
      .def_readonly("flip_sweeps", &surface::TrackingCounts::flip_sweeps)
      .def_readonly("smoothed", &surface::TrackingCounts::smoothed)
      .def_readonly("limited", &surface::TrackingCounts::limited);
  py::class_<surface::MotionReport>(m, "MotionReport")
      .def_readonly("repelled", &surface::MotionReport::repelled)
      .def_readonly("pushed", &surface::MotionReport::pushed)
      .def_readonly("zone_vertices", &surface::MotionReport::zone_vertices)
      .def_readonly("fraction", &surface::MotionReport::fraction)
      .def_readonly("pinched", &surface::MotionReport::pinched)
      .def_property_readonly("contacts", [](const surface::MotionReport& r) { return r.contacts.contacts; });
  py::class_<TrackedSurface>(m, "TrackedSurface")
      .def(py::init([](const py::array& vertices, const py::array& triangles, const std::optional<py::array>& fixed,
                       const surface::TrackingOptions& options) {
        const auto x = positions_of(vertices, "vertices");
        const auto t = triangles_of(triangles);
        const auto flags = flags_of(fixed);
        return interruptible([&] { return std::make_unique<TrackedSurface>(mesh::TriangleMeshView{x, t}, flags, options); });
      }))
      .def_property_readonly("vertices", [](TrackedSurface& self) { return sealed_view<double>(self.vertex_block()); })
      .def_property_readonly("triangles", [](TrackedSurface& self) { return sealed_view<std::int32_t>(self.triangle_block()); })
      .def_property_readonly("fixed",
                             [](const TrackedSurface& self) {
                               py::array_t<bool> out(static_cast<py::ssize_t>(self.fixed().size()));
                               std::copy(self.fixed().begin(), self.fixed().end(), out.mutable_data());
                               return out;
                             })
      .def_property_readonly("generation", &TrackedSurface::generation)
      .def_property_readonly("nbytes", &TrackedSurface::nbytes)
      .def_property_readonly("options", [](const TrackedSurface& self) { return self.options; })
      .def("set",
           [](TrackedSurface& self, const py::array& vertices, const py::array& triangles, const std::optional<py::array>& fixed,
              bool test) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = triangles_of(triangles);
             const auto flags = flags_of(fixed);
             interruptible([&] { self.set({x, t}, flags, test); });
           })
      .def("add_obstacle",
           [](TrackedSurface& self, const py::array& vertices, const py::array& triangles) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = triangles_of(triangles);
             interruptible([&] { self.add_obstacle({x, t}); });
           })
      .def("move_obstacles",
           [](TrackedSurface& self, const py::array& ends) { self.move_obstacles(positions_of(ends, "ends of obstacles")); })
      .def_property_readonly("obstacle_ends", [](const TrackedSurface& self) { return copied<double>(self.obstacle_ends()); })
      .def("place_obstacles",
           [](TrackedSurface& self, const py::array& places) { self.place_obstacles(positions_of(places, "obstacles")); })
      .def("set_safety", [](TrackedSurface& self, bool safety) { self.options.safety = safety; })
      .def_property_readonly("obstacle_vertices",
                             [](const TrackedSurface& self) { return copied<double>(self.obstacles().vertices); })
      .def_property_readonly("obstacle_triangles",
                             [](const TrackedSurface& self) { return copied<std::int32_t>(self.obstacles().triangles); })
      .def("improve",
           [](TrackedSurface& self, const py::object& observer) {
             SurfaceEvents events;
             self.observer = observer_of(observer);
             auto counts = interruptible([&] { return self.improve(events); });
             return py::make_tuple(counts, std::move(events));
           })
      .def("apply",
           [](TrackedSurface& self, EventKind kind, const py::array& rows, const py::object& observer) {
             const std::int32_t* const first = data_of<std::int32_t>(rows, "edges");
             SurfaceEvents events;
             self.observer = observer_of(observer);
             const auto ends =
                 interruptible([&] { return self.apply(kind, {first, static_cast<std::size_t>(rows.size())}, events); });
             return py::make_tuple(copied<std::int8_t>(ends), std::move(events));
           })
      .def("smooth", [](TrackedSurface& self) { return interruptible([&] { return self.smooth(); }); })
      .def("move",
           [](TrackedSurface& self, const py::array& ends, double dt) {
             const auto x = positions_of(ends, "ends");
             return interruptible([&] { return self.move(x, dt); });
           })
      .def("intersections", [](const TrackedSurface& self) { return interruptible([&] { return self.intersections(); }); })
      .def("volume", &TrackedSurface::volume)
      .def("area", &TrackedSurface::area);
}

}  // namespace meniscus::bindings
