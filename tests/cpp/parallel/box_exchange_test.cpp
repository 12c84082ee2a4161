// Box exchange: windows hold what wrapped indexing of the whole domain gives, and give it back.
#include "meniscus/parallel/box_exchange.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/parallel/domain_block.hpp"
#include "meniscus/parallel/field_exchange.hpp"
#include "meniscus/parallel/thread_blocks.hpp"
#include "parallel/random_cuts.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace meniscus;
using namespace meniscus::parallel;

TEST_CASE("windows of blocks hold the samples of the domain, around periodic axes too, and give them back once each") {
  const Coord<2> shape{7, 5};
  const auto blocks = cut_domain<2>(shape, {true, false}, {{{3, 1, 3}, {2, 3}}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> times(6 * 35), expected(6 * 35);
    std::vector<int> wrong(6);
    run_thread_blocks(6, [&](const std::shared_ptr<Communicator>& communicator) {
      const DomainBlock<2>& block = blocks[communicator->rank()];
      const auto random = [&](int k, Index n) {
        const double u =
            CounterRandom(seed, static_cast<std::uint64_t>(block.number), static_cast<std::uint64_t>(k)).uniform2(0)[0];
        return static_cast<Index>(u * static_cast<double>(n));
      };
      IndexBox<2> own, window;
      for (std::size_t d = 0; d < 2; ++d) {
        own.begin[d] = block.first[d];
        own.end[d] = block.first[d] + block.shape[d];
      }
      // Some windows are empty, some go more than once around the axis.
      window.begin = {random(0, 20) - 8, random(1, 5)};
      window.end = {window.begin[0] + random(2, 16), window.begin[1] + random(3, 6 - window.begin[1])};
      std::vector<int> values, copies(static_cast<std::size_t>(product<2>(window.extents())), -1);
      for (Index i = own.begin[0]; i < own.end[0]; ++i)
        for (Index j = own.begin[1]; j < own.end[1]; ++j) values.push_back(static_cast<int>(i * 5 + j));
      const Coord<2> strides = c_strides<2>(own.extents()), window_strides = c_strides<2>(window.extents());
      BoxExchange<2> exchange(*communicator, own, window, {7, 0});
      exchange.fetch(values.data(), strides, copies.data(), window_strides);
      std::size_t at = 0;
      for (Index i = window.begin[0]; i < window.end[0] && !window.empty(); ++i)
        for (Index j = window.begin[1]; j < window.end[1]; ++j) {
          const int image = static_cast<int>((i + 14) % 7 * 5 + j);
          wrong[block.number] += copies[at++] != image;
          ++expected[35 * block.number + image];
        }
      exchange.give_back(copies.data(), window_strides, strides, [&](Index offset, int value) {
        wrong[block.number] += value != values[offset];
        ++times[35 * block.number + value];
      });
    });
    CHECK(wrong == std::vector<int>(6));
    for (std::size_t i = 0; i < 35; ++i) {
      int given = 0, asked = 0;
      for (std::size_t b = 0; b < 6; ++b) {
        given += times[35 * b + i];
        asked += expected[35 * b + i];
      }
      CHECK(given == asked);
    }
  }
}

namespace {

/// Calls visit(coordinate) for all samples of a box.
template <int D, class Visit>
void each_sample(const IndexBox<D>& box, Visit&& visit) {
  const Coord<D> n = box.extents();
  for (Index i = 0; i < product<D>(n); ++i) {
    Coord<D> c;
    Index rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) c[d] = box.begin[d] + rest % n[d];
    visit(c);
  }
}

/// Strides of an array of the extents: in C order, or with the axes the other way round.
template <int D>
Coord<D> some_strides(const Coord<D>& extents, bool reversed) {
  if (!reversed) return c_strides<D>(extents);
  Coord<D> strides;
  Index step = 1;
  for (std::size_t d = 0; d < D; ++d) {
    strides[d] = step;
    step *= extents[d];
  }
  return strides;
}

template <int D>
Index offset_in(const IndexBox<D>& box, const Coord<D>& strides, const Coord<D>& c) {
  Index offset = 0;
  for (std::size_t d = 0; d < D; ++d) offset += (c[d] - box.begin[d]) * strides[d];
  return offset;
}

/// Fetches random windows of a random domain. Returns the number of wrong samples, and adds how often each was given back.
template <int D, class T>
int wrong_in_windows(Communicator& communicator, std::uint64_t seed, Index& given_back, Index& asked) {
  tests::Draw draw(seed);
  const tests::RandomDomain<D> domain(draw, communicator.size());
  const DomainBlock<D>& block = domain.blocks[communicator.rank()];
  const bool in_place = draw(2) == 1, reversed = draw(3) == 0;
  const IndexBox<D> own = owned_samples<D>(block, domain.on_side);
  Coord<D> period{};
  IndexBox<D> window;
  tests::Draw private_draw(1000003 * seed + static_cast<std::uint64_t>(communicator.rank()));
  for (std::size_t d = 0; d < D; ++d) {
    const Index samples = domain.shape[d] + domain.on_side[d];
    if (domain.periodic[d]) period[d] = domain.shape[d];
    if (in_place) {
      // Around the own box, and perhaps around a periodic axis to it again.
      const Index more = private_draw(6);
      window.begin[d] = own.begin[d] - (period[d] ? more : std::min(more, own.begin[d]));
      window.end[d] = own.end[d] + (period[d] ? private_draw(6) : std::min(private_draw(6), samples - own.end[d]));
    } else if (period[d]) {
      window.begin[d] = private_draw(3 * samples) - samples;
      window.end[d] = window.begin[d] + private_draw(2 * samples);
    } else {
      window.begin[d] = private_draw(samples);
      window.end[d] = window.begin[d] + private_draw(samples + 1 - window.begin[d]);
    }
  }
  const Coord<D> window_strides = some_strides<D>(window.extents(), reversed);
  std::vector<T> values(static_cast<std::size_t>(product<D>(window.extents())), T(-1));
  const auto place = [&](const Coord<D>& c) { return static_cast<std::size_t>(offset_in<D>(window, window_strides, c)); };
  BoxExchange<D> exchange(communicator, own, window, period, in_place);
  std::vector<T> source;
  Coord<D> own_strides = window_strides;
  if (in_place) {
    each_sample<D>(own, [&](const Coord<D>& c) { values[place(c)] = static_cast<T>(domain.number(c)); });
    if (!own.empty())
      exchange.fetch(&values[place(own.begin)], window_strides, values.data(), window_strides);
    else
      exchange.fetch(values.data(), window_strides, values.data(), window_strides);
  } else {
    own_strides = c_strides<D>(own.extents());
    each_sample<D>(own, [&](const Coord<D>& c) { source.push_back(static_cast<T>(domain.number(c))); });
    exchange.fetch(source.data(), own_strides, values.data(), window_strides);
  }
  int wrong = 0;
  each_sample<D>(window, [&](const Coord<D>& c) { wrong += values[place(c)] != static_cast<T>(domain.number(c)); });
  if (in_place) {
    // The same, another array and the way back in one round.
    std::vector<T> again(values.size(), T(-1));
    std::vector<std::int16_t> third(values.size(), -1);
    const auto third_of = [&](const Coord<D>& c) { return static_cast<std::int16_t>(domain.number(c) % 1009 + 1); };
    each_sample<D>(own, [&](const Coord<D>& c) {
      again[place(c)] = static_cast<T>(domain.number(c));
      third[place(c)] = third_of(c);
    });
    const auto take = [&](Index offset, T value) {
      ++given_back;
      wrong += value != values[static_cast<Index>(place(own.begin)) + offset];
    };
    const Index before = communicator.traffic().rounds;
    exchange.transfer(std::array{exchange.fetching(again.data(), window_strides),
                                 exchange.giving_back(values.data(), window_strides, window_strides, take),
                                 exchange.fetching(third.data(), window_strides)});
    wrong += communicator.traffic().rounds > before + 1;
    each_sample<D>(window,
                   [&](const Coord<D>& c) { wrong += again[place(c)] != values[place(c)] || third[place(c)] != third_of(c); });
    asked += product<D>(window.extents()) - product<D>(own.extents());
    return wrong;
  }
  exchange.give_back(values.data(), window_strides, own_strides, [&](Index offset, T value) {
    ++given_back;
    wrong += value != source[offset];
  });
  asked += window.empty() ? 0 : product<D>(window.extents());
  return wrong;
}

}  // namespace

TEST_CASE("windows of random domains, cuts, periods and places of samples are wrapped indexing, and all they hold goes back") {
  const std::vector<int> counts{1, 2, 3, 4, 6, 8};
  const auto plans = static_cast<std::uint64_t>(tests::choose(3'000, 100'000)) / counts.size() + 1;
  for (const int count : counts) {
    std::atomic<int> wrong = 0;
    std::atomic<Index> given_back = 0, asked = 0;
    run_thread_blocks(count, [&](const std::shared_ptr<Communicator>& communicator) {
      Index given = 0, wanted = 0;
      for (std::uint64_t seed = 0; seed < plans; ++seed)
        wrong += seed % 2 ? wrong_in_windows<2, double>(*communicator, seed, given, wanted)
                          : wrong_in_windows<3, std::int32_t>(*communicator, seed, given, wanted);
      given_back += given;
      asked += wanted;
    });
    CAPTURE(count);
    CHECK(wrong == 0);
    CHECK(given_back == asked);
  }
}
