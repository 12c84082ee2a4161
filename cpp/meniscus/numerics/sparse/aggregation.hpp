/// Groups of strongly coupled unknowns of a sparse matrix: the unknowns of the next coarser level.
///
/// Source: Vanek, Mandel, Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems",
/// 1996, section 5 (the passes); Ruge, Stueben, "Algebraic multigrid", 1987 (strength relative to the strongest coupling).
#pragma once

#include "meniscus/numerics/sparse/compressed_rows.hpp"

namespace meniscus::numerics {

/// Which couplings of a matrix count. A coupling is strong for one of its two unknowns if it is negative and at least `ratio` of
/// the strongest one there; strong for one suffices, so that every unknown with a coupling has a strong one. Those that are
/// strong for both come first: where a medium changes, the unknowns of the weaker side do not tear apart those of the stronger
/// one.
class StrongCouplings {
 public:
  /// `scale` says how large the entries were from which each row was summed: what is below 1e-14 of it is round-off.
  void measure(const CompressedRows& a, const std::vector<double>& scale, double ratio);

  /// Whether the row is zero to round-off: the unknown is free.
  bool is_null(Index row) const { return strongest_[row] < 0; }
  /// Whether entry k of a row is strong.
  bool operator()(Index row, Index k, const CompressedRows& a) const {
    return strong(row, k, a, [](double x, double y) { return x < y ? x : y; });
  }
  /// Whether it is strong for both unknowns.
  bool mutual(Index row, Index k, const CompressedRows& a) const {
    return strong(row, k, a, [](double x, double y) { return x < y ? y : x; });
  }
  Index bytes() const { return static_cast<Index>(strongest_.capacity() * sizeof(double)); }

 private:
  template <class Choose>
  bool strong(Index row, Index k, const CompressedRows& a, const Choose& choose) const {
    const Index j = a.column[k];
    const Index i = row;
    return i != j && strongest_[i] > 0 && strongest_[j] > 0 && -a.value[k] >= ratio_ * choose(strongest_[i], strongest_[j]);
  }

  double ratio_ = 0;
  /// Of each row; 0 without couplings, -1 for rows of zeros.
  std::vector<double> strongest_;
};

/// Numbers the aggregates; unknowns without a strong coupling get -1. Every aggregate has at least two unknowns and hangs
/// together over strong couplings. Returns their number. Serial.
Index aggregate(const CompressedRows& a, const StrongCouplings& strong, std::vector<std::int32_t>& label);

}  // namespace meniscus::numerics
