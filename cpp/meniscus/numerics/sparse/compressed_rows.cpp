#include "meniscus/numerics/sparse/compressed_rows.hpp"

#include "meniscus/numerics/graph/item_rows.hpp"

namespace meniscus::numerics {

Index CompressedRows::bytes() const {
  return static_cast<Index>(start.capacity() * sizeof(Index) + column.capacity() * sizeof(std::int32_t) +
                            value.capacity() * sizeof(double));
}

void CompressedRows::make_room() {
  const Index entries = starts_of_counts<Index>(start);
  column.resize(entries);
  value.resize(entries);
}

void transpose(const CompressedRows& a, CompressedRows& out, std::vector<Index>& next) {
  out.columns = a.rows();
  out.start.assign(static_cast<std::size_t>(a.columns) + 1, 0);
  for (const std::int32_t c : a.column) ++out.start[static_cast<std::size_t>(c) + 1];
  out.make_room();
  next.assign(out.start.begin(), out.start.end() - 1);
  for (Index i = 0; i < a.rows(); ++i)
    for (Index k = a.start[i]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
      const Index from = k;
      const Index to = next[a.column[from]]++;
      out.column[to] = static_cast<std::int32_t>(i);
      out.value[to] = a.value[from];
    }
}

}  // namespace meniscus::numerics
