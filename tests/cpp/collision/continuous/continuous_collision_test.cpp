// Tests of continuous collision detection against exact answers: at full size, a million generic and a hundred thousand
// degenerate queries of each kind.

#include "ccd_queries.hpp"
#include "test_size.hpp"

#include "meniscus/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <sstream>
#include <string_view>

using namespace meniscus;
using namespace meniscus::oracle;
using meniscus::tests::choose;

namespace {

constexpr std::array kinds{collision::PairKind::vertex_face, collision::PairKind::edge_edge};

bool collides(collision::PairKind kind, collision::ContactMode mode, const Corners& start, const Corners& end) {
  constexpr std::array<collision::Stencil, 1> one{{{0, 1, 2, 3}}};
  std::uint8_t out = 2;
  collision::find_contacts(kind, mode, start, end, one, &out);
  return out != 0;
}

std::string printed(const char* family, collision::PairKind kind, const Query& q) {
  std::ostringstream text;
  text << family << (kind == collision::PairKind::vertex_face ? ", vertex and face:" : ", edges:") << std::hexfloat;
  for (const Corners* x : {&q.start, &q.end})
    for (const mesh::Point& p : *x) text << " (" << p[0] << ", " << p[1] << ", " << p[2] << ")";
  return text.str();
}

/// Is t never later than the first contact, at most `tolerance` earlier, and exactly 0 or infinity where it has to be?
bool valid_time(double t, double tolerance, Answer& answer) {
  if (!answer.first) return t == std::numeric_limits<double>::infinity();
  if (!(t >= 0 && t <= 1)) return false;
  if (answer.first->order(0) == 0) return t == 0;
  const mpq_class time(t);
  return answer.first->order(time) >= 0 && answer.first->order(mpq_class(time + mpq_class(tolerance))) <= 0;
}

/// Compares query i of a family with its exact answer.
bool agrees(const Family& family, collision::PairKind kind, Random& random, Index i, int time_every) {
  const Query q = family.make(random, kind);
  Answer answer = solve(kind, q.start, q.end);
  const bool parity = collides(kind, collision::ContactMode::parity, q.start, q.end);
  const bool any = collides(kind, collision::ContactMode::any, q.start, q.end);
  bool time = true;
  if (i % time_every == 0) {
    const double tolerance = std::array{1e-6, 1e-3, 0.3, 1e-14}[i / time_every % 4];
    time = valid_time(collision::time_of_impact(kind, q.start, q.end, tolerance), tolerance, answer);
  }
  if (parity == answer.parity() && any == answer.any() && time) return true;
  FAIL_CHECK(printed(family.name, kind, q), " parity ", parity, " not ", answer.parity(), ", any ", any, " not ", answer.any(),
             ", time ", time ? "right" : "wrong");
  return false;
}

/// Asks n queries of a family; every `time_every`-th one is asked for its time of impact too.
void compare(const Family& family, collision::PairKind kind, int n, int time_every) {
  constexpr Index piece = 500;
  std::atomic<int> wrong = 0;
  core::parallel_for(0, n, piece, [&](Index begin, Index end) {
    Random random(4711 + static_cast<std::uint64_t>(begin));
    for (Index i = begin; i < end && wrong < 3; ++i) wrong += !agrees(family, kind, random, i, time_every);
  });
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("continuous collision detection agrees with exact answers on generic queries") {
  const auto families = generic_families();
  const int each = choose(2000, 1'000'000) / static_cast<int>(families.size());
  for (const collision::PairKind kind : kinds)
    for (const Family& family : families) compare(family, kind, each, choose(2, 10));
}

TEST_CASE("continuous collision detection agrees with exact answers on degenerate queries") {
  const auto families = degenerate_families();
  const int each = choose(600, 100'000) / static_cast<int>(families.size());
  for (const collision::PairKind kind : kinds)
    for (const Family& family : families) compare(family, kind, each + 1, choose(1, 4));
}

TEST_CASE("infinitely many contacts count in both modes, and a touch within only as any contact") {
  Random random(30);
  const auto family = [](std::string_view name) {
    for (const Family& f : degenerate_families())
      if (name == f.name) return f;
    throw std::logic_error("there is no such family");
  };
  for (const collision::PairKind kind : kinds) {
    for (const char* name : {"shared vertex", "in a plane", "in a tilted plane", "on a line", "static pairs"})
      for (int i = 0; i < choose(50, 1000); ++i) {
        const Query q = family(name).make(random, kind);
        if (!solve(kind, q.start, q.end).infinite) continue;
        CHECK_MESSAGE(collides(kind, collision::ContactMode::parity, q.start, q.end), printed(name, kind, q));
        CHECK_MESSAGE(collides(kind, collision::ContactMode::any, q.start, q.end), printed(name, kind, q));
      }
    for (int i = 0; i < choose(50, 1000); ++i) {
      const Query q = family("double roots").make(random, kind);
      CHECK_MESSAGE(!collides(kind, collision::ContactMode::parity, q.start, q.end), printed("double roots", kind, q));
      CHECK_MESSAGE(collides(kind, collision::ContactMode::any, q.start, q.end), printed("double roots", kind, q));
    }
  }
}

TEST_CASE("an edge and a face that are apart at the start are so at the end unless one of their five pairs collides") {
  // Whether they meet changes as often as there are collisions by parity, if there is no contact on the border of a pair
  // (Brochu 2012, section 4.5.1).
  using Five = std::array<mesh::Point, 5>;
  const int n = choose(2000, 1'000'000);
  std::atomic<int> changes = 0;
  std::atomic<int> touching_twice = 0;
  std::atomic<int> unexcused = 0;
  const auto check = [&](Random& random, Index i) {
    const auto five = [&](auto&& coordinate) {
      Five x;
      for (mesh::Point& p : x)
        for (int d = 0; d < 3; ++d) p[d] = coordinate();
      return x;
    };
    Five start;
    Five end;
    if (i % 10 == 0) {
      start = five([&] { return random.integer(-9, 9); });
      end = five([&] { return random.integer(-9, 9); });
    } else {
      start = five([&] { return random.uniform(-1, 1); });
      end = start;
      const double step = i % 2 ? 2 : 0.2;
      for (mesh::Point& p : end)
        for (int d = 0; d < 3; ++d) p[d] += random.uniform(-step, step);
    }
    bool odd = false;
    bool boundary = false;
    const auto ask = [&](collision::PairKind kind, const std::array<std::size_t, 4>& rows, bool exactly) {
      Query q;
      for (std::size_t k = 0; k < 4; ++k) {
        q.start[k] = start[rows[k]];
        q.end[k] = end[rows[k]];
      }
      if (exactly)
        boundary |= solve(kind, q.start, q.end).boundary;
      else
        odd ^= collides(kind, collision::ContactMode::parity, q.start, q.end);
    };
    const auto ask_all = [&](bool exactly) {
      ask(collision::PairKind::vertex_face, {0, 2, 3, 4}, exactly);
      ask(collision::PairKind::vertex_face, {1, 2, 3, 4}, exactly);
      ask(collision::PairKind::edge_edge, {0, 1, 2, 3}, exactly);
      ask(collision::PairKind::edge_edge, {0, 1, 3, 4}, exactly);
      ask(collision::PairKind::edge_edge, {0, 1, 4, 2}, exactly);
    };
    ask_all(false);
    const bool changed = edge_meets_face(start) != edge_meets_face(end);
    changes += changed;
    if (changed == odd) return;
    // Only a contact on the border excuses the difference.
    ask_all(true);
    unexcused += !boundary;
    ++touching_twice;
  };
  core::parallel_for(0, n, 1000, [&](Index begin, Index end) {
    Random random(421 + static_cast<std::uint64_t>(begin));
    for (Index i = begin; i < end; ++i) check(random, i);
  });
  CHECK(unexcused == 0);
  CHECK(changes > n / 50);
  CHECK(touching_twice < n / 20);
}
