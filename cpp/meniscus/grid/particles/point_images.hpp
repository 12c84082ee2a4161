/// Periodic images of points and bodies: the translations to the images of a body, and the image of a point beside a body.
#pragma once

#include "meniscus/grid/grid.hpp"

#include <cmath>
#include <vector>

namespace meniscus::grid {

/// The translations (m) of the images of a body between two corners (m) that can contain the nearest point of the body's surface
/// of a point of the domain. Along axes that have sides, or on which the body is unbounded, only the zero translation.
template <int D>
std::vector<Vec<double, D>> image_shifts(const Grid<D>& grid, const Vec<double, D>& lower, const Vec<double, D>& upper);

/// The translations (m) to the copies of the domain around it, the zero translation first.
template <int D>
std::vector<Vec<double, D>> shifts_to_copies(const Grid<D>& grid);

/// The image of a point that is nearest to the middle of a body. Along axes that have sides, or on which the body is unbounded,
/// points stay.
template <int D>
class NearestImage {
 public:
  /// `images`: whether points are moved at all.
  NearestImage(const Grid<D>& grid, const Vec<double, D>& lower, const Vec<double, D>& upper, bool images);

  Vec<double, D> operator()(Vec<double, D> x) const {
    for (int d = 0; d < D; ++d)
      if (period_[d] > 0.0) x[d] -= period_[d] * std::round((x[d] - middle_[d]) / period_[d]);
    return x;
  }

 private:
  Vec<double, D> middle_ = Vec<double, D>::Zero();
  Vec<double, D> period_ = Vec<double, D>::Zero();
};

}  // namespace meniscus::grid
