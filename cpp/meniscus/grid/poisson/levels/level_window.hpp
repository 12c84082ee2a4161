/// One level of a Poisson hierarchy on a domain that is cut into blocks.
///
/// Coarse cells follow the cells of the domain, so that the hierarchy is that of one block, whatever the cuts: a coarse cell
/// belongs to the block that owns the first fine cell in it. Each block computes on a window, its own cells and a margin of its
/// neighbours' as wide as the dependencies of a smoothing and a transfer reach, with the code of a domain of one block, by rows
/// only where something depends on the result; what it gets in the margin is left out, and fetched from the owners.
/// (Overlapping blocks instead of an exchange for each half-sweep: Demmel et al., "Avoiding communication in sparse matrix
/// computations", 2008.) Where a level is small, all blocks compute all of it, and nothing is exchanged from there on.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/block_geometry.hpp"
#include "meniscus/grid/poisson/levels/level_margins.hpp"
#include "meniscus/parallel/box_exchange.hpp"

#include <optional>

namespace meniscus::grid {

/// A level of at most so many cells is computed by all blocks, unless others are asked for.
inline constexpr Index replicated_cells = 16384;

template <int D>
class LevelWindow {
 public:
  /// Collective: the finest level; `fine` holds the cells of the own block. All blocks compute levels of up to `replicated`
  /// cells.
  LevelWindow(const CellLayout<D>& fine, Index replicated);
  /// Collective: the next coarser level.
  LevelWindow(const LevelWindow& finer, parallel::Communicator& communicator);

  /// The window as a domain of one block. Cells have the colours that they have in the domain.
  const CellLayout<D>& layout() const { return layout_; }
  Index domain_cells() const { return product<D>(domain_); }
  /// Whether every block has all cells of the level.
  bool replicated() const { return replicated_; }

  /// Collective: fills the margin of an array of the window from the owners of its cells.
  template <class T>
  void fill(T* values) {
    fetch(*cells_, window_, values);
  }
  /// Collective: the same of a right-hand side, as far as it is read.
  void fill_right_hand_side(float* values) { fetch(*right_hand_side_, around(right_hand_side_margin), values); }
  /// The same for the coefficients of the lower faces of the cells along an axis, and of the last face.
  template <class T>
  void fill_faces(int axis, T* values) {
    fetch(faces_[axis], window_, values);
  }

  /// Collective: those coarse cells of the finer level's window that corrections are interpolated from, in an array that is laid
  /// out as `coarse`, from an array of this level's window.
  void spread(const float* from, const CellLayout<D>& coarse, float* to);

  /// First cell of the window, in the domain.
  const Coord<D>& first() const { return window_.begin; }
  /// The cells of the block.
  const parallel::IndexBox<D>& own() const { return own_; }
  /// Those cells that are needed, as coordinates in the window: the block's, and along axes that are not divided all.
  parallel::IndexBox<D> needed() const { return around(0).from(window_.begin); }
  /// The same, and the face behind the last one where the domain ends.
  parallel::IndexBox<D> own_faces(int axis) const;
  /// First coarse cell of the finer level's window, in the domain.
  const Coord<D>& first_coarse() const { return coarse_.begin; }
  /// Coarse cells, as coordinates in the finer level's window: those whose children get corrections, and those that get
  /// residuals.
  parallel::IndexBox<D> interpolated() const { return interpolated_.from(coarse_.begin); }
  parallel::IndexBox<D> restricted() const { return own_.from(coarse_.begin); }

 private:
  void plan(parallel::Communicator& communicator);
  Coord<D> periods() const;
  /// The own cells and a margin, up to the sides of the domain; all cells along axes that the window has whole.
  parallel::IndexBox<D> around(Index margin) const;
  Index index(const Coord<D>& cell) const {
    Coord<D> c;
    for (std::size_t d = 0; d < D; ++d) c[d] = cell[d] - window_.begin[d];
    return layout_.index(c);
  }
  template <class T>
  void fetch(parallel::BoxExchange<D>& exchange, const parallel::IndexBox<D>& box, T* values) {
    exchange.fetch(values + index(own_.begin), layout_.strides, values + index(box.begin), layout_.strides);
  }

  Coord<D> domain_{};
  std::array<bool, D> periodic_{};
  std::array<bool, D> cut_{};
  std::array<bool, D> whole_{};
  /// In cells of the domain; windows may reach around periodic axes.
  parallel::IndexBox<D> own_, window_;
  /// The finer level's window, in cells of this one, and of that the cells whose children get corrections.
  parallel::IndexBox<D> coarse_, interpolated_;
  Index most_replicated_ = 0;
  bool replicated_ = false;
  CellLayout<D> layout_;
  std::optional<parallel::BoxExchange<D>> cells_, right_hand_side_;
  std::vector<parallel::BoxExchange<D>> faces_;
  /// To the window of the finer level.
  parallel::IndexBox<D> spread_;
  std::optional<parallel::BoxExchange<D>> up_;
};

/// Copies a box of samples between two arrays whose first cells are at the given places in the domain; convert(sample) is what
/// the other array gets.
template <int D, class From, class To, class Convert>
void copy_box(const parallel::IndexBox<D>& box, const CellLayout<D>& from_layout, const Coord<D>& from_first, const From* from,
              const CellLayout<D>& to_layout, const Coord<D>& to_first, To* to, const Convert& convert) {
  const Coord<D> n = box.extents();
  if (box.empty()) return;
  const Index length = n[D - 1];
  parallel_for(0, product<D>(n) / length, std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> a{}, b{};
      Index rest = r;
      for (std::size_t d = D - 1; d-- > 0; rest /= n[d]) a[d] = b[d] = rest % n[d];
      for (std::size_t d = 0; d < D; ++d) {
        a[d] += box.begin[d] - from_first[d];
        b[d] += box.begin[d] - to_first[d];
      }
      const From* x = from + from_layout.index(a);
      To* y = to + to_layout.index(b);
      for (Index k = 0; k < length; ++k) y[k] = convert(x[k]);
    }
  });
}

template <int D, class C>
void copy_box(const parallel::IndexBox<D>& box, const CellLayout<D>& from_layout, const Coord<D>& from_first, const C* from,
              const CellLayout<D>& to_layout, const Coord<D>& to_first, C* to) {
  copy_box<D>(box, from_layout, from_first, from, to_layout, to_first, to, [](C x) { return x; });
}

}  // namespace meniscus::grid
