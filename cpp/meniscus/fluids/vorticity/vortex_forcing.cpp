#include "meniscus/fluids/vorticity/vortex_forcing.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/vorticity/vortex_past_walls.hpp"
#include "meniscus/fluids/vorticity/vortex_row_force.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/parallel/parcels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace meniscus::fluids {
namespace {

using namespace detail;

/// Planes of faces that one task adds forces to.
constexpr Index slab_planes = 4;

/// Sum of the force of a particle on one component, and its change per kernel value.
struct Balance {
  double force = 0.0;
  double kernel = 0.0;
};

template <int D>
double kernel_constant(VortexKernel kernel, double radius) {
  const double volume = std::pow(radius, D);
  return kernel == VortexKernel::tent ? 3.0 / (std::numbers::pi * volume) : std::pow(2.0 * std::numbers::pi, -0.5 * D) / volume;
}

/// Sums of the force and of the kernel over the faces of one component.
template <VortexKernel kernel_type, class T, int D>
Balance balance_of(const Source<T, D>& source, const ComponentFaces<D>& faces, int axis) {
  // One sum per lane, joined in order: the same bits on every instruction set.
  double force_sum[face_block] = {}, kernel_sum[face_block] = {};
  RowForce<T, D, kernel_type> row(source, axis);
  const auto [first, last] = faces.range(0, source.x[0], source.radius);
  for_each_row(source, faces, first, last, row, [&](const Coord<D>&, Index k0, Index k1) {
    for (Index k = k0; k <= k1; k += face_block) {
      FaceBlock<T> f, xi;
      row.evaluate(source.x[D - 1] - (static_cast<double>(k) + faces.shift[D - 1]), f, xi);
      const int count = static_cast<int>(std::min<Index>(face_block, k1 - k + 1));
      MENISCUS_FACE_LOOP
      for (int l = 0; l < face_block; ++l) {
        force_sum[l] += l < count ? static_cast<double>(f.data()[l]) : 0.0;
        kernel_sum[l] += l < count ? static_cast<double>(xi.data()[l]) : 0.0;
      }
    }
  });
  Balance sum;
  MENISCUS_FACE_LOOP
  for (int l = 0; l < face_block; ++l) {
    sum.force += force_sum[l];
    sum.kernel += kernel_sum[l];
  }
  return sum;
}

/// Adds forces on consecutive faces to those that the block has: as many as in a domain of one block.
template <class T, int D>
void add_in_block(const ComponentFaces<D>& faces, Coord<D> to, Index k, int count, const FaceBlock<T>& f,
                  const grid::FieldView<T, D>& u) {
  if (faces.along[D - 1].end - to[D - 1] >= face_block) count = face_block;
  for (int l = 0; l < count; ++l) {
    to[D - 1] = faces.along[D - 1].owner(k + l);
    if (to[D - 1] < faces.begin[D - 1] || to[D - 1] >= faces.end[D - 1]) continue;
    Coord<D> own;
    for (std::size_t d = 0; d < D; ++d) own[d] = to[d] - faces.first[d];
    *u.at(own) += f[l];
  }
}

/// Adds what the particle does to the faces of planes [begin, end) across axis 0.
template <VortexKernel kernel_type, class T, int D>
void scatter(const Source<T, D>& source, const ComponentFaces<D>& faces, int axis, T mean, Index begin, Index end,
             const grid::FieldView<T, D>& u) {
  RowForce<T, D, kernel_type> row(source, axis);
  const auto add = [&](const Coord<D>& index, Index k0, Index k1) {
    Coord<D> to = index;
    for (std::size_t d = 0; d + 1 < D; ++d) to[d] = faces.along[d].owner(index[d]);
    if (faces.cut && !faces.has_row(to)) return;
    for (Index k = k0; k <= k1; k += face_block) {
      FaceBlock<T> f, xi;
      row.evaluate(source.x[D - 1] - (static_cast<double>(k) + faces.shift[D - 1]), f, xi);
      MENISCUS_FACE_LOOP
      for (int l = 0; l < face_block; ++l) f.data()[l] -= mean * xi.data()[l];
      const int count = static_cast<int>(std::min<Index>(face_block, k1 - k + 1));
      to[D - 1] = faces.along[D - 1].owner(k);
      if (faces.cut) {
        add_in_block<T, D>(faces, to, k, count, f, u);
        continue;
      }
      T* row_of_faces = u.at(to);
      // Beyond the last face that the particle reaches the force is zero, so whole blocks may be added inside of the domain.
      const Index room = faces.along[D - 1].end - to[D - 1];
      if (room >= face_block) {
        MENISCUS_FACE_LOOP
        for (int l = 0; l < face_block; ++l) row_of_faces[l] += f.data()[l];
        continue;
      }
      const int together = static_cast<int>(std::min<Index>(count, room));
      for (int l = 0; l < together; ++l) row_of_faces[l] += f.data()[l];
      for (int l = together; l < count; ++l) {
        to[D - 1] = faces.along[D - 1].owner(k + l);
        *u.at(to) += f[l];
      }
    }
  };
  const auto [first, last] = faces.range(0, source.x[0], source.radius);
  faces.along[0].for_each_image(begin, end, first, last, [&](Index a, Index b) { for_each_row(source, faces, a, b, row, add); });
}

template <class T, int D>
void require_good(const VortexColumns<T, D>& columns, Index n, double largest_radius) {
  constexpr Index width = vorticity_components<D>;
  const Index x = grid::first_not_finite(columns.position, n * D);
  require(x == n * D, "positions must be finite, but that of particle ", x / D, " is not");
  const Index w = grid::first_not_finite(columns.vorticity, n * width);
  require(w == n * width, "vorticities must be finite, but that of particle ", w / width, " is not");
  for (Index i = 0; i < n; ++i) {
    const auto radius = static_cast<double>(columns.radius[i]);
    require(std::isfinite(radius) && radius > 0.0, "radii must be positive and finite, but that of particle ", i, " is ",
            columns.radius[i]);
    require(radius <= largest_radius, "radii must be at most the longest side of the domain, ", largest_radius,
            " m, but that of particle ", i, " is ", columns.radius[i]);
  }
}

/// Contribution of each source to the sums of its components, per kernel value; `scatter` subtracts it.
template <VortexKernel kernel_type, class T, int D>
void find_means(const Source<T, D>* sources, Index n, const std::array<ComponentFaces<D>, D>& faces, T* means) {
  parallel_for(0, n, 32, [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index i = begin; i < end; ++i)
        for (int d = 0; d < D; ++d) {
          const Balance sum = balance_of<kernel_type>(sources[i], faces[d], d);
          means[i * D + d] = sum.kernel > 0.0 ? static_cast<T>(sum.force / sum.kernel) : T(0);
        }
    });
  });
}

/// The order in which particles act: that of their ids, wherever they are stored. A particle set that was sorted by cell, as it
/// is on several ranks and after a restart from their files, then adds up its forces like any other.
void order_by_id(const std::int64_t* ids, Index n, Index* order, std::int64_t* ordered_ids) {
  std::iota(order, order + n, Index{0});
  if (!std::is_sorted(ids, ids + n)) std::sort(order, order + n, [ids](Index a, Index b) { return ids[a] < ids[b]; });
  for (Index i = 0; i < n; ++i) ordered_ids[i] = ids[order[i]];
}

/// One particle as all blocks see it.
template <class T, int D>
struct KnownSource {
  std::int64_t id;
  Source<T, D> source;
  std::array<T, D> means;
};

template <class T, int D>
std::vector<KnownSource<T, D>> sources_of_all_blocks(parallel::Communicator& communicator, const Source<T, D>* sources,
                                                     const T* means, const std::int64_t* ids, Index n) {
  std::vector<KnownSource<T, D>> own(n);
  for (Index i = 0; i < n; ++i) {
    KnownSource<T, D>& s = own[i];
    s = {ids[i], sources[i], {}};
    std::copy_n(means + i * D, D, s.means.begin());
  }
  auto all = parallel::gather_lists(communicator, own);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return all;
}

template <VortexKernel kernel_type, class T, int D>
void add_forces(grid::MacField<T, D>& velocity, Source<T, D>* sources, const std::int64_t* ids, Index n, bool balance,
                const grid::ThinWalls<D>* walls, Workspace& workspace) {
  const auto faces = [&]<std::size_t... A>(std::index_sequence<A...>) {
    return std::array<ComponentFaces<D>, D>{ComponentFaces<D>(velocity, static_cast<int>(A))...};
  }(std::make_index_sequence<static_cast<std::size_t>(D)>());
  std::vector<Source<T, D>> beside;
  if (walls) {
    Source<T, D>* const end =
        std::stable_partition(sources, sources + n, [&](const Source<T, D>& s) { return !is_near_walls<T, D>(*walls, s); });
    beside.assign(end, sources + n);
    n = end - sources;
  }
  const auto means = workspace.take<T>(n * D);
  if (balance)
    find_means<kernel_type, T, D>(sources, n, faces, means.data());
  else
    std::fill_n(means.data(), n * D, T(0));
  const bool cut = velocity.grid().block().cut();
  std::vector<KnownSource<T, D>> all;
  if (cut) all = sources_of_all_blocks<T, D>(*velocity.grid().communicator(), sources, means.data(), ids, n);

  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    const ComponentFaces<D>& f = faces[d];
    const grid::FieldView<T, D> u = velocity.component(d).view();
    // Every task owns some planes, and goes through the particles in their order.
    parallel_for(f.begin[0], f.end[0], slab_planes, [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (const KnownSource<T, D>& s : all) scatter<kernel_type>(s.source, f, d, s.means[d], begin, end, u);
        for (Index i = 0; !cut && i < n; ++i) scatter<kernel_type>(sources[i], f, d, means.data()[i * D + d], begin, end, u);
      });
    });
  }
  if (walls) add_past_walls<kernel_type, T, D>(velocity, beside, faces, balance, *walls);
}

/// The vorticities of the particles less that of the grid at their places; components whose sign flips are zero.
template <class T, int D>
void find_missing(grid::MacField<T, D>& velocity, const VortexColumns<T, D>& columns, Index n, double time, T* missing) {
  constexpr Index width = vorticity_components<D>;
  velocity.fill_ghosts(time);
  sample_vorticity(velocity, columns.position, n, missing);
  for (Index i = 0; i < n * width; ++i) {
    const T own = columns.vorticity[i];
    const T rest = own - missing[i];
    require(std::isfinite(rest), "the velocity must be finite, but at particle ", i / width, " it is not");
    missing[i] = rest * own > T(0) ? rest : T(0);
  }
}

}  // namespace

template <class T, int D>
void add_vortex_forces(grid::MacField<T, D>& velocity, grid::ParticleSet& particles, double dt, double epsilon,
                       const double* epsilons, const VortexForcing& options, Workspace& workspace,
                       const grid::ThinWalls<D>* walls) {
  require(!walls || walls->grid() == velocity.grid(), "the walls must have the grid of the velocity");
  const VortexColumns<T, D> columns(particles);
  const Index n = particles.size();
  const grid::Grid<D>& grid = velocity.grid();
  const double h = grid.spacing();
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  require(std::isfinite(epsilon), "epsilon must be finite, got ", epsilon);
  require_good(columns, n, h * static_cast<double>(*std::max_element(grid.shape().begin(), grid.shape().end())));
  constexpr Index width = vorticity_components<D>;

  const auto missing = workspace.take<T>(options.reduce ? n * width : 1);
  if (options.reduce) find_missing(velocity, columns, n, options.time, missing.data());
  const T* vorticity = options.reduce ? missing.data() : columns.vorticity;
  const auto* ids = reinterpret_cast<const std::int64_t*>(particles.ids().data.data());
  const auto order = workspace.take<Index>(n);
  const auto ordered_ids = workspace.take<std::int64_t>(n);
  order_by_id(ids, n, order.data(), ordered_ids.data());
  const auto sources = workspace.take<Source<T, D>>(n);
  for (Index place = 0; place < n; ++place) {
    const Index i = order.data()[place];
    Source<T, D>& s = sources.data()[place];
    const auto radius = static_cast<double>(columns.radius[i]);
    s.radius = radius / h;
    const auto at = grid::locate(grid, columns.position + i * D);
    for (std::size_t d = 0; d < D; ++d) {
      // The bounds change nothing that can be felt; they keep the conversion to indices defined however far away a particle is.
      const double margin = s.radius + 2.0;
      s.x[d] = std::clamp(static_cast<double>(at.cell[d]) + at.offset[d], -margin, static_cast<double>(grid.shape()[d]) + margin);
    }
    const double factor = dt * (epsilons ? epsilons[i] : epsilon) * kernel_constant<D>(options.kernel, radius);
    for (Index k = 0; k < width; ++k) s.strength[k] = static_cast<T>(factor * static_cast<double>(vorticity[i * width + k]));
  }
  if (options.kernel == VortexKernel::gaussian)
    add_forces<VortexKernel::gaussian>(velocity, sources.data(), ordered_ids.data(), n, options.balance, walls, workspace);
  else
    add_forces<VortexKernel::tent>(velocity, sources.data(), ordered_ids.data(), n, options.balance, walls, workspace);
  velocity.fill_ghosts(options.time);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                \
  template void add_vortex_forces<T, D>(grid::MacField<T, D>&, grid::ParticleSet&, double, double, const double*, \
                                        const VortexForcing&, Workspace&, const grid::ThinWalls<D>*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
