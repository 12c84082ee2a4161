#include "meniscus/fluids/liquid/walled_components.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/walls/hidden_corners.hpp"
#include "meniscus/grid/walls/open_neighbour.hpp"
#include "meniscus/grid/walls/straight_way.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace meniscus::fluids {
namespace {

constexpr int pieces_of_rows = 32;  // fixed, so that sums do not depend on the threads

/// Labels from 1, in the order of the first cells, of cells whose centres are in the liquid and not in the solid; returns how
/// many.
template <class T, int D>
std::int32_t label_walled(const grid::FieldView<const T, D>& phi, const grid::ThinWalls<D>& walls,
                          const grid::Field<double, D>* solid, std::int32_t* labels, Workspace& workspace) {
  const Coord<D>& cells = phi.extents;
  const Coord<D> strides = c_strides<D>(cells);
  const Index count = product<D>(cells), length = cells[D - 1], rows = count / length;
  const auto parents = workspace.take<std::int32_t>(count);
  std::int32_t* const parent = parents.data();
  const Index chunk = (rows + pieces_of_rows - 1) / pieces_of_rows;
  const auto unite = [parent](Index i, Index j) {
    numerics::unite(parent, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
  };
  const std::uint8_t* const clearance = walls.clearance();
  const grid::FieldView<const double, D> nodes = solid ? solid->view() : grid::FieldView<const double, D>{};
  // Runs of a row are joined as they are found; then rows with those before them, and at the end of a periodic axis with the
  // first.
  const auto find_runs = [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(cells, r);
      const T* row = phi.at(c);
      for (Index k = 0; k < length; ++k) {
        const Index i = r * length + k;
        c[D - 1] = k;
        const bool wet = row[k] <= 0 && !(solid && grid::corner_mean<D>(nodes.at(c), nodes.strides) < 0);
        const bool goes_on = k > 0 && parent[i - 1] >= 0 && (clearance[i] > 0 || !walls.blocked(D - 1, c, nullptr));
        parent[i] = !wet ? -1 : goes_on ? parent[i - 1] : static_cast<std::int32_t>(i);
      }
    }
  };
  const auto join_rows = [&](Index begin, Index end, auto&& wanted) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(cells, r);
      for (int d = 0; d < D; ++d)
        for (const int step : {-1, 1}) {
          const Index a = d;
          // Along rows only their ends are left.
          if (d < D - 1 && step > 0 && c[a] + 1 < cells[a]) continue;
          const Index first = d < D - 1 || step < 0 ? 0 : length - 1, last = d < D - 1 || step > 0 ? length : 1;
          bool joined = false;
          for (Index k = first; k < last; ++k) {
            const Index i = r * length + k;
            c[D - 1] = k;
            const Index q = parent[i] < 0 ? -1 : grid::open_neighbour<D>(walls, strides, c, i, d, step);
            const bool joins = q >= 0 && wanted(q / length) && parent[q] >= 0;
            // Where the cells before them were joined, and no wall is near, these are.
            if (joins && !(joined && clearance[i] > 0 && clearance[q] > 0)) unite(i, q);
            joined = joins && clearance[i] > 0 && clearance[q] > 0;
          }
        }
    }
  };
  parallel_for(0, rows, chunk, find_runs);
  parallel_for(0, rows, chunk,
               [&](Index begin, Index end) { join_rows(begin, end, [&](Index r) { return r >= begin && r < end; }); });
  for (Index begin = 0; begin < rows; begin += chunk) {
    // Rows of other pieces are beside the first and the last ones, as far as the longest step along an axis.
    const Index end = std::min(rows, begin + chunk);
    const Index across = D == 2 ? 1 : cells[1];
    const auto other = [&](Index r) { return r < begin || r >= end; };
    const Index upper = std::max(std::min(end, begin + across), end - across);
    join_rows(begin, std::min(end, begin + across), other);
    join_rows(upper, end, other);
  }
  std::int32_t parts = 0;
  for (Index i = 0; i < count; ++i) {
    if (parent[i] < 0)
      labels[i] = 0;
    else if (parent[i] == i)
      labels[i] = ++parts;
    else
      labels[i] = labels[numerics::root_of(parent, static_cast<std::int32_t>(i))];
  }
  return parts;
}

/// Liquid in cells as their centres see it. The ghosts of the level set are on lines.
template <class T, int D>
class SeenVolumes {
 public:
  SeenVolumes(const grid::FieldView<const T, D>& phi, const grid::ThinWalls<D>& walls, const grid::Field<double, D>* solid,
              const std::int32_t* labels)
      : phi_(phi), walls_(walls), labels_(labels), strides_(c_strides<D>(phi.extents)) {
    if (solid) nodes_ = solid->view();
    for (int q = 0; q < static_cast<int>(block); ++q) offset_[q] = grid::block_offset<D>(q);
  }

  /// Calls take(k, label, part) for parts of the cells k of a row, in cells; `all`, `any`: scratch of a value per cell.
  template <class Take>
  void add_row(Coord<D> c, Index first, std::uint8_t* all, std::uint8_t* any, Take&& take) const {
    const Index length = phi_.extents[D - 1];
    std::fill_n(all, length, std::uint8_t{1});
    std::fill_n(any, length, std::uint8_t{0});
    for (int q = 0; q < grid::layer_cells<D>; ++q) {
      const Coord<D> offset = grid::layer_offset<D>(D - 1, q);
      Coord<D> at = c;
      for (int d = 0; d < D - 1; ++d) at[d] = grid::nearest_cell<D>(walls_.grid(), d, c[d] + offset[d]);
      const T* row = phi_.at(at);
      for (Index k = 0; k < length; ++k) {
        const bool wet = row[k] <= 0;
        all[k] &= wet;
        any[k] |= wet;
      }
    }
    const std::uint8_t* clearance = walls_.clearance() + first;
    for (Index k = 0; k < length; ++k) {
      const Index below = grid::nearest_cell<D>(walls_.grid(), D - 1, k - 1);
      const Index above = grid::nearest_cell<D>(walls_.grid(), D - 1, k + 1);
      if (!(any[below] | any[k] | any[above])) continue;
      c[D - 1] = k;
      if ((all[below] & all[k] & all[above]) && clearance[k] > 0 && is_open(c)) {
        take(k, labels_[first + k], 1.0);
        continue;
      }
      add(c, first + k, [&](std::int32_t label, double part) { take(k, label, part); });
    }
  }

 private:
  /// Whether all corners of a cell are outside of the solid.
  bool is_open(const Coord<D>& c) const {
    if (!nodes_) return true;
    const auto corner = surface::corner_values<D>(nodes_->at(c), nodes_->strides);
    return std::all_of(corner.begin(), corner.end(), [](double v) { return v > 0; });
  }

  /// Calls take(label, part) for the parts of a cell, in cells.
  template <class Take>
  void add(const Coord<D>& c, Index number, Take&& take) const {
    const bool wet = *phi_.at(c) <= 0;
    const bool marked = walls_.clearance()[number] == 0;
    std::array<Index, block> cell;
    for (std::size_t q = 0; q < block; ++q) {
      Coord<D> at;
      for (std::size_t d = 0; d < D; ++d) at[d] = grid::nearest_cell<D>(walls_.grid(), static_cast<int>(d), c[d] + offset_[q][d]);
      cell[q] = dot<D>(at, strides_);
    }
    const std::uint32_t hidden = marked ? hidden_from(c) : 0;
    std::array<std::array<Reach, 2>, D> reach{};
    if (marked) find_reach(c, reach);
    const bool open = is_open(c);
    std::array<double, corners> solid{};
    if (!open) solid = surface::corner_values<D>(nodes_->at(c), nodes_->strides);
    const bool in_solid = !open && std::none_of(solid.begin(), solid.end(), [](double v) { return v > 0; });
    if (in_solid) return;
    for (std::uint32_t octant = 0; octant < corners; ++octant) {
      std::array<Reach, D> ends;
      for (std::size_t d = 0; d < D; ++d) ends[d] = reach[d][(octant >> d) & 1u];
      const double share = std::max(size(ends), 0.0) / corners;
      std::array<double, corners> value;
      std::uint32_t unseen = 0;
      std::int32_t label = labels_[number];
      for (std::uint32_t s = 0; s < corners; ++s) {
        const std::size_t q = corner_of(octant, s);
        value[s] = static_cast<double>(phi_.at(c)[dot<D>(offset_[q], phi_.strides)]);
        if ((hidden >> q) & 1u) unseen |= 1u << s;
      }
      // The own corner is always seen, but for a centre that a wall covers.
      if (unseen & 1u) {
        if (wet) take(label, open ? share : share * (1.0 - surface::solid_in_octant<D>(solid, octant).part()));
        continue;
      }
      for (int ring = 1; label == 0 && ring <= D; ++ring)
        for (std::uint32_t s = 0; s < corners; ++s)
          if (std::popcount(s) == ring && !((unseen >> s) & 1u) && label == 0) label = labels_[cell[corner_of(octant, s)]];
      if (label == 0) continue;
      if (unseen) grid::fill_hidden_corners<D>(unseen, value);
      take(label, share * surface::octant_fraction<D>(value, open ? nullptr : &solid, octant));
    }
  }

  /// How far a wall is beyond the half of a cell, twice, times the weight: the square of the part of its normal along the axis.
  struct Reach {
    double beyond = 0.0, weight = 0.0;
  };

  /// The size of an octant that ends at walls along the axes, in its own: of one plane the parts along the axes add up; planes
  /// across each other make a corner.
  static double size(const std::array<Reach, D>& ends) {
    double sum = 1.0, all = 1.0, weights = 1.0 - D;
    for (std::size_t a = 0; a < D; ++a) {
      sum += ends[a].beyond;
      all *= ends[a].beyond;
      weights += ends[a].weight;
      if constexpr (D == 3)
        for (std::size_t b = 0; b < a; ++b)
          sum += std::max(ends[a].weight + ends[b].weight - 1.0, 0.0) * ends[a].beyond * ends[b].beyond;
    }
    return sum + std::max(weights, 0.0) * all;
  }

  static constexpr std::uint32_t corners = 1u << D;
  static constexpr std::size_t block = D == 2 ? 9 : 27;

  /// The number in the block of cells around of corner s of an octant; corner 0 is the centre.
  static std::size_t corner_of(std::uint32_t octant, std::uint32_t s) {
    std::size_t q = 0, power = 1;
    for (std::uint32_t d = 0; d < D; ++d, power *= 3) q += power * (((s >> d) & 1u) ? (((octant >> d) & 1u) ? 2 : 0) : 1);
    return q;
  }

  /// Bits of the cells around that the centre of a cell does not see.
  std::uint32_t hidden_from(const Coord<D>& c) const {
    const grid::Grid<D>& grid = walls_.grid();
    std::array<Vec<double, D>, block> place;
    Vec<double, D> origin;
    for (std::size_t q = 0; q < block; ++q)
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        // What continues the field beyond a side is seen where the last sample is.
        const bool beyond = grid::image_of_cell<D>(grid, d, c[a] + offset_[q][a]) < 0;
        place[q][d] = grid.origin()[d] + (static_cast<double>(c[a] + (beyond ? 0 : offset_[q][a])) + 0.5) * grid.spacing();
        origin[d] = grid.origin()[d] + (static_cast<double>(c[a]) + 0.5) * grid.spacing();
      }
    return walls_.hidden(origin, place.data(), static_cast<int>(block), nullptr);
  }

  void find_reach(const Coord<D>& c, std::array<std::array<Reach, 2>, D>& reach) const {
    for (int d = 0; d < D; ++d)
      for (const std::size_t up : {0u, 1u}) {
        Coord<D> face = c;
        face[d] += up;
        grid::WallBetween wall;
        if (!walls_.between(d, face, wall)) continue;
        // The cell is the lower one of its upper face.
        const double weight = wall.weight[1 - up];
        reach[d][up] = {2 * weight * (wall.distance[1 - up] - 0.5), weight};
      }
  }

  grid::FieldView<const T, D> phi_;
  const grid::ThinWalls<D>& walls_;
  const std::int32_t* labels_;
  Coord<D> strides_;
  std::array<std::array<Index, D>, block> offset_;
  std::optional<grid::FieldView<const double, D>> nodes_;
};

}  // namespace

template <class T, int D>
void measure_walled_components(grid::Field<T, D>& levelset, const grid::ThinWalls<D>& walls, const grid::Field<double, D>* solid,
                               std::int32_t* labels, std::vector<double>& volumes, Workspace& workspace) {
  require(levelset.grid() == walls.grid(), "the walls must have the grid of the level set");
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const auto parts = static_cast<std::size_t>(label_walled<T, D>(phi, walls, solid, labels, workspace)) + 1;
  const Index length = phi.extents[D - 1], rows = product<D>(phi.extents) / length;
  const Index chunk = (rows + pieces_of_rows - 1) / pieces_of_rows;
  const auto partial = workspace.take<double>(pieces_of_rows * static_cast<Index>(parts));
  std::fill_n(partial.data(), pieces_of_rows * static_cast<Index>(parts), 0.0);
  const auto flags = workspace.take<std::uint8_t>(2 * pieces_of_rows * length);
  const SeenVolumes<T, D> seen(phi, walls, solid, labels);
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    double* const sums = partial.data() + begin / chunk * static_cast<Index>(parts);
    std::uint8_t* const all = flags.data() + begin / chunk * 2 * length;
    for (Index r = begin; r < end; ++r)
      seen.add_row(grid::row_start<D>(phi.extents, r), r * length, all, all + length,
                   [&](Index, std::int32_t label, double part) { sums[label] += part; });
  });
  volumes.assign(parts, 0.0);
  const double cell = std::pow(levelset.grid().spacing(), D);
  for (std::size_t i = 1; i < parts; ++i) {
    for (std::size_t p = 0; p < pieces_of_rows; ++p) volumes[i] += partial.data()[p * parts + i];
    volumes[i] *= cell;
  }
}

template <class T, int D>
void walled_fractions(grid::Field<T, D>& levelset, const grid::ThinWalls<D>& walls, grid::Field<T, D>& fractions,
                      Workspace& workspace) {
  require(levelset.grid() == walls.grid() && fractions.grid() == walls.grid(), "the walls must have the grid of the level set");
  grid::fill_ghosts_on_lines(levelset, 0.0);
  const grid::FieldView<const T, D> phi = std::as_const(levelset).view();
  const grid::FieldView<T, D> out = fractions.view();
  const Index length = phi.extents[D - 1], rows = product<D>(phi.extents) / length;
  const auto wet = workspace.take<std::int32_t>(rows * length);
  grid::parallel_rows<D>(phi.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* row = phi.at(grid::row_start<D>(phi.extents, r));
      for (Index k = 0; k < length; ++k) wet.data()[r * length + k] = row[k] <= 0;
    }
  });
  const Index chunk = (rows + pieces_of_rows - 1) / pieces_of_rows;
  const auto flags = workspace.take<std::uint8_t>(2 * pieces_of_rows * length);
  const SeenVolumes<T, D> seen(phi, walls, nullptr, wet.data());
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    std::uint8_t* const all = flags.data() + begin / chunk * 2 * length;
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = grid::row_start<D>(phi.extents, r);
      T* row = out.at(c);
      std::fill_n(row, length, T(0));
      seen.add_row(c, r * length, all, all + length, [&](Index k, std::int32_t, double part) { row[k] += static_cast<T>(part); });
    }
  });
}

template <int D>
void spread_walled_labels(const grid::ThinWalls<D>& walls, std::int32_t* labels, int layers, const grid::Field<double, D>* solid,
                          Workspace& workspace) {
  const Coord<D>& cells = walls.grid().local_shape();
  // Cells in the solid take no label, and so pass none on.
  const auto in_solid = [&](const Coord<D>& c) {
    if (!solid) return false;
    const grid::FieldView<const double, D> nodes = solid->view();
    return grid::corner_mean<D>(nodes.at(c), nodes.strides) <= 0.0;
  };
  const Coord<D> strides = c_strides<D>(cells);
  const Index count = product<D>(cells);
  const auto before = workspace.take<std::int32_t>(count);
  for (int layer = 0; layer < layers; ++layer) {
    std::copy_n(labels, count, before.data());
    grid::parallel_rows<D>(cells, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(cells, r);
        for (c[D - 1] = 0; c[D - 1] < cells[D - 1]; ++c[D - 1]) {
          const Index i = r * cells[D - 1] + c[D - 1];
          if (before.data()[i] != 0) continue;
          std::int32_t found = 0;
          for (int d = 0; d < D; ++d)
            for (const int step : {-1, 1}) {
              const Index q = grid::open_neighbour<D>(walls, strides, c, i, d, step);
              const std::int32_t other = q < 0 ? 0 : before.data()[q];
              if (other > 0 && (found == 0 || other < found)) found = other;
            }
          if (found != 0 && !in_solid(c)) labels[i] = found;
        }
      }
    });
  }
}

template <class T, int D>
void walled_origins(const grid::MacField<T, D>& velocity, double dt, const MovedWalls<D>& walls, const std::int32_t* before,
                    const std::int32_t* now, std::int32_t* origin) {
  const grid::Grid<D>& grid = velocity.grid();
  const Coord<D>& cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const double scale = -0.5 * dt / grid.spacing();
  grid::parallel_rows<D>(cells, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(cells, r);
      for (c[D - 1] = 0; c[D - 1] < cells[D - 1]; ++c[D - 1]) {
        const Index i = r * cells[D - 1] + c[D - 1];
        origin[i] = 0;
        if (now[i] == 0 || (walls.swept && walls.swept[i])) continue;
        Vec<double, D> here, there;
        Coord<D> from = c;
        Index farthest = 0;
        for (int d = 0; d < D; ++d) {
          const Index a = d;
          const grid::FieldView<const T, D> u = velocity.component(d).view();
          const T* lower = u.at(c);
          const double shift = scale * (static_cast<double>(lower[0]) + static_cast<double>(lower[u.strides[a]]));
          const auto steps = static_cast<Index>(std::floor(std::clamp(shift, -1e9, 1e9) + 0.5));
          from[a] = grid::nearest_cell<D>(grid, d, c[a] + steps);
          farthest = std::max(farthest, std::abs(steps));
          here[d] = grid.origin()[d] + (static_cast<double>(c[a]) + 0.5) * grid.spacing();
          there[d] = here[d] + static_cast<double>(grid::end_of_way<D>(grid, d, c[a] + steps) - c[a]) * grid.spacing();
        }
        const bool clear =
            !walls.start || walls.start->clearance()[i] > farthest || walls.start->hidden(here, &there, 1, nullptr) == 0;
        // What lies behind a wall says nothing: then the cell says itself where it was.
        const std::int32_t label = clear ? before[dot<D>(from, strides)] : 0;
        origin[i] = label ? label : before[i];
        if (origin[i] || !walls.start) continue;
        for (int d = 0; d < D && !origin[i]; ++d)
          for (const int step : {-1, 1}) {
            const Index q = grid::open_neighbour<D>(*walls.start, strides, c, i, d, step);
            if (q >= 0 && !origin[i]) origin[i] = before[q];
          }
      }
    }
  });
}

template void spread_walled_labels<2>(const grid::ThinWalls<2>&, std::int32_t*, int, const grid::Field<double, 2>*, Workspace&);
template void spread_walled_labels<3>(const grid::ThinWalls<3>&, std::int32_t*, int, const grid::Field<double, 3>*, Workspace&);
#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template void measure_walled_components<T, D>(grid::Field<T, D>&, const grid::ThinWalls<D>&, const grid::Field<double, D>*, \
                                                std::int32_t*, std::vector<double>&, Workspace&);                             \
  template void walled_fractions<T, D>(grid::Field<T, D>&, const grid::ThinWalls<D>&, grid::Field<T, D>&, Workspace&);        \
  template void walled_origins<T, D>(const grid::MacField<T, D>&, double, const MovedWalls<D>&, const std::int32_t*,          \
                                     const std::int32_t*, std::int32_t*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
