/// Steps of the search for distances next to an interface: estimates along the axes, and closest points in batches.
#pragma once

#include "meniscus/surface/redistancing/closest_search.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Allowed excess, in cells, of the distance of a closest point over that of the crossing along an axis (linear interpolation).
inline constexpr double crossing_slack = 0.1;

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
  double value(const Coord<D>& c) const { return static_cast<double>(*at(c)) * scale_; }

  /// Crossings and differences along the axes at a sample.
  struct Crossings {
    double nearest = infinite_distance;  ///< along any axis
    double combined = 0.0;               ///< 1 / d^2 = sum 1 / d_a^2
    std::array<double, D> gradient;      ///< central differences, one-sided where there is one neighbour
    double low = 0.0, high = 0.0;        ///< the range of |grad phi| that the one-sided differences leave open
    bool all_beside = true;              ///< no neighbour is hidden
  };

  template <class Visible>
  Crossings crossings(const Coord<D>& c, const Visible& visible) const {
    Crossings r;
    const double own = value(c);
    const bool outside = own > 0.0;
    std::array<double, D> along;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      along[axis] = infinite_distance;
      std::array<double, 2> slope{};
      std::array<bool, 2> has{};
      for (int up = 0; up < 2; ++up) {
        Coord<D> q = c;
        q[axis] = grid_.neighbour(d, c[axis], up ? 1 : -1);
        if (q[axis] < 0) continue;
        if (!visible(q)) {
          r.all_beside = false;
          continue;
        }
        const double other = value(q);
        has[static_cast<std::size_t>(up)] = true;
        slope[static_cast<std::size_t>(up)] = up ? other - own : own - other;
        if ((other > 0.0) != outside) along[axis] = std::min(along[axis], std::abs(own) / (std::abs(own) + std::abs(other)));
      }
      if (!has[0]) slope[0] = slope[1];
      if (!has[1]) slope[1] = slope[0];
      r.gradient[axis] = 0.5 * (slope[0] + slope[1]);
      const double a = std::abs(slope[0]), b = std::abs(slope[1]);
      if ((slope[0] > 0.0) == (slope[1] > 0.0)) r.low += std::min(a, b) * std::min(a, b);
      r.high += std::max(a, b) * std::max(a, b);
      r.nearest = std::min(r.nearest, along[axis]);
    }
    r.low = std::sqrt(r.low);
    r.high = std::sqrt(r.high);
    if (r.nearest > 0.0) {
      double sum = 0.0;
      for (const double a : along) sum += (r.nearest / a) * (r.nearest / a);
      r.combined = r.nearest / std::sqrt(sum);
    }
    return r;
  }

  /// The estimate where the surface is not smooth on the scale of the grid.
  static double kinked_distance(double own, const Crossings& r) {
    const double slope = std::clamp(1.0, r.low, std::max(r.low, r.high));
    return std::clamp(std::abs(own) / slope, r.combined / std::sqrt(static_cast<double>(D)), r.nearest);
  }

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
    const auto i = static_cast<std::size_t>(batch.count++);
    const double least = r.combined / std::sqrt(static_cast<double>(D));
    batch.sample[i] = c;
    batch.start[i] = first_step(c, r);
    batch.slope[i] = r.all_beside ? norm(r.gradient) : 0.0;
    batch.low[i] = least - crossing_slack;
    batch.high[i] = r.nearest + crossing_slack;
    batch.otherwise[i] = kinked_distance(value(c), r);
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
        [](const void* from, const Coord<D>& sample, const Coord<D>& cell, int l, CubicStencils<D>& stencils) {
          const auto& s = *static_cast<const Source*>(from);
          return s.search->gather(sample, cell, l, stencils, *s.visible);
        },
        &source, distance);
    for (int l = 0; l < batch.count; ++l) {
      const auto i = static_cast<std::size_t>(l);
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
  /// Fills lane l with the samples around a cell; false where one of them is hidden. Samples beyond a side are extrapolated.
  template <class Visible>
  bool gather(const Coord<D>& sample, const Coord<D>& cell, int l, CubicStencils<D>& stencils, const Visible& visible) const {
    Coord<D> base;
    bool inside = true;
    for (std::size_t d = 0; d < D; ++d) {
      base[d] = sample[d] + cell[d] - 1;
      inside &= base[d] >= grid_.window.begin[d] && base[d] + 3 < grid_.window.end[d];
    }
    if (inside && visible.everywhere()) {
      const T* from = at(base);
      int i = 0;
      for (int a = 0; a < (D == 3 ? 4 : 1); ++a)
        for (int b = 0; b < 4; ++b) {
          const T* row = from + b * phi_.strides[D - 2];
          if constexpr (D == 3) row += a * phi_.strides[0];
          for (int c = 0; c < 4; ++c) stencils.value[i++][l] = static_cast<double>(row[c]) * scale_;
        }
      return true;
    }
    std::array<std::array<Index, 4>, D> index;
    for (std::size_t d = 0; d < D; ++d)
      for (int k = 0; k < 4; ++k) index[d][static_cast<std::size_t>(k)] = grid_.nearest(static_cast<int>(d), base[d] + k);
    for (int i = 0; i < CubicStencils<D>::size; ++i) {
      Coord<D> c;
      int rest = i;
      for (std::size_t d = D; d-- > 0; rest /= 4) c[d] = index[d][static_cast<std::size_t>(rest % 4)];
      if (!visible(c)) return false;
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

  static constexpr bool everywhere() { return Visibility::all_visible; }
  bool operator()(const Coord<D>& c) const {
    if constexpr (Visibility::all_visible) return true;
    return !visibility.hidden(grid.sample(c));
  }
};

}  // namespace meniscus::surface
