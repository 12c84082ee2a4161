#include "meniscus/core/machine_memory.hpp"

#include <limits>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace meniscus::core {

std::size_t machine_memory() {
#if defined(__linux__)
  static const std::size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size)
                                 : std::numeric_limits<std::size_t>::max();
  }();
  return bytes;
#else
  return std::numeric_limits<std::size_t>::max();
#endif
}

}  // namespace meniscus::core
