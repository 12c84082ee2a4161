// Collision queries of a moving mesh.
#include "collision/pair_arrays.hpp"
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/contact/limited_motion.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

collision::Motion motion_of(const py::array& start, const py::array& end) {
  return {positions_of(start, "start"), positions_of(end, "end")};
}

collision::MutualMotion motion_of(const py::array& start, const py::array& end, const py::array& other_start,
                                  const py::array& other_end) {
  return {motion_of(start, end), {positions_of(other_start, "other_start"), positions_of(other_end, "other_end")}};
}

using Flags = std::optional<py::array>;

std::span<const std::uint8_t> flags_of(const Flags& changed, const char* name, std::size_t positions) {
  if (!changed) return {};
  const bool* first = data_of<bool>(*changed, name);
  require(static_cast<std::size_t>(changed->size()) == positions, name, " must have one flag per position, ", positions, ", not ",
          changed->size());
  return {reinterpret_cast<const std::uint8_t*>(first), positions};
}

collision::MutualOptions options_of(const collision::MutualMotion& motion, const Flags& changed, const Flags& other_changed,
                                    bool moving_frame) {
  return {flags_of(changed, "changed", motion.first.start.size()),
          flags_of(other_changed, "other_changed", motion.second.start.size()), moving_frame};
}

collision::DetectionOptions options_of(const collision::Motion& motion, const Flags& changed, bool moving_frame) {
  return {flags_of(changed, "changed", motion.start.size()), moving_frame};
}

/// Pairs as a (k, 2) array over the memory they lie in.
py::array array_of(Block<collision::ElementPair>& pairs) {
  return view(reinterpret_cast<std::int32_t*>(pairs.data()), Coord<2>{pairs.size(), 2}, Coord<2>{2, 1}, pairs.memory());
}

py::tuple arrays_of(collision::CollisionPairs pairs) {
  return py::make_tuple(array_of(pairs.vertex_face), array_of(pairs.edge_edge));
}

py::tuple arrays_of(collision::MutualPairs pairs) {
  return py::make_tuple(array_of(pairs.vertex_face), array_of(pairs.face_vertex), array_of(pairs.edge_edge));
}

}  // namespace

void bind_collision_mesh(py::module_& m) {
  py::native_enum<collision::BroadPhase>(m, "BroadPhase", "enum.Enum")
      .value("tree", collision::BroadPhase::tree)
      .value("grid", collision::BroadPhase::grid)
      .value("brute_force", collision::BroadPhase::brute_force)
      .finalize();
  py::class_<collision::CollisionMesh>(m, "CollisionMesh")
      .def(py::init([](const std::optional<py::array>& edges, const py::array& triangles) {
             const auto t = triangles_of(triangles);
             std::optional<Indices<collision::CollisionMesh::Edge>> e;
             if (edges) e.emplace(elements_of<2>(*edges, "edges"));
             return interruptible([&] { return std::make_unique<collision::CollisionMesh>(e, t); });
           }),
           py::arg("edges"), py::arg("triangles"))
      .def_property_readonly("edges", [](const collision::CollisionMesh& self) { return copied_rows(self.edges()); })
      .def_property_readonly("triangles", [](const collision::CollisionMesh& self) { return copied_rows(self.triangles()); })
      .def_property_readonly("nbytes",
                             [](const collision::CollisionMesh& self) {
                               return interruptible([&] { return self.nbytes(); });  // waits for a call that is running
                             })
      .def(
          "candidates",
          [](collision::CollisionMesh& self, const py::array& start, const py::array& end, double inflation,
             collision::BroadPhase method) {
            const collision::Motion motion = motion_of(start, end);
            return arrays_of(interruptible([&] { return self.candidates(motion, inflation, method); }));
          },
          py::arg("start"), py::arg("end"), py::arg("inflation"), py::arg("method"))
      .def(
          "candidates_with",
          [](collision::CollisionMesh& self, collision::CollisionMesh& other, const py::array& start, const py::array& end,
             const py::array& other_start, const py::array& other_end, double inflation) {
            const collision::MutualMotion motion = motion_of(start, end, other_start, other_end);
            return arrays_of(interruptible([&] { return self.candidates_with(other, motion.first, motion.second, inflation); }));
          },
          py::arg("other"), py::arg("start"), py::arg("end"), py::arg("other_start"), py::arg("other_end"), py::arg("inflation"))
      .def(
          "collides",
          [](collision::CollisionMesh& self, const py::array& start, const py::array& end, collision::ContactMode mode,
             const std::optional<py::array>& changed, bool moving_frame) {
            const collision::Motion motion = motion_of(start, end);
            const collision::DetectionOptions options = options_of(motion, changed, moving_frame);
            return interruptible([&] { return self.collides(motion, mode, options); });
          },
          py::arg("start"), py::arg("end"), py::arg("mode"), py::arg("changed"), py::arg("moving_frame"))
      .def(
          "collisions",
          [](collision::CollisionMesh& self, const py::array& start, const py::array& end, collision::ContactMode mode,
             const std::optional<py::array>& changed, bool moving_frame) {
            const collision::Motion motion = motion_of(start, end);
            const collision::DetectionOptions options = options_of(motion, changed, moving_frame);
            return arrays_of(interruptible([&] { return self.collisions(motion, mode, options); }));
          },
          py::arg("start"), py::arg("end"), py::arg("mode"), py::arg("changed"), py::arg("moving_frame"))
      .def(
          "time_of_impact",
          [](collision::CollisionMesh& self, const py::array& start, const py::array& end, double tolerance,
             const std::optional<py::array>& changed, bool moving_frame) {
            const collision::Motion motion = motion_of(start, end);
            const collision::DetectionOptions options = options_of(motion, changed, moving_frame);
            return interruptible([&] { return self.time_of_impact(motion, tolerance, options); });
          },
          py::arg("start"), py::arg("end"), py::arg("tolerance"), py::arg("changed"), py::arg("moving_frame"))
      .def(
          "collides_with",
          [](collision::CollisionMesh& self, collision::CollisionMesh& other, const py::array& start, const py::array& end,
             const py::array& other_start, const py::array& other_end, collision::ContactMode mode, const Flags& changed,
             const Flags& other_changed, bool moving_frame) {
            const collision::MutualMotion motion = motion_of(start, end, other_start, other_end);
            const collision::MutualOptions options = options_of(motion, changed, other_changed, moving_frame);
            return interruptible([&] { return self.collides_with(other, motion, mode, options); });
          },
          py::arg("other"), py::arg("start"), py::arg("end"), py::arg("other_start"), py::arg("other_end"), py::arg("mode"),
          py::arg("changed"), py::arg("other_changed"), py::arg("moving_frame"))
      .def(
          "collisions_with",
          [](collision::CollisionMesh& self, collision::CollisionMesh& other, const py::array& start, const py::array& end,
             const py::array& other_start, const py::array& other_end, collision::ContactMode mode, const Flags& changed,
             const Flags& other_changed, bool moving_frame) {
            const collision::MutualMotion motion = motion_of(start, end, other_start, other_end);
            const collision::MutualOptions options = options_of(motion, changed, other_changed, moving_frame);
            return arrays_of(interruptible([&] { return self.collisions_with(other, motion, mode, options); }));
          },
          py::arg("other"), py::arg("start"), py::arg("end"), py::arg("other_start"), py::arg("other_end"), py::arg("mode"),
          py::arg("changed"), py::arg("other_changed"), py::arg("moving_frame"))
      .def(
          "time_of_impact_with",
          [](collision::CollisionMesh& self, collision::CollisionMesh& other, const py::array& start, const py::array& end,
             const py::array& other_start, const py::array& other_end, double tolerance, const Flags& changed,
             const Flags& other_changed, bool moving_frame) {
            const collision::MutualMotion motion = motion_of(start, end, other_start, other_end);
            const collision::MutualOptions options = options_of(motion, changed, other_changed, moving_frame);
            return interruptible([&] { return self.time_of_impact_with(other, motion, tolerance, options); });
          },
          py::arg("other"), py::arg("start"), py::arg("end"), py::arg("other_start"), py::arg("other_end"), py::arg("tolerance"),
          py::arg("changed"), py::arg("other_changed"), py::arg("moving_frame"))
      .def(
          "intersections_with",
          [](collision::CollisionMesh& self, collision::CollisionMesh& other, const py::array& positions,
             const py::array& other_positions, mesh::DegenerateContact degenerate) {
            const auto x = positions_of(positions, "positions");
            const auto y = positions_of(other_positions, "other_positions");
            collision::MutualIntersections pairs =
                interruptible([&] { return self.intersections_with(other, x, y, degenerate); });
            return py::make_tuple(array_of(pairs.edge_face), array_of(pairs.face_edge));
          },
          py::arg("other"), py::arg("positions"), py::arg("other_positions"), py::arg("degenerate"))
      .def(
          "self_intersections",
          [](collision::CollisionMesh& self, const py::array& positions, mesh::DegenerateContact degenerate) {
            const auto x = positions_of(positions, "positions");
            Block<collision::ElementPair> pairs = interruptible([&] { return self.self_intersections(x, degenerate); });
            return array_of(pairs);
          },
          py::arg("positions"), py::arg("degenerate"));
  m.def(
      "limit_motion",
      [](collision::CollisionMesh& self, const py::array& start, const py::array& end,
         const std::vector<std::pair<py::object, py::array>>& still) {
        const auto x = positions_of(start, "start"), y = positions_of(end, "end");
        std::vector<collision::StillMesh> others;
        for (const auto& [other, place] : still)
          others.push_back({&other.cast<collision::CollisionMesh&>(), positions_of(place, "obstacles")});
        py::array_t<double> out({static_cast<py::ssize_t>(y.size()), py::ssize_t{3}}), part(static_cast<py::ssize_t>(y.size()));
        const std::span<mesh::Point> to(reinterpret_cast<mesh::Point*>(out.mutable_data()), y.size());
        std::copy(y.begin(), y.end(), to.begin());
        const std::span<double> parts(part.mutable_data(), y.size());
        interruptible([&] { collision::limit_motion(self, x, others, to, parts); });
        return py::make_tuple(out, part);
      },
      py::arg("mesh"), py::arg("start"), py::arg("end"), py::arg("still"));
}

}  // namespace meniscus::bindings
