#include "meniscus/mesh/quality/element_measure.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {
constexpr Index measure_chunk = 4096;
}

template <std::size_t N>
void measure_elements(std::span<const Point> vertices, std::span<const std::array<std::int32_t, N>> elements,
                      std::span<double> out) {
  const auto at = [&](std::int32_t v) -> const Point& { return vertices[v]; };
  parallel_for(0, static_cast<Index>(elements.size()), measure_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const auto& x = elements[i];
      if constexpr (N == 2)
        out[i] = (at(x[1]) - at(x[0])).norm();
      else if constexpr (N == 3)
        out[i] = 0.5 * area_vector(at(x[0]), at(x[1]), at(x[2])).norm();
      else
        out[i] = signed_volume(at(x[0]), at(x[1]), at(x[2]), at(x[3]));
    }
  });
}

double sum_of(std::span<const double> values) {
  // A sum and what was rounded off from it (Neumaier), so that the error does not grow with the number of values.
  struct Sum {
    double value = 0;
    double rest = 0;
    void add(double x) {
      const double next = value + x;
      rest += std::abs(value) >= std::abs(x) ? (value - next) + x : (x - next) + value;
      value = next;
    }
  };
  const Sum total = parallel_reduce(
      0, static_cast<Index>(values.size()), measure_chunk, Sum{},
      [&](Index b, Index e) {
        Sum sum;
        for (Index i = b; i < e; ++i) sum.add(values[i]);
        return sum;
      },
      [](Sum a, const Sum& b) {
        a.add(b.value);
        a.rest += b.rest;
        return a;
      });
  return total.value + total.rest;
}

double enclosed_volume(const TriangleMeshView& mesh) {
  if (mesh.size() == 0) return 0;
  // Tetrahedra over the triangles with a common tip; one that is near loses fewer digits than the origin may.
  const Point tip = mesh.corner(0, 0);
  return parallel_reduce(
      0, mesh.size(), measure_chunk, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index t = b; t < e; ++t) sum += signed_volume(tip, mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2));
        return sum;
      },
      [](double a, double b) { return a + b; });
}

template <std::size_t N>
void lump_masses(const VertexStars<N>& stars, std::span<const double> element_masses, std::span<double> out) {
  parallel_for(0, stars.vertices(), measure_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      double sum = 0;
      for (const std::int32_t corner : stars.at(v)) sum += element_masses[static_cast<std::size_t>(corner) / N];
      out[v] = sum / static_cast<double>(N);
    }
  });
}

#define MENISCUS_INSTANTIATE(N)                                                                                               \
  template void measure_elements<N>(std::span<const Point>, std::span<const std::array<std::int32_t, N>>, std::span<double>); \
  template void lump_masses<N>(const VertexStars<N>&, std::span<const double>, std::span<double>);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
MENISCUS_INSTANTIATE(4)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::mesh
