// Tests of the sort of numbers from a known range against std::sort.
#include "meniscus/core/memory/sorted_numbers.hpp"

#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

using namespace meniscus;

TEST_CASE("NumberSort is std::sort") {
  core::NumberSort sort;
  // Ranges of one, two and three digits and their ends; lists that are compared, and that are counted.
  for (const std::int64_t end : {std::int64_t{1}, std::int64_t{2}, std::int64_t{2048}, std::int64_t{2049}, std::int64_t{1} << 22,
                                 (std::int64_t{1} << 22) + 1, std::int64_t{1} << 31})
    for (const std::size_t n : {0, 1, 2, 383, 384, 385, 5000, 20000}) {
      std::vector<std::int32_t> numbers(n);
      for (std::size_t i = 0; i < n; ++i)
        numbers[i] = static_cast<std::int32_t>(CounterRandom(7, i, 0).words(0)[0] % static_cast<std::uint64_t>(end));
      if (n > 1) numbers[0] = static_cast<std::int32_t>(end - 1);
      std::vector<std::int32_t> expected = numbers;
      std::sort(expected.begin(), expected.end());
      // A part of a list: what is beside it stays.
      numbers.push_back(-7);
      sort.sort(std::span(numbers).first(n), end);
      CHECK(numbers.back() == -7);
      numbers.pop_back();
      CHECK(numbers == expected);
    }
}
