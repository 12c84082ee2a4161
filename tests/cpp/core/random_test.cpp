// Tests of Philox 4x32-10 against the known answers that its authors publish with the Random123 library.
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

using namespace meniscus;

TEST_CASE("Philox 4x32-10 known answers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("seed, id, step and draw each have their own place in counter and key") {
  const CounterRandom r(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x13198a2e);
  const Philox4 words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CHECK(r.words(0x03707344) == words);
  // 53 bits: the high word and the top 21 bits of the low one.
  const auto unit = [](std::uint32_t high, std::uint32_t low) {
    return (static_cast<double>(high) * 0x1p21 + static_cast<double>(low >> 11)) * 0x1p-53;
  };
  CHECK(r.uniform2(0x03707344)[0] == unit(words[0], words[1]));
  CHECK(r.uniform2(0x03707344)[1] == unit(words[2], words[3]));
}

TEST_CASE("uniform numbers stay below one") {
  double low = 1.0;
  double high = 0.0;
  double sum = 0.0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i)
    for (const double u : CounterRandom(7, static_cast<std::uint64_t>(i), 3).uniform2(0)) {
      low = std::min(low, u);
      high = std::max(high, u);
      sum += u;
    }
  CHECK(low >= 0.0);
  CHECK(high < 1.0);
  CHECK(low < 1e-4);
  CHECK(high > 1.0 - 1e-4);
  // The mean of 2 n numbers has standard deviation 1 / sqrt(24 n) = 6.5e-4.
  CHECK(std::abs(sum / (2 * n) - 0.5) < 4 * 6.5e-4);
}
