// Delayed messages, with a clock that goes on only where a rank computes or rests.
#include "meniscus/parallel/transport/delayed_transport.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/parallel/thread_blocks.hpp"
#include "meniscus/parallel/transport/thread_transport.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace meniscus;
using namespace meniscus::parallel;

namespace {

class GivenClock final : public LinkClock {
 public:
  double now() override { return time; }
  void rest(double seconds) override {
    time += seconds;
    ++rests;
  }
  double time = 100.0;
  int rests = 0;
};

/// Two ranks of one thread, which lends them its life in turn.
struct Pair {
  explicit Pair(const LinkDelay& delay) : room(2) {
    for (int r = 0; r < 2; ++r) ranks.push_back(make_delayed_communicator(thread_transport(), room.seat(r), delay, clock));
  }
  GivenClock clock;
  ThreadRoom room;
  std::vector<std::shared_ptr<Communicator>> ranks;
};

Message message(int block, std::vector<std::byte>& content) { return {block, tags::boxes, content.data(), content.size()}; }

}  // namespace

TEST_CASE("a message arrives after its bytes have left and the latency is over") {
  Pair pair({0.25, 1000.0});
  std::vector<std::byte> sent(500, std::byte{7}), received(500);
  PendingExchange sending, receiving;
  const Message out = message(1, sent), in = message(0, received);
  pair.ranks[1]->start(receiving, {}, {&in, 1});
  pair.ranks[0]->start(sending, {&out, 1}, {});
  pair.ranks[0]->wait(sending);
  CHECK(pair.clock.time == 100.0);
  pair.ranks[1]->wait(receiving);
  CHECK(pair.clock.time == doctest::Approx(100.75).epsilon(1e-12));
  CHECK(received == sent);
}

TEST_CASE("what a rank computes while a message is under way hides the delay") {
  for (const double computed : {0.1, 0.75, 3.0}) {
    Pair pair({0.5, 2000.0});
    std::vector<std::byte> sent(500, std::byte{3}), received(500);
    PendingExchange sending, receiving;
    const Message out = message(1, sent), in = message(0, received);
    pair.ranks[0]->start(sending, {&out, 1}, {});
    pair.ranks[1]->start(receiving, {}, {&in, 1});
    pair.clock.time += computed;
    const int rests = pair.clock.rests;
    pair.ranks[1]->wait(receiving);
    pair.ranks[0]->wait(sending);
    CHECK(pair.clock.time == doctest::Approx(100.0 + std::max(0.75, computed)).epsilon(1e-12));
    // A rank rests instead of asking all the time.
    CHECK((pair.clock.rests - rests > 0) == (computed < 0.75));
    CHECK(pair.clock.rests - rests <= 751);
    CHECK(received == sent);
  }
}

TEST_CASE("messages of a rank leave one after the other and keep their order") {
  Pair pair({0.01, 1000.0});
  // A short one after a long one does not overtake it.
  std::vector<std::vector<std::byte>> sent{
      std::vector<std::byte>(1000, std::byte{1}), std::vector<std::byte>(10, std::byte{2}), {}};
  std::vector<std::vector<std::byte>> received{std::vector<std::byte>(1000), std::vector<std::byte>(10), {}};
  std::vector<Message> out, in;
  for (std::size_t k = 0; k < 3; ++k) {
    out.push_back(message(1, sent[k]));
    in.push_back(message(0, received[k]));
  }
  std::vector<PendingExchange> receiving(3);
  PendingExchange sending;
  pair.ranks[0]->start(sending, out, {});
  for (std::size_t k = 0; k < 3; ++k) pair.ranks[1]->start(receiving[k], {}, {&in[k], 1});
  std::vector<double> arrivals;
  for (std::size_t k = 0; k < 3; ++k) {
    pair.ranks[1]->wait(receiving[k]);
    arrivals.push_back(pair.clock.time - 100.0);
  }
  pair.ranks[0]->wait(sending);
  CHECK(received == sent);
  CHECK(arrivals[0] == doctest::Approx(1.01).epsilon(1e-12));
  CHECK(arrivals[1] == doctest::Approx(1.02).epsilon(1e-12));
  CHECK(arrivals[2] == doctest::Approx(1.02).epsilon(1e-12));
}

TEST_CASE("blocks over delayed messages compute, fail and go on as others do") {
  std::atomic<int> right = 0, failures = 0;
  const ThreadRoom room(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      const auto c = make_delayed_communicator(thread_transport(), room.seat(r), {2e-4, 1e8});
      std::vector<int> all(3);
      for (int round = 0; round < 10; ++round) {
        std::string text;
        try {
          for (int k = 0; k < 5; ++k) {
            if (r == round % 3 && k == round % 5) throw std::runtime_error("bad luck");
            const int own = 10 * round + r;
            c->gather(&own, sizeof own, all.data());
            // Something is on its way when the others are told.
            std::vector<int> ring(500, own), came(500);
            const Message out{(r + 1) % 3, tags::boxes, reinterpret_cast<std::byte*>(ring.data()), 2000};
            const Message in{(r + 2) % 3, tags::boxes, reinterpret_cast<std::byte*>(came.data()), 2000};
            c->exchange({&out, 1}, {&in, 1});
          }
        } catch (const RankFailure&) {
        } catch (const std::runtime_error& e) {
          text = e.what();
        }
        const auto failure = c->agree(text.empty() ? nullptr : text.c_str());
        failures += failure && failure->rank == round % 3 && failure->text == "bad luck";
        const int own = 100 * round + r;
        c->gather(&own, sizeof own, all.data());
        right += all == std::vector<int>{100 * round, 100 * round + 1, 100 * round + 2};
        if (c->agree(nullptr)) right -= 1000;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(failures == 30);
  CHECK(right == 30);
}

TEST_CASE("delays that cannot be are refused") {
  const ThreadRoom room(1);
  CHECK_THROWS_AS(DelayedTransport(thread_transport(), room.seat(0), {-1.0, 1.0}), InvalidArgument);
  CHECK_THROWS_AS(DelayedTransport(thread_transport(), room.seat(0), {0.0, 0.0}), InvalidArgument);
  CHECK_THROWS_AS(DelayedTransport(thread_transport(), room.seat(0), {std::nan(""), 1.0}), InvalidArgument);
}

TEST_CASE("seconds on messages are counted, and none for a domain of one block") {
  run_thread_blocks(2, [](const std::shared_ptr<Communicator>& communicator) {
    if (communicator->rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    int own = communicator->rank(), all[2];
    communicator->gather(&own, sizeof own, all);
    const MessageSeconds seconds = communicator->seconds();
    if (seconds.pack != 0.0) throw std::runtime_error("nothing was packed");
    if (communicator->rank() == 1 && seconds.wait <= 0.0) throw std::runtime_error("this rank has waited");
    {
      const auto packing = communicator->packing();
    }
    if (communicator->seconds().pack < 0.0 || communicator->seconds().wait != seconds.wait)
      throw std::runtime_error("packing is counted by itself");
  });
  CHECK_FALSE(single_block_communicator()->packing().has_value());
}
