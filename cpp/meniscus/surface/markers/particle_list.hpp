/// Lists of the indices that meet a condition, in ascending order, made in parallel.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {

/// Grid coordinates of a linear C-ordered index.
template <int D>
Coord<D> index_of(Index i, const Coord<D>& strides) {
  Coord<D> c;
  for (std::size_t d = 0; d < D; ++d) {
    c[d] = i / strides[d];
    i -= c[d] * strides[d];
  }
  return c;
}

struct IndexList {
  Workspace::Lease<Index> memory;
  Index* index = nullptr;
  Index size = 0;
};

/// `scan(begin, end, take)` calls take(i) for the wanted indices of [begin, end), ascending. It is called twice for each piece:
/// once to count, once to list.
template <class Scan>
IndexList list_indices(Index n, Scan&& scan, Workspace& workspace) {
  constexpr Index chunk = 16384;
  const Index chunks = (n + chunk - 1) / chunk;
  const auto starts = workspace.take<Index>(chunks + 1);
  parallel_for(0, n, chunk, [&](Index begin, Index end) {
    Index count = 0;
    scan(begin, end, [&](Index) { ++count; });
    starts.data()[begin / chunk + 1] = count;
  });
  starts.data()[0] = 0;
  for (Index c = 0; c < chunks; ++c) starts.data()[c + 1] += starts.data()[c];
  IndexList list;
  list.size = starts.data()[chunks];
  list.memory = workspace.take<Index>(list.size);
  list.index = list.memory.data();
  parallel_for(0, n, chunk, [&](Index begin, Index end) {
    Index* to = list.index + starts.data()[begin / chunk];
    scan(begin, end, [&](Index i) { *to++ = i; });
  });
  return list;
}

/// Indices, of a lattice of the owned samples and `margin` layers of ghosts around them, of the samples with |phi| < `bound`.
template <class T, int D>
IndexList list_near_samples(const grid::FieldView<const T, D>& phi, Index margin, T bound, Workspace& workspace) {
  Coord<D> extents = phi.extents;
  for (Index& n : extents) n += 2 * margin;
  const Coord<D> strides = c_strides<D>(extents);
  return list_indices(
      product<D>(extents),
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end;) {
          Coord<D> c = index_of<D>(i, strides);
          const Index count = std::min(end - i, extents[D - 1] - c[D - 1]);
          for (Index& k : c) k -= margin;
          const T* row = phi.at(c);
          for (Index l = 0; l < count; ++l)
            if (std::abs(row[l]) < bound) take(i + l);
          i += count;
        }
      },
      workspace);
}

}  // namespace meniscus::surface
