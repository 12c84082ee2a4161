// Stiffness of `TetElements`, matrix-free: linearisation, products with the tangent, damping, diagonal blocks and bounds.
#include "meniscus/solids/elements/tet_elements.hpp"
#include "meniscus/solids/elements/tet_lanes.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::for_packs;
using detail::PrincipalFields;
using detail::WarpedFields;

namespace {

/// Below this sum of two stretches the derivative of the rotation is cut off.
constexpr double min_stretch_exact = 1e-8, min_stretch_definite = 1e-2;

/// 2 mu I + 2 c (tr(S) I - S)^-1 for the left stretch S, with c = lambda tr(S - I) - 2 mu: the resistance to turning.
MENISCUS_INLINE PackSym3 turning_stiffness(const PackMat3& f, const PackMat3& r, const Pack& lambda, const Pack& mu,
                                           bool definite) {
  PackVec3 s;
  PackMat3 q;
  eigen_lanes(detail::symmetric_part(f * transposed(r)), s, q);
  const Pack c = lambda * (s.x + s.y + s.z - 3.0) - 2.0 * mu;
  const Pack least = splat(definite ? min_stretch_definite : min_stretch_exact);
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

/// Calls f with the frame of a material as a constant.
template <class F>
void in_frame(Material material, F&& f) {
  using Frame = TetElements::Frame;
  switch (material) {
    case Material::linear:
      return f(std::integral_constant<Frame, Frame::rest>{});
    case Material::corotational:
      return f(std::integral_constant<Frame, Frame::rotated>{});
    case Material::st_venant_kirchhoff:
    case Material::neo_hookean:
      break;
  }
  f(std::integral_constant<Frame, Frame::principal>{});
}

/// The material is asked per pack: kernels of their own would repeat the search for the axes, nine tenths of the code.
MENISCUS_INLINE PrincipalTangent principal_tangent(Material material, const PackVec3& s, const Pack& lambda, const Pack& mu) {
  return material == Material::neo_hookean ? solids::principal_tangent<Material::neo_hookean>(s, lambda, mu)
                                           : solids::principal_tangent<Material::st_venant_kirchhoff>(s, lambda, mu);
}

}  // namespace

template <TetElements::Frame frame>
void TetElements::linearise_in(std::span<const mesh::Point> x, Tangent tangent) {
  const std::size_t fs = field_stride(), ls = lane_stride();
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const detail::FieldWriter to{fields_.data() + i * static_cast<std::size_t>(field_count_ * pack_size), fs, ls};
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu);
      const PackMat3 y = detail::rows_of(e.y[0]);
      if constexpr (frame == Frame::rest) {
        to.matrix(WarpedFields::z, y);
        to.put(WarpedFields::lambda, lambda), to.put(WarpedFields::mu, mu);
      } else {
        const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), y);
        if constexpr (frame == Frame::rotated) {
          const PackMat3 r = polar_lanes(f);
          to.matrix(WarpedFields::z, r * y);
          to.put(WarpedFields::lambda, lambda), to.put(WarpedFields::mu, mu);
          to.symmetric(WarpedFields::stretch, detail::symmetric_part(f * transposed(r)));
          if (tangent != Tangent::frozen)
            to.symmetric(WarpedFields::turning, turning_stiffness(f, r, lambda, mu, tangent == Tangent::definite));
        } else {
          to.matrix(PrincipalFields::f, f);
          to.put(PrincipalFields::lambda, lambda), to.put(PrincipalFields::mu, mu);
          if (tangent != Tangent::frozen) {
            const PrincipalAxes axes = principal_axes(f);
            PrincipalTangent t = principal_tangent(options_.material, axes.s, lambda, mu);
            if (tangent == Tangent::definite) detail::make_definite(t);
            to.matrix(PrincipalFields::z, transposed_times(axes.v, y));
            to.matrix(PrincipalFields::u, axes.u);
            to.symmetric(PrincipalFields::a, t.a);
            to.put(PrincipalFields::p, t.p.x), to.put(PrincipalFields::p + 1, t.p.y), to.put(PrincipalFields::p + 2, t.p.z);
            to.put(PrincipalFields::q, t.q.x), to.put(PrincipalFields::q + 1, t.q.y), to.put(PrincipalFields::q + 2, t.q.z);
          }
        }
      }
    }
  });
}

void TetElements::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  in_frame(options_.material, [&](auto frame) { linearise_in<frame()>(x, tangent); });
  tangent_ = options_.material == Material::linear ? Tangent::frozen : tangent;
  if (matrix_) assemble();
}

void TetElements::linearise_damping(std::span<const mesh::Point> x) {
  linearise(x, Tangent::frozen);
  if (matrix_ && options_.material == Material::corotational)
    matrix_->fill(gather_, false, [&](Index e, int a, BlockStiffness::Block* row, const std::uint16_t* place) {
      for (int b = 0; b < 4; ++b) row[place[b]] += block(fields_.data(), e, a, b, Product::damping);
    });
}

void TetElements::multiply(const double* fields, std::span<const mesh::Point> dx, Product product) const {
  const std::size_t fs = field_stride(), ls = lane_stride();
  const bool corotational = options_.material == Material::corotational;
  const bool stretched = corotational && product == Product::damping, turning = corotational && product == Product::whole;
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const detail::FieldReader from{fields + i * static_cast<std::size_t>(field_count_ * pack_size), fs, ls};
      mesh::Point* const out = &corner_[4 * pack_size * i];
      const PackMat3 d = detail::edges_of(e, dx.data());
      if (warped()) {
        const PackMat3 z = from.matrix(WarpedFields::z);
        PackMat3 h = detail::gradient(d, z), s;
        if (stretched) {
          const PackSym3 t = from.symmetric(WarpedFields::stretch);
          s = {{t.xx, t.xy, t.zx}, {t.xy, t.yy, t.yz}, {t.zx, t.yz, t.zz}};
          h = s * h;
        }
        PackMat3 m = detail::hooke(detail::symmetric_part(h), from.get(WarpedFields::lambda), from.get(WarpedFields::mu));
        if (turning) {
          const PackVec3 w{0.5 * (h.b.z - h.c.y), 0.5 * (h.c.x - h.a.z), 0.5 * (h.a.y - h.b.x)};
          const PackVec3 t = from.symmetric(WarpedFields::turning) * w;
          m.a.y += t.z, m.a.z -= t.y;
          m.b.x -= t.z, m.b.z += t.x;
          m.c.x += t.y, m.c.y -= t.x;
        }
        detail::put_forces(out, stretched ? s * m : m, z);
      } else if (product != Product::whole) {
        const PackMat3 y = detail::rows_of(e.y[0]), f = from.matrix(PrincipalFields::f);
        const PackSym3 rate = detail::symmetric_part(transposed_times(f, detail::gradient(d, y)));
        detail::put_forces(out, f * detail::hooke(rate, from.get(PrincipalFields::lambda), from.get(PrincipalFields::mu)), y);
      } else {
        const PackMat3 z = from.matrix(PrincipalFields::z), u = from.matrix(PrincipalFields::u);
        const PackMat3 g = transposed_times(u, detail::gradient(d, z));
        const PackVec3 diagonal = from.symmetric(PrincipalFields::a) * PackVec3{g.a.x, g.b.y, g.c.z};
        const auto p = [&](int k) { return from.get(PrincipalFields::p + k); };
        const auto q = [&](int k) { return from.get(PrincipalFields::q + k); };
        const PackMat3 m{{diagonal.x, p(0) * g.a.y + q(0) * g.b.x, p(2) * g.a.z + q(2) * g.c.x},
                         {p(0) * g.b.x + q(0) * g.a.y, diagonal.y, p(1) * g.b.z + q(1) * g.c.y},
                         {p(2) * g.c.x + q(2) * g.a.z, p(1) * g.c.y + q(1) * g.b.z, diagonal.z}};
        detail::put_forces(out, u * m, z);
      }
    }
  });
}

void TetElements::multiply_tangent(std::span<const mesh::Point> dx) const { multiply(fields_.data(), dx, tangent_product()); }

void TetElements::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (options_.damping > 0) {
    if (matrix_ && in_step()) {
      matrix_->multiply_kept(v, -scale * step_dt_, f);
    } else if (matrix_ && damps_as_tangent()) {
      matrix_->multiply(v, -scale * options_.damping, f);
    } else {
      multiply(damping_fields(), v, Product::damping);
      gather_.add<mesh::Point>(corner_, scale * options_.damping, f);
    }
  }
  add_mass_damping(v, scale, f);
}

void TetElements::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  const double damping = options_.damping * damping_scale;
  const bool kept = matrix_ && in_step(), same = damps_as_tangent() && !in_step();
  if (matrix_) matrix_->add_diagonal(-(stiffness_scale + (same ? damping : 0)), blocks);
  // A matrix of a step contains what it keeps.
  if (kept) matrix_->add_kept_diagonal(stiffness_scale - damping_scale * step_dt_, blocks);
  const double direct_stiffness = matrix_ ? 0 : stiffness_scale, direct_damping = kept || (matrix_ && same) ? 0 : damping;
  if (direct_stiffness != 0 || direct_damping != 0)
    parallel_for(0, nodes(), 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        for (const std::int32_t corner : gather_.at(i)) {
          Block3& to = blocks[i];
          const int k = corner % 4;
          if (direct_stiffness != 0) to -= direct_stiffness * block(fields_.data(), corner / 4, k, k, tangent_product());
          if (direct_damping != 0) to -= direct_damping * block(damping_fields(), corner / 4, k, k, Product::damping);
        }
    });
  add_mass_diagonal(damping_scale, blocks);
}

template <TetElements::Frame frame>
void TetElements::add_bounds_in(std::span<const mesh::Point> x, bool damping) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const Pack v = load_pack(e.volume), lambda = v * load_pack(e.lambda), mu = v * load_pack(e.mu);
      const PackMat3 y = detail::rows_of(e.y[0]);
      // Blocks are at most `length` |y_i| |y_j| + `product` |y_i . y_j|.
      Pack length = abs(lambda) + mu, product = mu;
      if constexpr (frame != Frame::rest) {
        const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), y);
        if (damping) {
          const Pack square = detail::square_of_stretch(f);
          length = square * length, product = square * product;
        } else if constexpr (frame == Frame::rotated) {
          const Pack t = contract(polar_lanes(f), f), c = lambda * (t - 3.0) - 2.0 * mu;
          // The sums of two stretches lie between tr(S) - |S| and tr(S).
          const Pack least = max(t - sqrt(contract(f, f)), splat(0.05)), most = max(t, splat(0.05));
          length += max(mu + c / select(c > 0.0, least, most), splat(0.0));
        } else {
          // Around the means of p and q, which are products of lengths and of vectors, what is left is bounded by its entries.
          const PrincipalTangent t = principal_tangent(options_.material, principal_axes(f).s, lambda, mu);
          const auto largest = [](const PackVec3& w) { return max(max(abs(w.x), abs(w.y)), abs(w.z)); };
          const auto mean = [](const PackVec3& w) { return (1.0 / 3.0) * (w.x + w.y + w.z); };
          const Pack p = mean(t.p), pq = p + mean(t.q);
          length = max(largest({t.a.xx - pq, t.a.yy - pq, t.a.zz - pq}), largest({t.a.xy, t.a.yz, t.a.zx})) + largest(t.q) +
                   largest({t.p.x - p, t.p.y - p, t.p.z - p});
          product = abs(p);
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
        for (int l = 0; l < pack_size; ++l)
          corner_[4 * (pack_size * i + static_cast<std::size_t>(l)) + static_cast<std::size_t>(k)].x() = bound[l];
      }
    }
  });
}

void TetElements::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  in_frame(options_.material, [&](auto frame) { add_bounds_in<frame()>(x, false); });
  add_corner_sums(1.0, stiffness);
}

void TetElements::add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const {
  if (options_.damping > 0) {
    in_frame(options_.material, [&](auto frame) { add_bounds_in<frame()>(x, true); });
    add_corner_sums(options_.damping, damping);
  }
  add_mass_damping_bounds(damping);
}

}  // namespace meniscus::solids
