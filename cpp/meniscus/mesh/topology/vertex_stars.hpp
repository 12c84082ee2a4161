/// Elements at each vertex of a mesh of segments, triangles or tetrahedra.
#pragma once

#include "meniscus/core/types.hpp"

#include <span>
#include <vector>

namespace meniscus::mesh {

/// Compressed rows; an element has N corners, of which one may come twice.
template <std::size_t N>
class VertexStars {
 public:
  using Element = std::array<std::int32_t, N>;

  /// Corners have to be in [0, vertices), and N * elements below 2^31.
  VertexStars(std::span<const Element> elements, Index vertices) : elements_(elements) {
    start_.assign(static_cast<std::size_t>(vertices) + 1, 0);
    for (const Element& e : elements)
      for (const std::int32_t v : e) ++start_[static_cast<std::size_t>(v) + 1];
    for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
    corners_.resize(N * elements.size());
    std::vector<std::int32_t> next(start_.begin(), start_.end() - 1);
    std::int32_t corner = 0;
    for (const Element& e : elements)
      for (const std::int32_t v : e) corners_[next[v]++] = corner++;
  }

  Index vertices() const { return static_cast<Index>(start_.size()) - 1; }
  std::span<const Element> elements() const { return elements_; }

  /// The corners N * element + corner that are at a vertex, ascending.
  std::span<const std::int32_t> at(Index vertex) const {
    const Index v = vertex;
    return {corners_.data() + start_[v], static_cast<std::size_t>(start_[v + 1] - start_[v])};
  }

  /// Begin of the row of each vertex, and the end of the last.
  std::span<const std::int32_t> starts() const { return start_; }
  std::span<const std::int32_t> corners() const { return corners_; }

  std::size_t nbytes() const { return starts().size_bytes() + corners().size_bytes(); }

 private:
  std::span<const Element> elements_;
  std::vector<std::int32_t> start_;
  std::vector<std::int32_t> corners_;
};

}  // namespace meniscus::mesh
