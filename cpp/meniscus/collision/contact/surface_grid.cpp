#include "meniscus/collision/contact/surface_grid.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace meniscus::collision {
namespace {

constexpr Index items_per_piece = 2048;
constexpr int most_cells_along = 256;
/// Elements that go more than this multiple of the mean way are fast.
constexpr double much_more = 2;
/// Cells for each element, at most.
constexpr double most_cells = 8;

}  // namespace

void SurfaceGrid::set_up(const CollisionMesh& mesh, const RepulsionSurface& of) {
  vertices_.clear();
  edges_.clear();
  triangles_.clear();
  edge_numbers_.clear();
  triangle_numbers_.clear();
  const auto soft = [&](const auto& element) {
    return std::ranges::all_of(element, [&](std::int32_t v) { return of.body[v] < 0; });
  };
  for (std::size_t v = 0; v < of.body.size(); ++v)
    if (of.body[v] < 0) vertices_.push_back(static_cast<std::int32_t>(v));
  for (std::size_t e = 0; e < mesh.edges().size(); ++e)
    if (soft(mesh.edges()[e])) edges_.push_back(mesh.edges()[e]), edge_numbers_.push_back(static_cast<std::int32_t>(e));
  for (std::size_t t = 0; t < mesh.triangles().size(); ++t)
    if (soft(mesh.triangles()[t]))
      triangles_.push_back(mesh.triangles()[t]), triangle_numbers_.push_back(static_cast<std::int32_t>(t));
  const auto at_rest = [&](std::int32_t v) -> const mesh::Point& { return of.rest[v]; };
  const auto element = [&](std::span<const std::int32_t> v) {
    mesh::Point centre = mesh::Point::Zero();
    for (const std::int32_t k : v) centre += at_rest(k) / static_cast<double>(v.size());
    Element out{};
    for (Index d = 0; d < 3; ++d) out[rest + d] = centre[d];
    for (const std::int32_t k : v) out[circle] = std::max(out[circle], (at_rest(k) - centre).norm());
    out[surface] = of.component[v[0]];
    return out;
  };
  of_vertices_.clear();
  of_edges_.clear();
  of_triangles_.clear();
  double thickest = 0;
  for (const std::int32_t& v : vertices_) {
    of_vertices_.push_back(element({&v, 1}));
    thickest = std::max(thickest, of.thickness[v]);
  }
  for (const auto& e : edges_) of_edges_.push_back(element(e));
  for (const auto& t : triangles_) of_triangles_.push_back(element(t));
  apart_ = 0.5 * std::numbers::pi * thickest;
}

void SurfaceGrid::Sorted::sort(std::span<const Element> all) {
  const auto length = [](const Element& e) { return mesh::Point(e[way], e[way + 1], e[way + 2]).norm(); };
  double mean = 0;
  for (const Element& e : all) mean += length(e);
  mean /= std::max<double>(1, static_cast<double>(all.size()));
  for (Cells& c : cells) c.elements.clear();
  for (std::size_t i = 0; i < all.size(); ++i)
    cells[length(all[i]) > much_more * mean ? 1 : 0].elements.push_back(static_cast<std::int32_t>(i));
  for (Cells& c : cells) c.sort(all);
}

void SurfaceGrid::Cells::sort(std::span<const Element> every) {
  const std::size_t n = elements.size();
  mesh::Box all;
  reach = 0;
  const auto at = [&](std::size_t i) -> const Element& { return every[elements[i]]; };
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Element& e = at(i);
    all.add(mesh::Point(e[middle], e[middle + 1], e[middle + 2]));
    const double far = e[ball] + mesh::Point(e[way], e[way + 1], e[way + 2]).norm();
    reach = std::max(reach, far);
    mean += far / static_cast<double>(n);
  }
  if (n == 0) return;
  origin = all.low;
  const mesh::Point size = all.high - all.low;
  axes = {0, 1, 2};
  std::ranges::sort(axes, [&](std::size_t a, std::size_t b) {
    const double p = size[static_cast<Eigen::Index>(a)], q = size[static_cast<Eigen::Index>(b)];
    return p != q ? p > q : a < b;
  });
  side = std::max({2 * mean, size.maxCoeff() / most_cells_along, 1e-300});
  const auto cells_along = [&] {
    double product = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      count[d] = static_cast<int>(std::min(size[static_cast<Eigen::Index>(axes[d])] / side, 1.0 * most_cells_along)) + 1;
      product *= count[d];
    }
    return product;
  };
  while (cells_along() > most_cells * static_cast<double>(n) + 64) side *= 1.5;
  cell.resize(n);
  first.assign(static_cast<std::size_t>(count[0]) * static_cast<std::size_t>(count[1] * count[2]) + 1, 0);
  count_of.assign(first.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    std::array<int, 3> c{};
    for (std::size_t d = 0; d < 3; ++d)
      c[d] = std::clamp(static_cast<int>((at(i)[middle + axes[d]] - origin[static_cast<Eigen::Index>(axes[d])]) / side), 0,
                        count[d] - 1);
    cell[i] = (c[0] * count[1] + c[1]) * count[2] + c[2];
    ++count_of[cell[i]];
  }
  constexpr std::int32_t width = numerics::pack_size;
  for (std::size_t c = 0; c + 1 < first.size(); ++c) {
    first[c + 1] = first[c] + (count_of[c] + width - 1) / width;
    count_of[c] = width * first[c];
  }
  order.assign(width * first.back(), -1);
  packs.resize(order.size() * parts);
  for (std::size_t i = 0; i < n; ++i) order[count_of[cell[i]]++] = elements[i];
  // What fills the packs meets nothing.
  Element none{};
  none[ball] = -std::numeric_limits<double>::max();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Element& e = order[k] < 0 ? none : every[order[k]];
    for (std::size_t p = 0; p < parts; ++p)
      packs[(k / numerics::pack_size * parts + p) * numerics::pack_size + k % numerics::pack_size] = e[p];
  }
}

void SurfaceGrid::fill(std::span<const mesh::Point> middles, std::span<const double> growth, std::span<const mesh::Point> motion,
                       bool edges) {
  const auto place = [&](std::vector<Element>& elements, const auto& vertices_of) {
    parallel_for(0, static_cast<Index>(elements.size()), items_per_piece, [&](Index from, Index to) {
      for (Index i = from; i < to; ++i) {
        const auto vertices = vertices_of(i);
        const double part = 1.0 / static_cast<double>(vertices.size());
        mesh::Point x = mesh::Point::Zero(), u = x;
        for (const std::int32_t v : vertices) {
          x += part * middles[v];
          if (!motion.empty()) u += 0.5 * part * motion[v];
        }
        double radius = 0;
        for (const std::int32_t v : vertices) {
          const Index k = v;
          const double stir = motion.empty() ? 0.0 : (0.5 * motion[k] - u).norm();
          radius = std::max(radius, (middles[k] - x).norm() + stir + growth[k]);
        }
        Element& e = elements[i];
        for (Index d = 0; d < 3; ++d) {
          e[middle + d] = x[d];
          e[way + d] = u[d];
        }
        // With what rounding may take away.
        e[ball] = (1 + 1e-12) * radius;
      }
    });
  };
  place(of_vertices_, [&](std::size_t i) { return std::array{vertices_[i]}; });
  if (edges) place(of_edges_, [&](std::size_t i) { return edges_[i]; });
  place(of_triangles_, [&](std::size_t i) { return triangles_[i]; });
  parallel_for(0, edges ? 2 : 1, 1,
               [&](Index k, Index) { k == 0 ? triangle_cells_.sort(of_triangles_) : edge_cells_.sort(of_edges_); });
}

Index SurfaceGrid::chunks(PairKind kind) const {
  const std::size_t n = kind == PairKind::vertex_face ? vertices_.size() : edges_.size();
  return (static_cast<Index>(n) + elements_per_chunk - 1) / elements_per_chunk;
}

Index SurfaceGrid::nbytes() const {
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  return bytes(vertices_) + bytes(edges_) + bytes(triangles_) + bytes(edge_numbers_) + bytes(triangle_numbers_) +
         bytes(of_vertices_) + bytes(of_edges_) + bytes(of_triangles_) + triangle_cells_.nbytes() + edge_cells_.nbytes();
}

Index SurfaceGrid::Cells::nbytes() const {
  return static_cast<Index>((elements.capacity() + cell.capacity() + count_of.capacity() + first.capacity() + order.capacity()) *
                                sizeof(std::int32_t) +
                            packs.capacity() * sizeof(double));
}

}  // namespace meniscus::collision
