#include "meniscus/coupling/shell_water/wall_extension.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::coupling {

template <class T, int D>
Index extend_past_walls(grid::Field<T, D>& component, int axis, const grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls,
                        const std::uint8_t* source, std::uint8_t* known, Index reach) {
  require(component.grid() == walls.grid() && phi.grid() == walls.grid(), "velocity, level set and walls must have one grid");
  const grid::Grid<D>& grid = walls.grid();
  const Coord<D> extents = component.extents(), strides = c_strides<D>(extents);
  const Index a = axis;
  const grid::FieldView<T, D> u = component.view();
  const grid::FieldView<const T, D> level = phi.view();

  const auto level_at = [&](const Coord<D>& face) {
    Coord<D> upper = face, lower = face;
    --lower[a];
    // Beside a side of the domain the one cell that is there tells.
    const Index above = grid::image_of_cell<D>(grid, axis, upper[a]), below = grid::image_of_cell<D>(grid, axis, lower[a]);
    upper[a] = above < 0 ? below : above;
    lower[a] = below < 0 ? above : below;
    return 0.5 * (static_cast<double>(*level.at(lower)) + static_cast<double>(*level.at(upper)));
  };
  struct Open {
    double phi;
    Index face;
  };
  std::vector<Open> open;
  std::vector<std::uint8_t> waits(product<D>(extents));
  for (Index i = 0; i < product<D>(extents); ++i) {
    const Coord<D> c = surface::index_of<D>(i, strides);
    if (static_cast<Index>(walls.clearance(component.stagger(), c)) > reach) continue;
    if (walls.blocked(axis, c, nullptr)) {
      known[i] = 0;
      continue;
    }
    if (source[i] || !known[i]) continue;
    open.push_back({level_at(c), i});
    waits[i] = 1;
    known[i] = 0;
  }
  std::ranges::sort(open, [](const Open& p, const Open& q) { return p.phi != q.phi ? p.phi < q.phi : p.face < q.face; });

  for (const bool any : {false, true}) {
    for (const Open& face : open) {
      if (known[face.face]) continue;
      const Coord<D> c = surface::index_of<D>(face.face, strides);
      std::array<Vec<double, D>, 2 * D> place;
      std::array<Coord<D>, 2 * D> sample;
      int count = 0;
      std::array<int, 2 * D> along{};
      for (int d = 0; d < D; ++d)
        for (const int step : {-1, 1}) {
          const Index b = d;
          Coord<D> q = c, way = c;
          q[b] += step;
          way[b] += step;
          q[b] = grid::image_of_sample<D>(grid, component.stagger(), d, q[b]);
          if (q[b] < 0) continue;
          const Index i = dot<D>(q, strides);
          if (!known[i]) continue;
          if (!any && !(level_at(q) < face.phi)) continue;
          sample[count] = q;
          along[count] = d;
          place[count] = grid::sample_position<D>(grid, component.stagger(), way);
          ++count;
        }
      if (count == 0) continue;
      const bool clear = walls.clearance(component.stagger(), c) > 1;
      const std::uint32_t hidden =
          clear ? 0u : walls.hidden(grid::sample_position<D>(grid, component.stagger(), c), place.data(), count, nullptr);
      std::array<double, D> best{}, value{};
      double sum = 0, weights = 0;
      for (int k = 0; k < count; ++k) {
        if ((hidden >> k) & 1u) continue;
        const auto i = static_cast<std::size_t>(k), b = static_cast<std::size_t>(along[i]);
        const auto v = static_cast<double>(*u.at(sample[i]));
        const double w = any ? 1.0 : face.phi - level_at(sample[i]);
        if (any) {
          sum += v;
          weights += 1;
        } else if (w > best[b]) {
          best[b] = w;
          value[b] = v;
        }
      }
      if (!any)
        for (std::size_t d = 0; d < D; ++d) {
          sum += best[d] * value[d];
          weights += best[d];
        }
      if (weights <= 0) continue;
      *u.at(c) = static_cast<T>(sum / weights);
      known[face.face] = 1;
    }
  }
  for (const Open& face : open)
    if (!known[face.face]) *u.at(surface::index_of<D>(face.face, strides)) = T(0);
  return static_cast<Index>(open.size());
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template Index extend_past_walls<T, D>(grid::Field<T, D>&, int, const grid::Field<T, D>&, const grid::ThinWalls<D>&, \
                                         const std::uint8_t*, std::uint8_t*, Index);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
