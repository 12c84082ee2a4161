#include "meniscus/parallel/transport/thread_transport.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

namespace meniscus::parallel {
namespace {

struct Letter {
  int channel, from, tag;
  std::vector<std::byte> content;
};

/// Somebody waits for a message. Lives in the list of its rank until it is done.
struct Wish {
  int channel, from, tag;
  std::byte* data;
  std::size_t room;
  std::size_t bytes = 0;
  bool done = false;
};

bool fits(int wanted, int given) { return wanted == -1 || wanted == given; }

/// What has come for one rank, and what it waits for. Both lists are in the order of time.
class Inbox {
 public:
  void put(int channel, int from, int tag, const std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++arrivals_;
    const auto wish = std::find_if(wishes_.begin(), wishes_.end(), [&](const Wish& w) {
      return !w.done && w.channel == channel && w.from == from && w.tag == tag;
    });
    if (wish != wishes_.end())
      fulfil(*wish, data, bytes);
    else
      letters_.push_back({channel, from, tag, {data, data + bytes}});
    arrived_.notify_all();
  }

  std::intptr_t ask(const Wish& wish) {
    const std::lock_guard lock(mutex_);
    wishes_.push_back(wish);
    Wish& w = wishes_.back();
    const auto letter = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& l) {
      return l.channel == w.channel && l.from == w.from && l.tag == w.tag;
    });
    if (letter != letters_.end()) {
      fulfil(w, letter->content.data(), letter->content.size());
      letters_.erase(letter);
    }
    return reinterpret_cast<std::intptr_t>(&w);
  }

  /// Whether the wish is fulfilled; then, or with `forget`, it is gone.
  bool take(std::intptr_t handle, bool forget, std::size_t& bytes) {
    const std::lock_guard lock(mutex_);
    const auto wish = std::find_if(wishes_.begin(), wishes_.end(),
                                   [&](const Wish& w) { return reinterpret_cast<std::intptr_t>(&w) == handle; });
    const bool done = wish->done;
    bytes = wish->bytes;
    if (done || forget) wishes_.erase(wish);
    return done;
  }

  bool look(int channel, int& from, int& tag, std::size_t& bytes) {
    const std::lock_guard lock(mutex_);
    const auto letter = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& l) {
      return l.channel == channel && fits(from, l.from) && fits(tag, l.tag);
    });
    if (letter == letters_.end()) return false;
    from = letter->from;
    tag = letter->tag;
    bytes = letter->content.size();
    return true;
  }

  /// Waits for something that has come since the last call, but not for long.
  void rest() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::milliseconds(1), [&] { return arrivals_ != seen_; });
    seen_ = arrivals_;
  }

 private:
  static void fulfil(Wish& wish, const std::byte* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(wish.data, data, std::min(bytes, wish.room));
    wish.bytes = bytes;
    wish.done = true;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<Letter> letters_;
  std::list<Wish> wishes_;
  std::int64_t arrivals_ = 0, seen_ = 0;
};

using Inboxes = std::shared_ptr<std::vector<Inbox>>;

struct Seat {
  Inboxes inboxes;
  int rank;
  int channels = 0;
};

struct ThreadChannel {
  Inboxes inboxes;
  int rank, channel;
  Inbox& own() const { return (*inboxes)[rank]; }
};

ThreadChannel& channel_of(void* communicator) { return *static_cast<ThreadChannel*>(communicator); }

constexpr std::intptr_t sent_already = 0;

int always() { return 1; }

int duplicate(std::intptr_t handle, void** communicator) {
  Seat& seat = *reinterpret_cast<Seat*>(handle);
  *communicator = new ThreadChannel{seat.inboxes, seat.rank, seat.channels++};
  return 0;
}
void release(void* communicator) { delete &channel_of(communicator); }
int rank(void* communicator) { return channel_of(communicator).rank; }
int size(void* communicator) { return static_cast<int>(channel_of(communicator).inboxes->size()); }

int send(void* communicator, const void* data, std::size_t bytes, int to, int tag, std::intptr_t* request) {
  ThreadChannel& c = channel_of(communicator);
  if (to < 0 || to >= size(communicator)) return 1;
  (*c.inboxes)[to].put(c.channel, c.rank, tag, static_cast<const std::byte*>(data), bytes);
  *request = sent_already;
  return 0;
}

int receive(void* communicator, void* data, std::size_t bytes, int from, int tag, std::intptr_t* request) {
  ThreadChannel& c = channel_of(communicator);
  *request = c.own().ask({c.channel, from, tag, static_cast<std::byte*>(data), bytes});
  return 0;
}

int test(void* communicator, std::intptr_t* request, int* done, std::size_t* bytes) {
  *done = *request == sent_already || channel_of(communicator).own().take(*request, false, *bytes);
  return 0;
}

int cancel(void* communicator, std::intptr_t* request, int* done) {
  std::size_t bytes = 0;
  *done = channel_of(communicator).own().take(*request, true, bytes);
  return 0;
}

int probe(void* communicator, int* found, int* from, int* tag, std::size_t* bytes) {
  ThreadChannel& c = channel_of(communicator);
  *found = c.own().look(c.channel, *from, *tag, *bytes);
  return 0;
}

void rest(void* communicator) { channel_of(communicator).own().rest(); }
void abort_all(void*, int) { std::abort(); }
void error_text(int, char* text, std::size_t size) { std::snprintf(text, size, "there is no such rank"); }

}  // namespace

struct ThreadRoom::Parts {
  std::vector<Seat> seats;
};

ThreadRoom::ThreadRoom(int ranks) : parts_(std::make_unique<Parts>()) {
  require(ranks >= 1, "a domain has at least 1 block, got ", ranks);
  const auto inboxes = std::make_shared<std::vector<Inbox>>(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) parts_->seats.push_back({inboxes, r});
}

ThreadRoom::~ThreadRoom() = default;

int ThreadRoom::size() const { return static_cast<int>(parts_->seats.size()); }

std::intptr_t ThreadRoom::seat(int rank) const { return reinterpret_cast<std::intptr_t>(&parts_->seats[rank]); }

const meniscus_transport& thread_transport() {
  static const meniscus_transport table{meniscus_transport_version,
                                        "threads",
                                        always,
                                        always,
                                        duplicate,
                                        release,
                                        rank,
                                        size,
                                        send,
                                        receive,
                                        test,
                                        cancel,
                                        probe,
                                        rest,
                                        nullptr,
                                        abort_all,
                                        error_text};
  return table;
}

}  // namespace meniscus::parallel
