/// Common parts of the kernels over tetrahedra, for use inside of `simd_dispatch`.
#pragma once

#include "meniscus/solids/elements/element_lanes.hpp"
#include "meniscus/solids/elements/tet_elements.hpp"

namespace meniscus::solids::detail {
using namespace numerics;  // packs and their arithmetic

/// Positions of the fields of an element. Stiffnesses are multiplied by the volume. Linear and corotational elements: z1, z2, z3;
/// lambda; mu; of corotational ones the stiffness against turning R and the left stretch F R^T, symmetric matrices.
struct WarpedFields {
  static constexpr int z = 0, lambda = 9, mu = 10, turning = 11, stretch = 17;
};
/// The others: v^T y1 to v^T y3; u; the tangent between principal axes; F by columns; lambda; mu.
struct PrincipalFields {
  static constexpr int z = 0, u = 9, a = 18, p = 24, q = 27, f = 30, lambda = 39, mu = 40;
};

inline int field_count(Material m) { return m == Material::linear ? 11 : m == Material::corotational ? 23 : 41; }

/// Access to the fields of eight elements; `field` and `lane` are the strides between fields and between elements.
struct FieldReader {
  const double* first;
  std::size_t field, lane;
  MENISCUS_INLINE Pack get(int k) const {
    const double* const p = first + static_cast<std::size_t>(k) * field;
    if (lane == 1) return load_pack(p);
    Pack r;
    for (int l = 0; l < pack_size; ++l) r[l] = p[static_cast<std::size_t>(l) * lane];
    return r;
  }
  MENISCUS_INLINE PackMat3 matrix(int k) const {
    return {{get(k), get(k + 1), get(k + 2)}, {get(k + 3), get(k + 4), get(k + 5)}, {get(k + 6), get(k + 7), get(k + 8)}};
  }
  MENISCUS_INLINE PackSym3 symmetric(int k) const { return {get(k), get(k + 1), get(k + 2), get(k + 3), get(k + 4), get(k + 5)}; }
};

struct FieldWriter {
  double* first;
  std::size_t field, lane;
  MENISCUS_INLINE void put(int k, const Pack& v) const {
    double* const p = first + static_cast<std::size_t>(k) * field;
    if (lane == 1) return store_pack(p, v);
    for (int l = 0; l < pack_size; ++l) p[static_cast<std::size_t>(l) * lane] = v[l];
  }
  MENISCUS_INLINE void matrix(int k, const PackMat3& m) const {
    const Pack v[9] = {m.a.x, m.a.y, m.a.z, m.b.x, m.b.y, m.b.z, m.c.x, m.c.y, m.c.z};
    for (int i = 0; i < 9; ++i) put(k + i, v[i]);
  }
  MENISCUS_INLINE void symmetric(int k, const PackSym3& m) const {
    const Pack v[6] = {m.xx, m.yy, m.zz, m.xy, m.yz, m.zx};
    for (int i = 0; i < 6; ++i) put(k + i, v[i]);
  }
};

/// Values at the nodes 1, 2 and 3 less that at node 0.
MENISCUS_INLINE PackMat3 edges_of(const TetElements::Rest& e, const mesh::Point* x) {
  Pack p[4][3];
  for (int k = 0; k < 4; ++k)
    for (int l = 0; l < pack_size; ++l) {
      const double* const from = x[e.node[k][l]].data();
      for (int d = 0; d < 3; ++d) p[k][d][l] = from[d];
    }
  return {{p[1][0] - p[0][0], p[1][1] - p[0][1], p[1][2] - p[0][2]},
          {p[2][0] - p[0][0], p[2][1] - p[0][1], p[2][2] - p[0][2]},
          {p[3][0] - p[0][0], p[3][1] - p[0][1], p[3][2] - p[0][2]}};
}

/// The rows y1, y2, y3 as the columns of a matrix, from nine numbers per lane.
MENISCUS_INLINE PackMat3 rows_of(const double* y) {
  const auto v = [&](int k) { return load_pack(y + k * pack_size); };
  return {{v(0), v(1), v(2)}, {v(3), v(4), v(5)}, {v(6), v(7), v(8)}};
}

/// A bound of the square of the largest stretch, by the rows of F^T F.
MENISCUS_INLINE Pack square_of_stretch(const PackMat3& f) {
  const Pack ab = abs(dot(f.a, f.b)), bc = abs(dot(f.b, f.c)), ca = abs(dot(f.c, f.a));
  return max(max(dot(f.a, f.a) + ab + ca, dot(f.b, f.b) + ab + bc), dot(f.c, f.c) + bc + ca);
}

/// sum d_k y_k^T over k = 1, 2, 3.
MENISCUS_INLINE PackMat3 gradient(const PackMat3& d, const PackMat3& y) { return d * transposed(y); }

/// Puts -m y_k at the corners 1 to 3, and minus their sum at corner 0.
MENISCUS_INLINE void put_forces(mesh::Point* to, const PackMat3& m, const PackMat3& y) {
  const PackMat3 f = m * y;
  const PackVec3 f0 = f.a + f.b + f.c;
  const Pack v[12] = {f0.x, f0.y, f0.z, -f.a.x, -f.a.y, -f.a.z, -f.b.x, -f.b.y, -f.b.z, -f.c.x, -f.c.y, -f.c.z};
  double* const out = to->data();
  for (int l = 0; l < pack_size; ++l)
    for (int k = 0; k < 12; ++k) out[12 * l + k] = v[k][l];
}

/// Calls f with the material as a constant.
template <class F>
decltype(auto) with_material(Material m, F&& f) {
  switch (m) {
    case Material::linear:
      return f(std::integral_constant<Material, Material::linear>{});
    case Material::corotational:
      return f(std::integral_constant<Material, Material::corotational>{});
    case Material::st_venant_kirchhoff:
      return f(std::integral_constant<Material, Material::st_venant_kirchhoff>{});
    case Material::neo_hookean:
      break;
  }
  return f(std::integral_constant<Material, Material::neo_hookean>{});
}

}  // namespace meniscus::solids::detail
