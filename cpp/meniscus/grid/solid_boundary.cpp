#include "meniscus/grid/solid_boundary.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/extrapolate.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {
namespace {

void fit(Block<std::uint8_t>& block, Index size) {
  if (block.size() != size) block = Block<std::uint8_t>(size);
}

template <int D>
Coord<D> faces_of(const Coord<D>& cells, int axis) {
  return Stagger<D>::face(axis).extents(cells);
}

/// A copy of a mask, in which an extrapolation marks what it reaches.
Workspace::Lease<std::uint8_t> copy_of(const Block<std::uint8_t>& mask, Workspace& workspace) {
  auto copy = workspace.take<std::uint8_t>(mask.size());
  std::copy(mask.begin(), mask.end(), copy.data());
  return copy;
}

}  // namespace

template <int D>
void SolidMasks<D>::find(const Field<double, D>& levelset) {
  const FieldView<const double, D> phi = levelset.view();
  const Coord<D> cells = levelset.grid().local_shape();
  fit(outside_cells, product<D>(cells));
  for_each_row<D>(cells, [&](const Coord<D>& c, Index first) {
    const double* p = phi.at(c);
    for (Index k = 0; k < cells[D - 1]; ++k) outside_cells[first + k] = corner_mean<D>(p + k, phi.strides) > 0;
  });
  for (int d = 0; d < D; ++d) {
    Block<std::uint8_t>&open = open_faces[d], &inside = inside_faces[d];
    const Coord<D> faces = faces_of<D>(cells, d);
    fit(open, product<D>(faces));
    fit(inside, product<D>(faces));
    for_each_row<D>(faces, [&](const Coord<D>& c, Index first) {
      const double* p = phi.at(c);
      for (Index k = 0; k < faces[D - 1]; ++k) {
        open[first + k] = any_corner_positive<D>(p + k, phi.strides, d);
        inside[first + k] = corner_mean<D>(p + k, phi.strides, d) <= 0;
      }
    });
  }
}

template <int D>
Index SolidMasks<D>::bytes() const {
  Index n = outside_cells.size();
  for (std::size_t d = 0; d < D; ++d) n += open_faces[d].size() + inside_faces[d].size();
  return n;
}

template <class T, int D>
SolidBoundary<T, D>::SolidBoundary(Field<double, D>& levelset, MacField<T, D>* velocity, Slip slip)
    : levelset_(&levelset), velocity_(velocity), slip_(slip) {
  require(levelset.stagger() == Stagger<D>::node(), "the level set of the solid must be on nodes");
  require(!velocity || velocity->grid() == levelset.grid(), "the velocity of the solid must have the grid of its level set");
}

template <class T, int D>
const SolidMasks<D>& SolidBoundary<T, D>::masks() {
  if (!masks_are_current_) masks_.find(*levelset_);
  masks_are_current_ = true;
  return masks_;
}

template <class T, int D>
double max_component_speed(SolidBoundary<T, D>& solid) {
  if (!solid.velocity()) return 0.0;
  T largest{0};
  for (int d = 0; d < D; ++d) {
    const FieldView<const T, D> u = std::as_const(*solid.velocity()).component(d).view();
    const std::uint8_t* inside = solid.masks().inside_faces[d].data();
    const Index length = u.extents[D - 1];
    const T most = parallel_reduce(
        0, product<D>(u.extents) / length, std::max<Index>(1, 8192 / length), T{0},
        [&](Index begin, Index end) {
          T m{0};
          for (Index r = begin; r < end; ++r) {
            const T* row = u.at(row_start<D>(u.extents, r));
            for (Index k = 0; k < length; ++k)
              if (inside[r * length + k]) m = std::max(m, std::abs(row[k]));
          }
          return m;
        },
        [](T a, T b) { return std::max(a, b); });
    largest = std::max(largest, most);
  }
  return parallel::global_max(*solid.grid().communicator(), static_cast<double>(largest));
}

template <class T, int D>
void set_solid_velocity(MacField<T, D>& velocity, SolidBoundary<T, D>& solid) {
  for (int d = 0; d < D; ++d) {
    const FieldView<T, D> to = velocity.component(d).view();
    const std::uint8_t* inside = solid.masks().inside_faces[d].data();
    for_each_row<D>(to.extents, [&](const Coord<D>& c, Index first) {
      T* u = to.at(c);
      const T* given = solid.velocity() ? solid.velocity()->component(d).view().at(c) : nullptr;
      for (Index k = 0; k < to.extents[D - 1]; ++k)
        if (inside[first + k]) u[k] = given ? given[k] : T{0};
    });
  }
}

template <class T, int D>
void continue_into_solid(Field<T, D>& field, SolidBoundary<T, D>& solid, Workspace& workspace) {
  const Block<std::uint8_t>& outside = solid.masks().outside_cells;
  require(field.stagger() == Stagger<D>::cell() && field.grid() == solid.grid(),
          "the field must be on the cells of the solid's grid");
  const auto known = copy_of(outside, workspace);
  extrapolate(field, known.data(), solid_layers, workspace);
}

template <class T, int D>
void continue_level_set_into_solid(Field<T, D>& levelset, SolidBoundary<T, D>& solid, Workspace& workspace) {
  const Block<std::uint8_t>& outside = solid.masks().outside_cells;
  require(levelset.stagger() == Stagger<D>::cell() && levelset.grid() == solid.grid(),
          "the level set must be on the cells of the solid's grid");
  const auto known = copy_of(outside, workspace);
  extrapolate_linearly(levelset, known.data(), level_set_layers, 1.0, workspace);
}

template <class T, int D>
void continue_into_solid(MacField<T, D>& velocity, SolidBoundary<T, D>& solid, Workspace& workspace) {
  require(velocity.grid() == solid.grid(), "the velocity must have the grid of the solid");
  if (solid.sticks()) return set_solid_velocity(velocity, solid);
  for (int d = 0; d < D; ++d) {
    const auto known = copy_of(solid.masks().open_faces[d], workspace);
    extrapolate(velocity.component(d), known.data(), solid_layers, workspace);
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                             \
  template class SolidBoundary<T, D>;                                                          \
  template double max_component_speed(SolidBoundary<T, D>&);                                   \
  template void set_solid_velocity(MacField<T, D>&, SolidBoundary<T, D>&);                     \
  template void continue_into_solid(Field<T, D>&, SolidBoundary<T, D>&, Workspace&);           \
  template void continue_level_set_into_solid(Field<T, D>&, SolidBoundary<T, D>&, Workspace&); \
  template void continue_into_solid(MacField<T, D>&, SolidBoundary<T, D>&, Workspace&);
template struct SolidMasks<2>;
template struct SolidMasks<3>;
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
