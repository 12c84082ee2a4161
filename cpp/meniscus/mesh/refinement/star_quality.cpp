#include "meniscus/mesh/refinement/star_quality.hpp"

#include <cmath>
#include <limits>

namespace meniscus::mesh {
namespace {

/// The even permutations that put a corner first.
constexpr std::array<std::array<std::size_t, 4>, 4> corner_first{{{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}}};

}  // namespace

void StarQuality::assign(const TetEditor& mesh, std::int32_t v) {
  faces_.clear();
  for (const std::int32_t i : mesh.star(v)) {
    const Tet& t = mesh.tet(i);
    const auto& order = corner_first[std::find(t.begin(), t.end(), v) - t.begin()];
    Opposite f;
    f.b = mesh.position(t[order[1]]);
    f.c = mesh.position(t[order[2]]);
    f.d = mesh.position(t[order[3]]);
    const Point bc = f.c - f.b, bd = f.d - f.b;
    f.normal = bc.cross(bd);
    f.area = f.normal.squaredNorm();
    f.bc = bc.squaredNorm();
    f.bd = bd.squaredNorm();
    f.cd = (f.d - f.c).squaredNorm();
    faces_.push_back(f);
  }
  first_ = 0;
}

double StarQuality::quality(const Opposite& f, const Point& x, double enough) {
  const Point b = f.b - x, c = f.c - x, d = f.d - x;
  const double volume = f.normal.dot(b);
  if (enough >= 0 && volume <= 0) return 0;
  // Normals of the faces opposite of b, c and d, outwards; that of the first face is outwards as well.
  const Point opposite_b = d.cross(c), opposite_c = b.cross(d), opposite_d = c.cross(b);
  const double area_b = opposite_b.squaredNorm(), area_c = opposite_c.squaredNorm(), area_d = opposite_d.squaredNorm();
  if (!(area_b > 0 && area_c > 0 && area_d > 0 && f.area > 0)) return volume > 0 ? 0 : -1;
  // The squared sine at an edge is its squared length times this over the products of the areas of its faces.
  const double scale = volume * volume;
  const auto square = [&](double length, double area_k, double area_l, double cosine) {
    return (cosine > 0 ? 0.49 : 1.0) * length * scale / (area_k * area_l);
  };
  double least = 1;
  least = std::min(least, square(b.squaredNorm(), area_c, area_d, opposite_c.dot(opposite_d)));
  least = std::min(least, square(c.squaredNorm(), area_b, area_d, opposite_b.dot(opposite_d)));
  least = std::min(least, square(d.squaredNorm(), area_b, area_c, opposite_b.dot(opposite_c)));
  least = std::min(least, square(f.bc, f.area, area_d, f.normal.dot(opposite_d)));
  least = std::min(least, square(f.bd, f.area, area_c, f.normal.dot(opposite_c)));
  least = std::min(least, square(f.cd, f.area, area_b, f.normal.dot(opposite_b)));
  return volume > 0 ? std::sqrt(least) : -std::sqrt(least);
}

double StarQuality::at(const Point& x, double enough) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < faces_.size(); ++n) {
    const std::size_t i = first_ + n < faces_.size() ? first_ + n : first_ + n - faces_.size();
    least = std::min(least, quality(faces_[i], x, enough));
    if (least > enough) continue;
    first_ = i;
    return least;
  }
  return least;
}

}  // namespace meniscus::mesh
