#include "meniscus/grid/particles/particles.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace meniscus::grid {
namespace {

constexpr Index rows_per_piece = 8192;

std::size_t bytes_of(Index n) { return static_cast<std::size_t>(n); }

/// Brings the particles of each cell into the order of their ids. Pieces begin where a cell does.
void order_by_id(const std::uint64_t* cells, Index* order, Index n, const Index* ids) {
  parallel_for(0, n, rows_per_piece, [&](Index begin, Index end) {
    const auto before = [&](Index a, Index b) { return ids[a] < ids[b]; };
    for (Index i = begin; i < end && i > 0 && cells[i] == cells[i - 1];) begin = ++i;
    for (Index i = begin, last; i < end; i = last) {
      for (last = i + 1; last < n && cells[last] == cells[i];) ++last;
      if (last - i > 32) {
        std::sort(order + i, order + last, before);
        continue;
      }
      for (Index k = i + 1; k < last; ++k) {
        const Index moved = order[k];
        Index to = k;
        for (; to > i && before(moved, order[to - 1]); --to) order[to] = order[to - 1];
        order[to] = moved;
      }
    }
  });
}

template <class T, int D>
void find_cell_keys(const Grid<D>& grid, const T* x, Index n, std::uint64_t* keys) {
  const Index bad = first_not_finite(x, n * D);
  require(bad == n * D, "positions must be finite, but component ", bad % D, " of particle ", bad / D, " is ", x[bad]);
  parallel_for(0, n, rows_per_piece, [&](Index begin, Index end) {
    simd_dispatch([&] {
      LocatedPoints<D> at;
      for (Index first = begin; first < end; first += located_points) {
        const Index count = std::min(located_points, end - first);
        locate_in_domain(grid, x + first * D, count, at);
        for (Index l = 0; l < count; ++l) {
          Index key = at.cell[0][l];
          for (std::size_t d = 1; d < D; ++d) key = key * grid.shape()[d] + at.cell[d][l];
          keys[first + l] = static_cast<std::uint64_t>(key);
        }
      }
    });
  });
}

/// Copies rows of a column in a new order.
template <class Row>
void permute_rows(const Index* source, Index n, std::byte* data, std::byte* scratch) {
  const auto* const from = reinterpret_cast<const Row*>(data);
  auto* const sorted = reinterpret_cast<Row*>(scratch);
  parallel_for(0, n, rows_per_piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) sorted[i] = from[source[i]];
  });
}

template <Index bytes>
struct RowOf {
  std::array<std::byte, bytes> data;
};

/// The starts of runs of equal keys, and their keys.
void find_runs(const std::uint64_t* keys, Index n, CellRuns& runs, Workspace& workspace) {
  const NoInterrupts whole;
  const auto begins = [&](Index i) { return i == 0 || keys[i] != keys[i - 1]; };
  const auto firsts = workspace.take<Index>((n + rows_per_piece - 1) / rows_per_piece);
  parallel_for(0, n, rows_per_piece, [&](Index begin, Index end) {
    Index count = 0;
    for (Index i = begin; i < end; ++i) count += begins(i);
    firsts.data()[begin / rows_per_piece] = count;
  });
  Index total = 0;
  for (Index p = 0; p < firsts.size(); ++p) total += std::exchange(firsts.data()[p], total);
  runs.keys.resize(total);
  runs.starts.resize(total + 1);
  parallel_for(0, n, rows_per_piece, [&](Index begin, Index end) {
    Index next = firsts.data()[begin / rows_per_piece];
    for (Index i = begin; i < end; ++i) {
      if (!begins(i)) continue;
      runs.keys[next] = static_cast<Index>(keys[i]);
      runs.starts[next++] = i;
    }
  });
  runs.starts.back() = n;
}

/// Refuses a number of rows whose bytes no integer counts; what memory cannot hold is refused when it is allocated.
void require_countable(Index rows, Index row_bytes, const char* name, Index given) {
  require(rows <= std::numeric_limits<Index>::max() / row_bytes, name, " must be lower, not ", given);
}

}  // namespace

Index column_type_size(ColumnType type) {
  switch (type) {
    case ColumnType::float64:
    case ColumnType::int64:
      return 8;
    case ColumnType::float32:
    case ColumnType::int32:
      return 4;
    case ColumnType::int8:
    case ColumnType::uint8:
      break;
  }
  return 1;
}

ParticleSet::ParticleSet(int dimension, ColumnType position_type) : dimension_(dimension) {
  require(dimension == 2 || dimension == 3, "particles live in 2 or 3 dimensions, not ", dimension);
  require(position_type == ColumnType::float32 || position_type == ColumnType::float64,
          "positions of particles are float32 or float64");
  require(dimension == 3 || position_type == ColumnType::float64, "positions of particles in two dimensions are float64");
  columns_.push_back({"position", position_type, dimension, Block<std::byte>(0)});
  columns_.push_back({"id", ColumnType::int64, 1, Block<std::byte>(0)});
}

ParticleColumn& ParticleSet::column(std::string_view name) {
  const auto it = std::find_if(columns_.begin(), columns_.end(), [&](const ParticleColumn& c) { return c.name == name; });
  if (it == columns_.end()) {
    std::string names;
    for (const ParticleColumn& c : columns_) names += (names.empty() ? "" : ", ") + c.name;
    require(false, "particles have no column '", name, "'; there are: ", names);
  }
  return *it;
}

void ParticleSet::add_column(const std::string& name, ColumnType type, Index width) {
  require(width >= 1, "a column needs at least one value per particle, got width ", width);
  require(!name.empty(), "a column needs a name");
  require(std::none_of(columns_.begin(), columns_.end(), [&](const ParticleColumn& c) { return c.name == name; }),
          "particles already have a column '", name, "'");
  require(width <= std::numeric_limits<std::int32_t>::max(), "width must be at most 2147483647, not ", width);
  ParticleColumn column{name, type, width, {}};
  require_countable(capacity_, column.row_bytes(), "width", width);
  column.data = Block<std::byte>(capacity_ * column.row_bytes());
  std::fill(column.data.begin(), column.data.end(), std::byte{0});
  columns_.push_back(std::move(column));
}

void ParticleSet::reserve(Index capacity) {
  if (capacity <= capacity_) return;
  for (const ParticleColumn& c : columns_) require_countable(capacity, c.row_bytes(), "capacity", capacity);
  std::vector<Block<std::byte>> grown;
  grown.reserve(columns_.size());
  for (const ParticleColumn& c : columns_) {
    grown.emplace_back(capacity * c.row_bytes());
    const auto used = bytes_of(size_ * c.row_bytes());
    std::memcpy(grown.back().data(), c.data.data(), used);
    std::memset(grown.back().data() + used, 0, bytes_of(grown.back().size()) - used);
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].data = grown[c];
  capacity_ = capacity;
  ++generation_;
}

Index ParticleSet::append(Index n) {
  require(n >= 0, "cannot append ", n, " particles");
  const Index first = size_;
  if (size_ + n > capacity_) reserve(std::max({size_ + n, capacity_ + capacity_ / 2, Index{64}}));
  for (ParticleColumn& c : columns_) std::memset(c.data.data() + first * c.row_bytes(), 0, bytes_of(n * c.row_bytes()));
  auto* id = reinterpret_cast<Index*>(ids().data.data());
  for (Index i = 0; i < n; ++i) id[first + i] = next_id_ + i;
  size_ += n;
  next_id_ += n;
  runs_ = {};
  return first;
}

Index ParticleSet::append_shared(const Index* numbers, Index n, Index total) {
  for (Index i = 0; i < n; ++i)
    require(numbers[i] >= 0 && numbers[i] < total, "there is no particle ", numbers[i], " among ", total);
  const bool common = common_ids_ == next_id_;
  const Index base = next_id_;
  const Index first = append(n);
  auto* id = reinterpret_cast<Index*>(ids().data.data());
  for (Index i = 0; i < n; ++i) id[first + i] = base + numbers[i];
  next_id_ = base + total;
  if (common) common_ids_ = next_id_;
  return first;
}

Index ParticleSet::append_back(const Index* ids_back, Index n) {
  for (Index i = 0; i < n; ++i) require(ids_back[i] >= 0 && ids_back[i] < next_id_, "no particle has had the id ", ids_back[i]);
  const Index next = next_id_;
  const Index first = append(n);
  std::copy_n(ids_back, n, reinterpret_cast<Index*>(ids().data.data()) + first);
  next_id_ = next;
  return first;
}

void ParticleSet::assign(const ParticleSet& other) {
  const auto same = [](const ParticleColumn& a, const ParticleColumn& b) {
    return a.name == b.name && a.type == b.type && a.width == b.width;
  };
  require(std::equal(columns_.begin(), columns_.end(), other.columns_.begin(), other.columns_.end(), same),
          "only particles with the same columns can be assigned");
  if (&other == this) return;
  if (other.size_ > capacity_) reserve(std::max(other.size_, capacity_ + capacity_ / 2));
  for (std::size_t c = 0; c < columns_.size() && other.size_ > 0; ++c)
    std::memcpy(columns_[c].data.data(), other.columns_[c].data.data(), bytes_of(other.size_ * columns_[c].row_bytes()));
  size_ = other.size_;
  next_id_ = other.next_id_;
  common_ids_ = other.common_ids_;
  runs_ = other.runs_;
}

Index ParticleSet::remove(const std::uint8_t* flags, Workspace& workspace) {
  const Index first = std::find_if(flags, flags + size_, [](std::uint8_t f) { return f != 0; }) - flags;
  if (first == size_) return 0;
  const auto gone = workspace.take<Index>(size_ - first);
  Index removed = 0;
  for (Index i = first; i < size_; ++i) {
    gone.data()[removed] = i;
    removed += flags[i] != 0;
  }
  const NoInterrupts whole;
  // Runs between those that go move down. Few go as a rule, so that most of the memory is moved by long runs, or not at all.
  parallel_for(0, static_cast<Index>(columns_.size()), 1, [&](Index begin, Index end) {
    for (Index c = begin; c < end; ++c) {
      ParticleColumn& column = columns_[c];
      const Index row = column.row_bytes();
      std::byte* const data = column.data.data();
      for (Index k = 0; k < removed; ++k) {
        const Index from = gone.data()[k] + 1;
        const Index to = k + 1 < removed ? gone.data()[k + 1] : size_;
        std::memmove(data + (from - k - 1) * row, data + from * row, bytes_of((to - from) * row));
      }
    }
  });
  size_ -= removed;
  runs_ = {};
  return removed;
}

void ParticleSet::permute(const Index* source, Workspace& workspace) {
  const NoInterrupts whole;
  for (ParticleColumn& c : columns_) {
    const Index row = c.row_bytes();
    const auto sorted = workspace.take<std::byte>(size_ * row);
    const auto of_rows = [&]<Index bytes>(std::integral_constant<Index, bytes>) {
      if (row == bytes) permute_rows<RowOf<bytes>>(source, size_, c.data.data(), sorted.data());
      return row == bytes;
    };
    // Rows of a length that the compiler knows are copied by registers.
    const bool copied = [&]<Index... bytes>(std::integer_sequence<Index, bytes...>) {
      return (of_rows(std::integral_constant<Index, bytes>()) || ...);
    }(std::integer_sequence<Index, 4, 8, 12, 16, 24, 36, 72>());
    if (!copied)
      parallel_for(0, size_, rows_per_piece, [&](Index b, Index e) {
        for (Index i = b; i < e; ++i) std::memcpy(sorted.data() + i * row, c.data.data() + source[i] * row, bytes_of(row));
      });
    parallel_for(0, size_ * row, Index{1} << 18,
                 [&](Index b, Index e) { std::memcpy(c.data.data() + b, sorted.data() + b, bytes_of(e - b)); });
  }
}

template <int D>
void ParticleSet::sort_by_cell(const Grid<D>& grid, Workspace& workspace) {
  require(dimension_ == D, "particles of dimension ", dimension_, " cannot be sorted into a grid of dimension ", D);
  auto keys = workspace.take<std::uint64_t>(size_);
  auto order = workspace.take<Index>(size_);
  const auto fill_keys = [&]<class T>(const T* x) { find_cell_keys<T, D>(grid, x, size_, keys.data()); };
  if (positions().type == ColumnType::float32)
    fill_keys(reinterpret_cast<const float*>(positions().data.data()));
  else
    fill_keys(reinterpret_cast<const double*>(positions().data.data()));
  radix_sort(keys.data(), order.data(), size_, static_cast<std::uint64_t>(product<D>(grid.shape())), workspace);
  order_by_id(keys.data(), order.data(), size_, reinterpret_cast<const Index*>(ids().data.data()));
  permute(order.data(), workspace);
  find_runs(keys.data(), size_, runs_, workspace);
}

template void ParticleSet::sort_by_cell<2>(const Grid<2>&, Workspace&);
template void ParticleSet::sort_by_cell<3>(const Grid<3>&, Workspace&);

}  // namespace meniscus::grid
