#include "meniscus/fluids/particles/particle_grid_transfer.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/particles/transfer_kernels.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_order.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/particles/particle_scatter.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <optional>

namespace meniscus::fluids {
namespace {

template <class T>
void require_finite_values(const T* values, Index n, Index width, const char* what) {
  const Index bad = grid::first_not_finite(values, n * width);
  require(bad == n * width, what, " of particles must be finite, but that of particle ", bad / width, " is not");
}

template <class T>
void require_masses(const T* masses, Index n) {
  const Index bad = parallel_reduce(
      Index{0}, n, 1 << 15, n,
      [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
          if (!(masses[i] > T(0)) || !std::isfinite(masses[i])) return i;
        return n;
      },
      [](Index a, Index b) { return std::min(a, b); });
  require(bad == n, "masses of particles must be positive and finite, but that of particle ", bad, " is not");
}

/// Data of particles for scatter and gather.
template <class T, int D>
struct Columns {
  const T* position;
  T* velocity;
  T* affine;
  const T* mass;

  explicit Columns(grid::ParticleSet& particles)
      : position(grid::particle_positions<T, D>(particles)),
        velocity(grid::particle_values<T>(particles, "velocity", D)),
        affine(grid::optional_particle_values<T>(particles, "affine", D * D)),
        mass(grid::optional_particle_values<T>(particles, "mass", 1)) {}

  void require_good(Index n) const {
    require_finite_values(velocity, n, D, "velocities");
    if (affine) require_finite_values(affine, n, D * D, "affine velocities");
    if (mass) require_masses(mass, n);
  }
};

/// The particles whose sums reach a block, by cell.
template <class T, int D>
class AroundBlock {
 public:
  /// Collective. Sorts the particles.
  AroundBlock(grid::ParticleSet& particles, const grid::Grid<D>& grid, std::initializer_list<const char*> columns,
              Workspace& workspace)
      : own_(grid, 0), window_(grid, 1), starts_(workspace.take<Index>(product<D>(own_.shape) + 1)) {
    grid::order_by_cell<T, D>(particles, grid, own_, starts_.data(), workspace);
    if (!grid.block().cut()) return;
    ghosts_.emplace(grid::ghost_particles<D>(particles, starts_.data(), grid, 1, grid::GhostsAround::sides_of_domain_end, columns,
                                             workspace));
    ghost_starts_ = workspace.take<Index>(product<D>(window_.shape) + 1);
    grid::order_by_cell<T, D>(*ghosts_, grid, window_, ghost_starts_.data(), workspace);
  }

  /// The ghosts, or the particles themselves where there are none.
  grid::ParticleSet& ghosts(grid::ParticleSet& particles) { return ghosts_ ? *ghosts_ : particles; }
  grid::ScatteredCells<D> cells() const { return {own_, window_, starts_.data(), ghost_starts_.data()}; }

 private:
  grid::CellWindow<D> own_, window_;
  Workspace::Lease<Index> starts_, ghost_starts_;
  std::optional<grid::ParticleSet> ghosts_;
};

template <bool affine, class T, int D>
void scatter_all(const Columns<T, D>& own, const Columns<T, D>& ghosts, const grid::Grid<D>& grid,
                 const grid::ScatteredCells<D>& cells, const std::array<const grid::FieldLayout<D>*, D>& layouts,
                 const std::array<T*, D>& pairs) {
  std::array<Coord<D>, D> strides;
  for (std::size_t d = 0; d < D; ++d) strides[d] = c_strides<D>(layouts[d]->padded());
  std::array<T*, D> origins;
  for (std::size_t d = 0; d < D; ++d) {
    origins[d] = pairs[d];
    // Samples are counted in the domain.
    for (std::size_t a = 0; a < D; ++a) origins[d] += 2 * (grid::ghost_width - grid.first_cell()[a]) * strides[d][a];
  }
  const auto h = static_cast<T>(grid.spacing());
  grid::for_each_run_of_tiles<D>(cells, [&](bool of_ghosts, Index begin, Index end) {
    const Columns<T, D> columns = of_ghosts ? ghosts : own;
    Corners<T, D> corners;
    for (Index first = begin; first < end; first += grid::located_points) {
      const Index n = std::min(grid::located_points, end - first);
      corners.template find<true>(grid, columns.position + first * D, n);
      for (Index l = 0; l < n; ++l) {
        const Index i = first + l;
        const grid::CellLocation<D> place = affine ? corners.place[l] : grid::CellLocation<D>{};
        const T mass = columns.mass ? columns.mass[i] : T(1);
        for (int d = 0; d < D; ++d) {
          const T* const c = affine ? columns.affine + (i * D + d) * D : nullptr;
          scatter_component<affine, T, D>(columns.velocity[i * D + d], c, d, place, mass, h, corners.at(d, l), strides[Index{d}],
                                          origins[Index{d}]);
        }
      }
    }
  });
}

template <bool affine, class T, int D>
void gather_all(const Columns<T, D>& columns, const grid::Grid<D>& grid, Index n, const std::array<const T*, D>& origins,
                const std::array<Coord<D>, D>& strides, T ratio, T* velocities, T* gradients) {
  const T inverse = static_cast<T>(1.0 / grid.spacing());
  parallel_for(0, n, 2048, [&](Index begin, Index end) {
    simd_dispatch([&] {
      Corners<T, D> corners;
      std::array<T, grid::located_points> values;
      for (Index first = begin; first < end; first += grid::located_points) {
        const Index count = std::min(grid::located_points, end - first);
        corners.template find<false>(grid, columns.position + first * D, count);
        for (int d = 0; d < D; ++d) {
          T* const gradient = affine ? gradients + (first * D + d) * D : nullptr;
          gather_component<affine, T, D>(origins[Index{d}], strides[Index{d}], d, corners, count, inverse, values.data(),
                                         gradient, D * D);
          const T* const old = columns.velocity + first * D + d;
          T* const to = velocities + first * D + d;
          if (ratio == T(0))
            for (Index l = 0; l < count; ++l) to[l * D] = values[l];
          else
            for (Index l = 0; l < count; ++l) to[l * D] = values[l] + ratio * old[l * D];
        }
      }
    });
  });
}

template <class T>
void parallel_copy(const T* from, Index n, T* to) {
  parallel_for(0, n, 1 << 16, [&](Index begin, Index end) { std::copy(from + begin, from + end, to + begin); });
}

}  // namespace

template <class T, int D>
void particles_to_grid(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, const FaceFlags<D>& known,
                       grid::MacField<T, D>* mass, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  require(!mass || mass->grid() == grid, "mass must have the grid of the velocity");
  const Columns<T, D> columns(particles);
  columns.require_good(particles.size());
  AroundBlock<T, D> around(particles, grid, {"velocity", "affine", "mass"}, workspace);
  const Columns<T, D> ghosts(around.ghosts(particles));

  std::array<Workspace::Lease<T>, D> pairs;
  std::array<T*, D> data;
  std::array<const grid::FieldLayout<D>*, D> layouts;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    layouts[axis] = &velocity.component(d).layout();
    const Index size = 2 * layouts[axis]->storage_size();
    pairs[axis] = workspace.take<T>(size);
    data[axis] = pairs[axis].data();
    grid::set_zero(data[axis], size);
  }
  if (columns.affine)
    scatter_all<true, T, D>(columns, ghosts, grid, around.cells(), layouts, data);
  else
    scatter_all<false, T, D>(columns, ghosts, grid, around.cells(), layouts, data);
  for (std::size_t d = 0; d < D; ++d) grid::fold_periodic<2, T, D>(*layouts[d], data[d]);

  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    grid::Field<T, D>& component = velocity.component(d);
    const grid::FieldView<T, D> u = component.view();
    const grid::FieldView<T, D> m = mass ? mass->component(d).view() : grid::FieldView<T, D>{};
    const Index length = u.extents[D - 1];
    grid::parallel_rows<D>(u.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(u.extents, r);
        T* to = u.at(c);
        T* weights = mass ? m.at(c) : nullptr;
        const T* from = data[axis] + 2 * (to - component.storage().data());
        std::uint8_t* flags = known[axis] + r * length;
        for (Index k = 0; k < length; ++k) {
          const T w = from[2 * k];
          flags[k] = w > T(0);
          to[k] = w > T(0) ? from[2 * k + 1] / w : T(0);
          if (weights) weights[k] = w;
        }
      }
    });
  }
}

template <class T, int D>
void grid_to_particles(grid::MacField<T, D>& velocity, grid::MacField<T, D>* before, double ratio, double time,
                       grid::ParticleSet& particles, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  require(ratio >= 0.0 && ratio <= 1.0, "the ratio of FLIP must be from 0 to 1, not ", ratio);
  require(before || ratio == 0.0, "a ratio of FLIP above 0 needs the velocity from before");
  require(!before || before->grid() == grid, "the velocity from before must have the grid of the velocity");
  const Columns<T, D> columns(particles);
  const Index n = particles.size();
  columns.require_good(n);
  require_finite_values(columns.position, n, D, "positions");
  require_in_window<D>(particles, grid, grid::CellWindow<D>(grid, 0));
  require_finite(velocity);
  velocity.fill_ghosts(time);
  const bool blend = before && ratio > 0.0;
  if (blend) {
    require_finite(*before);
    before->fill_ghosts(time);
  }

  // Interpolation is linear in what it interpolates: u - ratio * before goes to the particles in one.
  const auto part = static_cast<T>(ratio);
  std::array<Workspace::Lease<T>, D> blends;
  std::array<const T*, D> origins;
  std::array<Coord<D>, D> strides;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const grid::Field<T, D>& component = velocity.component(d);
    const grid::FieldLayout<D>& layout = component.layout();
    strides[axis] = c_strides<D>(layout.padded());
    const T* first = component.storage().data();
    if (blend) {
      const Index size = layout.storage_size();
      blends[axis] = workspace.take<T>(size);
      T* out = blends[axis].data();
      const T* old = before->component(d).storage().data();
      parallel_for(0, size, 1 << 14, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) out[i] = first[i] - part * old[i];
      });
      first = out;
    }
    // Cells are counted in the domain.
    origins[axis] = layout.view(first).origin - dot<D>(grid.first_cell(), strides[axis]);
  }

  const auto velocities = workspace.take<T>(n * D);
  if (columns.affine) {
    const auto gradients = workspace.take<T>(n * D * D);
    gather_all<true, T, D>(columns, grid, n, origins, strides, blend ? part : T(0), velocities.data(), gradients.data());
    const NoInterrupts commit;
    parallel_copy(gradients.data(), n * D * D, columns.affine);
    parallel_copy(velocities.data(), n * D, columns.velocity);
  } else {
    gather_all<false, T, D>(columns, grid, n, origins, strides, blend ? part : T(0), velocities.data(), nullptr);
    const NoInterrupts commit;
    parallel_copy(velocities.data(), n * D, columns.velocity);
  }
}

template <class T, int D>
void particle_density(grid::ParticleSet& particles, grid::Field<T, D>& density, Workspace& workspace) {
  const grid::Grid<D>& grid = density.grid();
  require(density.stagger() == grid::Stagger<D>::cell(), "the density must be at the centres of cells");
  AroundBlock<T, D> around(particles, grid, {}, workspace);
  const T* own = grid::particle_positions<T, D>(particles);
  const T* ghosts = grid::particle_positions<T, D>(around.ghosts(particles));
  const grid::FieldLayout<D>& layout = density.layout();
  const Coord<D> strides = c_strides<D>(layout.padded());
  const auto weights = workspace.take<T>(layout.storage_size());
  grid::set_zero(weights.data(), layout.storage_size());
  T* origin = layout.view(weights.data()).origin - dot<D>(grid.first_cell(), strides);
  grid::for_each_run_of_tiles<D>(around.cells(), [&](bool of_ghosts, Index begin, Index end) {
    const T* x = of_ghosts ? ghosts : own;
    Corners<T, D> corners;
    for (Index first = begin; first < end; first += grid::located_points) {
      const Index n = std::min(grid::located_points, end - first);
      corners.template find<true>(grid, x + first * D, n);
      for (Index l = 0; l < n; ++l) {
        const Corner<T, D> corner = corners.at(D, l);
        T* const lowest = origin + dot<D>(corner.lower, strides);
        for (int q = 0; q < 1 << D; ++q) {
          T weight = 1;
          Index offset = 0;
          for (std::size_t d = 0; d < D; ++d) {
            const bool upper = ((q >> d) & 1) != 0;
            weight *= upper ? corner.upper[d] : T(1) - corner.upper[d];
            offset += upper ? strides[d] : 0;
          }
          lowest[offset] += weight;
        }
      }
    }
  });
  grid::fold_periodic<1, T, D>(layout, weights.data());
  const NoInterrupts commit;
  grid::copy_owned(layout, static_cast<const T*>(weights.data()), density.storage().data());
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template void particles_to_grid<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, const FaceFlags<D>&, grid::MacField<T, D>*, \
                                        Workspace&);                                                                           \
  template void grid_to_particles<T, D>(grid::MacField<T, D>&, grid::MacField<T, D>*, double, double, grid::ParticleSet&,      \
                                        Workspace&);                                                                           \
  template void particle_density<T, D>(grid::ParticleSet&, grid::Field<T, D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
