#include "meniscus/parallel/transport/delayed_transport.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

namespace meniscus::parallel {
namespace {

constexpr double no_time = std::numeric_limits<double>::infinity();
/// Longest rest, after which a rank looks for news of failures again.
constexpr double longest_rest = 1e-3;

class MachineClock final : public LinkClock {
 public:
  double now() override { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  void rest(double seconds) override {
    // Sleeping takes some time more than it is asked for, on a busy machine most of all.
    constexpr double oversleep = 3e-4;
    if (seconds > oversleep)
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds - oversleep));
    else
      std::this_thread::yield();
  }
};

/// A message under way: the time at which it arrives, and its content.
struct Parcel {
  std::vector<std::byte> memory;
  std::intptr_t request = 0;
  std::byte* target = nullptr;  ///< nullptr for a message that is sent
  bool here = false;            ///< known to the inner table as received
  std::size_t bytes = 0;

  double arrival() const {
    double time;
    std::memcpy(&time, memory.data(), sizeof time);
    return time;
  }
};

class DelayedChannel {
 public:
  DelayedChannel(const DelayedTransport& transport, void* inner) : transport_(transport), inner_(inner) {}

  const meniscus_transport& table() const { return transport_.inner(); }
  void* inner() const { return inner_; }

  int send(const void* data, std::size_t bytes, int to, int tag, std::intptr_t* request) {
    const LinkDelay& delay = transport_.delay();
    const auto parcel = take(bytes);
    link_free_ = std::max(link_free_, transport_.clock().now()) + static_cast<double>(bytes) / delay.bandwidth;
    const double arrival = link_free_ + delay.latency;
    std::memcpy(parcel->memory.data(), &arrival, sizeof arrival);
    if (bytes > 0) std::memcpy(parcel->memory.data() + sizeof arrival, data, bytes);
    const int error = table().send(inner_, parcel->memory.data(), parcel->memory.size(), to, tag, &parcel->request);
    return begun(parcel, error, request);
  }

  int receive(void* data, std::size_t bytes, int from, int tag, std::intptr_t* request) {
    const auto parcel = take(bytes);
    parcel->target = static_cast<std::byte*>(data);
    const int error = table().receive(inner_, parcel->memory.data(), parcel->memory.size(), from, tag, &parcel->request);
    return begun(parcel, error, request);
  }

  int test(std::intptr_t* request, int* done, std::size_t* bytes) {
    const auto parcel = find(*request);
    *done = 0;
    if (!parcel->here) {
      std::size_t whole = parcel->memory.size();
      int here = 0;
      if (const int error = table().test(inner_, &parcel->request, &here, &whole)) return error;
      if (!here) return 0;
      parcel->here = true;
      parcel->bytes = whole - sizeof(double);
    }
    if (parcel->target) {
      const double arrival = parcel->arrival();
      if (transport_.clock().now() < arrival) {
        next_arrival_ = std::min(next_arrival_, arrival);
        return 0;
      }
      *bytes = parcel->bytes;
      deliver(*parcel);
    }
    give_back(parcel);
    *done = 1;
    return 0;
  }

  int cancel(std::intptr_t* request, int* done) {
    const auto parcel = find(*request);
    *done = parcel->here;
    const int error = parcel->here ? 0 : table().cancel(inner_, &parcel->request, done);
    give_back(parcel);
    return error;
  }

  int probe(int* found, int* from, int* tag, std::size_t* bytes) {
    const int error = table().probe(inner_, found, from, tag, bytes);
    if (error == 0 && *found) *bytes -= sizeof(double);
    return error;
  }

  /// Until the next message that is known arrives; where none is, as the inner table rests.
  void rest() {
    const double left = std::exchange(next_arrival_, no_time) - transport_.clock().now();
    if (left <= longest_rest)
      transport_.clock().rest(std::max(left, 0.0));
    else if (left < no_time)
      transport_.clock().rest(longest_rest);
    else
      table().rest(inner_);
  }

 private:
  using Place = std::list<Parcel>::iterator;

  Place take(std::size_t bytes) {
    if (spare_.empty()) spare_.emplace_back();
    parcels_.splice(parcels_.end(), spare_, spare_.begin());
    const Place p = std::prev(parcels_.end());
    p->memory.resize(sizeof(double) + bytes);
    p->target = nullptr;
    p->here = false;
    return p;
  }
  void give_back(Place p) { spare_.splice(spare_.begin(), parcels_, p); }
  Place find(std::intptr_t request) {
    return std::find_if(parcels_.begin(), parcels_.end(),
                        [&](const Parcel& p) { return reinterpret_cast<std::intptr_t>(&p) == request; });
  }
  int begun(Place p, int error, std::intptr_t* request) {
    *request = reinterpret_cast<std::intptr_t>(&*p);
    if (error) give_back(p);
    return error;
  }
  static void deliver(const Parcel& p) {
    const std::size_t bytes = std::min(p.bytes, p.memory.size() - sizeof(double));
    if (bytes > 0) std::memcpy(p.target, p.memory.data() + sizeof(double), bytes);
  }

  const DelayedTransport& transport_;
  void* inner_;
  double link_free_ = 0.0;         ///< when all that has been sent has left
  double next_arrival_ = no_time;  ///< of the messages that were tested since the last rest
  std::list<Parcel> parcels_, spare_;
};

DelayedChannel& channel_of(void* communicator) { return *static_cast<DelayedChannel*>(communicator); }

int duplicate(std::intptr_t handle, void** communicator) {
  const DelayedTransport& transport = *reinterpret_cast<const DelayedTransport*>(handle);
  void* inner = nullptr;
  if (const int error = transport.inner().duplicate(transport.inner_handle(), &inner)) return error;
  *communicator = new DelayedChannel(transport, inner);
  return 0;
}
void release(void* communicator) {
  DelayedChannel& c = channel_of(communicator);
  c.table().release(c.inner());
  delete &c;
}
int rank(void* communicator) { return channel_of(communicator).table().rank(channel_of(communicator).inner()); }
int size(void* communicator) { return channel_of(communicator).table().size(channel_of(communicator).inner()); }
int send(void* communicator, const void* data, std::size_t bytes, int to, int tag, std::intptr_t* request) {
  return channel_of(communicator).send(data, bytes, to, tag, request);
}
int receive(void* communicator, void* data, std::size_t bytes, int from, int tag, std::intptr_t* request) {
  return channel_of(communicator).receive(data, bytes, from, tag, request);
}
int test(void* communicator, std::intptr_t* request, int* done, std::size_t* bytes) {
  return channel_of(communicator).test(request, done, bytes);
}
int cancel(void* communicator, std::intptr_t* request, int* done) { return channel_of(communicator).cancel(request, done); }
int probe(void* communicator, int* found, int* from, int* tag, std::size_t* bytes) {
  return channel_of(communicator).probe(found, from, tag, bytes);
}
void rest(void* communicator) { channel_of(communicator).rest(); }
void abort_all(void* communicator, int code) { channel_of(communicator).table().abort(channel_of(communicator).inner(), code); }

/// A communicator and the table that it uses.
struct DelayedRank {
  DelayedRank(const meniscus_transport& inner, std::intptr_t handle, const LinkDelay& delay, LinkClock& clock)
      : transport(inner, handle, delay, clock), communicator(transport.table(), transport.handle()) {}
  DelayedTransport transport;
  TransportCommunicator communicator;
};

}  // namespace

LinkClock& machine_clock() {
  static MachineClock clock;
  return clock;
}

DelayedTransport::DelayedTransport(const meniscus_transport& inner, std::intptr_t handle, const LinkDelay& delay,
                                   LinkClock& clock)
    : inner_(inner), inner_handle_(handle), delay_(delay), clock_(clock), table_(inner) {
  require(std::isfinite(delay.latency) && delay.latency >= 0, "latency must be finite and not negative, got ", delay.latency);
  require(delay.bandwidth > 0, "bandwidth must be positive, got ", delay.bandwidth);
  // What knows no communicator stays: running, any_thread, error_text.
  table_.duplicate = duplicate;
  table_.release = release;
  table_.rank = rank;
  table_.size = size;
  table_.send = send;
  table_.receive = receive;
  table_.test = test;
  table_.cancel = cancel;
  table_.probe = probe;
  table_.rest = rest;
  table_.abort = abort_all;
}

std::shared_ptr<Communicator> make_delayed_communicator(const meniscus_transport& inner, std::intptr_t handle,
                                                        const LinkDelay& delay, LinkClock& clock) {
  const auto rank = std::make_shared<DelayedRank>(inner, handle, delay, clock);
  return {rank, &rank->communicator};
}

}  // namespace meniscus::parallel
