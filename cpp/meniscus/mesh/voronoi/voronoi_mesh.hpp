/// Voronoi cells of sites in a box: the dual of their Delaunay tetrahedra.
#pragma once

#include "meniscus/mesh/search/box.hpp"
#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/mesh/voronoi/tet_walk.hpp"

#include <vector>

namespace meniscus::mesh {

/// A face between the cells of two sites, first < second; or between a cell and a wall of the box, where second = -1 - wall, and
/// walls are -x, +x, -y, +y, -z, +z.
struct VoronoiFace {
  std::int32_t first, second;
  bool on_wall() const { return second < 0; }
  /// The axis a wall is normal to.
  Index axis() const { return (-1 - second) / 2; }
  /// Of the two cells, the other one.
  std::int32_t across(std::int32_t site) const { return site == first ? second : first; }
};

/// The cells, their faces, and the tetrahedra that they are the dual of. A face is one for both of its cells. Faces inside of the
/// box have the circumcentres around an edge as corners; those at its walls are cut out of the planes in the middle of two sites.
///
/// Eight sites far outside, numbered from sites().size() on, close the hull: all tetrahedra at a site are finite, and inside of
/// the box the cells are as without them. Lattices are no special case: faces whose area is round-off are left out.
///
/// Sources: Brochu 2012, section 7.4.1 (dual of the tetrahedra); Müller, Stam, James and Thürey 2008, section 3.6.
class VoronoiMesh {
 public:
  /// Throws InvalidArgument for an empty box, and for sites that are not finite, outside of the box, or at the same place.
  VoronoiMesh(std::span<const Point> sites, const Box& box);

  Index size() const { return sites_; }
  const Box& box() const { return box_; }
  /// The sites, and behind them the eight outside.
  std::span<const Point> points() const { return points_; }
  std::span<const Point> sites() const { return std::span(points_).first(sites_); }
  std::span<const Tet> tets() const { return linked_.tets; }
  std::span<const Tet> neighbours() const { return linked_.neighbours; }

  std::span<const VoronoiFace> faces() const { return faces_; }
  /// m^2.
  std::span<const double> areas() const { return areas_; }
  std::span<const Point> centroids() const { return centroids_; }
  /// Unit normals from the first cell to the second.
  std::span<const Point> normals() const { return normals_; }
  /// Between the sites of the cells, or twice that of the site to the wall, m.
  std::span<const double> distances() const { return distances_; }
  /// Corners of the polygon of a face, counter-clockwise about the normal.
  std::span<const Point> polygon(Index face) const {
    return std::span(corners_).subspan(corner_start_[face], corner_start_[face + 1] - corner_start_[face]);
  }
  std::span<const Point> polygon_corners() const { return corners_; }
  std::span<const std::int64_t> polygon_starts() const { return corner_start_; }

  /// m^3.
  std::span<const double> volumes() const { return volumes_; }
  /// The faces of a cell, ascending.
  std::span<const std::int32_t> faces_of(Index cell) const {
    return std::span(cell_faces_).subspan(cell_start_[cell], cell_start_[cell + 1] - cell_start_[cell]);
  }

  /// The walks through the tetrahedra.
  const TetWalk& walk() const { return walk_; }
  /// The cell that a point is in, whose site is the closest one; of several, any. Of a point outside of the box, the cell of the
  /// closest point of the box. `tet` is where the search begins, and ends.
  std::int32_t locate(const Point& point, std::int32_t& tet) const;
  /// The same for many, in parallel.
  void locate(std::span<const Point> points, std::span<std::int32_t> out) const;

  Index nbytes() const;

 private:
  void add_wall_faces(std::span<const std::uint8_t> at_wall);
  void list_faces_of_cells();
  void measure_cells();

  Index sites_;
  Box box_;
  std::vector<Point> points_;
  LinkedTets linked_;
  TetWalk walk_;
  std::vector<VoronoiFace> faces_;
  std::vector<double> areas_, distances_, volumes_;
  std::vector<Point> centroids_, normals_, corners_;
  std::vector<std::int64_t> corner_start_{0};
  std::vector<std::int32_t> cell_start_, cell_faces_;
};

}  // namespace meniscus::mesh
