/// Parallel loops over the owned samples of a field, row by row.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/transport/point_lanes.hpp"

namespace meniscus::grid {

/// Calls body(begin_row, end_row) on pieces of the rows (all axes but the last) of `extents`, of a size that depends on them
/// alone.
template <int D, class Body>
void parallel_rows(const Coord<D>& extents, Body&& body) {
  const Index length = extents[D - 1];
  parallel_for(0, product<D>(extents) / length, std::max<Index>(1, 4096 / length), body);
}

/// Index of the first sample of row r.
template <int D>
Coord<D> row_start(const Coord<D>& extents, Index r) {
  Coord<D> c{};
  for (int d = D - 2; d >= 0; --d) {
    c[d] = r % extents[d];
    r /= extents[d];
  }
  return c;
}

/// Calls body(coordinate of the first sample, its index in C order) for all rows, in parallel.
template <int D, class Body>
void for_each_row(const Coord<D>& extents, Body&& body) {
  const Index length = extents[D - 1];
  if (length == 0) return;
  parallel_rows<D>(extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) body(row_start<D>(extents, r), r * length);
  });
}

/// Calls kernel(run) for all owned samples, in runs of at most row_block along rows, in parallel.
template <int D, class Kernel>
void for_each_run(const Coord<D>& extents, Kernel&& kernel) {
  const Index length = extents[D - 1];
  parallel_rows<D>(extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      RowRun<D> run{row_start<D>(extents, r), 0};
      for (Index k = 0; k < length; k += row_block) {
        run.base[D - 1] = k;
        run.count = static_cast<int>(std::min<Index>(row_block, length - k));
        kernel(run);
      }
    }
  });
}

/// Copies the owned samples of one padded block to another of the same layout.
template <class T, int D>
void copy_owned(const FieldLayout<D>& layout, const T* from, T* to) {
  const FieldView<const T, D> source = layout.template view<const T>(from);
  const FieldView<T, D> target = layout.template view<T>(to);
  const Index length = source.extents[D - 1];
  parallel_rows<D>(source.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = row_start<D>(source.extents, r);
      std::copy_n(source.at(c), length, target.at(c));
    }
  });
}

}  // namespace meniscus::grid
