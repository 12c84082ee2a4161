// Tests of loops and reductions: the same bits on every number of threads, and a clean stop.
#include "meniscus/core/parallel.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace meniscus;

namespace {

constexpr std::array thread_counts{1, 2, 3, 5, 8};

struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

/// Numbers whose sum depends on the order of addition: magnitudes from 2^-30 to 2^30, both signs.
std::vector<double> ill_conditioned(Index n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    const auto u = CounterRandom(1, static_cast<std::uint64_t>(i), 0).uniform2(0);
    v[i] = std::ldexp(u[0] - 0.5, static_cast<int>(u[1] * 60.0) - 30);
  }
  return v;
}

/// The tree that parallel_reduce promises, written as a recursion: a node joins the subtrees of 2^k leaves each.
double tree_sum(const std::vector<double>& leaves, std::size_t first, std::size_t span) {
  if (span == 1) return leaves[first];
  const double left = tree_sum(leaves, first, span / 2);
  return first + span / 2 < leaves.size() ? left + tree_sum(leaves, first + span / 2, span / 2) : left;
}

}  // namespace

TEST_CASE("parallel_for visits every index once, in pieces of the asked size") {
  for (const int threads : thread_counts) {
    const Threads use(threads);
    for (const auto& [begin, end, chunk] :
         {std::array<Index, 3>{0, 0, 1}, {5, 3, 2}, {0, 1, 4}, {-7, 1000, 1}, {3, 1000, 7}, {0, 64, 64}}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(std::max<Index>(end - begin, 0)));
      std::atomic<int> wrong{0};
      parallel_for(begin, end, chunk, [&, b0 = begin, e0 = end, size = chunk](Index b, Index e) {
        if ((b - b0) % size != 0 || e != std::min(b + size, e0)) ++wrong;
        for (Index i = b; i < e; ++i) ++visits[i - b0];
      });
      CHECK(wrong == 0);
      CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; }));
    }
  }
}

TEST_CASE("parallel_reduce is a fixed tree over fixed pieces, bitwise, whatever the number of threads") {
  for (const Index n : {Index{1}, Index{255}, Index{256}, Index{257}, Index{1000}, Index{100003}}) {
    const std::vector<double> v = ill_conditioned(n);
    for (const Index asked : {Index{1}, Index{64}, Index{1000}}) {
      const Index chunk = std::max(asked, (n + 255) / 256);
      std::vector<double> leaves;
      for (Index b = 0; b < n; b += chunk) {
        double sum = 0.0;
        for (Index i = b; i < std::min(n, b + chunk); ++i) sum += v[i];
        leaves.push_back(sum);
      }
      const double expected = 0.0 + tree_sum(leaves, 0, std::bit_ceil(leaves.size()));
      for (const int threads : thread_counts) {
        const Threads use(threads);
        const double sum = parallel_reduce(
            0, n, asked, 0.0,
            [&](Index b, Index e) {
              double s = 0.0;
              for (Index i = b; i < e; ++i) s += v[i];
              return s;
            },
            [](double a, double b) { return a + b; });
        CHECK(std::memcmp(&sum, &expected, sizeof sum) == 0);
      }
    }
  }
  CHECK(parallel_reduce(3, 3, 1, 7, [](Index, Index) { return 1; }, [](int a, int b) { return a + b; }) == 7);
}

TEST_CASE("an exception in the body arrives at the caller, and the next loop works") {
  for (const int threads : thread_counts) {
    const Threads use(threads);
    for (const Index bad : {Index{0}, Index{17}, Index{99}}) {
      CHECK_THROWS_WITH_AS(parallel_for(0, 100, 1,
                                        [&](Index b, Index) {
                                          if (b == bad) throw std::domain_error("piece " + std::to_string(b));
                                        }),
                           ("piece " + std::to_string(bad)).c_str(), std::domain_error);
      std::atomic<Index> sum{0};
      parallel_for(0, 100, 1, [&](Index b, Index) { sum += b; });
      CHECK(sum == 4950);
    }
  }
}

TEST_CASE("a loop in a loop, and loops started by several threads at once") {
  for (const int threads : thread_counts) {
    const Threads use(threads);
    std::vector<Index> sums(20);
    parallel_for(0, 20, 1, [&](Index i, Index) {
      sums[i] = parallel_reduce(
          0, 1000, 10, Index{0}, [&](Index b, Index e) { return (e - b) * i; }, [](Index a, Index b) { return a + b; });
    });
    for (Index i = 0; i < 20; ++i) CHECK(sums[i] == 1000 * i);

    std::array<Index, 4> results{};
    {
      std::vector<std::jthread> callers;
      for (std::size_t c = 0; c < results.size(); ++c)
        callers.emplace_back([&results, c] {
          results[c] = parallel_reduce(
              0, 5000, 3, Index{0}, [](Index b, Index e) { return e - b; }, [](Index a, Index b) { return a + b; });
        });
    }
    for (const Index r : results) CHECK(r == 5000);
  }
}

TEST_CASE("a stop request ends a loop early with Interrupted") {
  using namespace std::chrono_literals;
  for (const int threads : thread_counts) {
    const Threads use(threads);
    std::atomic<int> pieces{0};
    const auto caller = std::this_thread::get_id();
    bool asked_elsewhere = false;
    const auto work = [&](Index, Index) {
      std::this_thread::sleep_for(2ms);
      ++pieces;
    };
    {
      const InterruptScope scope([&] {
        asked_elsewhere |= std::this_thread::get_id() != caller;
        return true;
      });
      CHECK_THROWS_AS(parallel_for(0, 100000, 1, work), Interrupted);
      CHECK_THROWS_AS(check_interrupt(), Interrupted);
      const int before = pieces;
      {
        const NoInterrupts commit;
        CHECK_NOTHROW(parallel_for(0, 3, 1, work));
        CHECK_NOTHROW(check_interrupt());
      }
      CHECK(pieces == before + 3);
    }
    CHECK(pieces < 100000);
    CHECK_FALSE(asked_elsewhere);
    CHECK(InterruptScope::current() == nullptr);
    CHECK_NOTHROW(parallel_for(0, 3, 1, work));
  }
}

TEST_CASE("scopes nest: the innermost one is asked, and a scope that says no stops nothing") {
  using namespace std::chrono_literals;
  const InterruptScope outer([] { return true; });
  int questions = 0;
  {
    const InterruptScope inner([&] {
      ++questions;
      return false;
    });
    CHECK_NOTHROW(parallel_for(0, 60, 1, [](Index, Index) { std::this_thread::sleep_for(2ms); }));
    CHECK(questions >= 1);
    CHECK(questions <= 60);
  }
  CHECK(InterruptScope::current() == &outer);
}

TEST_CASE("the number of threads is at least one") {
  CHECK_THROWS_AS(set_num_threads(0), InvalidArgument);
  const Threads use(3);
  CHECK(num_threads() == 3);
}
