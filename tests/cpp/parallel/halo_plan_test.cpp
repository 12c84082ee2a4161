// Tests of the halo exchange against wrapped indexing: one block of every small period, and random cuts into blocks.
#include "meniscus/parallel/halo_plan.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/parallel/thread_blocks.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"
#include "parallel/random_cuts.hpp"
#include "test_size.hpp"

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
      CHECK(wrong_samples<double, 2>({a, b}, 1) == 0);
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

/// An array of the samples of a random domain, exchanged between its blocks.
template <int D, class T>
struct LabelledArray {
  parallel::HaloPlan<D> plan;
  parallel::HaloLayout<D> layout;
  Coord<D> padded{};
  std::vector<T> labels;
  const tests::RandomDomain<D>& domain;

  LabelledArray(const tests::RandomDomain<D>& whole, const std::array<int, D>& on_side, int ghost, bool corners,
                const std::shared_ptr<parallel::Communicator>& communicator)
      : domain(whole) {
    layout.block = whole.blocks[communicator->rank()];
    layout.on_side = on_side;
    layout.ghost = ghost;
    layout.corners = corners;
    for (std::size_t d = 0; d < D; ++d) padded[d] = layout.block.shape[d] + on_side[d] + 2 * ghost;
    layout.strides = c_strides<D>(padded);
    for (const Index s : layout.strides) layout.origin += ghost * s;
    plan = parallel::HaloPlan<D>(layout, communicator);
    labels.assign(static_cast<std::size_t>(product<D>(padded)), T(-1));
    each([&](std::size_t i, Index label, bool owned, bool) { labels[i] = owned ? static_cast<T>(label) : T(-1); });
  }

  /// Visits all samples with the label that they should have, and whether they are owned or not filled by an exchange.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Index label = 0;
      int others = 0;  // axes along which another block owns the sample, or this one under another index
      bool beyond = false;
      for (int d = 0; d < D; ++d) {
        const auto a = static_cast<std::size_t>(d);
        const Index n = layout.block.shape[a] + layout.on_side[a];
        const Index c = static_cast<Index>(i) / layout.strides[a] % padded[a] - layout.ghost;
        others += c < plan.first_owned(d) || c >= n;
        beyond = beyond || (c < 0 && !plan.shared(d, 0)) || (c >= n && !plan.shared(d, 1));
        const Index global = c + layout.block.first[a];
        label = label * 100 + (domain.periodic[a] ? (global % domain.shape[a] + domain.shape[a]) % domain.shape[a] : global);
      }
      visit(i, label, others == 0, beyond || (!layout.corners && others > 1));
    }
  }

  int wrong() const {
    int count = 0;
    each([&](std::size_t i, Index label, bool, bool skipped) { count += !skipped && labels[i] != static_cast<T>(label); });
    return count;
  }
};

/// Exchanges arrays of two places and types, together or one after the other; the number of wrong samples.
template <int D>
int wrong_labels(const std::shared_ptr<parallel::Communicator>& communicator, std::uint64_t seed) {
  tests::Draw draw(seed);
  const int ghost = static_cast<int>(1 + draw(3));
  const bool corners = draw(4) != 0;
  const tests::RandomDomain<D> domain(draw, communicator->size(), ghost + 1);
  std::array<int, D> first = domain.on_side, other{};
  // Arrays in cells without corners pass all axes at once.
  if (draw(3) == 0)
    first = {};
  else
    for (int& s : other) s = static_cast<int>(draw(2));
  LabelledArray<D, std::int32_t> a(domain, first, ghost, corners, communicator);
  LabelledArray<D, double> b(domain, other, ghost, corners, communicator);
  if (draw(2)) {
    const std::array arrays{parallel::HaloArray<D>(a.plan, a.labels.data()), parallel::HaloArray<D>(b.plan, b.labels.data())};
    parallel::HaloPlan<D>::exchange_together(arrays);
  } else {
    a.plan.exchange(a.labels.data());
    b.plan.exchange(b.labels.data());
  }
  return a.wrong() + b.wrong();
}

}  // namespace

TEST_CASE("halo exchange between random blocks, of one array or two, is wrapped indexing") {
  const std::vector<int> counts{1, 2, 3, 4, 6, 8};
  const auto plans = static_cast<std::uint64_t>(tests::choose(3'000, 100'000)) / counts.size() + 1;
  for (const int count : counts) {
    std::atomic<int> wrong{0};
    parallel::run_thread_blocks(count, [&](const std::shared_ptr<parallel::Communicator>& communicator) {
      dynamic_cast<parallel::TransportCommunicator&>(*communicator).poison_ghosts(true);
      for (std::uint64_t seed = 0; seed < plans; ++seed)
        wrong += seed % 2 ? wrong_labels<2>(communicator, seed) : wrong_labels<3>(communicator, seed);
    });
    CAPTURE(count);
    CHECK(wrong == 0);
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
