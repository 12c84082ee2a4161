// Tests of the crossings of a ray with a bilinear patch against the roots of their quadratic, in GMP integers.

#include "ccd_queries.hpp"
#include "integer_polynomials.hpp"
#include "test_size.hpp"

#include "meniscus/collision/continuous/ray_parity.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>

using namespace meniscus;
using namespace meniscus::oracle;
using meniscus::tests::choose;

namespace {

using Z = numerics::FixedInteger<40>;
using Vector = std::array<std::int64_t, 3>;
/// Corners a, b, c, d in the order of `add_patch`.
using Patch = std::array<Vector, 4>;

/// What a ray from zero does to a patch.
struct Crossing {
  bool zero_on_patch = false;
  bool on_rim = false;
  bool odd = false;
};

/// A(p) + q B(p) is the patch; its component along `direction`.
struct Component {
  Polynomial a, b;

  Component(const Patch& patch, const std::array<Integer, 3>& direction) {
    const auto along = [&](const Vector& v) {
      return Integer(direction[0] * Integer(v[0]) + direction[1] * Integer(v[1]) + direction[2] * Integer(v[2]));
    };
    const std::array<Integer, 4> x{along(patch[0]), along(patch[1]), along(patch[2]), along(patch[3])};
    a = linear(x[0], x[2] - x[0]);
    b = linear(x[1] - x[0], x[3] - x[2] - x[1] + x[0]);
  }
};

/// No value where the patch meets the whole line of the ray, or lies in a plane with it.
std::optional<Crossing> cross_by_quadratic(const Patch& patch, const Vector& ray) {
  // Two directions that are normal to the ray, e_i x ray, where component k of the ray is not zero.
  const auto k = static_cast<std::size_t>(
      std::max_element(ray.begin(), ray.end(), [](auto x, auto y) { return std::abs(x) < std::abs(y); }) - ray.begin());
  std::vector<Component> normal;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == k) continue;
    std::array<Integer, 3> u;
    u[(i + 1) % 3] = -Integer(ray[(i + 2) % 3]);
    u[(i + 2) % 3] = Integer(ray[(i + 1) % 3]);
    normal.emplace_back(patch, u);
  }
  const Component forward(patch, {Integer(ray[0]), Integer(ray[1]), Integer(ray[2])});
  const auto minor = [](const Component& x, const Component& y) { return sum(product(x.a, y.b), product(y.a, x.b), -1); };
  Polynomial rest = minor(normal[0], normal[1]);
  if (rest.size == 0) return std::nullopt;
  make_primitive(rest);

  Crossing found;
  const auto visit = [&](Time& p, int multiplicity, bool end) {
    std::size_t n = 0;
    while (n < 2 && p.sign_of(normal[n].b) == 0) ++n;
    if (n == 2) {
      // The side q -> A(p) + q B(p) is parallel to the ray.
      if (p.sign_of(normal[0].a) != 0 || p.sign_of(normal[1].a) != 0) return;
      const int first = p.sign_of(forward.a);
      const int last = p.sign_of(sum(forward.a, forward.b, 1));
      if (first * last <= 0) found.zero_on_patch = true;
      if (first > 0 || last > 0) found.on_rim = true;
      return;
    }
    const int s = p.sign_of(normal[n].b);
    const int q = -s * p.sign_of(normal[n].a);
    const int left = s * p.sign_of(sum(normal[n].a, normal[n].b, 1));  // of 1 - q
    if (q < 0 || left < 0) return;
    const int distance = s * p.sign_of(minor(forward, normal[n]));
    if (distance == 0) found.zero_on_patch = true;
    if (distance <= 0) return;
    if (end || q == 0 || left == 0)
      found.on_rim = true;
    else
      found.odd ^= multiplicity % 2 == 1;
  };
  for (const int t : {0, 1}) {
    if (value(rest, t, 0) != 0) continue;
    Time p = instant(t);
    visit(p, 1, true);
    while (value(rest, t, 0) == 0) rest = quotient(rest, linear(-t, 1));
  }
  for_squarefree_factors(rest, [&](const Polynomial& factor, int multiplicity) {
    std::vector<Time> roots;
    add_roots_within(factor, roots);
    for (Time& p : roots) visit(p, multiplicity, false);
  });
  return found;
}

Vector integers(Random& r, int largest) {
  return {r.integer(-largest, largest), r.integer(-largest, largest), r.integer(-largest, largest)};
}

template <class F>
Vector combination(F&& f) {
  return {f(std::size_t{0}), f(std::size_t{1}), f(std::size_t{2})};
}

/// Corners are doubles in [-1, 1) times 2^53.
Patch reals(Random& r) {
  Patch x;
  for (Vector& v : x)
    for (std::int64_t& c : v) c = static_cast<std::int64_t>(r.bits() >> 10) - (std::int64_t{1} << 53);
  return x;
}

template <int Largest>
Patch grid(Random& r) {
  Patch x;
  for (Vector& v : x) v = integers(r, Largest);
  return x;
}

/// All corners in one plane; every second patch in one with zero.
Patch flat(Random& r) {
  const Vector u = integers(r, 3), v = integers(r, 3), base = r.chance(0.5) ? Vector{} : integers(r, 3);
  Patch x;
  for (Vector& c : x) {
    const int i = r.integer(-3, 3), j = r.integer(-3, 3);
    c = combination([&](std::size_t k) { return base[k] + i * u[k] + j * v[k]; });
  }
  return x;
}

Patch on_a_line(Random& r) {
  const Vector u = integers(r, 2), base = r.chance(0.5) ? Vector{} : integers(r, 2);
  Patch x;
  for (Vector& c : x) {
    const int i = r.integer(-3, 3);
    c = combination([&](std::size_t k) { return base[k] + i * u[k]; });
  }
  return x;
}

/// Zero is the point (i / 4, j / 4) of the patch.
Patch through_zero(Random& r) {
  Patch x = grid<6>(r);
  const int i = r.integer(0, 4), j = r.integer(0, 4);
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t at = (4 - i) * (4 - j) * x[0][k] + (4 - i) * j * x[1][k] + i * (4 - j) * x[2][k] + i * j * x[3][k];
    for (Vector& c : x) c[k] = 16 * c[k] - at;
  }
  return x;
}

/// The same, moved by one unit in the last of 50 places.
Patch beside_zero(Random& r) {
  Patch x = through_zero(r);
  for (Vector& c : x)
    for (std::int64_t& v : c) v = (v << 42) + r.integer(-1, 1);
  return x;
}

Patch parallelogram(Random& r) {
  Patch x = grid<5>(r);
  x[3] = combination([&](std::size_t k) { return x[1][k] + x[2][k] - x[0][k]; });
  return x;
}

Patch equal_corners(Random& r) {
  Patch x = grid<3>(r);
  x[r.integer(0, 3)] = x[r.integer(0, 3)];
  return x;
}

struct PatchFamily {
  const char* name;
  Patch (*make)(Random&);
  bool generic;
};

constexpr std::array patch_families{
    PatchFamily{"reals", reals, true},
    PatchFamily{"wide grid", grid<1000>, true},
    PatchFamily{"tiny grid", grid<1>, false},
    PatchFamily{"small grid", grid<3>, false},
    PatchFamily{"flat", flat, false},
    PatchFamily{"on a line", on_a_line, false},
    PatchFamily{"through zero", through_zero, false},
    PatchFamily{"beside zero", beside_zero, false},
    PatchFamily{"parallelograms", parallelogram, false},
    PatchFamily{"equal corners", equal_corners, false},
};

/// In a generic direction, towards a point of an edge, a diagonal or the middle, or along an axis.
Vector direction(Random& r, const Patch& x) {
  const int kind = r.integer(0, 5);
  Vector ray{};
  if (kind < 2) ray = integers(r, 1 << 20);
  if (kind == 2) ray = integers(r, 2);
  if (kind > 2) {
    const Vector &p = x[r.integer(0, 3)], &q = x[r.integer(0, 3)];
    ray = combination([&](std::size_t k) { return p[k] / 2 + q[k] / 2; });
  }
  if (ray == Vector{}) ray = {3, -1, 2};
  return ray;
}

collision::ExactVector<Z> exact(const Vector& v) { return {{Z(v[0]), Z(v[1]), Z(v[2])}}; }

collision::RayTargets<Z> target(const Patch& x, const std::array<std::size_t, 4>& order) {
  collision::RayTargets<Z> t;
  t.add_patch(exact(x[order[0]]), exact(x[order[1]]), exact(x[order[2]]), exact(x[order[3]]));
  return t;
}

/// The ways to number the corners of one patch. Every second one swaps the pair of faces that stands for the patch.
constexpr std::array<std::array<std::size_t, 4>, 4> orders{{{0, 1, 2, 3}, {1, 0, 3, 2}, {0, 2, 1, 3}, {3, 2, 1, 0}}};

std::string printed(const Patch& x, const Vector& ray) {
  std::string text = "patch";
  for (const Vector& v : x) text += " (" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
  return text + " ray (" + std::to_string(ray[0]) + ", " + std::to_string(ray[1]) + ", " + std::to_string(ray[2]) + ")";
}

struct Tally {
  std::atomic<int> asked = 0, decided = 0, odd = 0, zero = 0, rim = 0, wrong = 0;
};

void compare(const Patch& x, const Vector& ray, Tally& tally) {
  const std::optional<Crossing> expected = cross_by_quadratic(x, ray);
  ++tally.asked;
  if (!expected) return;
  tally.zero += expected->zero_on_patch;
  tally.rim += expected->on_rim;
  for (const auto& order : orders) {
    const collision::RayTargets<Z> found = target(x, order);
    bool good = found.contain_zero() == expected->zero_on_patch;
    if (good && !expected->zero_on_patch) {
      const std::optional<bool> odd = found.crossed_oddly(exact(ray));
      // A ray that meets the rim is always refused; one that meets an edge of the two faces within the patch may be.
      good = expected->on_rim ? !odd : !odd || *odd == expected->odd;
      if (&order == &orders[0] && odd) {
        ++tally.decided;
        tally.odd += *odd;
      }
    }
    if (!good && ++tally.wrong < 3) FAIL_CHECK(printed(x, ray));
  }
}

}  // namespace

TEST_CASE("crossings of a ray and a bilinear patch are those of the roots of their quadratic") {
  constexpr Index piece = 1000;
  for (const PatchFamily& family : patch_families) {
    const int n = family.generic ? choose(4000, 500'000) : choose(1000, 15'000);
    Tally tally;
    core::parallel_for(0, n, piece, [&](Index begin, Index end) {
      Random random(190 + static_cast<std::uint64_t>(begin));
      for (Index i = begin; i < end; ++i) {
        const Patch x = family.make(random);
        compare(x, family.generic ? integers(random, 1 << 20) : direction(random, x), tally);
      }
    });
    CAPTURE(family.name);
    CHECK(tally.wrong == 0);
    CHECK(tally.asked == n);
    if (family.generic) {
      CHECK(tally.decided > 0.999 * n);
      CHECK(tally.odd > n / 20);
      CHECK(tally.zero == 0);
    } else {
      CHECK(tally.decided + tally.zero + tally.rim > n / 10);
      const std::string name = family.name;
      if (name != "on a line" && name != "through zero") CHECK(tally.odd > n / 100);
      if (name == "through zero") CHECK(tally.zero > 0.9 * n);
      if (name == "beside zero") CHECK(tally.zero < 0.1 * n);
    }
  }
}

TEST_CASE("zero on a patch is found whatever the ray, also where all corners are on a line with it") {
  // Of corners on a line with zero, the patch is the interval between the outermost ones.
  Random random(77);
  int covered = 0;
  for (int i = 0; i < choose(2000, 20'000); ++i) {
    const Vector u = integers(random, 3);
    std::array<std::int64_t, 4> at;
    Patch x;
    for (std::size_t k = 0; k < 4; ++k) {
      at[k] = random.integer(-4, 4) + 3;
      x[k] = combination([&](std::size_t d) { return at[k] * u[d]; });
    }
    const auto [least, most] = std::minmax_element(at.begin(), at.end());
    const bool expected = u == Vector{} || (*least <= 0 && *most >= 0);
    covered += expected;
    for (const auto& order : orders) REQUIRE(target(x, order).contain_zero() == expected);
  }
  CHECK(covered > 100);
}
