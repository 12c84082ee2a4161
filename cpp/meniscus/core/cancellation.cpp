#include "meniscus/core/cancellation.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::core {
namespace {
thread_local InterruptScope* innermost = nullptr;
constexpr std::chrono::milliseconds interval{50};
}  // namespace

InterruptScope::InterruptScope(std::function<bool()> should_stop)
    : should_stop_(std::move(should_stop)), last_(std::chrono::steady_clock::now()), outer_(innermost) {
  innermost = this;
}

InterruptScope::~InterruptScope() { innermost = outer_; }

InterruptScope* InterruptScope::current() { return innermost; }

void InterruptScope::poll() {
  if (innermost != this) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < interval) return;
  last_ = now;
  if (should_stop_()) stopped_.store(true, std::memory_order_relaxed);
}

NoInterrupts::NoInterrupts() : saved_(innermost) { innermost = nullptr; }

NoInterrupts::~NoInterrupts() { innermost = saved_; }

void check_interrupt() {
  if (InterruptScope* scope = InterruptScope::current()) {
    scope->poll();
    if (scope->stopped()) throw Interrupted();
  }
}

}  // namespace meniscus::core
