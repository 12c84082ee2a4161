/// Samples around a point, across periodic sides.
#pragma once

#include "meniscus/grid/grid.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::grid {

/// The samples of a field within a reach of a point along every axis, each once. Indices beyond a periodic side are kept as they
/// are, so that distances are plain differences; `image` is the index at which the sample is stored.
template <int D>
class SamplesAround {
 public:
  template <class T>
  SamplesAround(const Grid<D>& grid, const Stagger<D>& stagger, const T* x, double reach) : grid_(grid), stagger_(stagger) {
    for (std::size_t d = 0; d < D; ++d) {
      place_[d] =
          (static_cast<double>(x[d]) - grid.origin()[static_cast<Index>(d)]) / grid.spacing() - (stagger.on_side[d] ? 0.0 : 0.5);
      const double far = std::min(reach / grid.spacing(), static_cast<double>(grid.shape()[d]));
      low_[d] = static_cast<Index>(std::floor(place_[d] - far));
      high_[d] = static_cast<Index>(std::ceil(place_[d] + far));
      if (grid.periodic()[d]) {
        const Index n = grid.shape()[d];
        if (high_[d] - low_[d] >= n) {
          low_[d] = static_cast<Index>(std::floor(place_[d])) - n / 2;
          high_[d] = low_[d] + n - 1;
        }
      } else {
        low_[d] = std::clamp<Index>(low_[d], 0, grid.shape()[d] - 1 + stagger.on_side[d]);
        high_[d] = std::clamp<Index>(high_[d], 0, grid.shape()[d] - 1 + stagger.on_side[d]);
      }
    }
  }

  /// Calls body(index) in C order.
  template <class Body>
  void for_each(Body&& body) const {
    Coord<D> c = low_;
    for (;;) {
      body(static_cast<const Coord<D>&>(c));
      std::size_t d = D;
      while (d-- > 0) {
        if (c[d]++ < high_[d]) break;
        c[d] = low_[d];
        if (d == 0) return;
      }
    }
  }

  Coord<D> image(Coord<D> c) const {
    for (int d = 0; d < D; ++d) {
      const auto a = static_cast<std::size_t>(d);
      c[a] = image_of_sample(grid_, stagger_, d, c[a]);
    }
    return c;
  }

  /// From the point, m^2.
  double square_distance(const Coord<D>& c) const {
    double square = 0.0;
    for (std::size_t d = 0; d < D; ++d) {
      const double away = static_cast<double>(c[d]) - place_[d];
      square += away * away;
    }
    return square * grid_.spacing() * grid_.spacing();
  }

 private:
  const Grid<D>& grid_;
  Stagger<D> stagger_;
  std::array<double, D> place_;  ///< of the point, in samples
  Coord<D> low_, high_;
};

}  // namespace meniscus::grid
