/// Pairs of elements of soft surfaces near each other, by grids of the middles of their triangles and edges; without
/// those that are near each other at rest, which are most of a flat sheet's.
///
/// Two points of a surface that a fold brings within h of each other are apart by at least pi h / 2 along it, and a mesh bends at
/// its edges alone: elements of one connected surface whose circles at rest are nearer than that are no pair. A surface whose
/// layers touch each other at rest must be several connected surfaces.
///
/// Source: Ericson, "Real-time collision detection", 2005, section 7.1 (grids).
#pragma once

#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/contact/repulsion_pairs.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/numerics/lane_pack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace meniscus::collision {

class SurfaceGrid {
 public:
  /// Takes the vertices, edges and triangles of a mesh whose vertices are all in no body.
  void set_up(const CollisionMesh& mesh, const RepulsionSurface& surface);
  bool empty() const { return vertices_.empty(); }

  /// Sorts elements into cells: around the middles of the displacements `motion` (m; may be empty) of vertices, which reach
  /// `growth` (m) to each side. Without `edges`, only for vertices and faces.
  void fill(std::span<const mesh::Point> middles, std::span<const double> growth, std::span<const mesh::Point> motion,
            bool edges);

  Index chunks(PairKind kind) const;
  /// Calls sink(block) with pairs whose balls meet on their ways, chunk by chunk, in parallel; the first chunk has the number
  /// `first`.
  template <class Sink>
  void for_each_near(PairKind kind, Index first, Sink&& sink) const {
    const auto count = kind == PairKind::vertex_face ? vertices_.size() : edges_.size();
    parallel_for(0, static_cast<Index>(count), elements_per_chunk, [&](Index from, Index to) {
      Block block;
      block.chunk = first + from / elements_per_chunk;
      const auto flush = [&] {
        sink(PairBlock{block.chunk, {block.pairs.data(), block.size}, {block.stencils.data(), block.size}});
        block.size = 0;
      };
      simd_dispatch([&] {
        for (Index i = from; i < to; ++i) {
          if (kind == PairKind::vertex_face)
            near_vertex(i, block, flush);
          else
            near_edge(i, block, flush);
        }
      });
      if (block.size > 0) flush();
    });
  }

  Index nbytes() const;

 private:
  static constexpr Index elements_per_chunk = 512;
  /// m^2: apart at rest, however near.
  static constexpr double other_surface = 1e100;
  struct Block {
    Index chunk = 0;
    std::size_t size = 0;
    std::array<ElementPair, PairBlock::capacity> pairs;
    std::array<Stencil, PairBlock::capacity> stencils;
  };
  /// What the test of a pair reads of an element: the middle of its way, half of that, the radius of the ball around it; and
  /// the centre and radius of its circle at rest, m.
  enum Part : std::uint8_t { middle = 0, way = 3, ball = 6, rest = 7, circle = 10, surface = 11, parts = 12 };
  using Element = std::array<double, parts>;
  struct Cells {
    std::vector<std::int32_t> elements, cell, count_of, first,
        order;  ///< where packs of cells begin; elements by cell, -1 for none
    /// Elements by cell in packs: the parts of a pack follow each other.
    std::vector<double> packs;
    mesh::Point origin = mesh::Point::Zero();
    double side = 1, reach = 0;  ///< m: the latter of the largest ball on its way
    std::array<int, 3> count{1, 1, 1};
    /// Axes from that of most cells to that of fewest, along which cells follow each other: few rows are empty.
    std::array<std::size_t, 3> axes{0, 1, 2};
    void sort(std::span<const Element> all);
    Index nbytes() const;
  };
  /// Elements that go little, and the others: one that is fast does not make all others look far.
  struct Sorted {
    std::array<Cells, 2> cells;
    void sort(std::span<const Element> all);
    Index nbytes() const { return cells[0].nbytes() + cells[1].nbytes(); }
  };
  /// Calls visit(i) for elements of the cells that meet another on their ways.
  template <class Visit>
  static void each_meeting(const Cells& cells, const Element& own, double apart, Visit&& visit);
  /// The same of balls, for what has passed: an element in a pack.
  static bool balls_meet(const double* other, const Element& own) {
    const auto part = [&](std::size_t p) { return other[p * numerics::pack_size]; };
    double apart = 0, stir = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double m = part(middle + d) - own[middle + d], u = part(way + d) - own[way + d];
      apart += m * m;
      stir += u * u;
    }
    const double balls = part(ball) + own[ball] + std::sqrt(stir);
    return apart <= balls * balls;
  }
  template <class Flush>
  void near_vertex(std::size_t i, Block& block, Flush&& flush) const;
  template <class Flush>
  void near_edge(std::size_t i, Block& block, Flush&& flush) const;

  std::vector<std::int32_t> vertices_;
  std::vector<CollisionMesh::Edge> edges_;
  std::vector<mesh::Triangle> triangles_;
  std::vector<std::int32_t> edge_numbers_, triangle_numbers_;
  std::vector<Element> of_vertices_, of_edges_, of_triangles_;
  Sorted triangle_cells_, edge_cells_;
  double apart_ = 0;  ///< m, along a surface
};

template <class Visit>
void SurfaceGrid::each_meeting(const Cells& cells, const Element& own, double apart, Visit&& visit) {
  using numerics::Pack;
  if (cells.elements.empty()) return;
  const double reach =
      cells.reach + own[ball] + std::sqrt(own[way] * own[way] + own[way + 1] * own[way + 1] + own[way + 2] * own[way + 2]);
  std::array<int, 3> low{}, high{};
  for (std::size_t d = 0; d < 3; ++d) {
    const double at = own[middle + cells.axes[d]] - cells.origin[static_cast<Eigen::Index>(cells.axes[d])];
    low[d] = static_cast<int>(std::clamp((at - reach) / cells.side, 0.0, cells.count[d] - 1.0));
    high[d] = static_cast<int>(std::clamp((at + reach) / cells.side, 0.0, cells.count[d] - 1.0));
  }
  for (int x = low[0]; x <= high[0]; ++x)
    for (int y = low[1]; y <= high[1]; ++y) {
      const Index row = (x * cells.count[1] + y) * cells.count[2];
      const Index begin = cells.first[row + low[2]];
      const Index end = cells.first[row + high[2] + 1];
      for (Index k = begin; k < end; ++k) {
        const double* const pack = cells.packs.data() + k * parts * numerics::pack_size;
        const auto part = [&](std::size_t p) {
          Pack v;
          std::memcpy(&v, pack + p * numerics::pack_size, sizeof v);
          return v;
        };
        // Boxes, axis by axis, around the way of one as seen from the other, and circles at rest: what is negative meets. Without
        // roots and masks, which cost more than all the rest.
        const Pack balls = part(ball) + own[ball], least = part(circle) + (own[circle] + apart);
        Pack excess = least * least - other_surface * numerics::abs(part(surface) - own[surface]);
        for (std::size_t d = 0; d < 3; ++d) {
          const Pack r = part(rest + d) - own[rest + d];
          excess -= r * r;
        }
        for (std::size_t d = 0; d < 3; ++d)
          excess = numerics::max(
              excess, numerics::abs(part(middle + d) - own[middle + d]) - balls - numerics::abs(part(way + d) - own[way + d]));
        std::array<double, numerics::pack_size> found;
        std::memcpy(found.data(), &excess, sizeof excess);
        for (std::size_t i = 0; i < numerics::pack_size; ++i)
          if (found[i] < 0 && balls_meet(pack + i, own)) visit(cells.order[k * numerics::pack_size + i]);
      }
    }
}

template <class Flush>
void SurfaceGrid::near_vertex(std::size_t i, Block& block, Flush&& flush) const {
  const std::int32_t v = vertices_[i];
  const auto visit = [&](std::size_t other) {
    const mesh::Triangle& t = triangles_[other];
    if (v == t[0] || v == t[1] || v == t[2]) return;
    block.pairs[block.size] = {v, triangle_numbers_[other]};
    block.stencils[block.size++] = {v, t[0], t[1], t[2]};
    if (block.size == PairBlock::capacity) flush();
  };
  for (const Cells& cells : triangle_cells_.cells) each_meeting(cells, of_vertices_[i], apart_, visit);
}

template <class Flush>
void SurfaceGrid::near_edge(std::size_t i, Block& block, Flush&& flush) const {
  const CollisionMesh::Edge& a = edges_[i];
  const auto visit = [&](std::size_t other) {
    const CollisionMesh::Edge& b = edges_[other];
    if (other <= i || a[0] == b[0] || a[0] == b[1] || a[1] == b[0] || a[1] == b[1]) return;
    block.pairs[block.size] = {edge_numbers_[i], edge_numbers_[other]};
    block.stencils[block.size++] = {a[0], a[1], b[0], b[1]};
    if (block.size == PairBlock::capacity) flush();
  };
  for (const Cells& cells : edge_cells_.cells) each_meeting(cells, of_edges_[i], apart_, visit);
}

}  // namespace meniscus::collision
