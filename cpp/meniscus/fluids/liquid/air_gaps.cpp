#include "meniscus/fluids/liquid/air_gaps.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Air that is made divergence-free lies within three cells of the liquid, so within two of a cell with a face of the liquid.
constexpr Index gap_reach = 2;

/// Speed of air outside of gaps in that of the fastest liquid. Where liquid flows without impacts, the air beside it is no
/// faster.
constexpr double fastest_air = 1.5;

/// Masks of faces, per axis, in a block and up to some cells beyond it; without a mask no face is set.
template <int D>
class FaceMasks {
 public:
  FaceMasks(const grid::Grid<D>& grid, const std::array<const std::uint8_t*, D>& masks, Index width) {
    for (int d = 0; d < D; ++d) {
      const auto stagger = grid::Stagger<D>::face(d);
      const std::uint8_t* mask = masks[d];
      if (mask) masks_[d].emplace(grid, stagger, mask, c_strides<D>(stagger.extents(grid.local_shape())), width);
    }
  }
  bool at(const Coord<D>& face, std::size_t axis) const { return masks_[axis] && masks_[axis]->at(face); }

 private:
  std::array<std::optional<grid::BlockWindow<std::uint8_t, D>>, D> masks_;
};

/// Whether air leads away from the surface.
template <class T, int D>
class AirCells {
 public:
  AirCells(const grid::Field<T, D>& levelset, const FaceMasks<D>& closed) : phi_(levelset.view()), closed_(closed) {
    // Along the axis nearest to its normal, the distance from a plane grows by at least 1 / sqrt(3) = 0.58 cells a cell.
    gain_ = static_cast<T>(0.3 * levelset.grid().spacing());
  }

  T distance(const Coord<D>& c) const { return *phi_.at(c); }
  bool leads_away(const Coord<D>& c) const {
    const T* phi = phi_.at(c);
    for (int d = 0; d < D; ++d) {
      const Index step = phi_.strides[d];
      if (phi[-step] > *phi + gain_ && !is_closed(c, d, 0)) return true;
      if (phi[step] > *phi + gain_ && !is_closed(c, d, 1)) return true;
    }
    return false;
  }
  bool is_closed(Coord<D> c, int axis, int upper) const {
    const Index d = axis;
    c[d] += upper;
    return closed_.at(c, d);
  }

 private:
  grid::FieldView<const T, D> phi_;
  const FaceMasks<D>& closed_;
  T gain_;
};

/// The bounds of the speed around air cells.
template <class T, int D>
class SpeedBounds {
 public:
  /// The ghosts of the velocity that other blocks own are filled.
  SpeedBounds(const grid::MacField<T, D>& velocity, const AirCells<T, D>& cells, const std::uint8_t* air,
              const FaceMasks<D>& given)
      : grid_(velocity.grid()), cells_(cells), air_(grid_, air, gap_reach), given_(given) {
    for (int d = 0; d < D; ++d) u_[d] = velocity.component(d).view();
  }

  bool is_air(const Coord<D>& c) const { return air_.at(c) != 0; }
  /// The largest magnitude on given faces around a cell near a gap, else zero.
  T operator()(const Coord<D>& c) const {
    bool near_gap = false;
    for_each_around<0>(c, c, [&](const Coord<D>& at) { near_gap = near_gap || (is_air(at) && !cells_.leads_away(at)); });
    T most{0};
    if (near_gap) for_each_around<0>(c, c, [&](const Coord<D>& at) { most = std::max(most, fastest(at)); });
    return most;
  }

 private:
  T fastest(const Coord<D>& c) const {
    T most{0};
    for (std::size_t d = 0; d < D; ++d) {
      const T* u = u_[d].at(c);
      Coord<D> face = c;
      if (given_.at(face, d)) most = std::max(most, std::abs(u[0]));
      ++face[d];
      if (given_.at(face, d)) most = std::max(most, std::abs(u[u_[d].strides[d]]));
    }
    return most;
  }

  /// Calls visit(coordinate) for the cells of the domain within gap_reach: of the block, or among its ghosts.
  template <int axis, class Visit>
  void for_each_around(const Coord<D>& centre, Coord<D> c, const Visit& visit) const {
    if constexpr (axis == D) {
      visit(c);
    } else {
      for (Index k = -gap_reach; k <= gap_reach; ++k) {
        const auto image = grid_.block().image(axis, centre[axis] + k);
        if (!image) continue;
        c[axis] = *image;
        for_each_around<axis + 1>(centre, c, visit);
      }
    }
  }

  const grid::Grid<D>& grid_;
  const AirCells<T, D>& cells_;
  grid::BlockWindow<std::uint8_t, D> air_;
  const FaceMasks<D>& given_;
  std::array<grid::FieldView<const T, D>, D> u_;
};

/// Sets a field on cells to value(coordinate), in parallel.
template <class T, int D, class Value>
void set_cells(grid::Field<T, D>& field, const Value& value) {
  const grid::FieldView<T, D> view = field.view();
  grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(view.extents, r);
      for (T* to = view.at(c); c[D - 1] < view.extents[D - 1]; ++c[D - 1]) *to++ = value(c);
    }
  });
}

}  // namespace

template <class T, int D>
void limit_air_speed(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* air,
                     const std::array<const std::uint8_t*, D>& given, double factor, grid::Field<T, D>& bounds) {
  require(levelset.grid() == velocity.grid() && bounds.grid() == velocity.grid(),
          "the level set must have the grid of the velocity");
  levelset.fill_ghosts(0.0);
  // Faces of the liquid are given too; what lies beyond them is never farther from the surface.
  const FaceMasks<D> given_faces(velocity.grid(), given, gap_reach);
  const AirCells<T, D> cells(levelset, given_faces);
  if (velocity.grid().block().cut())
    for (int d = 0; d < D; ++d) velocity.component(d).layout().halo.exchange(velocity.component(d).storage().data());
  const SpeedBounds<T, D> bound_of(velocity, cells, air, given_faces);
  set_cells(bounds, [&](const Coord<D>& c) { return bound_of.is_air(c) ? static_cast<T>(factor) * bound_of(c) : T{0}; });
  bounds.fill_ghosts(0.0);

  const double most = fastest_air * grid::max_component_speed<T, D>(velocity, given);
  const T anywhere = most > 0 && std::isfinite(most) ? static_cast<T>(most) : std::numeric_limits<T>::infinity();
  const grid::FieldView<const T, D> bound = std::as_const(bounds).view();
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const grid::FieldView<T, D> u = velocity.component(d).view();
    grid::parallel_rows<D>(u.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Coord<D> c = grid::row_start<D>(u.extents, r);
        const std::uint8_t* is_given = given[axis] + r * u.extents[D - 1];
        const T *above = bound.at(c), *below = above - bound.strides[axis];
        T* face = u.at(c);
        for (Index k = 0; k < u.extents[D - 1]; ++k) {
          const T b = std::max(above[k], below[k]);
          const T limit = b > 0 ? b : anywhere;
          if (!is_given[k]) face[k] = std::clamp(face[k], -limit, limit);
        }
      }
    });
  }
}

template <class T, int D>
void mark_gaps_at_walls(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, double distance,
                        const std::array<const std::uint8_t*, D>& closed, grid::Field<T, D>& region) {
  const grid::Grid<D>& grid = velocity.grid();
  require(levelset.grid() == grid && region.grid() == grid, "the level set must have the grid of the velocity");
  levelset.fill_ghosts(0.0);
  const FaceMasks<D> closed_faces(grid, closed, 0);
  const AirCells<T, D> cells(levelset, closed_faces);
  const Coord<D> n = grid.local_shape();
  const auto at_wall = [&](const Coord<D>& c) {
    for (int d = 0; d < D; ++d)
      for (const int upper : {0, 1}) {
        const Index axis = d;
        if (cells.is_closed(c, d, upper)) return true;
        const bool last = c[axis] == (upper ? n[axis] - 1 : 0);
        const Index side = grid::side_index(d, upper);
        if (last && !grid.shared(d, upper) && grid::fixes_normal_velocity(velocity.boundary()[side])) return true;
      }
    return false;
  };
  const T near = static_cast<T>(distance), outside = static_cast<T>(100 * grid.spacing());
  set_cells(region, [&](const Coord<D>& c) {
    const T phi = cells.distance(c);
    return phi > 0 && phi < near && at_wall(c) && !cells.leads_away(c) ? -outside : outside;
  });
  region.fill_ghosts(0.0);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                            \
  template void limit_air_speed<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const std::uint8_t*,         \
                                      const std::array<const std::uint8_t*, D>&, double, grid::Field<T, D>&); \
  template void mark_gaps_at_walls<T, D>(const grid::MacField<T, D>&, grid::Field<T, D>&, double,             \
                                         const std::array<const std::uint8_t*, D>&, grid::Field<T, D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
