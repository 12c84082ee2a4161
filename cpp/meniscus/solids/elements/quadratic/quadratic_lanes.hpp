/// Common parts of the kernels over quadratic tetrahedra, for use inside of `simd_dispatch`.
#pragma once

#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"
#include "meniscus/solids/elements/tet_lanes.hpp"

namespace meniscus::solids::detail {
using namespace numerics;  // packs and their arithmetic

/// Calls work(first pack, last pack) in parallel: these elements take longer than linear ones.
inline constexpr Index quadratic_packs_per_piece = 16;
template <class Work>
void for_quadratic_packs(std::size_t packs, Work&& work) {
  for_packs(packs, std::forward<Work>(work), quadratic_packs_per_piece);
}

/// Stored tangents per element: six blocks of nine numbers at each point.
inline constexpr int tangent_fields = 6 * 9 * quadratic_tet::points;

/// Where the block between the reference axes i <= j (0 to 2) begins.
constexpr int tangent_place(int q, int i, int j) { return 54 * q + 9 * (i == 0 ? j : i + j + 1); }

/// The values of a vector at the ten nodes, less that at the first corner, and for each corner the sum over the nodes next to it.
struct NodeValues {
  PackVec3 at[quadratic_tet::nodes];
  PackVec3 around[4];

  MENISCUS_INLINE NodeValues(const QuadraticTetElements::Rest& e, const mesh::Point* x) {
    Pack p[quadratic_tet::nodes][3];
    for (int k = 0; k < quadratic_tet::nodes; ++k)
      for (int l = 0; l < pack_size; ++l) {
        const double* const from = x[e.node[k][l]].data();
        for (int d = 0; d < 3; ++d) p[k][d][l] = from[d];
      }
    at[0] = {splat(0.0), splat(0.0), splat(0.0)};
    for (int k = 1; k < quadratic_tet::nodes; ++k) at[k] = {p[k][0] - p[0][0], p[k][1] - p[0][1], p[k][2] - p[0][2]};
    constexpr auto& n = quadratic_tet::between;
    for (int i = 0; i < 4; ++i)
      around[i] = splat(quadratic_tet::base) * ((at[n[i][0]] + at[n[i][1]]) + (at[n[i][2]] + at[n[i][3]])) - at[i];
  }

  /// The derivatives in the directions of the three reference axes at a point, as columns.
  MENISCUS_INLINE PackMat3 slopes(int q) const {
    const auto along = [&](int i) { return around[i] + splat(quadratic_tet::peak) * at[quadratic_tet::between[i][q]]; };
    const PackVec3 first = along(0);
    return {along(1) - first, along(2) - first, along(3) - first};
  }
};

/// The transpose of the sums over points of `slopes`: minus that of w P y_k, the columns of `t`, for the ten nodes.
MENISCUS_INLINE void put_node_forces(mesh::Point* to, const PackMat3 (&t)[quadratic_tet::points]) {
  constexpr auto& n = quadratic_tet::between;
  const Pack base = splat(quadratic_tet::base), peak = splat(quadratic_tet::peak);
  PackVec3 along[4][quadratic_tet::points], sum[4];
  for (int q = 0; q < quadratic_tet::points; ++q) {
    along[1][q] = t[q].a, along[2][q] = t[q].b, along[3][q] = t[q].c;
    along[0][q] = -((t[q].a + t[q].b) + t[q].c);
  }
  for (int i = 0; i < 4; ++i) sum[i] = (along[i][0] + along[i][1]) + (along[i][2] + along[i][3]);
  PackVec3 f[quadratic_tet::nodes];
  for (int i = 0; i < 4; ++i) {
    f[i] = (splat(1.0) - base) * sum[i] - peak * along[i][i];
    for (int j = 0; j < i; ++j) f[n[i][j]] = -(base * (sum[i] + sum[j]) + peak * (along[i][j] + along[j][i]));
  }
  double* const out = to->data();
  for (int k = 0; k < quadratic_tet::nodes; ++k)
    for (int l = 0; l < pack_size; ++l) {
      double* const at = out + 3 * (quadratic_tet::nodes * l + k);
      at[0] = f[k].x[l], at[1] = f[k].y[l], at[2] = f[k].z[l];
    }
}

MENISCUS_INLINE PackMat3 inverse_at(const QuadraticTetElements::Rest& e, int q) { return rows_of(e.y[q][0]); }

}  // namespace meniscus::solids::detail
