/// Contacts between surfaces eight at a time: their places and their geometry, colour by colour or in any order.
#pragma once

#include "meniscus/collision/contact/repulsion_lanes.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/core/threads/phases.hpp"
#include "meniscus/solids/position/position_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::solids::detail {

using collision::RepulsionPairs;
using collision::detail::PairLanes;
using collision::detail::SweepRules;
using numerics::Pack;
using numerics::PackVec3;
using Node = PositionContacts::Node;

inline constexpr Index pairs_per_task = 512, pairs_of_colour_per_task = 128;
inline constexpr Index width = numerics::pack_size;
inline SweepRules sweep_rules(double reach, bool ends) {
  const collision::RepulsionOptions usual;
  SweepRules r{};
  r.reach = reach;
  r.history = true;
  r.flip = usual.flip;
  r.sided = true;
  r.ends = ends;
  return r;
}

/// Eight pairs of a colour; lanes beyond `size` repeat the first and are not active.
struct PairPack {
  std::int32_t place[4][width];
  Index size;
  Pack thickness;
  PackVec3 x[4];
  PairLanes lanes;
};

/// Numbers of up to eight pairs: consecutive ones, or those of a list.
struct PackRows {
  const std::int32_t* list;
  Index first, size;
  MENISCUS_INLINE std::size_t operator()(int i) const {
    const Index k = i < size ? first + i : first;
    return static_cast<std::size_t>(list == nullptr ? k : static_cast<Index>(list[k]));
  }
};

/// Places of the corners as `at` returns them.
template <class At>
MENISCUS_INLINE PackVec3 gather(const std::int32_t (&place)[width], At&& at) {
  PackVec3 r;
  for (int i = 0; i < width; ++i) {
    const double* const x = at(place[i]);
    r.x[i] = x[0];
    r.y[i] = x[1];
    r.z[i] = x[2];
  }
  return r;
}

template <class At>
MENISCUS_INLINE void load(bool edges, const RepulsionPairs& pairs, const PackRows& row, double wider, const SweepRules& rules,
                          At&& at, PairPack& p) {
  p.size = row.size;
  for (int i = 0; i < width; ++i) {
    for (std::size_t k = 0; k < 4; ++k) p.place[k][i] = pairs.places[row(i)][k];
    p.thickness[i] = wider * pairs.thickness[row(i)];
  }
  for (int k = 0; k < 4; ++k) p.x[k] = gather(p.place[k], at);
  if (edges) {
    PackVec3 before;
    for (int i = 0; i < width; ++i) {
      const auto& d = pairs.direction[row(i)];
      before.x[i] = static_cast<double>(d[0]);
      before.y[i] = static_cast<double>(d[1]);
      before.z[i] = static_cast<double>(d[2]);
    }
    p.lanes = collision::detail::edge_edge_lanes(p.x, before, p.thickness, rules);
  } else {
    p.lanes = collision::detail::vertex_face_lanes(p.x, p.thickness, rules);
  }
  for (int i = 0; i < width; ++i)
    if (i >= p.size) p.lanes.active[i] = 0;
}

inline const double* place_of(const Node& n) { return &n.x; }

/// Calls f(rows) for packs of listed pairs: colour by colour, in parallel within a colour.
template <class F>
void each_colour(std::span<const std::int32_t> list, std::span<const Index> colours, bool backward, F&& f) {
  const auto count = static_cast<Index>(colours.size()) - 1;
  const auto range = [&](Index k) {
    const Index c = backward ? count - 1 - k : k;
    return std::pair(colours[c], colours[c + 1]);
  };
  parallel_phases(count, pairs_of_colour_per_task, range, [&](Index, Index a, Index b) {
    simd_dispatch([&] {
      for (Index first = a; first < b; first += width) f(PackRows{list.data(), first, std::min<Index>(width, b - first)});
    });
  });
}

/// The same for all pairs, in any order.
template <class F>
void each_pack(const RepulsionPairs& pairs, F&& f) {
  parallel_for(0, pairs.size(), pairs_per_task, [&](Index a, Index b) {
    simd_dispatch([&] {
      for (Index first = a; first < b; first += width) f(PackRows{nullptr, first, std::min<Index>(width, b - first)});
    });
  });
}

}  // namespace meniscus::solids::detail
