#include "meniscus/numerics/predicates.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <cstddef>

namespace meniscus {
namespace {

template <class First, class... Rest>
void require_same_size(const First& first, const Rest&... rest) {
  (require(first.size() == rest.size(), "the points must be as many in each array, not ", first.size(), " and ", rest.size()),
   ...);
}

/// The filter for all rows of a chunk, many at a time; then what it left open.
template <class Filter, class Exact, class... Points>
void evaluate(std::int8_t* out, Filter filter, Exact exact, std::span<const Points>... points) {
  require_same_size(points...);
  const Index n = static_cast<Index>((points.size(), ...));
  parallel_for(0, n, 512, [&](Index begin, Index end) {
    const auto first = static_cast<std::size_t>(begin);
    const auto last = static_cast<std::size_t>(end);
    simd_dispatch([&] {
      for (std::size_t i = first; i < last; ++i) out[i] = static_cast<std::int8_t>(filter(points[i].data()...));
    });
    for (std::size_t i = first; i < last; ++i)
      if (out[i] == 0) out[i] = static_cast<std::int8_t>(exact(points[i].data()...));
  });
}

}  // namespace

void orient2d(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::int8_t* out) {
  evaluate(
      out,
      [](const double* p, const double* q, const double* r) {
        return detail::orient2d_filter(p[0], p[1], q[0], q[1], r[0], r[1]);
      },
      [](const double* p, const double* q, const double* r) {
        return detail::orient2d_exact(p[0], p[1], q[0], q[1], r[0], r[1]);
      },
      a, b, c);
}

void orient3d(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::int8_t* out) {
  evaluate(
      out, [](auto... p) { return detail::orient3d_filter(p...); }, [](auto... p) { return detail::orient3d_exact(p...); }, a, b,
      c, d);
}

void incircle(std::span<const Vector2> a, std::span<const Vector2> b, std::span<const Vector2> c, std::span<const Vector2> d,
              std::int8_t* out) {
  evaluate(
      out, [](auto... p) { return detail::incircle_filter(p...); }, [](auto... p) { return detail::incircle_exact(p...); }, a, b,
      c, d);
}

void insphere(std::span<const Vector3> a, std::span<const Vector3> b, std::span<const Vector3> c, std::span<const Vector3> d,
              std::span<const Vector3> e, std::int8_t* out) {
  evaluate(
      out, [](auto... p) { return detail::insphere_filter(p...); }, [](auto... p) { return detail::insphere_exact(p...); }, a, b,
      c, d, e);
}

}  // namespace meniscus
