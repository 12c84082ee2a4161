// Signed distances and velocities of moving meshes, sampled on grids.
#include "collision/triangle_arrays.hpp"

#include "meniscus/surface/shapes/mesh_sampling.hpp"

namespace meniscus::bindings {
namespace {

using MeshVector = std::array<double, 3>;

Vec<double, 3> mesh_vector(const MeshVector& v) { return Eigen::Map<const Vec<double, 3>>(v.data()); }

template <class T>
void bind_mesh_velocity(py::module_& m) {
  m.def(
      "sample_mesh_velocity",
      [](const surface::MeshDistance& mesh, const py::array& vertex_velocity, const grid::Field<double, 3>& phi, double band,
         const MeshVector& lower, const MeshVector& upper, bool periodic_images, grid::MacField<T, 3>& velocity) {
        const surface::MeshDistance distance = mesh;
        const auto v = positions_of(vertex_velocity, "vertex_velocity");
        const grid::NearestImage<3> image(velocity.grid(), mesh_vector(lower), mesh_vector(upper), periodic_images);
        interruptible([&] { surface::sample_mesh_velocity<T>(distance, v, phi, band, image, velocity); });
      },
      py::arg("mesh"), py::arg("vertex_velocity"), py::arg("phi"), py::arg("band"), py::arg("lower"), py::arg("upper"),
      py::arg("periodic_images"), py::arg("velocity"));
}

}  // namespace

void bind_mesh_sampling(py::module_& m) {
  m.def(
      "sample_mesh_distance",
      [](const surface::MeshDistance& mesh, const std::array<MeshVector, 3>& rotation, const MeshVector& translation, double band,
         bool periodic_images, grid::Field<double, 3>& phi, Workspace& workspace) {
        const surface::MeshDistance distance = mesh;
        surface::RigidPose<3> pose;
        for (int i = 0; i < 3; ++i) pose.rotation.row(i) = mesh_vector(rotation[i]).transpose();
        pose.translation = mesh_vector(translation);
        interruptible([&] { surface::sample_signed_distance(distance, pose, band, periodic_images, phi, workspace); });
      },
      py::arg("mesh"), py::arg("rotation"), py::arg("translation"), py::arg("band"), py::arg("periodic_images"), py::arg("phi"),
      py::arg("workspace"));
  bind_mesh_velocity<float>(m);
  bind_mesh_velocity<double>(m);
}

}  // namespace meniscus::bindings
