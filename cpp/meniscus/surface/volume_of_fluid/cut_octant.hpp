/// The liquid in a part of a cell that its surface and a solid cut together.
///
/// Every cell is cut through its centre into 2^D octants. In each, the level set of the liquid (on cells) and that of the solid
/// (on nodes) are the planes that their multilinear interpolants have in its middle, and the liquid is what both planes leave:
/// exact for planes at any distance, so that films much thinner than a cell have their volume. Cells, halves of cells, and the
/// cubes between the centres of cells are sums of octants.
#pragma once

#include "meniscus/surface/volume_of_fluid/cell_plane.hpp"

#include <cstdint>

namespace meniscus::surface {

/// value + slope . x in a unit box around the origin: a surface in an octant or a cell, inside where <= 0.
template <int D>
struct BoxPlane {
  double value = 0;
  std::array<double, D> slope{};

  double part() const { return box_fraction<D>(value, slope); }
  /// The half-space that is inside, or its complement, from the lower corner of the box.
  HalfSpace<D> half(bool inside) const {
    const double sign = inside ? 1 : -1;
    HalfSpace<D> h;
    h.offset = -sign * value;
    for (int d = 0; d < D; ++d) {
      h.normal[d] = sign * slope[d];
      h.offset += 0.5 * h.normal[d];
    }
    return h;
  }
};

/// The plane at a place of the multilinear interpolant of values at the corners of a unit box (bit d of a number: upper along
/// axis d), in a box of these widths around the place.
template <int D>
BoxPlane<D> tangent_plane(const std::array<double, 1 << D>& value, const std::array<double, D>& at,
                          const std::array<double, D>& width) {
  BoxPlane<D> plane;
  for (std::uint32_t s = 0; s < value.size(); ++s) {
    double weight = value[s];
    for (std::uint32_t d = 0; d < D; ++d) weight *= (s >> d) & 1u ? at[d] : 1 - at[d];
    plane.value += weight;
    for (std::uint32_t d = 0; d < D; ++d) {
      double slope = (s >> d) & 1u ? width[d] * value[s] : -width[d] * value[s];
      for (std::uint32_t e = 0; e < D; ++e)
        if (e != d) slope *= (s >> e) & 1u ? at[e] : 1 - at[e];
      plane.slope[d] += slope;
    }
  }
  return plane;
}

/// The plane of a solid in an octant of a cell (bit d: in its upper half along axis d), from its values at the corners of the
/// cell.
template <int D>
BoxPlane<D> solid_in_octant(const std::array<double, 1 << D>& corner, std::uint32_t octant) {
  std::array<double, D> at, width;
  width.fill(0.5);
  for (std::uint32_t d = 0; d < D; ++d) at[d] = (octant >> d) & 1u ? 0.75 : 0.25;
  return tangent_plane<D>(corner, at, width);
}

/// Values of a node field at the corners of the cell whose lowest one is at p.
template <int D>
std::array<double, 1 << D> corner_values(const double* p, const Coord<D>& strides) {
  std::array<double, 1 << D> corner;
  for (std::uint32_t q = 0; q < corner.size(); ++q) {
    Index offset = 0;
    for (std::uint32_t d = 0; d < D; ++d) offset += (q >> d) & 1u ? strides[d] : 0;
    corner[q] = p[offset];
  }
  return corner;
}

/// The plane in the middle of a whole cell, from values at its corners.
template <int D>
BoxPlane<D> plane_in_cell(const std::array<double, 1 << D>& corner) {
  std::array<double, D> at, width;
  at.fill(0.5);
  width.fill(1.0);
  return tangent_plane<D>(corner, at, width);
}

/// What a solid leaves of a cell whose corners these are.
template <int D>
double open_part(const std::array<double, 1 << D>& corner) {
  return 1.0 - plane_in_cell<D>(corner).part();
}

/// Part of a box that is below the plane of the liquid and outside of that of the solid. Rises with any offset of the liquid.
template <int D>
double part_outside(const BoxPlane<D>& liquid, const BoxPlane<D>& solid) {
  const double open = 1 - solid.part();
  if (!(open > 0)) return 0;
  double reach = 0;
  for (const double s : liquid.slope) reach += 0.5 * std::abs(s);
  if (liquid.value >= reach) return liquid.value > 0 ? 0 : open;
  if (liquid.value <= -reach) return open;
  if (open >= 1) return liquid.part();
  std::array<double, D> low{}, high;
  high.fill(1);
  ClippedBox<D> box(low, high);
  box.clip(solid.half(false));
  box.clip(liquid.half(true));
  return std::min(open, box.volume());
}

/// Part of one of the 2^D octants of a cell in which samples at centres are below zero, without what a solid has of it.
/// `value`: of the cell (number 0), and of the cells beside it on the side of the octant, bit d of a number being axis d.
/// `corner`: of the cell in the level set of a solid, or null; bit d of `octant`: it is in the upper half along axis d.
template <int D>
double octant_fraction(const std::array<double, 1 << D>& value, const std::array<double, 1 << D>* corner, std::uint32_t octant) {
  bool all = true, any = false;
  for (const double v : value) {
    all &= v <= 0;
    any |= v <= 0;
  }
  if (!any) return 0;
  if (all && !corner) return 1;
  const BoxPlane<D> solid = corner ? solid_in_octant<D>(*corner, octant) : BoxPlane<D>{1, {}};
  if (all) return 1 - solid.part();
  std::array<double, D> at, width;
  at.fill(0.25);
  width.fill(0.5);
  BoxPlane<D> liquid = tangent_plane<D>(value, at, width);
  if (!std::isfinite(liquid.value)) return value[0] <= 0 ? 1 - solid.part() : 0.0;
  if (!corner) return liquid.part();
  // The values are in the order outwards from the centre, the solid is along the axes.
  for (std::uint32_t d = 0; d < D; ++d)
    if (!((octant >> d) & 1u)) liquid.slope[d] = -liquid.slope[d];
  return part_outside<D>(liquid, solid);
}

/// The parts of the octants of a cell that are liquid. `phi`: of the cell, all of whose neighbours can be read; those beyond
/// sides of the domain are on lines (grid::fill_ghosts_on_lines). `solid`: the lowest corner of the cell in the level set of a
/// solid on nodes, or nullptr.
template <class T, int D>
std::array<double, 1 << D> octant_fractions(const T* phi, const Coord<D>& strides, const double* solid,
                                            const Coord<D>& node_strides) {
  std::array<double, 1 << D> parts{};
  const bool wet = *phi <= 0;
  bool cut = false;
  for (const Index s : strides) cut |= ((phi[s] <= 0) != wet) | ((phi[-s] <= 0) != wet);
  if (!cut && !wet) return parts;
  std::array<double, 1 << D> corner{};
  bool open = true, closed = solid != nullptr;
  if (solid) {
    corner = corner_values<D>(solid, node_strides);
    for (const double v : corner) {
      open &= v > 0;
      closed &= !(v > 0);
    }
  }
  if (closed) return parts;
  if (!cut && open) {
    parts.fill(1.0);
    return parts;
  }
  for (std::uint32_t octant = 0; octant < parts.size(); ++octant) {
    std::array<double, 1 << D> value;
    for (std::uint32_t s = 0; s < value.size(); ++s) {
      Index offset = 0;
      for (std::uint32_t d = 0; d < D; ++d)
        if ((s >> d) & 1u) offset += (octant >> d) & 1u ? strides[d] : -strides[d];
      value[s] = static_cast<double>(phi[offset]);
    }
    parts[octant] = octant_fraction<D>(value, open ? nullptr : &corner, octant);
  }
  return parts;
}

}  // namespace meniscus::surface
