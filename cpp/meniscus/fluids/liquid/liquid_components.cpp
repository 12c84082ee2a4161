#include "meniscus/fluids/liquid/liquid_components.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Calls body(coordinate of the first cell, linear index of it) for every row along the last axis, in parallel.
template <int D, class Body>
void for_each_row(const Coord<D>& extents, Body&& body) {
  const Index length = extents[D - 1];
  parallel_for(0, product<D>(extents) / length, std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c{};
      if constexpr (D == 2) {
        c[0] = r;
      } else {
        c[0] = r / extents[1];
        c[1] = r % extents[1];
      }
      body(c, r * length);
    }
  });
}

/// The label most frequent in the 3^D cells around c, without air.
template <int D>
std::int32_t label_around(const grid::Grid<D>& grid, const Coord<D>& c, const std::int32_t* labels) {
  constexpr int neighbours = D == 2 ? 9 : 27;
  std::array<std::int32_t, neighbours> found;
  int count = 0;
  const Coord<D> strides = c_strides<D>(grid.local_shape());
  for (int q = 0; q < neighbours; ++q) {
    Coord<D> at = c;
    for (int d = 0, rest = q; d < D; ++d, rest /= 3) at[static_cast<std::size_t>(d)] += rest % 3 - 1;
    const std::int32_t label = labels[dot<D>(grid::nearest_cell<D>(grid, at), strides)];
    if (label) found[static_cast<std::size_t>(count++)] = label;
  }
  std::sort(found.begin(), found.begin() + count);
  std::int32_t best = 0;
  int most = 0;
  for (int first = 0; first < count;) {
    int last = first;
    while (last < count && found[static_cast<std::size_t>(last)] == found[static_cast<std::size_t>(first)]) ++last;
    if (last - first > most) {
      most = last - first;
      best = found[static_cast<std::size_t>(first)];
    }
    first = last;
  }
  return best;
}

}  // namespace

template <class T, int D>
void liquid_faces(const grid::Field<T, D>& liquid, int axis, std::uint8_t* mask) {
  const auto a = static_cast<std::size_t>(axis);
  const grid::FieldView<const T, D> phi = liquid.view();
  const double spacing = liquid.grid().spacing();
  Coord<D> faces = phi.extents;
  ++faces[a];
  // The cell beside a face, or nothing.
  const auto cell = [&](Coord<D> c, Index away) -> const T* {
    c[a] = grid::image_of_cell(liquid.grid(), axis, c[a] + away);
    return c[a] < 0 ? nullptr : phi.at(c);
  };
  const auto either = [&](const T* lower, const T* upper) {
    return (lower && is_liquid_value(*lower, spacing)) || (upper && is_liquid_value(*upper, spacing));
  };
  const bool along = axis == D - 1;
  for_each_row<D>(faces, [&](Coord<D> c, Index first) {
    std::uint8_t* const out = mask + first;
    Index begin = 0, end = faces[D - 1];
    if (along) {
      // The first face and the last may have no cell on one side, or its image.
      for (const Index k : {begin, end - 1}) {
        c[a] = k;
        out[k] = either(cell(c, -1), cell(c, 0));
      }
      c[a] = ++begin;
      --end;
    }
    if (begin >= end) return;
    const T* const upper = cell(c, 0);
    const T* const lower = cell(c, -1);
    const Index n = end - begin;
    if (lower && upper)
      for (Index k = 0; k < n; ++k) out[begin + k] = is_liquid_value(lower[k], spacing) | is_liquid_value(upper[k], spacing);
    else
      for (Index k = 0; k < n; ++k) out[begin + k] = is_liquid_value((lower ? lower : upper)[k], spacing);
  });
}

template <class T, int D>
void component_origins(const grid::MacField<T, D>& velocity, double dt, const std::int32_t* before, const std::int32_t* now,
                       std::int32_t* origin) {
  const grid::Grid<D>& grid = velocity.grid();
  grid::require_one_block(grid, "tracking of liquid components");
  const Coord<D> cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const double scale = -0.5 * dt / grid.spacing();
  for_each_row<D>(cells, [&](Coord<D> c, Index first) {
    for (Index k = 0; k < cells[D - 1]; ++k) {
      if (!now[first + k]) {
        origin[first + k] = 0;
        continue;
      }
      c[D - 1] = k;
      Coord<D> from = c;
      for (int d = 0; d < D; ++d) {
        const auto axis = static_cast<std::size_t>(d);
        const grid::FieldView<const T, D> u = velocity.component(d).view();
        const T* lower = u.at(c);
        const double shift = scale * (static_cast<double>(lower[0]) + static_cast<double>(lower[u.strides[axis]]));
        from[axis] += static_cast<Index>(std::floor(std::clamp(shift, -1e9, 1e9) + 0.5));
      }
      from = grid::nearest_cell<D>(grid, from);
      const std::int32_t label = before[dot<D>(from, strides)];
      origin[first + k] = label ? label : label_around<D>(grid, from, before);
    }
  });
}

template <int D>
void spread_labels(const grid::Grid<D>& grid, std::int32_t* labels, int layers, const grid::Field<double, D>* solid,
                   Workspace& workspace) {
  require(layers >= 0, "layers must not be negative, got ", layers);
  require(!solid || (solid->grid() == grid && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  grid::require_one_block(grid, "spreading labels");
  constexpr std::int32_t wall = -1;
  const Coord<D> cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  auto fresh = workspace.take<std::int32_t>(product<D>(cells));
  if (solid) {
    const grid::FieldView<const double, D> nodes = solid->view();
    for_each_row<D>(cells, [&](const Coord<D>& c, Index first) {
      const double* lowest = nodes.at(c);
      for (Index k = 0; k < cells[D - 1]; ++k)
        if (!labels[first + k] && grid::corner_mean<D>(lowest + k, nodes.strides) <= 0.0) labels[first + k] = wall;
    });
  }
  const auto open_walls = [&] {
    for_each_row<D>(cells, [&](const Coord<D>&, Index first) {
      std::replace(labels + first, labels + first + cells[D - 1], wall, std::int32_t{0});
    });
  };
  for (int layer = 0; layer < layers; ++layer) {
    check_interrupt();
    if (solid && layer == layers - 1) open_walls();
    for_each_row<D>(cells, [&](Coord<D> c, Index first) {
      for (Index k = 0; k < cells[D - 1]; ++k) {
        std::int32_t label = labels[first + k];
        c[D - 1] = k;
        for (std::size_t d = 0; !labels[first + k] && d < D; ++d)
          for (const Index step : {Index(-1), Index(1)}) {
            Coord<D> beside = c;
            beside[d] += step;
            const std::int32_t other = labels[dot<D>(grid::nearest_cell<D>(grid, beside), strides)];
            if (other > 0 && (!label || other < label)) label = other;
          }
        fresh.data()[first + k] = label;
      }
    });
    for_each_row<D>(cells,
                    [&](const Coord<D>&, Index first) { std::copy_n(fresh.data() + first, cells[D - 1], labels + first); });
  }
}

template void spread_labels<2>(const grid::Grid<2>&, std::int32_t*, int, const grid::Field<double, 2>*, Workspace&);
template void spread_labels<3>(const grid::Grid<3>&, std::int32_t*, int, const grid::Field<double, 3>*, Workspace&);
#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template void liquid_faces<T, D>(const grid::Field<T, D>&, int, std::uint8_t*);                                      \
  template void component_origins<T, D>(const grid::MacField<T, D>&, double, const std::int32_t*, const std::int32_t*, \
                                        std::int32_t*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
