#include "meniscus/fluids/liquid/liquid_components.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// The label most frequent in the 3^D cells around c, without air.
template <int D>
std::int32_t label_around(const grid::Grid<D>& grid, const Coord<D>& c, const grid::BlockWindow<std::int32_t, D>& labels) {
  std::array<std::int32_t, grid::block_cells<D>> found;
  int count = 0;
  for (int q = 0; q < grid::block_cells<D>; ++q) {
    Coord<D> at = grid::block_offset<D>(q);
    for (int d = 0; d < D; ++d) at[d] = grid::nearest_in_domain<D>(grid, d, c[d] + at[d]);
    const std::int32_t label = labels.at(at);
    if (label) found[count++] = label;
  }
  // Of labels that are equally frequent, the lowest.
  std::int32_t best = 0;
  Index most = 0;
  for (int k = 0; k < count; ++k) {
    const Index times = std::count(found.begin(), found.begin() + count, found[k]);
    if (times < most || (times == most && found[k] >= best)) continue;
    most = times;
    best = found[k];
  }
  return best;
}

}  // namespace

template <class T, int D>
void liquid_faces(grid::Field<T, D>& liquid, int axis, std::uint8_t* mask) {
  const Index a = axis;
  const parallel::DomainBlock<D>& block = liquid.grid().block();
  if (block.cut(axis)) liquid.layout().halo.exchange(axis, liquid.storage().data());
  const grid::FieldView<const T, D> phi = std::as_const(liquid).view();
  const double spacing = liquid.grid().spacing();
  Coord<D> faces = phi.extents;
  ++faces[a];
  // The cell beside a face, or nothing.
  const auto cell = [&](Coord<D> c, Index away) -> const T* {
    const auto image = block.image(axis, c[a] + away);
    c[a] = image.value_or(0);
    return image ? phi.at(c) : nullptr;
  };
  const auto either = [&](const T* lower, const T* upper) {
    return (lower && is_liquid_value(*lower, spacing)) || (upper && is_liquid_value(*upper, spacing));
  };
  const bool along = axis == D - 1;
  grid::for_each_row<D>(faces, [&](Coord<D> c, Index first) {
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
  const Coord<D> cells = grid.local_shape();
  const double scale = -0.5 * dt / grid.spacing();
  // Calls visit(index, cell of the domain in which the trace of a cell ends) for the cells of a row with a label.
  const auto trace_row = [&](Coord<D> c, Index first, auto&& visit) {
    for (Index k = 0; k < cells[D - 1]; ++k) {
      if (!now[first + k]) continue;
      c[D - 1] = k;
      Coord<D> from = c;
      for (int d = 0; d < D; ++d) {
        const Index axis = d;
        const grid::FieldView<const T, D> u = velocity.component(d).view();
        const T* lower = u.at(c);
        const double shift = scale * (static_cast<double>(lower[0]) + static_cast<double>(lower[u.strides[axis]]));
        from[axis] += static_cast<Index>(std::floor(std::clamp(shift, -1e9, 1e9) + 0.5));
        from[axis] = grid::nearest_in_domain<D>(grid, d, from[axis]);
      }
      visit(first + k, from);
    }
  };
  Index width = 0;
  if (grid.block().cut()) {
    // No trace goes farther than the fastest face would take it.
    const auto longest = static_cast<double>(*std::max_element(grid.shape().begin(), grid.shape().end()));
    const double most = std::abs(dt) / grid.spacing() * grid::max_component_speed(velocity);
    width = 1 + static_cast<Index>(std::floor(std::min(most, longest) + 0.50001));
  }
  const grid::BlockWindow<std::int32_t, D> labels(grid, before, width);
  grid::for_each_row<D>(cells, [&](const Coord<D>& c, Index first) {
    std::fill_n(origin + first, cells[D - 1], 0);
    trace_row(c, first, [&](Index i, const Coord<D>& from) {
      const std::int32_t label = labels.at(from);
      origin[i] = label ? label : label_around<D>(grid, from, labels);
    });
  });
}

template <int D>
void spread_labels(const grid::Grid<D>& grid, std::int32_t* labels, int layers, const grid::Field<double, D>* solid,
                   Workspace& workspace) {
  require(layers >= 0, "layers must not be negative, got ", layers);
  require(!solid || (solid->grid() == grid && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  constexpr std::int32_t wall = -1;
  const Coord<D> cells = grid.local_shape();
  Coord<D> padded = cells;
  for (Index& n : padded) n += 2;
  parallel::HaloLayout<D> layout;
  layout.block = grid.block();
  layout.ghost = 1;
  layout.strides = c_strides<D>(padded);
  for (const Index s : layout.strides) layout.origin += s;
  layout.corners = false;
  const parallel::HaloPlan<D> halo(layout, grid.communicator());
  // Cells beyond the sides of the domain have no label.
  std::array<Workspace::Lease<std::int32_t>, 2> layer_labels;
  for (auto& lease : layer_labels) {
    lease = workspace.take<std::int32_t>(product<D>(padded));
    grid::for_each_row<D>(padded, [&](const Coord<D>& c, Index first) {
      bool inside = true;
      for (std::size_t d = 0; d + 1 < D; ++d) inside &= c[d] > 0 && c[d] < padded[d] - 1;
      std::int32_t* const row = lease.data() + first;
      if (inside)
        row[0] = row[padded[D - 1] - 1] = 0;
      else
        std::fill_n(row, padded[D - 1], 0);
    });
  }
  std::int32_t *from = layer_labels[0].data(), *to = layer_labels[1].data();
  const auto row_of = [&](std::int32_t* first, const Coord<D>& c) { return first + layout.origin + dot<D>(c, layout.strides); };
  grid::for_each_row<D>(cells, [&](const Coord<D>& c, Index first) {
    std::int32_t* row = row_of(from, c);
    std::copy_n(labels + first, cells[D - 1], row);
    if (!solid) return;
    const grid::FieldView<const double, D> nodes = solid->view();
    const double* lowest = nodes.at(c);
    for (Index k = 0; k < cells[D - 1]; ++k)
      if (!row[k] && grid::corner_mean<D>(lowest + k, nodes.strides) <= 0.0) row[k] = wall;
  });
  for (int layer = 0; layer < layers; ++layer) {
    check_interrupt();
    halo.exchange(from);
    const bool open_walls = solid && layer == layers - 1;
    grid::for_each_row<D>(cells, [&](const Coord<D>& c, Index) {
      const std::int32_t* row = row_of(from, c);
      std::int32_t* out = row_of(to, c);
      for (Index k = 0; k < cells[D - 1]; ++k) {
        std::int32_t label = row[k];
        if (open_walls && label == wall) label = 0;
        if (label == 0) {
          for (const Index stride : layout.strides)
            for (const std::int32_t other : {row[k - stride], row[k + stride]})
              if (other > 0 && (!label || other < label)) label = other;
        }
        out[k] = label;
      }
    });
    std::swap(from, to);
  }
  grid::for_each_row<D>(cells, [&](const Coord<D>& c, Index first) {
    const std::int32_t* row = row_of(from, c);
    std::copy_n(row, cells[D - 1], labels + first);
  });
}

template <int D>
void join_touching_components(const grid::Grid<D>& grid, const grid::Field<double, D>* solid, bool films, std::int32_t* labels,
                              std::vector<double>& volumes) {
  if (volumes.size() <= 2) return;
  const Coord<D> cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const Index length = cells[D - 1];
  const Index rows = product<D>(cells) / length;
  const grid::BlockWindow<std::int32_t, D> window(grid, labels, 1);
  const auto label_at = [&](Coord<D> c) {
    for (int d = 0; d < D; ++d) {
      if (!grid::in_domain<D>(grid, d, c[d])) return 0;
      c[d] = grid::nearest_in_domain<D>(grid, d, c[d]);
    }
    return window.at(c);
  };
  const grid::FieldView<const double, D> nodes = solid ? solid->view() : grid::FieldView<const double, D>{};
  using Pair = std::array<std::int32_t, 2>;
  const Index chunk = std::max<Index>(1, (rows + 63) / 64);
  std::vector<std::vector<Pair>> found((rows + chunk - 1) / chunk);
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    std::vector<Pair>& pairs = found[begin / chunk];
    const auto add = [&](std::int32_t label, std::int32_t other, const Coord<D>& c, const Coord<D>& offset) {
      if (label == 0 || other <= label) return;
      if (solid && !grid::share_positive_corner<D>(nodes.at(c), nodes.strides, offset)) return;
      if (const Pair pair{label, other}; pairs.empty() || pairs.back() != pair) pairs.push_back(pair);
    };
    for (Index r = begin; r < end; ++r) {
      const Coord<D> first = grid::row_start<D>(cells, r);
      const std::int32_t* const row = labels + r * length;
      for (int q = 0; q < grid::block_cells<D>; ++q) {
        const Coord<D> offset = grid::block_offset<D>(q);
        int apart = 0;
        bool inside = true;
        for (int d = 0; d < D; ++d) {
          apart += offset[d] != 0;
          if (d < D - 1) inside &= first[d] + offset[d] >= 0 && first[d] + offset[d] < cells[d];
        }
        if (apart < (films ? 1 : 2)) continue;  // but for films, cells with a common face have the same label
        const Index step = offset[D - 1];
        const std::int32_t* const others = row + dot<D>(offset, strides);
        for (Index k = 0; k < length; ++k) {
          if (row[k] == 0) continue;
          Coord<D> c = first;
          c[D - 1] = k;
          if (inside && k + step >= 0 && k + step < length) {
            add(row[k], others[k], c, offset);
          } else {
            Coord<D> beside;
            for (std::size_t d = 0; d < D; ++d) beside[d] = c[d] + offset[d];
            add(row[k], label_at(beside), c, offset);
          }
        }
      }
    }
  });
  std::vector<Pair> all;
  for (const std::vector<Pair>& pairs : found) all.insert(all.end(), pairs.begin(), pairs.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all = parallel::gather_lists(*grid.communicator(), all);
  if (all.empty()) return;
  // Numbered by their first cells, as before; air is a set of its own.
  std::vector<std::int32_t> number(volumes.size());
  const Index parts = numerics::label_components(std::span(number), [&](const auto& unite) {
    for (const auto& [a, b] : all) unite(a, b);
  });
  std::vector<double> sums(parts, 0.0);
  for (std::size_t i = 0; i < volumes.size(); ++i) sums[number[i]] += volumes[i];
  parallel_for(0, product<D>(cells), 1 << 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) labels[i] = number[labels[i]];
  });
  volumes.swap(sums);
}

template void join_touching_components<2>(const grid::Grid<2>&, const grid::Field<double, 2>*, bool, std::int32_t*,
                                          std::vector<double>&);
template void join_touching_components<3>(const grid::Grid<3>&, const grid::Field<double, 3>*, bool, std::int32_t*,
                                          std::vector<double>&);
template void spread_labels<2>(const grid::Grid<2>&, std::int32_t*, int, const grid::Field<double, 2>*, Workspace&);
template void spread_labels<3>(const grid::Grid<3>&, std::int32_t*, int, const grid::Field<double, 3>*, Workspace&);
#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template void liquid_faces<T, D>(grid::Field<T, D>&, int, std::uint8_t*);                                            \
  template void component_origins<T, D>(const grid::MacField<T, D>&, double, const std::int32_t*, const std::int32_t*, \
                                        std::int32_t*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
