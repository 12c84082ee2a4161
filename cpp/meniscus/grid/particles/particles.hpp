/// Particles as a struct of arrays that can be sorted by cell.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/grid.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace meniscus::grid {

enum class ColumnType { float32, float64, int8, int32, int64, uint8 };

Index column_type_size(ColumnType type);

/// One attribute: `width` values per particle, row-major.
struct ParticleColumn {
  std::string name;
  ColumnType type;
  Index width;
  Block<std::byte> data;

  Index row_bytes() const { return width * column_type_size(type); }
};

/// Runs of particles that lie in the same cell, after sorting: particles starts[i] to starts[i + 1] - 1 are in cell keys[i]
/// (linear C-ordered index in the whole domain). Only occupied cells are listed.
struct CellRuns {
  std::vector<Index> keys;
  std::vector<Index> starts;
};

/// Positions (metres; float64, or float32 in three dimensions) and any further columns. Every particle has a unique, never reused
/// id, which keys its random numbers. Growing takes new blocks of memory: views of old ones stay valid but stale; `generation`
/// tells.
class ParticleSet {
 public:
  ParticleSet(int dimension, ColumnType position_type);
  ParticleSet(ParticleSet&&) noexcept = default;  // copies would share the memory

  int dimension() const { return dimension_; }
  Index size() const { return size_; }
  Index capacity() const { return capacity_; }
  /// Counts the times that the columns have moved to new memory.
  Index generation() const { return generation_; }

  ParticleColumn& positions() { return columns_[0]; }
  const ParticleColumn& positions() const { return columns_[0]; }
  ParticleColumn& ids() { return columns_[1]; }
  const ParticleColumn& ids() const { return columns_[1]; }
  /// Positions, ids, then the added columns in the order of their addition.
  const std::vector<ParticleColumn>& columns() const { return columns_; }
  /// Throws InvalidArgument for an unknown name.
  ParticleColumn& column(std::string_view name);

  /// A new column of zeros. Throws InvalidArgument if the name exists or width < 1.
  void add_column(const std::string& name, ColumnType type, Index width);

  /// n new particles with fresh ids and zeros elsewhere; returns the index of the first.
  Index append(Index n);
  /// The same for n of `total` new particles that all blocks add alike and of which each keeps some; `numbers`: which ones. Ids
  /// follow from the numbers.
  Index append_shared(const Index* numbers, Index n, Index total);
  /// Particles that were of this set before come back, with the ids that they had; returns the index of the first. Throws
  /// InvalidArgument for ids that were never given.
  Index append_back(const Index* ids, Index n);
  void reserve(Index capacity);

  /// Removes the particles whose flag is nonzero (`flags`: one per particle); the others keep their order. Returns their number.
  Index remove(const std::uint8_t* flags, Workspace& workspace);

  /// Copies other particles with the same columns, with ids and cells; grows only if the capacity is too small. Throws
  /// InvalidArgument for other columns; then nothing is changed.
  void assign(const ParticleSet& other);

  /// Orders the particles by cell, those of one cell by id: an order that does not depend on how the particles came, nor on the
  /// blocks of the grid. Particles outside of the domain belong to the nearest cell, on periodic axes to the cell of their image.
  /// Throws InvalidArgument for a position that is not finite.
  template <int D>
  void sort_by_cell(const Grid<D>& grid, Workspace& workspace);

  /// The cells of the last sort; empty once particles were added or removed since.
  const CellRuns& cell_runs() const { return runs_; }

  /// Sets the id that the next particle gets, on all blocks alike.
  void set_next_id(Index id) { next_id_ = common_ids_ = id; }
  Index next_id() const { return next_id_; }
  /// Ids below this are those of all blocks together. From here on this block has given them on its own, until particles migrate.
  Index common_ids() const { return common_ids_; }

 private:
  void permute(const Index* source, Workspace& workspace);

  int dimension_;
  Index size_ = 0;
  Index capacity_ = 0;
  Index generation_ = 0;
  Index next_id_ = 0;
  Index common_ids_ = 0;
  std::vector<ParticleColumn> columns_;
  CellRuns runs_;
};

}  // namespace meniscus::grid
