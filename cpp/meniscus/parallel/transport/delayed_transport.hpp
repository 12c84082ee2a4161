/// Ranks whose messages take longer than they do: a given latency and bandwidth is added to those of another table.
#pragma once

#include "meniscus/parallel/transport/transport_table.hpp"

#include <limits>
#include <memory>

namespace meniscus::parallel {

class Communicator;

/// What is added to every message. A rank sends one message after the other over a link of the given bandwidth, and each arrives
/// `latency` after it has left.
struct LinkDelay {
  double latency = 0.0;                                        ///< s
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes per second
};

/// Time as delayed messages see it.
class LinkClock {
 public:
  virtual ~LinkClock() = default;
  /// Seconds since a moment that is the same for all ranks.
  virtual double now() = 0;
  /// Gives the processor to others for about so many seconds, or somewhat less.
  virtual void rest(double seconds) = 0;
};

/// The clock of the machine, so all delayed ranks must be on one.
LinkClock& machine_clock();

/// A table around another one. It outlives the communicators that are made with it.
///
/// Messages carry the time at which they arrive: 8 bytes that the table underneath sees and nobody else. They are copied once
/// when they are sent and once when they are received.
class DelayedTransport {
 public:
  /// `handle`: of the inner table. Throws InvalidArgument for a latency below 0 or a bandwidth that is not positive.
  DelayedTransport(const meniscus_transport& inner, std::intptr_t handle, const LinkDelay& delay,
                   LinkClock& clock = machine_clock());

  const meniscus_transport& table() const { return table_; }
  /// Handle for `duplicate` of the table.
  std::intptr_t handle() const { return reinterpret_cast<std::intptr_t>(this); }

  const meniscus_transport& inner() const { return inner_; }
  std::intptr_t inner_handle() const { return inner_handle_; }
  const LinkDelay& delay() const { return delay_; }
  LinkClock& clock() const { return clock_; }

 private:
  const meniscus_transport& inner_;
  std::intptr_t inner_handle_;
  LinkDelay delay_;
  LinkClock& clock_;
  meniscus_transport table_;
};

/// Collective: a communicator over a delayed table of its own.
std::shared_ptr<Communicator> make_delayed_communicator(const meniscus_transport& inner, std::intptr_t handle,
                                                        const LinkDelay& delay, LinkClock& clock = machine_clock());

}  // namespace meniscus::parallel
