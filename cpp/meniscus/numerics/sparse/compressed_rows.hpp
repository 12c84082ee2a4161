/// Sparse matrices in compressed rows, and the parallel loops over their rows.
#pragma once

#include "meniscus/core/parallel.hpp"

#include <cstdint>
#include <vector>

namespace meniscus::numerics {

/// Row i holds the entries start[i] to start[i + 1] - 1 of `column` and `value`. In a square matrix of this folder the diagonal
/// entry comes first in each row; the others are in any order, each column once. Arrays keep their memory when a matrix is filled
/// again.
struct CompressedRows {
  std::vector<Index> start{0};
  std::vector<std::int32_t> column;
  std::vector<double> value;
  Index columns = 0;

  Index rows() const { return static_cast<Index>(start.size()) - 1; }
  Index entries() const { return start.back(); }
  Index bytes() const;

  /// Takes start[i + 1] as the number of entries of row i, turns it into the positions, and makes room for the entries.
  void make_room();
};

/// Rows that a task of a parallel loop works on.
inline constexpr Index row_chunk = 1024;

/// Calls f(i) for all i below n in parallel.
template <class F>
void for_rows(Index n, F&& f) {
  parallel_for(0, n, row_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) f(i);
  });
}

/// The product of one row with x.
inline double row_product(const CompressedRows& a, Index i, const double* x) {
  const Index end = a.start[static_cast<std::size_t>(i) + 1];
  const std::int32_t* const column = a.column.data();
  const double* const value = a.value.data();
  double sum = 0;
  for (Index k = a.start[i]; k < end; ++k) sum += value[k] * x[column[k]];
  return sum;
}

/// Writes the transpose of `a`, rows ascending, to `out`; `next` is scratch memory.
void transpose(const CompressedRows& a, CompressedRows& out, std::vector<Index>& next);

}  // namespace meniscus::numerics
