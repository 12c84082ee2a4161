#include "meniscus/collision/continuous/ccd_exact.hpp"

#include "meniscus/collision/continuous/exact_roots.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

#include <limits>

namespace meniscus::collision {
namespace {

/// Bits of an integer that the algebra makes of differences of `width` bits: the highest degree in the differences is 21 (the
/// cubic at a point that keeps its roots apart), and sums and small factors take no more than three bits per degree.
constexpr int needed_bits(int width) { return 22 * (width + 4) + 64; }

using Narrow = numerics::FixedInteger<64>;
using Wide = numerics::FixedInteger<1120>;
constexpr int max_bits = 1074;  // binary places of a double below the point
static_assert(needed_bits(2098 + max_bits) <= Wide::capacity_bits);

/// Kind of contact of the elements at one time.
enum class Meeting { none, within, rim };

template <class Z>
class ContactAlgebra {
 public:
  using Poly = ExactPolynomial<Z>;

  /// The step from t = 0 to numerator / 2^bits of the given one, in units of 2^low.
  ContactAlgebra(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end, int low,
                 double numerator, int bits)
      : kind_(kind) {
    for (int d = 0; d < 3; ++d) {
      std::array<Poly, 4> x;
      for (std::size_t i = 0; i < 4; ++i) {
        x[i].degree = 1;
        x[i][0] = Z::scaled(start[i][d], low);
        x[i][1] = Z::scaled(end[i][d], low);
        if (bits > 0) {
          const Z whole = Z::scaled(1, -bits);
          const Z part = Z::scaled(numerator, 0);
          x[i][1] = x[i][0] * (whole - part) + x[i][1] * part;
          x[i][0] = x[i][0] * whole;
        }
      }
      const Index axis = d;
      if (kind == PairKind::vertex_face) {
        for (std::size_t i = 0; i < 3; ++i) corner_[i][axis] = x[0] - x[i + 1];
        corners_ = 3;
      } else {
        corner_[0][axis] = x[0] - x[2];
        corner_[1][axis] = x[0] - x[3];
        corner_[2][axis] = x[1] - x[2];
        corner_[3][axis] = x[1] - x[3];
        corners_ = 4;
      }
    }
    make_weights();
  }

  bool meets(ContactMode mode) const {
    for (const auto& end : {Abscissa<Z>::zero(), Abscissa<Z>::infinity()})
      if (sign_at(coplanarity_, end) == 0 && meeting([&](const Poly& q) { return sign_at(q, end); }) != Meeting::none)
        return true;
    if (!coplanarity_.zero()) return meets_at_roots(coplanarity_, mode);
    // Coplanar all the time: what begins to touch within the step does so with a weight of zero, on the rim.
    bool any_weight = false;
    for (const auto& axis : weight_)
      for (int i = 0; i < weights(); ++i)
        if (const Poly& w = axis[i]; !w.zero()) {
          any_weight = true;
          if (meets_at_roots(w, ContactMode::any)) return true;
        }
    if (any_weight) return false;
    // And on one line through zero all the time.
    for (std::size_t i = 0; i < corners_; ++i)
      for (const Poly& x : corner_[i])
        if (!x.zero() && meets_at_roots(x, ContactMode::any)) return true;
    return false;
  }

 private:
  int weights() const { return kind_ == PairKind::vertex_face ? 3 : 4; }

  static Poly product(const Poly& a, const Poly& b, const Poly& c, const Poly& d) {
    Poly r;
    r.degree = 2;
    r[0] = a[0] * b[0] - c[0] * d[0];
    r[1] = a[0] * b[1] + a[1] * b[0] - c[0] * d[1] - c[1] * d[0];
    r[2] = a[1] * b[1] - c[1] * d[1];
    return r;
  }
  using Vector = std::array<Poly, 3>;
  static Vector cross(const Vector& a, const Vector& b) {
    return {product(a[1], b[2], a[2], b[1]), product(a[2], b[0], a[0], b[2]), product(a[0], b[1], a[1], b[0])};
  }
  static Vector minus(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

  /// Let n be the normal of the plane of the corners at a time when they are coplanar, and w the weights for which their sum is
  /// zero. Then component r of these vectors is n[r] w, with one common factor. For two edges with directions A and B and C from
  /// one to the other, u A - v B = C makes u : v : 1 = C x B : C x A : A x B, and the conditions are on u, 1 - u, v and 1 - v.
  void make_weights() {
    Vector normal;
    if (kind_ == PairKind::vertex_face) {
      for (std::size_t i = 0; i < 3; ++i) {
        const Vector w = cross(corner_[(i + 1) % 3], corner_[(i + 2) % 3]);
        for (std::size_t r = 0; r < 3; ++r) weight_[r][i] = w[r];
        if (i == 0) normal = w;
      }
    } else {
      const Vector a = minus(corner_[2], corner_[0]);
      const Vector b = minus(corner_[0], corner_[1]);
      const Vector c = {-corner_[0][0], -corner_[0][1], -corner_[0][2]};
      const Vector one = cross(a, b);
      const Vector u = cross(c, b);
      const Vector v = cross(c, a);
      for (std::size_t r = 0; r < 3; ++r) weight_[r] = {u[r], one[r] - u[r], v[r], one[r] - v[r]};
      normal = one;
    }
    coplanarity_.degree = 3;
    for (std::size_t d = 0; d < 3; ++d) {
      const Poly& x = corner_[0][d];
      const Poly& n = normal[d];
      coplanarity_[0] = coplanarity_[0] + x[0] * n[0];
      coplanarity_[1] = coplanarity_[1] + x[0] * n[1] + x[1] * n[0];
      coplanarity_[2] = coplanarity_[2] + x[0] * n[2] + x[1] * n[1];
      coplanarity_[3] = coplanarity_[3] + x[1] * n[2];
    }
  }

  /// Kind of contact at a time when the corners are coplanar, from the signs of polynomials at that time.
  template <class Sign>
  Meeting meeting(Sign&& sign) const {
    for (const auto& axis : weight_) {
      bool positive = false;
      bool negative = false;
      bool zero = false;
      for (int i = 0; i < weights() && !(positive && negative); ++i) {
        const int s = sign(axis[i]);
        positive |= s > 0;
        negative |= s < 0;
        zero |= s == 0;
      }
      if (positive && negative) return Meeting::none;
      if (positive || negative) return zero ? Meeting::rim : Meeting::within;
    }
    // The corners lie on a line through zero. Zero is between them if it is so along each axis.
    for (std::size_t d = 0; d < 3; ++d) {
      bool above = true;
      bool below = true;
      for (std::size_t i = 0; i < corners_ && (above || below); ++i) {
        const int s = sign(corner_[i][d]);
        above &= s > 0;
        below &= s < 0;
      }
      if (above || below) return Meeting::none;
    }
    return Meeting::rim;
  }

  bool meets_at_roots(const Poly& p, ContactMode mode) const {
    const ExactRoots<Z> roots(p);
    int within = 0;
    for (int i = 0; i < roots.size(); ++i) {
      const Meeting m = meeting([&](const Poly& q) { return roots.sign(q, i); });
      if (m == Meeting::rim || (m == Meeting::within && mode == ContactMode::any)) return true;
      if (m == Meeting::within) within += roots[i].multiplicity;
    }
    return within % 2 == 1;
  }

  PairKind kind_;
  std::size_t corners_ = 0;
  std::array<Vector, 4> corner_;
  std::array<std::array<Poly, 4>, 3> weight_;
  Poly coplanarity_;
};

numerics::BitRange bit_range(const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end) {
  numerics::BitRange range;
  for (const auto* points : {&start, &end})
    for (const mesh::Point& x : *points)
      for (const double c : x) range.add(c);
  return range;
}

/// Whether the elements meet from the start up to numerator / 2^bits of the step.
bool meets(PairKind kind, ContactMode mode, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
           double numerator, int bits) {
  const numerics::BitRange range = bit_range(start, end);
  if (range.empty()) return true;
  if (needed_bits(range.width() + bits) <= Narrow::capacity_bits)
    return ContactAlgebra<Narrow>(kind, start, end, range.low, numerator, bits).meets(mode);
  return ContactAlgebra<Wide>(kind, start, end, range.low, numerator, bits).meets(mode);
}

}  // namespace

bool contact_by_algebra(PairKind kind, ContactMode mode, const std::array<mesh::Point, 4>& start,
                        const std::array<mesh::Point, 4>& end) {
  return meets(kind, mode, start, end, 1, 0);
}

double first_contact_by_algebra(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                                int bits) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!meets(kind, ContactMode::any, start, end, 1, 0)) return infinity;
  if (meets(kind, ContactMode::any, start, start, 1, 0)) return 0;
  // None in [0, low / 2^level], contact in [0, (low + 1) / 2^level]: one more bit at a time, until a double holds no more.
  double low = 0;
  int level = 0;
  while (level < bits && low < 0x1p52) {
    low *= 2;
    ++level;
    if (!meets(kind, ContactMode::any, start, end, low + 1, level)) low += 1;
  }
  return std::ldexp(low, -level);
}

}  // namespace meniscus::collision
