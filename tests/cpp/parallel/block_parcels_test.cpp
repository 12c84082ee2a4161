// Parcels between any blocks arrive once, whole, and at the right place.
#include "meniscus/core/random.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

using namespace meniscus;

namespace {

/// Number of bytes that one block sends to another in a round, often none.
std::size_t length_of(int round, int from, int to) {
  const auto id = static_cast<std::uint64_t>((round * 100 + from) * 100 + to);
  const auto u = CounterRandom(17, id, 0).uniform2(0);
  return u[0] < (round % 3) * 0.45 ? static_cast<std::size_t>(1 + 300.0 * u[1]) : 0;
}

std::byte content(int from, int to, std::size_t i) { return static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(i)); }

}  // namespace

TEST_CASE("parcels arrive once and whole, few or one for each other block") {
  for (const int blocks : {1, 2, 5, 31}) {
    CAPTURE(blocks);
    parallel::run_thread_blocks(blocks, [&](const std::shared_ptr<parallel::Communicator>& c) {
      for (int round = 0; round < 6; ++round) {
        parallel::Parcels sent;
        for (int to = 0; to < blocks; ++to) {
          if (to == c->rank()) continue;
          std::vector<std::byte>& bytes = sent[to];
          bytes.resize(length_of(round, c->rank(), to));
          for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(c->rank(), to, i);
        }
        const parallel::Parcels received = parallel::exchange_parcels(*c, parallel::tags::particles, sent);
        int wrong = 0;
        for (int from = 0; from < blocks; ++from) {
          const std::size_t n = from == c->rank() ? 0 : length_of(round, from, c->rank());
          const auto at = received.find(from);
          wrong += (at == received.end()) != (n == 0);
          if (at == received.end()) continue;
          wrong += at->second.size() != n;
          for (std::size_t i = 0; i < at->second.size(); ++i) wrong += at->second[i] != content(from, c->rank(), i);
        }
        if (wrong > 0) throw std::runtime_error("wrong parcels");
      }
    });
  }
}
