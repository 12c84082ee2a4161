#include "meniscus/surface/volume_of_fluid/fraction_transport.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/blocks/neighbours.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/numerics/sums/binned_sum.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/surface/volume_of_fluid/cell_plane.hpp"
#include "meniscus/surface/volume_of_fluid/fraction_spreading.hpp"

namespace meniscus::surface {
namespace {

/// One sweep along an axis: the state of the liquid, and where the results go.
template <class T, int D>
class Sweep {
 public:
  Sweep(const grid::Grid<D>& grid, const grid::MacField<T, D>& velocity, const OpenSpace<D>& open, double cells_per_speed)
      : grid_(grid), open_(open), scale_(cells_per_speed) {
    for (int d = 0; d < D; ++d) velocity_[d] = velocity.component(d).view();
  }

  /// Cells that the flow passes in the substep through the lower face of c across an axis, by the whole face.
  double way(int axis, const Coord<D>& c) const { return scale_ * static_cast<double>(*velocity_[axis].at(c)); }
  /// Volume that passes.
  double swept(int axis, const Coord<D>& c) const { return open_.face(axis, c) * way(axis, c); }

  /// Volume of liquid that leaves cell c through its lower and upper face, in cells. Faces may be wide open for the room in the
  /// cell or in its group: no more liquid leaves than there is, and where the cell is stretched as liquid (see `after`) no more
  /// air.
  std::array<double, 2> leaving(const Fractions<D>& f, bool full, int axis, const Coord<D>& c) const {
    const Outflow own = wanted(f, axis, c);
    if (own.swept[0] == 0 && own.swept[1] == 0) return {0, 0};
    double there = *f.at(c) * open_.cell(c), room = open_.cell(c);
    double liquid = own.liquid[0] + own.liquid[1], swept = own.swept[0] + own.swept[1];
    if (open_.in_group(c)) {
      there = room = liquid = swept = 0;
      open_.visit_group(c, [&](const Coord<D>& m) {
        const Outflow o = wanted(f, axis, m);
        liquid += o.liquid[0] + o.liquid[1];
        swept += o.swept[0] + o.swept[1];
        there += *f.at(m) * open_.cell(m);
        room += open_.cell(m);
      });
    }
    std::array<double, 2> out = own.liquid;
    if (full) {
      const double air = swept - liquid, most = std::max(0.0, room - there);
      if (air > most)
        for (int side = 0; side < 2; ++side) out[side] = own.swept[side] - (own.swept[side] - own.liquid[side]) * (most / air);
    } else if (const double most = std::max(0.0, there); liquid > most) {
      for (double& o : out) o *= most / liquid;
    }
    return out;
  }

  /// Whether a cell, or its group, is more than half full.
  bool is_full(const Fractions<D>& f, const Coord<D>& c) const {
    double there = 0, room = 0;
    const bool group = open_.visit_group(c, [&](const Coord<D>& m) {
      there += *f.at(m) * open_.cell(m);
      room += open_.cell(m);
    });
    return group ? there > 0.5 * room : *f.at(c) > 0.5;
  }

  /// What leaves through the lower faces of a row of cells of the block, and through the upper face of the last, goes to `flux`
  /// (upwards), which has a sample for each face of the component.
  void fluxes(const Fractions<D>& f, const grid::FieldView<const std::uint8_t, D>& full, int axis, double* flux) const {
    Coord<D> extents = grid_.local_shape();
    extents[axis] += 2;
    Coord<D> faces = grid_.local_shape();
    faces[axis] += 1;
    const Coord<D> strides = c_strides<D>(faces);
    const Index last = grid_.local_shape()[axis];
    grid::for_each_row<D>(extents, [&](Coord<D> c, Index) {
      c[axis] -= 1;
      for (Index i = 0; i < extents[D - 1]; ++i, ++c[D - 1]) {
        const std::array<double, 2> out = leaving(f, *full.at(c) != 0, axis, c);
        // Each face belongs to the cell that the flow comes from; one that nothing passes, to the cell above it.
        Coord<D> next = c;
        ++next[axis];
        if (c[axis] >= 0 && !(way(axis, c) > 0)) flux[dot<D>(c, strides)] = -out[0];
        if (c[axis] < last && way(axis, next) > 0) flux[dot<D>(next, strides)] = out[1];
      }
    });
  }

  /// Liquid in cell c after the sweep. Where liquid is, the cell is stretched by its own flow, less an equal share of what the
  /// whole flow stretches it, so that after all sweeps only what has passed the faces counts.
  double after(double fraction, bool full, double lower, double upper, int axis, const Coord<D>& c) const {
    const double open = open_.cell(c);
    if (!(open > 0)) return 0;
    double stretch = 0;
    if (full) {
      double all = 0, own = 0;
      for (int d = 0; d < D; ++d) {
        Coord<D> next = c;
        ++next[d];
        const double s = swept(d, next) - swept(d, c);
        all += s;
        if (d == axis) own = s;
      }
      stretch = own - all / D;
    }
    return fraction + (stretch - (upper - lower)) / open;
  }

 private:
  /// Volumes that the flow sweeps out of a cell through its lower and upper face, and of liquid in them.
  struct Outflow {
    std::array<double, 2> swept{}, liquid{};
  };

  Outflow wanted(const Fractions<D>& f, int axis, const Coord<D>& c) const {
    Coord<D> next = c;
    ++next[axis];
    Outflow out;
    const std::array<double, 2> ways{std::max(0.0, -way(axis, c)), std::max(0.0, way(axis, next))};
    out.swept = {open_.face(axis, c) * ways[0], open_.face(axis, next) * ways[1]};
    const double fraction = std::clamp(*f.at(c), 0.0, 1.0);
    if (fraction == 0 || (out.swept[0] == 0 && out.swept[1] == 0)) return out;
    std::array<double, 2> parts{fraction, fraction};
    // What comes in from beyond a side of the domain is mixed, without a plane.
    if (is_mixed(fraction) && grid::in_domain<D>(grid_, axis, c[axis])) parts = swept_parts(f, axis, c, ways);
    for (int side = 0; side < 2; ++side) out.liquid[side] = out.swept[side] * parts[side];
    return out;
  }

  /// The parts of the regions that the flow sweeps out at both faces which are liquid.
  std::array<double, 2> swept_parts(const Fractions<D>& f, int axis, const Coord<D>& c, const std::array<double, 2>& ways) const {
    const HalfSpace<D> plane = liquid_plane<D>(f, open_, c);
    const bool cut = open_.cut(c);
    std::array<double, 2> parts{};
    for (int side = 0; side < 2; ++side) {
      if (ways[side] == 0) continue;
      std::array<double, D> low{}, high;
      high.fill(1);
      const double way = std::min(1.0, ways[side]);
      (side == 0 ? high : low)[axis] = side == 0 ? way : 1 - way;
      if (!cut) {
        parts[side] = part_in_box<D>(plane, low, high);
        continue;
      }
      ClippedBox<D> box(low, high);
      box.clip(open_.wall(c));
      const double whole = box.volume();
      box.clip(plane);
      parts[side] = whole > 1e-12 ? std::min(1.0, box.volume() / whole) : *f.at(c);
    }
    return parts;
  }

  const grid::Grid<D>& grid_;
  const OpenSpace<D>& open_;
  double scale_;
  std::array<grid::FieldView<const T, D>, D> velocity_;
};

/// Substeps of a step, at most: more are a mistake in the velocity or the step.
constexpr double most_substeps = 1e6;

/// What has left through the sides of the domain across an axis.
template <int D>
void add_outflow(const grid::Grid<D>& grid, int axis, const double* flux, numerics::BinnedSum& sum) {
  Coord<D> faces = grid.local_shape();
  faces[axis] += 1;
  const Coord<D> strides = c_strides<D>(faces);
  for (const int upper : {0, 1}) {
    if (grid.shared(axis, upper)) continue;
    Coord<D> side = faces;
    side[axis] = 1;
    for (Index i = 0; i < product<D>(side); ++i) {
      Coord<D> c{};
      for (Index d = D - 1, rest = i; d >= 0; rest /= side[d], --d) c[d] = rest % side[d];
      c[axis] = upper ? faces[axis] - 1 : 0;
      const double out = flux[dot<D>(c, strides)];
      sum.add(upper ? out : -out);
    }
  }
}

}  // namespace

template <int D>
double fraction_volume(const grid::Field<double, D>& fractions, const OpenSpace<D>& open) {
  const grid::FieldView<const double, D> f = fractions.view();
  const Index length = f.extents[D - 1];
  numerics::BinnedSum sum = parallel_reduce<numerics::BinnedSum>(
      0, product<D>(f.extents) / length, std::max<Index>(1, 4096 / length), {},
      [&](Index begin, Index end) {
        constexpr Index lanes = 64;
        numerics::BinnedLanes<lanes> part;
        std::array<double, lanes> term;
        for (Index r = begin; r < end; ++r) {
          Coord<D> c = grid::row_start<D>(f.extents, r);
          for (Index first = 0; first < length; first += lanes) {
            const Index n = std::min(lanes, length - first);
            for (Index i = 0; i < n; ++i, ++c[D - 1]) term[i] = *f.at(c) * open.cell(c);
            part.add(term.data(), static_cast<int>(n));
          }
        }
        return part.total();
      },
      [](numerics::BinnedSum a, const numerics::BinnedSum& b) {
        a.add(b);
        return a;
      });
  return parallel::global_sum(*fractions.grid().communicator(), sum) * std::pow(fractions.grid().spacing(), D);
}

template <class T, int D>
FractionTransport advect_fractions(grid::Field<double, D>& fractions, const grid::MacField<T, D>& velocity, double dt,
                                   int first_axis, const OpenSpace<D>& open, Workspace& workspace) {
  const grid::Grid<D>& grid = fractions.grid();
  require(velocity.grid() == grid && fractions.stagger() == grid::Stagger<D>::cell(),
          "the fractions must be on the cells of the grid of the velocity");
  require_finite(fractions, "fractions");
  grid::require_finite(velocity);
  const grid::FieldLayout<D>& layout = fractions.layout();
  auto now = workspace.take<double>(layout.storage_size());
  auto next = workspace.take<double>(layout.storage_size());
  Coord<D> most_faces = grid.local_shape();
  for (Index& n : most_faces) ++n;
  auto flux = workspace.take<double>(product<D>(most_faces));
  auto full_cells = workspace.take<std::uint8_t>(layout.storage_size());
  const grid::FieldView<std::uint8_t, D> full = layout.template view<std::uint8_t>(full_cells.data());
  const Coord<D> extents = layout.extents();
  const Index length = extents[D - 1];
  std::copy_n(fractions.storage().data(), layout.storage_size(), now.data());

  const grid::FieldView<double, D> f = layout.template view<double>(now.data());
  const Fractions<D> seen = layout.template view<const double>(now.data());
  const auto replace = [&](const auto& value) {
    grid::fill_ghosts(layout, now.data(), 0.0);
    const grid::FieldView<double, D> to = layout.template view<double>(next.data());
    grid::for_each_row<D>(extents, [&](Coord<D> c, Index) {
      for (Index i = 0; i < length; ++i, ++c[D - 1]) *to.at(c) = value(c);
    });
    const double moved = largest_of_cells<D>(grid, [&](const Coord<D>& c) { return std::abs(*to.at(c) - *seen.at(c)); });
    grid::copy_owned<double, D>(layout, next.data(), now.data());
    return moved;
  };

  FractionTransport result;
  numerics::BinnedSum outflow;
  double rest = dt;
  while (rest > 0) {
    grid::fill_ghosts(layout, now.data(), 0.0);
    // The faces by which liquid may pass in the substep: it comes no farther than into the next cells, along any axes.
    const Sweep<T, D> unit(grid, velocity, open, 1.0 / grid.spacing());
    const double rate = largest_of_cells<D>(grid, [&](const Coord<D>& c) {
      bool near = false;
      for (int q = 0; q < grid::block_cells<D> && !near; ++q) {
        Coord<D> other = grid::block_offset<D>(q);
        for (int d = 0; d < D; ++d) other[d] += c[d];
        near = *seen.at(other) > 0;
      }
      double most = 0;
      for (int d = 0; d < D && near; ++d) {
        Coord<D> above = c;
        ++above[d];
        most = std::max({most, std::abs(unit.way(d, c)), std::abs(unit.way(d, above))});
      }
      return most;
    });
    if (rate == 0) break;
    const double wanted = std::ceil(2 * rate * rest);
    require(wanted <= most_substeps, "liquid would pass ", rate * rest, " cells in the step, which is more than half a million");
    const double step = wanted > 1 ? rest / wanted : rest;
    rest = wanted > 1 ? rest - step : 0;
    const Sweep<T, D> sweep(grid, velocity, open, step / grid.spacing());
    Coord<D> around = extents;
    for (Index& n : around) n += 2;
    grid::for_each_row<D>(around, [&](Coord<D> c, Index) {
      for (int d = 0; d < D; ++d) --c[d];
      for (Index i = 0; i < around[D - 1]; ++i, ++c[D - 1]) *full.at(c) = sweep.is_full(seen, c);
    });
    for (int s = 0; s < D; ++s) {
      const int axis = static_cast<int>((first_axis + result.substeps + s) % D);
      if (s > 0) grid::fill_ghosts(layout, now.data(), 0.0);
      sweep.fluxes(seen, layout.template view<const std::uint8_t>(full_cells.data()), axis, flux.data());
      add_outflow(grid, axis, flux.data(), outflow);
      Coord<D> faces = grid.local_shape();
      faces[axis] += 1;
      const Coord<D> strides = c_strides<D>(faces);
      grid::for_each_row<D>(extents, [&](Coord<D> c, Index) {
        for (Index i = 0; i < length; ++i, ++c[D - 1]) {
          double& value = *f.at(c);
          const double* lower = flux.data() + dot<D>(c, strides);
          value = sweep.after(value, *full.at(c) != 0, lower[0], lower[strides[axis]], axis, c);
        }
      });
      if (!open.everywhere()) replace([&](const Coord<D>& c) { return fraction_in_group<D>(seen, open, c); });
    }
    ++result.substeps;
    for (const bool air : {false, true}) {
      const Spreading<D> spreading(grid, open, air);
      double most = spreading.largest_excess(seen);
      constexpr int most_passes = 20;
      for (int pass = 0; pass < most_passes && most > Spreading<D>::tolerance; ++pass) {
        if (!(replace([&](const Coord<D>& c) { return spreading.after(seen, c); }) > 0)) break;
        most = spreading.largest_excess(seen);
      }
      if (!air) result.overfull = std::max(0.0, most);
    }
  }
  grid::copy_owned<double, D>(layout, now.data(), fractions.storage().data());
  result.outflow = parallel::global_sum(*grid.communicator(), outflow) * std::pow(grid.spacing(), D);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template FractionTransport advect_fractions<T, D>(grid::Field<double, D>&, const grid::MacField<T, D>&, double, int, \
                                                    const OpenSpace<D>&, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
template double fraction_volume<2>(const grid::Field<double, 2>&, const OpenSpace<2>&);
template double fraction_volume<3>(const grid::Field<double, 3>&, const OpenSpace<3>&);

}  // namespace meniscus::surface
