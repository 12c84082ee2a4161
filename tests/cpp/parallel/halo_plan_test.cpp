// Tests of the halo exchange against wrapped indexing: one block of every small period, and random cuts into blocks.
#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

#include <atomic>
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
  Coord<D> cells;
  std::array<bool, D> periodic;
  for (std::size_t d = 0; d < D; ++d) {
    periodic[d] = axis[d].period > 0;
    layout.on_side[d] = axis[d].shares_face ? 1 : 0;
    cells[d] = axis[d].owned() - layout.on_side[d];
    padded[d] = axis[d].owned() + 2 * ghost;
  }
  layout.block = parallel::whole_domain<D>(cells, periodic);
  const Coord<D> strides = layout.strides = c_strides<D>(padded);
  for (const Index s : strides) layout.origin += ghost * s;
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
  plan.exchange(block.data());

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

namespace {

/// Labels of the samples of a random domain, exchanged between random blocks; the number of wrong ones.
int wrong_labels(std::uint64_t trial) {
  const auto draw = [&](std::uint32_t what, std::uint32_t below) {
    return static_cast<Index>(CounterRandom(77, trial, 0).words(what)[0] % below);
  };
  constexpr int ghost = 3;
  std::array<std::vector<Index>, 3> cells;
  std::array<bool, 3> periodic;
  parallel::HaloLayout<3> layout;
  layout.ghost = ghost;
  Coord<3> shape{};
  for (std::uint32_t d = 0; d < 3; ++d) {
    periodic[d] = draw(d, 2) == 0;
    layout.on_side[d] = static_cast<int>(draw(3 + d, 2));
    const auto count = static_cast<std::uint32_t>(draw(6 + d, 3) + 1);
    for (std::uint32_t b = 0; b < count; ++b)
      cells[d].push_back((count > 1 ? ghost + layout.on_side[d] : 1) + draw(9 + 3 * d + b, 4));
    for (const Index n : cells[d]) shape[d] += n;
  }
  const auto blocks = parallel::cut_domain<3>(shape, periodic, cells);
  std::atomic<int> wrong{0};
  parallel::run_thread_blocks(static_cast<int>(blocks.size()), [&](const std::shared_ptr<parallel::Communicator>& communicator) {
    parallel::HaloLayout<3> own = layout;
    own.block = blocks[static_cast<std::size_t>(communicator->rank())];
    Coord<3> padded;
    for (std::size_t d = 0; d < 3; ++d) padded[d] = own.block.shape[d] + own.on_side[d] + 2 * ghost;
    own.strides = c_strides<3>(padded);
    for (const Index s : own.strides) own.origin += ghost * s;
    const parallel::HaloPlan<3> plan(own, communicator);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(product<3>(padded)), -1);
    // Visits all samples with the label that they should have, and whether they are owned or beyond the domain.
    const auto each = [&](auto&& visit) {
      for (std::size_t i = 0; i < labels.size(); ++i) {
        Index label = 0;
        bool owned = true, beyond = false;
        for (int d = 0; d < 3; ++d) {
          const auto a = static_cast<std::size_t>(d);
          const Index c = static_cast<Index>(i) / own.strides[a] % padded[a] - ghost;
          owned = owned && c >= plan.first_owned(d) && c < own.block.shape[a] + own.on_side[a];
          beyond = beyond || (c < 0 && !plan.shared(d, 0)) || (c >= own.block.shape[a] + own.on_side[a] && !plan.shared(d, 1));
          const Index global = c + own.block.first[a];
          label = label * 100 + (periodic[a] ? (global % shape[a] + shape[a]) % shape[a] : global);
        }
        visit(i, static_cast<std::int32_t>(label), owned, beyond);
      }
    };
    each([&](std::size_t i, std::int32_t label, bool owned, bool) { labels[i] = owned ? label : -1; });
    plan.exchange(labels.data());
    each([&](std::size_t i, std::int32_t label, bool, bool beyond) { wrong += !beyond && labels[i] != label; });
  });
  return wrong;
}

}  // namespace

TEST_CASE("halo exchange between random blocks is wrapped indexing") {
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    CHECK(wrong_labels(trial) == 0);
  }
}

TEST_CASE("a side is shared where the domain closes or is cut, and a plan has room for so many ghosts only") {
  parallel::HaloLayout<2> layout;
  layout.block = parallel::cut_domain<2>({9, 5}, {false, true}, {{{4, 5}, {5}}})[0];
  layout.ghost = 3;
  const parallel::HaloPlan<2> plan(layout);
  CHECK_FALSE(plan.shared(0, 0));
  CHECK(plan.shared(0, 1));
  CHECK(plan.shared(1, 0));
  CHECK(layout.block.own_neighbour(1));
  layout.ghost = parallel::HaloPlan<2>::max_ghost + 1;
  CHECK_THROWS_AS(parallel::HaloPlan<2>{layout}, InvalidArgument);
  layout.ghost = 5;
  CHECK_THROWS_AS(parallel::HaloPlan<2>{layout}, InvalidArgument);
  CHECK_THROWS_AS((parallel::cut_domain<2>({9, 5}, {false, true}, {{{4, 4}, {5}}})), InvalidArgument);
}
