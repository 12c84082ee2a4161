#include "meniscus/grid/poisson/poisson_coarsening.hpp"

#include "meniscus/grid/poisson/levels/cell_joiner.hpp"

namespace meniscus::grid {
namespace {

template <int D>
class Builder : public CellJoiner<D> {
 public:
  Builder(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining)
      : CellJoiner<D>(fine, joining), coarse_(coarse) {}

  /// `changed` are rows of blocks whose children or their faces have changed; widened to all rows that depend on them.
  void run(RowChanges<D>& changed) {
    bool fresh = fit(owner_, fine_.layout.size);
    fresh |= fit(state_, geometry_.coarse.size);
    fresh |= fit(links_, geometry_.coarse.size);
    fresh |= fit(coarse_.masses, massive() ? geometry_.coarse.size : 0);
    if (!(coarse_.layout == geometry_.coarse) || coarse_.diagonal.size() != geometry_.coarse.size) {
      coarse_.reset(geometry_.coarse, true);
      fresh = true;
    }
    if (fresh) changed.mark_all(geometry_.coarse);
    for (std::size_t d = 0; d < D; ++d) {
      float across = 1;
      for (std::size_t k = 0; k < D; ++k)
        if (k != d && geometry_.halved[k]) across *= 2;
      const bool own_neighbour = geometry_.coarse.cells[d] == 1 && geometry_.coarse.periodic[d];
      coarse_.open_coupling[d] = own_neighbour ? 0.0f : fine_.open_coupling[d] * across * (geometry_.halved[d] ? 0.5f : 1.0f);
    }
    rows_ = &changed;
    // Parts are attached to blocks next to them.
    changed.widen();
    for_each_row([&](Index row, const Coord<D>& block) { join_row(row, block); });
    attach_rest();
    fine_.layout.halo.exchange(owner_.data());
    geometry_.coarse.halo.exchange(state_.data());
    // Faces look at the owners in all blocks around both of theirs, diagonals at their faces.
    changed.widen();
    for (int d = 0; d < D; ++d) for_each_row([&](Index row, const Coord<D>& block) { set_faces(d, row, block); });
    geometry_.coarse.halo.exchange(links_.data());
    changed.widen();
    set_diagonal();
    coarse_.finish(&changed);
  }

 private:
  using Base = CellJoiner<D>;
  using Joining = CellJoining<D>;
  using Base::attach_rest;
  using Base::children;
  using Base::fine_;
  using Base::for_each_row;
  using Base::geometry_;
  using Base::join_row;
  using Base::links_;
  using Base::offset_;
  using Base::owner_;
  using Base::rows_;
  using Base::state_;
  using Base::whole_row;

  /// Zeroed when it is new.
  template <class C>
  static bool fit(Block<C>& block, Index n) {
    if (block.size() == n) return false;
    block = n > 0 ? Block<C>(n) : Block<C>();
    if (n > 0) std::memset(block.data(), 0, static_cast<std::size_t>(n) * sizeof(C));
    return true;
  }

  /// The coefficients between two full blocks, and next to them.
  CoefficientRange between(const Coord<D>& upper, int d) const {
    CoefficientRange range;
    if (!fine_.has_faces) {
      range.add(fine_.open_coupling[d]);
      return range;
    }
    const Index s = fine_.layout.strides[d];
    const Index first = geometry_.child(upper, 0);
    // The lower block may lie across a periodic side.
    const Index axis = d;
    const Index below = upper[axis] == 0 ? (fine_.layout.cells[axis] - 1) * s : -s;
    const Block<float>& faces = fine_.faces[axis];
    for (std::size_t c = 0; c < offset_.size(); ++c) {
      if ((c >> d) & 1) continue;
      range.add(faces[first + offset_[c]]);
      range.add(faces[first + offset_[c] + s]);
      range.add(faces[first + offset_[c] + below]);
    }
    return range;
  }

  /// Plain blocks whose faces towards the lower block along an axis, plain too, have the open coupling.
  void find_open(Index row, const Coord<D>& block, int d, std::uint8_t* open) const {
    const Index blocks = geometry_.coarse.cells[D - 1], pairs = fine_.layout.cells[D - 1] / 2;
    const Index axis = d;
    std::memset(open, 0, static_cast<std::size_t>(blocks));
    Coord<D> lower = block;
    lower[D - 1] = d == D - 1 ? 1 : 0;
    if (!whole_row(block) || !geometry_.step(lower, d, 0) ||
        (geometry_.coarse.periodic[axis] && geometry_.coarse.cells[axis] < 3))
      return;
    const Index first = fine_.layout.index(geometry_.first(block)), s = geometry_.coarse.strides[axis];
    simd_dispatch([=, this] {
      const std::uint8_t* state = state_.data() + row;
      for (Index k = 0; k < pairs; ++k) open[k] = (state[k] & state[k - s] & Joining::plain) != 0;
      for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
        if ((rows >> d) & 1) continue;
        const std::uint8_t* rough = fine_.rough.data() + first + offset_[rows];
        for (Index k = 0; k < pairs; ++k) {
          const int bits = d == D - 1 ? rough[2 * k] : rough[2 * k] | rough[2 * k + 1];
          open[k] = static_cast<std::uint8_t>(open[k] & ~(bits >> d));
        }
      }
    });
  }

  void set_faces(int d, Index row, Coord<D> block) {
    const Index axis = d;
    Block<float>& faces = coarse_.faces[axis];
    const float open = coarse_.open_coupling[axis];
    // The single cell of a periodic axis is its own neighbour: no coupling.
    if (open == 0) return;
    const Index s = geometry_.coarse.strides[axis], blocks = geometry_.coarse.cells[D - 1];
    const std::uint8_t bit = Joining::link(d);
    Coord<D> first = block;
    first[D - 1] = 0;
    // The row's own links are written here, and read when all rows have theirs: until then they say which faces are open.
    std::uint8_t* links = links_.data() + row;
    std::uint8_t open_face[piece_blocks * 16];
    const bool fits = blocks <= static_cast<Index>(sizeof open_face);
    if (fits) find_open(row, first, d, open_face);
    for (Index k = 0; k < blocks; ++k) {
      links[k] = static_cast<std::uint8_t>(links[k] & ~bit);
      if (fits && open_face[k]) {
        faces[row + k] = open;
        links[k] |= bit;
        continue;
      }
      block[D - 1] = k;
      set_face(d, row + k, block);
    }
    if (d < D - 1 && block[axis] == 0 && geometry_.coarse.periodic[axis])
      std::copy_n(faces.data() + row, blocks, faces.data() + row + geometry_.coarse.cells[axis] * s);
    if (d == D - 1) faces[row + blocks] = faces[row];
  }

  void set_face(int d, Index index, const Coord<D>& block) {
    const Index axis = d;
    Coord<D> lower = block;
    if (!geometry_.step(lower, d, 0)) return;
    const Index lower_index = geometry_.coarse.index(lower);
    // Nothing is attached to a block without unknowns of its own.
    if ((state_[index] | state_[lower_index]) & Joining::empty) {
      coarse_.faces[axis][index] = 0;
      return;
    }
    if (state_[index] & state_[lower_index] & Joining::full) {
      const CoefficientRange range = between(block, d);
      if (range.smooth()) links_[index] |= Joining::link(d);
      const float fine_open = fine_.open_coupling[axis];
      if (range.low == fine_open && range.high == fine_open) {
        coarse_.faces[axis][index] = coarse_.open_coupling[axis];
        return;
      }
    }
    float sum = facing(lower, block, d, Joining::own_block, Joining::own_block);
    // Parts that a wall has given to these two coarse cells lie in the blocks beside them.
    for (int k = 0; k < D; ++k)
      for (int side = 0; side < 2 && k != d; ++side) {
        Coord<D> a = lower, b = block;
        if (!geometry_.step(a, k, side) || !geometry_.step(b, k, side)) continue;
        if (!(state_[geometry_.coarse.index(a)] & state_[geometry_.coarse.index(b)] & Joining::split)) continue;
        sum += facing(a, b, d, Joining::attached(k, 1 - side), Joining::attached(k, 1 - side));
      }
    coarse_.faces[axis][index] = sum;
  }

  /// Couplings across axis d of the cells with the given owners in two neighbouring blocks.
  float facing(const Coord<D>& lower, const Coord<D>& upper, int d, std::uint8_t lower_owner, std::uint8_t upper_owner) const {
    const Index s = fine_.layout.strides[d];
    float sum = 0;
    for (int c = 0; c < children; ++c) {
      if ((c >> d) & 1) continue;
      Index f = geometry_.child(lower, c | (1 << d));
      if (f < 0) f = geometry_.child(lower, c);
      const Index g = geometry_.child(upper, c);
      if (f < 0 || g < 0 || owner_[f] != lower_owner || owner_[g] != upper_owner) continue;
      const float w = fine_.face(d, g);
      if (w <= 0) continue;
      float resistance = 1 / w;
      if (geometry_.child(lower, c | (1 << d)) >= 0 && owner_[f - s] == lower_owner) {
        const float inner = fine_.face(d, f);
        if (inner > 0) resistance += 0.5f / inner;
      }
      if (geometry_.child(upper, c | (1 << d)) >= 0 && owner_[g + s] == upper_owner) {
        const float inner = fine_.face(d, g + s);
        if (inner > 0) resistance += 0.5f / inner;
      }
      sum += 1 / resistance;
    }
    return sum;
  }

  bool massive() const { return fine_.mass > 0 || fine_.masses.size() > 0; }

  void set_diagonal() {
    const Coord<D>& s = geometry_.coarse.strides;
    const bool with_mass = massive();
    for_each_row([&](Index row, Coord<D> block) {
      for (Index k = 0; k < geometry_.coarse.cells[D - 1]; ++k) {
        const Index index = row + k;
        float sum = 0;
        int surrounded = ~0;
        for (std::size_t d = 0; d < D; ++d) {
          sum += coarse_.faces[d][index] + coarse_.faces[d][index + s[d]];
          surrounded &= (links_[index] & links_[index + s[d]]) >> d;
        }
        if ((state_[index] & Joining::empty) == 0 && (!(surrounded & 1) || with_mass)) {
          block[D - 1] = k;
          if (!(surrounded & 1)) sum += dirichlet_around(block);
          if (with_mass) sum += coarse_.masses[index] = mass(block);
        }
        coarse_.diagonal[index] = sum;
      }
    });
  }

  /// The Dirichlet conditions next to all cells that a block owns.
  float dirichlet_around(const Coord<D>& block) const {
    float sum = dirichlet(block, Joining::own_block);
    for (int d = 0; d < D; ++d)
      for (int side = 0; side < 2; ++side) {
        Coord<D> beside = block;
        if (geometry_.step(beside, d, side) && (state_[geometry_.coarse.index(beside)] & Joining::split))
          sum += dirichlet(beside, Joining::attached(d, 1 - side));
      }
    return sum;
  }

  /// The mass of all cells that a block owns.
  float mass(const Coord<D>& block) const {
    float sum = mass(block, Joining::own_block);
    for (int d = 0; d < D; ++d)
      for (int side = 0; side < 2; ++side) {
        Coord<D> beside = block;
        if (geometry_.step(beside, d, side) && (state_[geometry_.coarse.index(beside)] & Joining::split))
          sum += mass(beside, Joining::attached(d, 1 - side));
      }
    return sum;
  }

  float mass(const Coord<D>& block, std::uint8_t owner) const {
    float sum = 0;
    for (int c = 0; c < children; ++c) {
      const Index i = geometry_.child(block, c);
      if (i >= 0 && owner_[i] == owner) sum += fine_.mass_of(i);
    }
    return sum;
  }

  /// The Dirichlet conditions next to the cells of one owner, each as far away as from the centre of what that owner has there:
  /// half a cell more where it has both cells along the axis.
  float dirichlet(const Coord<D>& block, std::uint8_t owner) const {
    float sum = 0;
    const float open = *std::max_element(fine_.open_coupling.begin(), fine_.open_coupling.end());
    for (int c = 0; c < children; ++c) {
      const Index i = geometry_.child(block, c);
      if (i < 0 || owner_[i] != owner) continue;
      const float e = dirichlet_coupling<float, D>(fine_, i);
      if (e > 0) sum += 1 / (1 / e + 0.5f * part_with_both(block, c, i, owner) / open);
    }
    return sum;
  }

  /// The part of the faces of a cell towards no unknowns behind which the owner has both cells of the block. Where all neighbours
  /// are unknowns, nobody knows where a value is given: all.
  float part_with_both(const Coord<D>& block, int c, Index cell, std::uint8_t owner) const {
    float towards_none = 0, with_both = 0;
    for (int d = 0; d < D; ++d)
      for (int side = 0; side < 2; ++side) {
        const Index s = fine_.layout.strides[d];
        if (fine_.active[side ? cell + s : cell - s]) continue;
        ++towards_none;
        const Index sibling = geometry_.child(block, c ^ (1 << d));
        if (((c >> d) & 1) == side && sibling >= 0 && owner_[sibling] == owner) ++with_both;
      }
    return towards_none > 0 ? with_both / towards_none : 1.0f;
  }

  FaceMatrix<float, D>& coarse_;
};

}  // namespace

template <int D>
void PoissonCoarsening<D>::run(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining,
                               const RowChanges<D>& changed, RowChanges<D>& coarse_changed) {
  coarse_changed.coarsen(changed, BlockGeometry<D>(fine.layout));
  Builder<D>(fine, coarse, joining).run(coarse_changed);
}

template <int D>
void PoissonCoarsening<D>::run(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining) {
  RowChanges<D> all, coarse_all;
  all.mark_all(fine.layout);
  run(fine, coarse, joining, all, coarse_all);
}

template class PoissonCoarsening<2>;
template class PoissonCoarsening<3>;

}  // namespace meniscus::grid
