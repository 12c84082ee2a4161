#include "meniscus/surface/markers/particle_seeding.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/blocks/within_reach.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_numbering.hpp"
#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/joint_reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::surface {
namespace {

/// Steps of the attraction of a seed to its place in the band.
constexpr int attraction_steps = 15;

template <class T, int D>
class Seeder {
 public:
  Seeder(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::SolidBoundary<T, D>* solid, const SeedingOptions& options,
         double time, Workspace& workspace)
      : phi_(phi),
        particles_(particles),
        solid_(solid),
        options_(options),
        time_(time),
        workspace_(workspace),
        grid_(phi.grid()),
        sides_(grid_),
        strides_(c_strides<D>(grid_.local_shape())),
        cells_(product<D>(grid_.local_shape())),
        probe_(phi, &far_, time) {
    if (solid) solid_probe_.emplace(solid->levelset(), &far_solid_, time);
  }

  Seeding run() {
    particles_.sort_by_cell(grid_, workspace_);
    require_own_particles();
    values_ = workspace_.take<T>(particles_.size());
    grid::sample_points(phi_, MarkerColumns<T, D>(particles_).position, particles_.size(), grid::Interpolation::linear, time_,
                        values_.data());
    spared_ = workspace_.take<std::uint8_t>(cells_);
    parallel_for(0, cells_, 1 << 16,
                 [&](Index begin, Index end) { std::fill(spared_.data() + begin, spared_.data() + end, std::uint8_t{0}); });
    if (options_.avoid_escaped) exclude_cells_of_escaped();
    check_interrupt();
    const NoInterrupts whole;
    remove_useless();
    add_missing();
    // New ones may have been attracted into cells of other blocks.
    if (grid_.block().cut()) grid::migrate_particles<D>(particles_, grid_, workspace_);
    parallel::add_up(*grid_.communicator(), {&info_.added, &info_.surplus, &info_.out_of_band, &info_.failed});
    return info_;
  }

 private:
  void require_own_particles() const {
    if (!grid_.block().cut()) return;
    bool own = true;
    for (const Index key : particles_.cell_runs().keys)
      own = own && grid::in_block<D>(grid_, index_of<D>(key, c_strides<D>(grid_.shape())));
    require(!parallel::global_any(*grid_.communicator(), !own), "a marker lies outside of the block that has it");
  }

  /// Cell of the block from its linear index in the domain, and back.
  Coord<D> local_cell(Index key) const {
    Coord<D> c = index_of<D>(key, c_strides<D>(grid_.shape()));
    for (std::size_t d = 0; d < D; ++d) c[d] -= grid_.first_cell()[d];
    return c;
  }
  Index domain_index(Index cell) const {
    Coord<D> c = index_of<D>(cell, strides_);
    for (std::size_t d = 0; d < D; ++d) c[d] += grid_.first_cell()[d];
    return grid::cell_index<D>(grid_, c);
  }

  bool escaped(const MarkerColumns<T, D>& m, Index i) const {
    return -static_cast<T>(m.sign[i]) * values_.data()[i] > static_cast<T>(options_.escape_distance) * m.radius[i];
  }

  void exclude_cells_of_escaped() {
    const MarkerColumns<T, D> m(particles_);
    const grid::CellRuns& runs = particles_.cell_runs();
    const bool cut = grid_.block().cut();
    // With ghosts, to tell other blocks.
    std::optional<grid::FieldLayout<D>> layout;
    Workspace::Lease<std::uint8_t> shared;
    grid::FieldView<std::uint8_t, D> told;
    if (cut) {
      layout.emplace(grid_, grid::Stagger<D>::cell(), std::array<grid::GhostRule, 2 * D>{});
      shared = workspace_.take<std::uint8_t>(layout->storage_size());
      std::fill_n(shared.data(), layout->storage_size(), std::uint8_t{0});
      told = layout->view(shared.data());
    }
    parallel_for(0, static_cast<Index>(runs.keys.size()), 256, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        bool any = false;
        for (Index i = runs.starts[r]; i < runs.starts[r + 1] && !any; ++i) any = escaped(m, i);
        if (!any) continue;
        const Coord<D> cell = local_cell(runs.keys[r]);
        spare_around(cell);
        if (cut) *told.at(cell) = 1;
      }
    });
    if (!cut) return;
    layout->halo.exchange(shared.data());
    Coord<D> begin{}, extents = grid_.local_shape();
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      if (!grid_.block().cut(d)) continue;
      begin[axis] = grid_.shared(d, 0) ? -1 : 0;
      extents[axis] += (grid_.shared(d, 1) ? 1 : 0) - begin[axis];
    }
    const Coord<D> strides = c_strides<D>(extents);
    for (Index i = 0; i < product<D>(extents); ++i) {
      Coord<D> cell = index_of<D>(i, strides);
      for (std::size_t d = 0; d < D; ++d) cell[d] += begin[d];
      if (*told.at(cell)) spare_around(cell);
    }
  }

  void spare_around(const Coord<D>& cell) {
    for (int q = 0; q < grid::block_cells<D>; ++q) {
      const Coord<D> offset = grid::block_offset<D>(q);
      Index number = 0;
      bool inside = true;
      for (int d = 0; d < D; ++d) {
        const Index i = grid_.block().image(d, cell[d] + offset[d]).value_or(-1);
        inside = inside && i >= 0 && i < grid_.local_shape()[d];
        number += i * strides_[d];
      }
      if (inside) std::atomic_ref<std::uint8_t>(spared_.data()[number]).store(1, std::memory_order::relaxed);
    }
  }

  /// Flags what is out of the band, and of every sign in a cell what is too much.
  void remove_useless() {
    const MarkerColumns<T, D> m(particles_);
    const grid::CellRuns& runs = particles_.cell_runs();
    const Index n = particles_.size();
    const auto band = static_cast<T>(options_.band * grid_.spacing());
    enum Flag : std::uint8_t { keep = 0, far = 1, surplus = 2 };
    const auto flags = workspace_.take<std::uint8_t>(n);
    const auto order = workspace_.take<Index>(n);
    parallel_for(0, static_cast<Index>(runs.keys.size()), 256, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r)
        for (int sign = -1; sign <= 1; sign += 2) {
          Index* const first = order.data() + runs.starts[r];
          Index* last = first;
          Index stay = 0;
          for (Index i = runs.starts[r]; i < runs.starts[r + 1]; ++i) {
            if (m.sign[i] != sign) continue;
            flags.data()[i] = keep;
            if (escaped(m, i))
              ++stay;
            else if (std::abs(values_.data()[i]) > band)
              flags.data()[i] = far;
            else
              *last++ = i;
          }
          const Index room = std::max<Index>(0, options_.per_cell - stay);
          if (last - first <= room) continue;
          const auto nearer = [&](Index a, Index b) {
            const auto s = static_cast<T>(sign);
            const T x = s * values_.data()[a] - m.radius[a];
            const T y = s * values_.data()[b] - m.radius[b];
            return x != y ? x < y : a < b;
          };
          std::nth_element(first, first + room, last, nearer);
          for (Index* p = first + room; p < last; ++p) flags.data()[*p] = surplus;
        }
    });
    for (Index i = 0; i < n; ++i) {
      info_.out_of_band += flags.data()[i] == far;
      info_.surplus += flags.data()[i] == surplus;
    }
    counts_ = workspace_.take<std::int32_t>(2 * cells_);
    parallel_for(0, 2 * cells_, 1 << 16,
                 [&](Index begin, Index end) { std::fill(counts_.data() + begin, counts_.data() + end, 0); });
    parallel_for(0, static_cast<Index>(runs.keys.size()), 256, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Index cell = dot<D>(local_cell(runs.keys[r]), strides_);
        for (Index i = runs.starts[r]; i < runs.starts[r + 1]; ++i)
          if (flags.data()[i] == keep) ++counts_.data()[2 * cell + (m.sign[i] > 0)];
      }
    });
    particles_.remove(flags.data(), workspace_);
  }

  T value_at_center(const Coord<D>& cell) const {
    const grid::FieldView<const T, D> view = std::as_const(phi_).view();
    if (phi_.stagger() == grid::Stagger<D>::cell()) return *view.at(cell);
    T sum = 0;
    for (int q = 0; q < 1 << D; ++q) {
      Coord<D> c = cell;
      for (std::size_t d = 0; d < D; ++d) c[d] += (q >> d) & 1;
      sum += *view.at(c);
    }
    return sum / static_cast<T>(1 << D);
  }

  /// Number of missing particles of each sign (outside: 1) in a cell.
  std::array<Index, 2> missing(Index cell) const {
    if (spared_.data()[cell]) return {0, 0};
    const double h = grid_.spacing();
    const auto value = static_cast<double>(value_at_center(index_of<D>(cell, strides_)));
    if (!(std::abs(value) < options_.band * h)) return {0, 0};
    std::array<Index, 2> lacks;
    for (std::size_t side = 0; side < 2; ++side) {
      const double part = std::clamp(0.5 + (side ? value : -value) / h, 0.0, 1.0);
      const auto wanted = static_cast<Index>(std::lround(static_cast<double>(options_.per_cell) * part));
      lacks[side] = std::max<Index>(0, wanted - counts_.data()[2 * cell + static_cast<Index>(side)]);
    }
    return lacks;
  }

  void add_missing() {
    const auto cells = list_indices(
        cells_,
        [&](Index begin, Index end, auto&& take) {
          for (Index c = begin; c < end; ++c) {
            const auto lacks = missing(c);
            if (lacks[0] + lacks[1] > 0) take(c);
          }
        },
        workspace_);
    const auto starts = workspace_.take<Index>(cells.size + 1);
    starts.data()[0] = 0;
    parallel_for(0, cells.size, 4096, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const auto lacks = missing(cells.index[k]);
        starts.data()[k + 1] = lacks[0] + lacks[1];
      }
    });
    for (Index k = 0; k < cells.size; ++k) starts.data()[k + 1] += starts.data()[k];
    const Index added = starts.data()[cells.size];
    parallel::Communicator& communicator = *grid_.communicator();
    if (parallel::global_sum(communicator, added) == 0) return;
    const Index first = particles_.append(added);
    if (grid_.block().cut()) {
      std::vector<Index> keys(cells.size);
      for (Index k = 0; k < cells.size; ++k) keys[k] = domain_index(cells.index[k]);
      grid::number_by_cells(particles_, first, keys, {starts.data(), keys.size() + 1}, communicator);
    }
    const MarkerColumns<T, D> m(particles_);
    const auto flags = workspace_.take<std::uint8_t>(first + added);
    std::fill_n(flags.data(), first, std::uint8_t{0});
    grid::within_reach<D>(
        grid_, cells.size, 16, workspace_,
        [&](Index k) {
          const Index cell = cells.index[k];
          const auto lacks = missing(cell);
          Index i = first + starts.data()[k];
          for (std::size_t side = 0; side < 2; ++side)
            for (Index j = 0; j < lacks[side]; ++j, ++i)
              flags.data()[i] = !place(cell, side == 1, static_cast<std::uint32_t>(j), m, i);
        },
        [&](Index width) {
          far_.fetch(phi_.layout(), phi_.storage().data(), width);
          if (solid_) far_solid_.fetch(solid_->levelset().layout(), solid_->levelset().storage().data(), width);
        });
    info_.failed = particles_.remove(flags.data(), workspace_);
    info_.added = added - info_.failed;
  }

  bool windowed() const { return options_.lattice_shape[0] > 0; }

  /// Number of a cell that its random numbers are made from.
  Index key_of(Index cell) const {
    if (!windowed()) return domain_index(cell);
    const Coord<D> c = index_of<D>(cell, strides_);
    Index key = 0;
    for (std::size_t d = 0; d < D; ++d)
      key = key * options_.lattice_shape[d] + grid_.first_cell()[d] + c[d] + options_.window_low[d];
    return key;
  }

  /// Puts particle i into the cell and attracts it. False where that fails.
  bool place(Index cell, bool outside, std::uint32_t number, const MarkerColumns<T, D>& m, Index i) const {
    const double h = grid_.spacing();
    const double sign = outside ? 1.0 : -1.0;
    const CounterRandom random(options_.seed, 2 * static_cast<std::uint64_t>(key_of(cell)) + outside, options_.step);
    const auto a = random.uniform2(2 * number);
    const auto b = random.uniform2(2 * number + 1);
    const std::array<double, 3> u{a[0], a[1], b[0]};
    const Coord<D> c = index_of<D>(cell, strides_);
    Vec<double, D> x;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      // In a window the corner of the cell comes first: where it is exact, the place does not depend on where the window begins.
      const auto corner = static_cast<double>(grid_.first_cell()[axis] + c[axis]);
      x[d] = windowed() ? grid_.origin()[d] + h * corner + h * u[axis] : grid_.origin()[d] + h * (corner + u[axis]);
    }
    // Values of its side that occur in this cell: so a cell keeps what is seeded for it.
    const double least = options_.radii.smallest * h;
    const double most = options_.band * h;
    const double center = sign * static_cast<double>(value_at_center(c));
    const double low = std::clamp(center - 0.5 * h, least, most);
    const double high = std::clamp(center + 0.5 * h, low, most);
    const double goal = sign * (low + b[1] * (high - low));
    double scale = 1.0;
    grid::ProbedValue<D> s = probe_(x);
    bool placed = false;
    for (int step = 0; step < attraction_steps && !placed; ++step) {
      const double slope = s.gradient.norm();
      if (slope == 0.0) break;
      const Vec<double, D> there = x + scale * (goal - s.value) / slope * s.gradient;
      const Vec<double, D> inside = sides_.nearest(there);
      const grid::ProbedValue<D> after = probe_(inside);
      const bool in_range = sign * after.value >= least && sign * after.value <= most;
      if (in_range || std::abs(after.value - goal) < std::abs(s.value - goal)) {
        x = inside;
        s = after;
        placed = in_range;
      } else {
        scale *= 0.5;
      }
    }
    for (int d = 0; d < D; ++d) m.position[i * D + d] = static_cast<T>(x[d]);
    m.sign[i] = outside ? 1 : -1;
    m.radius[i] = static_cast<T>(std::clamp(sign * s.value, options_.radii.smallest * h, options_.radii.largest * h));
    return placed && !(solid_probe_ && solid_probe_->value(x) <= 0.0);
  }

  grid::Field<T, D>& phi_;
  grid::ParticleSet& particles_;
  grid::SolidBoundary<T, D>* solid_;
  const SeedingOptions& options_;
  double time_;
  Workspace& workspace_;
  const grid::Grid<D>& grid_;
  grid::DomainSides<D> sides_;
  Coord<D> strides_;
  Index cells_;
  grid::FarValues<D> far_, far_solid_;
  grid::FieldProbe<T, D> probe_;
  std::optional<grid::FieldProbe<double, D>> solid_probe_;
  Seeding info_;
  Workspace::Lease<T> values_;
  Workspace::Lease<std::uint8_t> spared_;
  Workspace::Lease<std::int32_t> counts_;
};

}  // namespace

template <class T, int D>
Seeding seed_particles(grid::Field<T, D>& phi, grid::ParticleSet& particles, grid::SolidBoundary<T, D>* solid,
                       const SeedingOptions& options, double time, Workspace& workspace) {
  require(options.per_cell >= 1 && options.per_cell <= 4096, "there are 1 to 4096 particles per cell, not ", options.per_cell);
  require(std::isfinite(options.band) && options.radii.smallest > 0.0 && options.radii.smallest <= options.radii.largest &&
              options.band > options.radii.smallest,
          "the radii must be positive and ascending and the smallest of them below the band, got ", options.radii.smallest, ", ",
          options.radii.largest, " and a band of ", options.band, " cells");
  require(std::isfinite(options.escape_distance) && options.escape_distance >= 0.0,
          "escape_distance must be a number from 0, got ", options.escape_distance);
  require(!solid || solid->grid() == phi.grid(), "solid must have the grid of the level set");
  static_cast<void>(MarkerColumns<T, D>(particles));
  require_finite(phi, "the level set");
  phi.fill_ghosts(time);
  if (solid) solid->levelset().fill_ghosts(time);
  return Seeder<T, D>(phi, particles, solid, options, time, workspace).run();
}

#define MENISCUS_INSTANTIATE(T, D)                                                                          \
  template Seeding seed_particles<T, D>(grid::Field<T, D>&, grid::ParticleSet&, grid::SolidBoundary<T, D>*, \
                                        const SeedingOptions&, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
