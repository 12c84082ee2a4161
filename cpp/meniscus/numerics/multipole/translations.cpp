#include "meniscus/numerics/multipole/translations.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numbers>

namespace meniscus::numerics {
namespace {

/// Wigner's matrices d^j of an angle for j = 0, 1, ..., order, each from that of j - 1/2 by adding a spin of one half.
/// Source: Risbo 1996.
template <class Visit>
void for_each_wigner(int order, double angle, Visit&& visit) {
  const double c = std::cos(0.5 * angle), s = std::sin(0.5 * angle);
  std::vector<double> old{1.0}, next;
  visit(0, old);
  for (int twice = 1; twice <= 2 * order; ++twice) {
    const int size = twice + 1;
    next.assign(size * size, 0.0);
    for (int i = 0; i <= twice; ++i)
      for (int k = 0; k <= twice; ++k) {
        const auto before = [&](int row, int column) { return old[row * twice + column]; };
        double sum = 0.0;
        if (i < twice && k < twice) sum += std::sqrt(static_cast<double>((twice - i) * (twice - k))) * before(i, k) * c;
        if (i < twice && k > 0) sum -= std::sqrt(static_cast<double>((twice - i) * k)) * before(i, k - 1) * s;
        if (i > 0 && k < twice) sum += std::sqrt(static_cast<double>(i * (twice - k))) * before(i - 1, k) * s;
        if (i > 0 && k > 0) sum += std::sqrt(static_cast<double>(i * k)) * before(i - 1, k - 1) * c;
        next[i * size + k] = sum / twice;
      }
    old.swap(next);
    if (twice % 2 == 0) visit(twice / 2, old);
  }
}

/// out(i) = sum over j of coefficient(i, j) in(j), in blocks of four rows that stay in registers.
template <int Rows, class Coefficient, class In, class Out>
MENISCUS_INLINE void multiply_rows(int first, int columns, Coefficient&& coefficient, In&& in, Out&& out) {
  std::array<Octet, Rows> sum;
  for (int r = 0; r < Rows; ++r) sum[r] = eight(0.0);
  for (int j = 0; j < columns; ++j) {
    const Octet& value = in(j);
    for (int r = 0; r < Rows; ++r) sum[r] += eight(coefficient(first + r, j)) * value;
  }
  for (int r = 0; r < Rows; ++r) out(first + r) = sum[r];
}

template <class Coefficient, class In, class Out>
MENISCUS_INLINE void multiply(int rows, int columns, Coefficient&& coefficient, In&& in, Out&& out) {
  int i = 0;
  for (; i + 4 <= rows; i += 4) multiply_rows<4>(i, columns, coefficient, in, out);
  if (i + 2 <= rows) {
    multiply_rows<2>(i, columns, coefficient, in, out);
    i += 2;
  }
  if (i < rows) multiply_rows<1>(i, columns, coefficient, in, out);
}

/// The matrices of a turn act on the terms of each degree; `back` applies their transposes.
template <bool Back>
MENISCUS_INLINE void turn_terms(int order, const double* matrix, const Octet* in, Octet* out) {
  for (int n = 0; n <= order; ++n)
    for (int part = 0; part < 2; ++part) {
      const int size = n + 1 - part, first = part == 0 ? cosine(n, 0) : sine(n, 1);
      multiply(
          size, size, [&](int i, int j) { return Back ? matrix[j * size + i] : matrix[i * size + j]; },
          [&](int j) -> const Octet& { return in[first + j]; }, [&](int i) -> Octet& { return out[first + i]; });
      matrix += size * size;
    }
}

MENISCUS_INLINE void shift_terms(int order, const double* axial, const Octet* in, Octet* out) {
  for (int m = 0; m <= order; ++m) {
    const int size = order + 1 - m;
    const auto coefficient = [&](int i, int j) { return axial[i * size + j]; };
    multiply(
        size, size, coefficient, [&](int j) -> const Octet& { return in[cosine(m + j, m)]; },
        [&](int i) -> Octet& { return out[cosine(m + i, m)]; });
    if (m > 0)
      multiply(
          size, size, coefficient, [&](int j) -> const Octet& { return in[sine(m + j, m)]; },
          [&](int i) -> Octet& { return out[sine(m + i, m)]; });
    axial += size * size;
  }
}

/// Four rows of four numbers, by columns.
MENISCUS_INLINE std::array<Half, 4> transposed(const Half& r0, const Half& r1, const Half& r2, const Half& r3) {
  const Half a = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), b = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
  const Half c = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), d = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  return {__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(b, d, 0, 1, 4, 5),
          __builtin_shufflevector(a, c, 2, 3, 6, 7), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
}

MENISCUS_INLINE Half load_half(const double* p) {
  Half r;
  std::memcpy(&r, p, sizeof r);
  return r;
}

/// The first n numbers of eight arrays, as lanes.
MENISCUS_INLINE void gather(int n, const std::array<const double*, octet_size>& from, Octet* values) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const auto low = transposed(load_half(from[0] + i), load_half(from[1] + i), load_half(from[2] + i), load_half(from[3] + i));
    const auto high = transposed(load_half(from[4] + i), load_half(from[5] + i), load_half(from[6] + i), load_half(from[7] + i));
    for (int k = 0; k < 4; ++k) values[i + k] = {low[k], high[k]};
  }
  for (; i < n; ++i)
    values[i] = {Half{from[0][i], from[1][i], from[2][i], from[3][i]}, Half{from[4][i], from[5][i], from[6][i], from[7][i]}};
}

/// Adds lanes to as many arrays.
MENISCUS_INLINE void scatter(int n, const Octet* values, const ExpansionLanes& lanes) {
  int i = 0;
  if (lanes.count == octet_size)
    for (; i + 4 <= n; i += 4) {
      const auto low = transposed(values[i].low, values[i + 1].low, values[i + 2].low, values[i + 3].low);
      const auto high = transposed(values[i].high, values[i + 1].high, values[i + 2].high, values[i + 3].high);
      for (int lane = 0; lane < octet_size; ++lane) {
        const Half sum = load_half(lanes.to[lane] + i) + (lane < 4 ? low[lane] : high[lane - 4]);
        std::memcpy(lanes.to[lane] + i, &sum, sizeof sum);
      }
    }
  for (int lane = 0; lane < lanes.count; ++lane) {
    const double* const from = reinterpret_cast<const double*>(values) + lane;
    for (int k = i; k < n; ++k) lanes.to[lane][k] += from[octet_size * k];
  }
}

/// Logarithms of factorials, in more digits than the tables keep.
long double log_factorial(int n) { return std::lgamma(static_cast<long double>(n) + 1.0L); }

}  // namespace

const Translations& Translations::of_order(int order) {
  static std::mutex guard;
  static std::map<int, std::unique_ptr<Translations>> made;
  const std::scoped_lock lock(guard);
  auto& entry = made[order];
  if (!entry) entry = std::make_unique<Translations>(order);
  return *entry;
}

const Translations::Turn* Translations::turn_about_y(double angle) {
  for (const auto& [known, turn] : turns_)
    if (std::abs(known - angle) < 1e-9) return turn.get();
  auto turn = std::make_unique<Turn>();
  // The harmonics with m < 0 are conjugates of those with m > 0, with the sign of Condon and Shortley.
  for_each_wigner(order_, -angle, [&](int n, const std::vector<double>& d) {
    const auto w = [&](int row, int column) { return d[(n - row) * (2 * n + 1) + n - column]; };
    const auto sign = [](int m) { return m % 2 == 0 ? 1.0 : -1.0; };
    for (int i = 0; i <= n; ++i)
      for (int j = 0; j <= n; ++j) {
        const double scale = (i == 0 ? std::sqrt(0.5) : 1.0) * (j == 0 ? std::sqrt(0.5) : 1.0);
        turn->matrix.push_back(scale * sign(i) * (sign(j) * w(i, j) + w(i, -j)));
      }
    for (int i = 1; i <= n; ++i)
      for (int j = 1; j <= n; ++j) turn->matrix.push_back(sign(i) * (sign(j) * w(i, j) - w(i, -j)));
  });
  turns_.emplace_back(angle, std::move(turn));
  return turns_.back().second.get();
}

Translations::Translations(int order) : order_(order), far_(directions), up_(8), down_(8) {
  for (int m = 0; m <= order; ++m)
    for (int i = m; i <= order; ++i)
      for (int j = m; j <= order; ++j) {
        const long double norms = log_factorial(i - m) + log_factorial(i + m),
                          others = log_factorial(j - m) + log_factorial(j + m);
        far_axial_.push_back((m % 2 == 0 ? 1.0 : -1.0) *
                             static_cast<double>(std::exp(log_factorial(i + j) - 0.5L * (norms + others))));
        up_axial_.push_back(i < j ? 0.0 : static_cast<double>(std::exp(0.5L * (norms - others) - log_factorial(i - j))));
        down_axial_.push_back(i > j ? 0.0 : static_cast<double>(std::exp(0.5L * (others - norms) - log_factorial(j - i))));
      }
  const auto complete = [&](Shift& shift, const Vec<double, 3>& direction, const std::vector<double>& axial, auto&& before,
                            auto&& after) {
    const double azimuth = std::atan2(direction[1], direction[0]);
    shift.turn = turn_about_y(std::atan2(std::hypot(direction[0], direction[1]), direction[2]));
    shift.axial = &axial;
    for (int n = 0; n <= order; ++n)
      for (int m = 0; m <= n; ++m) {
        const double c = std::cos(m * azimuth), s = std::sin(m * azimuth);
        for (const double x : {c, s}) shift.before.push_back(x * before(n, m));
        for (const double x : {c, s}) shift.after.push_back(x * after(n, m));
      }
  };
  for (int x = -3; x <= 3; ++x)
    for (int y = -3; y <= 3; ++y)
      for (int z = -3; z <= 3; ++z) {
        if (std::max({std::abs(x), std::abs(y), std::abs(z)}) < 2) continue;
        const Vec<double, 3> v(x, y, z);
        const double d = v.norm();
        complete(
            far_[direction(x, y, z)], v, far_axial_, [&](int n, int) { return std::pow(d, -n); },
            [&](int n, int) { return (n % 2 == 0 ? 1.0 : -1.0) * std::pow(d, -n - 1); });
      }
  // From the centre of a parent to that of a child, in sides of the parent.
  const double d = std::sqrt(3.0) / 4.0;
  for (int octant = 0; octant < 8; ++octant) {
    const Vec<double, 3> v(octant & 4 ? 1.0 : -1.0, octant & 2 ? 1.0 : -1.0, octant & 1 ? 1.0 : -1.0);
    const auto from_parent = [&](int n, int) { return std::pow(d, n); };
    const auto from_child = [&](int n, int) { return std::pow(2.0 * d, -n); };
    complete(up_[octant], v, up_axial_, from_child, from_parent);
    // Local expansions are in units of the inverse side of their box.
    complete(down_[octant], v, down_axial_, from_parent, [&](int n, int m) { return 0.5 * from_child(n, m); });
  }
}

void Translations::apply(const Shift& shift, const ExpansionLanes& lanes) const {
  simd_dispatch([&] {
    std::array<Octet, terms(largest_order)> a, b;
    gather(terms(order_), lanes.from, b.data());
    // About the vertical axis, there and back.
    const auto spin = [&](const double* turned, double sense) {
      for (int n = 0; n <= order_; ++n)
        for (int m = 0; m <= n; ++m, turned += 2) {
          const Octet& c = b[cosine(n, m)];
          if (m == 0) {
            a[cosine(n, 0)] = eight(turned[0]) * c;
            continue;
          }
          const Octet &s = b[sine(n, m)], along = eight(sense * turned[1]);
          a[cosine(n, m)] = eight(turned[0]) * c + along * s;
          a[sine(n, m)] = eight(turned[0]) * s - along * c;
        }
    };
    spin(shift.before.data(), 1.0);
    turn_terms<false>(order_, shift.turn->matrix.data(), a.data(), b.data());
    shift_terms(order_, shift.axial->data(), b.data(), a.data());
    turn_terms<true>(order_, shift.turn->matrix.data(), a.data(), b.data());
    spin(shift.after.data(), -1.0);
    scatter(terms(order_), a.data(), lanes);
  });
}

}  // namespace meniscus::numerics
