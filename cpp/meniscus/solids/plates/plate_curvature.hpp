/// Curvatures of the triangles of a plate that is flat at rest, as linear functions of the angles between its triangles.
///
/// The mean curvature tensor of a triangle with area A is that of the turns of the normal across its edges, sum l/A (turn) n n^T
/// over its edges with lengths l and unit normals n in the plane at rest. Of the angle of a hinge, one triangle has half of it
/// plus a share, and the other one half of it minus that share, so that between them is the normal in the middle of the edge.
/// Half each is right for equal triangles only, and on other meshes the energy converges to that of another plate. Here the share
/// is the one that makes curvatures of every quadratic surface exact: the tensor near the edge is the least-squares fit to the
/// angles of hinges around, and the share of an edge follows from it and the rest shape. Turns at edges of the boundary likewise.
///
/// It converges on every family of meshes with angles above a bound. For any shares the energy is at least the one that is least
/// over all of them, which is that of the element of Morley (1968), so it is coercive; shares that both triangles see with
/// opposite signs drop out of the integral of the curvature over the plate, so constant moments do no work on inner nodes; and
/// quadratic surfaces have their energy.
///
/// Sources: Morley 1968 (constant moments and normals in the middle of edges); Grinspun, Gingold, Reisman and Zorin, "Computing
/// discrete shape operators on general meshes", 2006 (the same with turned normals, nonlinear). The fit is ours.
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/solids/springs/altitude_springs.hpp"

namespace meniscus::solids {

class PlateCurvature {
 public:
  /// Curvatures k11, k22, k12, 1/m.
  using Tensor = Eigen::Vector3d;
  using Plane = Eigen::Vector2d;

  struct Entry {
    std::int32_t triangle, hinge;
    /// Curvature of the triangle per angle of the hinge.
    Tensor weight;
  };

  /// Triangles must be positive at rest; hinges are i, j, k, l, the triangle of k passing the edge from i to j. `rigid`: one flag
  /// per triangle whose nodes are all held: it does not bend, and its edges turn with it; may be empty.
  PlateCurvature(std::span<const mesh::Triangle> triangles, std::span<const Plane> rest, std::span<const FourNodes> hinges,
                 std::span<const std::uint8_t> rigid);

  Index triangles() const { return static_cast<Index>(first_.size()) - 1; }
  Index hinges() const { return static_cast<Index>(first_at_.size()) - 1; }
  /// Of a triangle, in a fixed order.
  std::span<const Entry> of(Index triangle) const {
    return {entries_.begin() + first_[triangle], entries_.begin() + first_[triangle + 1]};
  }
  /// Of a hinge, by triangles, ascending.
  std::span<const Entry> at(Index hinge) const {
    return {by_hinge_.begin() + first_at_[hinge], by_hinge_.begin() + first_at_[hinge + 1]};
  }
  /// At rest, m^2; 0 of rigid triangles.
  double area(Index triangle) const { return area_[triangle]; }

  std::size_t nbytes() const {
    return (entries_.capacity() + by_hinge_.capacity()) * sizeof(Entry) +
           (first_.capacity() + first_at_.capacity()) * sizeof(Index) + area_.capacity() * sizeof(double);
  }

 private:
  std::vector<Entry> entries_, by_hinge_;
  std::vector<Index> first_, first_at_;
  std::vector<double> area_;
};

}  // namespace meniscus::solids
