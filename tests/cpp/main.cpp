// Entry point of the C++ tests (doctest).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

int main(int argc, char** argv) {
#if defined(__GLIBC__)
  // The long integers of the oracles come and go at the end of the heap, which would be returned to the system each time.
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
#endif
  return doctest::Context(argc, argv).run();
}
