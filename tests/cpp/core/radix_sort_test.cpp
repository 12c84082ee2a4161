// Tests of the radix sort against std::stable_sort on every number of threads.
#include "meniscus/core/radix_sort.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

using namespace meniscus;

namespace {

void check_sort(const std::vector<std::uint64_t>& keys, std::uint64_t end_key) {
  std::vector<Index> expected_order(keys.size());
  std::iota(expected_order.begin(), expected_order.end(), Index{0});
  std::stable_sort(expected_order.begin(), expected_order.end(), [&](Index a, Index b) { return keys[a] < keys[b]; });
  std::vector<std::uint64_t> expected_keys = keys;
  std::sort(expected_keys.begin(), expected_keys.end());

  const int before = num_threads();
  Workspace workspace;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::vector<std::uint64_t> sorted = keys;
    std::vector<Index> order(keys.size(), -1);
    radix_sort(sorted.data(), order.data(), static_cast<Index>(keys.size()), end_key, workspace);
    CHECK(sorted == expected_keys);
    CHECK(order == expected_order);
  }
  set_num_threads(before);
}

}  // namespace

TEST_CASE("radix_sort is std::stable_sort") {
  for (const std::uint64_t end_key : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{2048}, std::uint64_t{2049},
                                      std::uint64_t{1} << 23, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()})
    for (const Index n : {Index{0}, Index{1}, Index{2}, Index{8192}, Index{8193}, Index{30000}, Index{70001}}) {
      std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const Philox4 w = CounterRandom(end_key, i, 0).words(0);
        keys[i] = ((std::uint64_t{w[0]} << 32) | w[1]) % end_key;
      }
      if (n > 1) keys[0] = end_key - 1;  // the largest key allowed
      check_sort(keys, end_key);
    }
}

TEST_CASE("radix_sort sorts what is nearly in order") {
  // Eight to a key, moved by up to some keys; from a first key on, with a gap, and with one that is far away.
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1} << 40})
    for (const Index n : {Index{1}, Index{8193}, Index{30000}, Index{300001}})
      for (const std::uint64_t moved : {0, 3, 4000}) {
        std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const Philox4 w = CounterRandom(moved + 1, i, 0).words(0);
          keys[i] = first + i / 8 + w[0] % (moved + 1) + (2 * i > keys.size() ? keys.size() / 2 : 0);
        }
        check_sort(keys, keys.back() + keys.size());
        std::swap(keys.front(), keys.back());
        check_sort(keys, keys.front() + keys.size());
      }
}
