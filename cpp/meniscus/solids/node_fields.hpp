/// Loops and sums over the nodes of a body, with the same bits on any number of threads.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"

#include <span>

namespace meniscus::solids {

/// One vector per node.
using Points = std::span<mesh::Point>;
using ConstPoints = std::span<const mesh::Point>;

namespace nodes {

inline constexpr Index chunk = 2048;

/// f(i) for every node.
template <class F>
void each(Index n, F&& f) {
  parallel_for(0, n, chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) f(i);
  });
}

/// The sum of f(i) over all nodes, starting from `zero`; f may write to data of its own node.
template <class T, class F>
T sum(Index n, T zero, F&& f) {
  return parallel_reduce(
      0, n, chunk, zero,
      [&](Index b, Index e) {
        T total = zero;
        for (Index i = b; i < e; ++i) total += f(i);
        return total;
      },
      [](const T& a, const T& b) { return T(a + b); });
}

/// The largest f(i), at least 0; NaN if one is.
template <class F>
double largest(Index n, F&& f) {
  // Written so that a NaN is returned.
  const auto larger = [](double a, double b) { return !(b <= a) ? b : a; };
  return parallel_reduce(
      0, n, chunk, 0.0,
      [&](Index b, Index e) {
        double most = 0;
        for (Index i = b; i < e && most == most; ++i) most = larger(most, f(i));
        return most;
      },
      [&](double a, double b) { return a != a ? a : larger(a, b); });
}

/// The first node where bad(i) holds, or n.
template <class F>
Index first(Index n, F&& bad) {
  return parallel_reduce(
      0, n, chunk, n,
      [&](Index b, Index e) {
        for (Index i = b; i < e; ++i)
          if (bad(i)) return i;
        return n;
      },
      [](Index a, Index b) { return std::min(a, b); });
}

inline void copy(ConstPoints from, Points to) {
  each(static_cast<Index>(from.size()), [&](std::size_t i) { to[i] = from[i]; });
}

inline void clear(Points a) {
  each(static_cast<Index>(a.size()), [&](std::size_t i) { a[i].setZero(); });
}

}  // namespace nodes
}  // namespace meniscus::solids
