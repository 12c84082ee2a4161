/// Basic types: sizes, indices and small vectors.
#pragma once

#include "meniscus/core/namespaces.hpp"

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <cstdint>

namespace meniscus::core {

/// Linear sizes and indices are signed 64-bit everywhere.
using Index = std::int64_t;

/// Integer grid coordinates, one per axis.
template <int D>
using Coord = std::array<Index, D>;

/// A small vector of D components (position, velocity, ...).
template <class T, int D>
using Vec = Eigen::Matrix<T, D, 1>;

template <int D>
constexpr Index product(const Coord<D>& c) {
  Index n = 1;
  for (Index v : c) n *= v;
  return n;
}

/// Element strides of a contiguous C-ordered block: the last axis is the fastest.
template <int D>
constexpr Coord<D> c_strides(const Coord<D>& extents) {
  Coord<D> strides{};
  Index s = 1;
  for (int d = D - 1; d >= 0; --d) {
    strides[d] = s;
    s *= extents[d];
  }
  return strides;
}

template <int D>
constexpr Index dot(const Coord<D>& a, const Coord<D>& b) {
  Index n = 0;
  for (int d = 0; d < D; ++d) n += a[d] * b[d];
  return n;
}

}  // namespace meniscus::core
