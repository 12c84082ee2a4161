#include "meniscus/fluids/viscosity/viscosity.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/bodies/place_rows.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/fluids/pressure/projection_rows.hpp"
#include "meniscus/fluids/pressure/solid_faces.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/parallel/reductions.hpp"

namespace meniscus::fluids {
namespace {

/// Shear at a side along the component: none, from a wall half a cell away, or from a given sample a cell away.
enum class Shear { none, wall, sample };

Shear shear_of(const grid::GhostRule& rule) {
  if (rule.kind == grid::GhostRule::Kind::value) return Shear::sample;
  return rule.kind == grid::GhostRule::Kind::mirror && rule.odd ? Shear::wall : Shear::none;
}

/// Of a spacing: closer to a face no wall is taken to be.
constexpr double least_way = 1.0 / 256;
/// Bound of the sum of the coefficients around a cell, in units of the strength, and that beside solids that stick: six walls as
/// close as that.
constexpr double largest_diagonal = 16, largest_at_solids = 2048;

/// Why a value is given.
enum Given : std::uint8_t { not_given, given_by_side, given_by_solid, in_air };

/// Whether there is no liquid on either side of face `c` across `axis`. Beyond a side of the domain is nothing.
template <class T, int D>
bool air_beside(int axis, Coord<D> c, const grid::FieldView<const T, D>& liquid, const grid::Grid<D>& grid) {
  const Index a = axis;
  const Index face = c[a];
  for (const Index cell : {face - 1, face}) {
    const auto image = grid.block().image(axis, cell);
    if (!image) continue;
    c[a] = *image;
    if (is_liquid_value(*liquid.at(c), grid.spacing())) return false;
  }
  return true;
}

}  // namespace

template <int D>
Index ViscositySolver<D>::bytes() const {
  Index n = 0;
  for (const Component& c : components_)
    n += c.poisson.bytes() + c.fixed.size() + 8 * (c.value.size() + c.distance.size() + c.moving.size() + c.push.size());
  return n + traction_.bytes();
}

template <int D>
double ViscositySolver<D>::Component::way(Index outside, Index inside) const {
  return std::max(least_way, distance[outside] / (distance[outside] - distance[inside]));
}

template <int D>
double ViscositySolver<D>::Component::at_wall(Index outside, Index inside) const {
  if (!moves) return 0.0;
  return moving[outside] + way(outside, inside) * (moving[inside] - moving[outside]);
}

template <int D>
template <class T>
bool ViscositySolver<D>::diffuse(grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem,
                                 const numerics::SolveOptions& options, std::array<numerics::SolveInfo, D>& infos) {
  const double viscosity = problem.viscosity;
  require(dt > 0 && std::isfinite(dt), "dt must be positive and finite, not ", dt);
  require(!problem.viscosity_field, "viscosity must be a number here: where it varies, components are not diffused one by one");
  require(viscosity >= 0 && std::isfinite(viscosity), "viscosity must not be negative, not ", viscosity);
  require(velocity.grid() == grid_, "the velocity must have the grid of the solver");
  require(!problem.solid || problem.solid->grid() == grid_, "solid must have the grid of the velocity");
  require(!problem.liquid || problem.liquid->grid() == grid_, "liquid must have the grid of the velocity");
  require_finite(velocity);
  const double strength = dt * viscosity / (grid_.spacing() * grid_.spacing());
  if (!std::isfinite(1 / strength)) {
    for (numerics::SolveInfo& info : infos) {
      info = {};
      info.converged = true;
      info.end = numerics::SolveEnd::converged;
    }
    return true;
  }
  velocity.fill_ghosts(problem.time);
  if (problem.liquid) problem.liquid->fill_ghosts(problem.time);
  require(!problem.pressure || problem.pressure->grid() == grid_, "the pressure must have the grid of the velocity");
  if (problem.pressure) problem.pressure->fill_ghosts(problem.time);
  const bool sticks = problem.solid && problem.solid->sticks();
  // The equations are divided by the strength, as couplings have to be powers of two. The mass has no digits below those of the
  // diagonal, or a uniform flow would have shear.
  const double largest = sticks ? largest_at_solids : largest_diagonal;
  const double rounded = (1 / strength + largest) - largest, mass = rounded > 0 ? rounded : 1 / strength;
  const bool moves = problem.bodies && sticks;
  if (moves) {
    require(!grid_.block().cut(), "bodies that the fluid moves need a grid that is not cut into blocks");
    traction_.begin(*problem.bodies, problem.density * std::pow(grid_.spacing(), D) / mass);
  }
  for (int d = 0; d < D; ++d) {
    describe(d, velocity, dt, problem);
    assemble(d, velocity, mass, sticks);
    if (moves) touch_bodies(d, problem);
  }
  bool converged = true;
  if (moves) {
    traction_.factor();
    typename BodyTraction<D>::Systems systems;
    for (int d = 0; d < D; ++d) systems[d] = &components_[d].poisson;
    converged = traction_.solve(systems, options, infos[0]);
    for (int d = 1; d < D; ++d) infos[d] = infos[0];
  } else {
    for (int d = 0; d < D; ++d) {
      components_[d].poisson.solve(options, false, infos[d]);
      converged &= infos[d].converged;
    }
  }
  if (!converged) return false;
  const NoInterrupts whole;
  if (moves) {
    move_walls<T, D>(*problem.solid, problem.owners, *problem.bodies, problem.time);
    for (int d = 0; d < D; ++d) {
      Component& own = components_[d];
      const grid::FieldView<const T, D> wall = std::as_const(*problem.solid->velocity()).component(d).view();
      for_each_cell_row<D>(own.layout, [&](const Coord<D>& c, Index first, Index count) {
        for (Index k = 0; k < count; ++k)
          if (own.fixed[first + k] == given_by_solid) own.value[first + k] = static_cast<double>(wall.at(c)[k]);
      });
    }
  }
  for (int d = 0; d < D; ++d) {
    Component& own = components_[d];
    const grid::FieldView<T, D> view = velocity.component(d).view();
    const auto take = [&](const Coord<D>& c, Index first, Index count) {
      T* to = view.at(c);
      for (Index k = 0; k < count; ++k)
        to[k] = static_cast<T>(own.fixed[first + k] ? own.value[first + k]
                                                    : own.poisson.x[first + k] - (problem.pressure ? own.push[first + k] : 0.0));
    };
    own.layout.halo.exchange(d, own.poisson.x.data());
    if (problem.pressure) own.layout.halo.exchange(d, own.push.data());
    if (grid_.shared(d, 1)) {
      // The last face is an unknown of the block above.
      grid::for_each_face_row<D>(own.layout, d,
                                 [&](const Coord<D>& c, Index count, int, int) { take(c, own.layout.index(c), count); });
    } else {
      for_each_cell_row<D>(own.layout, take);
    }
  }
  velocity.fill_ghosts(problem.time);
  return true;
}

template <int D>
template <class T>
void ViscositySolver<D>::describe(int axis, const grid::MacField<T, D>& velocity, double dt,
                                  const ViscosityProblem<T, D>& problem) {
  const grid::Field<double, D>* solid = problem.solid ? &problem.solid->levelset() : nullptr;
  const grid::MacField<T, D>* solid_velocity = problem.solid ? problem.solid->velocity() : nullptr;
  const grid::Field<T, D>* liquid = problem.liquid;
  const bool sticks = solid && problem.solid->sticks();
  const Index a = axis;
  Component& own = components_[a];
  const grid::FieldView<const T, D> view = velocity.component(axis).view();
  const grid::CellLayout<D> layout = grid::unknowns_of<D>(grid_, velocity.component(axis).stagger());
  const Coord<D>& extents = layout.cells;
  if (!(own.layout == layout) || own.fixed.size() != layout.size) {
    own.layout = layout;
    own.fixed = Block<std::uint8_t>(layout.size);
    own.value = Block<double>(layout.size);
    own.distance = {};
    own.moving = {};
    own.push = {};
    std::fill(own.fixed.begin(), own.fixed.end(), std::uint8_t(0));
    std::fill(own.value.begin(), own.value.end(), 0.0);
  }
  own.moves = sticks && solid_velocity;
  for (auto [block, needed] : {std::pair{&own.distance, sticks}, std::pair{&own.moving, own.moves}})
    if (needed && block->size() != layout.size) {
      *block = Block<double>(layout.size);
      std::fill(block->begin(), block->end(), 0.0);
    }
  if (problem.pressure && own.push.size() != layout.size) {
    own.push = Block<double>(layout.size);
    std::fill(own.push.begin(), own.push.end(), 0.0);
  }
  const double scale = dt / (problem.density * grid_.spacing());
  const grid::FieldView<const double, D> pressure =
      problem.pressure ? std::as_const(*problem.pressure).view() : grid::FieldView<const double, D>{};
  std::array<bool, 2> given{};
  for (int upper : {0, 1})
    given[upper] = !grid_.shared(axis, upper) && grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(axis, upper)]);
  const grid::FieldView<const T, D> liquid_view = liquid ? std::as_const(*liquid).view() : grid::FieldView<const T, D>{};
  for_each_cell_row<D>(layout, [&](Coord<D> c, Index first, Index count) {
    const T* u = view.at(c);
    const T* moving = solid_velocity ? solid_velocity->component(axis).view().at(c) : nullptr;
    for (Index k = 0; k < count; ++k) {
      c[D - 1] = k;
      const bool on_side = (given[0] && c[a] == 0) || (given[1] && c[a] == extents[a] - 1);
      const double distance = solid ? at_face<D>(std::as_const(*solid).view(), axis, c) : 1.0;
      const bool inside = distance <= 0;
      if (sticks) own.distance[first + k] = distance;
      if (own.moves) own.moving[first + k] = static_cast<double>(moving[k]);
      const bool air = liquid && air_beside<T, D>(axis, c, liquid_view, grid_);
      own.fixed[first + k] = on_side ? given_by_side : inside ? given_by_solid : air ? in_air : not_given;
      own.value[first + k] =
          inside && !on_side && sticks ? (moving ? static_cast<double>(moving[k]) : 0.0) : static_cast<double>(u[k]);
      if (problem.pressure) {
        const bool ends = (c[a] == 0 && !grid_.shared(axis, 0)) || (c[a] == extents[a] - 1 && !grid_.shared(axis, 1));
        const bool inner = own.fixed[first + k] == not_given && !ends;
        const double* p = inner ? pressure.at(c) : nullptr;
        // Cells without fluid had none.
        const bool known = inner && p[0] != 0 && p[-pressure.strides[a]] != 0;
        own.push[first + k] = known ? -scale * (p[0] - p[-pressure.strides[a]]) : 0.0;
        own.value[first + k] += own.push[first + k];
      }
    }
  });
  const std::array arrays{parallel::HaloArray<D>(layout.halo, own.fixed.data()),
                          parallel::HaloArray<D>(layout.halo, own.value.data())};
  layout.halo.exchange_together(arrays);
  if (sticks) layout.halo.exchange(own.distance.data());
  if (own.moves) layout.halo.exchange(own.moving.data());
}

template <int D>
template <class T>
void ViscositySolver<D>::touch_bodies(int axis, const ViscosityProblem<T, D>& problem) {
  const Component& own = components_[axis];
  const grid::CellLayout<D>& layout = own.layout;
  const grid::Stagger<D> stagger = grid::Stagger<D>::face(axis);
  const Coord<D> strides = c_strides<D>(stagger.extents(grid_.local_shape()));
  const PlaceRows<D> places(grid_, *problem.bodies);
  for (Index r = 0; r < layout.rows(); ++r) {
    Coord<D> c = layout.row_coordinate(r);
    for (Index k = 0, i = layout.row(r); k < layout.cells[D - 1]; ++k, ++i) {
      c[D - 1] = k;
      if (own.fixed[i] != not_given) continue;
      for (int d = 0; d < D; ++d)
        for (const int way : {-1, 1}) {
          const Index beside = i + way * layout.strides[d];
          if (own.fixed[beside] != given_by_solid) continue;
          Coord<D> inside = c;
          inside[d] += way;
          // Across an axis that closes.
          inside[d] = (inside[d] + layout.cells[d]) % layout.cells[d];
          const std::int32_t body = problem.owners[axis][dot<D>(inside, strides)];
          if (body < 0) continue;
          Vec<double, D> place = grid::sample_position<D>(grid_, stagger, c);
          const double part = own.way(i, beside);
          place[d] += way * part * grid_.spacing();
          traction_.touch(axis, i, body, places.at(body, place, axis), 1 / part);
        }
    }
  }
}

template <int D>
template <class T>
void ViscositySolver<D>::assemble(int axis, const grid::MacField<T, D>& velocity, double mass, bool sticks) {
  Component& own = components_[axis];
  const grid::CellLayout<D>& layout = own.layout;
  const grid::FieldLayout<D>& field = velocity.component(axis).layout();
  std::array<Shear, 2 * D> shear{};
  for (int d = 0; d < D; ++d)
    for (int upper : {0, 1}) {
      const Index s = grid::side_index(d, upper);
      shear[s] = d == axis || layout.shared(d, upper) ? Shear::none : shear_of(field.rules[s]);
    }
  const auto side_coefficient = [&](int side) {
    const Shear kind = shear[side];
    return kind == Shear::wall ? 2.0 : kind == Shear::sample ? 1.0 : 0.0;
  };
  grid::FaceMatrix<double, D>& matrix = own.poisson.matrix;
  const bool fresh = grid::fit(matrix, layout, true) || !own.prepared;
  own.prepared = false;
  matrix.open_coupling.fill(1.0);
  const bool changed = grid::assemble<D>(
      matrix,
      [&](int d, Index lower, Index upper, int side) -> double {
        if (side >= 0) return own.fixed[side % 2 ? lower : upper] ? 0.0 : side_coefficient(side);
        if (own.fixed[lower] == in_air || own.fixed[upper] == in_air) return 0.0;
        if (layout.single_cell_ring(d)) return 0.0;
        if (!sticks && (own.fixed[lower] == given_by_solid || own.fixed[upper] == given_by_solid)) return 0.0;
        if (own.fixed[lower] && own.fixed[upper]) return 0.0;
        if (own.fixed[lower] == given_by_solid) return 1.0 / own.way(upper, lower);
        return own.fixed[upper] == given_by_solid ? 1.0 / own.way(lower, upper) : 1.0;
      },
      [&](Index i) { return own.fixed[i] == 0; }, mass, &own.changes);
  if (fresh) own.changes.mark_all(layout);
  if (parallel::global_any(*grid_.communicator(), changed || fresh)) own.poisson.prepare(own.changes);
  own.prepared = true;

  const grid::FieldView<const T, D> view = velocity.component(axis).view();
  for_each_cell_row<D>(layout, [&](const Coord<D>& first_cell, Index first, Index count) {
    Coord<D> c = first_cell;
    for (Index k = 0; k < count; ++k) {
      c[D - 1] = k;
      const Index i = first + k;
      if (own.fixed[i]) {
        own.poisson.b[i] = 0;
        continue;
      }
      const T* u = view.at(c);
      double b = mass * own.value[i];
      for (std::size_t d = 0; d < D; ++d)
        for (int upper : {0, 1}) {
          const Index s = layout.strides[d];
          const Index other = upper ? i + s : i - s;
          const bool on_side =
              layout.side_of_face(static_cast<int>(d), c[d] + upper) == grid::side_index(static_cast<int>(d), upper);
          if (!on_side) {
            if (own.fixed[other])
              b += matrix.faces[d][upper ? i + s : i] *
                   (own.fixed[other] == given_by_solid && sticks ? own.at_wall(i, other) : own.value[other]);
            continue;
          }
          const int side = grid::side_index(static_cast<int>(d), upper);
          const Shear kind = shear[side];
          if (kind == Shear::none) continue;
          const double ghost = static_cast<double>(*(u + (upper ? view.strides[d] : -view.strides[d])));
          const double beyond = kind == Shear::wall ? 0.5 * (ghost + own.value[i]) : ghost;
          b += side_coefficient(side) * beyond;
        }
      own.poisson.b[i] = b;
      own.poisson.x[i] = own.value[i];
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                           \
  template bool ViscositySolver<D>::diffuse<T>(grid::MacField<T, D>&, double, const ViscosityProblem<T, D>&, \
                                               const numerics::SolveOptions&, std::array<numerics::SolveInfo, D>&);
template class ViscositySolver<2>;
template class ViscositySolver<3>;
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
