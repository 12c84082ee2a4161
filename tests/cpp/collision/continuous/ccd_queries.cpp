#include "ccd_queries.hpp"

#include <cmath>
#include <limits>

namespace meniscus::oracle {
namespace {

constexpr collision::PairKind vertex_face = collision::PairKind::vertex_face;

template <class F>
Corners corners(F&& coordinate) {
  Corners x;
  for (mesh::Point& p : x)
    for (int d = 0; d < 3; ++d) p[d] = coordinate();
  return x;
}

mesh::Point integer_point(Random& r, int largest) {
  mesh::Point p;
  for (int d = 0; d < 3; ++d) p[d] = r.integer(-largest, largest);
  return p;
}

Corners integers(Random& r, int largest) {
  return corners([&] { return r.integer(-largest, largest); });
}

template <class F>
Query both(F&& f) {
  Query q;
  q.start = f();
  q.end = f();
  return q;
}

Corners moved(const Corners& x, const Corners& by, double factor) {
  Corners r;
  for (std::size_t i = 0; i < 4; ++i) r[i] = x[i] + factor * by[i];
  return r;
}

Query scaled(Query q, int exponent) {
  for (Corners* x : {&q.start, &q.end})
    for (mesh::Point& p : *x)
      for (int d = 0; d < 3; ++d) p[d] = std::ldexp(p[d], exponent);
  return q;
}

/// Moved by up to two units in the last place.
Query nudged(Random& r, Query q) {
  for (Corners* x : {&q.start, &q.end})
    for (mesh::Point& p : *x)
      for (int d = 0; d < 3; ++d)
        for (int steps = r.integer(-2, 2); steps != 0; steps += steps < 0 ? 1 : -1)
          p[d] = std::nextafter(p[d], steps < 0 ? -1e300 : 1e300);
  return q;
}

/// Elements at rest that touch: anywhere, on a rim, at a vertex, or without area or length.
Corners touching(Random& r, collision::PairKind kind) {
  Corners x;
  for (mesh::Point& p : x) p = 8 * integer_point(r, 4);
  if (kind == vertex_face) {
    int i = r.integer(0, 8);
    int j = r.integer(0, 8 - i);
    if (r.chance(0.2)) j = 8 - i;
    if (r.chance(0.1)) i = 8, j = 0;
    x[0] = (i * x[1] + j * x[2] + (8 - i - j) * x[3]) / 8;
  } else {
    const int i = r.chance(0.1) ? 0 : r.integer(0, 8);
    const int j = r.chance(0.1) ? 8 : r.integer(0, 8);
    const mesh::Point contact = ((8 - i) * x[0] + i * x[1]) / 8;
    const mesh::Point direction = integer_point(r, 4);
    x[2] = contact - j * direction;
    x[3] = contact + (8 - j) * direction;
  }
  return x;
}

Query in_tilted_plane(Random& r) {
  const mesh::Point u = integer_point(r, 3);
  const mesh::Point v = integer_point(r, 3);
  mesh::Point base = integer_point(r, 9);
  const mesh::Point drift = integer_point(r, 3);
  return both([&] {
    Corners x;
    for (mesh::Point& p : x) p = base + r.integer(-4, 4) * u + r.integer(-4, 4) * v;
    base += drift;
    return x;
  });
}

/// A contact on the rim at some time, up to rounding.
Query near_miss(Random& r, collision::PairKind kind) {
  Query q = both([&] { return corners([&] { return r.normal(); }); });
  const double t = r.uniform(0, 1);
  Corners at;
  for (std::size_t i = 0; i < 4; ++i) at[i] = (1 - t) * q.start[i] + t * q.end[i];
  double u = r.uniform(0, 1);
  double v = r.uniform(0, 1);
  const int side = r.integer(0, 3);
  mesh::Point gap;
  if (kind == vertex_face) {
    if (side == 0) u = 0;
    v = side == 1 ? 0 : side == 0 ? v : 1 - u;
    gap = at[0] - ((1 - u - v) * at[1] + u * at[2] + v * at[3]);
  } else {
    (side < 2 ? u : v) = side % 2;
    gap = (1 - u) * at[0] + u * at[1] - (1 - v) * at[2] - v * at[3];
  }
  for (Corners* x : {&q.start, &q.end})
    for (std::size_t i = 0; i < (kind == vertex_face ? 1 : 2); ++i) (*x)[i] -= gap;
  return nudged(r, q);
}

/// Contacts within the elements at which the coplanarity cubic has a double or triple root: the product of the diagonal of a
/// triangular matrix, hidden by an integer matrix and a common motion.
Query multiple_root(Random& r, collision::PairKind kind, int multiplicity) {
  static constexpr std::array<std::array<int, 2>, 4> zeros{{{-1, 1}, {-1, 2}, {-2, 1}, {-1, 3}}};
  const auto at = zeros[r.integer(0, 3)];
  const bool first = r.chance(0.5);
  const std::array<int, 3> upper{r.integer(-3, 3), r.integer(-3, 3), r.integer(-3, 3)};
  const int u = r.integer(1, 2);
  const int v = kind == vertex_face ? 1 : r.integer(1, 3);
  Eigen::Matrix3d matrix;
  do {
    for (int i = 0; i < 3; ++i) matrix.row(i) = integer_point(r, 3).transpose();
  } while (std::abs(matrix.determinant()) < 0.5);
  mesh::Point origin = integer_point(r, 9);
  const mesh::Point drift = integer_point(r, 9);
  std::size_t k = 0;
  return both([&] {
    const int s = at[k++];
    mesh::Point a;
    mesh::Point b;
    if (multiplicity == 3) {
      a = mesh::Point(s, 1, upper[1]);
      b = mesh::Point(0, s, 1);
    } else if (first) {
      a = mesh::Point(1, upper[0], upper[1]);
      b = mesh::Point(0, s, 1);
    } else {
      a = mesh::Point(s, 0, 1);
      b = mesh::Point(0, 1, upper[2]);
    }
    const mesh::Point c = u * a + (kind == vertex_face ? v : -v) * b + mesh::Point(0, 0, s);
    a *= 4;
    b *= 4;
    Corners x = kind == vertex_face ? Corners{c, mesh::Point::Zero(), a, b} : Corners{mesh::Point::Zero(), a, c, c + b};
    for (mesh::Point& p : x) p = matrix * p + origin;
    origin += drift;
    return x;
  });
}

Query uniform(Random& r, collision::PairKind) {
  return both([&] { return corners([&] { return r.uniform(-1, 1); }); });
}

Query gaussian(Random& r, collision::PairKind) {
  return both([&] { return corners([&] { return r.normal(); }); });
}

Query small_steps(Random& r, collision::PairKind) {
  Query q;
  q.start = corners([&] { return r.normal(); });
  q.end = moved(q.start, corners([&] { return r.normal(); }), 0.3);
  return q;
}

template <int Largest>
Query grid(Random& r, collision::PairKind) {
  return both([&] { return integers(r, Largest); });
}

Query dyadic(Random& r, collision::PairKind) {
  return both([&] { return corners([&] { return std::ldexp(r.integer(-4, 4), r.integer(-6, 2)); }); });
}

Query in_plane(Random& r, collision::PairKind) {
  return both([&] {
    Corners x = integers(r, 5);
    for (mesh::Point& p : x) p[2] = 0;
    return x;
  });
}

Query in_plane_reals(Random& r, collision::PairKind) {
  const int axis = r.integer(0, 2);
  const double height = r.normal();
  return both([&] {
    Corners x = corners([&] { return r.normal(); });
    for (mesh::Point& p : x) p[axis] = height;
    return x;
  });
}

Query on_a_line(Random& r, collision::PairKind) {
  const mesh::Point direction = integer_point(r, 2);
  return both([&] {
    Corners x;
    for (mesh::Point& p : x) p = r.integer(-6, 6) * direction;
    return x;
  });
}

Query parallel_edges(Random& r, collision::PairKind) {
  return both([&] {
    Corners x = integers(r, 3);
    if (r.chance(0.7)) x[3] = x[2] + r.integer(-2, 2) * (x[1] - x[0]);
    return x;
  });
}

/// Contact at t = before / (before + after).
template <int Before, int After>
Query touching_within(Random& r, collision::PairKind kind) {
  const Corners x = touching(r, kind);
  const Corners d = integers(r, 20);
  return {moved(x, d, -Before), moved(x, d, After)};
}

Query flat_elements(Random& r, collision::PairKind kind) {
  return both([&] {
    Corners x = integers(r, 3);
    if (r.chance(0.8)) x[3] = x[2] + (kind == vertex_face ? r.integer(-1, 1) : 0) * (x[1] - x[2]);
    return x;
  });
}

Query duplicated_points(Random& r, collision::PairKind) {
  const bool real = r.chance(0.3);
  Query q = both([&] {
    Corners x = real ? corners([&] { return r.normal(); }) : integers(r, 3);
    x[r.integer(0, 3)] = x[r.integer(0, 3)];
    return x;
  });
  const auto i = static_cast<std::size_t>(r.integer(0, 3));
  if (r.chance(0.5)) q.end[i] = q.start[i];
  return q;
}

Query static_pairs(Random& r, collision::PairKind kind) {
  const Corners x = r.chance(0.5) ? integers(r, 2) : touching(r, kind);
  return {x, x};
}

Query translations(Random& r, collision::PairKind kind) {
  Query q;
  q.start = integers(r, 3);
  const std::array<mesh::Point, 2> moves{integer_point(r, 6), integer_point(r, 6)};
  for (std::size_t i = 0; i < 4; ++i) q.end[i] = q.start[i] + moves[i < (kind == vertex_face ? 1 : 2) ? 0 : 1];
  return q;
}

template <int Multiplicity, bool Near>
Query multiple_roots(Random& r, collision::PairKind kind) {
  const Query q = multiple_root(r, kind, Multiplicity);
  return Near ? nudged(r, q) : q;
}

Query tilted_planes(Random& r, collision::PairKind) { return in_tilted_plane(r); }

/// A vertex meets an edge, both in a plane that moves along, at times that are roots of a quadratic; the fourth point is
/// anywhere.
Query rim_at_irrational_times(Random& r, collision::PairKind kind) {
  Query q = in_tilted_plane(r);
  const std::size_t apex = kind == vertex_face ? 2 : 1;
  q.start[apex] = integer_point(r, 9);
  q.end[apex] = integer_point(r, 9);
  return q;
}

Query shared_vertex(Random& r, collision::PairKind) {
  return both([&] {
    Corners x = corners([&] { return r.normal(); });
    x[2] = x[0];
    return x;
  });
}

Query hair(Random& r, collision::PairKind) {
  const double thickness = std::pow(10.0, r.uniform(-17, -6));
  return both([&] {
    Corners x = corners([&] { return r.uniform(-1, 1); });
    for (mesh::Point& p : x) p[2] *= thickness;
    return x;
  });
}

Query far_away(Random& r, collision::PairKind) {
  static constexpr std::array<double, 4> offsets{1e8, -1e8, 1e14, 0x1p51};
  mesh::Point offset;
  for (int d = 0; d < 3; ++d) offset[d] = offsets[r.integer(0, 3)];
  return both([&] {
    Corners x = corners([&] { return r.uniform(-4, 4); });
    for (mesh::Point& p : x) p += offset;
    return x;
  });
}

Query grid_far_away(Random& r, collision::PairKind) {
  return both([&] { return corners([&] { return 0x1p40 + r.integer(-2, 2); }); });
}

Query mixed_magnitudes(Random& r, collision::PairKind) {
  static constexpr std::array<int, 8> exponents{-1074, -1060, -600, -30, 0, 5, 500, 990};
  return both([&] { return corners([&] { return std::ldexp(r.integer(-6, 6), exponents[r.integer(0, 7)]); }); });
}

Query mixed_axes(Random& r, collision::PairKind kind) {
  static constexpr std::array<int, 7> exponents{-1074, -1030, -540, -3, 0, 470, 985};
  Query q = r.chance(0.5) ? touching_within<1, 1>(r, kind) : grid<2>(r, kind);
  for (int d = 0; d < 3; ++d) {
    const int e = exponents[r.integer(0, 6)];
    for (Corners* x : {&q.start, &q.end})
      for (mesh::Point& p : *x) p[d] = std::ldexp(p[d], e);
  }
  return q;
}

Query huge_and_subnormal(Random& r, collision::PairKind kind) {
  const Corners x = touching(r, kind);
  return both([&] {
    Corners y;
    for (std::size_t i = 0; i < 4; ++i)
      for (int d = 0; d < 3; ++d) y[i][d] = r.chance(0.2) ? r.integer(-3, 3) * 5e-324 : x[i][d] * 1e290;
    return y;
  });
}

Query largest_doubles(Random& r, collision::PairKind) {
  constexpr double most = std::numeric_limits<double>::max();
  static const std::array<double, 7> values{most, -most, most / 2, -most / 2, 0, 1, std::nextafter(most, 0)};
  return both([&] { return corners([&] { return values[r.integer(0, 6)]; }); });
}

template <Query (*Make)(Random&, collision::PairKind), int Exponent>
Query scaled_by(Random& r, collision::PairKind kind) {
  return scaled(Make(r, kind), Exponent);
}

// --- the same as in Python
// --------------------------------------------------------------------------------------------------------

Query shared_fractions(Random& r, collision::PairKind) {
  return both([&] { return corners([&] { return static_cast<double>(r.bits() >> 11) * 0x1p-53 - 0.5; }); });
}

Query shared_plane(Random& r, collision::PairKind) {
  return both([&] {
    Corners x = integers(r, 5);
    for (mesh::Point& p : x) p[2] = p[0] - 2 * p[1];
    return x;
  });
}

Query shared_touch(Random& r, collision::PairKind kind) {
  Corners x;
  for (mesh::Point& p : x) p = 4 * integer_point(r, 3);
  if (kind == vertex_face)
    x[0] = (2 * x[1] + x[2] + x[3]) / 4;
  else
    x[3] = (x[0] + x[1]) - x[2];
  const Corners d = integers(r, 9);
  return {moved(x, d, -1), moved(x, d, 1)};
}

Query shared_scales(Random& r, collision::PairKind) {
  static constexpr std::array<int, 3> exponents{-1074, 0, 900};
  return both([&] {
    Corners x = integers(r, 2);
    for (mesh::Point& p : x)
      for (int d = 0; d < 3; ++d) p[d] = std::ldexp(p[d], exponents[d]);
    return x;
  });
}

constexpr std::array generic{Family{"uniform", uniform}, Family{"gaussian", gaussian}, Family{"small steps", small_steps},
                             Family{"wide integers", grid<20>}};

constexpr std::array degenerate{
    Family{"near misses", near_miss},
    Family{"small grid", grid<2>},
    Family{"tiny grid", grid<1>},
    Family{"dyadic", dyadic},
    Family{"in a plane", in_plane},
    Family{"in a tilted plane", tilted_planes},
    Family{"in a plane, reals", in_plane_reals},
    Family{"on a line", on_a_line},
    Family{"parallel edges", parallel_edges},
    Family{"touching at the start", touching_within<0, 1>},
    Family{"touching at the end", touching_within<1, 0>},
    Family{"touching midway", touching_within<1, 1>},
    Family{"touching at a quarter", touching_within<1, 3>},
    Family{"flat elements", flat_elements},
    Family{"duplicated points", duplicated_points},
    Family{"static pairs", static_pairs},
    Family{"translations", translations},
    Family{"double roots", multiple_roots<2, false>},
    Family{"triple roots", multiple_roots<3, false>},
    Family{"near double roots", multiple_roots<2, true>},
    Family{"near triple roots", multiple_roots<3, true>},
    Family{"rim at irrational times", rim_at_irrational_times},
    Family{"shared vertex", shared_vertex},
    Family{"hair", hair},
    Family{"far away", far_away},
    Family{"grid far away", grid_far_away},
    Family{"mixed magnitudes", mixed_magnitudes},
    Family{"mixed axes", mixed_axes},
    Family{"huge and subnormal", huge_and_subnormal},
    Family{"largest doubles", largest_doubles},
    Family{"small grid * 2^-1074", scaled_by<grid<2>, -1074>},
    Family{"small grid * 2^900", scaled_by<grid<2>, 900>},
    Family{"touching midway * 2^-1074", scaled_by<touching_within<1, 1>, -1074>},
    Family{"touching midway * 2^-500", scaled_by<touching_within<1, 1>, -500>},
    Family{"touching midway * 2^900", scaled_by<touching_within<1, 1>, 900>},
    Family{"double roots * 2^-1074", scaled_by<multiple_roots<2, false>, -1074>},
    Family{"uniform * 2^-1022", scaled_by<uniform, -1022>},
    Family{"uniform * 2^900", scaled_by<uniform, 900>},
};

constexpr std::array shared{Family{"grid", grid<2>},       Family{"wide grid", grid<20>}, Family{"fractions", shared_fractions},
                            Family{"plane", shared_plane}, Family{"touch", shared_touch}, Family{"scales", shared_scales}};

}  // namespace

std::span<const Family> generic_families() { return generic; }
std::span<const Family> degenerate_families() { return degenerate; }
std::span<const Family> shared_families() { return shared; }

}  // namespace meniscus::oracle
