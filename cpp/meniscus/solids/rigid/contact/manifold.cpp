#include "meniscus/solids/rigid/contact/manifold.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

/// Cosine between normals that count as one direction.
constexpr double aligned = 0.95;
constexpr std::size_t most_directions = 8;

/// The number of the point with the largest value, the first of equals.
template <class F>
std::size_t most_of(std::size_t first, std::size_t end, F&& value) {
  std::size_t best = first;
  double largest = value(first);
  for (std::size_t i = first + 1; i < end; ++i) {
    const double v = value(i);
    if (v > largest) largest = v, best = i;
  }
  return best;
}

}  // namespace

void Manifold::keep_four(std::size_t first) {
  auto& p = points_;
  if (p.size() <= first + 4) return;
  const Vector3 n = p[first].normal;
  const auto bring = [&](std::size_t to, std::size_t from) { std::swap(p[to], p[from]); };
  bring(first, most_of(first, p.size(), [&](std::size_t i) { return -p[i].gap; }));
  // Along the surface; what is above it counts less by as much, so that upper corners never stand for those below them.
  double widest = 0;
  for (std::size_t i = first; i < p.size(); ++i) widest = std::max(widest, (p[i].point - p[first].point).norm());
  // Small differences do not count, so that points last.
  const auto higher = [&](std::size_t i) { return std::max(0.0, p[i].gap - p[first].gap - 5e-4 * widest); };
  const auto away = [&](std::size_t i) -> Vector3 {
    const Vector3 d = p[i].point - p[first].point;
    return d - n.dot(d) * n;
  };
  bring(first + 1, most_of(first + 1, p.size(), [&](std::size_t i) { return away(i).norm() - higher(i); }));
  const Vector3 along = away(first + 1);
  const double length = along.norm();
  const auto area = [&](std::size_t i) { return n.dot(along.cross(away(i))); };
  bring(first + 2, most_of(first + 2, p.size(), [&](std::size_t i) { return std::abs(area(i)) - length * higher(i); }));
  const double side = area(first + 2) < 0 ? -1 : 1;
  // What it adds to the triangle: the largest of the areas beyond its sides.
  const Vector3 a = p[first].point, b = p[first + 1].point, c = p[first + 2].point;
  const auto beyond = [&](std::size_t i) {
    const Vector3& x = p[i].point;
    const auto outside = [&](const Vector3& from, const Vector3& to) { return -side * n.dot((to - from).cross(x - from)); };
    return std::max({outside(a, b), outside(b, c), outside(c, a)}) - length * higher(i);
  };
  bring(first + 3, most_of(first + 3, p.size(), beyond));
  p.resize(first + 4);
}

void Manifold::keep_directions() {
  auto& p = points_;
  if (p.size() <= 4) return;
  std::sort(p.begin(), p.end(),
            [](const ContactPoint& a, const ContactPoint& b) { return a.gap != b.gap ? a.gap < b.gap : a.key < b.key; });
  sorted_.swap(p);
  p.clear();
  for (std::size_t group = 0; group < most_directions && !sorted_.empty(); ++group) {
    const Vector3 n = sorted_[0].normal;
    const std::size_t first = p.size();
    std::erase_if(sorted_, [&](const ContactPoint& c) {
      if (!(c.normal.dot(n) > aligned)) return false;
      p.push_back(c);
      return true;
    });
    keep_four(first);
  }
}

}  // namespace meniscus::solids
