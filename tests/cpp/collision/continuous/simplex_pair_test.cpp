// Tests of simplices in space and time: all ways to solve the systems agree with rational arithmetic, and the filter decides
// almost everything.

#include "ccd_queries.hpp"
#include "simplex_oracle.hpp"
#include "test_size.hpp"

#include "meniscus/collision/continuous/space_time_simplex.hpp"
#include "meniscus/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace meniscus;
using namespace meniscus::oracle;
using meniscus::tests::choose;

namespace {

/// Simplex number k of the element that starts at corner `first` and has n corners.
void add_cell(collision::SimplexPair& pair, const Query& q, std::size_t first, std::size_t n, std::size_t k, bool second) {
  for (std::size_t i = 0; i < n - k; ++i) pair.add(q.start[first + i], false, second);
  for (std::size_t i = n - 1 - k; i < n; ++i) pair.add(q.end[first + i], true, second);
}

std::vector<collision::SimplexPair> cells_of(collision::PairKind kind, const Query& q) {
  const std::size_t split = kind == collision::PairKind::vertex_face ? 1 : 2;
  std::vector<collision::SimplexPair> pairs;
  for (std::size_t i = 0; i < split; ++i)
    for (std::size_t j = 0; j < 4 - split; ++j) {
      collision::SimplexPair pair;
      add_cell(pair, q, 0, split, i, false);
      add_cell(pair, q, split, 4 - split, j, true);
      pairs.push_back(pair);
    }
  return pairs;
}

/// Calls f(query, kind) for n queries of each family and kind, in pieces that run at the same time.
template <class F>
void for_queries(std::span<const Family> families, int n, F&& f) {
  for (const collision::PairKind kind : {collision::PairKind::vertex_face, collision::PairKind::edge_edge})
    for (const Family& family : families)
      core::parallel_for(0, n, 100, [&](Index begin, Index end) {
        Random random(230 + static_cast<std::uint64_t>(begin));
        for (Index i = begin; i < end; ++i) f(family, kind, family.make(random, kind));
      });
}

}  // namespace

TEST_CASE("Cramer's rule and both eliminations agree with rational arithmetic on simplices in space and time") {
  std::atomic<int> hits = 0;
  std::atomic<int> misses = 0;
  std::atomic<int> wrong = 0;
  for (const auto& [families, n] :
       {std::pair{generic_families(), choose(300, 65'000)}, {degenerate_families(), choose(15, 2'000)}})
    for_queries(families, n, [&](const Family& family, collision::PairKind kind, const Query& q) {
      for (const collision::SimplexPair& pair : cells_of(kind, q)) {
        const bool expected = simplices_meet(pair);
        ++(expected ? hits : misses);
        for (const auto method : {collision::SimplexMethod::cramer, collision::SimplexMethod::elimination,
                                  collision::SimplexMethod::integer_elimination}) {
          const collision::SimplexContact found = collision::intersect(pair, method);
          if (found.contact == expected && (!expected || (found.time >= 0 && found.time <= 1))) continue;
          if (++wrong < 3) FAIL_CHECK(family.name, ", method ", static_cast<int>(method), ", not ", expected);
        }
      }
    });
  CHECK(wrong == 0);
  CHECK(hits > choose(400, 100'000));
  CHECK(misses > choose(5000, 1'000'000));
}

TEST_CASE("the filter of Cramer's rule decides more than 99 % of generic pairs of simplices, and never differently") {
  std::atomic<int> certain = 0;
  std::atomic<int> all = 0;
  std::atomic<int> wrong = 0;
  for_queries(generic_families(), choose(500, 100'000), [&](const Family&, collision::PairKind kind, const Query& q) {
    for (const collision::SimplexPair& pair : cells_of(kind, q)) {
      ++all;
      const auto answer = collision::intersect_if_certain(pair);
      if (!answer) continue;
      ++certain;
      wrong += answer->contact != collision::intersect(pair, collision::SimplexMethod::integer_elimination).contact;
    }
  });
  CHECK(wrong == 0);
  CHECK(certain > 0.99 * all);
}

TEST_CASE("pairs of simplices do not depend on which comes first") {
  Random random(232);
  for (const collision::PairKind kind : {collision::PairKind::vertex_face, collision::PairKind::edge_edge})
    for (const Family& family : degenerate_families())
      for (int i = 0; i < choose(10, 1000); ++i)
        for (const collision::SimplexPair& pair : cells_of(kind, family.make(random, kind))) {
          collision::SimplexPair other = pair;
          other.second = ~pair.second & ((1u << pair.count) - 1);
          CHECK(collision::intersect(pair, collision::SimplexMethod::cramer).contact ==
                collision::intersect(other, collision::SimplexMethod::cramer).contact);
        }
}
