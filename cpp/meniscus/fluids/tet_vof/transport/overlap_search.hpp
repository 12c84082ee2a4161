/// All tetrahedra of a placed mesh that overlap with a given one.
#pragma once

#include "meniscus/fluids/tet_vof/transport/near_location.hpp"
#include "meniscus/mesh/clipping/tet_overlap.hpp"

#include <vector>

namespace meniscus::fluids {

/// Goes from tetrahedron to tetrahedron across the faces that the given one crosses. For one thread at a time; keeps its memory.
class OverlapSearch {
 public:
  /// Calls f(tetrahedron, overlap) for those with a common volume. `start` is one that holds a point of y. `part(t)` is the
  /// half-space to which the tetrahedron is cut, or null.
  template <class Part, class F>
  void find(const PlacedMesh& mesh, const std::array<mesh::Point, 4>& y, std::int32_t start, Part&& part, F&& f) {
    found_.assign(1, start);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::int32_t t = found_[i];
      std::array<mesh::Point, 4> x;
      for (std::size_t k = 0; k < 4; ++k) x[k] = mesh.corner(t, k);
      const mesh::HalfSpace* const cut = part(t);
      const mesh::TetOverlap o = cut == nullptr ? mesh::overlap(y, x) : mesh::overlap(y, x, *cut);
      f(t, o);
      const mesh::Tet& beside = mesh.graph.neighbours(t);
      for (std::size_t k = 0; k < 4; ++k)
        if (o.crosses[k] && beside[k] >= 0 && std::find(found_.begin(), found_.end(), beside[k]) == found_.end())
          found_.push_back(beside[k]);
    }
    overlaps_ += static_cast<Index>(found_.size());
  }

  /// How many overlaps were computed so far.
  Index overlaps() const { return overlaps_; }

 private:
  std::vector<std::int32_t> found_;
  Index overlaps_ = 0;
};

}  // namespace meniscus::fluids
