/// Populations of a lattice: one block, one array for each direction, cells with one ghost layer, in place or in two copies.
///
/// What is stored is f - w, so that single precision resolves small velocities and a fluid at rest is exactly zero.
///
/// All code addresses populations by two tables. Before a step, the population that arrives at cell n along direction k is at
/// `arriving(k)[n]`; after the collision, the one that leaves n along k is at `leaving(k)[n]`, which may lie at a neighbour,
/// beyond a side, or in a solid. With two copies, leaving(k)[n] is where arriving(k)[n + e_k] will be. In place, the two
/// populations of the link between m and m + e_k (k odd) both lie at cell m + e_k, and take turns: each step reads and writes the
/// same addresses, each of them from one cell only, so that the order of the cells does not matter.
///
/// Source of the pattern in place: Lehmann 2022, Esoteric Pull and Esoteric Push, Computation 10, 92. Müller et al. 2008,
/// section 10.3.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/fluids/lattice/lattice_models.hpp"

namespace meniscus::fluids::lattice {

/// Cells of a box with one ghost layer; rows follow each other without padding, so that memory stays small.
template <int D>
struct CellBox {
  Coord<D> cells{};
  Coord<D> strides{};
  Index origin = 0;  ///< of cell 0
  Index size = 0;

  CellBox() = default;
  explicit CellBox(const Coord<D>& n) : cells(n) {
    Coord<D> padded = n;
    for (auto& p : padded) p += 2;
    strides = core::c_strides<D>(padded);
    size = core::product<D>(padded);
    for (int d = 0; d < D; ++d) origin += strides[d];
  }
  Index rows() const { return core::product<D>(cells) / cells[D - 1]; }
  Index index(const Coord<D>& c) const { return origin + core::dot<D>(c, strides); }
  /// The first cell of a row.
  Coord<D> row(Index number) const {
    Coord<D> c{};
    for (int d = D - 2; d >= 0; --d) {
      c[d] = number % cells[d];
      number /= cells[d];
    }
    return c;
  }
};

template <class L, class T>
class Populations {
 public:
  static constexpr int D = L::dimension;
  static constexpr int Q = L::directions;

  Populations(const Coord<D>& cells, bool in_place) : box_(cells), in_place_(in_place) {
    // Arrays that began at the same place of a page would push each other out of the cache.
    constexpr Index page = 4096 / Index{sizeof(T)}, lines = 5 * 64 / Index{sizeof(T)};
    stride_ = box_.size + 64 / Index{sizeof(T)};
    const Index beyond = stride_ % page;
    if (stride_ > 4 * page) stride_ += lines - beyond + (beyond > lines ? page : 0);
    block_ = core::Block<T>(stride_ * Q * (in_place ? 1 : 2));
    for (T& x : block_) x = T{};
    set_tables();
  }

  const CellBox<D>& box() const { return box_; }
  bool in_place() const { return in_place_; }
  Index bytes() const { return block_.size() * Index{sizeof(T)}; }

  T* arriving(int k) const { return arriving_[k]; }
  T* leaving(int k) const { return leaving_[k]; }
  /// Where the populations of the next step arrive, before `turn`.
  T* next(int k) const { return next_[k]; }

  /// Makes what was left arrive; to be called once every population has its place at `next`.
  void turn() {
    odd_ = !odd_;
    set_tables();
  }

 private:
  static Index offset(const Coord<D>& strides, int k) {
    Index o = 0;
    for (int d = 0; d < D; ++d) o += L::e[k][d] * strides[d];
    return o;
  }
  T* array(int k, bool second = false) { return block_.data() + (k + (second ? Q : 0)) * stride_; }

  void set_tables() {
    if (in_place_) {
      set_arrivals(odd_, arriving_);
      set_arrivals(!odd_, next_);
      leaving_[0] = arriving_[0];
      for (int k = 1; k < Q; ++k) leaving_[k] = arriving_[opposite(k)];
      return;
    }
    for (int k = 0; k < Q; ++k) {
      arriving_[k] = array(k, odd_);
      next_[k] = array(k, !odd_);
      leaving_[k] = next_[k] + offset(box_.strides, k);
    }
  }
  void set_arrivals(bool odd, std::array<T*, Q>& table) {
    table[0] = array(0);
    for (int k = 1; k < Q; k += 2) {
      table[k] = array(odd ? k : k + 1);
      table[k + 1] = array(odd ? k + 1 : k) + offset(box_.strides, k);
    }
  }

  CellBox<D> box_;
  bool in_place_;
  bool odd_ = false;
  Index stride_ = 0;
  core::Block<T> block_;
  std::array<T*, Q> arriving_{}, leaving_{}, next_{};
};

}  // namespace meniscus::fluids::lattice
