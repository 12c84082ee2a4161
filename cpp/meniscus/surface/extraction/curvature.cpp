#include "meniscus/surface/extraction/curvature.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/box_exchange.hpp"
#include "meniscus/surface/extraction/curvature_stencil.hpp"
#include "meniscus/surface/redistancing/zero_crossings.hpp"

#include <cmath>
#include <optional>

namespace meniscus::surface {
namespace {

/// Weights of five columns at -2 to 2 for the value and derivatives at one place of the quartic through them.
struct ColumnWeights {
  std::array<double, 5> value, first, second;
};

ColumnWeights column_weights(double x) {
  ColumnWeights w;
  for (int i = 0; i < 5; ++i) {
    // Coefficients of the polynomial that is 1 at column i and 0 at the others.
    std::array<double, 5> c{1.0};
    int degree = 0;
    for (int j = 0; j < 5; ++j) {
      if (j == i) continue;
      const double root = j - 2;
      const double scale = 1.0 / (i - j);
      ++degree;
      for (int k = degree; k >= 0; --k) {
        const Index n = k;
        c[n] = scale * ((k > 0 ? c[n - 1] : 0.0) - root * (k < degree ? c[n] : 0.0));
      }
    }
    const Index n = i;
    w.value[n] = (((c[4] * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0];
    w.first[n] = ((4 * c[4] * x + 3 * c[3]) * x + 2 * c[2]) * x + c[1];
    w.second[n] = (12 * c[4] * x + 6 * c[3]) * x + 2 * c[2];
  }
  return w;
}

/// The surface as heights over the plane across one axis.
template <class T, int D>
class Columns {
 public:
  explicit Columns(const grid::FieldView<const T, D>& phi) : phi_(phi) {
    for (std::size_t d = 0; d < D; ++d) {
      begin_[d] = -grid::ghost_width;
      end_[d] = phi.extents[d] + grid::ghost_width;
    }
  }
  /// Samples begin to end - 1 are stored, counted from the first of the block.
  Columns(const T* first, const Coord<D>& begin, const Coord<D>& end) : begin_(begin), end_(end) {
    for (std::size_t d = 0; d < D; ++d) phi_.extents[d] = end[d] - begin[d];
    phi_.strides = c_strides<D>(phi_.extents);
    phi_.origin = first - dot<D>(begin, phi_.strides);
  }

  /// Curvature times the spacing at the point of the surface closest to sample `at`, if the heights around it are known.
  std::optional<double> curvature(const Coord<D>& at) const {
    int axis = 0;
    double steepest = -1;
    double rising = 0;
    for (int d = 0; d < D; ++d) {
      const double slope = value(at, d, 1) - value(at, d, -1);
      // An axis has to be clearly steeper than one before it, so that rounding does not choose between equals.
      if (std::abs(slope) > steepest * (1 + 1e-9)) {
        axis = d;
        steepest = std::abs(slope);
        rising = slope;
      }
    }
    // Beside the surface samples are at most a spacing away from it along this axis, as far as the slope tells.
    if (!(std::abs(static_cast<double>(*phi_.at(at))) <= 0.75 * steepest)) return {};
    const double sign = rising > 0 ? 1.0 : -1.0;
    Heights h{};
    if (!fill<1>(at, axis, sign, h)) return {};
    const double here = h[2][D == 2 ? 0 : 2];
    if (!fill<2>(at, axis, sign, h)) {
      constexpr ColumnWeights narrow{{0, 0, 1, 0, 0}, {0, -0.5, 0, 0.5, 0}, {0, 1, -2, 1, 0}};
      return bending_of(h, sign, narrow, narrow);
    }
    // The closest point of the surface, as far as its slope tells.
    const ColumnWeights at_column = column_weights(0.0);
    const Slopes slope = slopes(h, at_column, at_column);
    const double part = -here / (1 + slope.x * slope.x + slope.y * slope.y);
    return bending_of(h, sign, column_weights(std::clamp(part * slope.x, -1.0, 1.0)),
                      column_weights(std::clamp(part * slope.y, -1.0, 1.0)));
  }

 private:
  static constexpr Index reach = 3;
  static constexpr double steepest_outer = D == 2 ? 1.4 : 4.0;
  static constexpr int rows_across = D == 2 ? 1 : 5;
  using Heights = std::array<std::array<double, rows_across>, 5>;

  struct Slopes {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  };

  /// Derivatives of the interpolant of the heights.
  static Slopes slopes(const Heights& h, const ColumnWeights& x, const ColumnWeights& y) {
    Slopes s;
    for (std::size_t i = 0; i < 5; ++i) {
      if constexpr (D == 2) {
        s.x += x.first[i] * h[i][0];
        s.xx += x.second[i] * h[i][0];
      } else {
        for (std::size_t j = 0; j < 5; ++j) {
          s.x += x.first[i] * y.value[j] * h[i][j];
          s.y += x.value[i] * y.first[j] * h[i][j];
          s.xx += x.second[i] * y.value[j] * h[i][j];
          s.yy += x.value[i] * y.second[j] * h[i][j];
          s.xy += x.first[i] * y.first[j] * h[i][j];
        }
      }
    }
    return s;
  }

  static double bending_of(const Heights& h, double sign, const ColumnWeights& x, const ColumnWeights& y) {
    const Slopes s = slopes(h, x, y);
    const double length = 1 + s.x * s.x + s.y * s.y;
    return -sign * (((1 + s.y * s.y) * s.xx + (1 + s.x * s.x) * s.yy) - 2 * s.x * s.y * s.xy) / (length * std::sqrt(length));
  }

  /// The heights of the columns `ring` away from that of `at` (with ring 1, its own too); false if one is not known.
  template <int ring>
  bool fill(const Coord<D>& at, int axis, double sign, Heights& h) const {
    const auto column = [&](int i, int j, double guess) {
      Coord<D> c = at;
      c[(axis + 1) % D] += i;
      if constexpr (D == 3) c[(axis + 2) % D] += j;
      const auto found = crossing_near(c, axis, guess, sign);
      if (!found) return false;
      h[i + 2][D == 2 ? 0 : j + 2] = *found;
      return true;
    };
    const auto known = [&](int i, int j) { return h[i + 2][D == 2 ? 0 : j + 2]; };
    if (ring == 1 && !column(0, 0, 0.0)) return false;
    for (int i = -ring; i <= ring; ++i)
      for (int j = D == 2 ? 0 : -ring; j <= (D == 2 ? 0 : ring); ++j) {
        if (std::max(std::abs(i), std::abs(j)) < ring) continue;
        // From the columns further in, along the slope.
        const double guess = ring == 1 ? known(0, 0) : 2 * known(i / 2, j / 2) - known(0, 0);
        if (!column(i, j, guess)) return false;
        // If the surface is that steep over the outer columns, a quartic through them has no meaning.
        if (ring == 2 && std::abs(known(i, j) - known(i / 2, j / 2)) > steepest_outer) return false;
      }
    return true;
  }

  double value(Coord<D> at, int axis, Index offset) const {
    at[axis] += offset;
    return static_cast<double>(*phi_.at(at));
  }

  /// The crossing on the line through `at` along `axis` that rises (falls) with `sign`, nearest to `guess`, as spacings from
  /// `at`.
  std::optional<double> crossing_near(const Coord<D>& at, int axis, double guess, double sign) const {
    const Index a = axis;
    const T* const p = phi_.at(at);
    const Index stride = phi_.strides[a];
    // Stored samples, with their ghosts.
    const Index low = begin_[a] - at[a];
    const Index high = end_[a] - 1 - at[a];
    const auto middle = static_cast<Index>(std::floor(guess));
    std::optional<double> best;
    for (Index away = 0; away <= reach && !best; ++away)
      for (const Index k : {middle - away, middle + away}) {
        if (k < low || k >= high) continue;
        const auto below = static_cast<double>(p[k * stride]);
        const auto above = static_cast<double>(p[(k + 1) * stride]);
        if ((below <= 0) == (above <= 0) || (above > below) != (sign > 0)) continue;
        double t = crossing(below, above);
        if (k > low && k + 2 <= high)
          t = cubic_crossing({static_cast<double>(p[(k - 1) * stride]), below, above, static_cast<double>(p[(k + 2) * stride])});
        const double place = static_cast<double>(k) + t;
        if (!best || std::abs(place - guess) < std::abs(*best - guess)) best = place;
      }
    return best;
  }

  grid::FieldView<const T, D> phi_;
  Coord<D> begin_, end_;
};

/// Samples beyond a block, of others, that columns look at: each of three columns along a slope begins up to `reach` away from
/// where the one before it leads, which doubles the way, and the interpolant takes two samples more.
constexpr Index farthest_column = 25;

/// Samples of a block and of others around it, with the ghosts of the domain.
template <class T, int D>
struct ColumnWindow {
  Coord<D> begin, end;  ///< counted from the first sample of the block
  std::vector<T> samples;

  /// Collective.
  explicit ColumnWindow(const grid::Field<T, D>& phi) {
    const grid::Grid<D>& grid = phi.grid();
    parallel::IndexBox<D> own, window;
    Coord<D> first;
    for (int d = 0; d < D; ++d) {
      const Index a = d;
      const Index low = grid.first_cell()[a], n = phi.extents()[a];
      const Index domain = grid.shape()[a] + phi.stagger().on_side[a];
      const bool lowest = low == 0, highest = low + n == domain;
      first[a] = lowest ? -grid::ghost_width : phi.layout().halo.first_owned(d);
      own.begin[a] = low + first[a];
      own.end[a] = low + n + (highest ? grid::ghost_width : 0);
      window.begin[a] = std::max<Index>(low - farthest_column, -grid::ghost_width);
      window.end[a] = std::min(low + n + farthest_column, domain + grid::ghost_width);
      begin[a] = window.begin[a] - low;
      end[a] = window.end[a] - low;
    }
    const Coord<D> extents = window.extents();
    samples.resize(product<D>(extents));
    const grid::FieldView<const T, D> view = phi.view();
    parallel::BoxExchange<D>(*grid.communicator(), own, window, {})
        .template fetch<T>(view.at(first), view.strides, samples.data(), c_strides<D>(extents));
  }
};

}  // namespace

template <class T, int D>
void level_set_curvature(const grid::Field<T, D>& phi, CurvatureKind kind, double limit, grid::Field<T, D>& out) {
  require(out.layout().same_place(phi.layout()), "out must have the samples of phi");
  require_finite(phi, "phi");
  const grid::FieldView<const T, D> from = phi.view();
  const grid::FieldView<T, D> to = out.view();
  const double scale = 1.0 / phi.grid().spacing();
  const bool at_surface = kind != CurvatureKind::level;
  std::optional<ColumnWindow<T, D>> window;
  if (kind == CurvatureKind::columns && phi.grid().block().cut()) window.emplace(phi);
  const Columns<T, D> columns = window ? Columns<T, D>(window->samples.data(), window->begin, window->end) : Columns<T, D>(from);
  grid::parallel_rows<D>(from.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = grid::row_start<D>(from.extents, r);
      const T* const p = from.at(c);
      T* const q = to.at(c);
      Index strides[D];
      for (int d = 0; d < D; ++d) strides[d] = from.strides[d];
      const Index n = from.extents[D - 1];
      simd_dispatch([&] {
        for (Index i = 0; i < n; ++i) {
          const Curvatures local = curvatures(Differences<T, D>(p + i, strides));
          double k = local.mean;
          if (at_surface) {
            // Beyond a centre of curvature the formula has no meaning; the bound takes over there.
            const double ratio = (1.0 - local.distance * local.mean) + local.distance * local.distance * local.gauss;
            const double least = ratio > 1e-3 ? ratio : 1e-3;
            k = (local.mean - 2.0 * local.distance * local.gauss) / least;
          }
          k = k < -limit ? -limit : k;
          k = k > limit ? limit : k;
          q[i] = static_cast<T>(k * scale);
        }
      });
      if (kind != CurvatureKind::columns) continue;
      for (Index i = 0; i < n; ++i) {
        Coord<D> at = c;
        at[D - 1] = i;
        if (const auto k = columns.curvature(at)) q[i] = static_cast<T>(std::clamp(*k, -limit, limit) * scale);
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void level_set_curvature<T, D>(const grid::Field<T, D>&, CurvatureKind, double, grid::Field<T, D>&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
