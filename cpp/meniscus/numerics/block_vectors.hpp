/// Arithmetic of long vectors, with the same bits on any number of threads.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/numerics/sums/binned_sum.hpp"

namespace meniscus::numerics {

inline double inner_product(const double* a, const double* b, Index n) {
  constexpr Index lanes = 16;
  return parallel_reduce(
      0, n, 1 << 14, 0.0,
      [=](Index begin, Index end) {
        std::array<double, lanes> sums{};
        simd_dispatch([=, &sums] {
          Index i = begin;
          for (; i + lanes <= end; i += lanes)
            for (Index l = 0; l < lanes; ++l) sums[l] += a[i + l] * b[i + l];
          for (Index l = 0; i < end; ++i, ++l) sums[l] += a[i] * b[i];
        });
        for (std::size_t width = lanes / 2; width > 0; width /= 2)
          for (std::size_t l = 0; l < width; ++l) sums[l] += sums[l + width];
        return sums[0];
      },
      [](double x, double y) { return x + y; });
}

inline double inner_product(const Block<double>& u, const Block<double>& v) {
  return inner_product(u.data(), v.data(), u.size());
}

/// The same for bits that do not depend on the order of the terms.
inline BinnedSum order_free_product(const Block<double>& u, const Block<double>& v) {
  constexpr Index lanes = 64;
  const double *a = u.data(), *b = v.data();
  return parallel_reduce(
      Index{0}, u.size(), 1 << 14, BinnedSum(),
      [=](Index begin, Index end) -> BinnedSum {
        BinnedLanes<static_cast<int>(lanes)> sum;
        simd_dispatch([=, &sum] {
          double term[lanes];
          for (Index i = begin; i < end; i += lanes) {
            const Index count = std::min(lanes, end - i);
            for (Index l = 0; l < count; ++l) term[l] = a[i + l] * b[i + l];
            sum.add(term, static_cast<int>(count));
          }
        });
        return sum.total();
      },
      [](BinnedSum x, const BinnedSum& y) {
        x.add(y);
        return x;
      });
}

/// y = alpha x + beta y; with beta zero, y is not read.
inline void combine(double alpha, const double* from, double beta, double* to, Index n) {
  parallel_for(0, n, 1 << 14, [=](Index begin, Index end) {
    simd_dispatch([=] {
      if (beta == 0)
        for (Index i = begin; i < end; ++i) to[i] = alpha * from[i];
      else
        for (Index i = begin; i < end; ++i) to[i] = alpha * from[i] + beta * to[i];
    });
  });
}

inline void combine(double alpha, const Block<double>& x, double beta, Block<double>& y) {
  combine(alpha, x.data(), beta, y.data(), y.size());
}

}  // namespace meniscus::numerics
