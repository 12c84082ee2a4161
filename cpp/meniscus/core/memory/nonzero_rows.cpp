#include "meniscus/core/memory/nonzero_rows.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/memory/slow_growth.hpp"
#include "meniscus/core/parallel.hpp"

#include <bit>
#include <limits>

namespace meniscus::core {
namespace {

constexpr Index piece = 1 << 14;

bool holds_bit(const double* row, Index columns) {
  std::uint64_t bits = 0;
  for (Index k = 0; k < columns; ++k) bits |= std::bit_cast<std::uint64_t>(row[k]);
  return bits != 0;
}

}  // namespace

void NonzeroRows::take(const double* values, Index rows, Index columns) {
  require(rows <= std::numeric_limits<std::int32_t>::max(), "there must be fewer than 2^31 rows, not ", rows);
  rows_ = rows;
  columns_ = columns;
  const Index pieces = (rows + piece - 1) / piece;
  first_.assign(static_cast<std::size_t>(pieces) + 1, 0);
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    std::int32_t count = 0;
    for (Index i = b; i < e; ++i) count += holds_bit(values + i * columns, columns);
    first_[static_cast<std::size_t>(b / piece) + 1] = count;
  });
  for (std::size_t p = 1; p < first_.size(); ++p) first_[p] += first_[p - 1];
  const Index held = first_.back();
  resize_anew(row_, held);
  resize_anew(values_, held * static_cast<std::size_t>(columns));
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    auto n = static_cast<std::size_t>(first_[b / piece]);
    for (Index i = b; i < e; ++i) {
      const double* from = values + i * columns;
      if (!holds_bit(from, columns)) continue;
      row_[n] = static_cast<std::int32_t>(i);
      std::copy_n(from, columns, values_.data() + n * static_cast<std::size_t>(columns));
      ++n;
    }
  });
}

void NonzeroRows::bring_back(double* values) const {
  parallel_for(0, rows_, piece, [&](Index b, Index e) {
    std::fill(values + b * columns_, values + e * columns_, 0.0);
    const Index p = b / piece;
    for (Index n = first_[p]; n < first_[p + 1]; ++n)
      std::copy_n(values_.data() + n * static_cast<std::size_t>(columns_), columns_, values + row_[n] * columns_);
  });
}

}  // namespace meniscus::core
