#include "meniscus/collision/continuous/root_parity.hpp"

#include "meniscus/collision/continuous/ccd_exact.hpp"
#include "meniscus/collision/continuous/exact_roots.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

#include <optional>

namespace meniscus::collision {
namespace {

/// Bits of an integer of the highest degree in differences of `width` bits (six for patches, twelve for flat ones), with sums and
/// with the small numbers of a ray.
constexpr int needed_bits(int width) { return 13 * (width + 4) + 64; }

using Narrow = numerics::FixedInteger<40>;
using Wide = numerics::FixedInteger<430>;
static_assert(needed_bits(2098) <= Wide::capacity_bits);

/// Rays are tried until one meets no edge. Almost all do: of those with components up to `ray_size`, only the ones in a few
/// planes fail.
constexpr unsigned max_rays = 64;
constexpr std::int64_t ray_size = 1 << 20;
constexpr std::uint64_t ray_seed = 20120701;

template <class Z>
using ExactVector = std::array<Z, 3>;

template <class Z>
ExactVector<Z> operator-(const ExactVector<Z>& a, const ExactVector<Z>& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
template <class Z>
ExactVector<Z> cross(const ExactVector<Z>& a, const ExactVector<Z>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
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
      for (const Z& x : v)
        if (x.sign() != 0) return false;
    return true;
  }
};

/// Zero is between two numbers with these signs, or one of them.
constexpr bool between(int a, int b) { return a * b <= 0; }

template <class Z>
class RayCaster {
 public:
  using V = ExactVector<Z>;
  using Poly = ExactPolynomial<Z>;

  RayCaster(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end, int low) {
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        point_[0][i][d] = Z::scaled(start[i][static_cast<int>(d)], low);
        point_[1][i][d] = Z::scaled(end[i][static_cast<int>(d)], low);
      }
    if (kind == PairKind::vertex_face)
      add_prism();
    else
      add_cube();
  }

  /// Zero is on the border, or the number of zeros within is odd. No value if the sequence of rays is exhausted.
  std::optional<bool> collides(unsigned first_ray) const {
    if (on_border_) return true;
    for (unsigned k = 0; k < max_rays; ++k) {
      const Philox4 random = CounterRandom(ray_seed, first_ray + k, 0).words(0);
      V ray;
      for (std::size_t d = 0; d < 3; ++d) ray[d] = Z(static_cast<std::int64_t>(random[d] % (2 * ray_size + 1)) - ray_size);
      if (const std::optional<bool> odd = crossed_oddly(ray)) return odd;
    }
    return std::nullopt;
  }

 private:
  /// Corners of the image: the difference of points i and j at the start or the end.
  V corner(std::size_t when, std::size_t i, std::size_t j) const { return point_[when][i] - point_[when][j]; }

  void add_prism() {
    std::array<std::array<V, 3>, 2> c;
    for (std::size_t when = 0; when < 2; ++when) {
      for (std::size_t k = 0; k < 3; ++k) c[when][k] = corner(when, 0, k + 1);
      add_face(c[when][0], c[when][1], c[when][2]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t next = (k + 1) % 3;
      add_patch(c[0][k], c[0][next], c[1][k], c[1][next]);
    }
  }

  void add_cube() {
    std::array<std::array<std::array<V, 2>, 2>, 2> c;
    for (std::size_t when = 0; when < 2; ++when)
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t b = 0; b < 2; ++b) c[when][a][b] = corner(when, a, 2 + b);
    for (std::size_t k = 0; k < 2; ++k) {
      add_patch(c[k][0][0], c[k][0][1], c[k][1][0], c[k][1][1]);
      add_patch(c[0][k][0], c[0][k][1], c[1][k][0], c[1][k][1]);
      add_patch(c[0][0][k], c[0][1][k], c[1][0][k], c[1][1][k]);
    }
  }

  /// Of the image's border, the triangle x, y, z.
  void add_face(const V& x, const V& y, const V& z) {
    if (on_border_) return;
    const auto t = Triangle3<Z>::of(x, y, z);
    on_border_ = t.determinant == 0 && on_triangle(t, x, y, z);
    add(t);
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

  void add(const Triangle3<Z>& t) {
    // Only a ray along their line would meet corners on one line.
    if (!t.line()) triangle_[triangles_++] = t;
  }

  /// Of the image's border, the patch (1 - p)(1 - q) a + (1 - p) q b + p (1 - q) c + p q d.
  void add_patch(const V& a, const V& b, const V& c, const V& d) {
    if (on_border_) return;
    const V ab = cross(a, b);
    const V cd = cross(c, d);
    const Z abc = dot(c, ab);
    const Z abd = dot(d, ab);
    const Z acd = dot(a, cd);
    const Z bcd = dot(b, cd);
    // Six times the volume of the tetrahedron of the corners.
    const int volume = (bcd - acd + abd - abc).sign();
    if (volume == 0) {
      on_border_ = on_flat_patch(a, b, c, d);
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
      on_border_ = true;
    } else if (side > 0) {
      add(Triangle3<Z>::of(a, b, c));
      add(Triangle3<Z>::of(b, d, c));
    } else {
      add(Triangle3<Z>::of(a, b, d));
      add(Triangle3<Z>::of(a, d, c));
    }
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

  std::array<std::array<V, 4>, 2> point_;
  std::array<Triangle3<Z>, 12> triangle_;
  std::size_t triangles_ = 0;
  bool on_border_ = false;
};

}  // namespace

bool root_parity(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                 unsigned first_ray) {
  numerics::BitRange range;
  for (const auto* points : {&start, &end})
    for (const mesh::Point& x : *points)
      for (const double c : x) range.add(c);
  if (range.empty()) return true;
  const bool narrow = needed_bits(range.width()) <= Narrow::capacity_bits;
  const std::optional<bool> answer = narrow ? RayCaster<Narrow>(kind, start, end, range.low).collides(first_ray)
                                            : RayCaster<Wide>(kind, start, end, range.low).collides(first_ray);
  return answer ? *answer : contact_by_algebra(kind, ContactMode::parity, start, end);
}

}  // namespace meniscus::collision
