/// Queries of a spatial hash: vertices in tetrahedra, overlapping boxes, and points near bodies.
#pragma once

#include "meniscus/collision/broad_phase/spatial_hash.hpp"
#include "meniscus/collision/point_location/tet_point.hpp"
#include "meniscus/core/workspace.hpp"

namespace meniscus::collision {

using IndexPair = std::array<std::int32_t, 2>;

/// Pairs found by pieces of a parallel loop and joined in the order of the pieces. Reuses its memory.
class PairLists {
 public:
  /// Calls find(i, list) for all i < n; `list` takes the pairs of i.
  template <class Find>
  void collect(Index n, Find&& find);
  /// Sorts the pairs, if they are not.
  void sort();
  std::span<const IndexPair> pairs() const { return pairs_; }

 private:
  std::vector<std::vector<IndexPair>> parts_;
  std::vector<std::uint64_t> keys_;
  std::vector<Index> order_;
  Workspace workspace_;
  std::vector<IndexPair> pairs_;
};

/// Vertices that lie in tetrahedra (closed) of which they are no corner: in one mesh or several whose arrays are joined.
///
/// Source: Teschner et al., "Optimized spatial hashing for collision detection of deformable objects", 2003.
class VertexTetPairs {
 public:
  /// Tests the rows `points` of `vertices`, or all rows if `points` is empty. The result is (vertex,
  /// tetrahedron), sorted, and valid until the next call. Tetrahedra without volume contain nothing. Throws
  /// InvalidArgument for points that are not vertices.
  std::span<const IndexPair> find(std::span<const mesh::Point> vertices, std::span<const mesh::Tet> tets,
                                  const std::span<const std::int32_t>* points, double cell_size, CellHash hash);

 private:
  std::vector<mesh::Box> boxes_;
  std::vector<std::int8_t> orientation_;
  SpatialHash hash_;
  PairLists lists_;
};

/// Pairs i < j of boxes (closed) that overlap, sorted.
class BoxPairs {
 public:
  std::span<const IndexPair> find(std::span<const mesh::Box> boxes, double cell_size, CellHash hash);

 private:
  SpatialHash hash_;
  PairLists lists_;
};

/// For each of many bodies, the points in its box: those of body b are points()[starts()[b], starts()[b + 1]), ascending.
///
/// One pass over the points finds the bodies nearby with a grid; then each body is visited once, with all of its points.
///
/// Source: Selle, "Hybrid techniques for high-fidelity physical simulation of solids and fluids", 2008, section 6.5.
class BodyPartition {
 public:
  void build(std::span<const mesh::Box> bodies, std::span<const mesh::Point> points);
  std::span<const Index> starts() const { return starts_; }
  std::span<const std::int32_t> points() const { return points_; }

 private:
  SpatialHash hash_;
  PairLists lists_;
  std::vector<Index> starts_;
  std::vector<std::int32_t> points_;
};

/// Throws InvalidArgument that names the first box with a corner that is not finite.
void require_finite(std::span<const mesh::Box> boxes, const char* name);

/// out[i] = the hash of cells[i].
void hash_cells(std::span<const Coord<3>> cells, CellHash hash, std::span<std::uint32_t> out);

}  // namespace meniscus::collision
