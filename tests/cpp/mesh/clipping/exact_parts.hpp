// Volumes and first moments of clipped tetrahedra in rational numbers of any length.
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

#include <gmpxx.h>

#include <array>
#include <random>
#include <vector>

namespace meniscus::tests {

using ExactPoint = std::array<mpq_class, 3>;
using ExactTet = std::array<ExactPoint, 4>;

inline ExactPoint exact(const mesh::Point& x) { return {mpq_class(x[0]), mpq_class(x[1]), mpq_class(x[2])}; }
inline ExactTet exact(const std::array<mesh::Point, 4>& t) { return {exact(t[0]), exact(t[1]), exact(t[2]), exact(t[3])}; }

/// Six times the signed volume.
inline mpq_class determinant(const ExactTet& t) {
  std::array<ExactPoint, 3> e;
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t d = 0; d < 3; ++d) e[k][d] = t[k + 1][d] - t[0][d];
  return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) + e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
         e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

/// Tetrahedra that fill the part of others where `plane` is positive.
template <class Plane>
std::vector<ExactTet> exact_clip(const std::vector<ExactTet>& tets, const Plane& plane) {
  std::vector<ExactTet> found;
  for (const ExactTet& t : tets) {
    std::array<mpq_class, 4> value;
    std::vector<std::size_t> kept, lost;
    for (std::size_t i = 0; i < 4; ++i) {
      value[i] = plane(t[i]);
      (value[i] > 0 ? kept : lost).push_back(i);
    }
    const auto cut = [&](std::size_t i, std::size_t j) {
      const mpq_class s = value[i] / (value[i] - value[j]);
      ExactPoint x;
      for (std::size_t d = 0; d < 3; ++d) x[d] = t[i][d] + s * (t[j][d] - t[i][d]);
      return x;
    };
    std::array<ExactPoint, 3> low, high;
    if (kept.size() == 4) found.push_back(t);
    if (kept.size() == 1) found.push_back({t[kept[0]], cut(kept[0], lost[0]), cut(kept[0], lost[1]), cut(kept[0], lost[2])});
    if (kept.size() < 2 || kept.size() == 4) continue;
    if (kept.size() == 3) {
      low = {t[kept[0]], t[kept[1]], t[kept[2]]};
      high = {cut(kept[0], lost[0]), cut(kept[1], lost[0]), cut(kept[2], lost[0])};
    } else {
      low = {t[kept[0]], cut(kept[0], lost[0]), cut(kept[0], lost[1])};
      high = {t[kept[1]], cut(kept[1], lost[0]), cut(kept[1], lost[1])};
    }
    found.push_back({low[0], low[1], low[2], high[2]});
    found.push_back({low[0], low[1], high[1], high[2]});
    found.push_back({low[0], high[0], high[1], high[2]});
  }
  return found;
}

/// Parts of a in b; none where one of them is flat.
inline std::vector<ExactTet> exact_overlap(const std::array<mesh::Point, 4>& a, const std::array<mesh::Point, 4>& b) {
  const ExactTet other = exact(b);
  const mpq_class orientation = determinant(other);
  if (orientation == 0 || determinant(exact(a)) == 0) return {};
  std::vector<ExactTet> parts{exact(a)};
  for (std::size_t k = 0; k < 4; ++k)
    parts = exact_clip(parts, [&](const ExactPoint& x) {
      ExactTet replaced = other;
      replaced[k] = x;
      return mpq_class(determinant(replaced) * sgn(orientation));
    });
  return parts;
}

/// The part where normal . (x - origin) <= offset.
inline std::vector<ExactTet> exact_below(const std::vector<ExactTet>& parts, const mesh::Point& normal, double offset,
                                         const mesh::Point& origin) {
  const ExactPoint n = exact(normal), o = exact(origin);
  return exact_clip(parts, [&](const ExactPoint& x) {
    return mpq_class(mpq_class(offset) - n[0] * (x[0] - o[0]) - n[1] * (x[1] - o[1]) - n[2] * (x[2] - o[2]));
  });
}

struct ExactMeasure {
  mpq_class volume = 0;
  ExactPoint moment{0, 0, 0};
};

inline ExactMeasure measured(const std::vector<ExactTet>& parts) {
  ExactMeasure sum;
  for (const ExactTet& t : parts) {
    const mpq_class v = abs(determinant(t)) / 6;
    sum.volume += v;
    for (std::size_t d = 0; d < 3; ++d) sum.moment[d] += v * (t[0][d] + t[1][d] + t[2][d] + t[3][d]) / 4;
  }
  return sum;
}

inline mesh::Point random_point(std::mt19937_64& bits, double size = 1) {
  std::uniform_real_distribution<double> coordinate(0, size);
  const double x = coordinate(bits), y = coordinate(bits);
  return {x, y, coordinate(bits)};
}

inline std::array<mesh::Point, 4> random_tet(std::mt19937_64& bits, double size = 1) {
  std::array<mesh::Point, 4> t;
  for (mesh::Point& x : t) x = random_point(bits, size);
  return t;
}

}  // namespace meniscus::tests
