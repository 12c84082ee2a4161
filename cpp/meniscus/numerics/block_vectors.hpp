/// Arithmetic of long vectors, with the same bits on any number of threads.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

namespace meniscus::numerics {

inline double inner_product(const Block<double>& u, const Block<double>& v) {
  constexpr Index lanes = 16;
  const double *a = u.data(), *b = v.data();
  return parallel_reduce(
      0, u.size(), 1 << 14, 0.0,
      [=](Index begin, Index end) {
        std::array<double, lanes> sums{};
        simd_dispatch([=, &sums] {
          Index i = begin;
          for (; i + lanes <= end; i += lanes)
            for (Index l = 0; l < lanes; ++l) sums[static_cast<std::size_t>(l)] += a[i + l] * b[i + l];
          for (Index l = 0; i < end; ++i, ++l) sums[static_cast<std::size_t>(l)] += a[i] * b[i];
        });
        for (std::size_t width = lanes / 2; width > 0; width /= 2)
          for (std::size_t l = 0; l < width; ++l) sums[l] += sums[l + width];
        return sums[0];
      },
      [](double x, double y) { return x + y; });
}

/// y = alpha x + beta y; with beta zero, y is not read.
inline void combine(double alpha, const Block<double>& x, double beta, Block<double>& y) {
  const double* from = x.data();
  double* to = y.data();
  parallel_for(0, y.size(), 1 << 14, [=](Index begin, Index end) {
    simd_dispatch([=] {
      if (beta == 0)
        for (Index i = begin; i < end; ++i) to[i] = alpha * from[i];
      else
        for (Index i = begin; i < end; ++i) to[i] = alpha * from[i] + beta * to[i];
    });
  });
}

}  // namespace meniscus::numerics
