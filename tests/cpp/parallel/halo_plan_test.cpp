// Tests of the halo exchange across periodic sides against wrapped indexing, for every small period and both kinds of samples.
#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace meniscus;

namespace {

/// One axis of a block: periodic with or without a shared face, or (period 0) not periodic with 3 samples.
struct Axis {
  Index period;
  bool shares_face;
  Index owned() const { return period == 0 ? 3 : period + (shares_face ? 1 : 0); }
  /// Of all samples that are the same unknown, the one whose value counts: the last owned one.
  Index owner(Index i) const {
    if (period == 0) return i;
    Index best = ((i % period) + period) % period;
    while (best + period < owned()) best += period;
    return best;
  }
};

std::vector<Axis> axes(Index most) {
  std::vector<Axis> all{{0, false}};
  for (Index p = 1; p <= most; ++p)
    for (const bool shared : {false, true}) all.push_back({p, shared});
  return all;
}

/// Fills a block with numbers that tell where they are, exchanges all periodic axes, and compares with wrapped indexing.
template <class T, int D>
int wrong_samples(const std::array<Axis, D>& axis, int ghost) {
  parallel::HaloLayout<D> layout;
  layout.ghost = ghost;
  Coord<D> padded;
  for (std::size_t d = 0; d < D; ++d) {
    layout.owned[d] = axis[d].owned();
    layout.period[d] = axis[d].period;
    padded[d] = layout.owned[d] + 2 * ghost;
  }
  const Coord<D> strides = c_strides<D>(padded);
  const auto coordinate = [&](Index i) {
    Coord<D> c;
    for (std::size_t d = 0; d < D; ++d) c[d] = i / strides[d] % padded[d] - ghost;
    return c;
  };
  const auto offset = [&](const Coord<D>& c) {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) i += (c[d] + ghost) * strides[d];
    return static_cast<std::size_t>(i);
  };
  const auto number = [](std::size_t i) { return static_cast<T>(i % 251); };
  std::vector<T> block(static_cast<std::size_t>(product<D>(padded)));
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = number(i);

  const parallel::HaloPlan<D> plan(layout);
  for (int d = 0; d < D; ++d)
    if (plan.shared(d)) plan.exchange(d, block.data());

  int wrong = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Coord<D> c = coordinate(static_cast<Index>(i));
    Coord<D> owner;
    bool beyond_domain = false;
    for (std::size_t d = 0; d < D; ++d) {
      beyond_domain |= axis[d].period == 0 && (c[d] < 0 || c[d] >= axis[d].owned());
      owner[d] = axis[d].owner(c[d]);
    }
    // What lies beyond a side of the domain is the boundary's business.
    if (!beyond_domain && block[i] != number(offset(owner))) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("halo exchange is wrapped indexing in two dimensions") {
  for (const Axis& a : axes(7))
    for (const Axis& b : axes(7)) {
      CAPTURE(a.period);
      CAPTURE(a.shares_face);
      CAPTURE(b.period);
      CAPTURE(b.shares_face);
      CHECK(wrong_samples<double, 2>({a, b}, 3) == 0);
      CHECK(wrong_samples<float, 2>({a, b}, 1) == 0);
      CHECK(wrong_samples<std::uint8_t, 2>({a, b}, parallel::HaloPlan<2>::max_ghost) == 0);
    }
}

TEST_CASE("halo exchange is wrapped indexing in three dimensions, on any number of threads") {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const Axis& a : axes(7))
      for (const Axis& b : axes(4))
        for (const Axis& c : {Axis{0, false}, Axis{1, true}, Axis{2, false}, Axis{5, true}, Axis{7, false}}) {
          CAPTURE(a.period);
          CAPTURE(b.period);
          CAPTURE(c.period);
          CHECK(wrong_samples<double, 3>({a, b, c}, 3) == 0);
        }
  }
  set_num_threads(before);
}

TEST_CASE("an axis is shared exactly when it is periodic, and a plan has room for so many ghosts only") {
  parallel::HaloLayout<2> layout;
  layout.owned = {4, 5};
  layout.period = {4, 0};
  layout.ghost = 3;
  const parallel::HaloPlan<2> plan(layout);
  CHECK(plan.shared(0));
  CHECK_FALSE(plan.shared(1));
  layout.ghost = parallel::HaloPlan<2>::max_ghost + 1;
  CHECK_THROWS_AS(parallel::HaloPlan<2>{layout}, InvalidArgument);
}
