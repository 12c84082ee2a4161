#include "meniscus/numerics/rotation.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/rotation_lanes.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::numerics {
namespace {

using Vector3 = Vec<double, 3>;
constexpr double eps = 2.220446049250313e-16;

/// Turns columns p and q of w until they are orthogonal; returns whether they were not.
bool orthogonalise(Matrix3& w, Matrix3& v, int p, int q) {
  const double pp = w.col(p).squaredNorm(), qq = w.col(q).squaredNorm(), pq = w.col(p).dot(w.col(q));
  if (!(std::abs(pq) > eps * std::sqrt(pp) * std::sqrt(qq)) || pq == 0) return false;
  const double theta = (qq - pp) / (2 * pq);
  const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(1.0, theta));
  const double c = 1 / std::sqrt(1 + t * t), s = t * c;
  for (Matrix3* m : {&w, &v}) {
    const Vector3 a = m->col(p), b = m->col(q);
    m->col(p) = c * a - s * b;
    m->col(q) = s * a + c * b;
  }
  return true;
}

/// Exchanges two columns so that the determinant stays.
void exchange(Matrix3& m, int p, int q) {
  const Vector3 a = m.col(p);
  m.col(p) = m.col(q);
  m.col(q) = -a;
}

/// Makes the largest entry of m at least 1/2 and below 1, unless m is zero; returns the exponent taken out.
int normalise(Matrix3& m) {
  const double largest = m.cwiseAbs().maxCoeff();
  if (!(largest > 0)) return 0;
  int exponent;
  std::frexp(largest, &exponent);
  m = m.unaryExpr([&](double x) { return std::ldexp(x, -exponent); });
  return exponent;
}

/// A unit vector perpendicular to the unit vector n.
Vector3 across(const Vector3& n) {
  int least = 0;
  n.cwiseAbs().minCoeff(&least);
  return n.cross(Vector3::Unit(least)).normalized();
}

}  // namespace

SignedSvd3 signed_svd3(const Matrix3& a) {
  SignedSvd3 r;
  Matrix3 w = a;
  const int exponent = normalise(w);
  r.v.setIdentity();
  for (int sweep = 0; sweep < 40; ++sweep) {
    const bool xy = orthogonalise(w, r.v, 0, 1), yz = orthogonalise(w, r.v, 1, 2), xz = orthogonalise(w, r.v, 0, 2);
    if (!xy && !yz && !xz) break;
  }
  const auto sort = [&](int p, int q) {
    if (w.col(p).squaredNorm() < w.col(q).squaredNorm()) exchange(w, p, q), exchange(r.v, p, q);
  };
  sort(0, 1), sort(1, 2), sort(0, 1);
  const double s0 = w.col(0).norm();
  if (s0 == 0) {
    r.u = r.v;
    r.s.setZero();
    return r;
  }
  Vector3 u0 = w.col(0) / s0, u1 = w.col(1) - u0.dot(w.col(1)) * u0;
  const double s1 = u1.norm();
  if (s1 > 4 * eps * s0) {
    u1 /= s1;
  } else {
    // The turn by the smallest angle that takes v0 to u0, applied to v1.
    const Vector3 v0 = r.v.col(0), v1 = r.v.col(1);
    const double cosine = u0.dot(v0);
    u1 = cosine > -1 + 1e-8 ? Vector3(v1 - u0.dot(v1) / (1 + cosine) * (u0 + v0)) : v1;
    u1 -= u0.dot(u1) * u0;
    u1.normalize();
  }
  u1 = (u1 - u0.dot(u1) * u0).normalized();
  r.u.col(0) = u0;
  r.u.col(1) = u1;
  r.u.col(2) = u0.cross(u1);
  const double s2 = r.u.col(2).dot(w.col(2));
  const double middle = std::min(s1, s0);
  r.s = {std::ldexp(s0, exponent), std::ldexp(middle, exponent), std::ldexp(std::clamp(s2, -middle, middle), exponent)};
  return r;
}

Matrix3 polar_rotation(const Matrix3& a) {
  const SignedSvd3 d = signed_svd3(a);
  return d.u * d.v.transpose();
}

Matrix3 gram_schmidt_rotation(const Matrix3& a) {
  Matrix3 m = a, r;
  normalise(m);
  const double n0 = m.col(0).norm();
  r.col(0) = n0 > 0 ? Vector3(m.col(0) / n0) : Vector3::UnitX();
  const Vector3 rest = m.col(1) - r.col(0).dot(m.col(1)) * r.col(0);
  const double n1 = rest.norm();
  Vector3 second = n1 > 4 * eps * m.col(1).norm() ? Vector3(rest / n1) : across(r.col(0));
  second = (second - r.col(0).dot(second) * r.col(0)).normalized();
  r.col(1) = second;
  r.col(2) = r.col(0).cross(second);
  return r;
}

Matrix3 newton_orthogonal(const Matrix3& a) {
  Matrix3 r = a;
  normalise(r);
  const auto cofactors = [](const Matrix3& m) {
    Matrix3 c;
    c << m.col(1).cross(m.col(2)), m.col(2).cross(m.col(0)), m.col(0).cross(m.col(1));
    return c;
  };
  for (int i = 0; i < 100; ++i) {
    const Matrix3 c = cofactors(r);
    const double det = r.col(0).dot(c.col(0));
    if (!(std::abs(det) > 1e-12 * r.squaredNorm() * r.norm())) break;
    const double g = std::sqrt(c.norm() / (std::abs(det) * r.norm()));
    const double scale = std::abs(g - 1) < 1e-2 ? 1 : g;
    const Matrix3 next = 0.5 * scale * r + 0.5 / (scale * det) * c;
    const double step = (next - r).squaredNorm();
    r = next;
    if (step <= 1e-16) return r;
  }
  // Singular to within round-off: the iteration has nothing to invert.
  const SignedSvd3 d = signed_svd3(a);
  Matrix3 u = d.u;
  if (d.s[2] < 0) u.col(2) = -u.col(2);
  return u * d.v.transpose();
}

int rotate_quaternion(const Matrix3& a, Eigen::Quaterniond& q, int max_iterations, double tolerance) {
  Matrix3 m = a;
  normalise(m);
  for (int i = 0; i < max_iterations; ++i) {
    const Matrix3 r = q.toRotationMatrix();
    Vector3 turn = Vector3::Zero();
    for (int k = 0; k < 3; ++k) turn += r.col(k).cross(m.col(k));
    turn /= std::abs(r.cwiseProduct(m).sum()) + 1e-9;
    const double angle = turn.norm();
    if (angle < tolerance) return i;
    q = Eigen::Quaterniond(Eigen::AngleAxisd(angle, turn / angle)) * q;
    q.normalize();
  }
  return max_iterations;
}

void detail::polar_lanes_slowly(const PackMat3& a, const PackMask& done, PackMat3& r) {
  for (int l = 0; l < pack_size; ++l) {
    if (done[l]) continue;
    Matrix3 m;
    m << a.a.x[l], a.b.x[l], a.c.x[l], a.a.y[l], a.b.y[l], a.c.y[l], a.a.z[l], a.b.z[l], a.c.z[l];
    const Matrix3 q = polar_rotation(m);
    const auto put = [&](PackVec3& column, int k) {
      column.x[l] = q(0, k);
      column.y[l] = q(1, k);
      column.z[l] = q(2, k);
    };
    put(r.a, 0), put(r.b, 1), put(r.c, 2);
  }
}

namespace {

/// Rotations of up to eight matrices in rows; the lanes beyond `count` repeat the last.
void polar_batch(const RowMatrix3* a, int count, RowMatrix3* out) {
  auto kernel = [=] {
    Pack entry[9];
    for (int k = 0; k < 9; ++k)
      for (int l = 0; l < pack_size; ++l) entry[k][l] = a[std::min(l, count - 1)].data()[k];
    const PackMat3 m{{entry[0], entry[3], entry[6]}, {entry[1], entry[4], entry[7]}, {entry[2], entry[5], entry[8]}};
    const PackMat3 r = polar_lanes(m);
    const Pack result[9] = {r.a.x, r.b.x, r.c.x, r.a.y, r.b.y, r.c.y, r.a.z, r.b.z, r.c.z};
    for (int l = 0; l < count; ++l)
      for (int k = 0; k < 9; ++k) out[l].data()[k] = result[k][l];
  };
  simd_dispatch(kernel);
}

}  // namespace

void rotations(std::span<const RowMatrix3> a, const RotationOptions& options, std::span<Vec<double, 4>> start,
               std::span<RowMatrix3> out) {
  const auto n = static_cast<Index>(a.size());
  parallel_for(0, n, 256, [&](Index b, Index e) {
    if (options.method == RotationMethod::polar) {
      for (Index i = b; i < e; i += pack_size)
        polar_batch(a.data() + i, static_cast<int>(std::min<Index>(pack_size, e - i)), out.data() + i);
      return;
    }
    for (Index i = b; i < e; ++i) {
      const Matrix3 m = a[i];
      switch (options.method) {
        case RotationMethod::quaternion: {
          Eigen::Quaterniond q = Eigen::Quaterniond::Identity();
          if (!start.empty()) q = Eigen::Quaterniond(start[i][0], start[i][1], start[i][2], start[i][3]);
          rotate_quaternion(m, q, options.max_iterations, options.tolerance);
          if (!start.empty()) start[i] = {q.w(), q.x(), q.y(), q.z()};
          out[i] = q.toRotationMatrix();
          break;
        }
        case RotationMethod::newton:
          out[i] = newton_orthogonal(m);
          break;
        case RotationMethod::gram_schmidt:
          out[i] = gram_schmidt_rotation(m);
          break;
        case RotationMethod::polar:
        case RotationMethod::svd:
          out[i] = polar_rotation(m);
          break;
      }
    }
  });
}

void signed_svds(std::span<const RowMatrix3> a, std::span<RowMatrix3> u, std::span<Vec<double, 3>> s, std::span<RowMatrix3> v) {
  parallel_for(0, static_cast<Index>(a.size()), 256, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const SignedSvd3 d = signed_svd3(Matrix3(a[i]));
      u[i] = d.u;
      s[i] = d.s;
      v[i] = d.v;
    }
  });
}

}  // namespace meniscus::numerics
