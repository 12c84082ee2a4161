#include "meniscus/coupling/shell_water/velocity_past_walls.hpp"

#include "meniscus/coupling/shell_water/sample_corners.hpp"

namespace meniscus::coupling {

namespace {

/// The corners around a place of all components, and which of them the eye does not see, component by component: one question.
template <class T, int D>
std::uint32_t velocity_corners(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                               const grid::OneSidedPlace<D>& at, std::array<SampleCorners<D>, D>& corners) {
  constexpr std::size_t n = SampleCorners<D>::count;
  std::array<Vec<double, D>, D * n> place;
  for (std::size_t d = 0; d < D; ++d) {
    corners[d].template find<T>(velocity.component[d], walls.grid(), at.place);
    std::copy_n(corners[d].place.begin(), n, place.begin() + static_cast<std::ptrdiff_t>(d * n));
  }
  return grid::sees_all_corners(walls, at) ? 0u : walls.hidden(at.eye, place.data(), static_cast<int>(D * n), nullptr);
}

}  // namespace

template <class T, int D>
Vec<double, D> velocity_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const grid::OneSidedPlace<D>& at) {
  constexpr std::size_t n = SampleCorners<D>::count;
  std::array<SampleCorners<D>, D> corners;
  const std::uint32_t hidden = velocity_corners<T, D>(velocity, walls, at, corners);
  Vec<double, D> u;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    u[d] = corners[axis].mean((hidden >> (axis * n)) & ((1u << n) - 1u));
    if (!(u[d] == u[d]))
      u[d] = static_cast<double>(grid::sample_one_sided<T, D>(velocity.component[axis], walls, {d, 0.0}, at).value);
  }
  return u;
}

template <class T, int D>
Eigen::Matrix<double, D, D> gradient_past_walls(const grid::VelocitySource<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                                const grid::OneSidedPlace<D>& at) {
  constexpr std::size_t n = SampleCorners<D>::count;
  std::array<SampleCorners<D>, D> corners;
  const std::uint32_t hidden = velocity_corners<T, D>(velocity, walls, at, corners);
  Eigen::Matrix<double, D, D> result;
  for (std::size_t d = 0; d < D; ++d)
    result.row(static_cast<Index>(d)) = corners[d].slope((hidden >> (d * n)) & ((1u << n) - 1u)) / walls.grid().spacing();
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template Vec<double, D> velocity_past_walls<T, D>(const grid::VelocitySource<T, D>&, const grid::ThinWalls<D>&,              \
                                                    const grid::OneSidedPlace<D>&);                                            \
  template Eigen::Matrix<double, D, D> gradient_past_walls<T, D>(const grid::VelocitySource<T, D>&, const grid::ThinWalls<D>&, \
                                                                 const grid::OneSidedPlace<D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
