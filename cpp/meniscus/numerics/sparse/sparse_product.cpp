#include "meniscus/numerics/sparse/sparse_product.hpp"

#include <algorithm>
#include <bit>

namespace meniscus::numerics {
namespace {

/// Tasks of one product, each with a table of its own; a fixed number, so that the memory does not depend on the threads.
constexpr Index most_tasks = 32;

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

/// Open addressing with linear probing; at most half full. What is marked with another row counts as free.
class SparseProduct::Table {
 public:
  Table(Place* first, std::size_t size) : first_(first), mask_(size - 1), shift_(64 - std::countr_zero(size)) {
    std::fill(first, first + size, Place{-1, 0, 0});
  }
  void begin_row(Index row) { row_ = static_cast<std::int32_t>(row); }

  /// The place of a column; `next` if it is new.
  std::int32_t place(std::int32_t column, std::int32_t next) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    for (std::size_t i = (static_cast<std::uint64_t>(column) * golden_ratio) >> shift_;; i = (i + 1) & mask_) {
      Place& p = first_[i];
      if (p.row != row_) {
        p = {row_, column, next};
        return next;
      }
      if (p.column == column) return p.place;
    }
  }

 private:
  Place* first_;
  std::size_t mask_;
  int shift_;
  std::int32_t row_ = -1;
};

void SparseProduct::multiply(const CompressedRows& a, const CompressedRows& b, RowOrder order, CompressedRows& c) {
  const Index n = a.rows();
  const Index most_terms = parallel_reduce(
      0, n, row_chunk, Index{1},
      [&](Index begin, Index end) {
        Index most = 1;
        for (Index i = begin; i < end; ++i) {
          Index terms = 1;
          for (Index k = a.start[i]; k < a.start[i + 1]; ++k) {
            const Index j = a.column[k];
            terms += b.start[j + 1] - b.start[j];
          }
          most = std::max(most, terms);
        }
        return most;
      },
      [](Index x, Index y) { return std::max(x, y); });
  const std::size_t size = std::bit_ceil(z(2 * std::min(most_terms, b.columns + 1)));
  const Index chunk = std::max<Index>(64, (n + most_tasks - 1) / most_tasks);
  const std::size_t wanted = size * z((n + chunk - 1) / chunk);
  if (tables_.size() < wanted) tables_.resize(wanted);
  c.columns = b.columns;
  c.start.resize(n + 1);

  // Calls visit(place, k, l) for all terms a_k b_l of a row; returns the number of different columns.
  const auto walk = [&](Index i, Table& table, auto&& visit) {
    table.begin_row(i);
    std::int32_t next = 0;
    if (order == RowOrder::diagonal_first) next = table.place(static_cast<std::int32_t>(i), 0) + 1;
    for (Index k = a.start[i]; k < a.start[i + 1]; ++k) {
      const Index j = a.column[k];
      for (Index l = b.start[j]; l < b.start[j + 1]; ++l) {
        const std::int32_t place = table.place(b.column[l], next);
        next = std::max(next, place + 1);
        visit(place, z(k), z(l));
      }
    }
    return next;
  };
  parallel_for(0, n, chunk, [&](Index begin, Index end) {
    Table table(tables_.data() + z(begin / chunk) * size, size);
    for (Index i = begin; i < end; ++i) c.start[i + 1] = walk(i, table, [](std::int32_t, std::size_t, std::size_t) {});
  });
  c.make_room();
  parallel_for(0, n, chunk, [&](Index begin, Index end) {
    Table table(tables_.data() + z(begin / chunk) * size, size);
    for (Index i = begin; i < end; ++i) {
      std::int32_t* const column = c.column.data() + c.start[i];
      double* const value = c.value.data() + c.start[i];
      std::fill(value, c.value.data() + c.start[i + 1], 0.0);
      if (order == RowOrder::diagonal_first) column[0] = static_cast<std::int32_t>(i);
      walk(i, table, [&](std::int32_t place, std::size_t k, std::size_t l) {
        column[place] = b.column[l];
        value[place] += a.value[k] * b.value[l];
      });
    }
  });
}

}  // namespace meniscus::numerics
