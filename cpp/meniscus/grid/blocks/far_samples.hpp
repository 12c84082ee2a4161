/// Samples of other blocks beyond the ghosts, for traces that leave them: the owners answer with all of them at once.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <optional>

namespace meniscus::grid {

/// The samples of a window around the block, less those of the block itself. They are kept in two slabs for each axis, below and
/// above the block: as wide as the window along earlier axes, and as the block along later ones.
template <int D>
class FarSamples {
 public:
  /// Collective where the grid is cut into blocks: obtains the samples up to `width` beyond the block along the axes that are
  /// cut; does nothing where that is within the ghosts. `first`: the padded block, whose own samples are up to date.
  template <class T>
  void fetch(const FieldLayout<D>& layout, const T* first, Index width);

  /// The sample at a global index, which lies in the domain and not in the block, or nullptr where it was not asked for.
  const double* find(Coord<D> index) const {
    if (values_.empty()) return nullptr;
    for (std::size_t d = 0; d < D; ++d) {
      Index& i = index[d];
      if (period_[d] > 0) i = window_.begin[d] + ((i - window_.begin[d]) % period_[d] + period_[d]) % period_[d];
      if (i < window_.begin[d] || i >= window_.end[d]) return nullptr;
    }
    const Index at = place_of(index);
    return at < 0 ? nullptr : &values_[at];
  }

 private:
  struct Slab {
    Coord<D> begin{}, strides{};
    Index offset = 0;  ///< of its first sample among the values
  };

  void plan(const FieldLayout<D>& layout, Index width);
  /// Place of a sample of the window among the values; negative for those of the block.
  Index place_of(const Coord<D>& c) const {
    for (std::size_t d = D; d-- > 0;) {
      const bool above = c[d] >= own_.end[d];
      if (!above && c[d] >= own_.begin[d]) continue;
      const Slab& slab = slabs_[2 * d + (above ? 1 : 0)];
      Index at = slab.offset;
      for (std::size_t e = 0; e < D; ++e) at += (c[e] - slab.begin[e]) * slab.strides[e];
      return at;
    }
    return -1;
  }

  parallel::IndexBox<D> own_, window_;
  Coord<D> period_{};
  Index width_ = 0;
  std::array<Slab, 2 * D> slabs_;
  std::optional<parallel::BoxExchange<D>> exchange_;
  std::vector<double> values_;
};

}  // namespace meniscus::grid
