// Exact signs of the determinants that a floating-point filter leaves undecided: in machine integers where the coordinates have
// few bits, else in long integers or expansions.
#include "meniscus/numerics/expansion.hpp"
#include "meniscus/numerics/predicates.hpp"

namespace meniscus::numerics::detail {
namespace {

__extension__ typedef __int128 Int128;

/// Coordinates below 2^60 units of the last place have differences, and sums of two products of these, that fit 64 and 128 bits.
constexpr int machine_bits = 60;

/// x / 2^low, which is an integer below 2^63.
std::int64_t to_integer(double x, int low) {
  if (x == 0) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t significand = (bits & 0xfffffffffffffULL) | (exponent ? 0x10000000000000ULL : 0);
  const int shift = std::max(exponent, 1) - 1075 - low;
  const auto magnitude = static_cast<std::int64_t>(shift < 0 ? significand >> -shift : significand << shift);
  return bits >> 63 ? -magnitude : magnitude;
}

/// Sign of x1 y1 + x2 y2 + x3 y3 for |x| < 2^124 and |y| < 2^61.
int sign_of_sum(Int128 x1, std::int64_t y1, Int128 x2, std::int64_t y2, Int128 x3, std::int64_t y3) {
  const auto upper = [](Int128 x) { return static_cast<Int128>(static_cast<std::int64_t>(x >> 64)); };
  const auto lower = [](Int128 x) { return static_cast<Int128>(static_cast<std::uint64_t>(x)); };
  const Int128 low = lower(x1) * y1 + lower(x2) * y2 + lower(x3) * y3;
  const Int128 high = upper(x1) * y1 + upper(x2) * y2 + upper(x3) * y3 + (low >> 64);
  if (high != 0) return high > 0 ? 1 : -1;
  return static_cast<std::uint64_t>(low) != 0 ? 1 : 0;
}

/// An integer of the machine with the interface of the others.
struct MachineInteger {
  Int128 value;
  int sign() const { return (value > 0) - (value < 0); }
  friend MachineInteger operator+(MachineInteger a, MachineInteger b) { return {a.value + b.value}; }
  friend MachineInteger operator-(MachineInteger a, MachineInteger b) { return {a.value - b.value}; }
  friend MachineInteger operator*(MachineInteger a, MachineInteger b) { return {a.value * b.value}; }
};

/// Differences of coordinates as integers of the machine, in units of 2^low.
struct MachineDifference {
  int low;
  MachineInteger operator()(double a, double b) const { return {to_integer(a, low) - to_integer(b, low)}; }
};

/// Differences of coordinates as expansions, all scaled by the same power of two.
struct ExpansionDifference {
  int shift;
  Expansion<2> operator()(double a, double b) const {
    return shift == 0 ? Expansion<2>::difference(a, b) : Expansion<2>::difference(std::ldexp(a, shift), std::ldexp(b, shift));
  }
};

/// Differences of coordinates as integers, in units of 2^low.
template <int Limbs>
struct IntegerDifference {
  int low;
  FixedInteger<Limbs> operator()(double a, double b) const {
    return FixedInteger<Limbs>::scaled(a, low) - FixedInteger<Limbs>::scaled(b, low);
  }
};

template <class T>
auto determinant(const T& ax, const T& ay, const T& bx, const T& by) {
  return ax * by - ay * bx;
}

template <class T>
auto determinant(const std::array<T, 3>& a, const std::array<T, 3>& b, const std::array<T, 3>& c) {
  return (c[0] * determinant(a[1], a[2], b[1], b[2]) + c[1] * determinant(a[2], a[0], b[2], b[0])) +
         c[2] * determinant(a[0], a[1], b[0], b[1]);
}

template <class T>
auto square(const std::array<T, 2>& a) {
  return a[0] * a[0] + a[1] * a[1];
}
template <class T>
auto square(const std::array<T, 3>& a) {
  return (a[0] * a[0] + a[1] * a[1]) + a[2] * a[2];
}

template <class Minus>
auto vector2(const Minus& minus, const double* a, const double* b) {
  return std::array{minus(a[0], b[0]), minus(a[1], b[1])};
}
template <class Minus>
auto vector3(const Minus& minus, const double* a, const double* b) {
  return std::array{minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2])};
}

// Integers need no compression; expansions of the 170 bits for which they are used come down to a few components.
template <int Capacity, int N>
Expansion<Capacity> compressed(const Expansion<N>& e) {
  return e.template compressed<Capacity>();
}
template <int, class Integer>
const Integer& compressed(const Integer& x) {
  return x;
}

template <class Minus>
int incircle_sign(const Minus& minus, const double* pa, const double* pb, const double* pc, const double* pd) {
  const auto a = vector2(minus, pa, pd);
  const auto b = vector2(minus, pb, pd);
  const auto c = vector2(minus, pc, pd);
  return ((square(a) * determinant(b[0], b[1], c[0], c[1]) + square(b) * determinant(c[0], c[1], a[0], a[1])) +
          square(c) * determinant(a[0], a[1], b[0], b[1]))
      .sign();
}

template <class Minus>
int insphere_sign(const Minus& minus, const double* pa, const double* pb, const double* pc, const double* pd, const double* pe) {
  const auto a = vector3(minus, pa, pe);
  const auto b = vector3(minus, pb, pe);
  const auto c = vector3(minus, pc, pe);
  const auto d = vector3(minus, pd, pe);
  const auto term = [](const auto& p, const auto& q, const auto& r, const auto& s) {
    return compressed<8>(square(p)) * compressed<8>(determinant(q, r, s));
  };
  return ((term(a, b, c, d) - term(b, c, d, a)) + (term(c, d, a, b) - term(d, a, b, c))).sign();
}

template <int N>
BitRange range_of(const double* const (&points)[N], int dimension) {
  BitRange range;
  for (const double* p : points)
    for (int k = 0; k < dimension; ++k) range.add(p[k]);
  return range;
}

/// Calls f with the kind of numbers in which a polynomial of the given degree is exact and, as measured, cheapest: expansions
/// beat integers of many words only where their numbers of components stay small.
template <int Degree, class F>
int in_exact_numbers(const BitRange& range, F&& f) {
  // Bits of a product of differences, and of the sum of all the products.
  const int bits = Degree * (range.width() + 1) + 8;
  constexpr int max_bits = Degree * 2099 + 8;
  constexpr int few_limbs = 16;
  constexpr int many_limbs = 64;
  if (bits < 127) return f(MachineDifference{range.low});
  if (bits < 170)
    if (const auto shift = exact_scaling(range, Degree)) return f(ExpansionDifference{*shift});
  // A product is made in one limb more than the limbs of its factors, which round up by one each.
  if (bits <= 64 * (few_limbs - 2)) return f(IntegerDifference<few_limbs>{range.low});
  if (bits <= 64 * (many_limbs - 2)) return f(IntegerDifference<many_limbs>{range.low});
  return f(IntegerDifference<max_bits / 64 + 3>{range.low});
}

}  // namespace

int orient2d_exact(double ax, double ay, double bx, double by, double cx, double cy) {
  BitRange range;
  for (const double x : {ax, ay, bx, by, cx, cy}) range.add(x);
  return in_exact_numbers<2>(
      range, [&](const auto& minus) { return determinant(minus(bx, ax), minus(by, ay), minus(cx, ax), minus(cy, ay)).sign(); });
}

int orient3d_exact(const double* a, const double* b, const double* c, const double* d) {
  const BitRange range = range_of({a, b, c, d}, 3);
  if (range.width() <= machine_bits) {
    const auto minus = [&](const double* p) {
      std::array<std::int64_t, 3> r;
      for (std::size_t k = 0; k < 3; ++k) r[k] = to_integer(p[k], range.low) - to_integer(a[k], range.low);
      return r;
    };
    const auto [bx, by, bz] = minus(b);
    const auto [cx, cy, cz] = minus(c);
    const auto [dx, dy, dz] = minus(d);
    const auto minor = [](std::int64_t px, std::int64_t py, std::int64_t qx, std::int64_t qy) {
      return static_cast<Int128>(px) * qy - static_cast<Int128>(py) * qx;
    };
    return sign_of_sum(minor(by, bz, cy, cz), dx, minor(bz, bx, cz, cx), dy, minor(bx, by, cx, cy), dz);
  }
  return in_exact_numbers<3>(range, [&](const auto& minus) {
    return determinant(vector3(minus, b, a), vector3(minus, c, a), vector3(minus, d, a)).sign();
  });
}

int incircle_exact(const double* a, const double* b, const double* c, const double* d) {
  return in_exact_numbers<4>(range_of({a, b, c, d}, 2), [&](const auto& minus) { return incircle_sign(minus, a, b, c, d); });
}

int insphere_exact(const double* a, const double* b, const double* c, const double* d, const double* e) {
  return in_exact_numbers<5>(range_of({a, b, c, d, e}, 3),
                             [&](const auto& minus) { return insphere_sign(minus, a, b, c, d, e); });
}

}  // namespace meniscus::numerics::detail
