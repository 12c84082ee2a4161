#include "meniscus/fluids/liquid/liquid_fractions.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

namespace meniscus::fluids {

template <int D>
template <class T>
void LiquidFractions<D>::set(const grid::CellLayout<D>& cells, const grid::Field<T, D>* liquid) {
  if (!(cells_ == cells) || part_.size() == 0) {
    cells_ = cells;
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      first_[a] = cells.halo.block().shared_with_another(d, 0) ? -1 : 0;
      extents_[a] = cells.cells[a] - first_[a];
    }
    part_ = Block<float>(product<D>(extents_) * parts);
  }
  const grid::FieldView<const T, D> phi = liquid ? std::as_const(*liquid).view() : grid::FieldView<const T, D>{};
  const Index count = extents_[D - 1];
  parallel_for(0, product<D>(extents_) / count, std::max<Index>(1, 8192 / count), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      Coord<D> c = grid::row_start<D>(extents_, row);
      for (std::size_t d = 0; d < D; ++d) c[d] += first_[d];
      float* to = part_.data() + row * count * parts;
      if (liquid)
        cut_row(phi, c, to);
      else
        std::fill_n(to, count * parts, 1.0f);
    }
  });
}

/// Fractions of the parts of a row of cells that begins at `c`. Cells all around count, and not only those with a common face: a
/// sliver that is left out would leave the faces around it without the mass that they resist with.
template <int D>
template <class T>
void LiquidFractions<D>::cut_row(const grid::FieldView<const T, D>& phi, Coord<D> c, float* to) const {
  for (; c[D - 1] < cells_.cells[D - 1]; ++c[D - 1], to += parts) {
    const T* const here = phi.at(c);
    for (std::uint32_t octant = 0; octant < parts; ++octant) {
      std::array<double, parts> value;
      for (std::uint32_t s = 0; s < parts; ++s) {
        const T* p = here;
        for (std::size_t d = 0; d < D; ++d)
          if (s >> d & 1) p += octant >> d & 1 ? phi.strides[d] : -phi.strides[d];
        value[s] = static_cast<double>(*p);
      }
      to[octant] = static_cast<float>(surface::octant_fraction<D>(value, nullptr, octant));
    }
  }
}

template <int D>
double LiquidFractions<D>::around(const Coord<D>& c, int axes) const {
  double sum = 0;
  for (int beside = 0; beside < parts; ++beside) {
    if (beside & ~axes) continue;  // a cell below along axes that the place does not lie between
    Coord<D> cell = c;
    bool inside = true;
    for (std::size_t d = 0; d < D; ++d) {
      if (beside >> d & 1) --cell[d];
      const auto image = cells_.halo.block().image(static_cast<int>(d), cell[d]);
      inside &= image.has_value();
      cell[d] = image.value_or(0);
    }
    if (!inside) continue;
    Index number = 0;
    for (std::size_t d = 0; d < D; ++d) number = number * extents_[d] + cell[d] - first_[d];
    const float* part = part_.data() + number * parts;
    for (int p = 0; p < parts; ++p)
      if ((p & axes) == beside) sum += static_cast<double>(part[p]);
  }
  return sum / parts;
}

template class LiquidFractions<2>;
template class LiquidFractions<3>;
template void LiquidFractions<2>::set<double>(const grid::CellLayout<2>&, const grid::Field<double, 2>*);
template void LiquidFractions<3>::set<float>(const grid::CellLayout<3>&, const grid::Field<float, 3>*);
template void LiquidFractions<3>::set<double>(const grid::CellLayout<3>&, const grid::Field<double, 3>*);

}  // namespace meniscus::fluids
