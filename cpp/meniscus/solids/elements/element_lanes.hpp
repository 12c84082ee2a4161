/// Common parts of the kernels over packs of elements, for use inside of `simd_dispatch`.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/numerics/lane_pack.hpp"

namespace meniscus::solids::detail {
using namespace numerics;  // packs and their arithmetic

/// Packs of eight elements that a thread works on at a time.
inline constexpr Index packs_per_piece = 64;

/// Calls work(first pack, last pack) in parallel, over as many packs at a time as `piece`.
template <class Work>
void for_packs(std::size_t packs, Work&& work, Index piece = packs_per_piece) {
  parallel_for(0, static_cast<Index>(packs), piece, [&](Index b, Index e) {
    auto kernel = [&] { work(b, static_cast<std::size_t>(e)); };
    simd_dispatch(kernel);
  });
}

/// Rates at which edges dx change their lengths under velocities dv of their second ends against the first, m/s, without sign.
/// Where two nodes coincide, any relative motion separates them.
MENISCUS_INLINE Pack length_rate(const PackVec3& dx, const PackVec3& dv) {
  const Pack length = sqrt(dot(dx, dx)), along = abs(dot(dx, dv)), one = splat(1.0);
  return select(length > 0.0, along / select(length > 0.0, length, one), sqrt(dot(dv, dv)));
}

}  // namespace meniscus::solids::detail
