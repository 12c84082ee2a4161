#include "meniscus/solids/reduced/cubic_forces.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/lane_pack.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

using Eigen::MatrixXd;

constexpr Index batch = 256;
constexpr Index columns_at_once = 32;

Index pair_of(Index i, Index j) { return i <= j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j; }

/// A symmetric strain as six numbers whose scalar product is twice the density of energy times the volume.
Eigen::Matrix<double, 6, 1> energy_coordinates(const TetGradient& e, const Eigen::Matrix3d& s) {
  const double shear = std::sqrt(2 * e.lame.mu * e.volume), bulk = std::sqrt((2 * e.lame.mu + 3 * e.lame.lambda) * e.volume / 3);
  Eigen::Matrix<double, 6, 1> v;
  v << bulk * s.trace(), shear * std::sqrt(0.5) * (s(0, 0) - s(1, 1)),
      shear * std::sqrt(1.0 / 6) * (s(0, 0) + s(1, 1) - 2 * s(2, 2)), shear * std::sqrt(2.0) * s(0, 1),
      shear * std::sqrt(2.0) * s(1, 2), shear * std::sqrt(2.0) * s(2, 0);
  return v;
}

/// Scalar products of strains, summed over the elements: of linear ones with each other, of linear with quadratic ones and of
/// quadratic ones (upper half).
struct StrainProducts {
  MatrixXd linear, mixed, quadratic;
};

StrainProducts strain_products(std::span<const TetGradient> elements, const MatrixXd& basis, bool quadratic_strain) {
  const Index r = basis.cols(), pairs = quadratic_strain ? r * (r + 1) / 2 : 0, count = static_cast<Index>(elements.size());
  StrainProducts out{MatrixXd::Zero(r, r), MatrixXd::Zero(r, pairs), MatrixXd::Zero(pairs, pairs)};
  MatrixXd first(6 * batch, r), second(6 * batch, pairs);
  for (Index begin = 0; begin < count; begin += batch) {
    const Index size = std::min(batch, count - begin);
    parallel_for(0, size, 16, [&](Index b, Index end) {
      std::vector<Eigen::Matrix3d> g(r);
      for (Index i = b; i < end; ++i) {
        const TetGradient& e = elements[begin + i];
        for (Index a = 0; a < r; ++a) {
          const Eigen::Matrix3d& ga = g[a] = displacement_gradient(e, basis.col(a).data());
          first.block<6, 1>(6 * i, a) = energy_coordinates(e, 0.5 * (ga + ga.transpose()));
          if (pairs == 0) continue;
          for (Index c = 0; c <= a; ++c) {
            const Eigen::Matrix3d product = ga.transpose() * g[c];
            second.block<6, 1>(6 * i, pair_of(c, a)) = energy_coordinates(e, 0.5 * (product + product.transpose()));
          }
        }
      }
    });
    const auto e = first.topRows(6 * size);
    const auto s = second.topRows(6 * size);
    out.linear.noalias() += e.transpose() * e;
    parallel_for(0, pairs, columns_at_once, [&](Index b, Index end) {
      out.mixed.middleCols(b, end - b).noalias() += e.transpose() * s.middleCols(b, end - b);
      out.quadratic.block(0, b, end, end - b).noalias() += s.leftCols(end).transpose() * s.middleCols(b, end - b);
    });
  }
  for (Index j = 0; j < pairs; ++j)
    for (Index i = 0; i < j; ++i) out.quadratic(j, i) = out.quadratic(i, j);
  return out;
}

}  // namespace

CubicForces::CubicForces(std::span<const TetGradient> elements, const MatrixXd& basis, bool quadratic_strain)
    : ReducedForces(basis.cols()),
      coefficients_(groups() * columns() * group),
      monomials_(columns()),
      parts_(3 * groups() * group) {
  const StrainProducts p = strain_products(elements, basis, quadratic_strain);
  const Index r = size();
  for (Index j = 0; j < r; ++j)
    for (Index i = 0; i <= j; ++i) {
      const Index row = pair_of(i, j);
      coefficient(row, 0) = p.linear(i, j);
      if (!quadratic_strain) continue;
      for (Index k = 0; k < r; ++k)
        coefficient(row, 1 + k) = p.mixed(i, pair_of(j, k)) + p.mixed(j, pair_of(i, k)) + p.mixed(k, pair_of(i, j));
      for (Index l = 0; l < r; ++l)
        for (Index k = 0; k <= l; ++k) {
          const double sum = p.quadratic(row, pair_of(k, l)) + p.quadratic(pair_of(i, k), pair_of(j, l)) +
                             p.quadratic(pair_of(i, l), pair_of(j, k));
          coefficient(row, 1 + r + pair_of(k, l)) = k == l ? 0.5 * sum : sum;
        }
    }
}

CubicForces::CubicForces(Index size, std::span<const double> coefficients)
    : ReducedForces(size),
      coefficients_(coefficients.begin(), coefficients.end()),
      monomials_(columns()),
      parts_(3 * groups() * group) {
  require(static_cast<Index>(coefficients.size()) == groups() * columns() * group, "coefficients of ", size,
          " coordinates must be ", groups() * columns() * group, ", not ", coefficients.size());
}

double CubicForces::at(const Eigen::VectorXd& q, Eigen::VectorXd& gradient, MatrixXd* stiffness) {
  using numerics::Pack;
  const Index r = size(), n = columns();
  double* const m = monomials_.data();
  m[0] = 1;
  for (Index k = 0; k < r; ++k) m[1 + k] = q[k];
  for (Index l = 0; l < r; ++l)
    for (Index k = 0; k <= l; ++k) m[1 + r + pair_of(k, l)] = q[k] * q[l];
  const Index rows = groups() * group;
  double* const parts = parts_.data();
  parallel_for(0, groups(), 32, [&](Index first, Index last) {
    simd_dispatch([&] {
      for (Index g = first; g < last; ++g) {
        const double* c = coefficients_.data() + g * n * group;
        const Index starts[4] = {0, 1, 1 + r, n};
        for (int degree = 0; degree < 3; ++degree) {
          Pack sum[4] = {};
          for (Index k = starts[degree]; k < starts[degree + 1]; ++k, c += group) {
            const Pack factor = numerics::splat(m[k]);
            for (int i = 0; i < 4; ++i) sum[i] += numerics::load_pack(c + 8 * i) * factor;
          }
          for (int i = 0; i < 4; ++i) numerics::store_pack(parts + degree * rows + g * group + 8 * i, sum[i]);
        }
      }
    });
  });
  double energy = 0;
  gradient.setZero();
  for (Index j = 0; j < r; ++j)
    for (Index i = 0; i <= j; ++i) {
      const Index row = pair_of(i, j);
      const double k2 = parts[row], k3 = parts[rows + row], k4 = parts[2 * rows + row];
      const double force = k2 + k3 / 2 + k4 / 3;
      gradient[i] += force * q[j];
      if (i != j) gradient[j] += force * q[i];
      energy += (i == j ? 1 : 2) * q[i] * q[j] * (k2 / 2 + k3 / 6 + k4 / 12);
      if (stiffness) (*stiffness)(i, j) = (*stiffness)(j, i) = k2 + k3 + k4;
    }
  return energy;
}

std::size_t CubicForces::nbytes() const { return sizeof(double) * (coefficients_.size() + monomials_.size() + parts_.size()); }

}  // namespace meniscus::solids
