#include "meniscus/surface/curvature.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/crossings.hpp"

#include <cmath>
#include <optional>

namespace meniscus {
namespace {

/// First and second differences at one sample, in units of the spacing.
template <class T, int D>
struct Differences {
  double value;
  double g[D];
  double h[D][D];

  MENISCUS_INLINE Differences(const T* p, const Index (&s)[D]) : value(static_cast<double>(*p)) {
    const auto at = [&](Index offset) { return static_cast<double>(p[offset]); };
    for (int a = 0; a < D; ++a) {
      g[a] = 0.5 * (at(s[a]) - at(-s[a]));
      h[a][a] = (at(s[a]) - value) - (value - at(-s[a]));
      for (int b = 0; b < a; ++b)
        h[a][b] = h[b][a] = 0.25 * ((at(s[a] + s[b]) - at(s[a] - s[b])) - (at(s[b] - s[a]) - at(-s[a] - s[b])));
    }
  }
};

/// Mean and Gauss curvature times the spacing and its square; the distance in spacings.
struct Bending {
  double mean, gauss, distance;
};

template <class T>
MENISCUS_INLINE Bending bending(const Differences<T, 2>& d) {
  const double gg = d.g[0] * d.g[0] + d.g[1] * d.g[1];
  const double length = std::sqrt(gg);
  const double k = (d.h[0][0] * d.g[1] * d.g[1] + d.h[1][1] * d.g[0] * d.g[0]) - 2.0 * d.h[0][1] * d.g[0] * d.g[1];
  const bool some = gg > 0.0;
  const double safe = some ? length : 1.0;
  return {some ? k / (safe * safe * safe) : 0.0, 0.0, d.value / safe};
}

template <class T>
MENISCUS_INLINE Bending bending(const Differences<T, 3>& d) {
  const auto& g = d.g;
  const auto& h = d.h;
  const double xx = g[0] * g[0];
  const double yy = g[1] * g[1];
  const double zz = g[2] * g[2];
  const double gg = xx + yy + zz;
  const double length = std::sqrt(gg);
  const bool some = gg > 0.0;
  const double safe = some ? length : 1.0;
  const double k = ((h[1][1] + h[2][2]) * xx + (h[0][0] + h[2][2]) * yy + (h[0][0] + h[1][1]) * zz) -
                   2.0 * (g[0] * g[1] * h[0][1] + g[0] * g[2] * h[0][2] + g[1] * g[2] * h[1][2]);
  const double a = (h[1][1] * h[2][2] - h[1][2] * h[1][2]) * xx + (h[0][0] * h[2][2] - h[0][2] * h[0][2]) * yy +
                   (h[0][0] * h[1][1] - h[0][1] * h[0][1]) * zz;
  const double b = (h[0][2] * h[1][2] - h[0][1] * h[2][2]) * (g[0] * g[1]) +
                   (h[0][1] * h[1][2] - h[0][2] * h[1][1]) * (g[0] * g[2]) +
                   (h[0][1] * h[0][2] - h[1][2] * h[0][0]) * (g[1] * g[2]);
  return {some ? k / (safe * safe * safe) : 0.0, some ? (a + 2.0 * b) / (safe * safe * safe * safe) : 0.0, d.value / safe};
}

/// The surface as heights over the plane across one axis.
template <class T, int D>
class Columns {
 public:
  explicit Columns(const FieldView<const T, D>& phi) : phi_(phi) {}

  /// Curvature times the spacing at the crossing nearest to sample `at`, if it and those of all columns around it are known.
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
    const double sign = rising > 0 ? 1.0 : -1.0;
    const std::optional<double> here = crossing_near(at, axis, 0.0, sign);
    if (!here) return {};
    if constexpr (D == 2) {
      double h[2];
      for (int i = 0; i < 2; ++i) {
        Coord<D> c = at;
        c[static_cast<std::size_t>(1 - axis)] += 2 * i - 1;
        const auto found = crossing_near(c, axis, *here, sign);
        if (!found) return {};
        h[i] = *found;
      }
      const double slope = 0.5 * (h[1] - h[0]);
      const double length = 1 + slope * slope;
      return -sign * ((h[1] - *here) - (*here - h[0])) / (length * std::sqrt(length));
    } else {
      double h[3][3];
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          Coord<D> c = at;
          c[static_cast<std::size_t>((axis + 1) % 3)] += i - 1;
          c[static_cast<std::size_t>((axis + 2) % 3)] += j - 1;
          const auto found = crossing_near(c, axis, *here, sign);
          if (!found) return {};
          h[i][j] = *found;
        }
      const double x = 0.5 * (h[2][1] - h[0][1]);
      const double y = 0.5 * (h[1][2] - h[1][0]);
      const double xx = (h[2][1] - h[1][1]) - (h[1][1] - h[0][1]);
      const double yy = (h[1][2] - h[1][1]) - (h[1][1] - h[1][0]);
      const double xy = 0.25 * ((h[2][2] - h[2][0]) - (h[0][2] - h[0][0]));
      const double length = 1 + x * x + y * y;
      return -sign * (((1 + y * y) * xx + (1 + x * x) * yy) - 2 * x * y * xy) / (length * std::sqrt(length));
    }
  }

 private:
  static constexpr Index reach = 3;

  double value(Coord<D> at, int axis, Index offset) const {
    at[static_cast<std::size_t>(axis)] += offset;
    return static_cast<double>(*phi_.at(at));
  }

  /// The crossing on the line through `at` along `axis` that rises (falls) with `sign`, nearest to `guess`, as spacings from
  /// `at`.
  std::optional<double> crossing_near(const Coord<D>& at, int axis, double guess, double sign) const {
    const auto a = static_cast<std::size_t>(axis);
    // Stored samples, with their ghosts.
    const Index low = -ghost_width - at[a];
    const Index high = phi_.extents[a] + ghost_width - 1 - at[a];
    const auto middle = static_cast<Index>(std::floor(guess));
    std::optional<double> best;
    for (Index k = std::max(middle - reach, low); k < std::min(middle + reach + 1, high); ++k) {
      const double below = value(at, axis, k);
      const double above = value(at, axis, k + 1);
      if ((below <= 0) == (above <= 0) || (above > below) != (sign > 0)) continue;
      double t = crossing(below, above);
      if (k > low && k + 2 <= high) t = cubic_crossing({value(at, axis, k - 1), below, above, value(at, axis, k + 2)});
      const double place = static_cast<double>(k) + t;
      if (!best || std::abs(place - guess) < std::abs(*best - guess)) best = place;
    }
    return best;
  }

  FieldView<const T, D> phi_;
};

}  // namespace

template <class T, int D>
void level_set_curvature(const Field<T, D>& phi, Curvature kind, double limit, Field<T, D>& out) {
  require(out.layout().same_place(phi.layout()), "out must have the samples of phi");
  require_finite(phi, "phi");
  const FieldView<const T, D> from = phi.view();
  const FieldView<T, D> to = out.view();
  const double scale = 1.0 / phi.grid().spacing();
  const bool at_surface = kind != Curvature::level;
  const Columns<T, D> columns(from);
  parallel_rows<D>(from.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = row_start<D>(from.extents, r);
      const T* const p = from.at(c);
      T* const q = to.at(c);
      Index strides[D];
      for (int d = 0; d < D; ++d) strides[d] = from.strides[static_cast<std::size_t>(d)];
      const Index n = from.extents[D - 1];
      simd_dispatch([&] {
        for (Index i = 0; i < n; ++i) {
          const Bending b = bending(Differences<T, D>(p + i, strides));
          double k = b.mean;
          if (at_surface) {
            // Beyond a centre of curvature the formula has no meaning; the bound takes over there.
            const double ratio = (1.0 - b.distance * b.mean) + b.distance * b.distance * b.gauss;
            const double least = ratio > 1e-3 ? ratio : 1e-3;
            k = (b.mean - 2.0 * b.distance * b.gauss) / least;
          }
          k = k < -limit ? -limit : k;
          k = k > limit ? limit : k;
          q[i] = static_cast<T>(k * scale);
        }
      });
      if (kind != Curvature::columns) continue;
      // What is farther away has no crossing in reach; the slope may be anything up to twice that of a distance.
      const double far = 2.0 * 3.0 * phi.grid().spacing();
      for (Index i = 0; i < n; ++i) {
        if (!(std::abs(static_cast<double>(p[i])) <= far)) continue;
        Coord<D> at = c;
        at[D - 1] = i;
        if (const auto k = columns.curvature(at)) q[i] = static_cast<T>(std::clamp(*k, -limit, limit) * scale);
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D) template void level_set_curvature<T, D>(const Field<T, D>&, Curvature, double, Field<T, D>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus
