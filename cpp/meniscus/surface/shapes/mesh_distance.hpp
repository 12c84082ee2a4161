/// Signed distance to a triangle mesh: exact, negative inside.
///
/// The sign of a watertight mesh is that of the angle-weighted pseudo-normal at the closest point, and of the winding number
/// where round-off could decide that one. Winding number above one half is inside of everything else: meshes with holes, and
/// meshes whose components may lie within each other.
///
/// Sources: Baerentzen and Aanaes 2005; Jacobson, Kavan and Sorkine-Hornung 2013; Barill et al. 2018.
#pragma once

#include "meniscus/collision/proximity/winding_number.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/mesh/repair/orientation.hpp"
#include "meniscus/surface/shapes/pseudo_normals.hpp"

#include <memory>

namespace meniscus::surface {

/// A value type: copies share their data, and an update changes only one of them.
class MeshDistance {
 public:
  /// Copies the mesh. Throws InvalidArgument for what `require_valid` refuses. Triangles may be the wrong way round, in copies,
  /// and have vertices of their own: their sides are those of `mesh::SurfaceOrientation`.
  MeshDistance(std::span<const mesh::Point> vertices, std::span<const mesh::Triangle> triangles);

  /// Sets new positions of the same vertices; the tree keeps its structure. Nothing changes if anything is thrown.
  void update(std::span<const mesh::Point> vertices);

  mesh::TriangleMeshView mesh() const { return {geometry_->vertices, connectivity_->triangles}; }
  const mesh::TriangleTree& tree() const { return geometry_->tree; }
  const mesh::WatertightReport& report() const { return geometry_->report; }

  collision::MeshPoint closest(const mesh::Point& p, std::int32_t hint = 0) const {
    return collision::closest_point(geometry_->tree, p, hint);
  }
  /// Whether p is inside. Within round-off of the surface the answer may be either.
  bool contains(const mesh::Point& p) const;
  /// Whether a part of the surface may lie within another one: it is not watertight, or crosses or overlaps itself.
  bool overlaps() const { return !geometry_->pseudo_normals_decide; }
  /// Whether the inside and the outside are both within `reach` (m) of a point.
  bool separates(const mesh::Point& p, double reach) const;
  double signed_distance(const mesh::Point& p) const;
  /// The same, given the closest point.
  double signed_distance(const mesh::Point& p, const collision::MeshPoint& closest) const;

  // The same for many points, in parallel.
  void closest(std::span<const mesh::Point> points, std::span<collision::MeshPoint> out) const {
    collision::closest_points(geometry_->tree, points, out);
  }
  void contains(std::span<const mesh::Point> points, std::span<bool> out) const;
  void signed_distance(std::span<const mesh::Point> points, std::span<double> out) const;

  /// Sets a field to the signed distance at its samples, m. Where the surface is farther away than `band` (m, may be infinite),
  /// the magnitude may be anything between the band and the distance; the sign is right everywhere. The field is not periodic.
  /// The result does not depend on how the domain is cut into blocks, each of which has the whole mesh.
  template <class T>
  void sample(grid::Field<T, 3>& phi, double band) const;

 private:
  struct Connectivity {
    std::vector<mesh::Triangle> triangles;
    mesh::TriangleTopology topology;
    /// With one vertex where several have the same position: the surface whose orientation is found.
    std::vector<mesh::Triangle> joined;
    mesh::SurfaceOrientation orientation;
  };

  /// Everything that depends on positions.
  struct Geometry {
    std::vector<mesh::Point> vertices;
    mesh::TriangleTree tree;
    mesh::WatertightReport report;
    bool pseudo_normals_decide;
    PseudoNormals normals;
    collision::WindingTree winding;
  };

  std::shared_ptr<const Geometry> make_geometry(std::vector<mesh::Point> vertices, mesh::TriangleTree tree,
                                                mesh::WatertightReport report) const;

  /// Whether p is inside of the surface, given its closest point.
  bool inside(const mesh::Point& p, const collision::MeshPoint& closest) const;
  bool inside_by_winding_number(const mesh::Point& p) const;
  double round_off(const mesh::Point& p) const;
  template <class T>
  void sample_block(const grid::FieldView<T, 3>& out, const grid::FieldLayout<3>& layout, const Coord<3>& low,
                    const Coord<3>& high, double band) const;

  std::shared_ptr<const Connectivity> connectivity_;
  std::shared_ptr<const Geometry> geometry_;
};

}  // namespace meniscus::surface
