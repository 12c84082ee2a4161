#include "meniscus/grid/transport/transport_masks.hpp"

#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/mask_window.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {
namespace {

/// A mask continues like the field does; beyond a side with given values there is nothing to hide behind.
template <int D>
FieldLayout<D> mask_layout(FieldLayout<D> layout) {
  for (GhostRule& rule : layout.rules) {
    rule.function = nullptr;
    rule.odd = false;
    rule.constant = 1.0;
  }
  return layout;
}

/// Copies an owned-extents mask into a padded block (0 or 1) with a mask's layout and fills its ghosts.
template <int D>
FieldView<std::uint8_t, D> pad_mask(const FieldLayout<D>& layout, const std::uint8_t* owned, std::uint8_t* storage) {
  const FieldView<std::uint8_t, D> view = layout.template view<std::uint8_t>(storage);
  const Index length = view.extents[D - 1];
  parallel_rows<D>(view.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      std::uint8_t* row = view.at(row_start<D>(view.extents, r));
      for (Index k = 0; k < length; ++k) row[k] = owned[r * length + k] ? 1 : 0;
    }
  });
  fill_ghosts(layout, storage, 0.0);
  return view;
}

template <int D>
FieldView<const std::uint8_t, D> constant(const FieldView<std::uint8_t, D>& v) {
  return {v.origin, v.extents, v.strides};
}

/// A number of cells, or that of the whole domain.
template <int D>
Index within_domain(const Grid<D>& grid, double cells) {
  const Coord<D>& n = grid.shape();
  return static_cast<Index>(std::min(cells, static_cast<double>(*std::max_element(n.begin(), n.end()))));
}

/// Sets the own samples of a padded block to whether all samples up to `reach` away are set in a mask with owned extents, and all
/// others to 1. Samples that continue the mask beyond the sides of the domain change nothing: what they repeat is within reach.
/// Collective.
template <int D>
void visible_within(const FieldLayout<D>& layout, const std::uint8_t* mask, Index reach, std::uint8_t* near,
                    Workspace& workspace) {
  const Coord<D> own = layout.extents();
  const BlockWindow<std::uint8_t, D> samples(layout.grid, layout.stagger, mask, c_strides<D>(own), reach);
  const parallel::DomainBlock<D>& block = layout.grid.block();
  Coord<D> below{}, extents = own, period{};
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    if (block.own_neighbour(d)) period[a] = block.domain[a];
    if (!block.cut(d)) continue;
    const bool around = block.periodic[a];
    below[a] = around ? reach : std::min(reach, block.first[a]);
    const Index above = around ? reach : std::min(reach, block.domain[a] - block.first[a] - block.shape[a]);
    extents[a] += below[a] + above;
  }
  const Index size = product<D>(extents);
  const auto window = workspace.take<std::uint8_t>(size), result = workspace.take<std::uint8_t>(size),
             scratch = workspace.take<std::uint8_t>(size);
  const Index length = extents[D - 1];
  parallel_rows<D>(extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = row_start<D>(extents, r);
      for (std::size_t d = 0; d < D; ++d) c[d] -= below[d];
      for (Index k = 0; k < length; ++k, ++c[D - 1]) window.data()[r * length + k] = samples.at(c) ? 1 : 0;
    }
  });
  windowed_and<D>(extents, window.data(), -reach, reach, result.data(), scratch.data(), period);
  std::fill_n(near, layout.storage_size(), std::uint8_t{1});
  const FieldView<std::uint8_t, D> out = layout.template view<std::uint8_t>(near);
  const Coord<D> strides = c_strides<D>(extents);
  parallel_rows<D>(own, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = row_start<D>(own, r);
      Index from = 0;
      for (std::size_t d = 0; d < D; ++d) from += (c[d] + below[d]) * strides[d];
      std::copy_n(result.data() + from, own[D - 1], out.at(c));
    }
  });
}

}  // namespace

template <class T, int D>
TransportMasks<T, D>::TransportMasks(const FieldLayout<D>& layout, const AdvectMasks& masks, const AdvectOptions& options,
                                     double cfl, Workspace& workspace)
    : mask_layout_(mask_layout(layout)) {
  const Index size = layout.storage_size();
  const Coord<D> padded = layout.padded();
  const int margin = stencil_margin(options.pass.interpolation);
  if (masks.active) {
    active_lease_ = workspace.take<std::uint8_t>(size);
    active_ = pad_mask(mask_layout_, masks.active, active_lease_.data()).origin;
  }
  std::uint8_t* first_order = nullptr;
  if (masks.first_order) {
    first_order_lease_ = workspace.take<std::uint8_t>(size);
    first_order = pad_mask(mask_layout_, masks.first_order, first_order_lease_.data()).origin;
  }
  if (masks.visible) {
    visible_lease_ = workspace.take<std::uint8_t>(size);
    clear_lease_ = workspace.take<std::uint8_t>(size);
    const Lease scratch = workspace.take<std::uint8_t>(size);
    const auto visible = pad_mask(mask_layout_, masks.visible, visible_lease_.data());
    const auto clear = layout.view(clear_lease_.data());
    windowed_and<D>(padded, visible_lease_.data(), -margin, 1 + margin, clear_lease_.data(), scratch.data());
    hidden_.emplace(MaskedVisibility<T, D>{&mask_layout_, constant(visible), constant(clear), options.hidden_value});
    if (options.first_order_near != FirstOrderNear::nothing) {
      // A sample keeps the first-order value unless everything within the distance is visible.
      const Index reach = within_domain<D>(layout.grid, std::ceil(cfl) + margin);
      const Lease near = workspace.take<std::uint8_t>(size);
      if (layout.grid.block().cut() && reach > ghost_width) {
        visible_within(layout, masks.visible, reach, near.data(), workspace);
      } else {
        Coord<D> period{};
        for (int d = 0; d < D; ++d)
          if (layout.grid.block().own_neighbour(d)) period[d] = layout.grid.shape()[d];
        windowed_and<D>(padded, visible_lease_.data(), -reach, reach, near.data(), scratch.data(), period);
      }
      const bool merge = first_order != nullptr;
      if (!merge) first_order_lease_ = workspace.take<std::uint8_t>(size);
      std::uint8_t* out = first_order_lease_.data();
      const std::uint8_t* trusted = near.data();
      parallel_for(0, size, 1 << 16, [&](Index b, Index e) {
        for (Index i = b; i < e; ++i) out[i] = static_cast<std::uint8_t>((trusted[i] ? 0 : 1) | (merge ? out[i] : 0));
      });
      first_order = layout.view(out).origin;
    }
  }
  first_order_ = first_order;

  trusted_end_ = layout.extents();
  if (options.first_order_near != FirstOrderNear::walls) return;
  for (int d = 0; d < D; ++d) {
    if (layout.grid.periodic()[d]) continue;
    // Cells whose centre, and sides that, lie within cfl cells of the wall, which may be that of another block.
    const Index n = layout.stagger.extents(layout.grid.shape())[d];
    const double cells = layout.stagger.on_side[d] ? std::floor(cfl) + 1.0 : std::ceil(cfl);
    const auto band = static_cast<Index>(std::min(cells, static_cast<double>(n)));
    const auto is_wall = [&](int upper) { return layout.rules[side_index(d, upper)].kind != GhostRule::Kind::value; };
    const Index first = layout.grid.first_cell()[d];
    trusted_begin_[d] = (is_wall(0) ? band : 0) - first;
    trusted_end_[d] = (is_wall(1) ? n - band : n) - first;
  }
}

template class TransportMasks<float, 3>;
template class TransportMasks<double, 2>;
template class TransportMasks<double, 3>;

}  // namespace meniscus::grid
