/// Masks of a transport step in the layout of the field: hidden samples, and samples where the correction is applied.
#pragma once

#include "meniscus/grid/transport/advect.hpp"

namespace meniscus::grid {

/// Masks are aligned with the storage of the field: entry [offset] belongs to the sample at that offset from the owned origin.
template <class T, int D>
class TransportMasks {
 public:
  /// `cfl`: the largest displacement in cells; a hidden sample or a side has an effect within this distance.
  TransportMasks(const FieldLayout<D>& layout, const AdvectMasks& masks, const AdvectOptions& options, double cfl,
                 Workspace& workspace);
  TransportMasks(const TransportMasks&) = delete;
  TransportMasks& operator=(const TransportMasks&) = delete;

  /// nullptr where everything is visible.
  const MaskedVisibility<T, D>* hidden() const { return hidden_ ? &*hidden_ : nullptr; }
  /// Samples to update; nullptr where all are.
  const std::uint8_t* active() const { return active_; }

  /// For each lane of a run: does the sample keep its first-order value?
  MENISCUS_INLINE void first_order_lanes(const RowRun<D>& run, Index offset, Lanes<std::uint8_t>& out) const {
    const int n = run.count;
    bool row_in_band = false;
    for (int d = 0; d + 1 < D; ++d) row_in_band |= run.base[d] < trusted_begin_[d] || run.base[d] >= trusted_end_[d];
    const Index begin = trusted_begin_[D - 1] - run.base[D - 1];
    const Index end = trusted_end_[D - 1] - run.base[D - 1];
    for (int l = 0; l < n; ++l) out[l] = static_cast<std::uint8_t>(row_in_band | (l < begin) | (l >= end));
    if (first_order_)
      for (int l = 0; l < n; ++l) out[l] = static_cast<std::uint8_t>(out[l] | first_order_[offset + l]);
  }

 private:
  using Lease = Workspace::Lease<std::uint8_t>;

  FieldLayout<D> mask_layout_;
  Lease visible_lease_, clear_lease_, active_lease_, first_order_lease_;
  std::optional<MaskedVisibility<T, D>> hidden_;
  const std::uint8_t* active_ = nullptr;
  const std::uint8_t* first_order_ = nullptr;
  Coord<D> trusted_begin_{};
  Coord<D> trusted_end_{};
};

}  // namespace meniscus::grid
