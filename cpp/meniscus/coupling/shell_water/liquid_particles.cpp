#include "meniscus/coupling/shell_water/liquid_particles.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shell_water/level_samples.hpp"
#include "meniscus/coupling/shell_water/sample_corners.hpp"
#include "meniscus/coupling/shell_water/velocity_past_walls.hpp"
#include "meniscus/fluids/particles/surface/carried_distance.hpp"
#include "meniscus/grid/particles/multilinear_stencil.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::coupling {

namespace {

/// Faces this many cells from a wall, or less, are those of particles that may not see them; and these are so far from it.
constexpr Index near_faces = 1, near_particles = 2;

/// The faces around a particle that get a part of its velocity.
template <int D>
struct FacesAround {
  static constexpr int corners = 1 << D;
  std::array<grid::MultilinearStencil<double, D>, D> stencil;

  FacesAround(const grid::Grid<D>& grid, const grid::CellLocation<D>& at)
      : FacesAround(grid, at, std::make_index_sequence<D>{}) {}

  Vec<double, D> place(const grid::Grid<D>& grid, int axis, int q) const {
    return grid::sample_position<D>(grid, grid::Stagger<D>::face(axis), stencil[axis].sample(q));
  }

 private:
  template <std::size_t... d>
  FacesAround(const grid::Grid<D>& grid, const grid::CellLocation<D>& at, std::index_sequence<d...>)
      : stencil{grid::MultilinearStencil<double, D>::inside(grid, at, grid::Stagger<D>::face(static_cast<int>(d)))...} {}
};

template <class T, int D>
Vec<double, D> place_of(const T* positions, Index i) {
  Vec<double, D> x;
  for (int d = 0; d < D; ++d) x[d] = static_cast<double>(positions[i * D + d]);
  return x;
}

}  // namespace

template <class T, int D>
void particles_to_faces_past_walls(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                   const std::array<std::uint8_t*, D>& known, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  require(grid == walls.grid(), "the walls must have the grid of the velocity");
  constexpr int corners = FacesAround<D>::corners;
  const Index n = particles.size();
  const T* const x = grid::particle_positions<T, D>(particles);
  const T* const v = grid::particle_values<T>(particles, "velocity", D);
  const T* const affine = grid::optional_particle_values<T>(particles, "affine", D * D);

  const auto hidden = workspace.take<std::uint32_t>(n);
  parallel_for(0, n, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      hidden.data()[i] = 0;
      const Vec<double, D> at = place_of<T, D>(x, i);
      if (walls.clearance(at) > 0) continue;
      const FacesAround<D> faces(grid, grid::locate_in_domain(grid, x + i * D));
      std::array<Vec<double, D>, D * corners> places;
      for (int d = 0; d < D; ++d)
        for (int q = 0; q < corners; ++q) places[d * corners + q] = faces.place(grid, d, q);
      hidden.data()[i] = walls.hidden(at, places.data(), D * corners, nullptr);
    }
  });

  std::array<Workspace::Lease<double>, D> sums;
  std::array<Coord<D>, D> extents, strides;
  for (std::size_t d = 0; d < D; ++d) {
    extents[d] = velocity.component(static_cast<int>(d)).extents();
    strides[d] = c_strides<D>(extents[d]);
    sums[d] = workspace.take<double>(2 * product<D>(extents[d]));
    std::fill_n(sums[d].data(), 2 * product<D>(extents[d]), 0.0);
  }
  // In the order of the particles, which is that of their cells.
  for (Index i = 0; i < n; ++i) {
    const Vec<double, D> at = place_of<T, D>(x, i);
    if (static_cast<Index>(walls.clearance(at)) > near_particles) continue;
    const FacesAround<D> faces(grid, grid::locate_in_domain(grid, x + i * D));
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      for (int q = 0; q < corners; ++q) {
        const double weight = faces.stencil[axis].weight(q);
        if (!(weight > 0) || ((hidden.data()[i] >> (d * corners + q)) & 1u)) continue;
        Coord<D> face = faces.stencil[axis].sample(q);
        for (int a = 0; a < D; ++a) {
          const Index e = a;
          face[e] = grid::image_of_sample<D>(grid, grid::Stagger<D>::face(d), a, face[e]);
        }
        auto value = static_cast<double>(v[i * D + d]);
        if (affine) {
          const Vec<double, D> way = faces.place(grid, d, q) - at;
          for (int a = 0; a < D; ++a) value += static_cast<double>(affine[(i * D + d) * D + a]) * way[a];
        }
        double* const sum = sums[axis].data() + 2 * dot<D>(face, strides[axis]);
        sum[0] += weight;
        sum[1] += weight * value;
      }
    }
  }
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    grid::Field<T, D>& component = velocity.component(d);
    const grid::FieldView<T, D> to = component.view();
    parallel_for(0, product<D>(extents[axis]), 4096, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        Coord<D> c = surface::index_of<D>(i, strides[axis]);
        if (static_cast<Index>(walls.clearance(component.stagger(), c)) > near_faces) continue;
        T& value = *to.at(c);
        // The first and the last face of an axis that closes are one.
        for (int a = 0; a < D; ++a) {
          const Index e = a;
          c[e] = grid::image_of_sample<D>(grid, component.stagger(), a, c[e]);
        }
        const double* const sum = sums[axis].data() + 2 * dot<D>(c, strides[axis]);
        known[axis][i] = sum[0] > 0;
        value = sum[0] > 0 ? static_cast<T>(sum[1] / sum[0]) : T(0);
      }
    });
  }
}

template <class T, int D>
void sample_velocity_past_walls(grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls,
                                std::span<const Vec<double, D>> points, double time, std::span<Vec<double, D>> out,
                                std::span<double> gradients) {
  require(velocity.grid() == walls.grid(), "the walls must have the grid of the velocity");
  velocity.fill_ghosts(time);
  const grid::VelocitySource<T, D> flow(velocity, time);
  parallel_for(0, static_cast<Index>(points.size()), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index k = i;
      const grid::OneSidedPlace<D> at{points[k], points[k]};
      const Eigen::Matrix<double, D, D> slopes = gradient_past_walls<T, D>(flow, walls, at);
      out[k] = velocity_past_walls<T, D>(flow, walls, at);
      for (int d = 0; d < D; ++d)
        for (int a = 0; a < D; ++a) gradients[(i * D + d) * D + a] = slopes(d, a);
    }
  });
}

template <class T, int D>
void update_distances_past_walls(grid::ParticleSet& particles, grid::Field<T, D>& positions_levelset,
                                 grid::MacField<T, D>& velocity, const grid::ThinWalls<D>& walls, double dt, double time) {
  require(velocity.grid() == walls.grid() && positions_levelset.grid() == walls.grid(),
          "level set, velocity and walls must have the same grid");
  const T* const x = grid::particle_positions<T, D>(particles);
  T* const distance = grid::particle_values<T>(particles, "distance", 1);
  positions_levelset.fill_ghosts(0.0);
  velocity.fill_ghosts(time);
  const grid::SampleSource<T, D> source{&positions_levelset.layout(), std::as_const(positions_levelset).view(), 0.0};
  const grid::VelocitySource<T, D> flow(velocity, time);
  parallel_for(0, particles.size(), 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const grid::OneSidedPlace<D> at{place_of<T, D>(x, i), place_of<T, D>(x, i)};
      if (walls.clearance(at.eye) > 0) continue;
      const double told = level_past_walls<T, D>(source, walls, at);
      if (!(told == told)) continue;
      const Eigen::Matrix<double, D, D> slopes = gradient_past_walls<T, D>(flow, walls, at);
      const double strain = 0.5 * (slopes + slopes.transpose()).norm();
      distance[i] = fluids::known_distance<T>(
          fluids::followed_distance(static_cast<double>(distance[i]), told, strain, dt, walls.grid().spacing(), true));
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                        \
  template void particles_to_faces_past_walls<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, const grid::ThinWalls<D>&, \
                                                    const std::array<std::uint8_t*, D>&, Workspace&);                     \
  template void sample_velocity_past_walls<T, D>(grid::MacField<T, D>&, const grid::ThinWalls<D>&,                        \
                                                 std::span<const Vec<double, D>>, double, std::span<Vec<double, D>>,      \
                                                 std::span<double>);                                                      \
  template void update_distances_past_walls<T, D>(grid::ParticleSet&, grid::Field<T, D>&, grid::MacField<T, D>&,          \
                                                  const grid::ThinWalls<D>&, double, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
