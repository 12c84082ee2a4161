/// Copies of the rows of an array that are not zero, for arrays most of which are.
#pragma once

#include "meniscus/core/namespaces.hpp"
#include "meniscus/core/types.hpp"

#include <vector>

namespace meniscus::core {

/// Memory is kept from copy to copy.
class NonzeroRows {
 public:
  /// Copies the rows of `values` (rows, columns) that hold a bit. In parallel.
  void take(const double* values, Index rows, Index columns);
  /// Makes an array of the same shape equal to the one that was copied, bit by bit.
  void bring_back(double* values) const;

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  std::size_t nbytes() const {
    return values_.capacity() * sizeof(double) + (row_.capacity() + first_.capacity()) * sizeof(std::int32_t);
  }

 private:
  Index rows_ = 0, columns_ = 0;
  /// The first that is held of each piece of the array, and the numbers and values of all rows that are held.
  std::vector<std::int32_t> first_, row_;
  std::vector<double> values_;
};

}  // namespace meniscus::core
