/// Steps of the search for distances next to an interface: estimates along the axes, and closest points in batches.
#pragma once

#include "meniscus/surface/redistancing/closest_search.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Allowed excess, in cells, of the distance of a closest point over that of the crossing along an axis (linear interpolation).
inline constexpr double crossing_slack = 0.1;
/// Difference, in cells, up to which neighbours belong to one level set if one of them is continued. Continuations have slopes of
/// at most one; larger differences are jumps where those of two sides meet in a thin solid, and no surface.
inline constexpr double largest_continued_change = 1.5;
/// Part of the second differences that is added to a level set that is nearly the distance to a plane. Up to 1 / (2 D) the new
/// value is a mean of old ones with positive weights, so that errors do not grow; waves of two cells die out.
inline constexpr double flat_smoothing = 0.125;
/// Deviation of slopes from one up to which a level set counts as that of a plane.
inline constexpr double flat_slack = 2e-3;

template <class T, int D>
class InterfaceSearch {
 public:
  static constexpr int n = closest_lanes;

  InterfaceSearch(const grid::FieldView<const T, D>& phi, const StripGrid<D>& grid, double spacing)
      : phi_(phi), grid_(grid), scale_(1.0 / spacing) {
    for (int d = 0; d < D; ++d) offset_ += grid_.first[d] * phi_.strides[d];
  }

  /// The level set at a sample.
  const T* at(const Coord<D>& c) const { return phi_.origin + offset_ + dot<D>(c, phi_.strides); }
  /// Cells per length.
  double scale() const { return scale_; }
  double value(const Coord<D>& c) const { return static_cast<double>(*at(c)) * scale_; }

  /// Crossings and differences along the axes at a sample.
  struct Crossings {
    double nearest = infinite_distance;  ///< along any axis
    double combined = 0.0;               ///< 1 / d^2 = sum 1 / d_a^2
    double least = 0.0;              ///< what the distance may be; counts crossings beyond sides, where the slope leads to them
    std::array<double, D> gradient;  ///< central differences, one-sided where there is one neighbour
    double low = 0.0, high = 0.0;    ///< the range of |grad phi| that the one-sided differences leave open
    double bend = 0.0;               ///< sum of the second differences that involve no walls
    bool all_beside = true;          ///< no neighbour is hidden, or beyond a jump

    /// Whether phi is the distance to a plane as far as the neighbours tell, so that there is nothing to do. Beside walls and
    /// sides it is then left alone, for interpolants with continued or extrapolated samples amplify errors of round-off.
    bool flat() const { return low > 1.0 - flat_slack && high < 1.0 + flat_slack; }
  };

  template <class Visible>
  Crossings crossings(const Coord<D>& c, const Visible& visible) const {
    Crossings r;
    const double own = value(c);
    const bool outside = own > 0.0, own_continued = visible.continued(c);
    std::array<double, D> along, beyond;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      along[axis] = infinite_distance;
      std::array<double, 2> slope{};
      std::array<bool, 2> has{}, wall{true, true};
      for (int up = 0; up < 2; ++up) {
        Coord<D> q = c;
        q[axis] = grid_.neighbour(d, c[axis], up ? 1 : -1);
        if (q[axis] < 0) continue;
        if (!visible(q)) {
          r.all_beside = false;
          continue;
        }
        const double other = value(q);
        if (std::abs(other - own) > largest_continued_change && (own_continued || visible.continued(q))) {
          r.all_beside = false;
          continue;
        }
        has[up] = true;
        wall[up] = visible.continued(q);
        slope[up] = up ? other - own : own - other;
        if ((other > 0.0) != outside) along[axis] = std::min(along[axis], std::abs(own) / (std::abs(own) + std::abs(other)));
      }
      if (!has[0]) slope[0] = slope[1];
      if (!has[1]) slope[1] = slope[0];
      beyond[axis] = along[axis];
      if (has[0] != has[1] && (has[0] ? -slope[0] : slope[0]) * own > own * own)
        beyond[axis] = std::min(along[axis], std::abs(own / slope[0]));
      r.gradient[axis] = 0.5 * (slope[0] + slope[1]);
      if (!wall[0] && !wall[1]) r.bend += slope[1] - slope[0];
      const double a = std::abs(slope[0]), b = std::abs(slope[1]);
      if ((slope[0] > 0.0) == (slope[1] > 0.0)) r.low += std::min(a, b) * std::min(a, b);
      r.high += std::max(a, b) * std::max(a, b);
      r.nearest = std::min(r.nearest, along[axis]);
    }
    r.low = std::sqrt(r.low);
    r.high = std::sqrt(r.high);
    if (r.nearest > 0.0) {
      double sum = 0.0, sum_beyond = 0.0;
      for (const double a : along) sum += (r.nearest / a) * (r.nearest / a);
      for (const double a : beyond) sum_beyond += (r.nearest / a) * (r.nearest / a);
      r.combined = r.nearest / std::sqrt(sum);
      r.least = r.nearest / std::sqrt(sum_beyond * static_cast<double>(D));
    }
    return r;
  }

  /// The estimate where the surface is not smooth on the scale of the grid.
  static double kinked_distance(double own, const Crossings& r) {
    const double slope = std::clamp(1.0, r.low, std::max(r.low, r.high));
    return std::clamp(std::abs(own) / slope, r.least, r.nearest);
  }

  /// The estimate for the distance to a plane, beside walls and sides.
  static double flat_distance(double own, const Crossings& r) { return std::abs(own + flat_smoothing * r.bend); }

  /// The first step of Newton's method towards the surface, from the sample itself (cells).
  std::array<double, D> first_step(const Coord<D>& c, const Crossings& r) const {
    const double own = value(c), slope = norm(r.gradient);
    const double reach = std::copysign(std::min(std::abs(own) / slope, 1.2) / slope, own);
    std::array<double, D> step;
    for (std::size_t d = 0; d < D; ++d) step[d] = -reach * r.gradient[d];
    return step;
  }

  /// Samples whose closest points are wanted, and where their distances go.
  struct Batch : ClosestBatch<D> {
    std::array<T*, n> target;
  };

  /// The search for a sample beside a change of sign.
  void add(Batch& batch, const Coord<D>& c, const Crossings& r, T* target) const {
    const Index i = batch.count++;
    batch.sample[i] = c;
    batch.start[i] = first_step(c, r);
    batch.slope[i] = r.all_beside ? norm(r.gradient) : 0.0;
    batch.low[i] = r.least - crossing_slack;
    batch.high[i] = r.nearest + crossing_slack;
    batch.otherwise[i] = kinked_distance(value(c), r);
    batch.blocked[i] = r.flat() ? flat_distance(value(c), r) : batch.otherwise[i];
    batch.flat[i] = r.flat();
    batch.target[i] = target;
  }

  /// Writes the final distances of a batch, and empties it.
  template <class Visible>
  void closest_points(Batch& batch, const Visible& visible) const {
    struct Source {
      const InterfaceSearch* search;
      const Visible* visible;
    } source{this, &visible};
    std::array<double, n> distance;
    search_closest<D>(
        batch, grid_,
        [](const void* from, const Coord<D>& sample, bool flat, unsigned tied, Coord<D>& cell, int l,
           CubicStencils<D>& stencils) {
          const auto& s = *static_cast<const Source*>(from);
          if (tied) s.search->choose_cell(sample, tied, cell, *s.visible);
          return s.search->gather(sample, flat, cell, l, stencils, *s.visible);
        },
        &source, distance);
    for (int l = 0; l < batch.count; ++l) {
      const Index i = l;
      if (distance[i] >= 0.0) *batch.target[i] = -static_cast<T>(distance[i]);
    }
    batch.count = 0;
  }

  static double norm(const std::array<double, D>& v) {
    double s = 0.0;
    for (const double a : v) s += a * a;
    return std::sqrt(s);
  }

 private:
  /// Of two cells on both sides of a plane of samples, the one whose far samples are smoother, so that a surface and its mirror
  /// image are searched alike beside kinks.
  template <class Visible>
  void choose_cell(const Coord<D>& sample, unsigned tied, Coord<D>& cell, const Visible& visible) const {
    const Coord<D> upper = cell;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      if (!(tied >> d & 1)) continue;
      const Index lower = grid_.nearest_cell(d, sample[axis], upper[axis] - 1);
      if (lower == upper[axis]) continue;
      // The largest second differences one sample below and above the plane, in the rows around the cell.
      std::array<double, 2> largest{};
      constexpr int rows = D == 3 ? 16 : 4;
      for (int row = 0; row < rows; ++row) {
        Coord<D> at = sample;
        bool inside = true;
        for (int e = 0, rest = row; e < D; ++e) {
          const Index other = e;
          if (e == d) continue;
          inside &= !(tied >> e & 1) || rest % 4 < 3;
          at[other] = grid_.nearest(e, sample[other] + upper[other] - 1 + rest % 4);
          rest /= 4;
        }
        if (!inside) continue;
        std::array<double, 5> v;
        bool seen = true;
        for (int k = 0; k < 5; ++k) {
          at[axis] = grid_.nearest(d, sample[axis] + upper[axis] - 2 + k);
          seen &= visible(at);
          v[k] = value(at);
        }
        const std::array<double, 2> bend{v[0] - 2.0 * v[1] + v[2], v[2] - 2.0 * v[3] + v[4]};
        for (std::size_t side = 0; side < 2; ++side) largest[side] = std::max(largest[side], seen ? std::abs(bend[side]) : 0.0);
      }
      if (largest[0] < largest[1] - cell_tie) cell[axis] = lower;
    }
  }

  /// Fills lane l with the samples around a cell; false where one of them is hidden or, beside a flat surface and unless the
  /// sample itself is, continued. Samples beyond a side are extrapolated.
  template <class Visible>
  bool gather(const Coord<D>& sample, bool flat, const Coord<D>& cell, int l, CubicStencils<D>& stencils,
              const Visible& visible) const {
    Coord<D> base;
    bool inside = true;
    for (std::size_t d = 0; d < D; ++d) {
      base[d] = sample[d] + cell[d] - 1;
      inside &= base[d] >= grid_.window.begin[d] && base[d] + 3 < grid_.window.end[d];
    }
    const bool by_continued = !flat || visible.continued(sample);
    if (inside) {
      const T* from = at(base);
      int i = 0;
      for (int a = 0; a < (D == 3 ? 4 : 1); ++a)
        for (int b = 0; b < 4; ++b) {
          const T* row = from + b * phi_.strides[D - 2];
          Coord<D> first = base;
          first[D - 2] += b;
          if constexpr (D == 3) {
            row += a * phi_.strides[0];
            first[0] += a;
          }
          if (!visible.all_usable(first, 4, by_continued)) return false;
          for (int c = 0; c < 4; ++c) stencils.value[i++][l] = static_cast<double>(row[c]) * scale_;
        }
      return true;
    }
    std::array<std::array<Index, 4>, D> index;
    for (std::size_t d = 0; d < D; ++d)
      for (int k = 0; k < 4; ++k) index[d][k] = grid_.nearest(static_cast<int>(d), base[d] + k);
    for (int i = 0; i < CubicStencils<D>::size; ++i) {
      Coord<D> c;
      int rest = i;
      for (std::size_t d = D; d-- > 0; rest /= 4) c[d] = index[d][rest % 4];
      if (!visible(c) || (!by_continued && visible.continued(c))) return false;
      stencils.value[i][l] = value(c);
    }
    // Axis by axis, the samples that a side cuts off follow the parabola (or line) through those that are there.
    int stride = 1;
    for (std::size_t d = D; d-- > 0; stride *= 4) {
      const bool low = grid_.below(static_cast<int>(d), base[d]), high = grid_.above(static_cast<int>(d), base[d] + 3);
      if (grid_.count[d] < 2 || (!low && !high)) continue;
      for (int i = 0; i < CubicStencils<D>::size; ++i) {
        if ((i / stride & 3) != 0) continue;
        const auto v = [&](int k) -> double& { return stencils.value[i + k * stride][l]; };
        if (low && high) {
          v(0) = 2.0 * v(1) - v(2);
          v(3) = 2.0 * v(2) - v(1);
        } else if (low) {
          v(0) = 3.0 * (v(1) - v(2)) + v(3);
        } else {
          v(3) = 3.0 * (v(2) - v(1)) + v(0);
        }
      }
    }
    return true;
  }

  grid::FieldView<const T, D> phi_;
  const StripGrid<D>& grid_;
  double scale_;
  Index offset_ = 0;
};

/// Whether a sample may be used, by coordinates.
template <int D, class Visibility>
struct VisibleAt {
  const Visibility& visibility;
  const StripGrid<D>& grid;

  bool operator()(const Coord<D>& c) const {
    if constexpr (Visibility::all_visible) return true;
    return !visibility.hidden(grid.sample(c));
  }
  bool continued(const Coord<D>& c) const {
    if constexpr (Visibility::all_visible) return false;
    return visibility.continued(grid.sample(c));
  }
  /// Whether all of some neighbouring samples along the last axis may be used for a sample that is continued or not.
  bool all_usable(const Coord<D>& first, int count, bool by_continued) const {
    if constexpr (Visibility::all_visible) return true;
    const Index sample = grid.sample(first);
    bool usable = true;
    for (int k = 0; k < count; ++k)
      usable &= !visibility.hidden(sample + k) && (by_continued || !visibility.continued(sample + k));
    return usable;
  }
};

}  // namespace meniscus::surface
