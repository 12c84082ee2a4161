// Tests of the two exact methods behind continuous collision detection, called directly: in production,
// filters answer almost all queries first.

#include "ccd_queries.hpp"
#include "test_size.hpp"

#include "meniscus/collision/continuous/ccd_exact.hpp"
#include "meniscus/collision/continuous/root_parity.hpp"
#include "meniscus/core/parallel.hpp"

#include <doctest/doctest.h>

using namespace meniscus;
using namespace meniscus::oracle;
using meniscus::tests::choose;

namespace {

constexpr std::array kinds{collision::PairKind::vertex_face, collision::PairKind::edge_edge};

template <class Check>
void for_each_query(int generic, int degenerate, Check&& check) {
  constexpr int piece = 100;
  for (const collision::PairKind kind : kinds)
    for (const auto& [families, count] : {std::pair{generic_families(), generic}, std::pair{degenerate_families(), degenerate}})
      for (const Family& family : families)
        core::parallel_for(0, count / static_cast<int>(families.size()) + 1, piece, [&](Index begin, Index end) {
          Random random(90125 + static_cast<std::uint64_t>(begin));
          for (Index i = begin; i < end; ++i) {
            CAPTURE(family.name);
            CAPTURE(i);
            check(kind, family.make(random, kind));
          }
        });
}

}  // namespace

TEST_CASE("both exact methods agree with the oracle") {
  for_each_query(choose(500, 100'000), choose(1000, 100'000), [](collision::PairKind kind, const Query& q) {
    const Answer answer = solve(kind, q.start, q.end);
    REQUIRE(collision::root_parity(kind, q.start, q.end) == answer.parity());
    REQUIRE(collision::contact_by_algebra(kind, collision::ContactMode::parity, q.start, q.end) == answer.parity());
    REQUIRE(collision::contact_by_algebra(kind, collision::ContactMode::any, q.start, q.end) == answer.any());
  });
}

TEST_CASE("root parity does not depend on the ray") {
  const unsigned rays = static_cast<unsigned>(choose(20, 1000));
  for_each_query(choose(50, 200), choose(100, 400), [rays](collision::PairKind kind, const Query& q) {
    const bool parity = collision::root_parity(kind, q.start, q.end);
    for (unsigned first = 1; first < rays; ++first) REQUIRE(collision::root_parity(kind, q.start, q.end, 64 * first) == parity);
  });
}

TEST_CASE("contacts do not depend on the order of the corners, of the edges, or on the direction of time") {
  for_each_query(choose(300, 20'000), choose(600, 20'000), [](collision::PairKind kind, const Query& q) {
    const auto ask = [&](const std::array<std::size_t, 4>& order, bool backwards) {
      Query p;
      for (std::size_t k = 0; k < 4; ++k) {
        p.start[k] = (backwards ? q.end : q.start)[order[k]];
        p.end[k] = (backwards ? q.start : q.end)[order[k]];
      }
      constexpr std::array<collision::Stencil, 1> one{{{0, 1, 2, 3}}};
      std::array<std::uint8_t, 2> out{};
      collision::find_contacts(kind, collision::ContactMode::parity, p.start, p.end, one, &out[0]);
      collision::find_contacts(kind, collision::ContactMode::any, p.start, p.end, one, &out[1]);
      return out;
    };
    const auto first = ask({0, 1, 2, 3}, false);
    REQUIRE(ask({0, 1, 2, 3}, true) == first);
    if (kind == collision::PairKind::vertex_face) {
      REQUIRE(ask({0, 2, 3, 1}, false) == first);
      REQUIRE(ask({0, 3, 2, 1}, false) == first);
    } else {
      REQUIRE(ask({2, 3, 0, 1}, false) == first);
      REQUIRE(ask({1, 0, 2, 3}, false) == first);
      REQUIRE(ask({3, 2, 1, 0}, true) == first);
    }
  });
}
