/// Threads that are not ours and compute here: counted, so that a process can end once they have stopped.
#pragma once

#include <chrono>

namespace meniscus::core {

/// Counts the calling thread while alive. Scopes nest.
class OutsideThread {
 public:
  OutsideThread();
  ~OutsideThread();
  OutsideThread(const OutsideThread&) = delete;
  OutsideThread& operator=(const OutsideThread&) = delete;
};

/// Lets the calling thread sleep for ever; it no longer counts.
[[noreturn]] void rest_for_ever();

/// Waits until all threads that are counted have left or rest, at most so long. Returns whether they have.
bool wait_for_outside_threads(std::chrono::milliseconds at_most);

}  // namespace meniscus::core
