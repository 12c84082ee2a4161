#include "meniscus/solids/tet_elements.hpp"
#include "meniscus/solids/tet_lanes.hpp"

#include <Eigen/Geometry>

namespace meniscus {

using detail::for_tet_packs;
using detail::with_material;

namespace {

/// Where what is, among the fields of an element. Stiffnesses are times the volume.
/// Linear and corotational elements: z1, z2, z3; lambda; mu; the stiffness against turning R, a symmetric matrix.
struct WarpedFields {
  static constexpr int z = 0, lambda = 9, mu = 10, turning = 11;
};
/// The others: v^T y1 to v^T y3; u; the tangent between principal axes; F by columns; lambda; mu.
struct PrincipalFields {
  static constexpr int z = 0, u = 9, a = 18, p = 24, q = 27, f = 30, lambda = 39, mu = 40;
};

/// Below this sum of two stretches the derivative of the rotation is cut off.
constexpr double least_stretch_exact = 1e-8, least_stretch_definite = 1e-2;

/// 2 mu I + 2 c (tr(S) I - S)^-1 for the left stretch S, with c = lambda tr(S - I) - 2 mu: the resistance to turning.
MENISCUS_INLINE PackSym3 turning_stiffness(const PackMat3& f, const PackMat3& r, const Pack& lambda, const Pack& mu, bool definite) {
  PackVec3 s;
  PackMat3 q;
  eigen_lanes(detail::symmetric_part(f * transposed(r)), s, q);
  const Pack c = lambda * (s.x + s.y + s.z - 3.0) - 2.0 * mu;
  const Pack least = splat(definite ? least_stretch_definite : least_stretch_exact);
  const auto value = [&](const Pack& sum) {
    const Pack t = 2.0 * mu + 2.0 * c / max(sum, least);
    return definite ? max(t, splat(0.0)) : t;
  };
  const PackVec3 t{value(s.y + s.z), value(s.z + s.x), value(s.x + s.y)};
  const auto entry = [&](const PackVec3& i, const PackVec3& j) { return t.x * i.x * j.x + t.y * i.y * j.y + t.z * i.z * j.z; };
  const PackMat3 rows = transposed(q);
  return {entry(rows.a, rows.a), entry(rows.b, rows.b), entry(rows.c, rows.c),
          entry(rows.a, rows.b), entry(rows.b, rows.c), entry(rows.c, rows.a)};
}

MENISCUS_INLINE PackSym3 times(const Pack& s, const PackSym3& m) {
  return {s * m.xx, s * m.yy, s * m.zz, s * m.xy, s * m.yz, s * m.zx};
}

}  // namespace

template <Material material>
void TetElements::linearise_of(std::span<const Point> x, Tangent tangent) {
  for_tet_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      double* const to = fields_.data() + i * static_cast<std::size_t>(field_count_ * pack_size);
      const auto put = [&](int k, const Pack& v) { store_pack(to + k * pack_size, v); };
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu);
      const PackMat3 y = detail::rows_of(e.y[0]);
      if constexpr (material == Material::linear) {
        detail::store_matrix(to + WarpedFields::z, y);
        put(WarpedFields::lambda, lambda), put(WarpedFields::mu, mu);
      } else {
        const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), y);
        if constexpr (material == Material::corotational) {
          const PackMat3 r = polar_lanes(f);
          detail::store_matrix(to + WarpedFields::z, r * y);
          put(WarpedFields::lambda, lambda), put(WarpedFields::mu, mu);
          if (tangent != Tangent::frozen)
            detail::store_symmetric(to + WarpedFields::turning * pack_size,
                                    turning_stiffness(f, r, lambda, mu, tangent == Tangent::definite));
        } else {
          detail::store_matrix(to + PrincipalFields::f * pack_size, f);
          put(PrincipalFields::lambda, lambda), put(PrincipalFields::mu, mu);
          if (tangent != Tangent::frozen) {
            const PrincipalAxes axes = principal_axes(f);
            PrincipalTangent t = principal_tangent<material>(axes.s, lambda, mu);
            if (tangent == Tangent::definite) detail::make_definite(t);
            detail::store_matrix(to + PrincipalFields::z * pack_size, transposed_times(axes.v, y));
            detail::store_matrix(to + PrincipalFields::u * pack_size, axes.u);
            detail::store_symmetric(to + PrincipalFields::a * pack_size, t.a);
            put(PrincipalFields::p, t.p.x), put(PrincipalFields::p + 1, t.p.y), put(PrincipalFields::p + 2, t.p.z);
            put(PrincipalFields::q, t.q.x), put(PrincipalFields::q + 1, t.q.y), put(PrincipalFields::q + 2, t.q.z);
          }
        }
      }
    }
  });
}

void TetElements::linearise(std::span<const Point> x, Tangent tangent) {
  with_material(options_.material, [&](auto m) { linearise_of<m()>(x, tangent); });
  tangent_ = options_.material == Material::linear ? Tangent::frozen : tangent;
  if (matrix_) assemble();
}

void TetElements::multiply(std::span<const Point> dx, bool green, bool turning) const {
  for_tet_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const double* const from = fields_.data() + i * static_cast<std::size_t>(field_count_ * pack_size);
      const auto get = [&](int k) { return load_pack(from + k * pack_size); };
      Point* const out = &corner_[4 * pack_size * i];
      const PackMat3 d = detail::edges_of(e, dx.data());
      if (warped()) {
        const PackMat3 z = detail::rows_of(from + WarpedFields::z), h = detail::gradient(d, z);
        PackMat3 m = detail::hooke(detail::symmetric_part(h), get(WarpedFields::lambda), get(WarpedFields::mu));
        if (turning) {
          const PackVec3 w{0.5 * (h.b.z - h.c.y), 0.5 * (h.c.x - h.a.z), 0.5 * (h.a.y - h.b.x)};
          const PackVec3 t = detail::load_symmetric(from + WarpedFields::turning * pack_size) * w;
          m.a.y += t.z, m.a.z -= t.y;
          m.b.x -= t.z, m.b.z += t.x;
          m.c.x += t.y, m.c.y -= t.x;
        }
        detail::put_forces(out, m, z);
      } else if (green) {
        const PackMat3 y = detail::rows_of(e.y[0]), f = detail::rows_of(from + PrincipalFields::f * pack_size);
        const PackSym3 rate = detail::symmetric_part(transposed_times(f, detail::gradient(d, y)));
        detail::put_forces(out, f * detail::hooke(rate, get(PrincipalFields::lambda), get(PrincipalFields::mu)), y);
      } else {
        const PackMat3 z = detail::rows_of(from), u = detail::rows_of(from + PrincipalFields::u * pack_size);
        const PackMat3 g = transposed_times(u, detail::gradient(d, z));
        const PackVec3 diagonal = detail::load_symmetric(from + PrincipalFields::a * pack_size) * PackVec3{g.a.x, g.b.y, g.c.z};
        const auto p = [&](int k) { return get(PrincipalFields::p + k); };
        const auto q = [&](int k) { return get(PrincipalFields::q + k); };
        const PackMat3 m{{diagonal.x, p(0) * g.a.y + q(0) * g.b.x, p(2) * g.a.z + q(2) * g.c.x},
                         {p(0) * g.b.x + q(0) * g.a.y, diagonal.y, p(1) * g.b.z + q(1) * g.c.y},
                         {p(2) * g.c.x + q(2) * g.a.z, p(1) * g.c.y + q(1) * g.b.z, diagonal.z}};
        detail::put_forces(out, u * m, z);
      }
    }
  });
}

namespace {

/// One element's fields, out of the eight side by side.
struct Lane {
  const double* first;
  double operator()(int k) const { return first[k * pack_size]; }
  /// The k-th of the four vectors that sum up to 0, of which 1 to 3 begin at `at`.
  Point vector(int at, int k) const {
    const auto v = [&](int n) { return Point((*this)(at + 3 * n), (*this)(at + 3 * n + 1), (*this)(at + 3 * n + 2)); };
    return k == 0 ? Point(-(v(0) + v(1) + v(2))) : v(k - 1);
  }
};

/// lambda a b^T + mu b a^T + mu (a . b) I.
Block3 isotropic_block(const Point& a, const Point& b, double lambda, double mu) {
  Block3 r = (lambda * a) * b.transpose() + (mu * b) * a.transpose();
  r.diagonal().array() += mu * a.dot(b);
  return r;
}

Block3 skew(const Point& w) {
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

Block3 TetElements::block(Index element, int a, int b, bool green, bool turning) const {
  const auto pack = static_cast<std::size_t>(element / pack_size);
  const auto lane = static_cast<std::size_t>(element % pack_size);
  const Lane e{fields_.data() + pack * static_cast<std::size_t>(field_count_ * pack_size) + lane};
  if (warped()) {
    const Point za = e.vector(WarpedFields::z, a), zb = e.vector(WarpedFields::z, b);
    Block3 r = isotropic_block(za, zb, e(WarpedFields::lambda), e(WarpedFields::mu));
    if (turning) {
      constexpr int t = WarpedFields::turning;
      Block3 stiffness;
      stiffness << e(t), e(t + 3), e(t + 5), e(t + 3), e(t + 1), e(t + 4), e(t + 5), e(t + 4), e(t + 2);
      r -= 0.5 * (skew(za) * stiffness * skew(zb));
    }
    return r;
  }
  if (green) {
    const Lane rest{rest_[pack].y[0] + lane};
    const Block3 f = matrix_at(e, PrincipalFields::f);
    return f * isotropic_block(rest.vector(0, a), rest.vector(0, b), e(PrincipalFields::lambda), e(PrincipalFields::mu)) *
           f.transpose();
  }
  using F = PrincipalFields;
  const Point za = e.vector(F::z, a), zb = e.vector(F::z, b), products = za.cwiseProduct(zb);
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

void TetElements::assemble() {
  const bool green = tangent_ == Tangent::frozen, turning = tangent_ != Tangent::frozen;
  matrix_->fill(gather_, [&](Index e, int a, int b) { return block(e, a, b, green, turning); });
}

void TetElements::add_differentials(std::span<const Point> dx, double scale, std::span<Point> f) const {
  if (matrix_) {
    matrix_->multiply(dx, -scale, f);
    return;
  }
  multiply(dx, tangent_ == Tangent::frozen, tangent_ != Tangent::frozen);
  gather_.add<Point>(corner_, scale, f);
}

void TetElements::add_damping(std::span<const Point> v, double scale, std::span<Point> f) const {
  if (options_.damping > 0) {
    if (matrix_ && tangent_ == Tangent::frozen) {
      matrix_->multiply(v, -scale * options_.damping, f);
    } else {
      multiply(v, true, false);
      gather_.add<Point>(corner_, scale * options_.damping, f);
    }
  }
  if (options_.mass_damping > 0)
    for (std::size_t i = 0; i < mass_.size(); ++i) f[i] -= scale * options_.mass_damping * mass_[i] * v[i];
}

void TetElements::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  const double damping = options_.damping * damping_scale;
  const bool same = tangent_ == Tangent::frozen;
  const bool from_matrix = matrix_.has_value();
  const double direct_stiffness = from_matrix ? 0 : stiffness_scale + (same ? damping : 0);
  const double direct_damping = same ? 0 : damping;
  if (from_matrix) matrix_->add_diagonal(-(stiffness_scale + (same ? damping : 0)), blocks);
  parallel_for(0, nodes(), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto node = static_cast<std::size_t>(i);
      if (direct_stiffness != 0 || direct_damping != 0)
        for (const std::int32_t corner : gather_.at(i)) {
          if (direct_stiffness != 0) blocks[node] -= direct_stiffness * block(corner / 4, corner % 4, corner % 4, same, !same);
          if (direct_damping != 0) blocks[node] -= direct_damping * block(corner / 4, corner % 4, corner % 4, true, false);
        }
      if (options_.mass_damping > 0) blocks[node].diagonal().array() -= damping_scale * options_.mass_damping * mass_[node];
    }
  });
}

template <Material material>
void TetElements::add_bounds_of(std::span<const Point> x) const {
  for_tet_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu);
      const PackMat3 y = detail::rows_of(e.y[0]);
      // Blocks are at most `length` |y_i| |y_j| + `product` |y_i . y_j|.
      Pack length = abs(lambda) + mu, product = mu;
      if constexpr (material != Material::linear) {
        const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), y);
        if constexpr (material == Material::corotational) {
          const Pack t = contract(polar_lanes(f), f), c = lambda * (t - 3.0) - 2.0 * mu;
          // The sums of two stretches lie between tr(S) - |S| and tr(S).
          const Pack least = max(t - sqrt(contract(f, f)), splat(0.05)), most = max(t, splat(0.05));
          length += max(mu + c / select(c > 0.0, least, most), splat(0.0));
        } else {
          const PrincipalTangent t = principal_tangent<material>(principal_axes(f).s, lambda, mu);
          const auto largest = [](const PackVec3& w) { return max(max(abs(w.x), abs(w.y)), abs(w.z)); };
          length = max(largest({t.a.xx, t.a.yy, t.a.zz}), largest({t.a.xy, t.a.yz, t.a.zx})) + largest(t.p) + largest(t.q);
          product = splat(0.0);
        }
      }
      const PackVec3 corner[4] = {-(y.a + y.b + y.c), y.a, y.b, y.c};
      Pack size[4], sum = splat(0.0);
      for (int k = 0; k < 4; ++k) {
        size[k] = sqrt(dot(corner[k], corner[k]));
        sum += size[k];
      }
      for (int k = 0; k < 4; ++k) {
        Pack across = splat(0.0);
        for (int j = 0; j < 4; ++j) across += abs(dot(corner[k], corner[j]));
        const Pack bound = 0.5 * (length * size[k] * sum + product * across);
        for (int l = 0; l < pack_size; ++l) corner_[4 * (pack_size * i + static_cast<std::size_t>(l)) + static_cast<std::size_t>(k)].x() = bound[l];
      }
    }
  });
}

void TetElements::add_stiffness_bounds(std::span<const Point> x, std::span<double> stiffness) const {
  with_material(options_.material, [&](auto m) { add_bounds_of<m()>(x); });
  parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (const std::int32_t corner : gather_.at(i)) sum += corner_[static_cast<std::size_t>(corner)].x();
      stiffness[static_cast<std::size_t>(i)] += sum;
    }
  });
}

}  // namespace meniscus
