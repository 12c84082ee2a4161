#include "meniscus/mesh/tet_mesh.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

namespace meniscus::mesh {
namespace {

constexpr Index element_chunk = 8192;

template <std::size_t N>
bool out_of_range(const std::array<std::int32_t, N>& element, Index vertices) {
  bool bad = false;
  for (const std::int32_t v : element) bad |= v < 0 || v >= vertices;
  return bad;
}

template <std::size_t N>
bool repeats(const std::array<std::int32_t, N>& element) {
  bool bad = false;
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = i + 1; j < N; ++j) bad |= element[i] == element[j];
  return bad;
}

template <std::size_t N>
void require_valid(std::span<const std::array<std::int32_t, N>> elements, Index vertices, bool repeated, const char* what,
                   const char* one) {
  constexpr Index most = 2147483647;
  const auto m = static_cast<Index>(elements.size());
  require(vertices <= most, "a mesh can have at most ", most, " vertices, not ", vertices);
  require(m <= most / static_cast<Index>(N), "a mesh can have at most ", most / static_cast<Index>(N), " ", what, ", not ", m);
  const Index bad = parallel_reduce(
      0, m, element_chunk, m,
      [&](Index b, Index e) {
        for (Index i = b; i < e; ++i) {
          const auto& element = elements[i];
          if (out_of_range(element, vertices) || (!repeated && repeats(element))) return i;
        }
        return m;
      },
      [](Index a, Index b) { return std::min(a, b); });
  if (bad == m) return;
  const auto& element = elements[bad];
  for (std::size_t k = 0; k < N; ++k)
    require(element[k] >= 0 && element[k] < vertices, what, " must hold indices of the ", vertices, " vertices, but [", bad, ", ",
            k, "] is ", element[k]);
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = i + 1; j < N; ++j)
      require(element[i] != element[j], one, " must have different corners, but ", what, "[", bad, "] has vertex ", element[i],
              " twice");
}

}  // namespace

void require_valid_elements(std::span<const Tet> tets, Index vertices) {
  require_valid<4>(tets, vertices, false, "tets", "a tetrahedron");
}

void require_valid_elements(std::span<const Segment> segments, Index vertices) {
  require_valid<2>(segments, vertices, false, "segments", "a segment");
}

void require_valid_elements(std::span<const Triangle> triangles, Index vertices, bool repeated) {
  require_valid<3>(triangles, vertices, repeated, "triangles", "a triangle");
}

}  // namespace meniscus::mesh
