// Tests of exact collision detection when other libraries have changed the rounding mode or set flush-to-zero for subnormal
// numbers.

#include "ccd_queries.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <vector>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace meniscus;
using namespace meniscus::oracle;

namespace {

struct Asked {
  collision::PairKind kind;
  Query query;
};

/// Queries of which many have subnormal coordinates or are degenerate.
std::vector<Asked> queries() {
  std::vector<Asked> all;
  for (const collision::PairKind kind : {collision::PairKind::vertex_face, collision::PairKind::edge_edge})
    for (const Family& family : degenerate_families()) {
      Random random(1984);
      for (int i = 0; i < 20; ++i) all.push_back({kind, family.make(random, kind)});
    }
  return all;
}

std::vector<double> answers(const std::vector<Asked>& asked) {
  std::vector<double> all;
  for (const auto& [kind, q] : asked) {
    constexpr std::array<collision::Stencil, 1> one{{{0, 1, 2, 3}}};
    std::uint8_t out = 0;
    for (const collision::ContactMode mode : {collision::ContactMode::parity, collision::ContactMode::any}) {
      collision::find_contacts(kind, mode, q.start, q.end, one, &out);
      all.push_back(out);
    }
    all.push_back(collision::time_of_impact(kind, q.start, q.end, 1e-6));
  }
  return all;
}

}  // namespace

TEST_CASE("answers do not depend on the rounding mode, which is left as it was") {
  const std::vector<Asked> asked = queries();
  const std::vector<double> expected = answers(asked);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const std::vector<double> found = answers(asked);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(after == mode);
    CHECK(found == expected);
  }
}

#if defined(__SSE2__)
TEST_CASE("answers do not depend on whether subnormal numbers are switched off, and they stay so") {
  const std::vector<Asked> asked = queries();
  const std::vector<double> expected = answers(asked);
  const unsigned before = _mm_getcsr();
  constexpr unsigned off = 1u << 15 | 1u << 6;  // MXCSR: flush-to-zero, denormals-are-zero
  _mm_setcsr(before | off);
  const std::vector<double> found = answers(asked);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK((after & off) == off);
  CHECK(found == expected);
}
#endif
