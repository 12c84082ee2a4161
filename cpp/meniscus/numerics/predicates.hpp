/// Signs of determinants that tell on which side of a line, plane, circle or sphere a point lies, exact for all finite doubles.
///
/// A rounded determinant decides when it is greater than a bound of its own error, which is most of the time. Otherwise the sign
/// comes from integers or floating-point expansions, whichever the bits of the coordinates allow; integers of some thousand bits
/// are the last resort for coordinates of very different magnitude.
///
/// Sources: Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997 (the bounds; here
/// they also cover underflow); Brochu 2012, section 4.4.1.
#pragma once

#include "meniscus/core/types.hpp"

#include <cmath>
#include <span>

namespace meniscus::numerics {

using Vector2 = Vec<double, 2>;
using Vector3 = Vec<double, 3>;

namespace detail {

// Filters return the sign where it is certain and 0 where it is not, without branches. A sum that overflows makes the bound
// infinite, so that nothing is certain. Products that underflow are wrong by at most 2^-1075 each: `tiny` carries this through
// further products, and `least` covers what is left. The factors are the numbers of roundings in units of 2^-53, plus one for
// the roundings of the bound.
constexpr double unit = 0x1p-53;
constexpr double tiny = 0x1p-1015;
constexpr double least = 0x1p-1050;

inline int sign_beyond(double value, double bound) { return static_cast<int>(value > bound) - static_cast<int>(value < -bound); }

inline int orient2d_filter(double ax, double ay, double bx, double by, double cx, double cy) {
  const double left = (bx - ax) * (cy - ay);
  const double right = (by - ay) * (cx - ax);
  return sign_beyond(left - right, 5 * unit * (std::abs(left) + std::abs(right)) + least);
}

inline int orient3d_filter(const double* a, const double* b, const double* c, const double* d) {
  const double bx = b[0] - a[0], by = b[1] - a[1], bz = b[2] - a[2];
  const double cx = c[0] - a[0], cy = c[1] - a[1], cz = c[2] - a[2];
  const double dx = d[0] - a[0], dy = d[1] - a[1], dz = d[2] - a[2];
  const double yz = by * cz, zy = bz * cy;
  const double zx = bz * cx, xz = bx * cz;
  const double xy = bx * cy, yx = by * cx;
  const double value = dx * (yz - zy) + dy * (zx - xz) + dz * (xy - yx);
  const double size = std::abs(dx) * (std::abs(yz) + std::abs(zy) + tiny) + std::abs(dy) * (std::abs(zx) + std::abs(xz) + tiny) +
                      std::abs(dz) * (std::abs(xy) + std::abs(yx) + tiny);
  return sign_beyond(value, 9 * unit * size + least);
}

inline int incircle_filter(const double* a, const double* b, const double* c, const double* d) {
  const double ax = a[0] - d[0], ay = a[1] - d[1];
  const double bx = b[0] - d[0], by = b[1] - d[1];
  const double cx = c[0] - d[0], cy = c[1] - d[1];
  const double bc = bx * cy, cb = by * cx;
  const double ca = cx * ay, ac = cy * ax;
  const double ab = ax * by, ba = ay * bx;
  const double al = ax * ax + ay * ay, bl = bx * bx + by * by, cl = cx * cx + cy * cy;
  const double value = al * (bc - cb) + bl * (ca - ac) + cl * (ab - ba);
  const double size = (al + tiny) * (std::abs(bc) + std::abs(cb) + tiny) + (bl + tiny) * (std::abs(ca) + std::abs(ac) + tiny) +
                      (cl + tiny) * (std::abs(ab) + std::abs(ba) + tiny);
  return sign_beyond(value, 12 * unit * size + least);
}

inline int insphere_filter(const double* a, const double* b, const double* c, const double* d, const double* e) {
  const double ax = a[0] - e[0], ay = a[1] - e[1], az = a[2] - e[2];
  const double bx = b[0] - e[0], by = b[1] - e[1], bz = b[2] - e[2];
  const double cx = c[0] - e[0], cy = c[1] - e[1], cz = c[2] - e[2];
  const double dx = d[0] - e[0], dy = d[1] - e[1], dz = d[2] - e[2];
  const double axby = ax * by, bxay = bx * ay, bxcy = bx * cy, cxby = cx * by;
  const double cxdy = cx * dy, dxcy = dx * cy, dxay = dx * ay, axdy = ax * dy;
  const double axcy = ax * cy, cxay = cx * ay, bxdy = bx * dy, dxby = dx * by;
  const double ab = axby - bxay, bc = bxcy - cxby, cd = cxdy - dxcy, da = dxay - axdy, ac = axcy - cxay, bd = bxdy - dxby;
  const double ab_size = std::abs(axby) + std::abs(bxay) + tiny, bc_size = std::abs(bxcy) + std::abs(cxby) + tiny;
  const double cd_size = std::abs(cxdy) + std::abs(dxcy) + tiny, da_size = std::abs(dxay) + std::abs(axdy) + tiny;
  const double ac_size = std::abs(axcy) + std::abs(cxay) + tiny, bd_size = std::abs(bxdy) + std::abs(dxby) + tiny;
  const double a_size = std::abs(az), b_size = std::abs(bz), c_size = std::abs(cz), d_size = std::abs(dz);
  const double al = ax * ax + ay * ay + az * az, bl = bx * bx + by * by + bz * bz;
  const double cl = cx * cx + cy * cy + cz * cz, dl = dx * dx + dy * dy + dz * dz;
  const double abc = az * bc - bz * ac + cz * ab, bcd = bz * cd - cz * bd + dz * bc;
  const double cda = cz * da + dz * ac + az * cd, dab = dz * ab + az * bd + bz * da;
  const double value = (cl * dab - dl * abc) + (al * bcd - bl * cda);
  const double size = ((cl + tiny) * (d_size * ab_size + a_size * bd_size + b_size * da_size + tiny) +
                       (dl + tiny) * (a_size * bc_size + b_size * ac_size + c_size * ab_size + tiny)) +
                      ((al + tiny) * (b_size * cd_size + c_size * bd_size + d_size * bc_size + tiny) +
                       (bl + tiny) * (c_size * da_size + d_size * ac_size + a_size * cd_size + tiny));
  return sign_beyond(value, 18 * unit * size + least);
}

// The signs where the filters return 0.
int orient2d_exact(double ax, double ay, double bx, double by, double cx, double cy);
int orient3d_exact(const double* a, const double* b, const double* c, const double* d);
int incircle_exact(const double* a, const double* b, const double* c, const double* d);
int insphere_exact(const double* a, const double* b, const double* c, const double* d, const double* e);

}  // namespace detail

/// +1 where a, b, c turn counter-clockwise, -1 clockwise, 0 on a line.
inline int orient2d(double ax, double ay, double bx, double by, double cx, double cy) {
  const int sign = detail::orient2d_filter(ax, ay, bx, by, cx, cy);
  return sign != 0 ? sign : detail::orient2d_exact(ax, ay, bx, by, cx, cy);
}
inline int orient2d(const Vector2& a, const Vector2& b, const Vector2& c) { return orient2d(a[0], a[1], b[0], b[1], c[0], c[1]); }

/// The sign of (d - a) . ((b - a) x (c - a)): +1 where a, b, c are counter-clockwise as seen from d, 0 in a plane.
inline int orient3d(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& d) {
  const int sign = detail::orient3d_filter(a.data(), b.data(), c.data(), d.data());
  return sign != 0 ? sign : detail::orient3d_exact(a.data(), b.data(), c.data(), d.data());
}

/// +1 where d lies inside of the circle through a, b, c, if these are counter-clockwise; the opposite if they are clockwise; 0 on
/// a circle or a line.
inline int incircle(const Vector2& a, const Vector2& b, const Vector2& c, const Vector2& d) {
  const int sign = detail::incircle_filter(a.data(), b.data(), c.data(), d.data());
  return sign != 0 ? sign : detail::incircle_exact(a.data(), b.data(), c.data(), d.data());
}

/// +1 where e lies inside of the sphere through a, b, c, d, if orient3d(a, b, c, d) is positive; the opposite if it is negative;
/// 0 on a sphere or a plane.
inline int insphere(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& d, const Vector3& e) {
  const int sign = detail::insphere_filter(a.data(), b.data(), c.data(), d.data(), e.data());
  return sign != 0 ? sign : detail::insphere_exact(a.data(), b.data(), c.data(), d.data(), e.data());
}

/// The same for rows of arrays of equal length, in parallel.
void orient2d(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::int8_t* out);
void orient3d(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::int8_t* out);
void incircle(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::span<const Vector2> d,
              std::int8_t* out);
void insphere(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::span<const Vector3> e, std::int8_t* out);

}  // namespace meniscus::numerics
