/// How many cases a test asks for: few in `make test`; with MENISCUS_TEST_SIZE=full, which `make test-all` sets, as many as are
/// claimed.
#pragma once

#include <cstdlib>
#include <string_view>

namespace meniscus::tests {

inline bool full_size() {
  const char* value = std::getenv("MENISCUS_TEST_SIZE");
  return value && std::string_view(value) == "full";
}

inline int choose(int few, int many) { return full_size() ? many : few; }

}  // namespace meniscus::tests
