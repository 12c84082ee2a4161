/// Floating-point expansions: numbers that are sums of doubles, added and multiplied without round-off and without heap memory.
///
/// The components of an expansion are not zero, grow in magnitude and do not overlap, so the last one has the sign of the sum.
/// The capacity is part of the type: sums and products have the largest capacity that they can need, and the work depends on the
/// actual number of components. All operations are exact as long as nothing overflows and no product underflows; `exact_scaling`
/// tells whether a polynomial of given values is safe, and by which power of two to scale them first.
///
/// Sources: Dekker, "A floating-point technique for extending the available precision", 1971; Shewchuk, "Adaptive precision
/// floating-point arithmetic and fast robust geometric predicates", 1997; Brochu 2012, section 4.4.1.
#pragma once

#include "meniscus/numerics/fixed_integer.hpp"

#include <optional>

namespace meniscus::numerics {

/// A rounded result and its rounding error.
struct RoundedPair {
  double value;
  double error;
};

/// a + b = value + error.
inline RoundedPair two_sum(double a, double b) {
  const double s = a + b;
  const double shadow = s - a;
  return {s, (a - (s - shadow)) + (b - shadow)};
}

/// The same for |a| >= |b| or a = 0.
inline RoundedPair fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// a - b = value + error.
inline RoundedPair two_difference(double a, double b) { return two_sum(a, -b); }

/// a b = value + error, where the product of the last set bits does not underflow and |a|, |b| < 2^995.
inline RoundedPair two_product(double a, double b) {
  const double p = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return {p, std::fma(a, b, -p)};
#else
  // Without the instruction, std::fma is a call into the library that costs more than splitting both factors in halves.
  constexpr double splitter = 0x1p27 + 1;
  const double ca = splitter * a;
  const double cb = splitter * b;
  const double a1 = ca - (ca - a);
  const double b1 = cb - (cb - b);
  const double a0 = a - a1;
  const double b0 = b - b1;
  return {p, a0 * b0 - (((p - a1 * b1) - a0 * b1) - a1 * b0)};
#endif
}

namespace detail {

/// h = e + f, without zeros; returns the number of components. h must not be e or f.
inline int add_components(const double* e, int m, const double* f, int n, double* h) {
  if (m == 0 || n == 0) {
    std::copy_n(m == 0 ? f : e, m + n, h);
    return m + n;
  }
  int i = 0;
  int j = 0;
  int size = 0;
  const auto next = [&] { return j == n || (i < m && std::abs(e[i]) < std::abs(f[j])) ? e[i++] : f[j++]; };
  double q = next();
  while (i < m || j < n) {
    const RoundedPair r = two_sum(next(), q);
    if (r.error != 0) h[size++] = r.error;
    q = r.value;
  }
  if (q != 0) h[size++] = q;
  return size;
}

/// h = b e, without zeros; returns the number of components. h must not be e.
inline int scale_components(const double* e, int m, double b, double* h) {
  if (m == 0 || b == 0) return 0;
  int size = 0;
  RoundedPair p = two_product(e[0], b);
  if (p.error != 0) h[size++] = p.error;
  double q = p.value;
  for (int i = 1; i < m; ++i) {
    p = two_product(e[i], b);
    const RoundedPair low = two_sum(q, p.error);
    if (low.error != 0) h[size++] = low.error;
    const RoundedPair high = fast_two_sum(p.value, low.value);
    if (high.error != 0) h[size++] = high.error;
    q = high.value;
  }
  h[size++] = q;
  return size;
}

}  // namespace detail

template <int Capacity>
class Expansion {
 public:
  static_assert(Capacity >= 1);
  /// Zero.
  Expansion() = default;
  explicit Expansion(double x) {
    if (x != 0) push(x);
  }
  Expansion(const Expansion& e) : size_(e.size_) { std::copy_n(e.component_.data(), size_, component_.data()); }
  Expansion& operator=(const Expansion& e) {
    size_ = e.size_;
    std::copy_n(e.component_.data(), size_, component_.data());
    return *this;
  }
  /// a - b.
  static Expansion difference(double a, double b)
    requires(Capacity >= 2)
  {
    const RoundedPair r = two_difference(a, b);
    Expansion e;
    if (r.error != 0) e.push(r.error);
    if (r.value != 0) e.push(r.value);
    return e;
  }

  int size() const { return size_; }
  /// The components, the smallest first.
  double operator[](int i) const { return component_[i]; }
  int sign() const { return size_ == 0 ? 0 : (*this)[size_ - 1] > 0 ? 1 : -1; }
  /// The value to within some units of round-off.
  double estimate() const {
    double sum = 0;
    for (int i = 0; i < size_; ++i) sum += (*this)[i];
    return sum;
  }

  Expansion operator-() const {
    Expansion r;
    r.size_ = size_;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) r.component_[i] = -component_[i];
    return r;
  }

  /// The sum with one more double.
  Expansion<Capacity + 1> grown(double x) const { return *this + Expansion<1>(x); }

  /// The product with a double.
  Expansion<2 * Capacity> scaled(double x) const {
    Expansion<2 * Capacity> r;
    r.size_ = detail::scale_components(component_.data(), size_, x, r.component_.data());
    return r;
  }

  /// The same value in few components: one for about each 53 bits between the first and the last set bit. Throws std::logic_error
  /// where they are more than the new capacity.
  template <int NewCapacity = Capacity>
  Expansion<NewCapacity> compressed() const {
    Expansion<NewCapacity> r;
    if (size_ == 0) return r;
    std::array<double, Capacity> g;
    int bottom = Capacity;
    double q = (*this)[size_ - 1];
    for (int i = size_ - 1; i-- > 0;) {
      const RoundedPair s = fast_two_sum(q, (*this)[i]);
      q = s.value;
      if (s.error != 0) {
        g[--bottom] = s.value;
        q = s.error;
      }
    }
    for (; bottom < Capacity; ++bottom) {
      const RoundedPair s = fast_two_sum(g[bottom], q);
      if (s.error != 0) r.push(s.error);
      q = s.value;
    }
    r.push(q);
    return r;
  }

  template <int N>
  Expansion<Capacity + N> operator+(const Expansion<N>& f) const {
    Expansion<Capacity + N> r;
    r.size_ = detail::add_components(component_.data(), size_, f.component_.data(), f.size_, r.component_.data());
    return r;
  }
  template <int N>
  Expansion<Capacity + N> operator-(const Expansion<N>& f) const {
    return *this + (-f);
  }
  template <int N>
  Expansion<2 * Capacity * N> operator*(const Expansion<N>& f) const {
    return size_ < f.size_ ? f.times(*this) : times(f);
  }

 private:
  template <int>
  friend class Expansion;

  void push(double x) {
    if (size_ == Capacity) throw std::logic_error("an expansion does not fit its capacity");
    component_[size_++] = x;
  }

  /// The product, cheapest where f is the shorter one.
  template <int N>
  Expansion<2 * Capacity * N> times(const Expansion<N>& f) const {
    Expansion<2 * Capacity * N> r;
    if (f.size_ == 0) return r;
    r.size_ = detail::scale_components(component_.data(), size_, f[0], r.component_.data());
    std::array<double, std::size_t{2} * Capacity> term;
    std::array<double, std::size_t{2} * Capacity * N> sum;
    for (int j = 1; j < f.size_; ++j) {
      const int n = detail::scale_components(component_.data(), size_, f[j], term.data());
      const int m = detail::add_components(r.component_.data(), r.size_, term.data(), n, sum.data());
      std::copy_n(sum.data(), m, r.component_.data());
      r.size_ = m;
    }
    return r;
  }

  int size_ = 0;
  std::array<double, Capacity> component_;
};

/// Exponent of the power of two by which to multiply values of the given range, so that expansions of a polynomial of them are
/// exact: sums of at most 2^20 products of `degree` factors each, where a factor is a value or the difference of two. 0 if no
/// scaling is needed, and nothing if the range is too wide.
inline std::optional<int> exact_scaling(const BitRange& range, int degree) {
  constexpr int lowest = -1074;
  constexpr int highest = 970;
  if (range.empty()) return 0;
  const auto safe = [&](int shift) {
    const int low = range.low + shift;
    const int high = range.high + shift + 1;
    return degree * low >= lowest && low >= lowest && degree * high <= highest && high <= highest;
  };
  if (safe(0)) return 0;
  // The smallest shift at which nothing underflows.
  const int shift = -((-lowest) / degree) - range.low;
  if (safe(shift)) return shift;
  return std::nullopt;
}

}  // namespace meniscus::numerics
