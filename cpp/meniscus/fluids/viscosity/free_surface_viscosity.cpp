#include "meniscus/fluids/viscosity/free_surface_viscosity.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/pressure/projection_rows.hpp"
#include "meniscus/fluids/pressure/solid_faces.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <chrono>

namespace meniscus::fluids {
namespace {

/// A face with stress but without liquid of its own needs a mass where nothing else settles its value: so much at least, and this
/// part of the liquid that its stresses act on. Two faces without liquid that share no more than an edge leave their difference
/// open; with next to no mass, a few dozen of them let conjugate gradients fail in a system of a few hundred unknowns. What is
/// added to the mass of all of the liquid is less than a part in a thousand of that around its surface.
constexpr double smallest_mass = 1e-6, smallest_part = 1e-3;

/// dt nu / h^2 from which on multigrid is faster than the diagonal as preconditioner.
constexpr double worth_multigrid = 2;

/// Axes of a pair.
template <int D>
constexpr std::array<std::array<int, 2>, D*(D - 1) / 2> axes_of_pairs() {
  if constexpr (D == 2)
    return {{{0, 1}}};
  else
    return {{{0, 1}, {0, 2}, {1, 2}}};
}

/// Weight of the volume of an edge in a side, for the shear there: from a wall half a cell away, or from a given sample a cell
/// away, whose volume is cut in half by the side.
double shear_factor(const grid::GhostRule& rule) {
  if (rule.kind == grid::GhostRule::Kind::value) return 2;
  return rule.kind == grid::GhostRule::Kind::mirror && rule.odd ? 4 : 0;
}

}  // namespace

template <int D>
LiquidViscositySolver<D>::LiquidViscositySolver(const grid::Grid<D>& grid)
    : grid_(grid), cells_(grid.block(), grid.communicator()), layout_(grid::cells_and_last_faces(grid)) {}

template <int D>
Index LiquidViscositySolver<D>::bytes() const {
  Index n = fractions_.bytes() + components_.bytes() + given_.size() + unknown_.size() + 8 * (weight_.size() + stress_.size());
  for (const Vector* v : {&mass_, &inverse_diagonal_, &fixed_, &x_, &b_, &r_, &p_, &q_, &z_}) n += 8 * v->size();
  return n;
}

template <int D>
template <class T>
bool LiquidViscositySolver<D>::diffuse(grid::MacField<T, D>& velocity, double dt, const ViscosityProblem<T, D>& problem,
                                       const numerics::SolveOptions& options, numerics::SolveInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  require(dt > 0 && std::isfinite(dt), "dt must be positive and finite, not ", dt);
  require(problem.viscosity >= 0 && std::isfinite(problem.viscosity), "viscosity must not be negative, not ", problem.viscosity);
  require(velocity.grid() == grid_, "the velocity must have the grid of the solver");
  require(!problem.viscosity_field || problem.viscosity_field->grid() == grid_, "viscosity must have the grid of the velocity");
  require(!problem.solid || problem.solid->grid() == grid_, "solid must have the grid of the velocity");
  require(!problem.liquid || problem.liquid->grid() == grid_, "liquid must have the grid of the velocity");
  require(!problem.bodies, "the stresses of a liquid with a free surface move no bodies");
  const auto is_number = [](double x) { return x >= 0 && std::isfinite(x); };
  require(is_number(problem.air_viscosity), "the viscosity of the air must not be negative, not ", problem.air_viscosity);
  require(is_number(problem.air_density), "the density of the air must not be negative, not ", problem.air_density);
  require(problem.air_density == 0 || (problem.liquid && !problem.viscosity_field),
          "air with a viscosity needs a liquid with a level set, and a viscosity of the liquid that is a number");
  require_finite(velocity);
  double strongest = problem.air_density > 0 ? std::max(problem.viscosity, problem.air_viscosity) : problem.viscosity;
  if (problem.viscosity_field) {
    require_finite(*problem.viscosity_field, "viscosity");
    const grid::FieldView<const T, D> nu = std::as_const(*problem.viscosity_field).view();
    const auto range = parallel_reduce(
        0, cells_.rows(), std::max<Index>(1, 8192 / cells_.cells[D - 1]), std::array<T, 2>{nu.origin[0], nu.origin[0]},
        [&](Index begin, Index end) {
          std::array<T, 2> r{nu.origin[0], nu.origin[0]};
          for (Index n = begin; n < end; ++n) {
            const T* row = nu.at(cells_.row_coordinate(n));
            for (Index k = 0; k < nu.extents[D - 1]; ++k) r = {std::min(r[0], row[k]), std::max(r[1], row[k])};
          }
          return r;
        },
        [](const std::array<T, 2>& x, const std::array<T, 2>& y) {
          return std::array<T, 2>{std::min(x[0], y[0]), std::max(x[1], y[1])};
        });
    parallel::Communicator& communicator = *grid_.communicator();
    const double least = parallel::global_min(communicator, static_cast<double>(range[0]));
    require(least >= 0, "viscosity must not be negative, not ", least);
    strongest = parallel::global_max(communicator, static_cast<double>(range[1]));
    problem.viscosity_field->fill_ghosts(problem.time);
  }
  if (mass_.size() == 0) {
    const Index n = D * layout_.size;
    for (Vector* v : {&mass_, &inverse_diagonal_, &fixed_, &x_, &b_, &r_, &p_, &q_, &z_}) {
      *v = Vector(n);
      std::fill(v->begin(), v->end(), 0.0);
    }
    for (Block<double>* v : {&weight_, &stress_}) {
      *v = Block<double>(stresses * layout_.size);
      std::fill(v->begin(), v->end(), 0.0);
    }
    for (Block<std::uint8_t>* v : {&given_, &unknown_}) {
      *v = Block<std::uint8_t>(n);
      std::fill(v->begin(), v->end(), std::uint8_t(0));
    }
  }
  velocity.fill_ghosts(problem.time);
  if (problem.liquid) grid::fill_ghosts_on_lines(*problem.liquid, problem.time);
  fractions_.set(cells_, problem.liquid);
  describe_faces(velocity, problem);
  describe_stresses(velocity, dt, problem);
  const double strength = dt / (grid_.spacing() * grid_.spacing()) * strongest;
  describe_rows(strength);
  multigrid_ = strength > worth_multigrid;
  if (multigrid_) components_.prepare(layout_, weight_.data(), mass_.data(), inverse_diagonal_.data(), strength);
  order_free_ = options.order_free || grid_.block().cut();
  numerics::conjugate_gradients(*this, numerics::ConjugateGradientVectors<LiquidViscositySolver>{x_, b_, r_, p_, q_, z_}, options,
                                false, info);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!info.converged) return false;
  const NoInterrupts whole;
  for (std::size_t a = 0; a < D; ++a) {
    const grid::FieldView<T, D> view = velocity.component(static_cast<int>(a)).view();
    const Index offset = static_cast<Index>(a) * layout_.size;
    const auto take = [&](const Coord<D>& c, Index first, Index count) {
      for (std::size_t d = 0; d + 1 < D; ++d)
        if (d != a && c[d] >= cells_.cells[d]) return;
      T* to = view.at(c);
      for (Index k = 0; k < count; ++k) {
        const Index i = offset + first + k;
        if (!unknown_[i] && !(given_[i] == given_by_solid && problem.solid->sticks())) continue;
        to[k] = static_cast<T>(unknown_[i] ? x_[i] : fixed_[i]);
      }
    };
    const int axis = static_cast<int>(a);
    const std::array arrays{parallel::HaloArray<D>(layout_.halo, unknown_.data() + offset),
                            parallel::HaloArray<D>(layout_.halo, x_.data() + offset)};
    layout_.halo.exchange_together(axis, arrays);
    if (grid_.shared(axis, 1)) {
      // The last face is an unknown of the block above.
      grid::for_each_face_row<D>(layout_, axis,
                                 [&](const Coord<D>& c, Index count, int, int) { take(c, layout_.index(c), count); });
    } else {
      for_each_cell_row<D>(layout_, take);
    }
  }
  velocity.fill_ghosts(problem.time);
  return true;
}

/// Masses and given values of faces.
template <int D>
template <class T>
void LiquidViscositySolver<D>::describe_faces(const grid::MacField<T, D>& velocity, const ViscosityProblem<T, D>& problem) {
  for (int axis = 0; axis < D; ++axis) {
    const Index a = axis;
    const grid::FieldView<const T, D> view = velocity.component(axis).view();
    const Index offset = axis * layout_.size;
    std::array<bool, 2> on_side{};
    for (int upper : {0, 1})
      on_side[upper] =
          !grid_.shared(axis, upper) && grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(axis, upper)]);
    for_each_cell_row<D>(layout_, [&](Coord<D> c, Index first, Index count) {
      const T* u = view.at(c);
      const T* moving =
          problem.solid && problem.solid->velocity() ? problem.solid->velocity()->component(axis).view().at(c) : nullptr;
      for (Index k = 0; k < count; ++k) {
        c[D - 1] = k;
        const Index i = offset + first + k;
        given_[i] = not_given;
        mass_[i] = fixed_[i] = x_[i] = 0;
        bool outside = false;
        for (int d = 0; d < D; ++d) outside |= d != axis && beyond(d, c[d]);
        if (outside) continue;
        const double value = static_cast<double>(u[k]);
        if ((on_side[0] && c[a] == 0) || (on_side[1] && c[a] == cells_.cells[a])) {
          given_[i] = given_by_side;
          fixed_[i] = value;
        } else if (problem.solid && at_face<D>(std::as_const(*problem.solid).levelset().view(), axis, c) <= 0) {
          given_[i] = given_by_solid;
          fixed_[i] = !problem.solid->sticks() ? value : moving ? static_cast<double>(moving[k]) : 0.0;
        } else {
          mass_[i] = fractions_.around(c, 1 << axis);
          if (problem.air_density > 0) mass_[i] += (room_around(c, 1 << axis) - mass_[i]) * problem.air_density;
          x_[i] = value;
        }
      }
    });
  }
  exchange_all(given_.data(), D);
  exchange_all(fixed_.data(), D);
}

/// Weights of stresses, dt nu / h^2 times the volume, and the velocities beyond the sides that act on them.
template <int D>
template <class T>
void LiquidViscositySolver<D>::describe_stresses(const grid::MacField<T, D>& velocity, double dt,
                                                 const ViscosityProblem<T, D>& problem) {
  const double scale = dt / (grid_.spacing() * grid_.spacing());
  const grid::FieldView<const T, D> nu =
      problem.viscosity_field ? std::as_const(*problem.viscosity_field).view() : grid::FieldView<const T, D>{};
  const auto viscosity_at = [&](const Coord<D>& c, int axes) -> double {
    if (!problem.viscosity_field) return problem.viscosity;
    double sum = 0;
    int count = 0;
    for (int beside = 0; beside < (1 << D); ++beside) {
      if (beside & ~axes) continue;
      Coord<D> cell = c;
      bool inside = true;
      for (std::size_t d = 0; d < D; ++d) {
        if (beside >> d & 1) --cell[d];
        const auto image = grid_.block().image(static_cast<int>(d), cell[d]);
        inside &= image.has_value();
        cell[d] = image.value_or(0);
      }
      if (!inside) continue;
      sum += static_cast<double>(*nu.at(cell));
      ++count;
    }
    return count ? sum / count : 0.0;
  };
  // Viscosity times volume; that of the air per density of the liquid.
  const auto viscous_volume = [&](const Coord<D>& c, int axes) {
    const double liquid = fractions_.around(c, axes);
    double sum = viscosity_at(c, axes) * liquid;
    if (problem.air_density > 0) sum += problem.air_density * problem.air_viscosity * (room_around(c, axes) - liquid);
    return sum;
  };
  const auto in_solid = [&](Index i) { return given_[i] == given_by_solid; };
  const bool slips = problem.solid && !problem.solid->sticks();
  for_each_cell_row<D>(layout_, [&](Coord<D> c, Index first, Index count) {
    for (Index k = 0; k < count; ++k) {
      c[D - 1] = k;
      const Index i = first + k;
      bool cell = true;
      for (int d = 0; d < D; ++d) cell &= !beyond(d, c[d]);
      const double full = cell ? 2 * scale * viscous_volume(c, 0) : 0.0;
      for (int d = 0; d < D; ++d) {
        const Index lower = d * layout_.size + i, upper = lower + layout_.strides[d];
        weight_[lower] = slips && (in_solid(lower) || in_solid(upper)) ? 0.0 : full;
      }
      for (int pair = 0; pair < pairs; ++pair) {
        const auto [a, b] = axes_of_pairs<D>()[pair];
        const int axes = 1 << a | 1 << b;
        const Index ia = a * layout_.size + i, ib = b * layout_.size + i;
        bool none =
            slips && (in_solid(ia) || in_solid(ia - layout_.strides[b]) || in_solid(ib) || in_solid(ib - layout_.strides[a]));
        for (int d = 0; d < D; ++d) none |= d != a && d != b && beyond(d, c[d]);
        const double strength = none ? 0.0 : scale * viscous_volume(c, axes);
        describe_edge(velocity, pair, c, i, strength);
      }
    }
  });
  exchange_all(weight_.data(), stresses);
}

template <int D>
double LiquidViscositySolver<D>::room_around(const Coord<D>& c, int axes) const {
  double room = 1.0;
  for (int d = 0; d < D; ++d)
    if (axes >> d & 1 && cells_.side_of_face(d, c[d]) >= 0) room *= 0.5;
  return room;
}

/// An edge in a side shears the component along the side alone, against what is given on the side or beyond.
template <int D>
template <class T>
void LiquidViscositySolver<D>::describe_edge(const grid::MacField<T, D>& velocity, int pair, Coord<D> c, Index i,
                                             double strength) {
  const auto axes = axes_of_pairs<D>()[pair];
  std::array<int, 2> side{-1, -1};
  std::array<bool, 2> fixes{};
  for (std::size_t e = 0; e < 2; ++e) {
    const Index d = axes[e];
    side[e] = cells_.side_of_face(axes[e], c[d]);
    if (side[e] < 0) continue;
    fixes[e] = grid::fixes_normal_velocity(velocity.boundary()[side[e]]);
  }
  double& weight = weight_[(D + pair) * layout_.size + i];
  weight = strength;
  if (side[0] < 0 && side[1] < 0) return;
  weight = 0;
  // Across the side of which axis the shear acts. In a corner only the normal component of an open side is unknown.
  if (side[0] >= 0 && side[1] >= 0 && fixes[0] == fixes[1]) return;
  const std::size_t across = side[0] < 0 ? 1 : side[1] < 0 ? 0 : fixes[0] ? 0 : 1;
  const int along = axes[1 - across];
  const bool corner = side[1 - across] >= 0;
  const Index normal = axes[across];
  const bool upper = c[normal] != 0;
  const grid::FieldLayout<D>& field = velocity.component(along).layout();
  const double factor = shear_factor(field.rules[side[across]]);
  if (factor == 0) return;
  weight = factor * strength;
  const grid::FieldView<const T, D> u = velocity.component(along).view();
  Coord<D> beyond_side = c, within = c;
  (upper ? within : beyond_side)[normal] -= 1;
  double outside = static_cast<double>(*u.at(beyond_side));
  const Index down = layout_.strides[normal];
  const Index ghost = along * layout_.size + (upper ? i : i - down);
  // The normal component may change along the side.
  const Index n = static_cast<Index>(normal) * layout_.size + i;
  const double change = corner ? 0.0 : fixed_[n] - fixed_[n - layout_.strides[along]];
  if (factor == 4) outside = 0.5 * (outside + static_cast<double>(*u.at(within))) + (upper ? -0.5 : 0.5) * change;
  fixed_[ghost] = outside;
  if (corner) {
    // Beyond the open side the normal component of the other side goes on as it is.
    const Index t = along;
    fixed_[c[t] != 0 ? n : n - layout_.strides[t]] = fixed_[c[t] != 0 ? n - layout_.strides[t] : n];
  }
}

/// Sets the unknown faces, the diagonal, and the right-hand side.
template <int D>
void LiquidViscositySolver<D>::describe_rows(double strength) {
  const double part = strength > 0 ? smallest_part / strength : 0.0;
  for (int axis = 0; axis < D; ++axis) {
    const Index offset = axis * layout_.size;
    for_each_cell_row<D>(layout_, [&](Coord<D> c, Index first, Index count) {
      for (Index k = 0; k < count; ++k) {
        c[D - 1] = k;
        const Index i = first + k, u = offset + i;
        bool outside = false;
        for (int d = 0; d < D; ++d) outside |= d != axis && beyond(d, c[d]);
        double sum = 0;
        if (!outside && !given_[u]) {
          sum = weight_[offset + i] + weight_[offset + i - layout_.strides[axis]];
          for (int d = 0; d < D; ++d) {
            if (d == axis) continue;
            const double* w = weight_.data() + (D + pair_of(axis, d)) * layout_.size + i;
            sum += w[0] + w[layout_.strides[d]];
          }
        }
        unknown_[u] = !outside && !given_[u] && (mass_[u] > 0 || sum > 0);
        mass_[u] = unknown_[u] ? std::max({mass_[u], smallest_mass, part * sum}) : 0.0;
        inverse_diagonal_[u] = unknown_[u] ? 1 / (mass_[u] + sum) : 0.0;
        if (!unknown_[u]) x_[u] = 0;
      }
    });
  }
  find_stresses(fixed_);
  gather(nullptr, b_.data());
  for_each_cell_row<D>(layout_, [&](const Coord<D>&, Index first, Index count) {
    for (int axis = 0; axis < D; ++axis)
      for (Index i = axis * layout_.size + first, end = i + count; i < end; ++i) b_[i] = mass_[i] * x_[i] - b_[i];
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                 \
  template bool LiquidViscositySolver<D>::diffuse<T>(grid::MacField<T, D>&, double, const ViscosityProblem<T, D>&, \
                                                     const numerics::SolveOptions&, numerics::SolveInfo&);
template class LiquidViscositySolver<2>;
template class LiquidViscositySolver<3>;
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
