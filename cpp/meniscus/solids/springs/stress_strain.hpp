/// Stress of a spring as a piecewise linear function of its strain.
///
/// Source: Selle 2008, section 5.3.1 (linear and piecewise linear springs, different in compression and stretch; biphasic: soft
/// up to a strain, then stiff).
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace meniscus::solids {

/// Stress over Young's modulus, as a function that is 0 at strain 0 and never falls.
class StressStrain {
 public:
  /// From this strain on (up to the next piece) the slope is this factor of Young's modulus.
  struct Piece {
    double from;
    double factor;
  };
  static constexpr std::size_t max_pieces = 8;

  /// Stress = Young's modulus times strain.
  StressStrain() = default;

  /// Pieces of ascending strain; the first holds below its strain as well.
  explicit StressStrain(std::span<const Piece> pieces) {
    require(!pieces.empty() && pieces.size() <= max_pieces, "a stress-strain law has 1 to ", max_pieces, " pieces, not ",
            pieces.size());
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      require(std::isfinite(pieces[p].factor) && pieces[p].factor >= 0, "the factor of piece ", p,
              " must be finite and not negative, not ", pieces[p].factor);
      require(p == 0 ? !std::isnan(pieces[p].from) : pieces[p].from > pieces[p - 1].from && std::isfinite(pieces[p].from),
              "the strains of the pieces must ascend, but piece ", p, " begins at ", pieces[p].from);
      steepest_ = std::max(p == 0 ? 0.0 : steepest_, pieces[p].factor);
    }
    at_rest_ = pieces[0].factor;
    for (std::size_t p = 1; p < pieces.size(); ++p) {
      const double jump = pieces[p].factor - pieces[p - 1].factor;
      if (pieces[p].from < 0) at_rest_ = pieces[p].factor;
      knot_[knots_++] = {pieces[p].from, jump};
    }
    linear_ = knots_ == 0 && at_rest_ == 1;
  }

  bool linear() const { return linear_; }
  double steepest() const { return steepest_; }

  MENISCUS_INLINE double stress(double strain) const {
    double sum = at_rest_ * strain;
    for (std::size_t k = 0; k < knots_; ++k) sum += knot_[k].jump * beyond(knot_[k].at, strain);
    return sum;
  }
  /// The slope; on a knot, the greater of both sides.
  MENISCUS_INLINE double slope(double strain) const {
    double sum = at_rest_;
    for (std::size_t k = 0; k < knots_; ++k) {
      const auto [at, jump] = knot_[k];
      const bool to_the_right = strain > at || (strain == at && jump > 0);
      if (at >= 0 ? to_the_right : !to_the_right) sum += at >= 0 ? jump : -jump;
    }
    return sum;
  }
  /// The same for many strains.
  template <std::size_t N>
  MENISCUS_INLINE void stresses(const std::array<double, N>& strain, std::array<double, N>& stress) const {
    for (std::size_t l = 0; l < N; ++l) stress[l] = at_rest_ * strain[l];
    for (std::size_t k = 0; k < knots_; ++k) {
      const auto [at, jump] = knot_[k];
      if (at >= 0)
        for (std::size_t l = 0; l < N; ++l) stress[l] += jump * (strain[l] > at ? strain[l] - at : 0);
      else
        for (std::size_t l = 0; l < N; ++l) stress[l] += jump * (strain[l] < at ? at - strain[l] : 0);
    }
  }
  template <std::size_t N>
  MENISCUS_INLINE void slopes(const std::array<double, N>& strain, std::array<double, N>& result) const {
    for (std::size_t l = 0; l < N; ++l) result[l] = at_rest_;
    for (std::size_t k = 0; k < knots_; ++k) {
      const auto [at, jump] = knot_[k];
      const bool up = jump > 0;
      if (at >= 0)
        for (std::size_t l = 0; l < N; ++l) result[l] += (up ? strain[l] >= at : strain[l] > at) ? jump : 0;
      else
        for (std::size_t l = 0; l < N; ++l) result[l] -= (up ? strain[l] >= at : strain[l] > at) ? 0 : jump;
    }
  }
  /// The integral of the stress from strain 0.
  MENISCUS_INLINE double energy(double strain) const {
    double sum = 0.5 * at_rest_ * strain * strain;
    for (std::size_t k = 0; k < knots_; ++k) {
      const double b = beyond(knot_[k].at, strain);
      sum += (knot_[k].at >= 0 ? 0.5 : -0.5) * knot_[k].jump * b * b;
    }
    return sum;
  }

 private:
  struct Knot {
    double at = 0;
    double jump = 0;
  };
  /// Distance of a strain beyond a knot, seen from 0; signed so that `jump * beyond` is a stress.
  MENISCUS_INLINE static double beyond(double at, double strain) {
    return at >= 0 ? std::max(strain - at, 0.0) : -std::min(strain - at, 0.0);
  }

  double at_rest_ = 1;
  double steepest_ = 1;
  std::array<Knot, max_pieces> knot_{};
  std::size_t knots_ = 0;
  bool linear_ = true;
};

}  // namespace meniscus::solids
