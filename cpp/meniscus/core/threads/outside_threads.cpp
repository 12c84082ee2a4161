#include "meniscus/core/threads/outside_threads.hpp"

#include <atomic>
#include <thread>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace meniscus::core {
namespace {

std::atomic<int> threads{0};
/// How many scopes the calling thread is in.
thread_local int depth = 0;

#if defined(__unix__) || defined(__APPLE__)
/// A child has only the thread that forked it, and would wait for the others at its end.
struct CountedAnew {
  CountedAnew() {
    pthread_atfork(nullptr, nullptr, [] { threads = depth > 0 ? 1 : 0; });
  }
} const counted_anew;
#endif

}  // namespace

OutsideThread::OutsideThread() {
  if (depth++ == 0) ++threads;
}

OutsideThread::~OutsideThread() {
  if (--depth == 0) --threads;
}

void rest_for_ever() {
  if (depth > 0) --threads;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool wait_for_outside_threads(std::chrono::milliseconds at_most) {
  const auto latest = std::chrono::steady_clock::now() + at_most;
  while (threads.load() > 0) {
    if (std::chrono::steady_clock::now() >= latest) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace meniscus::core
