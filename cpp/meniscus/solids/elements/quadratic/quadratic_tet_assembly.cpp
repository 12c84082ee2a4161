// Assembly of the stiffness matrix of `QuadraticTetElements` from the blocks at the points of each element.
#include "meniscus/solids/elements/quadratic/quadratic_lanes.hpp"
#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using quadratic_tet::points;

namespace {

/// A 3 x 3 block by rows.
struct PackBlock {
  Pack eight;
  double last;

  MENISCUS_INLINE PackBlock operator+(const PackBlock& b) const { return {eight + b.eight, last + b.last}; }
};

MENISCUS_INLINE PackBlock operator*(double s, const PackBlock& b) { return {s * b.eight, s * b.last}; }

MENISCUS_INLINE PackBlock stored(const double* tangents, int q, int i, int j) {
  const double* const at = tangents + detail::tangent_place(q, i < j ? i : j, i < j ? j : i);
  const Pack v = load_pack(at);
  return {i <= j ? v : __builtin_shufflevector(v, v, 0, 3, 6, 1, 4, 7, 2, 5), at[8]};
}

MENISCUS_INLINE void add_block(BlockStiffness::Block& to, const PackBlock& b) {
  double* const p = to.data();
  store_pack(p, load_pack(p) + b.eight);
  p[8] += b.last;
}

/// Derivatives of the shape functions in the directions of the reference axes.
struct Slopes {
  double of[quadratic_tet::nodes][points][3];
  constexpr Slopes() : of{} {
    for (int k = 0; k < quadratic_tet::nodes; ++k)
      for (int q = 0; q < points; ++q)
        for (int i = 0; i < 3; ++i) of[k][q][i] = quadratic_tet::slope(i + 1, k, q) - quadratic_tet::slope(0, k, q);
  }
};
constexpr Slopes slopes;

/// Adds the blocks of one node of an element with the given tangents.
/// One loop for all nodes: code of their own, without the slopes that are 0, would not stay in the cache of instructions.
MENISCUS_INLINE void add_row(const double* tangents, int node, BlockStiffness::Block* row, const std::uint16_t* place) {
  // Derivatives of the forces of the node by those of positions in the directions of the four barycentric coordinates.
  PackBlock along[points][4], sum[4];
  for (int q = 0; q < points; ++q) {
    const double (&s)[3] = slopes.of[node][q];
    for (int j = 0; j < 3; ++j)
      along[q][j + 1] = (s[0] * stored(tangents, q, 0, j) + s[1] * stored(tangents, q, 1, j)) + s[2] * stored(tangents, q, 2, j);
    along[q][0] = -1.0 * ((along[q][1] + along[q][2]) + along[q][3]);
  }
  for (int j = 0; j < 4; ++j) sum[j] = (along[0][j] + along[1][j]) + (along[2][j] + along[3][j]);
  for (int i = 0; i < 4; ++i) {
    add_block(row[place[i]], (quadratic_tet::base - 1) * sum[i] + quadratic_tet::peak * along[i][i]);
    for (int j = 0; j < i; ++j)
      add_block(row[place[quadratic_tet::between[i][j]]],
                quadratic_tet::base * (sum[i] + sum[j]) + quadratic_tet::peak * (along[j][i] + along[i][j]));
  }
}

}  // namespace

void QuadraticTetElements::assemble() {
  matrix_->fill(gather_, in_step(), [&](Index e, int node, BlockStiffness::Block* row, const std::uint16_t* place) {
    add_row(fields_.data() + e * detail::tangent_fields, node, row, place);
  });
}

}  // namespace meniscus::solids
