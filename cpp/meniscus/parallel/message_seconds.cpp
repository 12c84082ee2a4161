#include "meniscus/parallel/message_seconds.hpp"

#include <chrono>
#include <ctime>

namespace meniscus::parallel {

double seconds_now(SecondsOf clock) {
#ifdef CLOCK_THREAD_CPUTIME_ID
  if (clock == SecondsOf::processor) {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
#endif
  static_cast<void>(clock);
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace meniscus::parallel
