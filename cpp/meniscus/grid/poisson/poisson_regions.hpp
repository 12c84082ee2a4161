/// Connected regions of unknowns. A region without a Dirichlet condition is closed: its pressure is known up to a constant, and
/// its right-hand side has to sum to zero.
#pragma once

#include "meniscus/grid/poisson/face_matrix.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/numerics/sums/binned_sum.hpp"

#include <functional>
#include <vector>

namespace meniscus::grid {

template <int D>
struct PoissonRegion {
  Index cells = 0;
  bool closed = true;
  /// The first cell of the domain in storage order.
  Coord<D> first_cell{};
};

template <int D>
class PoissonRegions {
 public:
  /// Consecutive connected unknowns of one row.
  struct Interval {
    Index index = 0;
    Index count = 0;
    Index region = 0;
  };

  /// Collective: finds the regions of a finished matrix, through all blocks of the domain; reuses its memory. Rows that the
  /// matrix has not derived anew keep their intervals.
  void find(const FaceMatrix<double, D>& matrix);

  /// Whether sums of a domain of one block have the bits of those of any blocks, which they have on blocks anyway.
  void set_order_free(bool yes) { order_free_ = yes; }

  /// Those of the whole domain, in the order of their first cells.
  const std::vector<PoissonRegion<D>>& regions() const { return regions_; }
  /// Those of the block, row by row.
  const std::vector<Interval>& intervals() const { return intervals_; }
  bool any_closed() const { return any_closed_; }

  /// Sum of the values over each region, the same on any number of threads. `sums` is resized. Sums are collective.
  void sum(const double* values, std::vector<double>& sums) const;
  /// The same of term(index).
  void sum_terms(const std::function<double(Index)>& term, std::vector<double>& sums) const;
  /// Sum of the squares over each region.
  void sum_squares(const double* values, std::vector<double>& sums) const;
  /// Adds a number per region to its values.
  void add(const std::vector<double>& offsets, double* values) const;
  /// Removes the mean over each closed region; returns the norm of what was removed.
  double remove_means(double* values) const;

  /// Bytes of the lists that grow with the rows of the block.
  Index bytes() const {
    return static_cast<Index>((intervals_.capacity() + intervals_before_.capacity()) * sizeof(Interval) +
                              (row_begin_.capacity() + row_begin_before_.capacity()) * sizeof(Index) + open_.capacity() +
                              open_before_.capacity());
  }

 private:
  template <class Term>
  void accumulate_in_order(Term&& term, std::vector<double>& sums) const;
  template <class Term>
  void accumulate(Term&& term, std::vector<double>& sums) const;
  void join_blocks(const FaceMatrix<double, D>& matrix);
  /// `labels`: the regions of the blocks by cell, in the order of the blocks.
  void list_contacts(const FaceMatrix<double, D>& matrix, Block<Index>& labels);

  std::vector<PoissonRegion<D>> regions_;
  std::vector<Interval> intervals_;
  bool any_closed_ = false;
  std::vector<Index> row_begin_;
  numerics::DisjointSets<Index> sets_;  ///< of intervals; in `join_blocks` of regions
  std::vector<std::uint8_t> open_;
  /// Of the matrix before.
  std::vector<Interval> intervals_before_;
  std::vector<Index> row_begin_before_;
  std::vector<std::uint8_t> open_before_;
  /// Of a domain that is cut into blocks: pairs of the blocks' regions that are one.
  std::vector<std::array<Index, 2>> contacts_;
  parallel::Communicator* communicator_ = nullptr;
  mutable std::vector<numerics::BinnedSum> partial_, totals_;
  mutable std::vector<double> partial_sums_, means_;
  bool order_free_ = false;
};

}  // namespace meniscus::grid
