/// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011). A number is a pure function of (seed, id, step, draw), so it does not depend on threads, ranks or order.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::core {

using Philox4 = std::array<std::uint32_t, 4>;

constexpr Philox4 philox(Philox4 counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint32_t multiplier0 = 0xD2511F53u;
  constexpr std::uint32_t multiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t weyl0 = 0x9E3779B9u;
  constexpr std::uint32_t weyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{multiplier0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{multiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

/// Draws for one entity at one step: four 32-bit words a draw.
class CounterRandom {
 public:
  constexpr CounterRandom(std::uint64_t seed, std::uint64_t id, std::uint32_t step)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, id_(id), step_(step) {}

  constexpr Philox4 words(std::uint32_t draw) const {
    return philox({static_cast<std::uint32_t>(id_), static_cast<std::uint32_t>(id_ >> 32), step_, draw}, key_);
  }

  /// Two doubles in [0, 1) with 53 random bits each.
  constexpr std::array<double, 2> uniform2(std::uint32_t draw) const {
    const Philox4 w = words(draw);
    return {to_unit(w[0], w[1]), to_unit(w[2], w[3])};
  }

 private:
  static constexpr double to_unit(std::uint32_t high, std::uint32_t low) {
    return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
  }
  std::array<std::uint32_t, 2> key_;
  std::uint64_t id_;
  std::uint32_t step_;
};

}  // namespace meniscus::core
