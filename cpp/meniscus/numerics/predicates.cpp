#include "meniscus/numerics/predicates.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace meniscus::numerics {
namespace {

/// The filter for blocks of rows, many at a time with each coordinate in an array of its own; then what it left open.
/// `filter` and `exact` take pointers to the coordinates of the points.
template <int D, std::size_t Points, class Filter, class Exact>
void evaluate(const std::array<std::span<const Vec<double, D>>, Points>& points, std::int8_t* out, Filter filter, Exact exact) {
  for (const auto& p : points)
    require(p.size() == points[0].size(), "the points must be as many in each array, not ", points[0].size(), " and ", p.size());
  constexpr std::size_t block = 64;
  const auto call = [&]<std::size_t... K>(const auto& f, const auto& coordinates, std::index_sequence<K...>) {
    return f(coordinates(K)...);
  };
  constexpr auto all = std::make_index_sequence<Points>{};
  parallel_for(0, static_cast<Index>(points[0].size()), 8 * block, [&](Index first, Index last) {
    const auto begin = static_cast<std::size_t>(first);
    const auto end = static_cast<std::size_t>(last);
    simd_dispatch([&] {
      double x[Points][D][block];
      double sign[block];
      for (std::size_t b = begin; b < end; b += block) {
        const std::size_t n = std::min(block, end - b);
        for (std::size_t k = 0; k < Points; ++k) {
          const double* const p = points[k][b].data();
          for (std::size_t i = 0; i < n; ++i)
            for (std::size_t d = 0; d < D; ++d) x[k][d][i] = p[D * i + d];
        }
        for (std::size_t i = 0; i < n; ++i) {
          double p[Points][D];
          for (std::size_t k = 0; k < Points; ++k)
            for (std::size_t d = 0; d < D; ++d) p[k][d] = x[k][d][i];
          sign[i] = static_cast<double>(call(filter, [&](std::size_t k) { return p[k]; }, all));
        }
        for (std::size_t i = 0; i < n; ++i) out[b + i] = static_cast<std::int8_t>(sign[i]);
      }
    });
    for (std::size_t i = begin; i < end; ++i)
      if (out[i] == 0) out[i] = static_cast<std::int8_t>(call(exact, [&](std::size_t k) { return points[k][i].data(); }, all));
  });
}

}  // namespace

void orient2d(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::int8_t* out) {
  evaluate(
      std::array{a, b, c}, out,
      [](auto* p, auto* q, auto* r) { return detail::orient2d_filter(p[0], p[1], q[0], q[1], r[0], r[1]); },
      [](auto* p, auto* q, auto* r) { return detail::orient2d_exact(p[0], p[1], q[0], q[1], r[0], r[1]); });
}

void orient3d(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::int8_t* out) {
  evaluate(
      std::array{a, b, c, d}, out, [](auto*... p) { return detail::orient3d_filter(p...); },
      [](auto*... p) { return detail::orient3d_exact(p...); });
}

void incircle(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::span<const Vector2> d,
              std::int8_t* out) {
  evaluate(
      std::array{a, b, c, d}, out, [](auto*... p) { return detail::incircle_filter(p...); },
      [](auto*... p) { return detail::incircle_exact(p...); });
}

void insphere(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::span<const Vector3> e, std::int8_t* out) {
  evaluate(
      std::array{a, b, c, d, e}, out, [](auto*... p) { return detail::insphere_filter(p...); },
      [](auto*... p) { return detail::insphere_exact(p...); });
}

}  // namespace meniscus::numerics
