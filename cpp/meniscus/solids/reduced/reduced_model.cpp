#include "meniscus/solids/reduced/reduced_model.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/lane_pack.hpp"

namespace meniscus::solids {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using numerics::Pack;

constexpr Index packs_at_once = 64;
constexpr Index nodes_at_once = 256;

/// sum of m u w^T less its transpose, as the vector sum of m u x w.
Vector3d cross_of(const Matrix3d& m) { return {m(1, 2) - m(2, 1), m(2, 0) - m(0, 2), m(0, 1) - m(1, 0)}; }

/// The points of eight nodes, in axes of the frame, under an affine map.
void store_points(Pack x, Pack y, Pack z, Index count, mesh::Point* out) {
  for (Index l = 0; l < count; ++l) out[l] = {x[l], y[l], z[l]};
}

Matrix3d cross_matrix(const Vector3d& w) {
  Matrix3d m;
  m << 0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0;
  return m;
}

/// a = (1 - cos t) / t^2 and b = (t - sin t) / t^3, and their derivatives over t: R~(w) = 1 + a [w] + b [w]^2 for a length t of
/// w.
struct WarpFactors {
  double a = 0, b = 0, da = 0, db = 0;

  explicit WarpFactors(double square) {
    if (square < 1) {
      // Alternating series; after ten terms 1e-20 is left.
      double term = 0.5, sign_power = 1;
      for (int k = 0; k < 10; ++k) {
        const double of_b = term / (2 * k + 3);
        a += term * sign_power;
        b += of_b * sign_power;
        term /= (2 * k + 3) * (2 * k + 4);
        da -= 2 * (k + 1) * term * sign_power;
        db -= 2 * (k + 1) * term / (2 * k + 5) * sign_power;
        sign_power *= -square;
      }
      return;
    }
    const double t = std::sqrt(square), s = std::sin(t), c = 1 - std::cos(t);
    a = c / square;
    b = (t - s) / (t * square);
    da = (t * s - 2 * c) / (square * square);
    db = (t * c - 3 * (t - s)) / (t * square * square);
  }
};

}  // namespace

ReducedModel::ReducedModel(std::span<const mesh::Point> rest, std::span<const double> masses, const MatrixXd& basis,
                           const VectorXd& eigenvalues, bool held, MatrixXd turns)
    : nodes_(static_cast<Index>(rest.size())),
      size_(basis.cols()),
      held_(held),
      eigenvalues_(eigenvalues),
      turns_(std::move(turns)) {
  require(!warped() || (held && turns_.rows() == basis.rows() && turns_.cols() == size_),
          "only bodies that are held are warped, with turns of the size of the basis");
  require(static_cast<Index>(masses.size()) == nodes_ && basis.rows() == 3 * nodes_ && eigenvalues.size() == size_ && size_ > 0,
          "masses, basis and eigenvalues must fit the nodes and each other");
  Vector3d sum = Vector3d::Zero();
  if (warped()) masses_ = Eigen::Map<const VectorXd>(masses.data(), nodes_);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    mass_ += masses[i];
    sum += masses[i] * rest[i];
  }
  centre_ = sum / mass_;
  const Index stride = 24 * (1 + size_);
  packed_.assign(packs() * stride, 0.0);
  first_moment_ = ThreeRows::Zero(3, size_);
  for (Index i = 0; i < nodes_; ++i) {
    const Index n = i;
    const Vector3d x = rest[n] - centre_;
    double* const at = packed_.data() + i / 8 * stride + i % 8;
    for (int d = 0; d < 3; ++d) {
      at[8 * d] = x[d];
      for (Index a = 0; a < size_; ++a) at[24 * (1 + a) + 8 * d] = basis(3 * i + d, a);
    }
    second_moment_ += masses[n] * x * x.transpose();
    first_moment_ += masses[n] * basis.middleRows(3 * i, 3);
  }
  mixed_moments_ = MatrixXd::Zero(9, size_);
  if (held_) return;
  basis_moments_ = MatrixXd::Zero(9 * size_, size_);
  for (int d = 0; d < 3; ++d) {
    VectorXd weighted(nodes_);
    for (int e = 0; e < 3; ++e) {
      for (Index i = 0; i < nodes_; ++i) weighted[i] = masses[i] * (rest[i] - centre_)[d];
      using Rows = Eigen::Map<const MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, 3>>;
      const Rows ue(basis.data() + e, nodes_, size_, Eigen::Stride<Eigen::Dynamic, 3>(3 * nodes_, 3));
      const Rows ud(basis.data() + d, nodes_, size_, Eigen::Stride<Eigen::Dynamic, 3>(3 * nodes_, 3));
      mixed_moments_.row(d + 3 * e) = weighted.transpose() * ue;
      const Eigen::Map<const VectorXd> m(masses.data(), nodes_);
      const MatrixXd product = ud.transpose() * (m.asDiagonal() * ue);
      for (Index a = 0; a < size_; ++a) basis_moments_.row(9 * a + d + 3 * e) = product.row(a);
    }
  }
}

void ReducedModel::products(const VectorXd& q, MatrixXd& m) const {
  m.setZero();
  for (Index b = 0; b < size_; ++b)
    for (Index a = 0; a < size_; ++a) m.col(b) += q[a] * basis_moments_.block<9, 1>(9 * a, b);
}

void ReducedModel::inertia(const VectorXd& q, Matrix3d& j, ThreeRows& a, MatrixXd& m) const {
  products(q, m);
  Matrix3d second = second_moment_;
  for (Index b = 0; b < size_; ++b) {
    const Eigen::Map<const Matrix3d> mixed(mixed_moments_.col(b).data()), own(m.col(b).data());
    second += q[b] * (mixed + mixed.transpose() + own);
    a.col(b) = cross_of(own);
  }
  // The sum of m (U q)(U q)^T is symmetric up to rounding errors.
  j = second.trace() * Matrix3d::Identity() - 0.5 * (second + second.transpose());
}

void ReducedModel::add_turning_forces(const VectorXd& q, const VectorXd& v, const Vector3d& w, VectorXd& force,
                                      MatrixXd& m) const {
  products(q, m);
  for (Index b = 0; b < size_; ++b) {
    const Matrix3d half = Eigen::Map<const Matrix3d>(mixed_moments_.col(b).data()) + Eigen::Map<const Matrix3d>(m.col(b).data());
    force[b] += w.squaredNorm() * half.trace() - w.dot(half * w);
  }
  products(v, m);
  for (Index b = 0; b < size_; ++b) force[b] -= w.dot(cross_of(Eigen::Map<const Matrix3d>(m.col(b).data())));
}

void ReducedModel::first_moment(const VectorXd& q, ThreeRows& out) const {
  out = first_moment_;
  if (!warped()) return;
  out.setZero();
  for (Index i = 0; i < nodes_; ++i) add_rows(i, masses_[i], q, out);
}

ReducedModel::Warp ReducedModel::warp(Index node, const VectorXd& q) const {
  const Vector3d w = turns_.middleRows(3 * node, 3) * q, u = displacement(node, q);
  const Matrix3d turn = cross_matrix(w);
  const WarpFactors f(w.squaredNorm());
  const Vector3d wu = w.cross(u), wwu = w.cross(wu);
  return {Matrix3d::Identity() + f.a * turn + f.b * turn * turn,
          -f.a * cross_matrix(u) - f.b * (cross_matrix(wu) + turn * cross_matrix(u)) + (f.da * wu + f.db * wwu) * w.transpose()};
}

Vector3d ReducedModel::place(Index node, const VectorXd& q) const {
  const double* const at = packed_.data() + node / 8 * 24 * (1 + size_) + node % 8;
  const Vector3d u = displacement(node, q);
  return Vector3d(at[0], at[8], at[16]) + (warped() ? Vector3d(warp(node, q).mean * u) : u);
}

Vector3d ReducedModel::displacement(Index node, const VectorXd& q) const {
  const double* const at = packed_.data() + node / 8 * 24 * (1 + size_) + node % 8;
  Vector3d x = Vector3d::Zero();
  for (Index a = 0; a < size_; ++a) {
    const double* const u = at + 24 * (1 + a);
    x += q[a] * Vector3d(u[0], u[8], u[16]);
  }
  return x;
}

void ReducedModel::add_rows(Index node, double weight, const VectorXd& q, ThreeRows& out) const {
  const double* const at = packed_.data() + node / 8 * 24 * (1 + size_) + node % 8;
  const Warp w = warped() ? warp(node, q) : Warp{Matrix3d::Identity(), Matrix3d::Zero()};
  for (Index a = 0; a < size_; ++a) {
    const double* const p = at + 24 * (1 + a);
    const Vector3d u(p[0], p[8], p[16]);
    if (warped())
      out.col(a) += weight * (w.mean * u + w.change * turns_.block<3, 1>(3 * node, a));
    else
      out.col(a) += weight * u;
  }
}

void ReducedModel::add_rows_along(Index node, double weight, const VectorXd& q, const Matrix3d& directions, double* out,
                                  Index stride) const {
  const double* const at = packed_.data() + node / 8 * 24 * (1 + size_) + node % 8;
  const Warp w = warped() ? warp(node, q) : Warp{};
  const Matrix3d scaled = weight * (warped() ? Matrix3d(w.mean.transpose() * directions) : directions);
  for (Index a = 0; a < size_; ++a) {
    const double* const u = at + 24 * (1 + a);
    for (Index k = 0; k < 3; ++k) out[k * stride + a] += u[0] * scaled(0, k) + u[8] * scaled(1, k) + u[16] * scaled(2, k);
    if (!warped()) continue;
    const Vector3d turned = w.change * turns_.block<3, 1>(3 * node, a);
    for (Index k = 0; k < 3; ++k) out[k * stride + a] += weight * turned.dot(directions.col(k));
  }
}

double ReducedModel::largest_row() const {
  const VectorXd q = VectorXd::Zero(size_);
  double most = 0;
  for (Index i = 0; i < nodes_; ++i) {
    ThreeRows rows = ThreeRows::Zero(3, size_);
    add_rows(i, 1, q, rows);
    most = std::max(most, rows.norm());
  }
  return most;
}

double ReducedModel::reach() const {
  const VectorXd q = VectorXd::Zero(size_);
  double most = 0;
  for (Index i = 0; i < nodes_; ++i) most = std::max(most, place(i, q).norm());
  return most;
}

void ReducedModel::positions(const VectorXd& q, const Matrix3d& rotation, const Vector3d& origin,
                             std::span<mesh::Point> out) const {
  const Matrix3d& r = rotation;
  if (warped()) {
    parallel_for(0, nodes_, nodes_at_once, [&](Index first, Index last) {
      for (Index i = first; i < last; ++i) out[i] = origin + r * place(i, q);
    });
    return;
  }
  parallel_for(0, packs(), packs_at_once, [&](Index first, Index last) {
    simd_dispatch([&] {
      for (Index p = first; p < last; ++p) {
        const double* at = packed_.data() + p * 24 * (1 + size_);
        Pack x = numerics::load_pack(at), y = numerics::load_pack(at + 8), z = numerics::load_pack(at + 16);
        for (Index a = 0; a < size_; ++a) {
          at += 24;
          const Pack s = numerics::splat(q[a]);
          x += s * numerics::load_pack(at);
          y += s * numerics::load_pack(at + 8);
          z += s * numerics::load_pack(at + 16);
        }
        store_points(r(0, 0) * x + r(0, 1) * y + r(0, 2) * z + origin[0], r(1, 0) * x + r(1, 1) * y + r(1, 2) * z + origin[1],
                     r(2, 0) * x + r(2, 1) * y + r(2, 2) * z + origin[2], std::min<Index>(8, nodes_ - 8 * p), out.data() + 8 * p);
      }
    });
  });
}

void ReducedModel::velocities(const VectorXd& q, const VectorXd& v, const Matrix3d& rotation, const Vector3d& linear,
                              const Vector3d& w, std::span<mesh::Point> out) const {
  parallel_for(0, nodes_, nodes_at_once, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Vector3d s = place(i, q);
      Vector3d u = displacement(i, v);
      if (warped()) {
        const Warp at = warp(i, q);
        u = at.mean * u + at.change * (turns_.middleRows(3 * i, 3) * v);
      }
      out[i] = linear + rotation * (w.cross(s) + u);
    }
  });
}

std::size_t ReducedModel::nbytes() const {
  return sizeof(double) *
         (packed_.size() + static_cast<std::size_t>(eigenvalues_.size() + mixed_moments_.size() + basis_moments_.size() +
                                                    first_moment_.size() + turns_.size()));
}

MatrixXd node_turns(std::span<const TetGradient> elements, const MatrixXd& basis) {
  MatrixXd turns = MatrixXd::Zero(basis.rows(), basis.cols());
  VectorXd volumes = VectorXd::Zero(basis.rows() / 3);
  for (const TetGradient& e : elements)
    for (const std::int32_t i : e.node) volumes[i] += e.volume;
  for (Index a = 0; a < basis.cols(); ++a)
    for (const TetGradient& e : elements) {
      const Vector3d curl = cross_of(displacement_gradient(e, basis.col(a).data()).transpose());
      for (const std::int32_t i : e.node) turns.block<3, 1>(3 * i, a) += 0.5 * e.volume / volumes[i] * curl;
    }
  return turns;
}

}  // namespace meniscus::solids
