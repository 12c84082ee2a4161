// Tests of exact sums, which do not depend on the order or the blocks of their terms, and of reductions, the same in all blocks.
#include "meniscus/parallel/reductions.hpp"

#include "meniscus/core/random.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

using namespace meniscus;

namespace {

/// Terms of any sign and any exponent from 2^-low to 2^high.
std::vector<double> terms(std::size_t n, int low, int high) {
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) {
    const auto [u, v] = CounterRandom(9, i, 0).uniform2(0);
    all.push_back(std::ldexp(2.0 * u - 1.0, -low + static_cast<int>(v * static_cast<double>(high + low))));
  }
  return all;
}

double exact(const std::vector<double>& all) {
  numerics::ExactSum sum;
  for (const double x : all) sum.add(x);
  return sum.value();
}

}  // namespace

TEST_CASE("an exact sum is rounded once, to the nearest double with ties to even") {
  const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
  CHECK(exact({}) == 0.0);
  CHECK(exact({1.0, 0x1p-53}) == 1.0);
  CHECK(exact({1.0, 0x1p-53, tiny}) == 1.0 + 0x1p-52);
  CHECK(exact({1.0 + 0x1p-52, 0x1p-53}) == 1.0 + 0x1p-51);
  CHECK(exact({-1.0, -0x1p-53, -tiny}) == -1.0 - 0x1p-52);
  CHECK(exact({huge, 1.0, -huge}) == 1.0);
  CHECK(exact({tiny, tiny, -3 * tiny}) == -tiny);
  CHECK(exact({huge, huge}) == std::numeric_limits<double>::infinity());
  CHECK(exact({1e300, -1e-300, 1e-320, -1e300, 1e-300}) == 1e-320);
  CHECK(std::isinf(exact({1.0, -std::numeric_limits<double>::infinity()})));
  CHECK(std::isnan(exact({1.0, std::nan("")})));
  // Integers, whose sum is known.
  std::vector<double> integers;
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto w = CounterRandom(3, i, 0).words(0);
    const auto k =
        static_cast<std::int64_t>(w[0] % (1u << 20)) * static_cast<std::int64_t>(w[1] % (1u << 20)) * (w[2] & 1 ? 1 : -1);
    integers.push_back(std::ldexp(static_cast<double>(k), -30));
    sum += k;
  }
  CHECK(exact(integers) == std::ldexp(static_cast<double>(sum), -30));
}

TEST_CASE("an exact sum does not depend on the order of its terms or on where they are added") {
  auto all = terms(4000, 1000, 900);
  const double expected = exact(all);
  for (const auto& rotate_by : {1, 777, 3000}) {
    std::rotate(all.begin(), all.begin() + rotate_by, all.end());
    CHECK(std::bit_cast<std::uint64_t>(exact(all)) == std::bit_cast<std::uint64_t>(expected));
  }
  parallel::run_thread_blocks(5, [&](const std::shared_ptr<parallel::Communicator>& communicator) {
    const auto b = static_cast<std::size_t>(communicator->rank());
    numerics::ExactSum own;
    for (std::size_t i = b * b * 160; i < std::min<std::size_t>((b + 1) * (b + 1) * 160, all.size()); ++i) own.add(all[i]);
    const double found = parallel::global_sum(*communicator, own);
    const Index number = communicator->rank();
    const bool right = found == expected && parallel::global_max(*communicator, static_cast<double>(number)) == 4.0 &&
                       parallel::global_min(*communicator, static_cast<double>(number)) == 0.0 &&
                       parallel::global_sum(*communicator, number) == 10 &&
                       parallel::sum_before(*communicator, number) == number * (number - 1) / 2 &&
                       parallel::global_any(*communicator, number == 3) && !parallel::global_any(*communicator, false) &&
                       std::isinf(parallel::global_max(*communicator, number == 2 ? std::nan("") : 0.0));
    if (!right) throw std::runtime_error("a reduction is wrong in block " + std::to_string(number));
  });
}

TEST_CASE("reductions take log2 n rounds, two more where n is no power of two, and all blocks get the same bits") {
  for (int n = 1; n <= 9; ++n) {
    CAPTURE(n);
    std::atomic<int> wrong = 0;
    parallel::run_thread_blocks(n, [&](const std::shared_ptr<parallel::Communicator>& communicator) {
      const int rank = communicator->rank(), power = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
      const Index rounds = rank >= power ? 1 : std::bit_width(static_cast<unsigned>(power)) - 1 + (rank + power < n);
      const parallel::Traffic before = communicator->traffic();
      // Zeros of both signs.
      const double zero = parallel::global_max(*communicator, rank % 2 ? 0.0 : -0.0);
      const auto tag = static_cast<std::size_t>(parallel::tags::reduction);
      const parallel::Traffic& after = communicator->traffic();
      wrong += after.messages[tag] - before.messages[tag] != (n == 1 ? 0 : rounds);
      wrong += after.bytes[tag] - before.bytes[tag] != (n == 1 ? 0 : 8 * rounds);
      wrong += std::bit_cast<std::uint64_t>(zero) != 0;
      wrong += std::bit_cast<std::uint64_t>(parallel::global_min(*communicator, rank % 3 ? 0.0 : -0.0)) != 0;
      wrong += parallel::global_sum(*communicator, Index{1} << rank) != (Index{1} << n) - 1;
      wrong += parallel::global_max(*communicator, static_cast<double>(rank)) != n - 1;
      const auto range = parallel::global_range(*communicator, -rank, 2.0 * rank);
      wrong += range.first != 1 - n || range.second != 2.0 * (n - 1);
      const double bad = rank == n - 1 ? std::nan("") : 1.0;
      wrong += !std::isnan(parallel::global_range(*communicator, 0.0, bad).first);
    });
    CHECK(wrong == 0);
  }
}
