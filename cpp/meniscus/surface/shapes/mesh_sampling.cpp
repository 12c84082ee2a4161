#include "meniscus/surface/shapes/mesh_sampling.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

/// A mesh as a shape.
class MeshShape final : public ImplicitShape<3> {
 public:
  explicit MeshShape(const MeshDistance& mesh) : mesh_(mesh) {}

  void evaluate(const double* points, int n, double* out) const override {
    for (int i = 0; i < n; ++i) out[i] = mesh_.signed_distance(mesh::Point(points[3 * i], points[3 * i + 1], points[3 * i + 2]));
  }

  Bounds<3> bounds(double level) const override {
    const auto vertices = mesh_.mesh().vertices;
    Bounds<3> box{vertices[0], vertices[0]};
    for (const mesh::Point& v : vertices) {
      box.lower = box.lower.cwiseMin(v);
      box.upper = box.upper.cwiseMax(v);
    }
    return box.grown(level);
  }

 private:
  const MeshDistance& mesh_;
};

/// The least value at the corners of a face across `axis`.
double lowest_corner(const grid::FieldView<const double, 3>& phi, int axis, const Coord<3>& face) {
  double lowest = *phi.at(face);
  for (int corner = 1; corner < 8; ++corner) {
    if (corner >> axis & 1) continue;
    Coord<3> node = face;
    for (std::size_t d = 0; d < 3; ++d) node[d] += corner >> d & 1;
    lowest = std::min(lowest, *phi.at(node));
  }
  return lowest;
}

}  // namespace

void sample_signed_distance(const MeshDistance& mesh, const RigidPose<3>& pose, double band, bool periodic_images,
                            grid::Field<double, 3>& phi, Workspace& workspace) {
  sample_signed_distance<double, 3>(MeshShape(mesh), pose, band, periodic_images, phi, workspace);
}

template <class T>
void sample_mesh_velocity(const MeshDistance& mesh, std::span<const mesh::Point> vertex_velocity,
                          const grid::Field<double, 3>& phi, double band, const grid::NearestImage<3>& image,
                          grid::MacField<T, 3>& velocity) {
  const grid::Grid<3>& grid = velocity.grid();
  require(phi.grid() == grid && phi.stagger() == grid::Stagger<3>::node(), "the level set must be on the nodes of the grid");
  require(vertex_velocity.size() == mesh.mesh().vertices.size(), "there must be a velocity for each of the ",
          mesh.mesh().vertices.size(), " vertices, not ", vertex_velocity.size());
  const auto triangles = mesh.mesh().triangles;
  const auto nodes = phi.view();
  for (int axis = 0; axis < 3; ++axis) {
    const auto stagger = grid::Stagger<3>::face(axis);
    const auto view = velocity.component(axis).view();
    grid::parallel_rows<3>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<3> c = grid::row_start<3>(view.extents, r);
        for (c[2] = 0; c[2] < view.extents[2]; ++c[2]) {
          double u = 0.0;
          if (lowest_corner(nodes, axis, c) <= band) {
            const auto closest = mesh.closest(image(grid::sample_position<3>(grid, stagger, c)));
            const auto& triangle = triangles[closest.triangle];
            for (std::size_t k = 0; k < 3; ++k) u += closest.barycentric[k] * vertex_velocity[triangle[k]][axis];
          }
          *view.at(c) = static_cast<T>(u);
        }
      }
    });
  }
  velocity.fill_ghosts(0.0);
}

#define MENISCUS_INSTANTIATE(T)                                                                                           \
  template void sample_mesh_velocity<T>(const MeshDistance&, std::span<const mesh::Point>, const grid::Field<double, 3>&, \
                                        double, const grid::NearestImage<3>&, grid::MacField<T, 3>&);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
