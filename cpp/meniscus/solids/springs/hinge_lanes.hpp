/// Bending modes of lanes of hinges, as plain loops for the vectoriser (included by kernels only).
#pragma once

#include "meniscus/core/simd.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace meniscus::solids::hinges {

inline constexpr int lanes = 32;
using Values = std::array<double, static_cast<std::size_t>(lanes)>;
using Vectors = std::array<Values, 3>;

/// Data of `DihedralBending::Hinge`; the angle is that of (cosine, sine) up to a common positive factor. Where a length or an
/// area is 0, the values are not finite.
struct Modes {
  Values length;
  std::array<Values, 2> area;
  Values sine;
  Values cosine;
  std::array<Vectors, 4> mode;
};

/// The cross product of b - a and c - a.
MENISCUS_INLINE void area_vectors(const Vectors& a, const Vectors& b, const Vectors& c, Vectors& n, Values& norm) {
  for (int l = 0; l < lanes; ++l) {
    const double ux = b[0][l] - a[0][l];
    const double uy = b[1][l] - a[1][l];
    const double uz = b[2][l] - a[2][l];
    const double vx = c[0][l] - a[0][l];
    const double vy = c[1][l] - a[1][l];
    const double vz = c[2][l] - a[2][l];
    n[0][l] = uy * vz - uz * vy;
    n[1][l] = uz * vx - ux * vz;
    n[2][l] = ux * vy - uy * vx;
    norm[l] = std::sqrt(n[0][l] * n[0][l] + n[1][l] * n[1][l] + n[2][l] * n[2][l]);
  }
}

/// Corner c of lane l is node nodes[4 l + c].
MENISCUS_INLINE void modes(const double* x, const std::int32_t* nodes, Modes& out) {
  std::array<Vectors, 4> p;
  for (std::size_t c = 0; c < 4; ++c)
    for (int l = 0; l < lanes; ++l) {
      const std::int32_t i = 3 * nodes[4 * l + static_cast<int>(c)];
      p[c][0][l] = x[i];
      p[c][1][l] = x[i + 1];
      p[c][2][l] = x[i + 2];
    }
  Vectors n1;
  Vectors n2;
  area_vectors(p[0], p[1], p[2], n1, out.area[0]);
  area_vectors(p[1], p[0], p[3], n2, out.area[1]);
  for (int l = 0; l < lanes; ++l) {
    double ex = p[1][0][l] - p[0][0][l];
    double ey = p[1][1][l] - p[0][1][l];
    double ez = p[1][2][l] - p[0][2][l];
    const double length = std::sqrt(ex * ex + ey * ey + ez * ez);
    out.length[l] = length;
    ex /= length;
    ey /= length;
    ez /= length;
    const double turn = (n1[1][l] * n2[2][l] - n1[2][l] * n2[1][l]) * ex + (n1[2][l] * n2[0][l] - n1[0][l] * n2[2][l]) * ey +
                        (n1[0][l] * n2[1][l] - n1[1][l] * n2[0][l]) * ez;
    out.sine[l] = -turn;
    out.cosine[l] = n1[0][l] * n2[0][l] + n1[1][l] * n2[1][l] + n1[2][l] * n2[2][l];
    // Distances of the outer corners along the edge, from its second end.
    const double p1 = (p[2][0][l] - p[1][0][l]) * ex + (p[2][1][l] - p[1][1][l]) * ey + (p[2][2][l] - p[1][2][l]) * ez;
    const double p2 = (p[3][0][l] - p[1][0][l]) * ex + (p[3][1][l] - p[1][1][l]) * ey + (p[3][2][l] - p[1][2][l]) * ez;
    const double q1 = (p[2][0][l] - p[0][0][l]) * ex + (p[2][1][l] - p[0][1][l]) * ey + (p[2][2][l] - p[0][2][l]) * ez;
    const double q2 = (p[3][0][l] - p[0][0][l]) * ex + (p[3][1][l] - p[0][1][l]) * ey + (p[3][2][l] - p[0][2][l]) * ez;
    for (std::size_t d = 0; d < 3; ++d) {
      const double m1 = n1[d][l] / out.area[0][l] / out.area[0][l];
      const double m2 = n2[d][l] / out.area[1][l] / out.area[1][l];
      out.mode[0][d][l] = p1 * m1 + p2 * m2;
      out.mode[1][d][l] = -q1 * m1 - q2 * m2;
      out.mode[2][d][l] = length * m1;
      out.mode[3][d][l] = length * m2;
    }
  }
}

}  // namespace meniscus::solids::hinges
