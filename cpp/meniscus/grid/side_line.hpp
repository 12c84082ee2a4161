/// Values of a level set on cells beyond the outermost centres.
#pragma once

#include <cmath>

namespace meniscus::grid {

/// The steepest slope of a level set that is one of distances. Beyond it a sample is a mark, as of a drop in a single cell, and
/// says nothing of what is beyond.
inline constexpr double steepest_line = 1.5;

/// The value `ahead` spacings beyond a sample, on the line from the one before.
inline double value_on_line(double before, double last, double ahead, double spacing) {
  const double rise = last - before;
  return std::abs(rise) <= steepest_line * spacing ? last + ahead * rise : last;
}

}  // namespace meniscus::grid
