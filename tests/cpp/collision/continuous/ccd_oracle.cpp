#include "ccd_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace meniscus::oracle {
namespace {

// --- polynomials
// ------------------------------------------------------------------------------------------------------------------

int sign(const Integer& x) { return sgn(x); }

Integer shifted(const Integer& x, int bits) {
  Integer r;
  mpz_mul_2exp(r.get_mpz_t(), x.get_mpz_t(), static_cast<mp_bitcnt_t>(bits));
  return r;
}

/// Divides by the common factor of the coefficients.
void make_primitive(Polynomial& p) {
  Integer g;
  for (int i = 0; i < p.size && g != 1; ++i) g = gcd(g, p[i]);
  if (g > 1)
    for (int i = 0; i < p.size; ++i) mpz_divexact(p[i].get_mpz_t(), p[i].get_mpz_t(), g.get_mpz_t());
}

/// p + factor q for factor 1 or -1.
Polynomial sum(const Polynomial& p, const Polynomial& q, int factor) {
  Polynomial r;
  r.size = std::max(p.size, q.size);
  for (int i = 0; i < r.size; ++i) {
    if (i < p.size) r[i] = p[i];
    if (i < q.size) r[i] += factor * q[i];
  }
  r.trim();
  return r;
}

Polynomial product(const Polynomial& p, const Polynomial& q) {
  Polynomial r;
  if (!p.size || !q.size) return r;
  r.size = p.size + q.size - 1;
  for (int i = 0; i < p.size; ++i)
    for (int j = 0; j < q.size; ++j) r[i + j] += p[i] * q[j];
  return r;
}

Polynomial derivative(const Polynomial& p) {
  Polynomial r;
  r.size = std::max(p.size - 1, 0);
  for (int i = 0; i < r.size; ++i) r[i] = (i + 1) * p[i + 1];
  return r;
}

/// p * |lead of q| - (what removes the highest term of p) * q.
void eliminate(Polynomial& p, const Polynomial& q, const Integer& factor, int shift) {
  const Integer lead = abs(q[q.size - 1]);
  for (int i = 0; i < p.size; ++i) {
    p[i] *= lead;
    if (i >= shift) p[i] -= factor * q[i - shift];
  }
  p.trim();
}

/// A positive multiple of the remainder of p / q.
Polynomial remainder(Polynomial p, const Polynomial& q) {
  const int flip = sign(q[q.size - 1]);
  while (p.size >= q.size) {
    const Integer factor = flip * p[p.size - 1];
    eliminate(p, q, factor, p.size - q.size);
  }
  make_primitive(p);
  return p;
}

/// p / q up to a positive factor, where q divides p over the rationals.
Polynomial quotient(Polynomial p, const Polynomial& q) {
  Polynomial r;
  r.size = p.size - q.size + 1;
  const Integer lead = abs(q[q.size - 1]);
  const int flip = sign(q[q.size - 1]);
  while (p.size >= q.size) {
    const int shift = p.size - q.size;
    const Integer factor = flip * p[p.size - 1];
    for (int i = 0; i < r.size; ++i) r[i] *= lead;
    r[shift] = factor;
    eliminate(p, q, factor, shift);
  }
  if (p.size) throw std::logic_error("a division of polynomials left a remainder");
  make_primitive(r);
  return r;
}

Polynomial common_divisor(Polynomial p, Polynomial q) {
  while (q.size) {
    Polynomial r = p.size >= q.size ? remainder(p, q) : p;
    p = std::move(q);
    q = std::move(r);
  }
  make_primitive(p);
  return p;
}

/// A positive multiple of p(m / 2^k).
Integer value(const Polynomial& p, const Integer& m, int k) {
  Integer r, term;
  for (int i = p.size; i-- > 0;) {
    r *= m;
    mpz_mul_2exp(term.get_mpz_t(), p[i].get_mpz_t(), static_cast<mp_bitcnt_t>(k * (p.size - 1 - i)));
    r += term;
  }
  return r;
}

Polynomial linear(const Integer& constant, const Integer& slope) {
  Polynomial p;
  p[0] = constant;
  p[1] = slope;
  p.size = 2;
  p.trim();
  return p;
}

Time instant(int t) { return Time(linear(-t, 1), t, 0, true); }

/// Calls f(factor without multiple roots, multiplicity) (Yun's algorithm).
template <class F>
void for_squarefree_factors(const Polynomial& p, F&& f) {
  Polynomial common = common_divisor(p, derivative(p));
  Polynomial simple = quotient(p, common);
  for (int multiplicity = 1; simple.size > 1; ++multiplicity) {
    Polynomial more = common_divisor(simple, common);
    const Polynomial factor = quotient(simple, more);
    if (factor.size > 1) f(factor, multiplicity);
    common = quotient(common, more);
    simple = std::move(more);
  }
}

/// The roots in ]0, 1[ of a polynomial without multiple roots, isolated by its Sturm sequence.
void add_roots_within(const Polynomial& p, std::vector<Time>& out) {
  std::vector<Polynomial> chain{p, derivative(p)};
  while (chain.back().size > 1) {
    Polynomial r = remainder(chain[chain.size() - 2], chain.back());
    for (int i = 0; i < r.size; ++i) r[i] = -r[i];
    chain.push_back(std::move(r));
  }
  const auto variations = [&](const Integer& m, int k) {
    int count = 0;
    int last = 0;
    for (const Polynomial& q : chain)
      if (const int s = sign(value(q, m, k))) {
        count += last != 0 && s != last;
        last = s;
      }
    return count;
  };
  struct Bracket {
    Integer m;
    int k, before, after;
  };
  std::vector<Bracket> todo{{0, 0, variations(0, 0), variations(1, 0)}};
  while (!todo.empty()) {
    const auto [m, k, before, after] = todo.back();
    todo.pop_back();
    // The difference counts the roots in ]low, high].
    const int inside = before - after - (value(p, m + 1, k) == 0);
    if (inside == 1) {
      out.emplace_back(p, m, k, false);
    } else if (inside > 1) {
      const Integer middle = 2 * m + 1;
      const int halfway = variations(middle, k + 1);
      if (value(p, middle, k + 1) == 0) out.emplace_back(p, middle, k + 1, true);
      todo.push_back({2 * m, k + 1, before, halfway});
      todo.push_back({middle, k + 1, halfway, after});
    }
  }
}

// --- one pair
// ---------------------------------------------------------------------------------------------------------------------

using Vector = std::array<Polynomial, 3>;

Vector minus(const Vector& x, const Vector& y) { return {sum(x[0], y[0], -1), sum(x[1], y[1], -1), sum(x[2], y[2], -1)}; }

Vector cross(const Vector& x, const Vector& y) {
  const auto minor = [&](std::size_t i, std::size_t j) { return sum(product(x[i], y[j]), product(x[j], y[i]), -1); };
  return {minor(1, 2), minor(2, 0), minor(0, 1)};
}

Polynomial dot(const Vector& x, const Vector& y) {
  return sum(sum(product(x[0], y[0]), product(x[1], y[1]), 1), product(x[2], y[2]), 1);
}

/// The doubles times one power of two that makes all of them integers.
template <std::size_t N>
void to_integers(const std::array<double, N>& values, std::array<Integer, N>& out) {
  std::array<std::pair<std::int64_t, int>, N> parts;
  int low = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < N; ++i) {
    int exponent = 0;
    auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(values[i], &exponent), 53));
    exponent -= 53;
    while (significand != 0 && significand % 2 == 0) {
      significand /= 2;
      ++exponent;
    }
    if (significand != 0) low = std::min(low, exponent);
    parts[i] = {significand, exponent};
  }
  for (std::size_t i = 0; i < N; ++i) {
    const auto [significand, exponent] = parts[i];
    out[i] = significand == 0 ? Integer(0) : shifted(Integer(static_cast<long>(significand)), exponent - low);
  }
}

class Pair {
 public:
  Pair(collision::PairKind kind, const Corners& start, const Corners& end) : kind_(kind) {
    std::array<double, 24> values;
    for (std::size_t i = 0; i < 4; ++i)
      for (int d = 0; d < 3; ++d) {
        values[3 * i + static_cast<std::size_t>(d)] = start[i][d];
        values[12 + 3 * i + static_cast<std::size_t>(d)] = end[i][d];
      }
    std::array<Integer, 24> integers;
    to_integers(values, integers);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        const Integer& from = integers[3 * i + d];
        x_[i][d] = linear(from, integers[12 + 3 * i + d] - from);
      }
    if (kind == collision::PairKind::vertex_face) {
      a_ = minus(x_[2], x_[1]);
      b_ = minus(x_[3], x_[1]);
      c_ = minus(x_[0], x_[1]);
    } else {
      a_ = minus(x_[1], x_[0]);
      b_ = minus(x_[3], x_[2]);
      c_ = minus(x_[2], x_[0]);
    }
    normal_ = cross(a_, b_);
    cubic_ = dot(normal_, c_);
  }

  const Polynomial& cubic() const { return cubic_; }

  /// 0 for none, 1 within both elements, 2 with the rim of one: at a time where the cubic is zero.
  int contact(Time& time) {
    for (std::size_t k = 0; k < 3; ++k) {
      const int s = time.sign_of(normal_[k]);
      if (s == 0) continue;
      int least = 1;
      for (const Vector& w : weights()) {
        least = std::min(least, s * time.sign_of(w[k]));
        if (least < 0) return 0;
      }
      return least == 0 ? 2 : 1;
    }
    for (const OnSegment& p : points_on_segments())
      if (std::all_of(p.across.begin(), p.across.end(), [&](const Polynomial& q) { return time.sign_of(q) == 0; }) &&
          time.sign_of(p.along) <= 0)
        return 2;
    return 0;
  }

  /// Calls f for all polynomials whose signs `contact` reads.
  template <class F>
  void for_critical_polynomials(F&& f) {
    const auto all = [&](const Vector& v) {
      for (const Polynomial& p : v)
        if (p.size > 1) f(p);
    };
    all(normal_);
    for (const Vector& w : weights()) all(w);
    for (const OnSegment& p : points_on_segments()) {
      all(p.across);
      if (p.along.size > 1) f(p.along);
    }
  }

 private:
  struct OnSegment {
    Vector across;
    Polynomial along;
  };

  const std::vector<Vector>& weights() {
    if (!weights_.empty()) return weights_;
    const Vector u = cross(c_, b_);
    if (kind_ == collision::PairKind::vertex_face) {
      const Vector v = cross(a_, c_);
      weights_ = {u, v, minus(minus(normal_, u), v)};
    } else {
      const Vector v = cross(c_, a_);
      weights_ = {u, v, minus(normal_, u), minus(normal_, v)};
    }
    return weights_;
  }

  const std::vector<OnSegment>& points_on_segments() {
    if (!on_segments_.empty()) return on_segments_;
    const auto add = [&](std::size_t p, std::size_t q, std::size_t r) {
      on_segments_.push_back({cross(minus(x_[p], x_[q]), minus(x_[r], x_[q])), dot(minus(x_[p], x_[q]), minus(x_[p], x_[r]))});
    };
    if (kind_ == collision::PairKind::vertex_face) {
      add(0, 1, 2);
      add(0, 2, 3);
      add(0, 3, 1);
    } else {
      add(0, 2, 3);
      add(1, 2, 3);
      add(2, 0, 1);
      add(3, 0, 1);
    }
    return on_segments_;
  }

  collision::PairKind kind_;
  std::array<Vector, 4> x_;
  Vector a_, b_, c_, normal_;
  Polynomial cubic_;
  std::vector<Vector> weights_;
  std::vector<OnSegment> on_segments_;
};

bool boxes_apart(collision::PairKind kind, const Corners& start, const Corners& end) {
  const std::size_t split = kind == collision::PairKind::vertex_face ? 1 : 2;
  const auto bounds = [&](std::size_t first, std::size_t last, mesh::Point& low, mesh::Point& high) {
    low = start[first];
    high = low;
    for (std::size_t i = first; i < last; ++i) {
      low = low.cwiseMin(start[i]).cwiseMin(end[i]);
      high = high.cwiseMax(start[i]).cwiseMax(end[i]);
    }
  };
  mesh::Point low0, high0, low1, high1;
  bounds(0, split, low0, high0);
  bounds(split, 4, low1, high1);
  return (low0.array() > high1.array()).any() || (low1.array() > high0.array()).any();
}

void keep_first(Answer& answer, Time& time) {
  if (!answer.first || time.order(*answer.first) < 0) answer.first = time;
}

Answer solve_cubic(Pair& pair) {
  Answer answer;
  Polynomial rest = pair.cubic();
  make_primitive(rest);
  const auto at_end = [&](int t) {
    Time time = instant(t);
    if (pair.contact(time) == 0) return;
    answer.boundary = true;
    ++answer.times;
    keep_first(answer, time);
  };
  // Roots at the ends of the step are taken out first.
  if (rest[0] == 0) at_end(0);
  while (rest[0] == 0) rest = quotient(rest, linear(0, 1));
  if (value(rest, 1, 0) == 0) at_end(1);
  while (value(rest, 1, 0) == 0) rest = quotient(rest, linear(-1, 1));
  for_squarefree_factors(rest, [&](const Polynomial& factor, int multiplicity) {
    std::vector<Time> times;
    add_roots_within(factor, times);
    for (Time& time : times) {
      const int contact = pair.contact(time);
      if (contact == 0) continue;
      ++answer.times;
      keep_first(answer, time);
      if (contact == 2) answer.boundary = true;
      if (contact == 1) answer.interior += multiplicity;
    }
  });
  return answer;
}

Answer solve_coplanar(Pair& pair) {
  std::vector<Time> times{instant(0), instant(1)};
  pair.for_critical_polynomials([&](const Polynomial& p) {
    for_squarefree_factors(p, [&](const Polynomial& factor, int) { add_roots_within(factor, times); });
  });
  // Times are compared by halving their brackets, so they are sorted through pointers that may change them.
  std::vector<Time*> sorted;
  for (Time& t : times) sorted.push_back(&t);
  std::sort(sorted.begin(), sorted.end(), [](Time* s, Time* t) { return s->order(*t) < 0; });
  sorted.erase(std::unique(sorted.begin(), sorted.end(), [](Time* s, Time* t) { return s->order(*t) == 0; }), sorted.end());
  Answer answer;
  for (Time* t : sorted)
    if (pair.contact(*t)) {
      answer.boundary = true;
      ++answer.times;
      if (!answer.first) answer.first = *t;
    }
  for (std::size_t i = 1; answer.boundary && !answer.infinite && i < sorted.size(); ++i) {
    Time middle = sorted[i - 1]->between(*sorted[i]);
    answer.infinite = pair.contact(middle) != 0;
  }
  return answer;
}

}  // namespace

// --- times
// ------------------------------------------------------------------------------------------------------------------------

Time::Time(Polynomial polynomial, Integer m, int k, bool exact)
    : polynomial_(std::move(polynomial)), m_(std::move(m)), k_(k), exact_(exact) {
  if (exact_) return;
  // Where the lower end is another root, the sign right of it is that of the derivative, which is not zero there.
  sign_below_ = sign(value(polynomial_, m_, k_));
  if (sign_below_ == 0) sign_below_ = sign(value(derivative(polynomial_), m_, k_));
}

void Time::halve() {
  m_ = 2 * m_ + 1;
  ++k_;
  const int s = sign(value(polynomial_, m_, k_));
  if (s == 0)
    exact_ = true;
  else if (s != sign_below_)
    m_ -= 1;
}

std::optional<int> Time::sign_on_bracket(const Polynomial& p) const {
  const Integer c0 = shifted(p[0], 2 * k_);
  const Integer c1 = shifted(p[1], k_);
  const Integer above = m_ + 1;
  Integer low = c0 + c1 * m_;
  Integer high = c0 + c1 * above;
  Integer middle = low + high;
  if (p.size > 2) {
    low += p[2] * m_ * m_;
    high += p[2] * above * above;
    middle += 2 * p[2] * m_ * above;
  }
  if (low >= 0 && high >= 0 && middle >= 0) return 1;
  if (low <= 0 && high <= 0 && middle <= 0) return -1;
  return std::nullopt;
}

bool Time::is_root_of(const Polynomial& divisor) const {
  if (divisor.size < 2) return false;
  int below = sign(value(divisor, m_, k_));
  if (below == 0) below = sign(value(derivative(divisor), m_, k_));
  int above = sign(value(divisor, m_ + 1, k_));
  if (above == 0) above = -sign(value(derivative(divisor), m_ + 1, k_));
  return below != above;
}

int Time::sign_of(const Polynomial& p) {
  if (p.size == 0) return 0;
  if (p.size == 1) return sign(p[0]);
  for (int attempts = 0; !exact_; ++attempts) {
    if (const auto s = sign_on_bracket(p)) return *s;
    if (attempts == 8 && is_root_of(common_divisor(polynomial_, p))) return 0;
    halve();
  }
  return sign(value(p, m_, k_));
}

int Time::order(const mpq_class& x) { return sign_of(linear(-x.get_num(), x.get_den())); }

int Time::order(Time& other) {
  for (int attempts = 0;; ++attempts) {
    if (exact_) return -other.order(mpq_class(m_, shifted(1, k_)));
    if (other.exact_) return order(mpq_class(other.m_, shifted(1, other.k_)));
    const int k = std::max(k_, other.k_);
    const int shift = k - k_;
    const int other_shift = k - other.k_;
    if (shifted(m_ + 1, shift) <= shifted(other.m_, other_shift)) return -1;
    if (shifted(other.m_ + 1, other_shift) <= shifted(m_, shift)) return 1;
    // The brackets are halves of halves of the same interval: one contains the other.
    Time& inner = k_ >= other.k_ ? *this : other;
    if (attempts == 8 && inner.is_root_of(common_divisor(polynomial_, other.polynomial_))) return 0;
    (&inner == this ? other : *this).halve();
  }
}

long Time::floor20() {
  while (!exact_ && k_ < 20) halve();
  Integer r = shifted(m_, 20);
  mpz_fdiv_q_2exp(r.get_mpz_t(), r.get_mpz_t(), static_cast<mp_bitcnt_t>(k_));
  return r.get_si();
}

Time Time::between(Time& later) {
  for (;;) {
    const int k = std::max(k_, later.k_);
    const Integer low = shifted(m_ + (exact_ ? 0 : 1), k - k_);
    const Integer high = shifted(later.m_, k - later.k_);
    if (low < high) return Time(linear(-(low + high), shifted(1, k + 1)), low + high, k + 1, true);
    if (exact_ && later.exact_) throw std::logic_error("there is no time between equal ones");
    if (!exact_) halve();
    if (!later.exact_) later.halve();
  }
}

// --- interface
// --------------------------------------------------------------------------------------------------------------------

Answer solve(collision::PairKind kind, const Corners& start, const Corners& end) {
  if (boxes_apart(kind, start, end)) return {};
  Pair pair(kind, start, end);
  return pair.cubic().size ? solve_cubic(pair) : solve_coplanar(pair);
}

bool touches(collision::PairKind kind, const Corners& points) {
  if (boxes_apart(kind, points, points)) return false;
  Pair pair(kind, points, points);
  Time time = instant(0);
  return pair.cubic().size == 0 && pair.contact(time) != 0;
}

bool edge_meets_face(const std::array<mesh::Point, 5>& points) {
  std::array<double, 15> values;
  for (std::size_t i = 0; i < 15; ++i) values[i] = points[i / 3][static_cast<Index>(i % 3)];
  std::array<Integer, 15> x;
  to_integers(values, x);
  const auto orientation = [&](std::size_t i, std::size_t j, std::size_t k, std::size_t m) {
    const auto d = [&](std::size_t p, std::size_t axis) -> Integer { return x[3 * p + axis] - x[3 * i + axis]; };
    const Integer det = d(j, 0) * (d(k, 1) * d(m, 2) - d(k, 2) * d(m, 1)) + d(j, 1) * (d(k, 2) * d(m, 0) - d(k, 0) * d(m, 2)) +
                        d(j, 2) * (d(k, 0) * d(m, 1) - d(k, 1) * d(m, 0));
    return sgn(det);
  };
  const std::array<int, 2> ends{orientation(2, 3, 4, 0), orientation(2, 3, 4, 1)};
  const std::array<int, 3> turns{orientation(0, 1, 2, 3), orientation(0, 1, 3, 4), orientation(0, 1, 4, 2)};
  if (ends[0] * ends[1] < 0 && turns[0] != 0 && turns[0] == turns[1] && turns[1] == turns[2]) return true;
  // What is left needs four points in one plane.
  if (ends[0] && ends[1] && turns[0] && turns[1] && turns[2]) return false;
  const auto& [p, q, a, b, c] = points;
  return touches(collision::PairKind::vertex_face, {p, a, b, c}) || touches(collision::PairKind::vertex_face, {q, a, b, c}) ||
         touches(collision::PairKind::edge_edge, {p, q, a, b}) || touches(collision::PairKind::edge_edge, {p, q, b, c}) ||
         touches(collision::PairKind::edge_edge, {p, q, c, a});
}

}  // namespace meniscus::oracle
