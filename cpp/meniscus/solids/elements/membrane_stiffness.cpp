// Stiffness of `TriangleMembrane`: linearisation, products with the tangent, damping, diagonal blocks and bounds.
#include "meniscus/solids/elements/triangle_lanes.hpp"

#include <Eigen/Geometry>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::for_packs;
using detail::MembraneAxes;
using detail::MembraneFields;
using detail::MembraneTangent;
using detail::PackMat32;
using detail::PackVec2;

namespace {

/// Below this stretch, quotients by stretches are cut off.
constexpr double min_stretch_membrane = 1e-8, min_stretch_membrane_definite = 1e-2;

}  // namespace

void TriangleMembrane::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  const Pack least = splat(tangent == Tangent::definite ? min_stretch_membrane_definite : min_stretch_membrane);
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      double* const to = fields_.data() + i * static_cast<std::size_t>(MembraneFields::count * pack_size);
      const auto put = [&](int k, const Pack& v) { store_pack(to + k * pack_size, v); };
      const auto put_vector = [&](int k, const PackVec3& v) { put(k, v.x), put(k + 1, v.y), put(k + 2, v.z); };
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu), one = splat(1.0);
      const MembraneAxes axes = detail::membrane_axes(detail::gradient_of(e, x.data()));
      const bool turned = options_.material == Material::corotational;
      const PackMat32 carrier = detail::from_axes(axes, turned ? one : axes.s0, turned ? one : axes.s1);
      put_vector(MembraneFields::carrier, carrier.a), put_vector(MembraneFields::carrier + 3, carrier.b);
      const PackMat32 f = turned ? detail::from_axes(axes, axes.s0, axes.s1) : carrier;
      put_vector(MembraneFields::damper, f.a), put_vector(MembraneFields::damper + 3, f.b);
      put(MembraneFields::lambda, lambda), put(MembraneFields::mu, mu);
      if (tangent == Tangent::frozen) continue;
      MembraneTangent t = detail::membrane_tangent(options_.material, {axes.s0, axes.s1}, lambda, mu, least);
      if (tangent == Tangent::definite) detail::make_definite(t);
      put_vector(MembraneFields::u, axes.u0), put_vector(MembraneFields::u + 3, axes.u1);
      put_vector(MembraneFields::u + 6, cross(axes.u0, axes.u1));
      for (int k = 0; k < 2; ++k) {
        const PackVec2 y = detail::row_of(e, k);
        put(MembraneFields::z1 + 2 * k, axes.c * y.x + axes.s * y.y);
        put(MembraneFields::z1 + 2 * k + 1, axes.c * y.y - axes.s * y.x);
      }
      const Pack values[7] = {t.a00, t.a11, t.a01, t.p, t.q, t.o0, t.o1};
      for (int k = 0; k < 7; ++k) put(MembraneFields::tangent + k, values[k]);
    }
  });
  tangent_ = tangent;
  if (matrix_)
    matrix_->fill(gather_, in_step(), [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      for (int b = 0; b < 3; ++b) row[place[b]] += block(fields_.data(), e, a, b, tangent_product());
    });
}

void TriangleMembrane::linearise_damping(std::span<const mesh::Point> x) {
  linearise(x, Tangent::frozen);
  if (matrix_ && options_.material == Material::corotational)
    matrix_->fill(gather_, false, [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      for (int b = 0; b < 3; ++b) row[place[b]] += block(fields_.data(), e, a, b, Product::damping);
    });
}

void TriangleMembrane::multiply(const double* fields, std::span<const mesh::Point> dx, Product product) const {
  const int carrier = product == Product::damping ? MembraneFields::damper : MembraneFields::carrier;
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const double* const from = fields + i * static_cast<std::size_t>(MembraneFields::count * pack_size);
      const auto get = [&](int k) { return load_pack(from + k * pack_size); };
      const auto vector = [&](int k) { return PackVec3{get(k), get(k + 1), get(k + 2)}; };
      const PackMat32 d = detail::edges_of(e, dx.data());
      mesh::Point* const out = &corner_[3 * pack_size * i];
      if (product != Product::whole) {
        const PackMat32 m{vector(carrier), vector(carrier + 3)};
        const PackMat32 g = detail::gradient(d, detail::row_of(e, 0), detail::row_of(e, 1));
        const Pack xx = dot(m.a, g.a), yy = dot(m.b, g.b), xy = 0.5 * (dot(m.a, g.b) + dot(m.b, g.a));
        const Pack two = 2.0 * get(MembraneFields::mu), p = get(MembraneFields::lambda) * (xx + yy);
        const Pack sx = two * xx + p, sy = two * yy + p, shear = two * xy;
        detail::put_forces(out, {sx * m.a + shear * m.b, shear * m.a + sy * m.b}, e);
      } else {
        const PackVec2 z1{get(MembraneFields::z1), get(MembraneFields::z1 + 1)};
        const PackVec2 z2{get(MembraneFields::z2), get(MembraneFields::z2 + 1)};
        const PackVec3 u = vector(MembraneFields::u), w = vector(MembraneFields::u + 3), n = vector(MembraneFields::u + 6);
        const PackMat32 g = detail::gradient(d, z1, z2);
        const auto t = [&](int k) { return get(MembraneFields::tangent + k); };
        const Pack g00 = dot(u, g.a), g10 = dot(w, g.a), gn0 = dot(n, g.a), g01 = dot(u, g.b), g11 = dot(w, g.b),
                   gn1 = dot(n, g.b);
        const PackVec3 a = (t(0) * g00 + t(2) * g11) * u + (t(3) * g10 + t(4) * g01) * w + (t(5) * gn0) * n;
        const PackVec3 b = (t(3) * g01 + t(4) * g10) * u + (t(2) * g00 + t(1) * g11) * w + (t(6) * gn1) * n;
        detail::put_forces(out, {a, b}, z1, z2);
      }
    }
  });
}

Block3 TriangleMembrane::block(const double* fields, Index element, int a, int b, Product product) const {
  const Index pack = element / pack_size;
  const Index lane = element % pack_size;
  const double* const first = fields + pack * static_cast<std::size_t>(MembraneFields::count * pack_size) + lane;
  const auto get = [&](int k) { return first[k * pack_size]; };
  const auto vector = [&](int k) { return mesh::Point(get(k), get(k + 1), get(k + 2)); };
  using Vector2 = Eigen::Vector2d;
  if (product != Product::whole) {
    const int carrier = product == Product::damping ? MembraneFields::damper : MembraneFields::carrier;
    const auto y = [&](int k) {
      const auto row = [&](int n) { return Vector2(rest_[pack].y[2 * n][lane], rest_[pack].y[2 * n + 1][lane]); };
      return k == 0 ? Vector2(-row(0) - row(1)) : row(k - 1);
    };
    Eigen::Matrix<double, 3, 2> m;
    m << vector(carrier), vector(carrier + 3);
    const Vector2 ya = y(a), yb = y(b);
    const double lambda = get(MembraneFields::lambda), mu = get(MembraneFields::mu);
    Eigen::Matrix2d k = (lambda * ya) * yb.transpose() + (mu * yb) * ya.transpose();
    k.diagonal().array() += mu * ya.dot(yb);
    return m * k * m.transpose();
  }
  const auto z = [&](int k) {
    const Vector2 z1(get(MembraneFields::z1), get(MembraneFields::z1 + 1)),
        z2(get(MembraneFields::z2), get(MembraneFields::z2 + 1));
    return k == 0 ? Vector2(-z1 - z2) : k == 1 ? z1 : z2;
  };
  const Vector2 za = z(a), zb = z(b);
  const auto t = [&](int k) { return get(MembraneFields::tangent + k); };
  Block3 u, k = Block3::Zero();
  u << vector(MembraneFields::u), vector(MembraneFields::u + 3), vector(MembraneFields::u + 6);
  const double xx = za[0] * zb[0], yy = za[1] * zb[1];
  k(0, 0) = t(0) * xx + t(3) * yy;
  k(1, 1) = t(3) * xx + t(1) * yy;
  k(0, 1) = t(2) * za[0] * zb[1] + t(4) * za[1] * zb[0];
  k(1, 0) = t(2) * za[1] * zb[0] + t(4) * za[0] * zb[1];
  k(2, 2) = t(5) * xx + t(6) * yy;
  return u * k * u.transpose();
}

void TriangleMembrane::multiply_tangent(std::span<const mesh::Point> dx) const {
  multiply(fields_.data(), dx, tangent_product());
}

void TriangleMembrane::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (options_.damping > 0) {
    if (matrix_ && in_step()) {
      matrix_->multiply_kept(v, -scale * step_dt_, f);
    } else {
      multiply(damping_fields(), v, Product::damping);
      gather_.add<mesh::Point>(corner_, scale * options_.damping, f);
    }
  }
  add_mass_damping(v, scale, f);
}

void TriangleMembrane::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  const bool kept = matrix_ && in_step();
  const double damping = kept ? 0 : options_.damping * damping_scale;
  if (kept) matrix_->add_kept_diagonal(-damping_scale * step_dt_, blocks);
  parallel_for(0, nodes(), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index node = i;
      for (const std::int32_t corner : gather_.at(i)) {
        const int k = corner % 3;
        if (stiffness_scale != 0) blocks[node] -= stiffness_scale * block(fields_.data(), corner / 3, k, k, tangent_product());
        if (damping != 0) blocks[node] -= damping * block(damping_fields(), corner / 3, k, k, Product::damping);
      }
    }
  });
  add_mass_diagonal(damping_scale, blocks);
}

void TriangleMembrane::set_bounds(std::span<const mesh::Point> x, bool damping) const {
  const Pack least = splat(0.05);
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu);
      Pack length = abs(lambda) + 2.0 * mu;
      const MembraneAxes axes = detail::membrane_axes(detail::gradient_of(e, x.data()));
      // Blocks are at most `length` |y_i| |y_j|.
      if (damping) {
        length = max(axes.s0 * axes.s0, axes.s1 * axes.s1) * length;
      } else {
        const MembraneTangent t = detail::membrane_tangent(options_.material, {axes.s0, axes.s1}, lambda, mu, least);
        length = max(max(max(abs(t.a00), abs(t.a11)), abs(t.a01)) + abs(t.p) + abs(t.q), max(abs(t.o0), abs(t.o1)));
      }
      const PackVec2 y1 = detail::row_of(e, 0), y2 = detail::row_of(e, 1), y0{-y1.x - y2.x, -y1.y - y2.y};
      const PackVec2* const rows[3] = {&y0, &y1, &y2};
      Pack size[3], sum = splat(0.0);
      for (int k = 0; k < 3; ++k) {
        size[k] = sqrt(rows[k]->x * rows[k]->x + rows[k]->y * rows[k]->y);
        sum += size[k];
      }
      for (int k = 0; k < 3; ++k) {
        const Pack bound = 0.5 * length * size[k] * sum;
        for (int l = 0; l < pack_size; ++l)
          corner_[3 * (pack_size * i + static_cast<std::size_t>(l)) + static_cast<std::size_t>(k)].x() = bound[l];
      }
    }
  });
}

void TriangleMembrane::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  set_bounds(x, false);
  add_corner_sums(1.0, stiffness);
}

void TriangleMembrane::add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const {
  if (options_.damping > 0) {
    set_bounds(x, true);
    add_corner_sums(options_.damping, damping);
  }
  add_mass_damping_bounds(damping);
}

}  // namespace meniscus::solids
