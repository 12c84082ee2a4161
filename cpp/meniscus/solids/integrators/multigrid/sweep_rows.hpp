/// Rows of coupled nodes, in an order in which Gauss-Seidel sweeps run in parallel.
///
/// Nodes are cut into pieces of consecutive numbers. Pieces of one colour have no coupling between them; a sweep takes colour
/// after colour, the pieces of a colour in parallel, and the nodes of a piece one after the other. So it is the serial sweep in
/// one fixed order, on any number of threads.
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/solids/node_fields.hpp"

#include <cstdint>
#include <span>

namespace meniscus::solids {

/// The entries start[i] to start[i + 1] - 1 of `column` are the partners of node i, in any order; those below split[i] come
/// earlier in a sweep.
class SweepRows {
 public:
  SweepRows() = default;
  /// `start` has one value more than there are nodes. `pieces` is their size.
  SweepRows(Workspace& workspace, Index nodes, Index entries, Index piece);

  Index size() const { return size_; }
  std::span<Index> start() const { return {start_.data(), static_cast<std::size_t>(size_) + 1}; }
  Index entries() const { return start_.data()[size_]; }
  std::int32_t* columns() const { return column_.data(); }
  /// Where an entry comes from, or belongs; moves with it.
  std::int32_t* sources() const { return source_.data(); }
  Index first(Index i) const { return start_.data()[i]; }
  Index split(Index i) const { return split_.data()[i]; }
  Index end(Index i) const { return start_.data()[i + 1]; }

  /// To be called when start, columns and sources are there: colours the pieces and sorts the rows.
  void order(Workspace& workspace);

  /// sweep(i) for all nodes in the order of the sweep.
  template <class F>
  void forward(F&& sweep) const {
    for (Index c = 0; c < colours_; ++c)
      each_piece(c, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) sweep(i);
      });
  }

  /// The same backwards.
  template <class F>
  void backward(F&& sweep) const {
    for (Index c = colours_ - 1; c >= 0; --c)
      each_piece(c, [&](Index begin, Index end) {
        for (Index i = end - 1; i >= begin; --i) sweep(i);
      });
  }

  /// Numbers groups of some eight neighbours: pairs of pairs of pairs, in ascending order each with the free one that it has most
  /// bonds with; where none is free, it joins others. Nodes without partners get -1. `bond` is the number of bonds of each entry.
  /// Returns the number of groups. Serial.
  Index group(Workspace& workspace, const std::int32_t* bond, std::int32_t* label) const;

 private:
  template <class F>
  void each_piece(Index colour, F&& f) const {
    const std::int32_t* const pieces = piece_order_.data();
    parallel_for(colour_start_.data()[colour], colour_start_.data()[colour + 1], 1, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const Index first = piece_ * pieces[k];
        simd_dispatch([&] { f(first, std::min(first + piece_, size_)); });
      }
    });
  }

  Index size_ = 0, piece_ = 1, colours_ = 0;
  Workspace::Lease<Index> start_, split_, colour_start_;
  Workspace::Lease<std::int32_t> column_, source_, piece_order_;
};

}  // namespace meniscus::solids
