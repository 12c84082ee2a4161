#include "meniscus/surface/curvature.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"

#include <cmath>

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

}  // namespace

template <class T, int D>
void level_set_curvature(const Field<T, D>& phi, Curvature kind, double limit, Field<T, D>& out) {
  require(out.layout().same_place(phi.layout()), "out must have the samples of phi");
  require_finite(phi, "phi");
  const FieldView<const T, D> from = phi.view();
  const FieldView<T, D> to = out.view();
  const double scale = 1.0 / phi.grid().spacing();
  const bool at_surface = kind == Curvature::surface;
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
