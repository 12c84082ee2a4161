#include "meniscus/fluids/exchange/room_for_drops.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/blocks/block_window.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meniscus::fluids {
namespace {

template <int D>
bool any_corner_in_solid(const grid::FieldView<const double, D>& nodes, const Coord<D>& cell) {
  for (int corner = 0; corner < 1 << D; ++corner) {
    Coord<D> node = cell;
    for (int d = 0; d < D; ++d) node[d] += corner >> d & 1;
    if (*nodes.at(node) <= 0.0) return true;
  }
  return false;
}

}  // namespace

template <class T, int D>
Room find_room(grid::Field<T, D>& levelset, const grid::Field<double, D>* solid, const double* positions, const double* volumes,
               Index n) {
  const grid::Grid<D>& grid = levelset.grid();
  require(!solid || solid->grid() == grid, "the solid must have the grid of the liquid");
  if (grid.block().cut()) levelset.layout().halo.exchange(levelset.storage().data());
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const double h = grid.spacing();
  // The farthest corner of a cell is no farther from its centre than this.
  const T filled = static_cast<T>(-0.5 * std::sqrt(static_cast<double>(D)) * h);
  std::vector<Index> found;
  const auto find = [&](const Coord<D>& centre, Index reach, bool whole) {
    found.clear();
    const Index width = 2 * reach + 1;
    const Index count = D == 2 ? width * width : width * width * width;
    for (Index k = 0; k < count; ++k) {
      Coord<D> cell = centre;
      Index rest = k;
      bool there = true;
      for (int d = D - 1; d >= 0; --d) {
        Index& i = cell[d];
        const auto image = grid.block().image(d, i + rest % width - reach);
        i = image.value_or(0);
        there &= image.has_value();
        rest /= width;
      }
      if (!there) continue;
      const T value = *phi.at(cell);
      if (whole ? !(value <= filled) : !is_liquid_value(value, h)) continue;
      if (solid && any_corner_in_solid<D>(solid->view(), cell)) continue;
      found.push_back(grid::domain_index<D>(grid, cell));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return !found.empty();
  };
  Room room;
  for (Index i = 0; i < n; ++i) {
    const Coord<D> centre = grid::cell_in_block<double, D>(grid, positions + i * D);
    const bool any = find(centre, 1, true) || find(centre, 2, true) || find(centre, 1, false) || find(centre, 2, false);
    if (!any) found.assign(1, grid::domain_index<D>(grid, centre));
    double rest = volumes[i];
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double share = rest / static_cast<double>(found.size() - k);
      rest -= share;
      room.cells.push_back(found[k]);
      room.volumes.push_back(share);
      room.liquid.push_back(any);
    }
  }
  return room;
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Room find_room<T, D>(grid::Field<T, D>&, const grid::Field<double, D>*, const double*, const double*, Index);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
