// Tests of simplices in space and time: all ways to solve the systems agree, and the filter decides almost everything.

#include "ccd_queries.hpp"

#include "meniscus/collision/continuous/space_time_simplex.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string_view>

using namespace meniscus;
using namespace meniscus::oracle;

namespace {

int choose(int few, int many) {
  const char* value = std::getenv("MENISCUS_CCD_QUERIES");
  return value && std::string_view(value) == "full" ? many : few;
}

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

}  // namespace

TEST_CASE("Cramer's rule and both eliminations agree on simplices in space and time") {
  Random random(230);
  for (const auto& [families, n] :
       {std::pair{generic_families(), choose(300, 250'000)}, {degenerate_families(), choose(15, 5'000)}})
    for (const collision::PairKind kind : {collision::PairKind::vertex_face, collision::PairKind::edge_edge})
      for (const Family& family : families) {
        int hits = 0;
        int wrong = 0;
        for (int i = 0; i < n; ++i) {
          const Query q = family.make(random, kind);
          for (const collision::SimplexPair& pair : cells_of(kind, q)) {
            const collision::SimplexContact cramer = collision::intersect(pair, collision::SimplexMethod::cramer);
            const collision::SimplexContact integers = collision::intersect(pair, collision::SimplexMethod::integer_elimination);
            hits += cramer.contact;
            wrong += cramer.contact != integers.contact ||
                     cramer.contact != collision::intersect(pair, collision::SimplexMethod::elimination).contact;
            if (cramer.contact) wrong += !(cramer.time >= 0 && cramer.time <= 1);
          }
        }
        CHECK_MESSAGE(wrong == 0, family.name);
        if (n > 1000) CHECK(hits > 0);
      }
}

TEST_CASE("the filter of Cramer's rule decides more than 99 % of generic pairs of simplices, and never differently") {
  Random random(231);
  int certain = 0;
  int all = 0;
  for (const collision::PairKind kind : {collision::PairKind::vertex_face, collision::PairKind::edge_edge})
    for (const Family& family : generic_families())
      for (int i = 0; i < choose(500, 100'000); ++i)
        for (const collision::SimplexPair& pair : cells_of(kind, family.make(random, kind))) {
          ++all;
          const auto answer = collision::intersect_if_certain(pair);
          if (!answer) continue;
          ++certain;
          CHECK(answer->contact == collision::intersect(pair, collision::SimplexMethod::integer_elimination).contact);
        }
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
