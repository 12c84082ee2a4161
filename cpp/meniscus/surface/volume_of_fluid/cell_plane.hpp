/// The plane that stands for a surface in one cell: where it lies for a given volume below it, the volume below it in a part of
/// the cell, and its normal from the volumes around. Lengths are in cells, the cell is [0, 1]^D.
///
/// Sources: Scardovelli and Zaleski 2000, J. Comput. Phys. 164 (volumes and planes); Aulisa, Manservisi, Scardovelli and Zaleski
/// 2007, J. Comput. Phys. 225 (mixed Youngs and centred columns).
#pragma once

#include "meniscus/surface/volume_of_fluid/clipped_box.hpp"

#include <algorithm>

namespace meniscus::surface {
namespace cell_plane {

/// Positive components in rising order that add up to 1; those that are only rounding count as none.
template <int D>
struct Slopes {
  static constexpr double smallest = 1e-15;
  std::array<double, D> m;

  explicit Slopes(const std::array<double, D>& normal) {
    double sum = 0;
    for (int d = 0; d < D; ++d) sum += m[d] = std::abs(normal[d]);
    for (double& x : m) x = x < smallest * sum ? 0.0 : x / sum;
    std::sort(m.begin(), m.end());
  }
};

/// The part of the cell where m . x <= a, for a up to half of the sum of the slopes.
inline double lower_part(const Slopes<2>& s, double a) {
  const auto& m = s.m;
  return a < m[0] ? a * a / (2 * m[0] * m[1]) : (a - 0.5 * m[0]) / m[1];
}

inline double lower_part(const Slopes<3>& s, double a) {
  const auto& m = s.m;
  if (a < m[0]) return a * a * a / (6 * m[0] * m[1] * m[2]);
  if (a < m[1]) return (a * (a - m[0]) + m[0] * m[0] / 3) / (2 * m[1] * m[2]);
  const double both = m[0] + m[1];
  if (a >= both && both <= m[2]) return (a - 0.5 * both) / m[2];
  // The formula before, without what reaches beyond the faces across the other axes: less than the smallest slope.
  const auto cube = [](double x) { return x > 0 ? x * x * x : 0.0; };
  return ((a * (a - m[0]) + m[0] * m[0] / 3) - (cube(a - m[1]) + cube(a - m[2])) / (3 * m[0])) / (2 * m[1] * m[2]);
}

template <int D>
double part_below(const Slopes<D>& s, double a) {
  if (a <= 0) return 0;
  if (a >= 1) return 1;
  return a <= 0.5 ? lower_part(s, a) : 1 - lower_part(s, 1 - a);
}

/// The part of the cell that is up to `depth` above its lowest corner, by the rises of a plane across the cell.
template <int D>
double part_of_depth(const std::array<double, D>& rise, double depth) {
  double sum = 0;
  for (const double r : rise) sum += std::abs(r);
  if (!(sum > 0)) return depth >= 0 ? 1 : 0;
  if (depth <= 0) return 0;
  if (depth >= sum) return 1;
  return part_below<D>(Slopes<D>(rise), depth / sum);
}

/// The offset below which a given part of the cell lies, by Newton steps within a bracket: the part rises with the offset and is
/// convex up to a half.
template <int D>
double offset_of(const Slopes<D>& s, double part) {
  const bool other = part > 0.5;
  const double target = other ? 1 - part : part;
  double low = 0, high = 0.5, a = std::min(0.5, target);
  if (D == 3 && s.m[0] > 0) a = std::min(0.5, std::cbrt(6 * s.m[0] * s.m[1] * s.m[D - 1] * target));
  for (int i = 0; i < 60; ++i) {
    const double error = lower_part(s, a) - target;
    (error > 0 ? high : low) = a;
    if (std::abs(error) <= 1e-16 || high - low <= 1e-17) break;
    // The slope of a part is the area of the plane in the cell, here by a difference that need not be exact.
    const double step = std::max(1e-7, 1e-3 * a);
    const double rise = (lower_part(s, std::min(0.5, a + step)) - lower_part(s, a)) / (std::min(0.5, a + step) - a);
    const double next = rise > 0 ? a - error / rise : low;
    a = next > low && next < high ? next : 0.5 * (low + high);
  }
  return other ? 1 - a : a;
}

}  // namespace cell_plane

/// The half-space with the given outward normal below which a part of the cell lies. The normal's components add up to 1 in
/// magnitude.
template <int D>
HalfSpace<D> plane_of_part(std::array<double, D> normal, double part) {
  double sum = 0;
  for (const double n : normal) sum += std::abs(n);
  HalfSpace<D> half;
  double shift = 0;
  for (int d = 0; d < D; ++d) {
    half.normal[d] = normal[d] / sum;
    shift += std::min(0.0, half.normal[d]);
  }
  half.offset = cell_plane::offset_of<D>(cell_plane::Slopes<D>(half.normal), part) + shift;
  return half;
}

/// The part of the box [low, high] that lies in a half-space.
template <int D>
double part_in_box(const HalfSpace<D>& half, const std::array<double, D>& low, const std::array<double, D>& high) {
  std::array<double, D> rise;
  double depth = half.offset;
  for (int d = 0; d < D; ++d) {
    rise[d] = half.normal[d] * (high[d] - low[d]);
    depth -= half.normal[d] * (half.normal[d] < 0 ? high[d] : low[d]);
  }
  return cell_plane::part_of_depth<D>(rise, depth);
}

/// The part of the unit box around the origin in which value + gradient . x <= 0.
template <int D>
double box_fraction(double value, const std::array<double, D>& gradient) {
  double reach = 0;
  for (const double g : gradient) reach += 0.5 * std::abs(g);
  return cell_plane::part_of_depth<D>(gradient, reach - value);
}

/// Normal out of the liquid at a cell, from the fractions of the cells around it: `at(offset)` for offsets of up to 2 an axis.
/// Zero where the fractions have no slope.
///
/// Heights of columns of five cells along the axis closest to the normal, where all of these columns begin in liquid and end in
/// air: second order. Otherwise those of three cells, or Youngs' differences where they are less steep (Aulisa et al. 2007): the
/// columns are right for surfaces along an axis, Youngs' for others.
template <int D, class At>
std::array<double, D> fraction_normal(const At& at) {
  constexpr int count = D == 2 ? 9 : 27;
  constexpr std::array<int, 3> stride{1, 3, 9};
  const auto offset_of = [](int i) {
    Coord<D> o;
    for (int d = 0; d < D; ++d, i /= 3) o[d] = i % 3 - 1;
    return o;
  };
  const auto normalised = [](std::array<double, D>& n) {
    double sum = 0;
    for (const double x : n) sum += std::abs(x);
    if (sum > 0)
      for (double& x : n) x /= sum;
    return sum > 0;
  };
  std::array<double, count> c;
  for (int i = 0; i < count; ++i) c[i] = at(offset_of(i));
  std::array<double, D> youngs{};
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < D; ++d) {
      int weight = 1;
      for (int e = 0, rest = i; e < D; ++e, rest /= 3)
        if (e != d && rest % 3 == 1) weight *= 2;
      youngs[d] -= weight * (i / stride[d] % 3 - 1) * c[i];
    }
  if (!normalised(youngs)) return youngs;
  int main = 0;
  for (int d = 1; d < D; ++d)
    if (std::abs(youngs[d]) > std::abs(youngs[main])) main = d;

  const auto from_heights = [&](int axis, const auto& height) {
    std::array<double, D> n{};
    n[axis] = youngs[axis] < 0 ? -1 : 1;
    for (int e = 0; e < D; ++e)
      if (e != axis) n[e] = -0.5 * (height(e, 1) - height(e, -1));
    normalised(n);
    return n;
  };
  bool whole = true;
  const auto long_height = [&](int e, int side) {
    Coord<D> o{};
    o[e] = side;
    o[main] = youngs[main] < 0 ? 2 : -2;
    const double bottom = at(o);
    o[main] = -o[main];
    const double top = at(o);
    whole &= bottom >= 1 - 1e-9 && top <= 1e-9;
    double sum = bottom + top;
    for (o[main] = -1; o[main] <= 1; ++o[main]) sum += at(o);
    return sum;
  };
  const std::array<double, D> steady = from_heights(main, long_height);
  if (whole) return steady;

  std::array<double, D> columns{};
  int axis = -1;
  for (int d = 0; d < D; ++d) {
    const std::array<double, D> n = from_heights(d, [&](int e, int side) {
      const int base = (count - 1) / 2 + side * stride[e];
      return c[base - stride[d]] + c[base] + c[base + stride[d]];
    });
    if (axis < 0 || std::abs(n[d]) > std::abs(columns[axis])) {
      columns = n;
      axis = d;
    }
  }
  return std::abs(columns[axis]) > std::abs(youngs[main]) ? youngs : columns;
}

}  // namespace meniscus::surface
