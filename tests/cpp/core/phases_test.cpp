// Tests of loops one after the other by one team of threads.
#include "meniscus/core/threads/phases.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace meniscus;

namespace {

struct TeamOf {
  explicit TeamOf(int n) : before(num_threads()) { set_num_threads(n); }
  ~TeamOf() { set_num_threads(before); }
  int before;
};

/// Lengths with empty phases, phases of one piece and long ones.
Index length_of(Index phase) { return phase % 7 == 3 ? 0 : phase % 5 == 1 ? 2 : 3 + (phase * 37) % 200; }

}  // namespace

TEST_CASE("phases visit all elements once, and begin when those before have ended") {
  for (const int threads : {1, 2, 3, 5, 8}) {
    const TeamOf use(threads);
    constexpr Index phases = 400;
    std::vector<std::vector<std::atomic<int>>> visits(phases);
    for (Index p = 0; p < phases; ++p) visits[p] = std::vector<std::atomic<int>>(static_cast<std::size_t>(length_of(p)));
    std::vector<std::atomic<Index>> ended(phases);
    std::atomic<int> wrong{0};
    parallel_phases(
        phases, 4,
        [&](Index p) {
          if (p > 0 && ended[p - 1] != length_of(p - 1)) ++wrong;
          return std::pair<Index, Index>(10, 10 + length_of(p));
        },
        [&](Index p, Index b, Index e) {
          if ((b - 10) % 4 != 0 || e - b > 4 || e <= b) ++wrong;
          if (p > 0 && ended[p - 1] != length_of(p - 1)) ++wrong;
          for (Index i = b; i < e; ++i) ++visits[p][i - 10];
          ended[p] += e - b;
        });
    CHECK(wrong == 0);
    for (const auto& of_phase : visits)
      for (const auto& v : of_phase) CHECK(v == 1);
  }
}

TEST_CASE("who comes late takes no piece of a phase that has ended, also while the next one begins") {
  // More threads than most machines have cores, so that some wake up when the others have done all; a phase of two pieces is
  // followed by longer ones.
  const TeamOf use(4);
  std::atomic<Index> current{-1};
  Index pieces = 0;
  CHECK_NOTHROW(parallel_phases(
      2000000, 1,
      [&](Index p) {
        current = p;
        pieces = 2 + (p * 37) % 7;
        return std::pair<Index, Index>(0, pieces);
      },
      [&](Index p, Index b, Index) {
        // Thrown, since the others may wait for ever for what was miscounted.
        if (p != current || b >= pieces) throw std::domain_error("a piece of phase " + std::to_string(p) + " in another one");
      }));
}

TEST_CASE("a phase can end the later ones") {
  for (const int threads : {1, 2, 8}) {
    const TeamOf use(threads);
    bool enough = false;
    std::atomic<Index> elements{0};
    parallel_phases(
        100, 3, [&](Index) { return std::pair<Index, Index>(0, enough ? 0 : 50); },
        [&](Index p, Index b, Index e) {
          elements += e - b;
          if (p == 9 && b == 0) enough = true;
        });
    CHECK(elements == 500);
  }
}

TEST_CASE("what a piece throws reaches the caller, and the next loops work") {
  for (const int threads : {1, 2, 8}) {
    const TeamOf use(threads);
    for (const Index bad : {0, 7, 19}) {
      const auto loop = [&](Index fails) {
        Index done = 0;
        parallel_phases(
            20, 1, [](Index p) { return std::pair<Index, Index>(0, p % 3 == 0 ? 1 : 40); },
            [&](Index p, Index b, Index) {
              if (p == fails && b == 0) throw std::domain_error("phase " + std::to_string(p));
              if (b == 0) ++done;
            });
        return done;
      };
      CHECK_THROWS_WITH_AS(loop(bad), ("phase " + std::to_string(bad)).c_str(), std::domain_error);
      CHECK(loop(-1) == 20);
    }
  }
}
