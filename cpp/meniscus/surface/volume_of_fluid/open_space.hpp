/// The part of cells and faces that a solid leaves open, and the plane that stands for its surface in a cell.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

namespace meniscus::surface {

/// Open space beside a solid that is given by a level set on nodes, or all of a grid. In a cell that the surface of the solid
/// cuts, the surface is the plane that the multilinear interpolant has in the middle; the open parts of faces are those that the
/// pressure sees (grid/poisson/face_fractions.hpp). Cells may lie in the ghost layers, faces up to their outer
/// sides.
template <int D>
class OpenSpace {
 public:
  /// The level set must live as long, with ghosts up to date; null: all is open.
  OpenSpace(const grid::Grid<D>& grid, const grid::Field<double, D>* solid, Workspace& workspace);

  bool everywhere() const { return solid_ == nullptr; }
  /// Open part of a cell.
  double cell(const Coord<D>& c) const { return solid_ ? cells_.data()[place(c)] : 1.0; }
  /// Whether the plane of the solid is to be cut off the cell.
  bool cut(const Coord<D>& c) const {
    const double open = cell(c);
    return open < 1 && open > 0;
  }
  /// The plane of the solid in a cell that is cut, and what it leaves open, from the lower corner of the cell.
  BoxPlane<D> solid(const Coord<D>& c) const;
  HalfSpace<D> wall(const Coord<D>& c) const { return solid(c).half(false); }
  /// Open part of the lower face of cell c across an axis.
  double face(int axis, const Coord<D>& c) const { return solid_ ? faces_[axis].data()[place(c)] : 1.0; }

  /// Calls visit(cell) for the wider cell that c belongs to (or c itself), and for all others that belong to that; returns
  /// whether there are others. Cells may be two layers beyond the block.
  template <class Visit>
  bool visit_group(const Coord<D>& c, const Visit& visit) const {
    if (!solid_) return false;
    Coord<D> root = c;
    if (const int side = sides_.data()[place(c)]; side != none) root[side / 2] += side % 2 == 1 ? 1 : -1;
    bool first = true;
    for (int side = 0; side < 2 * D; ++side) {
      Coord<D> other = root;
      other[side / 2] += side % 2 == 1 ? 1 : -1;
      if (!inside(other) || sides_.data()[place(other)] != (side ^ 1)) continue;
      if (first) visit(root);
      first = false;
      visit(other);
    }
    return !first;
  }
  bool in_group(const Coord<D>& c) const {
    return visit_group(c, [](const Coord<D>&) {});
  }

 private:
  static constexpr int layers = grid::ghost_width;
  static constexpr std::uint8_t none = 255;
  /// A cell with less open space counts as solid, and so do its faces: between two walls in one cell, say, which one plane fills
  /// up.
  static constexpr double least_room = D == 2 ? 1e-9 : 1e-13;

  Index place(const Coord<D>& c) const {
    Index i = 0;
    for (int d = 0; d < D; ++d) i += (c[d] + layers) * strides_[d];
    return i;
  }
  bool inside(const Coord<D>& c) const {
    for (int d = 0; d < D; ++d)
      if (c[d] < -layers || c[d] >= cells_along_[d] + layers) return false;
    return true;
  }
  void measure(const Coord<D>& c);
  void close_faces(const Coord<D>& c);
  void find_wider(const Coord<D>& c);

  const grid::Field<double, D>* solid_;
  Coord<D> strides_{}, cells_along_;
  Workspace::Lease<double> cells_;
  std::array<Workspace::Lease<double>, D> faces_;
  /// The side at which the wider cell lies that a cell belongs to, or `none`.
  Workspace::Lease<std::uint8_t> sides_;
};

}  // namespace meniscus::surface
