#include "meniscus/surface/volume_of_fluid/open_space.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::surface {

template <int D>
OpenSpace<D>::OpenSpace(const grid::Grid<D>& grid, const grid::Field<double, D>* solid, Workspace& workspace)
    : solid_(solid), cells_along_(grid.local_shape()) {
  if (!solid) return;
  require(solid->grid() == grid && solid->stagger() == grid::Stagger<D>::node(), "solid must be on the nodes of the grid");
  Coord<D> extents;
  for (int d = 0; d < D; ++d) extents[d] = grid.local_shape()[d] + 2 * layers;
  strides_ = c_strides<D>(extents);
  cells_ = workspace.take<double>(product<D>(extents));
  for (auto& f : faces_) f = workspace.take<double>(product<D>(extents));
  sides_ = workspace.take<std::uint8_t>(product<D>(extents));
  for (const auto step : {&OpenSpace::measure, &OpenSpace::close_faces, &OpenSpace::find_wider})
    grid::for_each_row<D>(extents, [&](Coord<D> c, Index) {
      for (int d = 0; d < D; ++d) c[d] -= layers;
      for (Index i = 0; i < extents[D - 1]; ++i, ++c[D - 1]) (this->*step)(c);
    });
}

template <int D>
void OpenSpace<D>::measure(const Coord<D>& c) {
  const Index to = place(c);
  const grid::FieldView<const double, D> phi = solid_->view();
  bool all = true, any = false;
  for (unsigned k = 0; k < 1U << D; ++k) {
    Coord<D> node = c;
    for (unsigned d = 0; d < D; ++d) node[d] += k >> d & 1;
    const bool open = *phi.at(node) > 0;
    all &= open;
    any |= open;
  }
  cells_.data()[to] = all ? 1.0 : 0.0;
  for (int d = 0; d < D; ++d) faces_[d].data()[to] = all ? 1.0 : any ? grid::open_fraction<D>(*solid_, d, c) : 0.0;
  if (all || !any) return;
  std::array<double, D> low{}, high;
  high.fill(1);
  ClippedBox<D> box(low, high);
  box.clip(wall(c));
  const double open = std::min(box.volume(), 1.0);
  cells_.data()[to] = open > least_room ? open : 0.0;
}

template <int D>
void OpenSpace<D>::close_faces(const Coord<D>& c) {
  for (int d = 0; d < D; ++d) {
    Coord<D> below = c;
    --below[d];
    if (!(cell(c) > 0) || (inside(below) && !(cell(below) > 0))) faces_[d].data()[place(c)] = 0;
  }
}

template <int D>
void OpenSpace<D>::find_wider(const Coord<D>& c) {
  std::uint8_t& to = sides_.data()[place(c)];
  to = none;
  const double own = cell(c);
  if (!(own > 0 && own < 0.5)) return;
  double widest = 0;
  for (int side = 0; side < 2 * D; ++side) {
    Coord<D> other = c, above = c;
    other[side / 2] += side % 2 == 1 ? 1 : -1;
    above[side / 2] += side % 2;
    if (!inside(other) || !inside(above) || cell(other) < 0.5) continue;
    const double width = face(side / 2, above) * cell(other);
    if (width > widest) {
      widest = width;
      to = static_cast<std::uint8_t>(side);
    }
  }
}

template <int D>
BoxPlane<D> OpenSpace<D>::solid(const Coord<D>& c) const {
  const grid::FieldView<const double, D> phi = solid_->view();
  return plane_in_cell<D>(corner_values<D>(phi.at(c), phi.strides));
}

template class OpenSpace<2>;
template class OpenSpace<3>;

}  // namespace meniscus::surface
