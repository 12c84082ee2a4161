/// Expansions of points, and their values at points, eight points at a time.
///
/// A multipole expansion M about c with side s is the potential (1/s) sum M I((x - c) / s), a local one L is (1/s) sum L R((x -
/// c) / s).
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/numerics/multipole/harmonics.hpp"

#include <span>

namespace meniscus::numerics {

/// Coordinates of points, m, of which [begin, end) are meant.
struct PointRange {
  const double *x, *y, *z;
  Index begin, end;
};

enum class Harmonics : std::int8_t { regular, irregular };

/// Adds strengths times harmonics of the points about a centre to the terms of each channel (1 to 4): regular ones make
/// multipoles, irregular ones local expansions of far points.
void add_terms(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
               std::span<const double* const> strengths, std::span<double* const> channels);

/// Adds the values of expansions (3 or 4 channels) at points to columns of values: regular harmonics for local ones, irregular
/// ones for multipoles. Without the factor 1 / side.
void add_values(Harmonics kind, int order, const PointRange& points, const Vec<double, 3>& centre, double side,
                std::span<const double* const> channels, std::span<double* const> values);

}  // namespace meniscus::numerics
