// Solids with their motion at one time: rigid ones, and those that Python answers for.
#include "collision/triangle_arrays.hpp"

#include "meniscus/surface/shapes/sampled_shapes.hpp"
#include "meniscus/surface/shapes/solid_at.hpp"

#include <algorithm>

namespace meniscus::bindings {
namespace {

using Rows3 = std::array<std::array<double, 3>, 3>;
using Vector3 = std::array<double, 3>;

mesh::Point point(const Vector3& v) { return Eigen::Map<const mesh::Point>(v.data()); }

Eigen::Matrix3d matrix(const Rows3& rows) {
  Eigen::Matrix3d m;
  for (int i = 0; i < 3; ++i) m.row(i) = point(rows[static_cast<std::size_t>(i)]).transpose();
  return m;
}

/// Functions of points (n, 3); that for velocities is None for a solid that does not move.
class CalledSolidAt final : public surface::SolidAt {
 public:
  CalledSolidAt(py::object distance, py::object normals, py::object velocity, const surface::Bounds<3>& bounds)
      : distance_(std::move(distance)), normals_(std::move(normals)), velocity_(std::move(velocity)), bounds_(bounds) {}
  void ask(std::span<const mesh::Point> points, const surface::SolidAnswers& answers) const override {
    if (points.empty()) return;
    with_gil([&] {
      const auto n = static_cast<py::ssize_t>(points.size());
      const py::array_t<double> x({n, py::ssize_t{3}}, points[0].data());
      const auto call = [&](const py::object& function, const char* name, double* out, Index size) {
        // Columns of points, such as heights, are not contiguous.
        const py::array result = py::array::ensure(function(x), py::array::c_style);
        if (!result) throw py::type_error(std::string(name) + " must be an array");
        std::copy_n(data_of<double>(result, name, size), size, out);
      };
      if (!answers.distances.empty()) call(distance_, "signed_distance of a solid", answers.distances.data(), n);
      if (!answers.normals.empty()) call(normals_, "normals of a solid", answers.normals[0].data(), 3 * n);
      if (answers.velocities.empty()) return;
      if (moves())
        call(velocity_, "velocity of a solid", answers.velocities[0].data(), 3 * n);
      else
        std::fill(answers.velocities.begin(), answers.velocities.end(), mesh::Point::Zero());
    });
  }
  bool moves() const override { return !velocity_.is_none(); }
  surface::Bounds<3> bounds() const override { return bounds_; }

 private:
  py::object distance_, normals_, velocity_;
  surface::Bounds<3> bounds_;
};

}  // namespace

void bind_solid_at(py::module_& m) {
  using surface::SolidAt;
  py::class_<SolidAt, std::shared_ptr<SolidAt>>(m, "SolidAt");
  m.def(
      "rigid_solid_at",
      [](const std::shared_ptr<surface::ImplicitShape<3>>& shape, const Rows3& rotation, const Vector3& translation, bool moves,
         const Vector3& linear, const Rows3& gradient, const Vector3& reference) -> std::shared_ptr<SolidAt> {
        const surface::RigidSolidAt::Motion motion{
            {matrix(rotation), point(translation)}, moves, point(linear), matrix(gradient), point(reference)};
        return std::make_shared<surface::RigidSolidAt>(shape, motion);
      },
      py::arg("shape"), py::arg("rotation"), py::arg("translation"), py::arg("moves"), py::arg("linear"), py::arg("gradient"),
      py::arg("reference"));
  m.def(
      "called_solid_at",
      [](py::object distance, py::object normals, py::object velocity, const Vector3& lower,
         const Vector3& upper) -> std::shared_ptr<SolidAt> {
        return std::make_shared<CalledSolidAt>(std::move(distance), std::move(normals), std::move(velocity),
                                               surface::Bounds<3>{point(lower), point(upper)});
      },
      py::arg("signed_distance"), py::arg("normals"), py::arg("velocity"), py::arg("lower"), py::arg("upper"));
}

}  // namespace meniscus::bindings
