// Tests of the oracle of collision detection: agreement of two languages, known cases, a conservation law.

#include "ccd_queries.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace meniscus;
using namespace meniscus::oracle;

namespace {

/// One number for what is known about a query: what tests/collision/continuous/test_ccd_oracle.py computes too.
std::uint64_t code_of(Answer answer) {
  return static_cast<std::uint64_t>(answer.boundary) | static_cast<std::uint64_t>(answer.interior) << 1 |
         static_cast<std::uint64_t>(std::min(answer.times, 15)) << 3 | static_cast<std::uint64_t>(answer.infinite) << 7 |
         static_cast<std::uint64_t>(answer.first ? answer.first->floor20() + 1 : 0) << 8;
}

}  // namespace

TEST_CASE("exact answers of collision queries are the same in C++ and in Python") {
  const auto checksum = [](const char* name, collision::PairKind kind) {
    const auto families = shared_families();
    const auto family =
        std::find_if(families.begin(), families.end(), [&](const Family& f) { return std::string(f.name) == name; });
    Random random(20120701);
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (int i = 0; i < 500; ++i) {
      const Query q = family->make(random, kind);
      sum = (sum ^ code_of(solve(kind, q.start, q.end))) * 0x100000001b3u;
    }
    return sum;
  };
  const collision::PairKind vf = collision::PairKind::vertex_face;
  const collision::PairKind ee = collision::PairKind::edge_edge;
  // The same numbers stand in tests/collision/continuous/test_ccd_oracle.py.
  CHECK(checksum("grid", vf) == 0xa9cd041b04c69a4eu);
  CHECK(checksum("grid", ee) == 0x663bcf48bd4f9fdau);
  CHECK(checksum("wide grid", vf) == 0xb125f833eb5f3a3cu);
  CHECK(checksum("wide grid", ee) == 0x637b62b83696fdc9u);
  CHECK(checksum("fractions", vf) == 0x1fd435738b0aa8afu);
  CHECK(checksum("fractions", ee) == 0x31bbee450097bf15u);
  CHECK(checksum("plane", vf) == 0xd2539484a40aaa8fu);
  CHECK(checksum("plane", ee) == 0xfa6c15f3f3f69206u);
  CHECK(checksum("touch", vf) == 0x23246ac803c4945fu);
  CHECK(checksum("touch", ee) == 0xfe4828bc0ae47ce2u);
  CHECK(checksum("scales", vf) == 0xa9cd041b04c69a4eu);
  CHECK(checksum("scales", ee) == 0x663bcf48bd4f9fdau);
}
