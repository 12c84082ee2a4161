// Sums in bins: the same bits in any order and any division, and the sum of the terms rounded to a unit.
#include "meniscus/numerics/summation/binned_sum.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/numerics/exact_sum.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace meniscus;
using numerics::BinnedLanes;
using numerics::BinnedSum;

namespace {

double uniform(std::uint64_t seed, std::uint64_t id) { return 2.0 * CounterRandom(seed, id, 0).uniform2(0)[0] - 1.0; }

/// Terms between 2^-range and 2^range, in rows that begin with small ones or with large ones.
std::vector<double> terms(std::size_t n, int range, std::uint64_t seed) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = std::ldexp(uniform(seed, i), static_cast<int>(range * uniform(seed + 1, i)));
  return v;
}

/// The sum in rows of `width`, which take the terms from `first` on in steps of `stride`, around the end.
template <int lanes>
BinnedSum in_rows(const std::vector<double>& v, std::size_t first, std::size_t stride, int width) {
  BinnedLanes<lanes> sum;
  double row[lanes];
  int n = 0;
  for (std::size_t k = 0; k < v.size(); ++k) {
    row[n++] = v[(first + k * stride) % v.size()];
    if (n == width || k + 1 == v.size()) {
      sum.add(row, n);
      n = 0;
    }
  }
  return sum.total();
}

}  // namespace

TEST_CASE("sums in bins are the exact sums of the terms rounded to a unit, in any order") {
  for (const int range : {0, 3, 20, 45, 70, 200, 450}) {
    const std::vector<double> v = terms(10007, range, 17);
    double most = 0;
    for (const double x : v) most = std::max(most, std::abs(x));
    // Written independently: the unit from the largest term, the rounding by integer division.
    const double unit = BinnedSum::unit(BinnedSum::top_for(most) - BinnedSum::bins + 1);
    numerics::ExactSum exact, all;
    for (const double x : v) {
      const double rest = std::remainder(x, unit);
      exact.add(x - rest);
      all.add(x);
    }
    CAPTURE(range);
    const double value = in_rows<256>(v, 0, 1, 256).value();
    CHECK(value == exact.value());
    CHECK(std::abs(value - all.value()) <= 10007 * std::ldexp(most, -63) + std::ldexp(std::abs(value), -53));
    CHECK(in_rows<256>(v, 11, 5, 16).value() == value);
    CHECK(in_rows<64>(v, 500, 10006, 7).value() == value);
    BinnedSum one_by_one, from_end;
    for (std::size_t i = 0; i < v.size(); ++i) {
      one_by_one.add(v[i]);
      from_end.add(v[v.size() - 1 - i]);
    }
    CHECK(one_by_one.value() == value);
    CHECK(from_end.value() == value);
    // Divided between blocks.
    for (const std::size_t blocks : {2u, 3u, 8u}) {
      std::vector<double> found(blocks);
      parallel::run_thread_blocks(static_cast<int>(blocks), [&](const std::shared_ptr<parallel::Communicator>& communicator) {
        const auto b = static_cast<std::size_t>(communicator->rank());
        BinnedSum part;
        for (std::size_t i = b * b; i < v.size(); ++i)
          if (i % blocks == b) part.add(v[i]);
        for (std::size_t i = 0; i < b * b; ++i)
          if (i % blocks == b) part.add(v[i]);
        found[b] = parallel::global_sum(*communicator, part);
      });
      for (const double f : found) CHECK(f == value);
    }
  }
}

TEST_CASE("sums in bins take ties, signs, subnormal numbers and what is not finite") {
  // Half a unit below a bin of another parity: ties go to the even multiple of the lowest unit on every way.
  const double big = std::ldexp(1.0, 40), unit = BinnedSum::unit(-1);
  for (const double odd : {0.5, 1.5, 2.5, -0.5, -3.5}) {
    BinnedSum before, after;
    before.add(big);
    before.add(odd * unit);
    after.add(odd * unit);
    after.add(big);
    CHECK(before.value() == after.value());
  }
  BinnedSum cancels;
  for (const double x : {1e290, 1.0, -1e290}) cancels.add(x);
  CHECK(cancels.value() == 0.0);
  BinnedSum small;
  for (int i = 0; i < 1000; ++i) small.add(1e-300);
  CHECK(small.value() == doctest::Approx(1e-297).epsilon(1e-14));
  CHECK(BinnedSum().value() == 0.0);

  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, 1e305}) {
    double row[4] = {1.0, bad, 3.0, 4.0};
    BinnedLanes<4> lanes;
    lanes.add(row, 4);
    BinnedSum single;
    single.add(bad);
    CHECK(lanes.total().value() == (bad > 0 ? infinity : -infinity));
    CHECK(single.value() == (bad > 0 ? infinity : -infinity));
  }
  double row[2] = {1.0, std::numeric_limits<double>::quiet_NaN()};
  BinnedLanes<2> lanes;
  lanes.add(row, 2);
  CHECK(std::isnan(lanes.total().value()));
}

TEST_CASE("sums in bins stay exact after many rows") {
  BinnedLanes<256> lanes;
  std::vector<double> row(256);
  constexpr int rows = 20000;
  for (int r = 0; r < rows; ++r) {
    for (double& x : row) x = 0.999999999;
    lanes.add(row.data(), 256);
  }
  numerics::ExactSum exact;
  for (int i = 0; i < rows * 256; ++i) exact.add(0.999999999);
  CHECK(lanes.total().value() == exact.value());
}
