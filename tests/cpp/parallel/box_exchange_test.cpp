// Box exchange: windows hold what wrapped indexing of the whole domain gives, and give it back.
#include "meniscus/parallel/box_exchange.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/parallel/domain_block.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

using namespace meniscus;
using namespace meniscus::parallel;

TEST_CASE("windows of blocks hold the samples of the domain, around periodic axes too, and give them back once each") {
  const Coord<2> shape{7, 5};
  const auto blocks = cut_domain<2>(shape, {true, false}, {{{3, 1, 3}, {2, 3}}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> times(6 * 35), expected(6 * 35);
    std::vector<int> wrong(6);
    run_thread_blocks(6, [&](const std::shared_ptr<Communicator>& communicator) {
      const DomainBlock<2>& block = blocks[static_cast<std::size_t>(communicator->rank())];
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
          wrong[static_cast<std::size_t>(block.number)] += copies[at++] != image;
          ++expected[static_cast<std::size_t>(35 * block.number + image)];
        }
      exchange.give_back(copies.data(), window_strides, strides, [&](Index offset, int value) {
        wrong[static_cast<std::size_t>(block.number)] += value != values[static_cast<std::size_t>(offset)];
        ++times[static_cast<std::size_t>(35 * block.number + value)];
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
