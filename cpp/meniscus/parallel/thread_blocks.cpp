#include "meniscus/parallel/thread_blocks.hpp"

#include "meniscus/core/error.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace meniscus::parallel {
namespace {

/// Thrown where a block waits for another that has failed.
struct Stopped {};

/// The messages on their way, by sender, receiver and tag.
class Mailbox {
 public:
  explicit Mailbox(int blocks) : count(blocks) {}

  void send(int from, const Message& m) {
    const std::lock_guard lock(mutex_);
    letters_[{from, m.block, m.tag}].emplace_back(m.data, m.data + m.bytes);
    arrived_.notify_all();
  }

  void receive(int to, const Message& m) {
    std::unique_lock lock(mutex_);
    auto& letters = letters_[{m.block, to, m.tag}];
    arrived_.wait(lock, [&] { return !letters.empty() || failure_; });
    if (letters.empty()) throw Stopped();
    const std::vector<std::byte> letter = std::move(letters.front());
    letters.pop_front();
    require(letter.size() == m.bytes, "block ", to, " waits for ", m.bytes, " bytes from block ", m.block, ", which has sent ",
            letter.size());
    if (m.bytes > 0) std::memcpy(m.data, letter.data(), m.bytes);
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    arrived_.notify_all();
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  const int count;

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> letters_;
  std::exception_ptr failure_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Mailbox& mailbox, int rank) : mailbox_(mailbox), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return mailbox_.count; }

  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override {
    for (const Message& m : outgoing) mailbox_.send(rank_, m);
    for (const Message& m : incoming) mailbox_.receive(rank_, m);
  }

  void gather(const void* own, std::size_t bytes, void* all) override {
    constexpr int tag = -1;
    auto* to = static_cast<std::byte*>(all);
    std::memcpy(to + static_cast<std::size_t>(rank_) * bytes, own, bytes);
    std::byte* from = to + static_cast<std::size_t>(rank_) * bytes;
    for (int b = 0; b < size(); ++b)
      if (b != rank_) mailbox_.send(rank_, {b, tag, from, bytes});
    for (int b = 0; b < size(); ++b)
      if (b != rank_) mailbox_.receive(rank_, {b, tag, to + static_cast<std::size_t>(b) * bytes, bytes});
  }

 private:
  Mailbox& mailbox_;
  int rank_;
};

}  // namespace

void run_thread_blocks(int count, const std::function<void(const std::shared_ptr<Communicator>&)>& program) {
  require(count >= 1, "a domain has at least 1 block, got ", count);
  Mailbox mailbox(count);
  std::vector<std::thread> threads;
  for (int b = 0; b < count; ++b)
    threads.emplace_back([&, b] {
      try {
        program(std::make_shared<ThreadCommunicator>(mailbox, b));
      } catch (const Stopped&) {
        // The block that failed has left its exception.
      } catch (...) {
        mailbox.fail(std::current_exception());
      }
    });
  for (std::thread& t : threads) t.join();
  mailbox.rethrow();
}

}  // namespace meniscus::parallel
