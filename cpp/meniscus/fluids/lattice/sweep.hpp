/// One step of all cells: each row is collided in packs, and what leaves the box is carried while it is in the cache.
#pragma once

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/lattice/cumulant.hpp"
#include "meniscus/fluids/lattice/exits.hpp"

namespace meniscus::fluids::lattice {

/// What a sweep has seen of the flow before its collision.
struct SweepReport {
  double largest_square = 0.0;  ///< of the speed
  bool refused = false;         ///< a speed above the limit, or none at all

  static SweepReport joined(const SweepReport& a, const SweepReport& b) {
    return {a.largest_square < b.largest_square ? b.largest_square : a.largest_square, a.refused || b.refused};
  }
};

/// Which cells are fluid, as one byte of bits for each pack of a row; null: all.
struct FluidBits {
  const std::uint8_t* bits = nullptr;
  Index packs_per_row = 0;
};

/// Addresses of one row, and the running measures.
template <class L, class T, bool Cumulants, bool Eddies>
struct RowKernel {
  static constexpr int Q = L::directions;
  using C = typename Storage<T>::Compute;
  using P = PackOf<C>;
  static constexpr int lanes = Lanes<C>::count;

  const CollisionNumbers<C>& numbers;
  const std::array<C, Q>& units;
  std::array<T*, Q> from, to;
  P largest{};
  typename Lanes<C>::Mask refused{};

  MENISCUS_INLINE void measure(const P& square) {
    refused |= !(square <= numbers.limit);
    largest = square > largest ? square : largest;
  }

  MENISCUS_INLINE P collided(P* f) const {
    if constexpr (Cumulants) {
      return collide_cumulants<L, C, Eddies>(f, numbers);
    } else {
      return collide<L, C, Eddies>(f, numbers);
    }
  }

  MENISCUS_INLINE void whole(Index at) {
    P f[Q];
    unroll<Q>([&](auto k) MENISCUS_FORCED { f[k] = Storage<T>::load(from[k] + at, units[k]); });
    measure(collided(f));
    unroll<Q>([&](auto k) MENISCUS_FORCED { Storage<T>::store(to[k] + at, f[k], units[k]); });
  }

  /// Cells of a whole pack whose bits are set. What belongs to the others, which are solid, is written back as it is.
  MENISCUS_INLINE void mixed(Index at, unsigned bits) {
    typename Lanes<C>::Mask fluid{};
    for (int i = 0; i < lanes; ++i) fluid[i] = (bits >> i & 1U) != 0 ? -1 : 0;
    const P nothing{};
    P f[Q];
    unroll<Q>([&](auto k) MENISCUS_FORCED {
      const P there = Storage<T>::load(from[k] + at, units[k]);
      f[k] = fluid ? there : nothing;
    });
    measure(collided(f));
    unroll<Q>([&](auto k) MENISCUS_FORCED {
      const P before = Storage<T>::load(to[k] + at, units[k]);
      Storage<T>::store(to[k] + at, fluid ? f[k] : before, units[k]);
    });
  }

  /// Cells whose bits are set; what belongs to the others is left as it is.
  MENISCUS_NOINLINE void some(Index at, unsigned bits) {
    P f[Q];
    for (int k = 0; k < Q; ++k) {
      f[k] = P{};
      for (int i = 0; i < lanes; ++i)
        if (bits >> i & 1U) f[k][i] = Storage<T>::value(from[k][at + i], units[k]);
    }
    measure(collided(f));
    for (int k = 0; k < Q; ++k)
      for (int i = 0; i < lanes; ++i)
        if (bits >> i & 1U) to[k][at + i] = Storage<T>::stored(f[k][i], units[k]);
  }

  MENISCUS_INLINE void row(Index begin, Index cells, const std::uint8_t* bits) {
    constexpr unsigned all = (1U << lanes) - 1;
    Index z = 0;
    for (; z + lanes <= cells; z += lanes) {
      const unsigned fluid = bits ? bits[z / lanes] : all;
      if (fluid == all) {
        whole(begin + z);
      } else if (fluid != 0) {
        mixed(begin + z, fluid);
      }
    }
    if (z < cells) {
      const unsigned there = (1U << (cells - z)) - 1, fluid = bits ? bits[z / lanes] & there : there;
      if (fluid != 0) some(begin + z, fluid);
    }
  }
};

/// Collides and moves all populations. Not to be interrupted: what it overwrites is nowhere else.
template <class L, class T, bool Cumulants, bool Eddies>
SweepReport sweep(const Populations<L, T>& f, const Sides<L::dimension>& sides, const FluidBits& fluid, const CollisionRule& rule,
                  const std::array<typename Storage<T>::Compute, L::directions>& units) {
  using C = typename Storage<T>::Compute;
  constexpr int D = L::dimension;
  const CollisionNumbers<C> numbers(rule);
  const auto& box = f.box();
  const Index cells = box.cells[D - 1], rows = box.rows(), per_chunk = std::max<Index>(1, 16384 / cells);
  const RowEnds<L, T> ends(f, sides);
  const core::NoInterrupts whole;
  return core::parallel_reduce(
      0, rows, per_chunk, SweepReport{},
      [&](Index begin, Index end) {
        RowKernel<L, T, Cumulants, Eddies> kernel{numbers, units, {}, {}, {}, {}};
        for (int k = 0; k < L::directions; ++k) {
          kernel.from[k] = f.arriving(k);
          kernel.to[k] = f.leaving(k);
        }
        for (Index r = begin; r < end; ++r) {
          const Coord<D> c = box.row(r);
          const std::uint8_t* bits = fluid.bits ? fluid.bits + r * fluid.packs_per_row : nullptr;
          core::simd_dispatch([&] { kernel.row(box.index(c), cells, bits); });
          carry_exits(f, sides, ends, c, units);
        }
        SweepReport seen;
        for (int i = 0; i < Lanes<C>::count; ++i)
          seen = SweepReport::joined(seen, {static_cast<double>(kernel.largest[i]), kernel.refused[i] != 0});
        return seen;
      },
      SweepReport::joined);
}

}  // namespace meniscus::fluids::lattice
