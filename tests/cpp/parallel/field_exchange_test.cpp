// Exchange of several arrays at once: random sizes, cuts, periods, widths and places of the samples.
#include "meniscus/parallel/field_exchange.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/parallel/thread_blocks.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"
#include "parallel/random_cuts.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <string>

using namespace meniscus;
using namespace meniscus::parallel;
using tests::Draw;
using tests::random_cut;

namespace {

Index wrapped(Index i, Index n) { return ((i % n) + n) % n; }

/// The number of an owned sample. Around a periodic axis the last sample owns the place of the first one.
template <int D>
double number_of(const DomainBlock<D>& b, const std::array<int, D>& on_side, const Coord<D>& global, std::size_t array) {
  Index id = static_cast<Index>(array);
  for (std::size_t d = 0; d < D; ++d) {
    Index i = global[d];
    if (b.periodic[d]) i = on_side[d] ? wrapped(i - 1, b.domain[d]) : wrapped(i, b.domain[d]);
    id = id * 101 + i + 7;
  }
  return static_cast<double>(id);
}

template <int D>
int wrong_samples(const std::shared_ptr<Communicator>& communicator, std::uint64_t seed, bool& counted) {
  Draw draw(seed);
  const auto cells = random_cut<D>(draw, communicator->size());
  Coord<D> shape;
  std::array<bool, D> periodic;
  for (std::size_t d = 0; d < D; ++d) {
    shape[d] = std::accumulate(cells[d].begin(), cells[d].end(), Index{0});
    periodic[d] = draw(2) == 1;
  }
  const DomainBlock<D> block = cut_domain<D>(shape, periodic, cells)[communicator->rank()];
  const int width = static_cast<int>(1 + draw(3));
  std::vector<ArrayPlace<D>> places(static_cast<std::size_t>(1 + draw(3)));
  for (auto& p : places)
    for (int& s : p.on_side) s = static_cast<int>(draw(2));
  FieldExchange<D> exchange(communicator, block, places, width);

  std::vector<std::vector<double>> values(places.size());
  std::vector<ArrayMemory<D>> arrays;
  const auto each = [&](std::size_t a, auto&& visit) {
    Coord<D> n;
    for (std::size_t d = 0; d < D; ++d) n[d] = block.shape[d] + places[a].on_side[d] + 2 * width;
    for (Index i = 0; i < product<D>(n); ++i) {
      Coord<D> c;
      Index rest = i;
      bool own = true, exists = true;
      for (std::size_t d = D; d-- > 0; rest /= n[d]) {
        c[d] = rest % n[d] - width;
        const int axis = static_cast<int>(d);
        const Index global = c[d] + block.first[d];
        own = own && c[d] >= (places[a].on_side[d] && block.shared(axis, 0) ? 1 : 0) && c[d] < n[d] - 2 * width;
        exists = exists && (periodic[d] || (global >= 0 && global < shape[d] + places[a].on_side[d]));
      }
      Coord<D> global = c;
      for (std::size_t d = 0; d < D; ++d) global[d] += block.first[d];
      visit(static_cast<std::size_t>(i), own, exists, number_of<D>(block, places[a].on_side, global, a));
    }
    return n;
  };
  constexpr double untouched = -1.0;
  for (std::size_t a = 0; a < places.size(); ++a) {
    Coord<D> n;
    for (std::size_t d = 0; d < D; ++d) n[d] = block.shape[d] + places[a].on_side[d] + 2 * width;
    values[a].assign(static_cast<std::size_t>(product<D>(n)), untouched);
    each(a, [&](std::size_t i, bool own, bool, double number) {
      if (own) values[a][i] = number;
    });
    ArrayMemory<D> m;
    Index origin = 0;
    const Coord<D> strides = c_strides<D>(n);
    for (std::size_t d = 0; d < D; ++d) {
      m.strides[d] = strides[d] * static_cast<Index>(sizeof(double));
      origin += width * m.strides[d];
    }
    m.origin = reinterpret_cast<std::byte*>(values[a].data()) + origin;
    arrays.push_back(m);
  }
  const Traffic before = communicator->traffic();
  exchange.start(arrays);
  exchange.wait();
  const auto tag = static_cast<std::size_t>(tags::fields);
  counted = communicator->traffic().messages[tag] - before.messages[tag] == exchange.messages() &&
            communicator->traffic().bytes[tag] - before.bytes[tag] == exchange.bytes();
  int wrong = 0;
  for (std::size_t a = 0; a < places.size(); ++a)
    each(a, [&](std::size_t i, bool, bool exists, double number) { wrong += !(values[a][i] == (exists ? number : untouched)); });
  return wrong;
}

}  // namespace

TEST_CASE(
    "one message to each neighbour fills the ghosts of all arrays, whatever the domain, its cuts and the places of samples") {
  const std::vector<int> counts{1, 2, 3, 4, 6, 8};
  const auto plans = static_cast<std::uint64_t>(tests::choose(3'000, 100'000)) / counts.size() + 1;
  for (const int count : counts) {
    std::atomic<int> wrong = 0, miscounted = 0;
    run_thread_blocks(count, [&](const std::shared_ptr<Communicator>& communicator) {
      std::dynamic_pointer_cast<TransportCommunicator>(communicator)->poison_ghosts(true);
      for (std::uint64_t seed = 0; seed < plans; ++seed) {
        bool counted = false;
        wrong += seed % 2 ? wrong_samples<2>(communicator, seed, counted) : wrong_samples<3>(communicator, seed, counted);
        miscounted += !counted;
      }
    });
    CAPTURE(count);
    CHECK(wrong == 0);
    CHECK(miscounted == 0);
  }
}

TEST_CASE("blocks that exchange different arrays are told so, all of them") {
  CHECK_THROWS_WITH_AS(run_thread_blocks(2,
                                         [](const std::shared_ptr<Communicator>& communicator) {
                                           const auto blocks = cut_domain<2>({8, 8}, {}, {{{4, 4}, {8}}});
                                           const auto rank = static_cast<std::size_t>(communicator->rank());
                                           FieldExchange<2>(communicator, blocks[rank], std::vector<ArrayPlace<2>>(1 + rank), 3);
                                         }),
                       "all ranks must exchange the same fields, but those of rank 1 are not of the kinds of rank 0",
                       InvalidArgument);
}

TEST_CASE("after one block has failed all others stop waiting, and can exchange messages again") {
  std::atomic<int> failures = 0, right = 0;
  run_thread_blocks(4, [&](const std::shared_ptr<Communicator>& communicator) {
    for (int round = 0; round < 50; ++round) {
      const int bad = round % 4;
      std::string text;
      try {
        std::vector<int> all(4);
        for (int k = 0; k < 10; ++k) {
          if (communicator->rank() == bad && k == round % 10) throw std::runtime_error("bad luck");
          int own = round + communicator->rank();
          communicator->gather(&own, sizeof own, all.data());
          // Something is on its way when the others are told.
          std::vector<int> ring(1000, own), came(1000);
          const int right_one = (communicator->rank() + 1) % 4, left_one = (communicator->rank() + 3) % 4;
          const Message out{right_one, tags::boxes, reinterpret_cast<std::byte*>(ring.data()), 4000};
          const Message in{left_one, tags::boxes, reinterpret_cast<std::byte*>(came.data()), 4000};
          communicator->exchange({&out, 1}, {&in, 1});
        }
      } catch (const RankFailure&) {
      } catch (const std::runtime_error& e) {
        text = e.what();
      }
      const auto failure = communicator->agree(text.empty() ? nullptr : text.c_str());
      failures += failure && failure->rank == bad && failure->text == "bad luck";
      std::vector<int> all(4);
      const int own = 10 * round + communicator->rank();
      communicator->gather(&own, sizeof own, all.data());
      right += all == std::vector<int>{10 * round, 10 * round + 1, 10 * round + 2, 10 * round + 3};
      if (communicator->agree(nullptr)) right -= 1000;
    }
  });
  CHECK(failures == 200);
  CHECK(right == 200);
}
