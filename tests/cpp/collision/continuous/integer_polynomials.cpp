#include "integer_polynomials.hpp"

#include <algorithm>
#include <stdexcept>

namespace meniscus::oracle {

namespace {

int sign(const Integer& x) { return sgn(x); }

}  // namespace

Integer shifted(const Integer& x, int bits) {
  Integer r;
  mpz_mul_2exp(r.get_mpz_t(), x.get_mpz_t(), static_cast<mp_bitcnt_t>(bits));
  return r;
}

void make_primitive(Polynomial& p) {
  Integer g;
  for (int i = 0; i < p.size && g != 1; ++i) g = gcd(g, p[i]);
  if (g > 1)
    for (int i = 0; i < p.size; ++i) mpz_divexact(p[i].get_mpz_t(), p[i].get_mpz_t(), g.get_mpz_t());
}

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

namespace {

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

}  // namespace

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

}  // namespace meniscus::oracle
