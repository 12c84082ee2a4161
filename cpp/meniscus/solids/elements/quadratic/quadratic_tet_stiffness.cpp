// Stiffness of `QuadraticTetElements`: linearisation, products with the tangent, damping, diagonal blocks and bounds.
#include "meniscus/solids/elements/quadratic/quadratic_lanes.hpp"
#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::FieldReader;
using detail::FieldWriter;
using detail::for_quadratic_packs;
using detail::NodeValues;
using detail::tangent_place;
using quadratic_tet::points;

namespace {

/// Below this sum of two stretches the derivative of the rotation is cut off.
constexpr double min_stretch_quadratic = 1e-8, min_stretch_quadratic_definite = 1e-2;

/// Hooke's law for the symmetric part of dF in the frame of the rotation, and the resistance 2 mu + 2 c / (s_i + s_j) to turning
/// against it, with c = lambda tr(S - I) - 2 mu.
MENISCUS_INLINE PrincipalTangent rotated_tangent(const PackVec3& s, const Pack& lambda, const Pack& mu, double least) {
  const Pack c = lambda * (s.x + s.y + s.z - 3.0) - 2.0 * mu, stiff = lambda + 2.0 * mu;
  const auto turning = [&](const Pack& sum) { return mu + c / max(sum, splat(least)); };
  const PackVec3 half{turning(s.x + s.y), turning(s.y + s.z), turning(s.z + s.x)};
  return {{stiff, stiff, stiff, lambda, lambda, lambda},
          {mu + half.x, mu + half.y, mu + half.z},
          {mu - half.x, mu - half.y, mu - half.z}};
}

/// The material is asked per pack: kernels of their own would repeat the search for the axes, most of the code.
MENISCUS_INLINE PrincipalTangent tangent_of(Material material, const PackVec3& s, const Pack& lambda, const Pack& mu,
                                            double least) {
  if (material == Material::neo_hookean) return principal_tangent<Material::neo_hookean>(s, lambda, mu);
  if (material == Material::st_venant_kirchhoff) return principal_tangent<Material::st_venant_kirchhoff>(s, lambda, mu);
  return rotated_tangent(s, lambda, mu, least);
}

/// The derivative of the stress between principal axes by two gradients there, z_a and z_b: by columns.
MENISCUS_INLINE PackMat3 between_axes(const PrincipalTangent& t, const PackVec3& za, const PackVec3& zb) {
  const Pack xx = za.x * zb.x, yy = za.y * zb.y, zz = za.z * zb.z;
  return {{t.a.xx * xx + t.p.x * yy + t.p.z * zz, t.a.xy * (za.y * zb.x) + t.q.x * (za.x * zb.y),
           t.a.zx * (za.z * zb.x) + t.q.z * (za.x * zb.z)},
          {t.a.xy * (za.x * zb.y) + t.q.x * (za.y * zb.x), t.p.x * xx + t.a.yy * yy + t.p.y * zz,
           t.a.yz * (za.z * zb.y) + t.q.y * (za.y * zb.z)},
          {t.a.zx * (za.x * zb.z) + t.q.z * (za.z * zb.x), t.a.yz * (za.y * zb.z) + t.q.y * (za.z * zb.y),
           t.p.z * xx + t.p.y * yy + t.a.zz * zz}};
}

/// lambda a b^T + mu b a^T by columns.
MENISCUS_INLINE PackMat3 outer_sum(const PackVec3& a, const PackVec3& b, const Pack& lambda, const Pack& mu) {
  const PackVec3 la = lambda * a, mb = mu * b;
  return {b.x * la + a.x * mb, b.y * la + a.y * mb, b.z * la + a.z * mb};
}

MENISCUS_INLINE const PackVec3& column(const PackMat3& m, int k) { return k == 0 ? m.a : k == 1 ? m.b : m.c; }

/// Calls put(i, j) for the six blocks of a point.
template <class Put>
MENISCUS_INLINE void for_blocks(Put&& put) {
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j) put(i, j);
}

}  // namespace

void QuadraticTetElements::store_frozen(std::span<const mesh::Point> x, bool damping, double* const first, std::size_t field,
                                        std::size_t lane) const {
  const Material material = options_.material;
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Rest& e = rest_[k];
      const FieldWriter to{first + k * static_cast<std::size_t>(detail::tangent_fields * pack_size), field, lane};
      const NodeValues at(e, x.data());
      for (int q = 0; q < points; ++q) {
        const Pack w = load_pack(e.weight[q]), lambda = w * load_pack(e.lambda), mu = w * load_pack(e.mu);
        const PackMat3 y = detail::inverse_at(e, q);
        // Hooke's law for the strain rate in the frame of A: blocks A (lambda y_i y_j^T + mu y_j y_i^T + mu (y_i . y_j) I) A^T.
        PackMat3 z = y, square = identity_pack();
        if (material != Material::linear) {
          const PackMat3 f = detail::gradient(at.slopes(q), y);
          if (material == Material::corotational && !damping) {
            z = polar_lanes(f) * y;
          } else {
            z = f * y;
            square = f * transposed(f);
          }
        }
        for_blocks([&](int i, int j) {
          const PackMat3 b = outer_sum(column(z, i), column(z, j), lambda, mu) + (mu * dot(column(y, i), column(y, j))) * square;
          to.matrix(tangent_place(q, i, j), transposed(b));
        });
      }
    }
  });
}

void QuadraticTetElements::store_tangents(std::span<const mesh::Point> x, bool definite) {
  const Fields fields = stiffness_fields();
  const double least = definite ? min_stretch_quadratic_definite : min_stretch_quadratic;
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Rest& e = rest_[k];
      const FieldWriter to{fields_.data() + k * static_cast<std::size_t>(detail::tangent_fields * pack_size), fields.field,
                           fields.lane};
      const NodeValues at(e, x.data());
      for (int q = 0; q < points; ++q) {
        const Pack w = load_pack(e.weight[q]), lambda = w * load_pack(e.lambda), mu = w * load_pack(e.mu);
        const PackMat3 y = detail::inverse_at(e, q);
        const PrincipalAxes axes = principal_axes(detail::gradient(at.slopes(q), y));
        PrincipalTangent t = tangent_of(options_.material, axes.s, lambda, mu, least);
        if (definite) detail::make_definite(t);
        const PackMat3 z = transposed_times(axes.v, y);
        for_blocks([&](int i, int j) {
          // The transpose of u m u^T, so that blocks are stored by rows.
          const PackMat3 m = axes.u * between_axes(t, column(z, i), column(z, j));
          to.matrix(tangent_place(q, i, j), axes.u * transposed(m));
        });
      }
    }
  });
}

void QuadraticTetElements::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  tangent_ = options_.material == Material::linear ? Tangent::frozen : tangent;
  if (tangent_ == Tangent::frozen) {
    const Fields fields = stiffness_fields();
    store_frozen(x, false, fields_.data(), fields.field, fields.lane);
  } else {
    store_tangents(x, tangent_ == Tangent::definite);
  }
  if (!damping_fields_.empty() && !in_step() && !damps_as_tangent()) store_frozen(x, true, damping_fields_.data(), pack_size, 1);
  if (matrix_) assemble();
}

void QuadraticTetElements::linearise_damping(std::span<const mesh::Point> x) {
  const Fields fields = stiffness_fields();
  store_frozen(x, true, fields_.data(), fields.field, fields.lane);
  if (matrix_) assemble();
}

QuadraticTetElements::Fields QuadraticTetElements::stiffness_fields() const {
  if (matrix_) return {fields_.data(), 1, static_cast<std::size_t>(detail::tangent_fields)};
  return {fields_.data(), pack_size, 1};
}

QuadraticTetElements::Fields QuadraticTetElements::damping_tangents() const {
  if (in_step()) return {held_.data(), pack_size, 1};
  return damps_as_tangent() ? stiffness_fields() : Fields{damping_fields_.data(), pack_size, 1};
}

void QuadraticTetElements::multiply(std::span<const mesh::Point> dx, const Fields& fields) const {
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const FieldReader from{fields.first + k * static_cast<std::size_t>(detail::tangent_fields * pack_size), fields.field,
                             fields.lane};
      const NodeValues at(rest_[k], dx.data());
      PackMat3 t[points];
      for (int q = 0; q < points; ++q) {
        const PackMat3 h = at.slopes(q);
        // `matrix` reads rows as columns.
        const auto rows = [&](int i, int j) { return from.matrix(tangent_place(q, i, j)); };
        const PackMat3 xy = rows(0, 1), xz = rows(0, 2), yz = rows(1, 2);
        t[q].a = (transposed_times(rows(0, 0), h.a) + transposed_times(xy, h.b)) + transposed_times(xz, h.c);
        t[q].b = (xy * h.a + transposed_times(rows(1, 1), h.b)) + transposed_times(yz, h.c);
        t[q].c = (xz * h.a + yz * h.b) + transposed_times(rows(2, 2), h.c);
      }
      detail::put_node_forces(&corner_[quadratic_tet::nodes * pack_size * k], t);
    }
  });
}

void QuadraticTetElements::multiply_tangent(std::span<const mesh::Point> dx) const { multiply(dx, stiffness_fields()); }

void QuadraticTetElements::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (options_.damping > 0) {
    if (matrix_ && in_step()) {
      matrix_->multiply_kept(v, -scale * step_dt_, f);
    } else if (matrix_ && damps_as_tangent()) {
      matrix_->multiply(v, -scale * options_.damping, f);
    } else {
      multiply(v, damping_tangents());
      gather_.add<mesh::Point>(corner_, scale * options_.damping, f);
    }
  }
  add_mass_damping(v, scale, f);
}

Block3 QuadraticTetElements::block(const Fields& fields, Index element, int node) {
  const auto pack = static_cast<std::size_t>(element / pack_size), lane = static_cast<std::size_t>(element % pack_size);
  const double* const from =
      fields.first + pack * static_cast<std::size_t>(detail::tangent_fields * pack_size) + lane * fields.lane;
  Block3 sum = Block3::Zero();
  for (int q = 0; q < points; ++q) {
    const auto slope = [&](int i) { return quadratic_tet::slope(i + 1, node, q) - quadratic_tet::slope(0, node, q); };
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) {
        Block3 b;
        for (int k = 0; k < 9; ++k) b(k / 3, k % 3) = from[static_cast<std::size_t>(tangent_place(q, i, j) + k) * fields.field];
        const double factor = slope(i) * slope(j);
        if (factor == 0) continue;
        sum += factor * b;
        if (i != j) sum += factor * b.transpose();
      }
  }
  return sum;
}

void QuadraticTetElements::add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const {
  const double damping = options_.damping * damping_scale;
  const bool kept = matrix_ && in_step(), same = damps_as_tangent() && !in_step();
  const double stiffness = stiffness_scale + (same ? damping : 0);
  if (matrix_) matrix_->add_diagonal(-stiffness, blocks);
  // A matrix of a step contains what it keeps.
  if (kept) matrix_->add_kept_diagonal(stiffness_scale - damping_scale * step_dt_, blocks);
  const double direct_stiffness = matrix_ ? 0 : stiffness, direct_damping = kept || same ? 0 : damping;
  if (direct_stiffness != 0 || direct_damping != 0)
    parallel_for(0, nodes(), 128, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        for (const std::int32_t corner : gather_.at(i)) {
          Block3& to = blocks[i];
          const Index element = corner / quadratic_tet::nodes;
          const int node = corner % quadratic_tet::nodes;
          if (direct_stiffness != 0) to -= direct_stiffness * block(stiffness_fields(), element, node);
          if (direct_damping != 0) to -= direct_damping * block(damping_tangents(), element, node);
        }
    });
  add_mass_diagonal(damping_scale, blocks);
}

namespace {

/// A bound of the derivative of the stress at F, or of its part that damps: by gradients g and h it is at most this times
/// |g| |h|.
MENISCUS_INLINE Pack tangent_bound(Material material, const PackMat3& f, const Pack& lambda, const Pack& mu, bool damping) {
  const Pack hooke = abs(lambda) + 2.0 * mu, zero = splat(0.0);
  if (material == Material::linear) return hooke;
  if (damping) return detail::square_of_stretch(f) * hooke;
  if (material == Material::corotational) {
    const Pack t = contract(polar_lanes(f), f), c = lambda * (t - 3.0) - 2.0 * mu;
    // No stretch is farther from their mean than sqrt(2/3) times the norm of the deviation.
    const Pack mean = (2.0 / 3.0) * t, most = sqrt((2.0 / 3.0) * max(contract(f, f) - t * t / 3.0, zero));
    return hooke + max(mu + c / max(select(c > 0.0, mean - most, mean + most), splat(0.05)), zero);
  }
  // Around the means of p and q, which are products of lengths, what is left is bounded by its entries.
  const PrincipalTangent t = tangent_of(material, principal_axes(f).s, lambda, mu, 0);
  const auto largest = [](const PackVec3& w) { return max(max(abs(w.x), abs(w.y)), abs(w.z)); };
  const auto mean = [](const PackVec3& w) { return (1.0 / 3.0) * (w.x + w.y + w.z); };
  const Pack p = mean(t.p), both = p + mean(t.q);
  return max(largest({t.a.xx - both, t.a.yy - both, t.a.zz - both}), largest({t.a.xy, t.a.yz, t.a.zx})) + largest(t.q) +
         largest({t.p.x - p, t.p.y - p, t.p.z - p}) + abs(p);
}

}  // namespace

void QuadraticTetElements::set_bounds(std::span<const mesh::Point> x, bool damping) const {
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const NodeValues at(e, x.data());
      Pack length[quadratic_tet::nodes][points], factor[points];
      for (int q = 0; q < points; ++q) {
        const PackMat3 y = detail::inverse_at(e, q);
        const Pack w = load_pack(e.weight[q]);
        factor[q] = tangent_bound(options_.material, detail::gradient(at.slopes(q), y), w * load_pack(e.lambda),
                                  w * load_pack(e.mu), damping);
        for (int k = 0; k < quadratic_tet::nodes; ++k) {
          const auto slope = [&](int a) { return splat(quadratic_tet::slope(a, k, q) - quadratic_tet::slope(0, k, q)); };
          const PackVec3 g = (slope(1) * y.a + slope(2) * y.b) + slope(3) * y.c;
          length[k][q] = sqrt(dot(g, g));
        }
      }
      // The stiffness is bounded by the matrix of the norms of its blocks, N, and this by diag(N v / v) for any v > 0: here the
      // mean length of the gradient of each node over its share of the mass, which is nearly the shape of the fastest mode.
      Pack v[quadratic_tet::nodes], along[points];
      for (int q = 0; q < points; ++q) along[q] = splat(0.0);
      for (int k = 0; k < quadratic_tet::nodes; ++k) {
        Pack sum = splat(0.0);
        for (int q = 0; q < points; ++q) sum += length[k][q];
        v[k] = sum / quadratic_tet::mass_share(k);
        for (int q = 0; q < points; ++q) along[q] += length[k][q] * v[k];
      }
      for (int k = 0; k < quadratic_tet::nodes; ++k) {
        Pack sum = splat(0.0);
        for (int q = 0; q < points; ++q) sum += factor[q] * length[k][q] * along[q];
        const Pack bound = 0.5 * sum / v[k];
        for (int l = 0; l < pack_size; ++l)
          corner_[quadratic_tet::nodes * (pack_size * i + static_cast<std::size_t>(l)) + static_cast<std::size_t>(k)].x() =
              bound[l];
      }
    }
  });
}

void QuadraticTetElements::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  set_bounds(x, false);
  add_corner_sums(1.0, stiffness);
}

void QuadraticTetElements::add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const {
  if (options_.damping > 0) {
    set_bounds(x, true);
    add_corner_sums(options_.damping, damping);
  }
  add_mass_damping_bounds(damping);
}

}  // namespace meniscus::solids
