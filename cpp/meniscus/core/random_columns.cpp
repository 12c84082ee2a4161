#include "meniscus/core/random_columns.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

namespace meniscus::core {

void draw_uniform(std::uint64_t seed, const Index* ids, Index n, std::uint32_t step, std::uint32_t draw, double* out) {
  parallel_for(0, n, 8192, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const auto u = CounterRandom(seed, static_cast<std::uint64_t>(ids[i]), step).uniform2(draw);
      out[2 * i] = u[0];
      out[2 * i + 1] = u[1];
    }
  });
}

}  // namespace meniscus::core
