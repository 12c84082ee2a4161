#include "meniscus/coupling/shell_water/marker_correction.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/walls/one_sided.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <cmath>
#include <map>

namespace meniscus::coupling {

template <class T, int D>
std::array<Index, 2> correct_past_walls(grid::Field<T, D>& phi, const grid::ThinWalls<D>& walls,
                                        std::span<const Vec<double, D>> points, std::span<const double> levels,
                                        std::span<const std::int8_t> signs, std::span<const double> radii,
                                        double escape_distance) {
  constexpr std::uint32_t corners = 1u << D;
  const grid::Grid<D>& grid = phi.grid();
  require(grid == walls.grid(), "the walls must have the grid of the level set");
  struct Extremes {
    double upper, lower;
  };
  const grid::FieldView<T, D> view = phi.view();
  const Coord<D> strides = c_strides<D>(phi.extents());
  std::map<Index, Extremes> changed;
  std::array<Index, 2> escaped{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double s = signs[i];
    if (!(-s * levels[i] > escape_distance * radii[i])) continue;
    ++escaped[s > 0];
    std::array<Vec<double, D>, corners> place;
    std::array<Coord<D>, corners> sample;
    std::array<bool, corners> within;
    for (std::uint32_t q = 0; q < corners; ++q) {
      within[q] = true;
      Coord<D> c;
      for (int d = 0; d < D; ++d) {
        const Index axis = d;
        c[axis] = static_cast<Index>(std::floor((points[i][d] - grid.origin()[d]) / grid.spacing() - 0.5)) + ((q >> axis) & 1u);
        sample[q][axis] = grid::image_of_sample<D>(grid, phi.stagger(), d, c[axis]);
        within[q] &= sample[q][axis] >= 0;
      }
      place[q] = grid::sample_position<D>(grid, phi.stagger(), c);
    }
    const bool clear = grid::sees_all_corners<D>(walls, {points[i], points[i]});
    const std::uint32_t hidden = clear ? 0u : walls.hidden(points[i], place.data(), static_cast<int>(corners), nullptr);
    for (std::uint32_t q = 0; q < corners; ++q) {
      if (!within[q] || ((hidden >> q) & 1u)) continue;
      const auto own = static_cast<double>(*view.at(sample[q]));
      Extremes& e = changed.try_emplace(dot<D>(sample[q], strides), Extremes{own, own}).first->second;
      const double ball = s * (radii[i] - (place[q] - points[i]).norm());
      if (s > 0)
        e.upper = std::max(e.upper, ball);
      else
        e.lower = std::min(e.lower, ball);
    }
  }
  for (const auto& [i, e] : changed)
    *view.at(surface::index_of<D>(i, strides)) = static_cast<T>(std::abs(e.upper) <= std::abs(e.lower) ? e.upper : e.lower);
  return escaped;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                 \
  template std::array<Index, 2> correct_past_walls<T, D>(grid::Field<T, D>&, const grid::ThinWalls<D>&,            \
                                                         std::span<const Vec<double, D>>, std::span<const double>, \
                                                         std::span<const std::int8_t>, std::span<const double>, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
