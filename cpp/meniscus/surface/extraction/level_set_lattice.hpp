/// Samples of a level set, extended to the sides of the domain, for extraction and volumes.
///
/// Nodes already lie on the sides. Cells get one more sample on each side, half a spacing beyond the last centre. Its value is
/// that of the line through the last two samples, so that films and gaps thinner than half a cell have their thickness; where an
/// axis closes it is the mean of the first and the last, so that both ends agree in every bit.
///
/// In a domain cut into blocks a lattice has the samples of the own block and, where those are on cells, the nearest ones of the
/// blocks beside it in the place of the sides.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/side_line.hpp"
#include "meniscus/surface/redistancing/zero_crossings.hpp"

#include <algorithm>

namespace meniscus::surface {

template <class T, int D>
class LevelSetLattice {
 public:
  /// Collective where the grid is cut: takes a copy of the samples, with those of other blocks around them.
  LevelSetLattice(const grid::Field<T, D>& phi, Workspace& workspace)
      : view_(phi.view()),
        grid_(&phi.grid()),
        stagger_(phi.stagger()),
        spacing_(phi.grid().spacing()),
        cut_(phi.grid().block().cut()) {
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      on_nodes_ = phi.stagger().on_side[a] == 1;
      extents_[a] = view_.extents[a] + (on_nodes_ ? 0 : 2);
      origin_[a] = phi.grid().origin()[d];
      first_[a] = on_nodes_ ? phi.layout().halo.first_owned(d) : 1;
      end_[a] = on_nodes_ ? extents_[a] : extents_[a] - 1;
      last_[a] = phi.grid().shape()[a] + (on_nodes_ ? 0 : 1);
    }
    if (!cut_) return;
    samples_ = workspace.take<T>(phi.layout().storage_size());
    grid::copy_owned(phi.layout(), phi.storage().data(), samples_.data());
    phi.layout().halo.exchange(samples_.data());
    view_ = phi.layout().template view<const T>(samples_.data());
  }

  /// Samples per axis; at least 2.
  const Coord<D>& extents() const { return extents_; }
  /// Whether the first sample of an axis follows the last, in the domain and in the block.
  bool closes(int d) const { return grid::period_of(*grid_, d) > 0; }
  bool closes_in_block(int d) const { return closes(d) && !grid_->block().cut(d); }
  bool on_nodes() const { return on_nodes_; }

  /// Index in the lattice of the whole domain, and the last one there.
  Index global(int d, Index i) const { return grid_->first_cell()[d] + i; }
  Index last(int d) const { return last_[d]; }
  /// Whether sample i lies on a side of the domain (or where an axis closes).
  bool at_lower(int d, Index i) const { return global(d, i) == 0; }
  bool at_upper(int d, Index i) const { return global(d, i) == last(d); }
  /// The first sample from which cells of the lattice are the block's own.
  Index first_cell(int d) const { return on_nodes_ || at_lower(d, 0) ? 0 : 1; }
  /// Whether sample i is one of the field, of any block, and not made of others.
  bool is_sample(int d, Index i) const { return on_nodes_ || !(at_lower(d, i) || at_upper(d, i)); }

  /// m.
  double coordinate(int d, Index i) const {
    const Index a = d;
    const Index at = global(d, i);
    if (on_nodes_) return origin_[a] + spacing_ * static_cast<double>(at);
    const double half = at == 0 ? 0.5 : at == last_[a] ? -0.5 : 0.0;
    return origin_[a] + spacing_ * (static_cast<double>(at) - 0.5 + half);
  }
  /// The lower and the upper side of the domain, m.
  double bottom(int d) const { return origin_[d]; }
  double top(int d) const {
    const double n = static_cast<double>(last_[d]);
    return bottom(d) + spacing_ * (on_nodes_ ? n : (n - 0.5) - 0.5);
  }
  /// From sample i to the next one, m, and in cells.
  double step(int d, Index i) const { return step_in_cells(d, i) * spacing_; }
  double step_in_cells(int d, Index i) const { return !on_nodes_ && (at_lower(d, i) || at_upper(d, i + 1)) ? 0.5 : 1.0; }

  /// Samples first(d) to end(d) - 1 are the field's own, in its order.
  Index first(int d) const { return first_[d]; }
  Index end(int d) const { return end_[d]; }

  MENISCUS_INLINE double value(const Coord<D>& c) const {
    bool own = true;
    for (std::size_t d = 0; d < D; ++d) own = own && c[d] >= first_[d] && c[d] < end_[d];
    if (own) [[likely]] {
      const T* p = view_.origin;
      for (std::size_t d = 0; d < D; ++d) p += (c[d] - shift()) * view_.strides[d];
      return static_cast<double>(*p);
    }
    return completed(c);
  }

  /// The values at the corners of the cell whose lowest one is sample c: bit d of a corner's number is upper along axis d.
  MENISCUS_INLINE std::array<double, 1 << D> corners(const Coord<D>& c) const {
    std::array<double, 1 << D> values;
    bool own = true;
    for (std::size_t d = 0; d < D; ++d) own = own && c[d] >= first_[d] && c[d] + 1 < end_[d];
    if (own) [[likely]] {
      const T* p = view_.origin;
      for (std::size_t d = 0; d < D; ++d) p += (c[d] - shift()) * view_.strides[d];
      for (unsigned i = 0; i < 1U << D; ++i) {
        Index offset = 0;
        for (unsigned d = 0; d < D; ++d) offset += (i >> d & 1) ? view_.strides[d] : 0;
        values[i] = static_cast<double>(p[offset]);
      }
      return values;
    }
    for (unsigned i = 0; i < 1U << D; ++i) {
      Coord<D> at = c;
      for (unsigned d = 0; d < D; ++d) at[d] += i >> d & 1;
      values[i] = value(at);
    }
    return values;
  }

  /// The first of the field's own samples of the two rows that a row (all axes but the last) is made of, with the weight of
  /// `sources`. Most rows are the field's own, twice the same; null if the row is made of more than two.
  struct SourceRows {
    std::array<const T*, 2> first{};
    double weight = 0;
  };
  SourceRows rows(Coord<D> c) const {
    SourceRows found;
    Coord<D> other = c;
    for (int d = 0; d < D - 1; ++d) {
      const Index axis = d;
      const Sources from = sources(d, c[axis]);
      const bool two = from.index[0] != from.index[1];
      if (two && found.weight != 0) return {};
      if (two) found.weight = from.weight;
      c[axis] = from.index[0];
      other[axis] = from.index[1];
    }
    c[D - 1] = other[D - 1] = first_[D - 1] - shift();
    found.first = {view_.at(c), view_.at(other)};
    return found;
  }

  /// The samples a and b of the field along axis d of which sample i is made, often the same one: as a + weight * (b - a), or on
  /// their line.
  struct Sources {
    std::array<Index, 2> index;
    double weight = 0;
  };
  static constexpr double on_line = -1;
  Sources sources(int d, Index i) const {
    if (on_nodes_) {
      const Index j = cut_ ? i : grid::image_of_sample(*grid_, stagger_, d, i);
      return {{j, j}};
    }
    const Index n = view_.extents[d];
    const bool lower = at_lower(d, i);
    if (!lower && !at_upper(d, i)) return {{i - 1, i - 1}};
    // Beyond the first and the last cell of the period, or the line through two cells.
    if (closes(d))
      return lower ? Sources{{0, grid::nearest_cell(*grid_, d, -1)}, 0.5}
                   : Sources{{grid::nearest_cell(*grid_, d, n), n - 1}, 0.5};
    const Index own = lower ? 0 : n - 1;
    if (last_[d] == 2) return {{own, own}};  // of one cell
    return {{own, lower ? own + 1 : own - 1}, on_line};
  }
  /// A sample that is made of a and b.
  double made_of(double a, double b, double weight) const {
    return weight < 0 ? grid::value_on_line(b, a, 0.5, spacing_) : (1 - weight) * a + weight * b;
  }

 private:
  Index shift() const { return on_nodes_ ? 0 : 1; }

  MENISCUS_NOINLINE double completed(const Coord<D>& c) const {
    std::array<Sources, D> from;
    for (int d = 0; d < D; ++d) from[d] = sources(d, c[d]);
    const auto made = [&](auto&& self, int d, const T* p) -> double {
      if (d == D) return static_cast<double>(*p);
      const Sources& s = from[d];
      const double low = self(self, d + 1, p + s.index[0] * view_.strides[d]);
      if (s.index[0] == s.index[1]) return low;
      return made_of(low, self(self, d + 1, p + s.index[1] * view_.strides[d]), s.weight);
    };
    return made(made, 0, view_.origin);
  }

  grid::FieldView<const T, D> view_;
  const grid::Grid<D>* grid_;
  grid::Stagger<D> stagger_;
  double spacing_;
  bool cut_;
  bool on_nodes_ = true;
  Workspace::Lease<T> samples_;  ///< of a block, with ghosts
  Coord<D> extents_{};
  Coord<D> last_{};
  Coord<D> first_{};
  Coord<D> end_{};
  std::array<double, D> origin_{};
};

}  // namespace meniscus::surface
