/// Cancellation of long computations.
#pragma once

#include "meniscus/core/namespaces.hpp"

#include <atomic>
#include <chrono>
#include <functional>

namespace meniscus::core {

/// While alive, parallel loops started by this thread ask `should_stop` now and then, on this thread only, and throw Interrupted
/// when it answers true. Scopes nest; the innermost one is asked.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<bool()> should_stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// The scope of the calling thread, or nullptr.
  static InterruptScope* current();

  /// Asks, if the last answer is older than 50 ms and the caller is the thread that opened the scope.
  void poll();

  /// Any thread: has a stop been asked for?
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::function<bool()> should_stop_;
  std::atomic<bool> stopped_{false};
  std::chrono::steady_clock::time_point last_;
  InterruptScope* outer_;
};

/// While alive, the calling thread's scopes are not asked: for the short commit at the end of an operation, which must be whole.
class NoInterrupts {
 public:
  NoInterrupts();
  ~NoInterrupts();
  NoInterrupts(const NoInterrupts&) = delete;
  NoInterrupts& operator=(const NoInterrupts&) = delete;

 private:
  InterruptScope* saved_;
};

/// Asks the scope of the calling thread, if there is one, and throws Interrupted where it says stop.
void check_interrupt();

}  // namespace meniscus::core
