/// Roots in (0, infinity) of polynomials up to degree three over an exact ring, and signs of other polynomials there.
///
/// Source: Basu, Pollack and Roy, "Algorithms in real algebraic geometry", 2006, section 2.2 (Cauchy index and signed remainder
/// sequences). That the points below keep the roots of a cubic apart is shown beside them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace meniscus::collision {

/// c[0] + c[1] s + ... + c[degree] s^degree, where c[degree] may vanish.
template <class Z>
struct ExactPolynomial {
  int degree = 0;
  std::array<Z, 4> c;

  const Z& operator[](int i) const { return c[i]; }
  Z& operator[](int i) { return c[i]; }
  const Z& leading() const { return (*this)[degree]; }

  bool zero() const {
    for (int i = 0; i <= degree; ++i)
      if ((*this)[i].sign() != 0) return false;
    return true;
  }
  /// The same without leading zeros.
  void trim() {
    while (degree > 0 && leading().sign() == 0) --degree;
  }
  ExactPolynomial operator-() const {
    ExactPolynomial r;
    r.degree = degree;
    for (int i = 0; i <= degree; ++i) r[i] = -(*this)[i];
    return r;
  }
  friend ExactPolynomial operator-(const ExactPolynomial& a, const ExactPolynomial& b) {
    ExactPolynomial r;
    r.degree = a.degree;
    for (int i = 0; i <= r.degree; ++i) r[i] = a[i] - b[i];
    return r;
  }
};

/// A point num / den of [0, infinity], both not negative and not both zero.
template <class Z>
struct Abscissa {
  Z num;
  Z den;

  static Abscissa zero() { return {Z(0), Z(1)}; }
  static Abscissa infinity() { return {Z(1), Z(0)}; }
};

/// The sign of den^degree p(num / den): at infinity that of the last coefficient, even if it vanishes.
template <class Z>
int sign_at(const ExactPolynomial<Z>& p, const Abscissa<Z>& x) {
  if (x.num.sign() == 0) return p[0].sign();
  if (x.den.sign() == 0) return p.leading().sign();
  Z sum = p.leading();
  Z power = x.den;
  for (int i = p.degree; i-- > 0;) {
    sum = sum * x.num + p[i] * power;
    if (i > 0) power = power * x.den;
  }
  return sum.sign();
}

/// The remainder of a positive multiple of p divided by q, which is trimmed and not zero.
template <class Z>
ExactPolynomial<Z> remainder(ExactPolynomial<Z> p, const ExactPolynomial<Z>& q) {
  p.trim();
  while (p.degree >= q.degree && !p.zero()) {
    const int shift = p.degree - q.degree;
    const bool positive = q.leading().sign() > 0;
    const Z scale = positive ? q.leading() : -q.leading();
    const Z factor = positive ? p.leading() : -p.leading();
    for (int i = 0; i < p.degree; ++i) {
      p[i] = p[i] * scale;
      if (i >= shift) p[i] = p[i] - factor * q[i - shift];
    }
    if (p.degree == 0) {
      p[0] = Z(0);
      break;
    }
    --p.degree;
    p.trim();
  }
  return p;
}

/// A root of a polynomial: the only one in (low, high), where it changes sign; or the rational number `low`, if it is `rational`.
template <class Z>
struct ExactRoot {
  Abscissa<Z> low;
  Abscissa<Z> high;
  bool rational = false;
  int multiplicity = 1;
};

/// The distinct roots in (0, infinity), at most three.
template <class Z>
class ExactRoots {
 public:
  explicit ExactRoots(const ExactPolynomial<Z>& given) {
    // Roots at 0 and at infinity are not included.
    int first = 0;
    while (first < given.degree && given[first].sign() == 0) ++first;
    polynomial_.degree = given.degree - first;
    for (int i = 0; i <= polynomial_.degree; ++i) polynomial_[i] = given[i + first];
    polynomial_.trim();
    switch (polynomial_.degree) {
      case 1:
        add_rational(-polynomial_[0], polynomial_[1], 1);
        break;
      case 2:
        solve_quadratic();
        break;
      case 3:
        solve_cubic();
        break;
      default:
        break;
    }
  }

  int size() const { return size_; }
  const ExactRoot<Z>& operator[](int i) const { return roots_[i]; }

  /// The sign of q at root i.
  int sign(ExactPolynomial<Z> q, int i) const {
    const ExactRoot<Z>& root = (*this)[i];
    if (root.rational) return sign_at(q, root.low);
    q = remainder(q, polynomial_);
    if (q.zero()) return 0;
    // The Cauchy index of q / p over the interval is the sign of q p' at the pole; p is the polynomial.
    ExactPolynomial<Z> before = polynomial_;
    int last_low = sign_at(before, root.low);
    int last_high = sign_at(before, root.high);
    const int slope = last_high;
    int variations = 0;
    for (;;) {
      const int low = sign_at(q, root.low);
      const int high = sign_at(q, root.high);
      if (low * last_low < 0) ++variations;
      if (high * last_high < 0) --variations;
      if (low != 0) last_low = low;
      if (high != 0) last_high = high;
      if (q.degree == 0) break;
      ExactPolynomial<Z> next = -remainder(before, q);
      if (next.zero()) break;
      before = q;
      q = next;
    }
    return variations * slope;
  }

 private:
  /// num / den made a point of (0, infinity); false if it is none.
  static bool positive(Z& num, Z& den) {
    if (num.sign() * den.sign() <= 0) return false;
    if (den.sign() < 0) {
      num = -num;
      den = -den;
    }
    return true;
  }

  void add_rational(Z num, Z den, int multiplicity) {
    if (!positive(num, den)) return;
    ExactRoot<Z>& r = roots_[size_++];
    r.low = {num, den};
    r.high = r.low;
    r.rational = true;
    r.multiplicity = multiplicity;
  }

  /// Adds the root between two points, of which there is at most one, and none at them.
  void add_between(const Abscissa<Z>& low, const Abscissa<Z>& high) {
    if (sign_at(polynomial_, low) * sign_at(polynomial_, high) >= 0) return;
    ExactRoot<Z>& r = roots_[size_++];
    r.low = low;
    r.high = high;
  }

  void solve_quadratic() {
    const Z& a = polynomial_[2];
    const Z& b = polynomial_[1];
    const Z& c = polynomial_[0];
    const int discriminant = (b * b - Z(4) * a * c).sign();
    if (discriminant < 0) return;
    Z num = -b;
    Z den = a + a;
    if (discriminant == 0) return add_rational(num, den, 2);
    if (!positive(num, den)) return add_between(Abscissa<Z>::zero(), Abscissa<Z>::infinity());
    const Abscissa<Z> vertex{num, den};
    add_between(Abscissa<Z>::zero(), vertex);
    add_between(vertex, Abscissa<Z>::infinity());
  }

  void solve_cubic() {
    const Z a = polynomial_[3];
    const Z b = polynomial_[2];
    const Z c = polynomial_[1];
    const Z d = polynomial_[0];
    // The Hessian h s^2 + k s + l of the cubic; its discriminant is -3 times that of the cubic.
    const Z h = b * b - Z(3) * a * c;
    const Z k = b * c - Z(9) * a * d;
    const Z l = c * c - Z(3) * b * d;
    const int discriminant = (Z(4) * h * l - k * k).sign();
    if (discriminant < 0) return add_between(Abscissa<Z>::zero(), Abscissa<Z>::infinity());
    if (discriminant == 0) {
      if (h.sign() == 0) return add_rational(-b, Z(3) * a, 3);
      // All roots are rational: k / -2h twice, and the sum of all is -b / a.
      add_rational(-k, h + h, 2);
      add_rational(a * k - b * h, a * h, 1);
      return;
    }
    // Three roots p < q < r, whose mean is `middle`. If q lies above it, then `other`, the real part of the roots of the Hessian,
    // lies between q and r: for p = 0, r = 1 it is q (1 + q) / 2 (1 - q + q^2), which exceeds q by a positive multiple of
    // (2q - 1)(1 - q) and stays below 1. If q lies below the mean, it is the mirror image of this.
    Z middle_num = -b;
    Z middle_den = Z(3) * a;
    const bool middle = positive(middle_num, middle_den);
    if (middle) {
      const Abscissa<Z> x{middle_num, middle_den};
      if (sign_at(polynomial_, x) == 0) {
        add_rational(middle_num, middle_den, 1);
        // The quotient by s - middle, times 9 a, is a parabola about the middle.
        polynomial_.degree = 2;
        polynomial_[0] = Z(9) * a * c - Z(2) * b * b;
        polynomial_[1] = Z(6) * a * b;
        polynomial_[2] = Z(9) * a * a;
        add_between(Abscissa<Z>::zero(), x);
        add_between(x, Abscissa<Z>::infinity());
        return;
      }
    }
    Z other_num = -k;
    Z other_den = h + h;
    const bool other = positive(other_num, other_den);
    Abscissa<Z> x{middle_num, middle_den};
    Abscissa<Z> y{other_num, other_den};
    if (middle && other && y.num * x.den < x.num * y.den) std::swap(x, y);
    if (middle && other) {
      add_between(Abscissa<Z>::zero(), x);
      add_between(x, y);
      add_between(y, Abscissa<Z>::infinity());
    } else if (middle || other) {
      const Abscissa<Z>& only = middle ? x : y;
      add_between(Abscissa<Z>::zero(), only);
      add_between(only, Abscissa<Z>::infinity());
    } else {
      add_between(Abscissa<Z>::zero(), Abscissa<Z>::infinity());
    }
  }

  /// Trimmed, with all roots that are not rational, and without a root at 0 or at the ends of their intervals.
  ExactPolynomial<Z> polynomial_;
  std::array<ExactRoot<Z>, 3> roots_;
  int size_ = 0;
};

}  // namespace meniscus::collision
