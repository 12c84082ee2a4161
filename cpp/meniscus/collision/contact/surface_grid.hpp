/// Pairs of elements of soft surfaces near each other, by a grid of their vertices and of the middles of their edges; without
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

#include <algorithm>
#include <array>

namespace meniscus::collision {

class SurfaceGrid {
 public:
  /// Takes the vertices, edges and triangles of a mesh whose vertices are all in no body.
  void set_up(const CollisionMesh& mesh, const RepulsionSurface& surface);
  bool empty() const { return vertices_.empty(); }

  /// Sorts elements into cells. Vertices reach `growth` (m) to each side of their places.
  void fill(std::span<const mesh::Point> places, std::span<const double> growth);

  Index chunks(PairKind kind) const;
  /// Calls sink(block) with pairs whose boxes overlap, chunk by chunk, in parallel; the first chunk has the number `first`.
  template <class Sink>
  void for_each_near(PairKind kind, Index first, Sink&& sink) const {
    const auto count = kind == PairKind::vertex_face ? triangles_.size() : edges_.size();
    parallel_for(0, static_cast<Index>(count), elements_per_chunk, [&](Index from, Index to) {
      Block block;
      block.chunk = first + from / elements_per_chunk;
      for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
        const auto flush = [&] {
          sink(PairBlock{block.chunk, {block.pairs.data(), block.size}, {block.stencils.data(), block.size}});
          block.size = 0;
        };
        if (kind == PairKind::vertex_face)
          near_triangle(i, block, flush);
        else
          near_edge(i, block, flush);
        if (i + 1 == static_cast<std::size_t>(to) && block.size > 0) flush();
      }
    });
  }

  Index nbytes() const;

 private:
  static constexpr Index elements_per_chunk = 512;
  struct Block {
    Index chunk = 0;
    std::size_t size = 0;
    std::array<ElementPair, PairBlock::capacity> pairs;
    std::array<Stencil, PairBlock::capacity> stencils;
  };
  /// An element in its cell: its box, and its circle at rest.
  struct Item {
    mesh::Box box;
    mesh::Point rest;
    double radius;
    std::int32_t number, index, component;  ///< in the mesh, and here
  };
  struct Cells {
    std::vector<Item> items, sorted;
    std::vector<std::int32_t> cell, first;
    mesh::Point origin = mesh::Point::Zero();
    double side = 1, reach = 0;  ///< of the largest box around its middle
    std::array<int, 3> count{1, 1, 1};
    void sort();
    template <class Visit>
    void each_in(const mesh::Box& box, Visit&& visit) const;
  };
  template <class Flush>
  void near_triangle(std::size_t i, Block& block, Flush&& flush) const;
  template <class Flush>
  void near_edge(std::size_t i, Block& block, Flush&& flush) const;
  template <class Add>
  static void add_box(const Add& vertices, std::span<const mesh::Point> places, std::span<const double> growth, mesh::Box& box) {
    box = {};
    for (const std::int32_t v : vertices) {
      const auto& x = places[static_cast<std::size_t>(v)];
      const double g = growth[static_cast<std::size_t>(v)];
      box.low = box.low.cwiseMin(mesh::Point(x.array() - g));
      box.high = box.high.cwiseMax(mesh::Point(x.array() + g));
    }
  }

  std::vector<std::int32_t> vertices_;
  std::vector<CollisionMesh::Edge> edges_;
  std::vector<mesh::Triangle> triangles_;
  std::vector<std::int32_t> edge_numbers_, triangle_numbers_;
  Cells of_vertices_, of_edges_;
  std::vector<Item> of_triangles_;
  double apart_ = 0;  ///< m, along a surface
};

template <class Visit>
void SurfaceGrid::Cells::each_in(const mesh::Box& box, Visit&& visit) const {
  std::array<int, 3> low{}, high{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto e = static_cast<Eigen::Index>(d);
    low[d] = static_cast<int>(std::clamp((box.low[e] - reach - origin[e]) / side, 0.0, count[d] - 1.0));
    high[d] = static_cast<int>(std::clamp((box.high[e] + reach - origin[e]) / side, 0.0, count[d] - 1.0));
  }
  for (int x = low[0]; x <= high[0]; ++x)
    for (int y = low[1]; y <= high[1]; ++y) {
      const auto row = static_cast<std::size_t>((x * count[1] + y) * count[2]);
      const std::int32_t end = first[row + static_cast<std::size_t>(high[2]) + 1];
      for (std::int32_t k = first[row + static_cast<std::size_t>(low[2])]; k < end; ++k)
        if (const Item& item = sorted[static_cast<std::size_t>(k)]; item.box.overlaps(box)) visit(item);
    }
}

template <class Flush>
void SurfaceGrid::near_triangle(std::size_t i, Block& block, Flush&& flush) const {
  const Item& own = of_triangles_[i];
  const mesh::Triangle& t = triangles_[i];
  of_vertices_.each_in(own.box, [&](const Item& v) {
    if (v.component == own.component) {
      const double least = apart_ + own.radius;
      if ((v.rest - own.rest).squaredNorm() <= least * least) return;
    }
    block.pairs[block.size] = {v.number, own.number};
    block.stencils[block.size++] = {v.number, t[0], t[1], t[2]};
    if (block.size == PairBlock::capacity) flush();
  });
}

template <class Flush>
void SurfaceGrid::near_edge(std::size_t i, Block& block, Flush&& flush) const {
  const Item& own = of_edges_.items[i];
  of_edges_.each_in(own.box, [&](const Item& other) {
    if (other.number <= own.number) return;
    if (other.component == own.component) {
      const double least = apart_ + own.radius + other.radius;
      if ((other.rest - own.rest).squaredNorm() <= least * least) return;
    }
    const auto &a = edges_[i], &b = edges_[static_cast<std::size_t>(other.index)];
    block.pairs[block.size] = {own.number, other.number};
    block.stencils[block.size++] = {a[0], a[1], b[0], b[1]};
    if (block.size == PairBlock::capacity) flush();
  });
}

}  // namespace meniscus::collision
