#include "meniscus/grid/poisson/poisson_coarsening.hpp"

#include "meniscus/core/parallel.hpp"

#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

/// Calls body(block, its index) for all blocks, rows in parallel.
template <int D, class Body>
void for_each_coarse(const CellLayout<D>& coarse, Body&& body) {
  const Index length = coarse.cells[D - 1];
  parallel_for(0, coarse.rows(), std::max<Index>(1, 2048 / length), [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      Coord<D> block = coarse.row_coordinate(r);
      const Index first = coarse.row(r);
      for (Index k = 0; k < length; ++k) {
        block[D - 1] = k;
        body(block, first + k);
      }
    }
  });
}

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

  void run() {
    for (int c = 0; c < children; ++c) {
      offset_[static_cast<std::size_t>(c)] = 0;
      for (int d = 0; d < D; ++d)
        if ((c >> d) & 1) offset_[static_cast<std::size_t>(c)] += fine_.layout.strides[static_cast<std::size_t>(d)];
    }
    fit(owner_, fine_.layout.size);
    fit(state_, geometry_.coarse.size);
    fit(links_, geometry_.coarse.size);
    coarse_.reset(geometry_.coarse, true);
    for (std::size_t d = 0; d < D; ++d) {
      float across = 1;
      for (std::size_t k = 0; k < D; ++k)
        if (k != d && geometry_.halved[k]) across *= 2;
      const bool own_neighbour = geometry_.coarse.cells[d] == 1 && geometry_.coarse.periodic[d];
      coarse_.open_coupling[d] = own_neighbour ? 0.0f : fine_.open_coupling[d] * across * (geometry_.halved[d] ? 0.5f : 1.0f);
    }
    join_blocks();
    attach_rest();
    fine_.layout.halo.exchange(owner_.data());
    geometry_.coarse.halo.exchange(state_.data());
    for (int d = 0; d < D; ++d) set_faces(d);
    geometry_.coarse.halo.exchange(links_.data());
    set_diagonal();
    coarse_.finish();
  }

 private:
  struct Parts {
    std::array<Index, static_cast<std::size_t>(children)> cell;
    /// The lowest child of the part that a child is in, or -1.
    std::array<int, static_cast<std::size_t>(children)> part;
  };

  template <class C>
  static void fit(Block<C>& block, Index n) {
    if (block.size() != n) block = Block<C>(n);
    if (n > 0) std::memset(block.data(), 0, static_cast<std::size_t>(n) * sizeof(C));
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

  void join_blocks() {
    for_each_coarse<D>(geometry_.coarse, [&](const Coord<D>& block, Index index) {
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
    });
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

  void set_faces(int d) {
    const auto axis = static_cast<std::size_t>(d);
    Block<float>& faces = coarse_.faces[axis];
    const float open = coarse_.open_coupling[axis];
    // The single cell of a periodic axis is its own neighbour: no coupling.
    if (open == 0) return;
    const Index s = geometry_.coarse.strides[axis];
    for_each_coarse<D>(geometry_.coarse, [&](const Coord<D>& block, Index index) {
      Coord<D> lower = block;
      if (!geometry_.step(lower, d, 0)) return;
      const Index lower_index = geometry_.coarse.index(lower);
      bool all_open = false;
      if (state_[index] & state_[lower_index] & Joining::full) {
        const Range range = between(block, d);
        if (range.smooth()) links_[index] |= Joining::link(d);
        const float fine_open = fine_.open_coupling[axis];
        all_open = range.low == fine_open && range.high == fine_open;
      }
      if (all_open) {
        faces[index] = open;
      } else {
        float sum = facing(lower, block, d, Joining::own_block, Joining::own_block);
        // Parts that a wall has given to these two coarse cells lie in the blocks beside them.
        for (int k = 0; k < D; ++k)
          for (int side = 0; side < 2 && k != d; ++side) {
            Coord<D> a = lower, b = block;
            if (!geometry_.step(a, k, side) || !geometry_.step(b, k, side)) continue;
            if (!(state_[geometry_.coarse.index(a)] & state_[geometry_.coarse.index(b)] & Joining::split)) continue;
            sum += facing(a, b, d, Joining::attached(k, 1 - side), Joining::attached(k, 1 - side));
          }
        faces[index] = sum;
      }
      if (block[axis] == 0) faces[index + geometry_.coarse.cells[axis] * s] = faces[index];
    });
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

  void set_diagonal() {
    const Coord<D>& s = geometry_.coarse.strides;
    const bool massive = fine_.mass > 0 || fine_.masses.size() > 0;
    fit(coarse_.masses, massive ? geometry_.coarse.size : 0);
    for_each_coarse<D>(geometry_.coarse, [&](const Coord<D>& block, Index index) {
      float sum = 0;
      bool surrounded = true;
      for (std::size_t d = 0; d < D; ++d) {
        sum += coarse_.faces[d][index] + coarse_.faces[d][index + s[d]];
        surrounded &= (links_[index] & Joining::link(static_cast<int>(d))) != 0;
        surrounded &= (links_[index + s[d]] & Joining::link(static_cast<int>(d))) != 0;
      }
      if (!surrounded) {
        sum += dirichlet(block, Joining::own_block);
        for (int d = 0; d < D; ++d)
          for (int side = 0; side < 2; ++side) {
            Coord<D> beside = block;
            if (geometry_.step(beside, d, side) && (state_[geometry_.coarse.index(beside)] & Joining::split))
              sum += dirichlet(beside, Joining::attached(d, 1 - side));
          }
      }
      if (massive) {
        coarse_.masses[index] = mass(block);
        sum += coarse_.masses[index];
      }
      coarse_.diagonal[index] = sum;
    });
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
};

}  // namespace

template <int D>
bool CellJoining<D>::regular(const BlockGeometry<D>& geometry, const Coord<D>& block) const {
  const Index index = geometry.coarse.index(block);
  if (!(state[index] & full)) return false;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    if (block[axis] == 0 || block[axis] + 1 == geometry.coarse.cells[axis]) return false;
    if (!(links[index] & links[index + geometry.coarse.strides[axis]] & link(d))) return false;
  }
  return true;
}

template <int D>
void PoissonCoarsening<D>::run(const FaceMatrix<float, D>& fine, FaceMatrix<float, D>& coarse, CellJoining<D>& joining) {
  Builder<D>(fine, coarse, joining).run();
}

template struct CellJoining<2>;
template struct CellJoining<3>;
template class PoissonCoarsening<2>;
template class PoissonCoarsening<3>;

}  // namespace meniscus::grid
