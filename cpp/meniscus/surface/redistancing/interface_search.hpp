/// Steps of the search for distances next to an interface: estimates along the axes, and closest points in batches.
#pragma once

#include "meniscus/surface/redistancing/cubic_closest_point.hpp"
#include "meniscus/surface/redistancing/distance_strips.hpp"

namespace meniscus::surface {

/// Above this second difference, in units of the slope, samples count as kinked: a circle of radius R cells has 1 / R.
inline constexpr double kink = 0.3;
/// Range of the search around the sample, in cells.
inline constexpr double farthest_closest = 3.0;
/// Newton steps shorter than this many cells end the search; the distance then is off by less than the square of it.
inline constexpr double closest_tolerance = 1e-3;
inline constexpr int most_closest_steps = 12;
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

  const T* at(const Coord<D>& c) const { return phi_.origin + offset_ + dot<D>(c, phi_.strides); }
  double value(const Coord<D>& c) const { return static_cast<double>(*at(c)) * scale_; }

  /// Crossings and differences along the axes at a sample.
  struct Crossings {
    double nearest = far_away;       ///< along any axis
    double combined = 0.0;           ///< 1 / d^2 = sum 1 / d_a^2
    std::array<double, D> gradient;  ///< central differences, one-sided where there is one neighbour
    double low = 0.0, high = 0.0;    ///< the range of |grad phi| that the one-sided differences leave open
    bool all_beside = true;          ///< no neighbour is hidden
  };

  template <class Visible>
  Crossings crossings(const Coord<D>& c, const Visible& visible) const {
    Crossings r;
    const double own = value(c);
    const bool outside = own > 0.0;
    std::array<double, D> along;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      along[axis] = far_away;
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

  /// Samples whose closest points are wanted.
  struct Batch {
    int count = 0;
    std::array<Coord<D>, n> sample;
    std::array<std::array<double, D>, n> start;  ///< where the search begins, relative to the sample, in cells
    std::array<double, n> slope;                 ///< |grad phi|, which tells kinks from curves
    std::array<double, n> low, high;             ///< what the distance may be
    std::array<double, n> otherwise;             ///< the distance where the search fails; negative: nothing is written
    std::array<T*, n> target;

    bool full() const { return count == n; }
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
    simd_dispatch([&] { find_closest(batch, visible); });
    batch.count = 0;
  }

  static double norm(const std::array<double, D>& v) {
    double s = 0.0;
    for (const double a : v) s += a * a;
    return std::sqrt(s);
  }

 private:
  template <class Visible>
  MENISCUS_INLINE void find_closest(const Batch& batch, const Visible& visible) const {
    alignas(64) double x[D][n], t[D][n], p[n], g[D][n], bend[n];
    std::array<Coord<D>, n> cell;
    CubicStencils<D> stencils;
    enum State : int { searching, found, failed };
    std::array<int, n> state;
    for (int l = 0; l < n; ++l) {
      const auto i = static_cast<std::size_t>(l);
      state[i] = l < batch.count && batch.slope[i] > 0.0 ? searching : failed;
      if (state[i] == failed) continue;
      for (std::size_t d = 0; d < D; ++d) {
        x[d][l] = batch.start[i][d];
        // Also false where a sample is not finite, which is reported later.
        if (!(std::abs(x[d][l]) <= farthest_closest)) state[i] = failed;
      }
      if (state[i] == searching && !gather(batch.sample[i], x, l, cell[i], stencils, visible)) state[i] = failed;
    }
    for (int l = 0; l < n; ++l) {
      if (state[static_cast<std::size_t>(l)] != failed) continue;
      for (int i = 0; i < CubicStencils<D>::size; ++i) stencils.value[i][l] = 0.0;
      for (int d = 0; d < D; ++d) x[d][l] = 0.0;
      cell[static_cast<std::size_t>(l)] = Coord<D>{};
    }
    largest_second_difference<D>(stencils, bend);
    for (int l = 0; l < n; ++l) {
      const auto i = static_cast<std::size_t>(l);
      if (state[i] == searching && !(bend[l] <= kink * batch.slope[i])) state[i] = failed;
    }
    for (int step = 0; step < most_closest_steps; ++step) {
      bool any = false;
      for (const int s : state) any |= s == searching;
      if (!any) break;
      for (int d = 0; d < D; ++d)
        for (int l = 0; l < n; ++l)
          t[d][l] = x[d][l] - static_cast<double>(cell[static_cast<std::size_t>(l)][static_cast<std::size_t>(d)]);
      evaluate_cubics<D>(stencils, t, p, g);
      // Step onto the surface, and along it towards the sample, which is at 0.
      alignas(64) double square[n] = {}, along[n] = {}, moved[n] = {}, length[n] = {}, to[D][n];
      for (int d = 0; d < D; ++d)
        for (int l = 0; l < n; ++l) {
          square[l] += g[d][l] * g[d][l];
          along[l] += x[d][l] * g[d][l];
        }
      for (int d = 0; d < D; ++d)
        for (int l = 0; l < n; ++l) {
          to[d][l] = (along[l] - p[l]) / square[l] * g[d][l];
          moved[l] += (to[d][l] - x[d][l]) * (to[d][l] - x[d][l]);
          length[l] += to[d][l] * to[d][l];
        }
      std::array<bool, n> entered{};  // another cell
      for (int l = 0; l < n; ++l) {
        const auto i = static_cast<std::size_t>(l);
        if (state[i] != searching) continue;
        for (int d = 0; d < D; ++d) x[d][l] = to[d][l];
        // Also false where there is no slope.
        if (!(length[l] <= farthest_closest * farthest_closest)) {
          state[i] = failed;
        } else if (moved[l] <= closest_tolerance * closest_tolerance) {
          state[i] = found;
        } else {
          if (leaves(cell[i], x, l) && cell_of(batch.sample[i], x, l) != cell[i]) {
            if (!gather(batch.sample[i], x, l, cell[i], stencils, visible)) {
              state[i] = failed;
              continue;
            }
            entered[i] = true;
          }
        }
      }
      bool check = false;
      for (const bool e : entered) check |= e;
      if (!check) continue;
      largest_second_difference<D>(stencils, bend);
      for (int l = 0; l < n; ++l) {
        const auto i = static_cast<std::size_t>(l);
        if (entered[i] && !(bend[l] <= kink * batch.slope[i])) state[i] = failed;
      }
    }
    for (int l = 0; l < batch.count; ++l) {
      const auto i = static_cast<std::size_t>(l);
      double d = 0.0;
      for (int e = 0; e < D; ++e) d += x[e][l] * x[e][l];
      d = std::sqrt(d);
      if (state[i] != found || !(d >= batch.low[i]) || !(d <= batch.high[i])) d = batch.otherwise[i];
      if (d >= 0.0) *batch.target[i] = -static_cast<T>(d);
    }
  }

  /// Whether x is outside of a cell by more than a margin, so that it does not alternate between neighbouring cells.
  static bool leaves(const Coord<D>& cell, const double (*x)[n], int l) {
    bool outside = false;
    for (std::size_t d = 0; d < D; ++d) outside |= std::abs(x[d][l] - static_cast<double>(cell[d]) - 0.5) > 0.52;
    return outside;
  }

  /// The cell that holds x (cells, relative to the sample), by its lowest corner relative to the sample. Beyond a side, the
  /// nearest cell.
  Coord<D> cell_of(const Coord<D>& sample, const double (*x)[n], int l) const {
    Coord<D> c;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      Index i = static_cast<Index>(std::floor(x[d][l]));
      if (!grid_.periodic[axis])
        i = std::clamp<Index>(i, -sample[axis], std::max<Index>(grid_.count[axis] - 2 - sample[axis], -sample[axis]));
      c[axis] = i;
    }
    return c;
  }

  /// Fills lane l with the samples around x; false where one of them is hidden. Samples beyond a side are extrapolated.
  template <class Visible>
  bool gather(const Coord<D>& sample, const double (*x)[n], int l, Coord<D>& cell, CubicStencils<D>& stencils,
              const Visible& visible) const {
    cell = cell_of(sample, x, l);
    Coord<D> base;
    bool inside = true;
    for (std::size_t d = 0; d < D; ++d) {
      base[d] = sample[d] + cell[d] - 1;
      inside &= base[d] >= 0 && base[d] + 3 < grid_.count[d];
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
      for (int k = 0; k < 4; ++k) {
        Index i = base[d] + k;
        if (grid_.periodic[d]) i = ((i % grid_.count[d]) + grid_.count[d]) % grid_.count[d];
        index[d][static_cast<std::size_t>(k)] = std::clamp<Index>(i, 0, grid_.count[d] - 1);
      }
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
      if (grid_.periodic[d]) continue;
      const bool low = base[d] < 0, high = base[d] + 3 >= grid_.count[d];
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
  Coord<D> extents;

  static constexpr bool everywhere() { return Visibility::all_visible; }
  bool operator()(const Coord<D>& c) const {
    if constexpr (Visibility::all_visible) return true;
    Index n = 0;
    for (int d = 0; d < D; ++d) n = n * extents[d] + c[d] + grid.first[d];
    return !visibility.hidden(n);
  }
};

}  // namespace meniscus::surface
