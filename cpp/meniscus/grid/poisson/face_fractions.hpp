/// Open fractions of faces: the part of each face outside a solid that is given by a level set on the nodes.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/poisson/cell_layout.hpp"

namespace meniscus::grid {

/// An edge with a smaller open fraction counts as closed, and so does a face in 3-D with less than its square: a slit below the
/// resolution of the grid would make the pressure system nearly singular. The bound applies to lengths: in a cell that is almost
/// filled by the solid, the open parts of the faces are small of second order and differ in size. Closing only some of them would
/// force their flux through the others, with an error of order one in the velocity there.
inline constexpr double smallest_open_fraction = 1e-4;

/// Fills open[d] (memory of `layout.size` values, lower face of each cell along axis d) for the faces 0 to n of every axis: 1
/// outside the solid (phi > 0), 0 inside. In between, phi is taken as linear along the edges of 2-D faces and on the four
/// triangles around the centre of 3-D faces, which is second-order accurate in the spacing.
template <int D>
void compute_open_fractions(const Field<double, D>& phi, const CellLayout<D>& layout, std::array<Block<double>, D>& open);

/// Those of one component, C-ordered.
template <int D>
void open_fractions_across(const Field<double, D>& phi, int axis, double* out);

/// A face that a solid cuts.
template <int D>
struct FaceCut {
  double open = 0;  ///< open fraction
  /// First moment of the closed part about the centre of the face, along the other axes in ascending order; edges and area are 1.
  std::array<double, D - 1> closed_moment{};
};

/// That of the face across an axis whose first corner in a node field of these strides is at p, on the same polygon as its open
/// fraction.
template <int D>
FaceCut<D> cut_face(const double* p, const Coord<D>& strides, std::size_t axis);

/// That of one face across an axis, by its index in C order of the component.
template <int D>
double open_fraction(const Field<double, D>& phi, int axis, const Coord<D>& face);

}  // namespace meniscus::grid
