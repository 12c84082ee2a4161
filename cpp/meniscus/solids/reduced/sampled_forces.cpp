#include "meniscus/solids/reduced/sampled_forces.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {
using namespace numerics;

constexpr Index sample_packs_at_once = 16;
constexpr Index most_pieces = 64;

MENISCUS_INLINE PackMat3 matrix_at(const double* p) {
  const auto v = [&](int k) { return load_pack(p + 8 * k); };
  return {{v(0), v(1), v(2)}, {v(3), v(4), v(5)}, {v(6), v(7), v(8)}};
}

MENISCUS_INLINE PackMat3 gradient_at(const double* modes, const double* q, Index r) {
  PackMat3 f = identity_pack();
  for (Index a = 0; a < r; ++a) f = f + splat(q[a]) * matrix_at(modes + 72 * a);
  return f;
}

/// The derivative of the stress, between principal axes for all materials but the linear one.
template <Material material>
struct StressChange {
  PrincipalAxes axes;
  PrincipalTangent t;
  Pack lambda, mu;

  MENISCUS_INLINE StressChange(const PackMat3& f, const Pack& l, const Pack& m) : lambda(l), mu(m) {
    if constexpr (material != Material::linear) {
      axes = principal_axes(f);
      const PackVec3& s = axes.s;
      if constexpr (material == Material::corotational) {
        // The stretch part of the stress is 2 mu (s_i - 1) + p, and the rotation changes by (G_ij - G_ji) / (s_i + s_j).
        const Pack zero = splat(0.0), tiny = splat(1e-8);
        const Pack p = lambda * (s.x + s.y + s.z - 3.0) - 2.0 * mu, diagonal = 2.0 * mu + lambda;
        const auto turned = [&](const Pack& a, const Pack& b) { return p / select(abs(a + b) < tiny, tiny, a + b); };
        const PackVec3 c{turned(s.x, s.y), turned(s.y, s.z), turned(s.z, s.x)};
        t.a = {diagonal, diagonal, diagonal, lambda, lambda, lambda};
        t.p = {2.0 * mu + c.x, 2.0 * mu + c.y, 2.0 * mu + c.z};
        t.q = {zero - c.x, zero - c.y, zero - c.z};
      } else {
        t = principal_tangent<material>(s, lambda, mu);
      }
    }
  }

  MENISCUS_INLINE PackMat3 operator()(const PackMat3& df) const {
    if constexpr (material == Material::linear) {
      return detail::hooke(detail::symmetric_part(df), lambda, mu);
    } else {
      const PackMat3 g = transposed_times(axes.u, df * axes.v);
      const PackVec3 d = t.a * PackVec3{g.a.x, g.b.y, g.c.z};
      // Columns: g.b.x is the entry 01.
      const PackMat3 p{{d.x, t.p.x * g.a.y + t.q.x * g.b.x, t.p.z * g.a.z + t.q.z * g.c.x},
                       {t.p.x * g.b.x + t.q.x * g.a.y, d.y, t.p.y * g.b.z + t.q.y * g.c.y},
                       {t.p.z * g.c.x + t.q.z * g.a.z, t.p.y * g.c.y + t.q.y * g.b.z, d.z}};
      return axes.u * (p * transposed(axes.v));
    }
  }
};

template <class F>
decltype(auto) with_material(Material m, F&& f) {
  switch (m) {
    case Material::linear:
      return f.template operator()<Material::linear>();
    case Material::corotational:
      return f.template operator()<Material::corotational>();
    case Material::st_venant_kirchhoff:
      return f.template operator()<Material::st_venant_kirchhoff>();
    case Material::neo_hookean:
      break;
  }
  return f.template operator()<Material::neo_hookean>();
}

}  // namespace

SampledForces::SampledForces(std::span<const TetGradient> elements, std::span<const double> weights, const Eigen::MatrixXd& basis,
                             Material material)
    : ReducedForces(basis.cols()),
      material_(material),
      samples_(static_cast<Index>(elements.size())),
      packs_((samples_ + 7) / 8),
      packs_data_(packs_ * stride(), 0.0) {
  require(weights.size() == elements.size(), "weights must be as many as elements");
  const Index pieces = std::clamp<Index>(packs_ / sample_packs_at_once, 1, most_pieces);
  partial_.resize(pieces * (1 + size() + size() * size()));
  parallel_for(0, packs_, 16, [&](Index first, Index last) {
    for (Index p = first; p < last; ++p)
      for (Index l = 0; l < 8; ++l) {
        // Lanes beyond the last element repeat it without weight.
        const Index i = std::min(8 * p + l, samples_ - 1);
        const TetGradient& e = elements[i];
        double* const at = packs_data_.data() + p * stride() + l;
        const bool real = 8 * p + l < samples_;
        at[0] = real ? weights[i] * e.volume : 0;
        at[8] = real ? e.volume : 0;
        at[16] = e.lame.lambda;
        at[24] = e.lame.mu;
        for (Index a = 0; a < size(); ++a) {
          const Eigen::Matrix3d g = displacement_gradient(e, basis.col(a).data());
          for (Index k = 0; k < 9; ++k) at[8 * (constants + 9 * a + k)] = g(k % 3, k / 3);
        }
      }
  });
}

template <Material material>
double SampledForces::sum_of(const double* first, Index packs, const double* q, double* gradient, double* stiffness) const {
  double energy = 0;
  const Index r = size();
  for (Index p = 0; p < packs; ++p) {
    const double* const at = first + p * stride();
    const double* const modes = at + 8 * constants;
    const Pack weight = load_pack(at), lambda = load_pack(at + 16), mu = load_pack(at + 24);
    const PackMat3 f = gradient_at(modes, q, r);
    energy += numerics::sum_of(weight * energy_density<material>(f, lambda, mu));
    const PackMat3 s = weight * stress<material>(f, lambda, mu);
    for (Index a = 0; a < r; ++a) gradient[a] += numerics::sum_of(contract(s, matrix_at(modes + 72 * a)));
    if (!stiffness) continue;
    const StressChange<material> change(f, lambda, mu);
    for (Index a = 0; a < r; ++a) {
      const PackMat3 ds = weight * change(matrix_at(modes + 72 * a));
      for (Index b = 0; b <= a; ++b) stiffness[a * r + b] += numerics::sum_of(contract(ds, matrix_at(modes + 72 * b)));
    }
  }
  return energy;
}

double SampledForces::at(const Eigen::VectorXd& q, Eigen::VectorXd& gradient, Eigen::MatrixXd* stiffness) {
  const Index r = size(), width = 1 + r + r * r, pieces = static_cast<Index>(partial_.size()) / width;
  std::fill(partial_.begin(), partial_.end(), 0.0);
  parallel_for(0, pieces, 1, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Index begin = i * packs_ / pieces, end = (i + 1) * packs_ / pieces;
      double* const out = partial_.data() + i * width;
      with_material(material_, [&]<Material material>() {
        simd_dispatch([&] {
          out[0] = sum_of<material>(packs_data_.data() + begin * stride(), end - begin, q.data(), out + 1,
                                    stiffness ? out + 1 + r : nullptr);
        });
      });
    }
  });
  double energy = 0;
  gradient.setZero();
  if (stiffness) stiffness->setZero();
  for (Index i = 0; i < pieces; ++i) {
    const double* const part = partial_.data() + i * width;
    energy += part[0];
    for (Index a = 0; a < r; ++a) gradient[a] += part[1 + a];
    if (stiffness)
      for (Index a = 0; a < r; ++a)
        for (Index b = 0; b <= a; ++b) (*stiffness)(a, b) += part[1 + r + a * r + b];
  }
  if (stiffness)
    for (Index a = 0; a < r; ++a)
      for (Index b = 0; b < a; ++b) (*stiffness)(b, a) = (*stiffness)(a, b);
  return energy;
}

void SampledForces::shares(const Eigen::VectorXd& q, Eigen::MatrixXd& out) const {
  parallel_for(0, packs_, 16, [&](Index first, Index last) {
    with_material(material_, [&]<Material material>() {
      simd_dispatch([&] {
        for (Index p = first; p < last; ++p) {
          const double* const at = packs_data_.data() + p * stride();
          const double* const modes = at + 8 * constants;
          const PackMat3 f = gradient_at(modes, q.data(), size());
          const PackMat3 s = load_pack(at + 8) * stress<material>(f, load_pack(at + 16), load_pack(at + 24));
          for (Index a = 0; a < size(); ++a) {
            const Pack share = contract(s, matrix_at(modes + 72 * a));
            for (Index l = 0; l < 8 && 8 * p + l < samples_; ++l) out(a, 8 * p + l) = share[l];
          }
        }
      });
    });
  });
}

std::size_t SampledForces::nbytes() const { return sizeof(double) * (packs_data_.size() + partial_.size()); }

}  // namespace meniscus::solids
