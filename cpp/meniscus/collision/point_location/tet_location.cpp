#include "meniscus/collision/point_location/tet_location.hpp"

#include "meniscus/collision/point_location/tet_neighbours.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

namespace meniscus::collision {
namespace {

constexpr Index mesh_chunk = 2048;
constexpr Index point_chunk = 256;
/// A walk that takes longer is lost: it may go in circles where the mesh is not Delaunay.
constexpr int longest_walk = 100;

}  // namespace

void require_valid_tets(std::span<const mesh::Tet> tets, std::size_t vertices) {
  for (std::size_t t = 0; t < tets.size(); ++t)
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t v = tets[t][k];
      require(v >= 0 && static_cast<std::size_t>(v) < vertices, "tets must hold indices of the ", vertices, " vertices, but [", t,
              ", ", k, "] is ", v);
    }
}

TetLocator::TetLocator(std::span<const mesh::Point> vertices, std::span<const mesh::Tet> tets,
                       std::span<const std::int32_t> ranks, bool overlapping)
    : vertices_(vertices.begin(), vertices.end()),
      tets_(tets.begin(), tets.end()),
      ranks_(ranks.begin(), ranks.end()),
      overlapping_(overlapping),
      orientation_(tets.size()),
      boxes_(tets.size()) {
  require(ranks_.empty() || ranks_.size() == tets_.size(), "ranks must have one value per tetrahedron, ", tets_.size(), ", not ",
          ranks_.size());
  mesh::require_finite(vertices, "vertices");
  require_valid_tets(tets_, vertices_.size());
  if (!overlapping_) neighbours_ = find_neighbours(tets_);
  place();
  tree_ = mesh::BoxTree(boxes_);
}

void TetLocator::move(std::span<const mesh::Point> vertices) {
  require(vertices.size() == vertices_.size(), "vertices must have ", vertices_.size(), " rows, not ", vertices.size());
  mesh::require_finite(vertices, "vertices");
  std::copy(vertices.begin(), vertices.end(), vertices_.begin());
  place();
  tree_.refit(boxes_);
}

TetCorners TetLocator::corners(std::int32_t t) const {
  const mesh::Tet& v = tets_[t];
  return {vertices_[v[0]], vertices_[v[1]], vertices_[v[2]], vertices_[v[3]]};
}

void TetLocator::place() {
  parallel_for(0, size(), mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) {
      const TetCorners c = corners(static_cast<std::int32_t>(t));
      mesh::Box box;
      for (const mesh::Point& x : c) box.add(x);
      boxes_[t] = box;
      const bool enabled = ranks_.empty() || ranks_[t] >= 0;
      orientation_[t] = static_cast<std::int8_t>(enabled ? tet_orientation(c) : 0);
    }
  });
}

bool TetLocator::before(std::int32_t a, std::int32_t b) const {
  if (ranks_.empty()) return a < b;
  const std::int32_t p = ranks_[a];
  const std::int32_t q = ranks_[b];
  return p != q ? p < q : a < b;
}

/// True where the walk ends with certainty inside of a tetrahedron. Where it does not, the tree has to answer: at faces (which of
/// the neighbours comes first?), outside, and where the walk leaves the mesh on its way around a hollow.
bool TetLocator::walk(const mesh::Point& p, std::int32_t hint, TetLocation& found) const {
  std::int32_t t = hint;
  std::int32_t previous = -1;
  for (int step = 0; step < longest_walk; ++step) {
    const int orientation = orientation_[t];
    if (orientation == 0) return false;
    const TetVolumes v(p, corners(t));
    const mesh::Tet& beside = neighbours_[t];
    bool inside = true;
    double lowest = -v.bound;
    std::int32_t next = -1;
    bool out = false;
    for (std::size_t k = 0; k < 4; ++k) {
      const double x = orientation * v.value[k];
      inside = inside && x > v.bound;
      if (!(x < -v.bound)) continue;
      out = true;
      if (x < lowest && beside[k] >= 0 && beside[k] != previous) {
        lowest = x;
        next = beside[k];
      }
    }
    if (out) {
      if (next < 0) return false;
      previous = t;
      t = next;
      continue;
    }
    if (!inside) return false;
    found.tet = t;
    if (!v.weights(orientation, found.weights)) found.weights = exact_tet_weights(p, corners(t), orientation);
    return true;
  }
  return false;
}

TetLocation TetLocator::search(const mesh::Point& p) const {
  TetLocation best;
  tree_.for_each_overlap({p, p}, [&](Index slot) {
    const std::int32_t t = tree_.element(slot);
    const int orientation = orientation_[t];
    if (orientation == 0 || (best.tet >= 0 && !before(t, best.tet))) return;
    const TetAnswer r = locate_in_tet(p, corners(t), orientation);
    if (r.side == TetSide::outside) return;
    best.tet = t;
    best.weights = r.weights;
  });
  return best;
}

TetLocation TetLocator::locate(const mesh::Point& p, std::int32_t hint) const {
  TetLocation found;
  if (!overlapping_ && hint >= 0 && walk(p, hint, found)) return found;
  return search(p);
}

void TetLocator::locate(std::span<const mesh::Point> points, std::span<const std::int32_t> hints, std::span<std::int32_t> tets,
                        std::span<TetWeights> weights) const {
  require(hints.empty() || hints.size() == points.size(), "hints must have one value per point, ", points.size(), ", not ",
          hints.size());
  for (std::size_t i = 0; i < hints.size(); ++i)
    require(hints[i] >= -1 && hints[i] < size(), "hints must be -1 or numbers of the ", size(), " tetrahedra, but [", i, "] is ",
            hints[i]);
  parallel_for(0, static_cast<Index>(points.size()), point_chunk, [&](Index b, Index e) {
    std::int32_t last = -1;
    for (Index i = b; i < e; ++i) {
      const TetLocation r = locate(points[i], hints.empty() ? last : hints[i]);
      tets[i] = r.tet;
      weights[i] = r.weights;
      if (r.tet >= 0) last = r.tet;
    }
  });
}

}  // namespace meniscus::collision
