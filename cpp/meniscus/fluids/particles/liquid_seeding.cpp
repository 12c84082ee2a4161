#include "meniscus/fluids/particles/liquid_seeding.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace meniscus::fluids {
namespace {

using grid::Field;

/// Names of cells repeat after this many, a power of two.
constexpr Index named_cells = Index{1} << 18;

/// The cells of a grid, moved by a part of a cell. Index i + 1 of the padded extents is the cell that has moved from i.
template <int D>
class MovedCells {
 public:
  MovedCells(const grid::Grid<D>& grid, const LiquidSeeding<D>& seeding)
      : grid_(grid), per_cell_(seeding.per_cell), jitter_(seeding.jitter), seed_(seeding.seed) {
    for (std::size_t d = 0; d < D; ++d) {
      const double shift = seeding.offset[static_cast<Index>(d)] / grid.spacing();
      const double whole = std::floor(shift);
      whole_[d] = static_cast<Index>(whole);
      fraction_[d] = shift - whole;
      padded_[d] = grid.shape()[d] + 2;
    }
    const auto side = static_cast<Index>(std::lround(std::pow(static_cast<double>(per_cell_), 1.0 / D)));
    Index even = 1;
    for (int d = 0; d < D; ++d) even *= side;
    parts_ = even == per_cell_ ? side : 1;
    if (even != per_cell_) jitter_ = 1.0;
  }

  Index count() const { return product<D>(padded_); }
  bool has_parts() const { return parts_ > 1; }
  Coord<D> cell(Index i) const {
    Coord<D> c = surface::index_of<D>(i, c_strides<D>(padded_));
    for (Index& x : c) --x;
    return c;
  }

  /// Whether a moved cell overlaps one with phi <= reach; images of cells of the domain do not count.
  template <class T>
  bool touches(const grid::FieldView<const T, D>& phi, T reach, const Coord<D>& c) const {
    for (std::size_t d = 0; d < D; ++d) {
      const Index image = grid::image_of_cell(grid_, static_cast<int>(d), c[d]);
      if (image >= 0 && image != c[d]) return false;
    }
    for (unsigned q = 0; q < 1U << D; ++q) {
      Coord<D> at = c;
      bool there = true;
      for (unsigned d = 0; d < D; ++d) {
        at[d] += q >> d & 1;
        there = there && !((q >> d & 1) && fraction_[d] == 0.0) && grid::image_of_cell(grid_, static_cast<int>(d), at[d]) >= 0;
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

  /// The moved cell that holds a point, and the part of it.
  template <class T>
  std::array<Index, 2> locate(const T* x) const {
    Index cell = 0, part = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const double at = (static_cast<double>(x[d]) - grid_.origin()[static_cast<Index>(d)]) / grid_.spacing() - fraction_[d];
      const double whole = std::floor(at);
      const auto i = static_cast<Index>(std::clamp(whole, -1e15, 1e15));
      const Index image = grid::lattice_cell(grid_, static_cast<int>(d), i);
      cell = cell * padded_[d] + 1 + std::clamp<Index>(image, -1, grid_.shape()[d]);
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
  Coord<D> padded_{};
};

/// Candidates of the touched cells, by cell and part: which of them are wanted.
template <class T, int D>
class Candidates {
 public:
  Candidates(const MovedCells<D>& cells, Field<T, D>& phi, const PointTest& inside, Index per_cell, Workspace& workspace)
      : cells_(cells), inside_(inside), per_cell_(per_cell), workspace_(workspace) {
    phi.fill_ghosts(0.0);
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

  /// Of the candidates in each cell, keeps as many as the cell lacks: in empty parts first.
  void keep_missing(const T* positions, Index particles) {
    if (particles == 0 || touched_.size == 0) return;
    const auto slot = workspace_.take<std::int32_t>(cells_.count());
    std::fill_n(slot.data(), cells_.count(), -1);
    for (Index k = 0; k < touched_.size; ++k) slot.data()[touched_.index[k]] = static_cast<std::int32_t>(k);
    const auto near = surface::list_indices(
        particles,
        [&](Index begin, Index end, auto&& take) {
          for (Index i = begin; i < end; ++i)
            if (slot.data()[cells_.locate(positions + i * D)[0]] >= 0) take(i);
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

  /// Calls take(position) for all that are wanted, in the order of the cells and their parts.
  template <class Take>
  void for_wanted(Take&& take) const {
    std::array<double, D> x;
    for (Index s = 0; s < touched_.size; ++s) {
      const Coord<D> c = cells_.cell(touched_.index[s]);
      for (Index part = 0; part < per_cell_; ++part) {
        if (!wanted_.data()[s * per_cell_ + part]) continue;
        cells_.place(c, part, x.data());
        take(x);
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

}  // namespace

template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, Field<T, D>& phi, const PointTest& inside, const LiquidSeeding<D>& seeding,
                  Field<double, D>* solid, Workspace& workspace) {
  require(seeding.per_cell >= 1 && seeding.per_cell <= 4096, "there are 1 to 4096 particles per cell, not ", seeding.per_cell);
  require(phi.stagger() == grid::Stagger<D>::cell(), "the region must be on cells");
  grid::require_one_block(phi.grid(), "seeding of liquid particles");
  require(!solid || solid->grid() == phi.grid(), "the level set of the solid must be on the grid of the region");
  const T* const present = grid::particle_positions<T, D>(particles);
  static_cast<void>(grid::particle_values<T>(particles, "velocity", D));
  const MovedCells<D> cells(phi.grid(), seeding);
  Candidates<T, D> candidates(cells, phi, inside, seeding.per_cell, workspace);
  candidates.keep_missing(present, particles.size());
  const Index most = candidates.wanted();
  if (most == 0) return 0;
  const auto points = workspace.take<double>(most * D);
  double* to = points.data();
  candidates.for_wanted([&](const std::array<double, D>& x) { to = std::copy(x.begin(), x.end(), to); });
  Index added = most;
  if (solid) {
    const auto distance = workspace.take<double>(most);
    grid::sample_points(*solid, points.data(), most, grid::Interpolation::linear, 0.0, distance.data());
    added = 0;
    for (Index i = 0; i < most; ++i)
      if (distance.data()[i] > 0.0) std::copy_n(points.data() + i * D, D, points.data() + added++ * D);
    if (added == 0) return 0;
  }
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
  return added;
}

template <class T, int D>
Index seed_liquid(grid::ParticleSet& particles, Field<T, D>& levelset, const LiquidSeeding<D>& seeding, Field<double, D>* solid,
                  Workspace& workspace) {
  const PointTest inside = [&](const double* points, Index n, std::uint8_t* flags) {
    const auto x = workspace.take<T>(n * D);
    const auto values = workspace.take<T>(n);
    for (Index i = 0; i < n * D; ++i) x.data()[i] = static_cast<T>(points[i]);
    grid::sample_points(levelset, x.data(), n, grid::Interpolation::linear, 0.0, values.data());
    for (Index i = 0; i < n; ++i) flags[i] = values.data()[i] <= 0;
  };
  return seed_liquid<T, D>(particles, levelset, inside, seeding, solid, workspace);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                              \
  template Index seed_liquid<T, D>(grid::ParticleSet&, Field<T, D>&, const PointTest&, const LiquidSeeding<D>&, \
                                   Field<double, D>*, Workspace&);                                              \
  template Index seed_liquid<T, D>(grid::ParticleSet&, Field<T, D>&, const LiquidSeeding<D>&, Field<double, D>*, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
