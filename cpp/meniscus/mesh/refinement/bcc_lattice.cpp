#include "meniscus/mesh/refinement/bcc_lattice.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/mesh/topology/ordering.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

constexpr Index max_nodes = 2147483647;

}  // namespace

BccLattice::BccLattice(const Point& origin, double cell, const Coord<3>& cubes) : origin_(origin), cell_(cell), cubes_(cubes) {
  require(origin.allFinite(), "the origin of a lattice must be finite");
  require(cell > 0 && std::isfinite(cell), "the cell size must be positive and finite, but is ", cell);
  double total = 2;
  for (const Index n : cubes) {
    require(n >= 1, "a lattice needs at least one cube along each axis, not ", n);
    total *= static_cast<double>(n) + 1;
  }
  require(total < static_cast<double>(max_nodes), "a lattice of ", cubes[0], " x ", cubes[1], " x ", cubes[2],
          " cubes is too large: take a larger cell size");
  corners_ = (cubes[0] + 1) * (cubes[1] + 1) * (cubes[2] + 1);
}

BccLattice BccLattice::covering(const Point& lower, const Point& upper, double cell) {
  require(lower.allFinite() && upper.allFinite() && (lower.array() <= upper.array()).all(),
          "the box to cover must be finite, with its lower corner below the upper one");
  require(cell > 0 && std::isfinite(cell), "the cell size must be positive and finite, but is ", cell);
  Point origin;
  Coord<3> cubes{};
  for (int d = 0; d < 3; ++d) {
    const double first = std::floor(lower[d] / cell) - 1;
    const double last = std::ceil(upper[d] / cell) + 1;
    require(last - first < static_cast<double>(max_nodes), "the cell size ", cell, " is too small for the box");
    origin[d] = first * cell;
    cubes[d] = static_cast<Index>(last - first);
  }
  return {origin, cell, cubes};
}

Point BccLattice::position(Index node) const {
  const bool centre = node >= corners_;
  const Index i = centre ? node - corners_ : node;
  const Index ny = cubes_[1] + (centre ? 0 : 1);
  const Index nz = cubes_[2] + (centre ? 0 : 1);
  const double shift = centre ? 0.5 : 0.0;
  const auto at = [&](Index k) { return (static_cast<double>(k) + shift) * cell_; };
  return origin_ + Point(at(i / (ny * nz)), at(i / nz % ny), at(i % nz));
}

TetMeshData BccLattice::mesh(const std::function<bool(const std::array<Index, 4>&)>& wanted, std::vector<Index>* source) const {
  const Coord<3> corner_strides = c_strides<3>({cubes_[0] + 1, cubes_[1] + 1, cubes_[2] + 1});
  const Coord<3> cube_strides = c_strides<3>(cubes_);
  TetMeshData result;
  std::vector<std::int32_t> number(nodes(), -1);
  std::vector<Index> used;
  const auto numbered = [&](Index node) {
    std::int32_t& n = number[node];
    if (n < 0) {
      n = static_cast<std::int32_t>(used.size());
      used.push_back(node);
    }
    return n;
  };
  for (std::size_t d = 0; d < 3; ++d) {
    // Around axis d, the axes e and f go counter-clockwise.
    const std::size_t e = (d + 1) % 3;
    const std::size_t f = (d + 2) % 3;
    Coord<3> c{};
    for (c[0] = 0; c[0] < cubes_[0]; ++c[0])
      for (c[1] = 0; c[1] < cubes_[1]; ++c[1])
        for (c[2] = 0; c[2] < cubes_[2]; ++c[2]) {
          if (c[d] + 1 == cubes_[d]) continue;
          const Index below = corners_ + dot<3>(c, cube_strides);
          const Index above = below + cube_strides[d];
          const Index p = dot<3>(c, corner_strides) + corner_strides[d];
          const std::array<Index, 4> around{p, p + corner_strides[e], p + corner_strides[e] + corner_strides[f],
                                            p + corner_strides[f]};
          for (std::size_t k = 0; k < 4; ++k) {
            const std::array<Index, 4> tet{below, above, around[k], around[(k + 1) % 4]};
            if (!wanted(tet)) continue;
            Tet t;
            for (std::size_t i = 0; i < 4; ++i) t[i] = numbered(tet[i]);
            result.tets.push_back(t);
          }
        }
  }
  require(result.tets.size() < std::size_t{1} << 29, "the lattice has ", result.tets.size(),
          " tetrahedra, which are too many: take a larger cell size");
  result.vertices.reserve(used.size());
  for (const Index node : used) result.vertices.push_back(position(node));
  const std::vector<std::int32_t> former = sort_along_curve(result);
  if (source) {
    source->clear();
    for (const std::int32_t v : former) source->push_back(used[v]);
  }
  return result;
}

TetMeshData BccLattice::mesh() const {
  return mesh([](const std::array<Index, 4>&) { return true; });
}

std::vector<std::int32_t> sort_along_curve(TetMeshData& mesh) {
  std::vector<Point> kept;
  std::vector<std::int32_t> source;
  std::vector<bool> used(mesh.vertices.size(), false);
  for (const Tet& t : mesh.tets)
    for (const std::int32_t v : t) used[v] = true;
  for (std::size_t v = 0; v < used.size(); ++v)
    if (used[v]) {
      kept.push_back(mesh.vertices[v]);
      source.push_back(static_cast<std::int32_t>(v));
    }
  const std::vector<std::int32_t> order = morton_order(kept);
  std::vector<std::int32_t> number(mesh.vertices.size(), -1);
  std::vector<std::int32_t> former(order.size());
  std::vector<Point> vertices(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Index k = order[i];
    vertices[i] = kept[k];
    former[i] = source[k];
    number[source[k]] = static_cast<std::int32_t>(i);
  }
  std::vector<Point> centres;
  centres.reserve(mesh.tets.size());
  for (Tet& t : mesh.tets) {
    for (std::int32_t& v : t) v = number[v];
    Point sum = Point::Zero();
    for (const std::int32_t v : t) sum += vertices[v];
    centres.push_back(0.25 * sum);
  }
  std::vector<Tet> tets;
  tets.reserve(mesh.tets.size());
  for (const std::int32_t t : morton_order(centres)) tets.push_back(mesh.tets[t]);
  mesh.vertices = std::move(vertices);
  mesh.tets = std::move(tets);
  return former;
}

}  // namespace meniscus::mesh
