/// Samples around a place that linear interpolation uses, some of which a wall hides.
#pragma once

#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/walls/hidden_corners.hpp"
#include "meniscus/grid/walls/one_sided.hpp"

#include <cmath>
#include <limits>

namespace meniscus::coupling {

/// The corners of the cell of samples around a place.
template <int D>
struct SampleCorners {
  static constexpr std::uint32_t count = 1u << D;
  std::array<double, count> value, weight;
  std::array<Vec<double, D>, count> place;  ///< m; where they are seen
  std::array<double, D> part;               ///< weights of the upper corners along each axis

  template <class T>
  void find(const grid::SampleSource<T, D>& phi, const grid::Grid<D>& grid, const Vec<double, D>& at) {
    Coord<D> cell;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      double x = (at[d] - grid.origin()[d]) / grid.spacing() - 0.5 * (1 - phi.layout->stagger.on_side[axis]);
      x = std::clamp(x, -1e15, 1e15);
      // A sample is at its own place whatever the rounding of positions.
      const double nearest = std::round(x);
      if (std::abs(x - nearest) < 1e-12 * std::max(1.0, std::abs(x))) x = nearest;
      cell[axis] = static_cast<Index>(std::floor(x));
      part[axis] = x - std::floor(x);
    }
    const Coord<D> extents = phi.layout->extents();
    for (std::uint32_t q = 0; q < count; ++q) {
      Coord<D> c = cell, seen;
      weight[q] = 1;
      for (std::size_t d = 0; d < D; ++d) {
        const bool upper = (q >> d) & 1u;
        c[d] += upper;
        weight[q] *= upper ? part[d] : 1 - part[d];
        // What continues the field beyond a side is seen where the last sample is.
        const bool beyond = grid::image_of_sample<D>(grid, phi.layout->stagger, static_cast<int>(d), c[d]) < 0;
        seen[d] = beyond ? std::clamp<Index>(c[d], 0, extents[d] - 1) : c[d];
      }
      value[q] = static_cast<double>(grid::detail::stored_or_continued<T, D>(phi, c));
      place[q] = grid::sample_position<D>(grid, phi.layout->stagger, seen);
    }
  }

  /// The interpolation, in which hidden corners (a bit each) count as means of visible ones; NaN where none is visible. Once.
  double mean(std::uint32_t hidden) {
    bool matters = false;
    for (std::uint32_t q = 0; q < count; ++q) matters |= ((hidden >> q) & 1u) && weight[q] > 0;
    if (matters && !grid::fill_hidden_corners<D>(hidden, value)) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (std::uint32_t q = 0; q < count; ++q)
      if (weight[q] > 0) sum += weight[q] * value[q];
    return sum;
  }

  /// The gradient of the interpolation, per spacing, with hidden corners as above; zero where none is visible.
  Vec<double, D> slope(std::uint32_t hidden) {
    Vec<double, D> result = Vec<double, D>::Zero();
    if (hidden && !grid::fill_hidden_corners<D>(hidden, value)) return result;
    for (std::uint32_t q = 0; q < count; ++q)
      for (std::size_t d = 0; d < D; ++d) {
        double w = (q >> d) & 1u ? 1.0 : -1.0;
        for (std::size_t e = 0; e < D; ++e)
          if (e != d) w *= (q >> e) & 1u ? part[e] : 1 - part[e];
        result[static_cast<Index>(d)] += w * value[q];
      }
    return result;
  }
};

}  // namespace meniscus::coupling
