#include "meniscus/collision/contact/surface_grid.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus::collision {
namespace {

constexpr Index items_per_piece = 2048;
constexpr int most_cells_along = 256;
/// Cells for each element, at most.
constexpr double most_cells = 8;

}  // namespace

void SurfaceGrid::set_up(const CollisionMesh& mesh, const RepulsionSurface& surface) {
  vertices_.clear();
  edges_.clear();
  triangles_.clear();
  edge_numbers_.clear();
  triangle_numbers_.clear();
  const auto soft = [&](const auto& element) {
    return std::ranges::all_of(element, [&](std::int32_t v) { return surface.body[static_cast<std::size_t>(v)] < 0; });
  };
  for (std::size_t v = 0; v < surface.body.size(); ++v)
    if (surface.body[v] < 0) vertices_.push_back(static_cast<std::int32_t>(v));
  for (std::size_t e = 0; e < mesh.edges().size(); ++e)
    if (soft(mesh.edges()[e])) edges_.push_back(mesh.edges()[e]), edge_numbers_.push_back(static_cast<std::int32_t>(e));
  for (std::size_t t = 0; t < mesh.triangles().size(); ++t)
    if (soft(mesh.triangles()[t])) triangles_.push_back(mesh.triangles()[t]), triangle_numbers_.push_back(static_cast<std::int32_t>(t));
  const auto rest = [&](std::int32_t v) -> const mesh::Point& { return surface.rest[static_cast<std::size_t>(v)]; };
  const auto item = [&](std::span<const std::int32_t> v, std::int32_t number, std::size_t index) {
    Item out{{}, mesh::Point::Zero(), 0, number, static_cast<std::int32_t>(index), surface.component[static_cast<std::size_t>(v[0])]};
    for (const std::int32_t k : v) out.rest += rest(k) / static_cast<double>(v.size());
    for (const std::int32_t k : v) out.radius = std::max(out.radius, (rest(k) - out.rest).norm());
    return out;
  };
  of_vertices_.items.clear();
  of_edges_.items.clear();
  of_triangles_.clear();
  double thickest = 0;
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    of_vertices_.items.push_back(item({&vertices_[i], 1}, vertices_[i], i));
    thickest = std::max(thickest, surface.thickness[static_cast<std::size_t>(vertices_[i])]);
  }
  for (std::size_t i = 0; i < edges_.size(); ++i) of_edges_.items.push_back(item(edges_[i], edge_numbers_[i], i));
  for (std::size_t i = 0; i < triangles_.size(); ++i) of_triangles_.push_back(item(triangles_[i], triangle_numbers_[i], i));
  apart_ = 0.5 * std::numbers::pi * thickest;
}

void SurfaceGrid::Cells::sort() {
  mesh::Box all;
  double mean = 0;
  reach = 0;
  for (const Item& i : items) {
    const mesh::Point half = 0.5 * (i.box.high - i.box.low);
    all.add(mesh::Point(i.box.low + half));
    reach = std::max(reach, half.maxCoeff());
    mean += half.maxCoeff() / static_cast<double>(items.size());
  }
  origin = all.low;
  const mesh::Point size = all.high - all.low;
  side = std::max({2 * mean, size.maxCoeff() / most_cells_along, 1e-300});
  const auto cells_along = [&] {
    double product = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      count[d] = static_cast<int>(std::min(size[static_cast<Eigen::Index>(d)] / side, 1.0 * most_cells_along)) + 1;
      product *= count[d];
    }
    return product;
  };
  while (cells_along() > most_cells * static_cast<double>(items.size()) + 64) side *= 1.5;
  cell.resize(items.size());
  sorted.resize(items.size());
  first.assign(static_cast<std::size_t>(count[0]) * static_cast<std::size_t>(count[1] * count[2]) + 2, 0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::array<int, 3> c{};
    for (std::size_t d = 0; d < 3; ++d) {
      const auto e = static_cast<Eigen::Index>(d);
      c[d] = std::clamp(static_cast<int>((0.5 * (items[i].box.low[e] + items[i].box.high[e]) - origin[e]) / side), 0, count[d] - 1);
    }
    cell[i] = (c[0] * count[1] + c[1]) * count[2] + c[2];
    ++first[static_cast<std::size_t>(cell[i]) + 2];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  for (std::size_t i = 0; i < items.size(); ++i)
    sorted[static_cast<std::size_t>(first[static_cast<std::size_t>(cell[i]) + 1]++)] = items[i];
}

void SurfaceGrid::fill(std::span<const mesh::Point> places, std::span<const double> growth) {
  const auto boxes = [&](std::vector<Item>& items, const auto& vertices_of) {
    parallel_for(0, static_cast<Index>(items.size()), items_per_piece, [&](Index from, Index to) {
      for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i)
        add_box(vertices_of(i), places, growth, items[i].box);
    });
  };
  boxes(of_vertices_.items, [&](std::size_t i) { return std::array{vertices_[i]}; });
  boxes(of_edges_.items, [&](std::size_t i) { return edges_[i]; });
  boxes(of_triangles_, [&](std::size_t i) { return triangles_[i]; });
  parallel_for(0, 2, 1, [&](Index k, Index) { (k == 0 ? of_vertices_ : of_edges_).sort(); });
}

Index SurfaceGrid::chunks(PairKind kind) const {
  const std::size_t n = kind == PairKind::vertex_face ? triangles_.size() : edges_.size();
  return (static_cast<Index>(n) + elements_per_chunk - 1) / elements_per_chunk;
}

Index SurfaceGrid::nbytes() const {
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  Index sum = bytes(vertices_) + bytes(edges_) + bytes(triangles_) + bytes(edge_numbers_) + bytes(triangle_numbers_) + bytes(of_triangles_);
  for (const Cells* c : {&of_vertices_, &of_edges_}) sum += bytes(c->items) + bytes(c->sorted) + bytes(c->cell) + bytes(c->first);
  return sum;
}

}  // namespace meniscus::collision
