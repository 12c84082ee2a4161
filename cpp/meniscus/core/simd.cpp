#include "meniscus/core/simd.hpp"

#include "meniscus/core/error.hpp"

#include <atomic>
#include <cstdlib>

namespace meniscus::core {
namespace {

SimdLevel detect() {
#if defined(MENISCUS_SIMD_CLONES)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return SimdLevel::avx512;
  if (__builtin_cpu_supports("avx2")) return SimdLevel::avx2;
#endif
  return SimdLevel::baseline;
}

SimdLevel initial() {
  const SimdLevel best = detect();
  if (const char* wish = std::getenv("MENISCUS_SIMD"))
    for (SimdLevel level : {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512})
      if (simd_name(level) == wish && level <= best) return level;
  return best;
}

std::atomic<SimdLevel>& level_in_use() {
  static std::atomic<SimdLevel> level{initial()};
  return level;
}

}  // namespace

SimdLevel simd_supported() {
  static const SimdLevel level = detect();
  return level;
}

SimdLevel simd_level() { return level_in_use().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) {
  require(level <= simd_supported(), "this machine and build support SIMD up to ", simd_name(simd_supported()), ", not ",
          simd_name(level));
  level_in_use().store(level, std::memory_order_relaxed);
}

std::string_view simd_name(SimdLevel level) {
  switch (level) {
    case SimdLevel::avx512:
      return "avx512";
    case SimdLevel::avx2:
      return "avx2";
    case SimdLevel::baseline:
      break;
  }
  return "baseline";
}

int simd_width(SimdLevel level) {
  switch (level) {
    case SimdLevel::avx512:
      return 512;
    case SimdLevel::avx2:
      return 256;
    case SimdLevel::baseline:
      break;
  }
#if defined(__AVX512F__)
  return 512;
#elif defined(__AVX__)
  return 256;
#else
  return 128;
#endif
}

}  // namespace meniscus::core
