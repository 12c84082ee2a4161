/// Parity of the crossings of a ray from zero with triangles and bilinear patches, in integers.
///
/// A patch (1 - p)(1 - q) a + (1 - p) q b + p (1 - q) c + p q d is replaced by two faces of the tetrahedron over its corners,
/// chosen by the side of the patch on which zero lies; a ray crosses the two as often as the patch, modulo two. Flat patches and
/// corners on a line are decided exactly.
///
/// Source: Brochu, "Dynamic explicit surface meshes and applications", 2012, section 4.5.2. The exact treatment of flat patches
/// and of degenerate triangles is ours.
#pragma once

#include "meniscus/collision/continuous/exact_roots.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace meniscus::collision {

template <class Z>
struct ExactVector {
  std::array<Z, 3> c;

  const Z& operator[](std::size_t i) const { return c[i]; }
  Z& operator[](std::size_t i) { return c[i]; }
  friend ExactVector operator-(const ExactVector& a, const ExactVector& b) { return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}}; }
};

template <class Z>
ExactVector<Z> cross(const ExactVector<Z>& a, const ExactVector<Z>& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}
template <class Z>
Z dot(const ExactVector<Z>& a, const ExactVector<Z>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// A triangle x, y, z as the cross products of its corners in turn, and the sign of their determinant.
template <class Z>
struct Triangle3 {
  std::array<ExactVector<Z>, 3> side;
  int determinant;

  static Triangle3 of(const ExactVector<Z>& x, const ExactVector<Z>& y, const ExactVector<Z>& z) {
    Triangle3 t{{cross(x, y), cross(y, z), cross(z, x)}, 0};
    t.determinant = dot(x, t.side[1]).sign();
    return t;
  }
  /// The corners lie on one line through zero.
  bool line() const {
    for (const auto& v : side)
      for (const Z& x : v.c)
        if (x.sign() != 0) return false;
    return true;
  }
};

/// Triangles and patches, and what a ray from zero does to them.
template <class Z>
class RayTargets {
 public:
  using V = ExactVector<Z>;

  /// The triangle x, y, z.
  void add_face(const V& x, const V& y, const V& z) {
    if (contain_zero_) return;
    const auto t = Triangle3<Z>::of(x, y, z);
    contain_zero_ = t.determinant == 0 && on_triangle(t, x, y, z);
    add(t);
  }

  /// The patch (1 - p)(1 - q) a + (1 - p) q b + p (1 - q) c + p q d.
  void add_patch(const V& a, const V& b, const V& c, const V& d) {
    if (contain_zero_) return;
    const V ab = cross(a, b);
    const V cd = cross(c, d);
    const Z abc = dot(c, ab);
    const Z abd = dot(d, ab);
    const Z acd = dot(a, cd);
    const Z bcd = dot(b, cd);
    // Six times the volume of the tetrahedron of the corners.
    const int volume = (bcd - acd + abd - abc).sign();
    if (volume == 0) {
      contain_zero_ = on_flat_patch(a, b, c, d);
      add(Triangle3<Z>::of(a, b, c));
      add(Triangle3<Z>::of(b, d, c));
      return;
    }
    // Zero has the barycentric coordinates bcd, -acd, abd and -abc, over the volume; the patch is where the product of the first
    // and the last of these equals that of the others, and two faces of the tetrahedron lie on each side of it.
    const bool inside = between(bcd.sign(), -volume) && between(acd.sign(), volume) && between(abd.sign(), -volume) &&
                        between(abc.sign(), volume);
    const int side = inside ? (acd * abd - bcd * abc).sign() : -1;
    if (side == 0) {
      contain_zero_ = true;
    } else if (side > 0) {
      add(Triangle3<Z>::of(a, b, c));
      add(Triangle3<Z>::of(b, d, c));
    } else {
      add(Triangle3<Z>::of(a, b, d));
      add(Triangle3<Z>::of(a, d, c));
    }
  }

  /// Whether zero is on a triangle or a patch. Once it is, nothing more is added.
  bool contain_zero() const { return contain_zero_; }

  /// Whether the ray crosses an odd number of triangles; no value if it meets an edge of one.
  std::optional<bool> crossed_oddly(const V& ray) const {
    bool odd = false;
    for (std::size_t i = 0; i < triangles_; ++i) {
      const Triangle3<Z>& t = triangle_[i];
      const auto [least, most] =
          std::minmax({dot(ray, t.side[0]).sign(), dot(ray, t.side[1]).sign(), dot(ray, t.side[2]).sign()});
      if (least < 0 && most > 0) continue;
      if (least * most == 0) return std::nullopt;
      odd ^= least == t.determinant;
    }
    return odd;
  }

 private:
  using Poly = ExactPolynomial<Z>;

  /// Zero is between two numbers with these signs, or one of them.
  static constexpr bool between(int a, int b) { return a * b <= 0; }

  void add(const Triangle3<Z>& t) {
    // Only a ray along their line would meet corners on one line.
    if (!t.line()) triangle_[triangles_++] = t;
  }

  /// Whether zero is on a triangle in whose plane it lies.
  static bool on_triangle(const Triangle3<Z>& t, const V& x, const V& y, const V& z) {
    for (std::size_t d = 0; d < 3; ++d) {
      const auto [least, most] = std::minmax({t.side[0][d].sign(), t.side[1][d].sign(), t.side[2][d].sign()});
      if (least < 0 && most > 0) return false;
      if (least != 0 || most != 0) return true;
    }
    // All on a line through zero.
    for (std::size_t d = 0; d < 3; ++d) {
      const auto [least, most] = std::minmax({x[d].sign(), y[d].sign(), z[d].sign()});
      if (!between(least, most)) return false;
    }
    return true;
  }

  /// Whether zero is on a patch whose corners are coplanar: for some p, on the segment between its sides l(p) = a + s c and
  /// u(p) = b + s d, both over 1 + s, with s = p / (1 - p).
  static bool on_flat_patch(const V& a, const V& b, const V& c, const V& d) {
    const V first = cross(a, b);
    const V middle_one = cross(a, d);
    const V middle_two = cross(c, b);
    const V last = cross(c, d);
    std::array<Poly, 3> parallel;
    std::array<Poly, 3> l;
    std::array<Poly, 3> u;
    const Poly* decisive = nullptr;
    for (std::size_t k = 0; k < 3; ++k) {
      parallel[k].degree = 2;
      parallel[k][0] = first[k];
      parallel[k][1] = middle_one[k] + middle_two[k];
      parallel[k][2] = last[k];
      if (!parallel[k].zero()) decisive = &parallel[k];
      l[k].degree = u[k].degree = 1;
      l[k][0] = a[k];
      l[k][1] = c[k];
      u[k][0] = b[k];
      u[k][1] = d[k];
    }
    const auto on_segment = [&](auto&& sign) {
      for (std::size_t k = 0; k < 3; ++k)
        if (sign(parallel[k]) != 0 || !between(sign(l[k]), sign(u[k]))) return false;
      return true;
    };
    const auto at_root_of = [&](const Poly& q) {
      const ExactRoots<Z> roots(q);
      for (int i = 0; i < roots.size(); ++i)
        if (on_segment([&](const Poly& r) { return roots.sign(r, i); })) return true;
      return false;
    };
    for (const auto& end : {Abscissa<Z>::zero(), Abscissa<Z>::infinity()})
      if (on_segment([&](const Poly& r) { return sign_at(r, end); })) return true;
    if (decisive) return at_root_of(*decisive);
    // Both sides are on one line with zero for all p, so zero comes between them where a coordinate of one vanishes.
    for (std::size_t k = 0; k < 3; ++k)
      if ((!l[k].zero() && at_root_of(l[k])) || (!u[k].zero() && at_root_of(u[k]))) return true;
    return false;
  }

  /// Six patches of two triangles each.
  std::array<Triangle3<Z>, 12> triangle_;
  std::size_t triangles_ = 0;
  bool contain_zero_ = false;
};

}  // namespace meniscus::collision
