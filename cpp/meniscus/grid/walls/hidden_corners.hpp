/// Stand-ins for the corners of a cell that a wall hides.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace meniscus::grid {

/// Values of the corners of a square or cube, bit d of a number being the upper end of axis d: those in `hidden` become means of
/// the visible ones that are nearest along edges (of one edge, else of two, else the opposite one). False, and nothing is
/// changed, where none is visible.
template <int D>
bool fill_hidden_corners(std::uint32_t hidden, std::span<double> values) {
  constexpr std::uint32_t corners = 1u << D;
  std::array<double, corners> filled{};
  for (std::uint32_t q = 0; q < corners; ++q) {
    filled[q] = values[q];
    if (!((hidden >> q) & 1u)) continue;
    bool found = false;
    for (int ring = 1; ring <= D && !found; ++ring) {
      double sum = 0;
      int count = 0;
      for (std::uint32_t p = 0; p < corners; ++p) {
        if (std::popcount(p ^ q) != ring || ((hidden >> p) & 1u)) continue;
        sum += values[p];
        ++count;
      }
      found = count > 0;
      if (found) filled[q] = sum / count;
    }
    if (!found) return false;
  }
  std::copy(filled.begin(), filled.end(), values.begin());
  return true;
}

}  // namespace meniscus::grid
