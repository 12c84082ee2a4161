// Visibility queries against thickened triangle surfaces.
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/ray_casting/hit_columns.hpp"
#include "meniscus/collision/ray_casting/surface_cells.hpp"
#include "meniscus/collision/ray_casting/swept_points.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

/// Hits as arrays: class (n,), triangle (n,), body (n,), fraction (n,), barycentric (n, 3), position (n, 3), velocity (n, 3).
class HitArrays {
 public:
  explicit HitArrays(std::size_t size)
      : n_(static_cast<py::ssize_t>(size)),
        visibility_(n_),
        triangle_(n_),
        body_(n_),
        fraction_(n_),
        barycentric_({n_, three}),
        position_({n_, three}),
        velocity_({n_, three}) {}

  /// To be taken with the GIL, and written without.
  collision::HitColumns columns() {
    return {visibility_.mutable_data(),  triangle_.mutable_data(), body_.mutable_data(),    fraction_.mutable_data(),
            barycentric_.mutable_data(), position_.mutable_data(), velocity_.mutable_data()};
  }
  py::tuple tuple() const { return py::make_tuple(visibility_, triangle_, body_, fraction_, barycentric_, position_, velocity_); }

 private:
  static constexpr py::ssize_t three = 3;
  py::ssize_t n_;
  py::array_t<std::int8_t> visibility_;
  py::array_t<std::int32_t> triangle_, body_;
  py::array_t<double> fraction_, barycentric_, position_, velocity_;
};

/// Velocities of the vertices, or none.
std::span<const mesh::Point> velocities_of(const std::optional<py::array>& velocities, const collision::ThickSurface& s) {
  if (!velocities) return {};
  const auto v = positions_of(*velocities, "velocities");
  require(v.size() == s.vertices().size(), "velocities must have ", s.vertices().size(), " rows, not ", v.size());
  return v;
}

collision::CellGrid grid_of(const std::array<double, 3>& low, double spacing, const Coord<3>& shape) {
  return {mesh::Point(low[0], low[1], low[2]), spacing, shape};
}

template <class T>
py::array_t<T> cells_array(const Coord<3>& shape) {
  return py::array_t<T>(
      {static_cast<py::ssize_t>(shape[0]), static_cast<py::ssize_t>(shape[1]), static_cast<py::ssize_t>(shape[2])});
}

struct Segments {
  std::span<const mesh::Point> from, to;

  Segments(const py::array& origins, const py::array& targets)
      : from(positions_of(origins, "origins")), to(positions_of(targets, "targets")) {
    require(from.size() == to.size(), "targets must have as many rows as origins, ", from.size(), ", not ", to.size());
  }
  void require_valid() const {
    mesh::require_finite(from, "origins");
    mesh::require_finite(to, "targets");
  }
};

using SharedSurface = std::shared_ptr<const collision::ThickSurface>;

/// A surface that never changes once it is there: a move puts another in its place, so that other Python threads may go on with
/// the one they have.
struct SurfaceHandle {
  SharedSurface surface;
};

}  // namespace

void bind_ray_casting(py::module_& m) {
  py::class_<SurfaceHandle>(m, "ThickSurface")
      .def(py::init([](const py::array& vertices, const py::array& triangles, double thickness,
                       const std::optional<py::array>& bodies) {
             const auto x = positions_of(vertices, "vertices");
             const auto t = triangles_of(triangles);
             const auto b = indices_of(bodies, "bodies");
             return interruptible([&] { return SurfaceHandle{std::make_shared<collision::ThickSurface>(x, t, thickness, b)}; });
           }),
           py::arg("vertices"), py::arg("triangles"), py::arg("thickness"), py::arg("bodies"))
      .def(
          "move",
          [](SurfaceHandle& self, const py::array& vertices) {
            const SharedSurface old = self.surface;
            const auto x = positions_of(vertices, "vertices");
            self.surface = interruptible([&] {
              auto moved = std::make_shared<collision::ThickSurface>(*old);
              moved->move(x);
              return SharedSurface(moved);
            });
          },
          py::arg("vertices"))
      .def(
          "classify",
          [](const SurfaceHandle& self, const py::array& origins, const py::array& targets) {
            const SharedSurface s = self.surface;
            const Segments segments(origins, targets);
            py::array_t<std::int8_t> result(static_cast<py::ssize_t>(segments.from.size()));
            const std::span<std::int8_t> out(result.mutable_data(), segments.from.size());
            interruptible([&] {
              segments.require_valid();
              s->classify(segments.from, segments.to, out);
            });
            return result;
          },
          py::arg("origins"), py::arg("targets"))
      .def(
          "inside",
          [](const SurfaceHandle& self, const py::array& points) {
            const SharedSurface s = self.surface;
            const auto x = positions_of(points, "points");
            py::array_t<bool> result(static_cast<py::ssize_t>(x.size()));
            const std::span<bool> out(result.mutable_data(), x.size());
            interruptible([&] {
              mesh::require_finite(x, "points");
              s->inside(x, out);
            });
            return result;
          },
          py::arg("points"))
      .def(
          "cast",
          [](const SurfaceHandle& self, const py::array& origins, const py::array& targets,
             const std::optional<py::array>& velocities) {
            const SharedSurface s = self.surface;
            const Segments segments(origins, targets);
            const auto v = velocities_of(velocities, *s);
            HitArrays hits(segments.from.size());
            const auto out = hits.columns();
            interruptible([&] {
              segments.require_valid();
              mesh::require_finite(v, "velocities");
              std::vector<collision::WedgeHit> found(segments.from.size());
              s->cast(segments.from, segments.to, found);
              collision::store_hits(*s, found, v, out);
            });
            return hits.tuple();
          },
          py::arg("origins"), py::arg("targets"), py::arg("velocities"))
      .def(
          "near_cells",
          [](const SurfaceHandle& self, const std::array<double, 3>& low, double spacing, const Coord<3>& shape, double reach,
             const std::optional<py::array>& end) {
            const SharedSurface s = self.surface;
            std::span<const mesh::Point> x;
            if (end) {
              x = positions_of(*end, "end_vertices");
              require(x.size() == s->vertices().size(), "end_vertices must have ", s->vertices().size(), " rows, not ", x.size());
            }
            auto result = cells_array<bool>(shape);
            static_assert(sizeof(bool) == 1);
            const std::span<std::uint8_t> out(reinterpret_cast<std::uint8_t*>(result.mutable_data()),
                                              static_cast<std::size_t>(result.size()));
            interruptible([&] {
              mesh::require_finite(x, "end_vertices");
              collision::near_cells(*s, end ? x.data() : nullptr, grid_of(low, spacing, shape), reach, out);
            });
            return result;
          },
          py::arg("low"), py::arg("spacing"), py::arg("shape"), py::arg("reach"), py::arg("end_vertices"))
      .def(
          "swept_points",
          [](const SurfaceHandle& self, const py::array& points, const py::array& end_vertices,
             const std::optional<py::array>& end_points) {
            const SharedSurface s = self.surface;
            const auto x = positions_of(points, "points");
            const auto v = positions_of(end_vertices, "end_vertices");
            require(v.size() == s->vertices().size(), "end_vertices must have ", s->vertices().size(), " rows, not ", v.size());
            std::span<const mesh::Point> y;
            if (end_points) y = positions_of(*end_points, "end_points");
            require(!end_points || y.size() == x.size(), "end_points must have ", x.size(), " rows, not ", y.size());
            py::array_t<bool> result(static_cast<py::ssize_t>(x.size()));
            const std::span<bool> out(result.mutable_data(), x.size());
            interruptible([&] {
              mesh::require_finite(x, "points");
              mesh::require_finite(y, "end_points");
              mesh::require_finite(v, "end_vertices");
              collision::ThickSurface end = *s;
              end.move(v);
              collision::swept_points(*s, end, x, y, out);
            });
            return result;
          },
          py::arg("points"), py::arg("end_vertices"), py::arg("end_points"))
      .def(
          "visible_faces",
          [](const SurfaceHandle& self, const std::array<double, 3>& low, double spacing, const Coord<3>& shape, bool guarded,
             const std::optional<py::array>& velocities) {
            const SharedSurface s = self.surface;
            const auto v = velocities_of(velocities, *s);
            std::array<py::array_t<bool>, 3> bits;
            std::array<std::span<std::uint8_t>, 3> clear;
            for (std::size_t d = 0; d < 3; ++d) {
              Coord<3> n = shape;
              ++n[d];
              bits[d] = cells_array<bool>(n);
              clear[d] = {reinterpret_cast<std::uint8_t*>(bits[d].mutable_data()), static_cast<std::size_t>(bits[d].size())};
            }
            const auto blocked = interruptible([&] {
              mesh::require_finite(v, "velocities");
              return collision::visible_faces(*s, grid_of(low, spacing, shape), guarded, clear);
            });
            HitArrays hits(blocked.size());
            const auto out = hits.columns();
            py::array_t<std::int32_t> axes(static_cast<py::ssize_t>(blocked.size()));
            py::array_t<Index> faces({static_cast<py::ssize_t>(blocked.size()), py::ssize_t{3}});
            std::int32_t* const axis = axes.mutable_data();
            Index* const face = faces.mutable_data();
            interruptible([&] { collision::store_blocked_faces(*s, blocked, v, axis, face, out); });
            return py::make_tuple(bits[0], bits[1], bits[2], axes, faces, hits.tuple());
          },
          py::arg("low"), py::arg("spacing"), py::arg("shape"), py::arg("guarded"), py::arg("velocities"));
  m.attr("VISIBLE") = static_cast<int>(collision::Visibility::visible);
  m.attr("OCCLUDED") = static_cast<int>(collision::Visibility::occluded);
  m.attr("INSIDE") = static_cast<int>(collision::Visibility::inside);
}

}  // namespace meniscus::bindings
