/// Populations that leave the box: where they arrive again, and what sides do to them.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/lattice/collision.hpp"
#include "meniscus/fluids/lattice/populations.hpp"
#include "meniscus/fluids/lattice/sides.hpp"

namespace meniscus::fluids::lattice {

/// Where the population arrives that leaves the cell at c along k. A wall sends it back, whatever else it crosses; a pressure
/// decides before a reflection; around periodic axes and at free slip it goes on.
template <class L>
Arrival arrival_of(const CellBox<L::dimension>& box, const Sides<L::dimension>& sides, const Coord<L::dimension>& c, int k) {
  constexpr int D = L::dimension;
  Arrival a;
  Coord<D> m = c;
  std::array<int, 3> e{};
  int wall = -1, given = -1;
  bool out = false;
  for (int d = 0; d < D; ++d) {
    e[d] = L::e[k][d];
    m[d] += e[d];
    if (m[d] >= 0 && m[d] < box.cells[d]) continue;
    out = true;
    const int side = 2 * d + (m[d] < 0 ? 0 : 1);
    switch (sides[side].kind) {
      case SideKind::no_slip:
        if (wall < 0) wall = side;
        break;
      case SideKind::pressure:
      case SideKind::outflow:
        if (given < 0) given = side;
        break;
      case SideKind::around:
        m[d] = m[d] < 0 ? box.cells[d] - 1 : 0;
        break;
      case SideKind::free_slip:
        m[d] = c[d];
        e[d] = -e[d];
        break;
    }
  }
  if (!out) return a;
  a.kind = Arrival::Kind::at;
  if (wall >= 0 || given >= 0) {
    a.side = wall >= 0 ? wall : given;
    if (wall < 0) a.kind = Arrival::Kind::from_density;
    a.direction = opposite(k);
    a.cell = box.index(c);
    return a;
  }
  a.direction = L::find(e);
  a.cell = box.index(m);
  return a;
}

/// Number of a cell among those of a side.
template <int D>
Index place_on_side(const CellBox<D>& box, int axis, const Coord<D>& c) {
  Index place = 0;
  for (int d = 0; d < D; ++d)
    if (d != axis) place = place * box.cells[d] + c[d];
  return place;
}

template <int D>
Index cells_of_side(const CellBox<D>& box, int axis) {
  return core::product<D>(box.cells) / box.cells[axis];
}

/// What a wall that moves adds to a population which it sends back along the opposite of k.
template <class L>
double wall_push(const CellBox<L::dimension>& box, const Side& side, int axis, const Coord<L::dimension>& c, int k) {
  double along = 0;
  const bool varies = side.profile.size() > 0;
  const Index place = varies ? place_on_side<L::dimension>(box, axis, c) : 0,
              count = varies ? cells_of_side<L::dimension>(box, axis) : 0;
  for (int d = 0; d < L::dimension; ++d) along += L::e[k][d] * (varies ? side.profile[d * count + place] : side.velocity[d]);
  return -6.0 * L::weight(k) * along;
}

/// What leaves at the ends of the rows that touch no other side: the same for all of them, with places relative to their first
/// cells.
template <class L, class T>
struct RowEnds {
  struct End {
    const T* from = nullptr;
    T* to = nullptr;
    double push = 0.0;
    int direction = 0, arriving = 0;
  };
  std::array<End, L::directions> ends{};
  int count = 0;
  bool usable = false;  ///< not where velocities vary along a side, or the box has no such rows

  RowEnds(const Populations<L, T>& f, const Sides<L::dimension>& sides) {
    constexpr int D = L::dimension, last = D - 1;
    const auto& box = f.box();
    for (int d = 0; d < last; ++d)
      if (box.cells[d] < 3) return;
    for (int s = 2 * last; s < 2 * D; ++s)
      if (sides[s].profile.size() > 0) return;
    usable = true;
    for (int k = 1; k < L::directions; ++k) {
      const int e = L::e[k][last];
      if (e == 0) continue;
      Coord<D> c{};
      c.fill(1);
      const Index row = box.index(c) - 1;  // its first cell
      c[last] = e > 0 ? box.cells[last] - 1 : 0;
      const Arrival a = arrival_of<L>(box, sides, c, k);
      if (a.kind != Arrival::Kind::at) continue;
      const double push = a.side < 0 ? 0.0 : wall_push<L>(box, sides[a.side], last, c, k);
      ends[count++] = {f.leaving(k) + (box.index(c) - row), f.next(a.direction) + (a.cell - row), push, k, a.direction};
    }
  }

  void carry(Index row, const std::array<typename Storage<T>::Compute, L::directions>& units) const {
    using C = typename Storage<T>::Compute;
    for (int i = 0; i < count; ++i) {
      const End& end = ends[i];
      if (end.push == 0.0) {
        end.to[row] = end.from[row];
      } else {
        end.to[row] =
            Storage<T>::stored(Storage<T>::value(end.from[row], units[end.direction]) + C(end.push), units[end.arriving]);
      }
    }
  }
};

/// Carries what left the cells of one row through the sides to where it arrives. `units` are those of the storage.
template <class L, class T>
void carry_exits(const Populations<L, T>& f, const Sides<L::dimension>& sides, const RowEnds<L, T>& ends,
                 const Coord<L::dimension>& row, const std::array<typename Storage<T>::Compute, L::directions>& units) {
  constexpr int D = L::dimension, last = D - 1;
  using C = typename Storage<T>::Compute;
  const auto& box = f.box();
  const Index n = box.cells[last];
  bool at_side = false;
  for (int d = 0; d < last; ++d) at_side = at_side || row[d] == 0 || row[d] == box.cells[d] - 1;
  if (!at_side && ends.usable) {
    ends.carry(box.index(row), units);
    return;
  }
  for (int k = 1; k < L::directions; ++k) {
    const int e = L::e[k][last];
    bool leaves = false;
    if (at_side)
      for (int d = 0; d < last; ++d) leaves = leaves || row[d] + L::e[k][d] < 0 || row[d] + L::e[k][d] >= box.cells[d];
    const auto carry = [&](Index begin, Index end) {
      Coord<D> c = row;
      c[last] = begin;
      const Arrival a = arrival_of<L>(box, sides, c, k);
      if (a.kind != Arrival::Kind::at) return;
      const T* from = f.leaving(k) + box.index(c);
      T* to = f.next(a.direction) + a.cell;
      if (a.side < 0) {
        for (Index i = 0; i < end - begin; ++i) to[i] = from[i];
        return;
      }
      const Side& side = sides[a.side];
      const int axis = a.side / 2;
      double push = wall_push<L>(box, side, axis, c, k);
      if (push == 0.0 && side.profile.size() == 0) {
        for (Index i = 0; i < end - begin; ++i) to[i] = from[i];
        return;
      }
      for (Index i = 0; i < end - begin; ++i) {
        if (side.profile.size() > 0) {
          c[last] = begin + i;
          push = wall_push<L>(box, side, axis, c, k);
        }
        to[i] = Storage<T>::stored(Storage<T>::value(from[i], units[k]) + C(push), units[a.direction]);
      }
    };
    // The cells at the ends may meet another side.
    if (leaves) {
      const Index begin = e < 0 ? 1 : 0, end = e > 0 ? n - 1 : n;
      if (begin < end) carry(begin, end);
    }
    if (e > 0) carry(n - 1, n);
    if (e < 0) carry(0, 1);
  }
}

/// Pressure that each cell of an outflow has now, and the speed that it had.
struct OutflowMemory {
  core::Block<double> density, speed;
  bool begun = false;
};

/// Where a population arrives that comes in along k from beyond the cell at c of a side across an axis: moves c along the side,
/// and returns the direction, another one where it is reflected on the way; 0 where a wall or another such side is in the way.
template <class L>
int along_side(const CellBox<L::dimension>& box, const Sides<L::dimension>& sides, int axis, int k, Coord<L::dimension>& c) {
  std::array<int, 3> e{};
  for (int d = 0; d < L::dimension; ++d) {
    e[d] = L::e[k][d];
    if (d == axis) continue;
    const Index next = c[d] + e[d];
    if (next >= 0 && next < box.cells[d]) {
      c[d] = next;
      continue;
    }
    const SideKind kind = sides[2 * d + (next < 0 ? 0 : 1)].kind;
    if (kind == SideKind::around) {
      c[d] = next < 0 ? box.cells[d] - 1 : 0;
    } else if (kind == SideKind::free_slip) {
      e[d] = -e[d];
    } else {
      return 0;
    }
  }
  return L::find(e);
}

/// Whether what comes in along k across an axis comes from beyond another side with a pressure as well.
template <class L>
bool beyond_two_sides(const CellBox<L::dimension>& box, const Sides<L::dimension>& sides, int axis, int k,
                      const Coord<L::dimension>& c) {
  bool two = false;
  for (int d = 0; d < L::dimension; ++d) {
    const Index from = c[d] - L::e[k][d];
    if (d == axis || (from >= 0 && from < box.cells[d])) continue;
    const SideKind kind = sides[2 * d + (from < 0 ? 0 : 1)].kind;
    if (kind == SideKind::no_slip) return false;
    two = two || kind == SideKind::pressure || kind == SideKind::outflow;
  }
  return two;
}

/// Sets what comes in through a side with a given pressure: what the cells there send inwards themselves, as if one cell farther
/// out, with the weights times what the pressure one cell farther is above its own, such that the given one is on the side. At an
/// outflow the pressure rises with the speed by rho c, so that waves leave; what is left of it is forgotten slowly.
///
/// Source: Guo, Zheng and Shi 2002, Chin. Phys. 11, 366 (extrapolation of what is not equilibrium); Poinsot and Lele 1992, J.
/// Comput. Phys. 101, 104 (amplitude of incoming waves).
template <class L, class T>
void set_density_side(const Populations<L, T>& f, const Sides<L::dimension>& sides, int number, OutflowMemory& memory,
                      const std::array<double, 3>& force, const std::array<typename Storage<T>::Compute, L::directions>& units) {
  constexpr int D = L::dimension;
  constexpr double sound_inverse = 1.7320508075688772;  // sqrt(3)
  const auto& box = f.box();
  const int axis = number / 2;
  const bool upper = number % 2 == 1, outflow = sides[number].kind == SideKind::outflow;
  const Side& side = sides[number];
  core::parallel_for(0, cells_of_side<L::dimension>(box, axis), 256, [&](Index begin, Index end) {
    for (Index place = begin; place < end; ++place) {
      Coord<D> c{};
      Index left = place;
      for (int d = D - 1; d >= 0; --d) {
        if (d == axis) continue;
        c[d] = left % box.cells[d];
        left /= box.cells[d];
      }
      c[axis] = upper ? box.cells[axis] - 1 : 0;
      const Index cell = box.index(c);
      double own = 0, out = -0.5 * force[axis];
      for (int k = 0; k < L::directions; ++k) {
        const double value = Storage<T>::value(f.leaving(k)[cell], units[k]);
        own += value;
        out += L::e[k][axis] * value;
      }
      if (!upper) out = -out;
      double density = side.density;
      if (outflow) {
        if (memory.begun) {
          double& kept = memory.density[place];
          kept += sound_inverse * (out - memory.speed[place]) - side.relaxation * (kept - side.density);
        } else {
          memory.density[place] = side.density;
        }
        memory.speed[place] = out;
        density = memory.density[place];
      }
      using C = typename Storage<T>::Compute;
      for (int k = 1; k < L::directions; ++k) {
        if (L::e[k][axis] != (upper ? -1 : 1)) continue;
        const C more = C(2.0 * L::weight(k) * (density - own));
        const C inwards = Storage<T>::value(f.leaving(k)[cell], units[k]);
        Coord<D> to = c;
        const int arriving = along_side<L>(box, sides, axis, k, to);
        if (arriving != 0) f.next(arriving)[box.index(to)] = Storage<T>::stored(inwards + more, units[arriving]);
        // Where two such sides meet, nothing is beyond both.
        if (beyond_two_sides<L>(box, sides, axis, k, c)) f.next(k)[cell] = Storage<T>::stored(inwards + more, units[k]);
      }
    }
  });
  memory.begun = true;
}

}  // namespace meniscus::fluids::lattice
