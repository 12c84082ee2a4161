/// Potential flow outside of solids by sources on their surfaces: an integral equation of the second kind, with one constant
/// density per triangle.
///
/// Its matrix is that of midpoints but for the diagonal, which makes the flux of each source through the solids what Gauss's law
/// says: then what sources and solids emit is equal to rounding, and curvature and near neighbours are accounted for to second
/// order.
///
/// Source: Brochu 2012, section 6.4, equations (6.11) to (6.19); the diagonal is ours. Near triangles: Hess and Smith 1967.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/numerics/bi_conjugate_gradients.hpp"
#include "meniscus/numerics/multipole/fast_multipole.hpp"

namespace meniscus::fluids {

class SingleLayer {
 public:
  /// Copies the mesh, of which every component must be closed and face outwards.
  SingleLayer(const mesh::TriangleMeshView& surface, double accuracy);

  Index size() const { return std::ssize(triangles_); }
  std::span<const mesh::Point> centres() const { return centres_; }
  std::span<const mesh::Point> normals() const { return normals_; }
  std::span<const double> areas() const { return areas_; }
  std::span<const double> density() const { return density_; }
  std::span<double> density() { return density_; }

  /// Finds the density (m/s) whose flow has the normal velocities at the centres, just outside, from the density of now.
  numerics::BiConjugateGradientsInfo solve(std::span<const double> normal_velocity, double tolerance, int max_iterations);
  /// The normal velocities that a density has just outside.
  void multiply(std::span<const double> density, std::span<double> normal_velocity) const;
  /// Velocities at points; triangles nearer than some of their sizes are integrated exactly.
  void velocity(std::span<const mesh::Point> points, std::span<mesh::Point> velocity) const;

 private:
  void add_near(std::span<const mesh::Point> points, std::span<mesh::Point> velocity) const;

  std::vector<mesh::Point> points_;
  std::vector<mesh::Triangle> triangles_;
  std::vector<mesh::Point> centres_, normals_;
  std::vector<double> areas_, density_, diagonal_;
  double accuracy_;
  std::unique_ptr<numerics::FastMultipole> tree_;
};

/// The gradient of the integral of 1 / |x - y| over the points y of a triangle.
mesh::Point panel_gradient(const mesh::Point& x, const std::array<mesh::Point, 3>& corners, const mesh::Point& normal);

}  // namespace meniscus::fluids
