/// Cholesky factors of symmetric positive definite matrices of 6 x 6 blocks with a narrow graph, as those of towers and walls of
/// rigid bodies: rows from their first block on, in an order that keeps them short.
///
/// Sources: Cuthill and McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969; George, "Computer implementation of
/// the finite element method", 1971 (the order from behind); Jennings, "A compact storage scheme for the solution of symmetric
/// linear simultaneous equations", 1966 (rows from their first entry on).
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace meniscus::numerics {

/// Keeps its memory from one matrix to the next.
class EnvelopeCholesky {
 public:
  using Vector6 = Vec<double, 6>;
  using Matrix6 = Eigen::Matrix<double, 6, 6>;

  /// Chooses the order of `items` rows, `clear` comes next: each_pair(f) calls f(a, b) for rows that have a block in
  /// common, which may come more than once.
  template <class EachPair>
  void order(Index items, EachPair&& each_pair) {
    list_by_rows(items, start_, next_, [&](auto&& add) {
      each_pair([&](std::int32_t a, std::int32_t b) {
        if (a == b) return;
        add(a, b);
        add(b, a);
      });
    });
    place_items(items);
  }
  /// Products of blocks that `factor` takes.
  Index work() const { return work_; }
  /// Makes room for the matrix of this order, and sets it to zero.
  void clear();
  /// Adds to a block on the diagonal.
  void add(std::int32_t item, const Matrix6& m) { diagonal_[place_[item]] += m; }
  /// Adds to the block in the row of one item and the column of another one, and to that across.
  void add(std::int32_t row, std::int32_t column, const Matrix6& m) {
    const Index i = place_[row], j = place_[column];
    if (i > j)
      below(i, j) += m;
    else
      below(j, i) += m.transpose();
  }
  /// The factors take the place of the matrix.
  void factor();
  /// Replaces a right-hand side by the solution.
  void solve(std::span<Vector6> x);
  Index nbytes() const;

 private:
  void place_items(Index items);
  /// Numbers what hangs together with an item, level by level, neighbours of few before those of many; returns the last one.
  std::int32_t spread(std::int32_t from, std::size_t first);
  Matrix6& below(Index i, Index j) { return blocks_[row_[i] + j - first_[i]]; }

  std::vector<std::int32_t> start_, next_;  ///< neighbours by items
  std::vector<std::int32_t> queue_, place_;
  std::vector<Index> first_, row_;  ///< by places: the column of the first block, and where it is
  std::vector<Matrix6> diagonal_, blocks_;
  std::vector<Vector6> ordered_;
  Index work_ = 0, blocks_below_ = 0;
};

}  // namespace meniscus::numerics
