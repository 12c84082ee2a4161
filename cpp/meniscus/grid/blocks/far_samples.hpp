/// Samples of other blocks beyond the ghosts, for traces that leave them: the owners answer with the whole window at once.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <optional>

namespace meniscus::grid {

template <int D>
class FarSamples {
 public:
  /// Collective where the grid is cut into blocks: obtains the samples up to `width` beyond the block along the axes that are
  /// cut; does nothing where that is within the ghosts. `first`: the padded block, whose own samples are up to date.
  template <class T>
  void fetch(const FieldLayout<D>& layout, const T* first, Index width);

  /// The sample at a global index, which lies in the domain, or nullptr where it was not asked for.
  const double* find(Coord<D> index) const {
    if (values_.empty()) return nullptr;
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) {
      Index i = index[d];
      if (period_[d] > 0) i = window_.begin[d] + ((i - window_.begin[d]) % period_[d] + period_[d]) % period_[d];
      if (i < window_.begin[d] || i >= window_.end[d]) return nullptr;
      at += (i - window_.begin[d]) * strides_[d];
    }
    return &values_[static_cast<std::size_t>(at)];
  }

 private:
  void plan(const FieldLayout<D>& layout, Index width);

  parallel::IndexBox<D> own_, window_;
  Coord<D> period_{}, strides_{};
  Index width_ = 0;
  std::optional<parallel::BoxExchange<D>> exchange_;
  std::vector<double> values_;
};

}  // namespace meniscus::grid
