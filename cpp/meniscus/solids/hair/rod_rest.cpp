// Rest shapes whose equilibrium under gravity is a given one.
#include "meniscus/solids/hair/rod_loops.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids::hair {
using mesh::Point;

namespace {

/// The part of the forces and moments behind a point (on its later neighbour, about the edge between) that one unknown makes.
struct Behind {
  Pack across, over, moment;
};

MENISCUS_INLINE Behind behind(const EdgeFrame& e, const EdgeFrame& f, const PointLaw& law, const Pack& m) {
  const PointForces p = point_gradient(e, f, law, shape_of(e, f, law), m);
  return {dot(p.f, f.d), dot(p.f, cross(f.t, f.d)), p.q};
}

MENISCUS_INLINE Behind operator-(const Behind& a, const Behind& b) {
  return {a.across - b.across, a.over - b.over, a.moment - b.moment};
}

MENISCUS_INLINE Pack determinant(const Behind& a, const Behind& b, const Behind& c) {
  return dot(PackVec3{a.across, a.over, a.moment},
             cross(PackVec3{b.across, b.over, b.moment}, PackVec3{c.across, c.over, c.moment}));
}

}  // namespace

void RodStrands::rest_at(ConstPoints x, std::span<const double> masses, const Point& gravity,
                         std::span<const std::uint8_t> chosen, std::span<double> turns, std::span<double> lengths) {
  for_groups([&](const Group& g, Scratch& s, Index n) {
    const Pack zero = splat(0.0), one = splat(1.0), half = splat(0.5);
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    store_frames(g, s.now);
    for (Index j = 0; j < g.slots; ++j) s.mass[j] = zero;
    for_points(g, [&](int l, Index j, Index p) { s.mass[j][l] = masses[p]; });
    Pack which = zero;
    per_strand(n, [&](int l, Index strand) { which[l] = chosen[strand]; });
    const PackMask set = which > half;
    for (Index r = 0; r < 4 * g.slots; ++r) s.slope[r] = zero;
    for (Index j = 0; j < g.slots; ++j)
      add_vector(s.slope, j, s.mass[j] * PackVec3{splat(-gravity[0]), splat(-gravity[1]), splat(-gravity[2])});
    Pack most = zero, shortest = splat(std::numeric_limits<double>::infinity());
    double* const planes = const_cast<double*>(g.law);
    const auto put = [&](LawPlane k, Index j, const Pack& value, const PackMask& where) {
      double* const at = planes + k * g.stride + pack_size * j;
      store_pack(at, select(where, value, load_pack(at)));
    };
    for (Index j = g.slots - 2; j >= 1; --j) {
      const PackMask real = g.at(real_plane, j) > half;
      const EdgeFrame e = edge_frame(s.now, j - 1), f = edge_frame(s.now, j);
      PointLaw law = g.point(j);
      const PackMask bends = real & (law.bending > zero) & (law.twisting > zero) & set;
      law.first = law.second = zero;
      const Behind plain = behind(e, f, law, zero);
      law.first = one;
      const Behind a = behind(e, f, law, zero) - plain;
      law.first = zero, law.second = one;
      const Behind b = behind(e, f, law, zero) - plain;
      law.second = zero;
      const Behind c = behind(e, f, law, one) - plain;
      const PackVec3 force{s.slope[4 * j + 4], s.slope[4 * j + 5], s.slope[4 * j + 6]};
      const Behind wanted = Behind{-dot(force, f.d), -dot(force, cross(f.t, f.d)), -s.slope[4 * j + 3]} - plain;
      const Pack d = determinant(a, b, c);
      const PackMask well = bends & (abs(d) > zero);
      const Pack inverse = one / select(well, d, one);
      const Pack first = inverse * determinant(wanted, b, c), second = inverse * determinant(a, wanted, c);
      const Pack elastic = inverse * determinant(a, b, wanted);
      put(first_plane, j, first, well);
      put(second_plane, j, second, well);
      put(turn_plane, j, s.now.m[j] - elastic, well);
      // What acts along the segment stretches it.
      const PackVec3 edge = s.x[j + 1] - s.x[j];
      const Pack length = sqrt(dot(edge, edge)), k = g.at(stretch_plane, j);
      const Pack rest = length + dot(force, f.t) / select(real, k, one);
      put(rest_plane, j, rest, real & set);
      const PointLaw now = g.point(j);
      most = max(most, select(well, now.first * now.first + now.second * now.second, zero));
      most = select(real & set & ~well, splat(std::numeric_limits<double>::infinity()), most);
      shortest = select(real, min(shortest, rest / length), shortest);
      const PointForces p = point_gradient(e, f, now, shape_of(e, f, now), s.now.m[j] - now.twist);
      const Pack pull = k * (length - g.at(rest_plane, j));
      add_vector(s.slope, j - 1, -p.e);
      add_vector(s.slope, j, p.e - p.f - pull * f.t);
      add_vector(s.slope, j + 1, p.f + pull * f.t);
      s.slope[4 * j - 1] += p.p;
      s.slope[4 * j + 3] += p.q;
    }
    per_strand(n, [&](int l, Index strand) {
      if (chosen[strand] == 0) return;
      turns[strand] = 2 * std::atan(0.5 * std::sqrt(most[l]));
      lengths[strand] = shortest[l];
    });
  });
}

}  // namespace meniscus::solids::hair
