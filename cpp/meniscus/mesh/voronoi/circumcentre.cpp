#include "meniscus/mesh/voronoi/circumcentre.hpp"

#include "meniscus/numerics/expansion.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

using numerics::Expansion;

/// Six times the volume of a tetrahedron, in cubes of its longest edge, below which doubles leave fewer than twelve digits, and
/// below which long doubles do.
constexpr double flat_tet = 1e-4, very_flat_tet = 1e-7;

template <class T>
Point centre_in(const Point& a, const Point& b, const Point& c, const Point& d) {
  using V = Vec<T, 3>;
  const V o = a.cast<T>(), u = b.cast<T>() - o, v = c.cast<T>() - o, w = d.cast<T>() - o;
  const V vw = v.cross(w);
  const V from_a = (u.squaredNorm() * vw + v.squaredNorm() * w.cross(u) + w.squaredNorm() * u.cross(v)) / (2 * u.dot(vw));
  return a + from_a.template cast<double>();
}

template <int N>
using Exact3 = std::array<Expansion<N>, 3>;

Exact3<2> difference(const Point& a, const Point& b) {
  const auto at = [&](Index k) { return Expansion<1>(a[k]) - Expansion<1>(b[k]); };
  return {at(0), at(1), at(2)};
}

Exact3<16> cross(const Exact3<2>& a, const Exact3<2>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

template <int N, int M>
auto dot(const Exact3<N>& a, const Exact3<M>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// With exact determinants.
Point exact_centre(const Point& a, const Point& b, const Point& c, const Point& d) {
  const Exact3<2> u = difference(b, a), v = difference(c, a), w = difference(d, a);
  const Exact3<16> vw = cross(v, w), wu = cross(w, u), uv = cross(u, v);
  const auto u2 = dot(u, u), v2 = dot(v, v), w2 = dot(w, w);
  const double twelve_volumes = 2 * dot(u, vw).estimate();
  Point out = a;
  for (std::size_t k = 0; k < 3; ++k)
    out[static_cast<Index>(k)] += (u2 * vw[k] + v2 * wu[k] + w2 * uv[k]).estimate() / twelve_volumes;
  return out;
}

}  // namespace

Point circumcentre(const Point& a, const Point& b, const Point& c, const Point& d) {
  const double longest = std::max({(b - a).squaredNorm(), (c - a).squaredNorm(), (d - a).squaredNorm(), (c - b).squaredNorm(),
                                   (d - b).squaredNorm(), (d - c).squaredNorm()});
  const double flat = 6 * std::abs(signed_volume(a, b, c, d)) / (longest * std::sqrt(longest));
  if (flat > flat_tet) return centre_in<double>(a, b, c, d);
  return flat > very_flat_tet ? centre_in<long double>(a, b, c, d) : exact_centre(a, b, c, d);
}

}  // namespace meniscus::mesh
