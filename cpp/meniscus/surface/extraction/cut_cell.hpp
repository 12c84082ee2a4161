/// Inside part of one square or cube of samples, cut by `cut_cases`: its pieces, and the surface in it.
#pragma once

#include "meniscus/surface/extraction/cut_cases.hpp"
#include "meniscus/surface/extraction/level_set_lattice.hpp"

#include <Eigen/Geometry>

#include <limits>

namespace meniscus::surface {

template <int D>
struct CutCell {
  int pieces = 0;
  std::array<double, 4> fraction{};                ///< of the cell, of each piece
  std::array<std::int8_t, 1 << D> corner_piece{};  ///< -1 outside
  double area = 0;                                 ///< of the surface (length in 2-D), m^(D - 1)

  double inside() const { return (fraction[0] + fraction[1]) + (fraction[2] + fraction[3]); }
};

namespace detail {

/// Areas of the polygons of a unit square, whose values are given by corner.
inline std::array<double, 2> polygon_areas(const SquareCase& c, const std::array<double, 4>& v) {
  std::array<double, 2> areas{};
  for (int p = 0; p < c.polygon_count; ++p) {
    const Index i = p;
    std::array<std::array<double, 2>, 5> x;
    for (int a = 0; a < c.sizes[i]; ++a) {
      const Index n = a;
      const int code = c.polygons[i][n];
      const auto corner = static_cast<unsigned>(code < 4 ? code : square_round[code - 4]);
      x[n] = {static_cast<double>(corner & 1), static_cast<double>(corner >> 1)};
      if (code < 4) continue;
      const auto other = static_cast<unsigned>(square_round[(code - 3) % 4]);
      const std::size_t axis = (corner ^ other) >> 1;
      // Measured from the lower end, as for the vertices of the mesh.
      x[n][axis] = crossing(v[std::min(corner, other)], v[std::max(corner, other)]);
    }
    double twice = 0;
    for (int a = 1; a + 1 < c.sizes[i]; ++a) {
      const Index n = a;
      twice += (x[n][0] - x[0][0]) * (x[n + 1][1] - x[0][1]) - (x[n][1] - x[0][1]) * (x[n + 1][0] - x[0][0]);
    }
    areas[i] = 0.5 * twice;
  }
  return areas;
}

}  // namespace detail

/// The crossing on an edge of a square with edge lengths `step`, from its lowest corner.
inline Vec<double, 2> square_crossing(const std::array<double, 4>& values, const std::array<double, 2>& step, int edge) {
  const auto a = static_cast<unsigned>(square_round[edge]);
  const auto b = static_cast<unsigned>(square_round[(edge + 1) % 4]);
  const unsigned low = std::min(a, b);
  const unsigned axis = (a ^ b) >> 1;
  Vec<double, 2> x{step[0] * (low & 1), step[1] * (low >> 1)};
  x[axis] = step[axis] * crossing(values[low], values[std::max(a, b)]);
  return x;
}

/// The crossings of a cube, in units of its edges, by their places in the `edges` of its case.
inline std::array<Vec<double, 3>, 12> cube_crossings(const CubeCase& c, const std::array<double, 8>& values) {
  std::array<Vec<double, 3>, 12> x;
  for (int i = 0; i < c.edge_count; ++i) {
    const CubeEdge& e = cube_edges[c.edges[i]];
    const auto low = static_cast<unsigned>(e.corner);
    Vec<double, 3>& p = x[i];
    p = {static_cast<double>(low & 1), static_cast<double>(low >> 1 & 1), static_cast<double>(low >> 2)};
    p[e.axis] = crossing(values[low], values[low | 1U << e.axis]);
  }
  return x;
}

/// Calls visit(piece, triangle) for the triangles of a cube with such crossings: of each loop those with the shortest chords.
template <class Visit>
void for_each_triangle(const CubeCase& c, const std::array<Vec<double, 3>, 12>& x, Visit&& visit) {
  constexpr double equal = 1e-9;  // chords that differ by rounding alone do not decide
  for (int l = 0; l < c.loop_count; ++l) {
    const CubeLoop& loop = c.loops[l];
    const LoopFill* best = loop.fills.data();
    if (loop.fills.size() > 1) {
      double least = std::numeric_limits<double>::infinity();
      for (const LoopFill& fill : loop.fills) {
        double sum = 0;
        for (int i = 0; i < fill.chord_count; ++i) sum += (x[fill.chords[i][1]] - x[fill.chords[i][0]]).squaredNorm();
        if (!(sum < least - equal)) continue;
        least = sum;
        best = &fill;
      }
    }
    for (int t = 0; t < best->triangle_count; ++t) visit(loop.piece, best->triangles[t]);
  }
}

/// `values` by corner (bit d of the number: upper along axis d); `step`: edge lengths, m.
inline CutCell<2> cut_cell(const std::array<double, 4>& values, const std::array<double, 2>& step) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < 4; ++i) mask |= static_cast<unsigned>(values[i] <= 0) << i;
  const SquareCase& c = square_cases()[mask];
  CutCell<2> cut;
  cut.pieces = c.polygon_count;
  const std::array<double, 2> areas = detail::polygon_areas(c, values);
  cut.fraction[0] = areas[0];
  cut.fraction[1] = areas[1];
  for (unsigned i = 0; i < 4; ++i)
    cut.corner_piece[i] =
        static_cast<std::int8_t>(!(mask >> i & 1) ? -1 : c.polygon_count == 2 && c.corner[1] == static_cast<int>(i));
  for (int s = 0; s < c.segment_count; ++s) {
    std::array<Vec<double, 2>, 2> x;
    for (std::size_t e = 0; e < 2; ++e) x[e] = square_crossing(values, step, c.segments[s][e]);
    cut.area += (x[1] - x[0]).norm();
  }
  return cut;
}

inline CutCell<3> cut_cell(const std::array<double, 8>& values, const std::array<double, 3>& step) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < 8; ++i) mask |= static_cast<unsigned>(values[i] <= 0) << i;
  const CubeCase& c = cube_cases()[mask];
  CutCell<3> cut;
  cut.pieces = c.pieces;
  cut.corner_piece = c.corner_piece;
  // The divergence theorem from corner 0: the three faces at it contribute nothing.
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned u = (axis + 1) % 3;
    const unsigned v = (axis + 2) % 3;
    std::array<double, 4> at;
    std::array<unsigned, 4> corner;
    unsigned face = 0;
    for (unsigned i = 0; i < 4; ++i) {
      corner[i] = 1U << axis | (i & 1) << u | (i >> 1) << v;
      at[i] = values[corner[i]];
      face |= (mask >> corner[i] & 1) << i;
    }
    if (!face) continue;
    const SquareCase& s = square_cases()[face];
    const std::array<double, 2> areas = detail::polygon_areas(s, at);
    for (int p = 0; p < s.polygon_count; ++p) {
      const Index i = p;
      cut.fraction[c.corner_piece[corner[s.corner[i]]]] += areas[i] / 3.0;
    }
  }
  const std::array<Vec<double, 3>, 12> x = cube_crossings(c, values);
  for_each_triangle(c, x, [&](std::int8_t piece, const std::array<std::int8_t, 3>& corner) {
    const Vec<double, 3>& p = x[corner[0]];
    const Vec<double, 3> a = x[corner[1]] - p;
    const Vec<double, 3> b = x[corner[2]] - p;
    const Vec<double, 3> twice = a.cross(b);
    cut.fraction[piece] += p.dot(twice) / 6.0;
    cut.area +=
        0.5 * Vec<double, 3>(twice[0] * step[1] * step[2], twice[1] * step[2] * step[0], twice[2] * step[0] * step[1]).norm();
  });
  return cut;
}

/// The cell whose lowest corner is sample `c` of a lattice.
template <class T, int D>
CutCell<D> cut_cell_at(const LevelSetLattice<T, D>& lattice, const Coord<D>& c) {
  std::array<double, D> step;
  for (int d = 0; d < D; ++d) step[d] = lattice.step(d, c[d]);
  return cut_cell(lattice.corners(c), step);
}

}  // namespace meniscus::surface
