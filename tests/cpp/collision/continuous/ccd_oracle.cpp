#include "ccd_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace meniscus::oracle {
namespace {

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
