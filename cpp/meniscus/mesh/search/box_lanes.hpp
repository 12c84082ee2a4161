/// Overlap tests of one box against eight others at once, for the widest vector instructions of the machine.
///
/// All tests are comparisons, so nothing is rounded. This is the only file with compiler intrinsics, because compilers do not
/// vectorise a plain loop that packs the lanes that pass. The functions take pointers only: they are called from templates that
/// are compiled for the baseline as well.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/types.hpp"

#include <bit>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define MENISCUS_BOX_INTRINSICS 1
#include <immintrin.h>
#endif

namespace meniscus::mesh {

/// Boxes and elements that lie side by side.
constexpr int lanes = 8;

/// Eight boxes. A lane that holds NaN overlaps nothing.
template <class T>
struct alignas(64) BoxLanes {
  T low[3][lanes];
  T high[3][lanes];
};

/// One box, as an argument of the lane tests.
template <class T>
struct BoxQuery {
  T low[3];
  T high[3];
};

/// Portable lane tests. A mask has the bit of each lane for which the answer is yes.
struct BaselineLanes {
  template <class T>
  static unsigned overlap(const BoxLanes<T>& boxes, const BoxQuery<T>& q) {
    unsigned mask = 0;
    for (int k = 0; k < lanes; ++k) {
      bool yes = true;
      for (int d = 0; d < 3; ++d) yes &= (boxes.low[d][k] <= q.high[d]) & (q.low[d] <= boxes.high[d][k]);
      mask |= static_cast<unsigned>(yes) << k;
    }
    return mask;
  }
  /// Lanes with numbers[k] == value.
  static unsigned equal(const std::int32_t* numbers, std::int32_t value) {
    unsigned mask = 0;
    for (int k = 0; k < lanes; ++k) mask |= static_cast<unsigned>(numbers[k] == value) << k;
    return mask;
  }
  /// Lanes with numbers[k] > value.
  static unsigned greater(const std::int32_t* numbers, std::int32_t value) {
    unsigned mask = 0;
    for (int k = 0; k < lanes; ++k) mask |= static_cast<unsigned>(numbers[k] > value) << k;
    return mask;
  }
  /// Lanes with values[k] <= most.
  static unsigned at_most(const double* values, double most) {
    unsigned mask = 0;
    for (int k = 0; k < lanes; ++k) mask |= static_cast<unsigned>(values[k] <= most) << k;
    return mask;
  }
  /// Writes the numbers of the lanes of the mask to `out`, which has room for all eight; returns how many.
  static Index compress(const std::int32_t* numbers, unsigned mask, std::int32_t* out) {
    Index n = 0;
    for (int k = 0; k < lanes; ++k) {
      out[n] = numbers[k];
      n += (mask >> k) & 1;
    }
    return n;
  }
  /// For the 16 numbers from `some` on: how many of the n numbers are smaller.
  static void count_smaller(const std::int32_t* numbers, Index n, const std::int32_t* some, std::int32_t (&smaller)[16]) {
    for (int k = 0; k < 16; ++k) smaller[k] = 0;
    for (Index j = 0; j < n; ++j)
      for (int k = 0; k < 16; ++k) smaller[k] += numbers[j] < some[k];
  }
};

#if defined(MENISCUS_BOX_INTRINSICS)

/// For each mask, its lanes from the lowest to the highest, one byte each.
struct LaneOrder {
  std::uint64_t of[256];
};
constexpr LaneOrder make_lane_order() {
  LaneOrder order{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    int n = 0;
    for (unsigned k = 0; k < lanes; ++k)
      if ((mask >> k) & 1) order.of[mask] |= static_cast<std::uint64_t>(k) << (8 * n++);
  }
  return order;
}
inline constexpr LaneOrder lane_order = make_lane_order();

struct Avx2Lanes {
#define MENISCUS_AVX2 __attribute__((target("avx2")))
  MENISCUS_AVX2 static unsigned overlap(const BoxLanes<float>& boxes, const BoxQuery<float>& q) {
    __m256 yes = _mm256_cmp_ps(_mm256_load_ps(boxes.low[0]), _mm256_set1_ps(q.high[0]), _CMP_LE_OQ);
    yes = _mm256_and_ps(yes, _mm256_cmp_ps(_mm256_load_ps(boxes.high[0]), _mm256_set1_ps(q.low[0]), _CMP_GE_OQ));
    for (int d = 1; d < 3; ++d) {
      yes = _mm256_and_ps(yes, _mm256_cmp_ps(_mm256_load_ps(boxes.low[d]), _mm256_set1_ps(q.high[d]), _CMP_LE_OQ));
      yes = _mm256_and_ps(yes, _mm256_cmp_ps(_mm256_load_ps(boxes.high[d]), _mm256_set1_ps(q.low[d]), _CMP_GE_OQ));
    }
    return static_cast<unsigned>(_mm256_movemask_ps(yes));
  }
  MENISCUS_AVX2 static unsigned overlap(const BoxLanes<double>& boxes, const BoxQuery<double>& q) {
    unsigned mask = 0;
    for (int h = 0; h < lanes; h += 4) {
      __m256d yes = _mm256_cmp_pd(_mm256_load_pd(boxes.low[0] + h), _mm256_set1_pd(q.high[0]), _CMP_LE_OQ);
      yes = _mm256_and_pd(yes, _mm256_cmp_pd(_mm256_load_pd(boxes.high[0] + h), _mm256_set1_pd(q.low[0]), _CMP_GE_OQ));
      for (int d = 1; d < 3; ++d) {
        yes = _mm256_and_pd(yes, _mm256_cmp_pd(_mm256_load_pd(boxes.low[d] + h), _mm256_set1_pd(q.high[d]), _CMP_LE_OQ));
        yes = _mm256_and_pd(yes, _mm256_cmp_pd(_mm256_load_pd(boxes.high[d] + h), _mm256_set1_pd(q.low[d]), _CMP_GE_OQ));
      }
      mask |= static_cast<unsigned>(_mm256_movemask_pd(yes)) << h;
    }
    return mask;
  }
  MENISCUS_AVX2 static unsigned equal(const std::int32_t* numbers, std::int32_t value) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_set1_epi32(value)))));
  }
  MENISCUS_AVX2 static unsigned greater(const std::int32_t* numbers, std::int32_t value) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(x, _mm256_set1_epi32(value)))));
  }
  MENISCUS_AVX2 static unsigned at_most(const double* values, double most) {
    const __m256d limit = _mm256_set1_pd(most);
    const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(values), limit, _CMP_LE_OQ));
    const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(values + 4), limit, _CMP_LE_OQ));
    return static_cast<unsigned>(low | high << 4);
  }
  MENISCUS_AVX2 static Index compress(const std::int32_t* numbers, unsigned mask, std::int32_t* out) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    const __m256i from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(lane_order.of[mask])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(x, from));
    return std::popcount(mask);
  }
  MENISCUS_AVX2 static void count_smaller(const std::int32_t* numbers, Index n, const std::int32_t* some,
                                          std::int32_t (&smaller)[16]) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(some));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(some + 8));
    __m256i nx = _mm256_setzero_si256();
    __m256i ny = _mm256_setzero_si256();
    for (Index j = 0; j < n; ++j) {
      const __m256i v = _mm256_set1_epi32(numbers[j]);
      nx = _mm256_sub_epi32(nx, _mm256_cmpgt_epi32(x, v));
      ny = _mm256_sub_epi32(ny, _mm256_cmpgt_epi32(y, v));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(smaller), nx);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(smaller + 8), ny);
  }
#undef MENISCUS_AVX2
};

struct Avx512Lanes {
#define MENISCUS_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
  MENISCUS_AVX512 static unsigned overlap(const BoxLanes<float>& boxes, const BoxQuery<float>& q) {
    __mmask8 yes = _mm256_cmp_ps_mask(_mm256_load_ps(boxes.low[0]), _mm256_set1_ps(q.high[0]), _CMP_LE_OQ);
    yes = _mm256_mask_cmp_ps_mask(yes, _mm256_load_ps(boxes.high[0]), _mm256_set1_ps(q.low[0]), _CMP_GE_OQ);
    yes = _mm256_mask_cmp_ps_mask(yes, _mm256_load_ps(boxes.low[1]), _mm256_set1_ps(q.high[1]), _CMP_LE_OQ);
    yes = _mm256_mask_cmp_ps_mask(yes, _mm256_load_ps(boxes.high[1]), _mm256_set1_ps(q.low[1]), _CMP_GE_OQ);
    yes = _mm256_mask_cmp_ps_mask(yes, _mm256_load_ps(boxes.low[2]), _mm256_set1_ps(q.high[2]), _CMP_LE_OQ);
    yes = _mm256_mask_cmp_ps_mask(yes, _mm256_load_ps(boxes.high[2]), _mm256_set1_ps(q.low[2]), _CMP_GE_OQ);
    return yes;
  }
  MENISCUS_AVX512 static unsigned overlap(const BoxLanes<double>& boxes, const BoxQuery<double>& q) {
    __mmask8 yes = _mm512_cmp_pd_mask(_mm512_load_pd(boxes.low[0]), _mm512_set1_pd(q.high[0]), _CMP_LE_OQ);
    yes = _mm512_mask_cmp_pd_mask(yes, _mm512_load_pd(boxes.high[0]), _mm512_set1_pd(q.low[0]), _CMP_GE_OQ);
    yes = _mm512_mask_cmp_pd_mask(yes, _mm512_load_pd(boxes.low[1]), _mm512_set1_pd(q.high[1]), _CMP_LE_OQ);
    yes = _mm512_mask_cmp_pd_mask(yes, _mm512_load_pd(boxes.high[1]), _mm512_set1_pd(q.low[1]), _CMP_GE_OQ);
    yes = _mm512_mask_cmp_pd_mask(yes, _mm512_load_pd(boxes.low[2]), _mm512_set1_pd(q.high[2]), _CMP_LE_OQ);
    yes = _mm512_mask_cmp_pd_mask(yes, _mm512_load_pd(boxes.high[2]), _mm512_set1_pd(q.low[2]), _CMP_GE_OQ);
    return yes;
  }
  MENISCUS_AVX512 static unsigned equal(const std::int32_t* numbers, std::int32_t value) {
    return _mm256_cmpeq_epi32_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)), _mm256_set1_epi32(value));
  }
  MENISCUS_AVX512 static unsigned greater(const std::int32_t* numbers, std::int32_t value) {
    return _mm256_cmpgt_epi32_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)), _mm256_set1_epi32(value));
  }
  MENISCUS_AVX512 static unsigned at_most(const double* values, double most) {
    return _mm512_cmp_pd_mask(_mm512_loadu_pd(values), _mm512_set1_pd(most), _CMP_LE_OQ);
  }
  MENISCUS_AVX512 static Index compress(const std::int32_t* numbers, unsigned mask, std::int32_t* out) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_maskz_compress_epi32(static_cast<__mmask8>(mask), x));
    return std::popcount(mask);
  }
  MENISCUS_AVX512 static void count_smaller(const std::int32_t* numbers, Index n, const std::int32_t* some,
                                            std::int32_t (&smaller)[16]) {
    const __m512i x = _mm512_loadu_si512(some);
    const __m512i one = _mm512_set1_epi32(1);
    __m512i count = _mm512_setzero_si512();
    for (Index j = 0; j < n; ++j) {
      const __mmask16 above = _mm512_cmpgt_epi32_mask(x, _mm512_set1_epi32(numbers[j]));
      count = _mm512_mask_add_epi32(count, above, count, one);
    }
    _mm512_storeu_si512(smaller, count);
  }
#undef MENISCUS_AVX512
};

#endif

/// Calls f with the lane tests of the instruction set in use, compiled for it.
template <class F>
void with_box_lanes(F&& f) {
#if defined(MENISCUS_BOX_INTRINSICS) && defined(MENISCUS_SIMD_CLONES)
  switch (simd_level()) {
    case SimdLevel::avx512: {
      const auto run = [&] { f(Avx512Lanes{}); };
      return core::detail::run_avx512(run);
    }
    case SimdLevel::avx2: {
      const auto run = [&] { f(Avx2Lanes{}); };
      return core::detail::run_avx2(run);
    }
    case SimdLevel::baseline:
      break;
  }
#elif defined(MENISCUS_BOX_INTRINSICS) && defined(__AVX512VL__) && defined(__AVX512DQ__)
  return f(Avx512Lanes{});
#elif defined(MENISCUS_BOX_INTRINSICS) && defined(__AVX2__)
  return f(Avx2Lanes{});
#endif
  f(BaselineLanes{});
}

}  // namespace meniscus::mesh
