/// Volume fractions of liquid in parts of cells, from which those of cells, faces, edges and nodes follow.
///
/// Every cell is cut through its centre into 2^D parts (cut_octant.hpp). The volume around a face, an edge or a node is the sum
/// of the parts around it, so all of these volumes divide up the same liquid.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/poisson/cell_layout.hpp"

namespace meniscus::fluids {

template <int D>
class LiquidFractions {
 public:
  static constexpr int parts = 1 << D;

  Index bytes() const { return 4 * part_.size(); }

  /// `cells`: of the block. `liquid`: on cells, liquid where <= 0, with ghosts on lines; null: liquid everywhere.
  template <class T>
  void set(const grid::CellLayout<D>& cells, const grid::Field<T, D>* liquid);

  /// Part of the volume of one cell around the centre of cell `c` (no axes), its lower face (one axis) or its lower edge (two
  /// axes: a bit each) that is liquid. What lies beyond a side of the domain is not.
  double around(const Coord<D>& c, int axes) const;

 private:
  template <class T>
  void cut_row(const grid::FieldView<const T, D>& phi, Coord<D> c, float* to) const;

  grid::CellLayout<D> cells_;
  /// Cells whose parts are known: the own ones, and a layer before them that other blocks own.
  Coord<D> first_{}, extents_{};
  Block<float> part_;
};

}  // namespace meniscus::fluids
