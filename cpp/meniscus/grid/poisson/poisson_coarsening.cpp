#include "meniscus/grid/poisson/poisson_coarsening.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

/// Blocks that a loop over bytes treats at once.
constexpr Index piece_blocks = 128;

/// Coefficients that differ by less than this are smooth enough for interpolation with fixed weights.
constexpr float smooth_ratio = 4;

/// The smallest and the largest of some coefficients.
struct Range {
  float low = std::numeric_limits<float>::max();
  float high = 0;
  void add(float w) {
    low = std::min(low, w);
    high = std::max(high, w);
  }
  bool smooth() const { return low > 0 && high <= smooth_ratio * low; }
};

template <int D>
class Builder {
 public:
  static constexpr int children = BlockGeometry<D>::children;
  using Joining = CellJoining<D>;

  Builder(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, Joining& joining)
      : fine_(fine),
        coarse_(coarse),
        geometry_(fine.layout),
        owner_(joining.owner),
        state_(joining.state),
        links_(joining.links) {}

  /// `changed` are rows of blocks whose children or their faces have changed; widened to all rows that depend on them.
  void run(RowChanges<D>& changed) {
    for (int c = 0; c < children; ++c) {
      offset_[static_cast<std::size_t>(c)] = 0;
      for (int d = 0; d < D; ++d)
        if ((c >> d) & 1) offset_[static_cast<std::size_t>(c)] += fine_.layout.strides[static_cast<std::size_t>(d)];
    }
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
    for (int d = 0; d < D; ++d)
      for_each_row([&](Index row, const Coord<D>& block) { set_faces(d, row, block); });
    geometry_.coarse.halo.exchange(links_.data());
    changed.widen();
    set_diagonal();
    coarse_.finish(&changed);
  }

 private:
  struct Parts {
    std::array<Index, static_cast<std::size_t>(children)> cell;
    /// The lowest child of the part that a child is in, or -1.
    std::array<int, static_cast<std::size_t>(children)> part;
  };

  /// Zeroed when it is new.
  template <class C>
  static bool fit(Block<C>& block, Index n) {
    if (block.size() == n) return false;
    block = n > 0 ? Block<C>(n) : Block<C>();
    if (n > 0) std::memset(block.data(), 0, static_cast<std::size_t>(n) * sizeof(C));
    return true;
  }

  /// Calls body(index of the first block, its coordinate) for the rows of blocks that have changed, in parallel.
  template <class Body>
  void for_each_row(Body&& body) const {
    const CellLayout<D>& coarse = geometry_.coarse;
    parallel_for(0, coarse.rows(), std::max<Index>(1, 2048 / coarse.cells[D - 1]), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r)
        if ((*rows_)[r]) body(coarse.row(r), coarse.row_coordinate(r));
    });
  }

  /// Whether both rows of fine cells along every other axis exist.
  bool whole_row(const Coord<D>& block) const {
    bool whole = geometry_.halved[D - 1];
    for (std::size_t d = 0; d + 1 < D; ++d) whole &= geometry_.halved[d] && 2 * block[d] + 1 < fine_.layout.cells[d];
    return whole;
  }

  /// Coefficient between a cell and the next one along an axis, zero if one of them is no unknown.
  float coupling(int axis, Index lower) const {
    const Index upper = lower + fine_.layout.strides[static_cast<std::size_t>(axis)];
    return fine_.active[lower] && fine_.active[upper] ? fine_.face(axis, upper) : 0.0f;
  }

  Parts parts_of(const Coord<D>& block) const {
    Parts p;
    for (int c = 0; c < children; ++c) {
      const auto n = static_cast<std::size_t>(c);
      p.cell[n] = geometry_.child(block, c);
      p.part[n] = p.cell[n] >= 0 && fine_.active[p.cell[n]] ? c : -1;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int c = 0; c < children; ++c)
        for (int d = 0; d < D; ++d) {
          const int other = c | (1 << d);
          if (other == c) continue;
          int& a = p.part[static_cast<std::size_t>(c)];
          int& b = p.part[static_cast<std::size_t>(other)];
          if (a < 0 || b < 0 || a == b || coupling(d, p.cell[static_cast<std::size_t>(c)]) <= 0) continue;
          a = b = std::min(a, b);
          changed = true;
        }
    }
    return p;
  }

  /// The first cell of a block that is full, or -1.
  Index full_block(const Coord<D>& block) const {
    for (std::size_t d = 0; d < D; ++d)
      if (!geometry_.halved[d] || 2 * block[d] + 1 >= fine_.layout.cells[d]) return -1;
    const Index first = geometry_.child(block, 0);
    bool active = true;
    for (const Index o : offset_) active &= fine_.active[first + o] != 0;
    if (!active) return -1;
    if (fine_.has_faces) {
      Range range;
      for (std::size_t c = 0; c < offset_.size(); ++c)
        for (std::size_t d = 0; d < D; ++d)
          if ((c >> d) & 1) range.add(fine_.faces[d][first + offset_[c]]);
      if (!range.smooth()) return -1;
    }
    return first;
  }

  /// Marks plain blocks of a row: whole pieces of all rows of children at once.
  void find_plain(Index row, const Coord<D>& block) const {
    const Index blocks = geometry_.coarse.cells[D - 1], pairs = fine_.layout.cells[D - 1] / 2;
    std::memset(state_.data() + row, 0, static_cast<std::size_t>(blocks));
    if (!whole_row(block)) return;
    const Index first = fine_.layout.index(geometry_.first(block));
    for (Index begin = 0; begin < pairs; begin += piece_blocks) {
      const Index count = std::min(piece_blocks, pairs - begin);
      simd_dispatch([=, this] {
        std::uint8_t bad[2 * piece_blocks];
        std::memset(bad, 0, sizeof bad);
        for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
          const Index at = first + 2 * begin + offset_[static_cast<std::size_t>(rows)];
          const std::uint8_t *active = fine_.active.data() + at, *rough = fine_.rough.data() + at;
          const int inner = rows;  // bit d: the face below the row along axis d lies in the block
          for (Index k = 0; k < 2 * count; ++k)
            bad[k] = static_cast<std::uint8_t>(
                bad[k] | (active[k] ^ 1) | (rough[k] & (inner | (k & 1) << (D - 1))));
        }
        std::uint8_t* to = state_.data() + row + begin;
        for (Index k = 0; k < count; ++k)
          to[k] = (bad[2 * k] | bad[2 * k + 1]) ? std::uint8_t(0) : static_cast<std::uint8_t>(Joining::full | Joining::plain);
      });
    }
  }

  void join_row(Index row, Coord<D> block) {
    find_plain(row, block);
    // Owners of the children of plain blocks, and none in the others.
    const Index length = fine_.layout.cells[D - 1];
    const std::uint8_t* state = state_.data() + row;
    for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
      Coord<D> c = block;
      c[D - 1] = 0;
      const Index first = geometry_.child(c, rows);
      if (first < 0) continue;
      std::uint8_t* owner = owner_.data() + first;
      const int shift = geometry_.halved[D - 1] ? 1 : 0;
      for (Index k = 0; k < length; ++k) owner[k] = state[k >> shift] ? Joining::own_block : Joining::none;
    }
    for (Index k = 0; k < geometry_.coarse.cells[D - 1]; ++k) {
      if (state_[row + k]) continue;
      block[D - 1] = k;
      join_block(block, row + k);
    }
  }

  void join_block(const Coord<D>& block, Index index) {
    const Index first = full_block(block);
    if (first >= 0) {
      for (const Index o : offset_) owner_[first + o] = Joining::own_block;
      state_[index] = Joining::full;
      return;
    }
    const Parts p = parts_of(block);
    std::array<int, static_cast<std::size_t>(children)> size{};
    int unknowns = 0;
    for (int part : p.part)
      if (part >= 0) ++size[static_cast<std::size_t>(part)], ++unknowns;
    if (unknowns == 0) return;
    const auto largest = std::max_element(size.begin(), size.end());
    const int main = static_cast<int>(largest - size.begin());
    for (std::size_t c = 0; c < p.part.size(); ++c)
      if (p.part[c] == main) owner_[p.cell[c]] = Joining::own_block;
    if (*largest < unknowns) state_[index] = Joining::split;
  }

  /// The coefficients between two full blocks, and next to them.
  Range between(const Coord<D>& upper, int d) const {
    Range range;
    if (!fine_.has_faces) {
      range.add(fine_.open_coupling[static_cast<std::size_t>(d)]);
      return range;
    }
    const Index s = fine_.layout.strides[static_cast<std::size_t>(d)];
    const Index first = geometry_.child(upper, 0);
    const Block<float>& faces = fine_.faces[static_cast<std::size_t>(d)];
    for (std::size_t c = 0; c < offset_.size(); ++c) {
      if ((c >> d) & 1) continue;
      range.add(faces[first + offset_[c]]);
      range.add(faces[first + offset_[c] + s]);
      range.add(faces[first + offset_[c] - s]);
    }
    return range;
  }

  void attach_rest() {
    const CellLayout<D>& layout = geometry_.coarse;
    for (Index r = 0; r < layout.rows(); ++r) {
      if (!(*rows_)[r]) continue;
      const Index first = layout.row(r);
      for (Index k = 0; k < layout.cells[D - 1]; ++k) {
        if (!(state_[first + k] & Joining::split)) continue;
        Coord<D> block = layout.row_coordinate(r);
        block[D - 1] = k;
        const Parts p = parts_of(block);
        for (int part = 0; part < children; ++part) attach(p, part);
      }
    }
  }

  /// Gives a part that is not the main one to the neighbouring block with which it has the strongest connection.
  void attach(const Parts& p, int part) {
    std::array<float, static_cast<std::size_t>(2 * D)> strength{};
    bool any = false;
    for (int c = 0; c < children; ++c) {
      const Index i = p.cell[static_cast<std::size_t>(c)];
      if (p.part[static_cast<std::size_t>(c)] != part || owner_[i] == Joining::own_block) continue;
      any = true;
      for (int d = 0; d < D; ++d) {
        const auto axis = static_cast<std::size_t>(d);
        if (!geometry_.halved[axis]) continue;
        const int side = (c >> d) & 1;
        const Index s = fine_.layout.strides[axis];
        const Index other = wrapped(i, d, side);
        if (other >= 0 && owner_[other] == Joining::own_block)
          strength[static_cast<std::size_t>(2 * d + side)] += coupling(d, side ? i : i - s);
      }
    }
    if (!any) return;
    const auto best = std::max_element(strength.begin(), strength.end());
    if (*best <= 0) return;
    const auto code = static_cast<std::uint8_t>(2 + (best - strength.begin()));
    for (int c = 0; c < children; ++c)
      if (p.part[static_cast<std::size_t>(c)] == part) owner_[p.cell[static_cast<std::size_t>(c)]] = code;
  }

  /// Index of the cell next to one that lies at the given end of its block, or -1 beyond a side.
  Index wrapped(Index cell, int axis, int side) const {
    const CellLayout<D>& layout = fine_.layout;
    const auto d = static_cast<std::size_t>(axis);
    const Index s = layout.strides[d];
    Index c = cell - layout.origin;
    for (std::size_t k = 0; k < d; ++k) c %= layout.strides[k];
    c /= s;
    if (side && c + 1 == layout.cells[d]) return layout.periodic[d] ? cell - c * s : -1;
    if (!side && c == 0) return layout.periodic[d] ? cell + (layout.cells[d] - 1) * s : -1;
    return side ? cell + s : cell - s;
  }

  /// Plain blocks whose faces towards the lower block along an axis, plain too, have the open coupling.
  void find_open(Index row, const Coord<D>& block, int d, std::uint8_t* open) const {
    const Index blocks = geometry_.coarse.cells[D - 1], pairs = fine_.layout.cells[D - 1] / 2;
    const auto axis = static_cast<std::size_t>(d);
    std::memset(open, 0, static_cast<std::size_t>(blocks));
    Coord<D> lower = block;
    lower[D - 1] = d == D - 1 ? 1 : 0;
    if (!whole_row(block) || !geometry_.step(lower, d, 0) || (geometry_.coarse.periodic[axis] && geometry_.coarse.cells[axis] < 3))
      return;
    const Index first = fine_.layout.index(geometry_.first(block)), s = geometry_.coarse.strides[axis];
    simd_dispatch([=, this] {
      const std::uint8_t* state = state_.data() + row;
      for (Index k = 0; k < pairs; ++k) open[k] = (state[k] & state[k - s] & Joining::plain) != 0;
      for (int rows = 0; rows < (1 << (D - 1)); ++rows) {
        if ((rows >> d) & 1) continue;
        const std::uint8_t* rough = fine_.rough.data() + first + offset_[static_cast<std::size_t>(rows)];
        for (Index k = 0; k < pairs; ++k) {
          const int bits = d == D - 1 ? rough[2 * k] : rough[2 * k] | rough[2 * k + 1];
          open[k] = static_cast<std::uint8_t>(open[k] & ~(bits >> d));
        }
      }
    });
  }

  void set_faces(int d, Index row, Coord<D> block) {
    const auto axis = static_cast<std::size_t>(d);
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
    const auto axis = static_cast<std::size_t>(d);
    Coord<D> lower = block;
    if (!geometry_.step(lower, d, 0)) return;
    const Index lower_index = geometry_.coarse.index(lower);
    if (state_[index] & state_[lower_index] & Joining::full) {
      const Range range = between(block, d);
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
    const Index s = fine_.layout.strides[static_cast<std::size_t>(d)];
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
        if (!(surrounded & 1) || with_mass) {
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

  /// The Dirichlet conditions next to the cells of one owner, each half a cell farther away.
  float dirichlet(const Coord<D>& block, std::uint8_t owner) const {
    float sum = 0;
    const float open = *std::max_element(fine_.open_coupling.begin(), fine_.open_coupling.end());
    for (int c = 0; c < children; ++c) {
      const Index i = geometry_.child(block, c);
      if (i < 0 || owner_[i] != owner) continue;
      const float e = dirichlet_coupling<float, D>(fine_, i);
      if (e > 0) sum += 1 / (1 / e + 0.5f / open);
    }
    return sum;
  }

  const FaceMatrix<float, D>& fine_;
  FaceMatrix<float, D>& coarse_;
  BlockGeometry<D> geometry_;
  /// From the first cell of a block to its children.
  std::array<Index, static_cast<std::size_t>(children)> offset_{};
  Block<std::uint8_t>& owner_;
  Block<std::uint8_t>& state_;
  Block<std::uint8_t>& links_;
  const RowChanges<D>* rows_ = nullptr;
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
