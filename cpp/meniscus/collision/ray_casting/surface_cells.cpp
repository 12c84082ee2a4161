#include "meniscus/collision/ray_casting/surface_cells.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>

namespace meniscus::collision {
namespace {

constexpr Index covered_chunk = 256;
constexpr Index face_chunk = 1024;

Index clamped_cell(double x, Index cells) {
  return static_cast<Index>(std::floor(std::clamp(x, 0.0, static_cast<double>(cells - 1))));
}

double largest(const mesh::Point& p) { return p.cwiseAbs().maxCoeff(); }

mesh::Point upper_corner(const CellGrid& g) {
  return g.low + g.spacing * mesh::Point(static_cast<double>(g.shape[0]), static_cast<double>(g.shape[1]),
                                         static_cast<double>(g.shape[2]));
}

void require_grid(const CellGrid& g) {
  require(g.low.allFinite(), "the grid's lowest corner must be finite");
  require(std::isfinite(g.spacing) && g.spacing > 0, "spacing must be positive and finite, not ", g.spacing);
  for (const Index n : g.shape) require(n >= 1, "a grid must have at least one cell along each axis, not ", n);
}

/// The faces across an axis: one more than cells.
Coord<3> faces_across(const CellGrid& g, int axis) {
  Coord<3> n = g.shape;
  ++n[axis];
  return n;
}

Coord<3> coordinates(Index i, const Coord<3>& n) { return {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]}; }

}  // namespace

void near_cells(const ThickSurface& surface, const mesh::Point* end, const CellGrid& grid, double reach,
                std::span<std::uint8_t> out) {
  require_grid(grid);
  require(std::isfinite(reach) && reach >= 0, "reach must be finite and not negative, not ", reach);
  const Coord<3> strides = c_strides<3>(grid.shape);
  parallel_for(0, static_cast<Index>(out.size()), 65536,
               [&](Index b, Index e) { std::fill(out.begin() + b, out.begin() + e, 0); });
  const double grid_size = std::max(largest(grid.low), largest(upper_corner(grid))) + reach;
  const auto triangles = surface.triangles();
  parallel_for(0, static_cast<Index>(triangles.size()), covered_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) {
      const mesh::Triangle& corners = triangles[t];
      const auto at = [&](std::size_t k) -> const mesh::Point& { return surface.vertices()[corners[k]]; };
      mesh::Box box = surface.triangle_box(t);
      if (end)
        for (const std::int32_t v : corners) box.add(end[v]);
      // Greater than what a query's wedge reaches, and than the round-off of cells.
      const double size = std::max({grid_size, largest(box.low), largest(box.high)});
      const double wide = surface.radius() + reach + 0x1p-42 * (size + surface.radius());
      if (((box.low.array() - wide) > upper_corner(grid).array()).any() || ((box.high.array() + wide) < grid.low.array()).any())
        continue;
      Coord<3> first;
      Coord<3> last;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto k = static_cast<Index>(d);
        first[d] = clamped_cell((box.low[k] - wide - grid.low[k]) / grid.spacing, grid.shape[d]);
        last[d] = clamped_cell((box.high[k] + wide - grid.low[k]) / grid.spacing, grid.shape[d]);
      }
      // A large slanted triangle crosses few of the cells of its box: those near its plane.
      const mesh::Point normal = end ? mesh::Point::Zero() : WedgeTriangle::of(at(0), at(1), at(2)).normal;
      const double across = (0.5 * grid.spacing + wide) * normal.cwiseAbs().sum();
      for (Index i = first[0]; i <= last[0]; ++i)
        for (Index j = first[1]; j <= last[1]; ++j)
          for (Index k = first[2]; k <= last[2]; ++k) {
            if (std::abs(normal.dot(grid.center({i, j, k}) - at(0))) > across) continue;
            // Several triangles may mark one cell at a time.
            std::atomic_ref<std::uint8_t>(out[dot<3>({i, j, k}, strides)]).store(1, std::memory_order_relaxed);
          }
    }
  });
}

std::vector<BlockedFace> visible_faces(const ThickSurface& surface, const CellGrid& grid, bool guarded,
                                       const std::array<std::span<std::uint8_t>, 3>& clear) {
  require_grid(grid);
  std::vector<std::uint8_t> marked(product<3>(grid.shape), 1);
  if (guarded) near_cells(surface, nullptr, grid, 0.5 * grid.spacing, marked);
  const Coord<3> strides = c_strides<3>(grid.shape);
  std::vector<BlockedFace> blocked;
  for (int axis = 0; axis < 3; ++axis) {
    const Index d = axis;
    const Coord<3> n = faces_across(grid, axis);
    const auto ends = [&](Index i) {
      Coord<3> after = coordinates(i, n);
      Coord<3> before = after;
      --before[d];
      return std::pair{before, after};
    };
    parallel_for(0, n[0] * n[1], std::max<Index>(1, face_chunk / n[2]), [&](Index b, Index e) {
      for (Index row = b; row < e; ++row) {
        Coord<3> cell{row / n[1], row % n[1], 0};
        // Either cell will do: the segment is within half a cell of both.
        if (axis < 2 && cell[d] > 0) --cell[d];
        const std::uint8_t* ask = marked.data() + dot<3>(cell, strides);
        for (Index k = 0; k < n[2]; ++k) {
          const Index i = row * n[2] + k;
          clear[d][i] = 1;
          if (!ask[axis == 2 && k > 0 ? k - 1 : k]) continue;
          const auto [before, after] = ends(static_cast<Index>(i));
          clear[d][i] = surface.visible(grid.center(before), grid.center(after));
        }
      }
    });
    const std::size_t first = blocked.size();
    for (Index i = 0; i < product<3>(n); ++i)
      if (!clear[d][i]) blocked.push_back({axis, coordinates(i, n), {}});
    parallel_for(static_cast<Index>(first), static_cast<Index>(blocked.size()), 64, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        Coord<3> before = blocked[i].face;
        --before[d];
        blocked[i].hit = surface.cast(grid.center(before), grid.center(blocked[i].face));
      }
    });
  }
  return blocked;
}

}  // namespace meniscus::collision
