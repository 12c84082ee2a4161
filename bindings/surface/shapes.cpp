// Shapes, their operations, and their samples on grids.
#include "any_field.hpp"

#include "meniscus/surface/shapes/constructive.hpp"
#include "meniscus/surface/shapes/sampled_shapes.hpp"
#include "meniscus/surface/shapes/shapes.hpp"
#include "meniscus/surface/shapes/solid_sampling.hpp"

#include <algorithm>

namespace meniscus::bindings {
namespace {

template <int D>
using Components = std::array<double, D>;

template <int D>
using Matrix = Eigen::Matrix<double, D, D>;

/// Rows of a matrix.
template <int D>
using Rows = std::array<Components<D>, D>;

template <int D>
Vec<double, D> vec(const Components<D>& c) {
  return Eigen::Map<const Vec<double, D>>(c.data());
}

template <int D>
Components<D> components(const Vec<double, D>& v) {
  Components<D> c;
  std::copy_n(v.data(), D, c.begin());
  return c;
}

template <int D>
Matrix<D> matrix(const Rows<D>& rows) {
  Matrix<D> m;
  for (int i = 0; i < D; ++i) m.row(i) = vec<D>(rows[i]).transpose();
  return m;
}

template <int D>
std::pair<Components<D>, Components<D>> corners(const surface::Bounds<D>& b) {
  return {components<D>(b.lower), components<D>(b.upper)};
}

/// pybind11 holds shapes by a pointer to what is not const; nothing changes them.
template <int D>
using ShapeHandle = std::shared_ptr<surface::ImplicitShape<D>>;

template <int D>
ShapeHandle<D> held(const surface::ShapePointer<D>& shape) {
  return std::const_pointer_cast<surface::ImplicitShape<D>>(shape);
}

template <int D>
std::vector<surface::ShapePointer<D>> pointers(const std::vector<ShapeHandle<D>>& shapes) {
  return {shapes.begin(), shapes.end()};
}

std::vector<Vec<double, 2>> points_of(const std::vector<Components<2>>& loop) {
  std::vector<Vec<double, 2>> points(loop.size());
  std::transform(loop.begin(), loop.end(), points.begin(), vec<2>);
  return points;
}

void bind_primitives(py::module_& m) {
  def_dimensions(
      m, "sphere",
      []<int D>(const Components<D>& center, double radius) { return held<D>(surface::sphere<D>(vec<D>(center), radius)); },
      py::arg("center"), py::arg("radius"));
  def_dimensions(
      m, "box",
      []<int D>(const Components<D>& lower, const Components<D>& upper, double rounding) {
        return held<D>(surface::box<D>(vec<D>(lower), vec<D>(upper), rounding));
      },
      py::arg("lower"), py::arg("upper"), py::arg("rounding"));
  def_dimensions(
      m, "half_space",
      []<int D>(const Components<D>& point, const Components<D>& normal) {
        return held<D>(surface::half_space<D>(vec<D>(point), vec<D>(normal)));
      },
      py::arg("point"), py::arg("normal"));
  def_dimensions(
      m, "capsule",
      []<int D>(const Components<D>& start, const Components<D>& end, double radius) {
        return held<D>(surface::capsule<D>(vec<D>(start), vec<D>(end), radius));
      },
      py::arg("start"), py::arg("end"), py::arg("radius"));
  def_dimensions(
      m, "ellipsoid",
      []<int D>(const Components<D>& center, const Components<D>& radii) {
        return held<D>(surface::ellipsoid<D>(vec<D>(center), vec<D>(radii)));
      },
      py::arg("center"), py::arg("radii"));
}

/// Calls a function of an array (n, D) that returns an array (n,), float64, from any thread.
template <int D>
surface::DistanceFunction called_from_threads(py::object function) {
  // The last owner may be a thread without the GIL.
  const std::shared_ptr<py::object> kept(new py::object(std::move(function)), [](py::object* f) { with_gil([&] { delete f; }); });
  return [kept](const double* points, int n, double* out) {
    with_gil([&] {
      const py::array_t<double> x({static_cast<py::ssize_t>(n), py::ssize_t{D}}, points);
      const auto phi = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure((*kept)(x));
      require(phi && phi.ndim() == 1 && phi.size() == n, "function must return an array of shape (", n, ",) for ", n, " points");
      std::copy_n(phi.data(), n, out);
    });
  };
}

void bind_operations(py::module_& m) {
  def_dimensions(
      m, "union",
      []<int D>(const std::vector<ShapeHandle<D>>& parts) { return held<D>(surface::shape_union<D>(pointers<D>(parts))); },
      py::arg("parts"));
  def_dimensions(
      m, "intersection",
      []<int D>(const std::vector<ShapeHandle<D>>& parts) { return held<D>(surface::shape_intersection<D>(pointers<D>(parts))); },
      py::arg("parts"));
  def_dimensions(
      m, "complement", []<int D>(const ShapeHandle<D>& shape) { return held<D>(surface::shape_complement<D>(shape)); },
      py::arg("shape"));
  def_dimensions(
      m, "offset",
      []<int D>(const ShapeHandle<D>& shape, double distance) { return held<D>(surface::shape_offset<D>(shape, distance)); },
      py::arg("shape"), py::arg("distance"));
  def_dimensions(
      m, "shell",
      []<int D>(const ShapeHandle<D>& shape, double thickness) { return held<D>(surface::shape_shell<D>(shape, thickness)); },
      py::arg("shape"), py::arg("thickness"));
  def_dimensions(
      m, "smooth_union",
      []<int D>(const ShapeHandle<D>& a, const ShapeHandle<D>& b, double width) {
        return held<D>(surface::shape_smooth_union<D>(a, b, width));
      },
      py::arg("a"), py::arg("b"), py::arg("width"));
  m.def(
      "function_shape",
      [](py::object function, int dimension) -> std::variant<ShapeHandle<2>, ShapeHandle<3>> {
        if (dimension == 2) return held<2>(surface::function_shape<2>(called_from_threads<2>(std::move(function))));
        return held<3>(surface::function_shape<3>(called_from_threads<3>(std::move(function))));
      },
      py::arg("function"), py::arg("dimension"));
  def_dimensions(
      m, "transformed",
      []<int D>(const ShapeHandle<D>& shape, const Rows<D>& rotation, const Components<D>& translation, double scale) {
        return held<D>(surface::shape_transformed<D>(shape, {matrix<D>(rotation), vec<D>(translation)}, scale));
      },
      py::arg("shape"), py::arg("rotation"), py::arg("translation"), py::arg("scale"));
}

void bind_sampling(py::module_& m) {
  def_fields(
      m, "sample_signed_distance",
      []<class T, int D>(const surface::ImplicitShape<D>& shape, const Rows<D>& rotation, const Components<D>& translation,
                         double band, bool periodic_images, Field<T, D>& phi, Workspace& workspace) {
        const surface::RigidPose<D> pose{matrix<D>(rotation), vec<D>(translation)};
        interruptible([&] { surface::sample_signed_distance<T, D>(shape, pose, band, periodic_images, phi, workspace); });
      },
      py::arg("shape"), py::arg("rotation"), py::arg("translation"), py::arg("band"), py::arg("periodic_images"), py::arg("phi"),
      py::arg("workspace"));
  def_fields(
      m, "sample_affine_velocity",
      []<class T, int D>(const Components<D>& linear, const Rows<D>& gradient, const Components<D>& reference,
                         const Components<D>& lower, const Components<D>& upper, const Rows<D>& rotation,
                         const Components<D>& translation, bool periodic_images, MacField<T, D>& velocity, Workspace& workspace) {
        const surface::AffineVelocity<D> v{vec<D>(linear), matrix<D>(gradient), vec<D>(reference)};
        const surface::RigidPose<D> pose{matrix<D>(rotation), vec<D>(translation)};
        const surface::Bounds<D> box = surface::transformed<D>({vec<D>(lower), vec<D>(upper)}, pose, 1.0);
        const grid::NearestImage<D> image(velocity.grid(), box.lower, box.upper, periodic_images);
        interruptible([&] { surface::sample_affine_velocity<T, D>(v, image, velocity, workspace); });
      },
      py::arg("linear"), py::arg("gradient"), py::arg("reference"), py::arg("lower"), py::arg("upper"), py::arg("rotation"),
      py::arg("translation"), py::arg("periodic_images"), py::arg("velocity"), py::arg("workspace"));
  def_fields(
      m, "merge_solid",
      []<class T, int D>(const Field<double, D>& solid_phi, const MacField<T, D>& solid_velocity, Field<double, D>& phi,
                         MacField<T, D>& velocity) {
        interruptible([&] { surface::merge_solid<T, D>(solid_phi, solid_velocity, phi, velocity); });
      },
      py::arg("solid_phi"), py::arg("solid_velocity"), py::arg("phi"), py::arg("velocity"));
  def_fields(
      m, "level_set_shape",
      []<class T, int D>(const Field<T, D>& phi) {
        return held<D>(interruptible([&] { return surface::level_set_shape<T, D>(phi); }));
      },
      py::arg("phi"));
}

template <int D>
void bind_shape_type(py::module_& m, const char* name) {
  using S = surface::ImplicitShape<D>;
  py::class_<S, std::shared_ptr<S>>(m, name)
      .def_property_readonly("dimension", [](const S&) { return D; })
      .def(
          "signed_distance",
          [](const S& shape, const py::array& points, const py::array& out) {
            const auto* x = data_of<double>(points, "points");
            const Index n = points.size() / D;
            auto* phi = data_of<double>(out, "out", n, true);
            interruptible([&] { surface::signed_distance<D>(shape, x, n, phi); });
          },
          py::arg("points"), py::arg("out"))
      .def(
          "normals",
          [](const S& shape, const py::array& points, const py::array& out) {
            const auto* x = data_of<double>(points, "points");
            const Index n = points.size() / D;
            auto* normals = data_of<double>(out, "out", n * D, true);
            interruptible([&] { surface::normals<D>(shape, x, n, normals); });
          },
          py::arg("points"), py::arg("out"))
      .def("bounds", [](const S& shape) { return corners<D>(shape.bounds()); });
}

}  // namespace

void bind_shapes(py::module_& m) {
  bind_shape_type<2>(m, "ImplicitShape2");
  bind_shape_type<3>(m, "ImplicitShape3");
  bind_primitives(m);
  bind_operations(m);
  bind_sampling(m);
  def_dimensions(
      m, "transformed_bounds",
      []<int D>(const Components<D>& lower, const Components<D>& upper, const Rows<D>& rotation,
                const Components<D>& translation) {
        return corners<D>(
            surface::transformed<D>({vec<D>(lower), vec<D>(upper)}, {matrix<D>(rotation), vec<D>(translation)}, 1.0));
      },
      py::arg("lower"), py::arg("upper"), py::arg("rotation"), py::arg("translation"));
  m.def(
      "cone",
      [](const Components<3>& start, const Components<3>& end, double start_radius, double end_radius) {
        return held<3>(surface::cone(vec<3>(start), vec<3>(end), start_radius, end_radius));
      },
      py::arg("start"), py::arg("end"), py::arg("start_radius"), py::arg("end_radius"));
  m.def(
      "torus",
      [](const Components<3>& center, const Components<3>& axis, double major_radius, double minor_radius) {
        return held<3>(surface::torus(vec<3>(center), vec<3>(axis), major_radius, minor_radius));
      },
      py::arg("center"), py::arg("axis"), py::arg("major_radius"), py::arg("minor_radius"));
  m.def("mesh_shape", [](const surface::MeshDistance& mesh) { return held<3>(surface::mesh_shape(mesh)); }, py::arg("mesh"));
  m.def(
      "polygon",
      [](const std::vector<std::vector<Components<2>>>& loops) {
        std::vector<std::vector<Vec<double, 2>>> vertices;
        for (const auto& loop : loops) vertices.push_back(points_of(loop));
        return held<2>(surface::polygon(vertices));
      },
      py::arg("loops"));
}

}  // namespace meniscus::bindings
