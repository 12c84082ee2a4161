#include "meniscus/grid/transport/transport_masks.hpp"

#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/mask_window.hpp"

#include <cmath>
#include <string>

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
      const auto reach = static_cast<Index>(std::min(std::ceil(cfl) + margin, 1e9));
      const Lease near = workspace.take<std::uint8_t>(size);
      Coord<D> period{};
      for (int d = 0; d < D; ++d) {
        if (layout.grid.block().own_neighbour(d)) period[d] = layout.grid.shape()[d];
        if (layout.grid.block().cut(d) && reach > ghost_width)
          throw OutsideGhosts("hidden samples are felt " + std::to_string(reach) + " cells away, farther than the " +
                              std::to_string(ghost_width) + " ghosts of a block: take a shorter step");
      }
      windowed_and<D>(padded, visible_lease_.data(), -reach, reach, near.data(), scratch.data(), period);
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
    if (layout.grid.periodic()[static_cast<std::size_t>(d)]) continue;
    // Cells whose centre, and sides that, lie within cfl cells of the wall, which may be that of another block.
    const Index n = layout.stagger.extents(layout.grid.shape())[d];
    const double cells = layout.stagger.on_side[static_cast<std::size_t>(d)] ? std::floor(cfl) + 1.0 : std::ceil(cfl);
    const auto band = static_cast<Index>(std::min(cells, static_cast<double>(n)));
    const auto is_wall = [&](int upper) {
      return layout.rules[static_cast<std::size_t>(side_index(d, upper))].kind != GhostRule::Kind::value;
    };
    const Index first = layout.grid.first_cell()[d];
    trusted_begin_[d] = (is_wall(0) ? band : 0) - first;
    trusted_end_[d] = (is_wall(1) ? n - band : n) - first;
  }
}

template class TransportMasks<float, 2>;
template class TransportMasks<float, 3>;
template class TransportMasks<double, 2>;
template class TransportMasks<double, 3>;

}  // namespace meniscus::grid
