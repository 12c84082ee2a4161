/// Choice among the seven altitudes for lanes of tetrahedra, as plain loops for the vectoriser (included by kernels only).
#pragma once

#include "meniscus/core/simd.hpp"
#include "meniscus/solids/springs/altitude_candidates.hpp"

#include <cmath>

namespace meniscus::solids::altitudes {

inline constexpr int lanes = 32;
using Values = std::array<double, static_cast<std::size_t>(lanes)>;

struct Vectors {
  Values x;
  Values y;
  Values z;
};

/// A base has to be so much wider, in its squared area, to be taken in place of one before it: else round-off would choose among
/// equal ones, as those of regular tetrahedra, and another one in each place and turn.
inline constexpr double clearly = 1 + 1e-9;

/// Data of `Candidate` and `Frame` for the candidate with the widest base of each lane.
struct Choices {
  std::array<std::int32_t, static_cast<std::size_t>(lanes)> candidate;
  Vectors direction;
  Values length;
  Values w1;
  Values w2;
  /// Squared norms of u x v, u and v.
  Values widest;
  Values u2;
  Values v2;
};

/// Corner c of lane l is node nodes[4 l + c].
MENISCUS_INLINE void choose(const double* x, const std::int32_t* nodes, Choices& out) {
  std::array<Vectors, 4> p;
  for (std::size_t c = 0; c < 4; ++c)
    for (int l = 0; l < lanes; ++l) {
      const std::int32_t i = 3 * nodes[4 * l + static_cast<int>(c)];
      p[c].x[l] = x[i];
      p[c].y[l] = x[i + 1];
      p[c].z[l] = x[i + 2];
    }
  for (int l = 0; l < lanes; ++l) {
    out.widest[l] = -1;
    out.candidate[l] = 0;
  }
  Vectors u{};
  Vectors v{};
  Vectors r{};
  Vectors area{};
  for (std::size_t k = 0; k < table.size(); ++k) {
    const auto& corner = table[k].corner;
    // The points that u, v and r lead from and to.
    const Vectors& u0 = k < faces ? p[corner[1]] : p[corner[0]];
    const Vectors& u1 = k < faces ? p[corner[2]] : p[corner[1]];
    const Vectors& v0 = k < faces ? p[corner[1]] : p[corner[2]];
    const Vectors& v1 = p[corner[3]];
    const Vectors& r0 = k < faces ? p[corner[1]] : p[corner[2]];
    const Vectors& r1 = p[corner[0]];
    for (int l = 0; l < lanes; ++l) {
      const double ux = u1.x[l] - u0.x[l];
      const double uy = u1.y[l] - u0.y[l];
      const double uz = u1.z[l] - u0.z[l];
      const double vx = v1.x[l] - v0.x[l];
      const double vy = v1.y[l] - v0.y[l];
      const double vz = v1.z[l] - v0.z[l];
      const double cx = uy * vz - uz * vy;
      const double cy = uz * vx - ux * vz;
      const double cz = ux * vy - uy * vx;
      const double square = cx * cx + cy * cy + cz * cz;
      const bool wider = square > clearly * out.widest[l];
      out.widest[l] = wider ? square : out.widest[l];
      out.candidate[l] = wider ? static_cast<std::int32_t>(k) : out.candidate[l];
      u.x[l] = wider ? ux : u.x[l];
      u.y[l] = wider ? uy : u.y[l];
      u.z[l] = wider ? uz : u.z[l];
      v.x[l] = wider ? vx : v.x[l];
      v.y[l] = wider ? vy : v.y[l];
      v.z[l] = wider ? vz : v.z[l];
      area.x[l] = wider ? cx : area.x[l];
      area.y[l] = wider ? cy : area.y[l];
      area.z[l] = wider ? cz : area.z[l];
      r.x[l] = wider ? r1.x[l] - r0.x[l] : r.x[l];
      r.y[l] = wider ? r1.y[l] - r0.y[l] : r.y[l];
      r.z[l] = wider ? r1.z[l] - r0.z[l] : r.z[l];
    }
  }
  for (int l = 0; l < lanes; ++l) {
    const double square = out.widest[l];
    const double norm = std::sqrt(square);
    out.direction.x[l] = area.x[l] / norm;
    out.direction.y[l] = area.y[l] / norm;
    out.direction.z[l] = area.z[l] / norm;
    out.length[l] = out.direction.x[l] * r.x[l] + out.direction.y[l] * r.y[l] + out.direction.z[l] * r.z[l];
    const double rvx = r.y[l] * v.z[l] - r.z[l] * v.y[l];
    const double rvy = r.z[l] * v.x[l] - r.x[l] * v.z[l];
    const double rvz = r.x[l] * v.y[l] - r.y[l] * v.x[l];
    out.w1[l] = (rvx * area.x[l] + rvy * area.y[l] + rvz * area.z[l]) / square;
    const double urx = u.y[l] * r.z[l] - u.z[l] * r.y[l];
    const double ury = u.z[l] * r.x[l] - u.x[l] * r.z[l];
    const double urz = u.x[l] * r.y[l] - u.y[l] * r.x[l];
    out.w2[l] = (urx * area.x[l] + ury * area.y[l] + urz * area.z[l]) / square;
    out.u2[l] = u.x[l] * u.x[l] + u.y[l] * u.y[l] + u.z[l] * u.z[l];
    out.v2[l] = v.x[l] * v.x[l] + v.y[l] * v.y[l] + v.z[l] * v.z[l];
  }
}

}  // namespace meniscus::solids::altitudes
