// Assembly of the stiffness matrix of `TetElements` from the 3 x 3 blocks of each element.
#include "meniscus/solids/elements/tet_elements.hpp"
#include "meniscus/solids/elements/tet_lanes.hpp"

#include <Eigen/Geometry>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::PrincipalFields;
using detail::WarpedFields;

namespace {

/// One element's numbers, `stride` apart.
struct Lane {
  const double* first;
  std::size_t stride;
  double operator()(int k) const { return first[static_cast<std::size_t>(k) * stride]; }
  /// The k-th of the four vectors that sum up to 0, of which 1 to 3 begin at `at`.
  mesh::Point vector(int at, int k) const {
    const auto v = [&](int n) { return mesh::Point((*this)(at + 3 * n), (*this)(at + 3 * n + 1), (*this)(at + 3 * n + 2)); };
    return k == 0 ? mesh::Point(-(v(0) + v(1) + v(2))) : v(k - 1);
  }
};

/// lambda a b^T + mu b a^T + mu (a . b) I.
Block3 isotropic_block(const mesh::Point& a, const mesh::Point& b, double lambda, double mu) {
  Block3 r = (lambda * a) * b.transpose() + (mu * b) * a.transpose();
  r.diagonal().array() += mu * a.dot(b);
  return r;
}

Block3 skew(const mesh::Point& w) {
  Block3 r;
  r << 0, -w.z(), w.y(), w.z(), 0, -w.x(), -w.y(), w.x(), 0;
  return r;
}

Block3 matrix_at(const Lane& e, int at) {
  Block3 r;
  for (int k = 0; k < 9; ++k) r(k % 3, k / 3) = e(at + k);
  return r;
}

}  // namespace

Block3 TetElements::block(const double* fields, Index element, int a, int b, Product product) const {
  const Index pack = element / pack_size;
  const Index lane = element % pack_size;
  const Lane e{fields + pack * static_cast<std::size_t>(field_count_ * pack_size) + lane * lane_stride(), field_stride()};
  if (warped()) {
    const mesh::Point za = e.vector(WarpedFields::z, a), zb = e.vector(WarpedFields::z, b);
    Block3 r = isotropic_block(za, zb, e(WarpedFields::lambda), e(WarpedFields::mu));
    if (options_.material == Material::corotational && product != Product::frozen) {
      const auto symmetric = [&](int t) {
        Block3 m;
        m << e(t), e(t + 3), e(t + 5), e(t + 3), e(t + 1), e(t + 4), e(t + 5), e(t + 4), e(t + 2);
        return m;
      };
      if (product == Product::damping) {
        const Block3 s = symmetric(WarpedFields::stretch);
        return s * r * s;
      }
      r -= 0.5 * (skew(za) * symmetric(WarpedFields::turning) * skew(zb));
    }
    return r;
  }
  if (product != Product::whole) {
    const Lane rest{rest_[pack].y[0] + lane, pack_size};
    const Block3 f = matrix_at(e, PrincipalFields::f);
    return f * isotropic_block(rest.vector(0, a), rest.vector(0, b), e(PrincipalFields::lambda), e(PrincipalFields::mu)) *
           f.transpose();
  }
  using F = PrincipalFields;
  const mesh::Point za = e.vector(F::z, a), zb = e.vector(F::z, b), products = za.cwiseProduct(zb);
  const Block3 u = matrix_at(e, F::u);
  Block3 m;
  m << e(F::a) * products[0] + e(F::p) * products[1] + e(F::p + 2) * products[2],
      e(F::a + 3) * za[0] * zb[1] + e(F::q) * za[1] * zb[0], e(F::a + 5) * za[0] * zb[2] + e(F::q + 2) * za[2] * zb[0],
      e(F::a + 3) * za[1] * zb[0] + e(F::q) * za[0] * zb[1],
      e(F::p) * products[0] + e(F::a + 1) * products[1] + e(F::p + 1) * products[2],
      e(F::a + 4) * za[1] * zb[2] + e(F::q + 1) * za[2] * zb[1], e(F::a + 5) * za[2] * zb[0] + e(F::q + 2) * za[0] * zb[2],
      e(F::a + 4) * za[2] * zb[1] + e(F::q + 1) * za[1] * zb[2],
      e(F::p + 2) * products[0] + e(F::p + 1) * products[1] + e(F::a + 2) * products[2];
  return u * m * u.transpose();
}

namespace {

/// The rows and the columns of a 3 x 3 matrix, but for its last entry, from three numbers.
MENISCUS_INLINE Pack by_rows(const Pack& v) { return __builtin_shufflevector(v, v, 0, 0, 0, 1, 1, 1, 2, 2); }
MENISCUS_INLINE Pack by_columns(const Pack& v) { return __builtin_shufflevector(v, v, 0, 1, 2, 0, 1, 2, 0, 1); }

MENISCUS_INLINE void add_block(BlockStiffness::Block& to, const Pack& first_eight, double last) {
  double* const p = to.data();
  store_pack(p, load_pack(p) + first_eight);
  p[8] += last;
}

/// Adds the blocks of corner a of a corotational element.
template <bool turning>
MENISCUS_INLINE void add_warped_row(const double* e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
  const Pack z1 = load_pack(e), z2 = load_pack(e + 3), z3 = load_pack(e + 6);
  const Pack z[4] = {-(z1 + z2 + z3), z1, z2, z3};
  const double lambda = e[WarpedFields::lambda], mu = e[WarpedFields::mu];
  const Pack za = a == 0 ? z[0] : a == 1 ? z1 : a == 2 ? z2 : z3;
  const Pack lambda_rows = lambda * by_rows(za), mu_columns = mu * by_columns(za), mu_za = mu * za;
  const double last_lambda = (lambda + mu) * za[2];
  // Half of [za]x T, by rows, each rotated once and twice.
  Pack once, twice;
  double last_once = 0, last_twice = 0;
  if constexpr (turning) {
    const double* const t = e + WarpedFields::turning;
    const double xx = t[0], yy = t[1], zz = t[2], xy = t[3], yz = t[4], zx = t[5];
    const double x = 0.5 * za[0], y = 0.5 * za[1], w = 0.5 * za[2];
    const double m[3][3] = {{y * zx - w * xy, y * yz - w * yy, y * zz - w * yz},
                            {w * xx - x * zx, w * xy - x * yz, w * zx - x * zz},
                            {x * xy - y * xx, x * yy - y * xy, x * yz - y * zx}};
    once = Pack{m[0][1], m[0][2], m[0][0], m[1][1], m[1][2], m[1][0], m[2][1], m[2][2]};
    twice = Pack{m[0][2], m[0][0], m[0][1], m[1][2], m[1][0], m[1][1], m[2][2], m[2][0]};
    last_once = m[2][0];
    last_twice = m[2][1];
  }
  for (int b = 0; b < 4; ++b) {
    const Pack& zb = z[b];
    const Pack product = mu_za * zb;
    const double dot = (product[0] + product[1]) + product[2];
    Pack first_eight = lambda_rows * by_columns(zb) + mu_columns * by_rows(zb) + Pack{dot, 0, 0, 0, dot, 0, 0, 0};
    double last = last_lambda * zb[2] + dot;
    if constexpr (turning) {
      // Rows of ([za]x T / 2) times zb as cross products.
      first_eight -= once * __builtin_shufflevector(zb, zb, 2, 0, 1, 2, 0, 1, 2, 0) -
                     twice * __builtin_shufflevector(zb, zb, 1, 2, 0, 1, 2, 0, 1, 2);
      last -= last_once * zb[1] - last_twice * zb[0];
    }
    add_block(row[place[b]], first_eight, last);
  }
}

/// The first three lanes of a pack, from three numbers.
MENISCUS_INLINE Pack first_three(double x, double y, double z) { return Pack{x, y, z, 0, 0, 0, 0, 0}; }

/// m u^T as its rows, then u m u^T, added to a block; m and u by columns.
MENISCUS_INLINE void add_rotated(BlockStiffness::Block& to, const Pack (&u)[3], const Pack (&m)[3]) {
  const Pack t = by_rows(m[0]) * by_columns(u[0]) + by_rows(m[1]) * by_columns(u[1]) + by_rows(m[2]) * by_columns(u[2]);
  const double t8 = m[0][2] * u[0][2] + m[1][2] * u[1][2] + m[2][2] * u[2][2];
  const Pack columns0 = __builtin_shufflevector(t, t, 0, 1, 2, 0, 1, 2, 0, 1);
  const Pack columns1 = __builtin_shufflevector(t, t, 3, 4, 5, 3, 4, 5, 3, 4);
  const Pack last = Pack{t8, t8, t8, t8, t8, t8, t8, t8};
  const Pack columns2 = __builtin_shufflevector(t, last, 6, 7, 8, 6, 7, 8, 6, 7);
  add_block(to, by_rows(u[0]) * columns0 + by_rows(u[1]) * columns1 + by_rows(u[2]) * columns2,
            u[0][2] * t[2] + u[1][2] * t[5] + u[2][2] * t8);
}

/// Adds the blocks of corner a of an element whose tangent is given between principal axes.
MENISCUS_INLINE void add_principal_row(const double* e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
  using F = PrincipalFields;
  const Pack z1 = load_pack(e + F::z), z2 = load_pack(e + F::z + 3), z3 = load_pack(e + F::z + 6);
  const Pack z[4] = {-(z1 + z2 + z3), z1, z2, z3};
  const Pack za = a == 0 ? z[0] : a == 1 ? z1 : a == 2 ? z2 : z3;
  const Pack u[3] = {load_pack(e + F::u), load_pack(e + F::u + 3), load_pack(e + F::u + 6)};
  const double* const d = e + F::a;
  const double* const p = e + F::p;
  const double* const q = e + F::q;
  const Pack in_line[3] = {first_three(d[0], d[3], d[5]) * za, first_three(d[3], d[1], d[4]) * za,
                           first_three(d[5], d[4], d[2]) * za};
  const Pack crossed[3] = {first_three(0, q[0], q[2]) * za[0], first_three(q[0], 0, q[1]) * za[1],
                           first_three(q[2], q[1], 0) * za[2]};
  const Pack beside[3] = {first_three(0, p[0], p[2]) * za[0], first_three(p[0], 0, p[1]) * za[1],
                          first_three(p[2], p[1], 0) * za[2]};
  const Pack unit[3] = {first_three(1, 0, 0), first_three(0, 1, 0), first_three(0, 0, 1)};
  for (int b = 0; b < 4; ++b) {
    const Pack& zb = z[b];
    const Pack diagonal = beside[0] * zb[0] + beside[1] * zb[1] + beside[2] * zb[2];
    Pack m[3];
    for (int c = 0; c < 3; ++c) m[c] = in_line[c] * zb[c] + crossed[c] * zb + unit[c] * diagonal;
    add_rotated(row[place[b]], u, m);
  }
}

/// The same with Hooke's law for the rate of Green strain, carried into space by F; y1 to y3 lie `pack_size` apart.
MENISCUS_INLINE void add_green_row(const double* e, const double* y, int a, BlockStiffness::Block* row,
                                   const std::uint16_t* place) {
  using F = PrincipalFields;
  Pack z[4] = {splat(0.0), splat(0.0), splat(0.0), splat(0.0)};
  for (int k = 1; k < 4; ++k) {
    const double* const at = y + 3 * (k - 1) * pack_size;
    z[k] = first_three(at[0], at[pack_size], at[2 * pack_size]);
  }
  z[0] = -(z[1] + z[2] + z[3]);
  const Pack f[3] = {load_pack(e + F::f), load_pack(e + F::f + 3), load_pack(e + F::f + 6)};
  const Pack za = a == 0 ? z[0] : a == 1 ? z[1] : a == 2 ? z[2] : z[3];
  const double lambda = e[F::lambda], mu = e[F::mu];
  const Pack unit[3] = {first_three(1, 0, 0), first_three(0, 1, 0), first_three(0, 0, 1)}, lambda_za = lambda * za,
             mu_za = mu * za;
  for (int b = 0; b < 4; ++b) {
    const Pack product = mu_za * z[b];
    const double dot = (product[0] + product[1]) + product[2];
    Pack m[3];
    for (int c = 0; c < 3; ++c) m[c] = lambda_za * z[b][c] + z[b] * mu_za[c] + unit[c] * dot;
    add_rotated(row[place[b]], f, m);
  }
}

}  // namespace

void TetElements::assemble() {
  const bool frozen = tangent_ == Tangent::frozen, turning = !frozen;
  const auto element = [&](Index e) { return fields_.data() + e * field_count_; };
  if (!warped() && frozen)
    matrix_->fill(gather_, in_step(), [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      const Rest& rest = rest_[e / pack_size];
      add_green_row(element(e), rest.y[0] + e % pack_size, a, row, place);
    });
  else if (!warped())
    matrix_->fill(gather_, in_step(), [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      add_principal_row(element(e), a, row, place);
    });
  else if (turning)
    matrix_->fill(gather_, in_step(), [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      add_warped_row<true>(element(e), a, row, place);
    });
  else
    matrix_->fill(gather_, in_step(), [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      add_warped_row<false>(element(e), a, row, place);
    });
}

}  // namespace meniscus::solids
