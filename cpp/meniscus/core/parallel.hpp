/// Shared-memory loops whose results do not depend on the number of threads: a range is cut into chunks of a fixed size, and
/// reductions combine the chunks in a fixed tree.
#pragma once

#include "meniscus/core/types.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace meniscus::core {

/// Threads used from now on by every loop; more than the machine has is allowed. Throws InvalidArgument below 1.
void set_num_threads(int n);
int num_threads();

namespace detail {
using ChunkBody = void (*)(void* context, Index chunk);
void run_chunks(Index chunks, ChunkBody body, void* context);
}  // namespace detail

/// Calls body(begin, end) for consecutive pieces of [begin, end) of `chunk` elements each (the last may be shorter), in parallel.
/// Throws Interrupted when the caller's InterruptScope says stop; pieces may then be missing.
template <class Body>
void parallel_for(Index begin, Index end, Index chunk, Body&& body) {
  if (end <= begin) return;
  struct Context {
    Index begin, end, chunk;
    std::remove_reference_t<Body>* body;
  } context{begin, end, chunk, &body};
  detail::run_chunks((end - begin + chunk - 1) / chunk,
                     [](void* p, Index c) {
                       auto& x = *static_cast<Context*>(p);
                       const Index b = x.begin + c * x.chunk;
                       (*x.body)(b, std::min(b + x.chunk, x.end));
                     },
                     &context);
}

/// Combines the values body(begin, end) of pieces of at least `chunk` elements pairwise in a fixed tree. `body` returns T,
/// `combine` joins two. The pieces depend on the range alone and there are at most 256, so nothing is allocated.
template <class T, class Body, class Combine>
T parallel_reduce(Index begin, Index end, Index chunk, T identity, Body&& body, Combine&& combine) {
  constexpr Index most = 256;
  if (end <= begin) return identity;
  chunk = std::max(chunk, (end - begin + most - 1) / most);
  const Index chunks = (end - begin + chunk - 1) / chunk;
  std::array<T, most> part;
  part.fill(identity);
  parallel_for(begin, end, chunk, [&](Index b, Index e) { part[(b - begin) / chunk] = body(b, e); });
  for (Index stride = 1; stride < chunks; stride *= 2)
    for (Index i = 0; i + stride < chunks; i += 2 * stride) {
      auto& left = part[i];
      left = combine(left, part[i + stride]);
    }
  return combine(identity, part[0]);
}

}  // namespace meniscus::core
