#include "meniscus/fluids/particles/liquid_seeding.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_order.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace meniscus::fluids {
namespace {

using grid::Field;

/// Names of cells repeat after this many, a power of two.
constexpr Index named_cells = Index{1} << 18;

/// The cells of a grid, moved by a part of a cell, of which the block fills those that have moved from its own ones. Below a side
/// of the domain a cell moves in.
template <int D>
class MovedCells {
 public:
  MovedCells(const grid::Grid<D>& grid, const LiquidSeeding<D>& seeding)
      : grid_(grid), per_cell_(seeding.per_cell), jitter_(seeding.jitter), seed_(seeding.seed) {
    for (int axis = 0; axis < D; ++axis) {
      const Index d = axis;
      const double shift = seeding.offset[axis] / grid.spacing();
      const double whole = std::floor(shift);
      whole_[d] = static_cast<Index>(whole);
      fraction_[d] = shift - whole;
      begin_[d] = grid.first_cell()[d] - (grid.shared(axis, 0) ? 0 : 1);
      shape_[d] = grid.first_cell()[d] + grid.local_shape()[d] - begin_[d];
    }
    const auto side = static_cast<Index>(std::lround(std::pow(static_cast<double>(per_cell_), 1.0 / D)));
    Index even = 1;
    for (int d = 0; d < D; ++d) even *= side;
    parts_ = even == per_cell_ ? side : 1;
    if (even != per_cell_) jitter_ = 1.0;
  }

  Index count() const { return product<D>(shape_); }
  Coord<D> cell(Index i) const {
    Coord<D> c = surface::index_of<D>(i, c_strides<D>(shape_));
    for (std::size_t d = 0; d < D; ++d) c[d] += begin_[d];
    return c;
  }
  /// Number of the row of a cell along the last axis, among those of the domain.
  Index row(const Coord<D>& c) const {
    Index n = 0;
    for (std::size_t d = 0; d + 1 < D; ++d) n = n * (grid_.shape()[d] + 1) + c[d] + 1;
    return n;
  }
  bool has_parts() const { return parts_ > 1; }

  /// Whether a moved cell overlaps one with phi <= reach.
  template <class T>
  bool touches(const grid::FieldView<const T, D>& phi, T reach, const Coord<D>& c) const {
    for (unsigned q = 0; q < 1U << D; ++q) {
      Coord<D> at;
      bool there = true;
      for (unsigned d = 0; d < D; ++d) {
        const auto axis = static_cast<int>(d);
        at[d] = c[d] - grid_.first_cell()[d] + (q >> d & 1);
        there = there && !((q >> d & 1) && fraction_[d] == 0.0) && grid_.block().image(axis, at[d]).has_value();
      }
      if (there && *phi.at(at) <= reach) return true;
    }
    return false;
  }

  /// Position of the particle of a part of a moved cell, m; false outside of the domain.
  bool place(const Coord<D>& c, Index part, double* x) const {
    // The cell before the motion is the key of the random numbers.
    std::uint64_t id = 0;
    for (std::size_t d = 0; d < D; ++d)
      id = id * named_cells +
           static_cast<std::uint64_t>(grid::lattice_cell(grid_, static_cast<int>(d), c[d] - whole_[d]) & (named_cells - 1));
    const CounterRandom random(seed_, id * static_cast<std::uint64_t>(per_cell_) + static_cast<std::uint64_t>(part), 0);
    const auto first = random.uniform2(0), second = random.uniform2(1);
    const std::array<double, 4> u{first[0], first[1], second[0], second[1]};
    bool inside = true;
    Index rest = parts_ > 1 ? part : 0;
    for (std::size_t d = D; d-- > 0; rest /= parts_) {
      const auto n = static_cast<double>(grid_.shape()[d]);
      const double in_part = static_cast<double>(rest % parts_) + 0.5 + jitter_ * (u[d] - 0.5);
      const double at = grid::lattice_coordinate(
          grid_, static_cast<int>(d), static_cast<double>(c[d]) + fraction_[d] + in_part / static_cast<double>(parts_));
      inside = inside && at >= 0.0 && at <= n;
      x[d] = grid_.origin()[static_cast<Index>(d)] + grid_.spacing() * at;
    }
    return inside;
  }

  /// The moved cell of the block that holds a point, and the part of it; -1 for points in cells of other blocks.
  template <class T>
  std::array<Index, 2> locate(const T* x) const {
    Index cell = 0, part = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const double at = (static_cast<double>(x[d]) - grid_.origin()[static_cast<Index>(d)]) / grid_.spacing() - fraction_[d];
      const double whole = std::floor(at);
      const auto i = static_cast<Index>(std::clamp(whole, -1e15, 1e15));
      const Index place = grid::lattice_cell(grid_, static_cast<int>(d), i) - begin_[d];
      if (place < 0 || place >= shape_[d]) return {-1, 0};
      cell = cell * shape_[d] + place;
      part = part * parts_ + std::min(static_cast<Index>(static_cast<double>(parts_) * (at - whole)), parts_ - 1);
    }
    return {cell, part};
  }

 private:
  const grid::Grid<D>& grid_;
  Index per_cell_;
  double jitter_;
  std::uint64_t seed_;
  Index parts_ = 1;
  Coord<D> whole_{};
  std::array<double, D> fraction_{};
  Coord<D> begin_{}, shape_{};
};

/// Candidates of the touched cells, by cell and part: which of them are wanted.
template <class T, int D>
class Candidates {
 public:
  Candidates(const MovedCells<D>& cells, Field<T, D>& phi, const PointTest& inside, Index per_cell, Workspace& workspace)
      : cells_(cells), inside_(inside), per_cell_(per_cell), workspace_(workspace) {
    const double h = phi.grid().spacing();
    const T reach = static_cast<T>(0.5 * std::sqrt(static_cast<double>(D)) * h * (1 + 1e-9));
    const auto view = std::as_const(phi).view();
    touched_ = surface::list_indices(
        cells.count(),
        [&](Index begin, Index end, auto&& take) {
          for (Index i = begin; i < end; ++i)
            if (cells_.template touches<T>(view, reach, cells_.cell(i))) take(i);
        },
        workspace);
    wanted_ = workspace.take<std::uint8_t>(touched_.size * per_cell);
    mark_inside();
  }

  /// Of the candidates in each cell, keeps as many as the cell lacks: in empty parts first. `positions`: of all particles that
  /// may lie in the cells.
  void keep_missing(const T* positions, Index particles) {
    if (particles == 0 || touched_.size == 0) return;
    const auto slot = workspace_.take<std::int32_t>(cells_.count());
    std::fill_n(slot.data(), cells_.count(), -1);
    for (Index k = 0; k < touched_.size; ++k) slot.data()[touched_.index[k]] = static_cast<std::int32_t>(k);
    const auto slot_of = [&](const T* x) {
      const Index cell = cells_.locate(x)[0];
      return cell < 0 ? -1 : slot.data()[cell];
    };
    const auto near = surface::list_indices(
        particles,
        [&](Index begin, Index end, auto&& take) {
          for (Index i = begin; i < end; ++i)
            if (slot_of(positions + i * D) >= 0) take(i);
        },
        workspace_);
    const auto points = workspace_.template take<double>(near.size * D);
    for (Index k = 0; k < near.size * D; ++k) points.data()[k] = static_cast<double>(positions[near.index[k / D] * D + k % D]);
    const auto inside = workspace_.template take<std::uint8_t>(near.size);
    inside_(points.data(), near.size, inside.data());
    const auto held = workspace_.template take<std::int32_t>(2 * touched_.size);
    const auto taken = workspace_.template take<std::uint8_t>(touched_.size * per_cell_);
    std::fill_n(held.data(), 2 * touched_.size, 0);
    std::fill_n(taken.data(), touched_.size * per_cell_, std::uint8_t{0});
    parallel_for(0, near.size, 4096, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const auto [cell, part] = cells_.locate(positions + near.index[k] * D);
        const Index s = slot.data()[cell];
        const auto add = [&](Index i) { std::atomic_ref<std::int32_t>(held.data()[i]).fetch_add(1, std::memory_order_relaxed); };
        add(2 * s);
        if (!inside.data()[k]) continue;
        add(2 * s + 1);
        if (cells_.has_parts())
          std::atomic_ref<std::uint8_t>(taken.data()[s * per_cell_ + part]).store(1, std::memory_order_relaxed);
      }
    });
    parallel_for(0, touched_.size, 1024, [&](Index begin, Index end) {
      for (Index s = begin; s < end; ++s) {
        std::uint8_t* const wanted = wanted_.data() + s * per_cell_;
        const std::uint8_t* const full = taken.data() + s * per_cell_;
        // No more than the part of a cell that is in the region asks for, and never more than a cell holds.
        const Index own = std::count(wanted, wanted + per_cell_, std::uint8_t{1});
        Index lacking = std::min(own - held.data()[2 * s + 1], per_cell_ - held.data()[2 * s]);
        for (const int filled : {0, 1})
          for (Index part = 0; part < per_cell_; ++part)
            if (wanted[part] && full[part] == filled) wanted[part] = lacking-- > 0;
      }
    });
  }

  /// Calls take(cell, position) for all that are wanted, in the order of the cells and their parts.
  template <class Take>
  void for_wanted(Take&& take) const {
    std::array<double, D> x;
    for (Index s = 0; s < touched_.size; ++s) {
      const Coord<D> c = cells_.cell(touched_.index[s]);
      for (Index part = 0; part < per_cell_; ++part) {
        if (!wanted_.data()[s * per_cell_ + part]) continue;
        cells_.place(c, part, x.data());
        take(c, x);
      }
    }
  }

  Index wanted() const { return std::count(wanted_.data(), wanted_.data() + touched_.size * per_cell_, std::uint8_t{1}); }

 private:
  void mark_inside() {
    const Index piece = std::max<Index>(1, (Index{1} << 18) / per_cell_);
    const auto points = workspace_.template take<double>(std::min(piece, touched_.size) * per_cell_ * D);
    const auto in_domain = workspace_.template take<std::uint8_t>(std::min(piece, touched_.size) * per_cell_);
    for (Index first = 0; first < touched_.size; first += piece) {
      const Index last = std::min(first + piece, touched_.size);
      parallel_for(first, last, 512, [&](Index begin, Index end) {
        for (Index s = begin; s < end; ++s) {
          const Coord<D> c = cells_.cell(touched_.index[s]);
          for (Index part = 0; part < per_cell_; ++part) {
            const Index i = (s - first) * per_cell_ + part;
            in_domain.data()[i] = cells_.place(c, part, points.data() + i * D);
          }
        }
      });
      std::uint8_t* const wanted = wanted_.data() + first * per_cell_;
      inside_(points.data(), (last - first) * per_cell_, wanted);
      for (Index i = 0; i < (last - first) * per_cell_; ++i) wanted[i] = wanted[i] != 0 && in_domain.data()[i] != 0;
    }
  }

  const MovedCells<D>& cells_;
  const PointTest& inside_;
  Index per_cell_;
  Workspace& workspace_;
  surface::IndexList touched_;
  Workspace::Lease<std::uint8_t> wanted_;
};

/// New particles of a block in a row of cells along the last axis.
struct RowCount {
  Index row, first_cell, count;
};

/// Collective: gives new particles, which are in the order of their cells, ids in that order among those of all blocks. Returns
/// the number of all.
template <int D>
Index number_by_rows(grid::ParticleSet& particles, Index first, const std::vector<RowCount>& own, const grid::Grid<D>& grid) {
  std::vector<RowCount> all = parallel::gather_lists(*grid.communicator(), own);
  std::sort(all.begin(), all.end(),
            [](const RowCount& a, const RowCount& b) { return a.row != b.row ? a.row < b.row : a.first_cell < b.first_cell; });
  auto* ids = reinterpret_cast<Index*>(particles.ids().data.data()) + first;
  const Index base = particles.next_id() - (particles.size() - first);
  Index next = base;
  std::size_t k = 0;
  for (const RowCount& r : all) {
    // A row of one block is a part of the list of that block, in the same order.
    if (k < own.size() && own[k].row == r.row && own[k].first_cell == r.first_cell) {
      for (Index i = 0; i < r.count; ++i) *ids++ = next + i;
      ++k;
    }
    next += r.count;
  }
  particles.set_next_id(next);
  return next - base;
}

/// Positions of all particles that may lie in the moved cells of a block: its own, and those of the layer around it.
template <class T, int D>
struct Present {
  Workspace::Lease<T> together;
  const T* positions;
  Index count;

  Present(grid::ParticleSet& particles, const grid::Grid<D>& grid, Workspace& workspace)
      : positions(grid::particle_positions<T, D>(particles)), count(particles.size()) {
    if (!grid.block().cut()) return;
    const grid::CellWindow<D> block(grid, 0);
    const auto starts = workspace.take<Index>(product<D>(block.shape) + 1);
    grid::order_by_cell<T, D>(particles, grid, block, starts.data(), workspace);
    grid::ParticleSet ghosts =
        grid::ghost_particles<D>(particles, starts.data(), grid, 1, grid::GhostsAround::periodic_axes_go_on, {}, workspace);
    together = workspace.take<T>((count + ghosts.size()) * D);
    std::copy_n(positions, count * D, together.data());
    std::copy_n(grid::particle_positions<T, D>(ghosts), ghosts.size() * D, together.data() + count * D);
    positions = together.data();
    count += ghosts.size();
  }
};

}  // namespace

template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, Field<T, D>& phi, const PointTest& inside, const LiquidSeeding<D>& seeding,
                  Field<double, D>* solid, Workspace& workspace) {
  require(seeding.per_cell >= 1 && seeding.per_cell <= 4096, "there are 1 to 4096 particles per cell, not ", seeding.per_cell);
  require(phi.stagger() == grid::Stagger<D>::cell(), "the region must be on cells");
  require(!solid || solid->grid() == phi.grid(), "the level set of the solid must be on the grid of the region");
  const grid::Grid<D>& grid = phi.grid();
  static_cast<void>(grid::particle_values<T>(particles, "velocity", D));
  phi.fill_ghosts(0.0);
  if (solid) solid->fill_ghosts(0.0);
  const Present<T, D> present(particles, grid, workspace);
  const MovedCells<D> cells(grid, seeding);
  Candidates<T, D> candidates(cells, phi, inside, seeding.per_cell, workspace);
  candidates.keep_missing(present.positions, present.count);
  const Index most = candidates.wanted();
  const auto points = workspace.take<double>(most * D);
  const auto distance = workspace.take<double>(solid ? most : 0);
  double* to = points.data();
  std::vector<RowCount> rows;
  candidates.for_wanted([&](const Coord<D>& c, const std::array<double, D>& x) {
    to = std::copy(x.begin(), x.end(), to);
    if (const Index row = cells.row(c); rows.empty() || rows.back().row != row) rows.push_back({row, c[D - 1], 0});
    ++rows.back().count;
  });
  Index added = most;
  if (solid) {
    grid::sample_points(solid->layout(), static_cast<const double*>(solid->storage().data()), points.data(), most,
                        grid::Interpolation::linear, 0.0, distance.data());
    added = 0;
    Index i = 0;
    for (RowCount& row : rows) {
      const Index end = i + row.count;
      for (row.count = 0; i < end; ++i) {
        if (!(distance.data()[i] > 0.0)) continue;
        std::copy_n(points.data() + i * D, D, points.data() + added++ * D);
        ++row.count;
      }
    }
  }
  if (!grid.block().cut() && added == 0) return 0;
  check_interrupt();
  const NoInterrupts commit;
  const Index first = particles.append(added);
  T* const x = grid::particle_positions<T, D>(particles);
  T* const v = grid::particle_values<T>(particles, "velocity", D);
  parallel_for(0, added, 8192, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (int d = 0; d < D; ++d) {
        x[(first + i) * D + d] = static_cast<T>(points.data()[i * D + d]);
        v[(first + i) * D + d] = static_cast<T>(seeding.velocity[d]);
      }
  });
  if (!grid.block().cut()) return added;
  const Index of_all = number_by_rows<D>(particles, first, rows, grid);
  // Scratch memory as large as the particles would stay with what seeds few of them.
  Workspace of_migration;
  if (of_all > 0) grid::migrate_particles<D>(particles, grid, of_migration);
  return of_all;
}

template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, Field<T, D>& levelset, const LiquidSeeding<D>& seeding, Field<double, D>* solid,
                  Workspace& workspace) {
  // Its ghosts are filled before it is asked for points, which all lie near the block.
  const PointTest inside = [&](const double* points, Index n, std::uint8_t* flags) {
    const auto x = workspace.take<T>(n * D);
    const auto values = workspace.take<T>(n);
    for (Index i = 0; i < n * D; ++i) x.data()[i] = static_cast<T>(points[i]);
    grid::sample_points(levelset.layout(), static_cast<const T*>(levelset.storage().data()), x.data(), n,
                        grid::Interpolation::linear, 0.0, values.data());
    for (Index i = 0; i < n; ++i) flags[i] = values.data()[i] <= 0;
  };
  return seed_liquid<T, D>(particles, levelset, inside, seeding, solid, workspace);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                              \
  template Index seed_liquid<T, D>(grid::ParticleSet&, Field<T, D>&, const PointTest&, const LiquidSeeding<D>&, \
                                   Field<double, D>*, Workspace&);                                              \
  template Index seed_liquid<T, D>(grid::ParticleSet&, Field<T, D>&, const LiquidSeeding<D>&, Field<double, D>*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
