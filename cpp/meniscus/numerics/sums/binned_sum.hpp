/// Sums of doubles in vector loops that do not depend on the order of the terms.
///
/// Every term is rounded to a multiple of one unit, a power of two at least 2^64 times smaller than the largest term, and the
/// multiples are added exactly: in any order, on any number of threads and of blocks of a domain, the same bits. The bins follow
/// Demmel and Nguyen, "Parallel reproducible summation" (2015), the splitting of terms Rump, Ogita and Oishi, "Accurate
/// floating-point summation" (2008). Unlike ExactSum this costs a few vector operations per term, but it drops what is below
/// the unit.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::numerics {

/// The sum of terms rounded to multiples of a unit. Holds up to 2^31 terms.
class BinnedSum {
 public:
  /// Bits between the units of two bins.
  static constexpr int bin_bits = 32;
  static constexpr int bins = 3;
  /// Bin j counts multiples of 2^(32 j). The lowest unit is above the rounding of subnormal numbers; beyond the highest bin
  /// terms count as infinite.
  static constexpr int lowest = -33, highest = 30;

  /// 2^(32 bin).
  static double unit(int bin);
  /// Terms below this go into bins up to `top`. Half of the next unit: what is dropped when the bins move up would be rounded
  /// to zero there.
  static double limit(int top) { return 0.5 * unit(top + 1); }
  /// The lowest bin that may be the top one for a term of this magnitude, or `highest` + 1.
  static int top_for(double magnitude);

  void add(double x);
  void add(const BinnedSum& other);
  /// Adds multiples of the units of bins top, top - 1, top - 2, none of which has more than 53 bits.
  void add(int top, const std::array<double, bins>& values);
  void add_not_finite(double x) { not_finite_ += x; }

  /// The sum, rounded to the nearest double. With terms that are not finite, their plain sum.
  double value() const;

 private:
  void raise(int top);

  int top_ = lowest + bins - 1;
  std::array<std::int64_t, bins> count_{};
  double not_finite_ = 0.0;
};

/// Sum of terms that come in rows of at most `lanes`, for kernels under `simd_dispatch`.
template <int lanes>
class BinnedLanes {
 public:
  BinnedLanes() { set_top(BinnedSum::lowest + bins - 1); }

  /// Adds terms [0, n). `term` is used up.
  MENISCUS_INLINE void add(double* term, int n) {
    int large = 0;
    const double limit = limit_;
    // False for NaN, too.
    for (int l = 0; l < n; ++l) large |= !(std::abs(term[l]) < limit);
    if (large) make_room(term, n);
    const double first = shift_[0], second = shift_[1], third = shift_[2];
    // Without `restrict`, rows of a few vectors take longer to be found apart than to be added.
    const double* __restrict terms = term;
    double* __restrict a = lane_[0].data();
    double* __restrict b = lane_[1].data();
    double* __restrict c = lane_[2].data();
    for (int l = 0; l < n; ++l) {
      // Adding the shift rounds to a multiple of the unit; what remains is exact.
      const double x = terms[l];
      const double p = (x + first) - first, y = x - p;
      const double q = (y + second) - second, z = y - q;
      const double r = (z + third) - third;
      a[l] += p;
      b[l] += q;
      c[l] += r;
    }
    if (++rows_ == most_rows) flush();
  }

  const BinnedSum& total() {
    flush();
    return sum_;
  }

 private:
  static constexpr int bins = BinnedSum::bins;
  /// A term is at most 2^31 units, so that so many rows of lanes add up exactly.
  static constexpr int most_rows = (1 << 21) / lanes;

  /// Moves the bins up to where all terms fit, and takes out those that fit nowhere.
  MENISCUS_NOINLINE void make_room(double* term, int n) {
    double most = 0.0;
    for (int l = 0; l < n; ++l) {
      if (!(std::abs(term[l]) < BinnedSum::limit(BinnedSum::highest))) {
        sum_.add_not_finite(std::isfinite(term[l]) ? std::copysign(HUGE_VAL, term[l]) : term[l]);
        term[l] = 0.0;
      }
      most = std::max(most, std::abs(term[l]));
    }
    const int top = BinnedSum::top_for(most);
    if (top <= top_) return;
    flush();
    set_top(top);
  }
  void flush() {
    std::array<double, bins> values{};
    for (std::size_t k = 0; k < bins; ++k)
      for (double& v : lane_[k]) {
        values[k] += v;
        v = 0.0;
      }
    sum_.add(top_, values);
    rows_ = 0;
  }
  void set_top(int top) {
    top_ = top;
    limit_ = BinnedSum::limit(top);
    for (int k = 0; k < bins; ++k) shift_[k] = 0x1.8p52 * BinnedSum::unit(top - k);
  }

  std::array<std::array<double, lanes>, bins> lane_{};
  std::array<double, bins> shift_{};
  double limit_ = 0.0;
  int top_ = 0;
  int rows_ = 0;
  BinnedSum sum_;
};

}  // namespace meniscus::numerics
