/// Products of sparse matrices, row by row.
///
/// Source: Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted transposition", 1978.
#pragma once

#include "meniscus/numerics/sparse/compressed_rows.hpp"

namespace meniscus::numerics {

enum class RowOrder {
  any,             ///< as the terms come
  diagonal_first,  ///< of a square product; a diagonal entry that no term has is zero
};

/// Keeps its scratch memory from product to product.
class SparseProduct {
 public:
  /// c = a b. Parallel; terms are added in the order of the rows, so the bits do not depend on the number of threads.
  void multiply(const CompressedRows& a, const CompressedRows& b, RowOrder order, CompressedRows& c);

  Index bytes() const { return static_cast<Index>(tables_.capacity() * sizeof(Place)); }

 private:
  /// Of a hash table from columns to places in the row under construction.
  struct Place {
    std::int32_t row;
    std::int32_t column;
    std::int32_t place;
  };
  class Table;
  std::vector<Place> tables_;
};

}  // namespace meniscus::numerics
