#include "meniscus/fluids/pressure/projection.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/bodies/place_rows.hpp"
#include "meniscus/fluids/pressure/projection_rows.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <chrono>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Net flux of a region, relative to the fluxes of its cells, that is no more than rounding.
constexpr double rounding_of_fluxes = 0x1p-40;

}  // namespace

template <int D>
PressureSolver<D>::PressureSolver(const grid::Grid<D>& grid) : grid_(grid), layout_(grid.block(), grid.communicator()) {}

template <int D>
Index PressureSolver<D>::bytes() const {
  Index n = poisson_.bytes() + workspace_.bytes() + liquid_.size() + inside_.size() + coupled_.bytes() + body_rows_.bytes() +
            8 * (density_.size() + phi_.size() + dirichlet_.size() + surface_.size());
  for (const auto& f : open_) n += 8 * f.size();
  for (const auto& f : given_) n += f.size();
  return n;
}

template <int D>
template <class T>
void PressureSolver<D>::project(grid::MacField<T, D>& velocity, double dt, const PressureProblem<T, D>& problem,
                                const ProjectionOptions& options, ProjectionReport<D>& report) {
  require(dt > 0 && std::isfinite(dt), "dt must be positive and finite, not ", dt);
  require(velocity.grid() == grid_, "the velocity must have the grid of the solver");
  require_finite(velocity);
  if (problem.target_divergence) grid::require_finite(*problem.target_divergence, "the target divergence");
  const auto start = std::chrono::steady_clock::now();
  report.setup_seconds = 0;
  if (describe(velocity, problem)) {
    poisson_.prepare(changes_);
    prepared_ = true;
    report.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // The faces as they will be: given values on the sides of the domain.
  velocity.fill_ghosts(problem.time);
  if (problem.solid && problem.solid->velocity()) problem.solid->velocity()->fill_ghosts(problem.time);
  std::array<Workspace::Lease<T>, D> leases;
  std::array<const T*, D> faces;
  for (int d = 0; d < D; ++d) {
    const grid::FieldLayout<D>& layout = velocity.component(d).layout();
    auto& lease = leases[d];
    lease = workspace_.template take<T>(layout.storage_size());
    // With ghosts beside moving solids: outlets in cells of other blocks read the flow there.
    const T* storage = velocity.component(d).storage().data();
    if (problem.solid && problem.solid->velocity())
      parallel_for(0, layout.storage_size(), 1 << 16,
                   [&](Index b, Index e) { std::copy(storage + b, storage + e, lease.data() + b); });
    else
      grid::copy_owned(layout, storage, lease.data());
    velocity.set_given_faces(d, lease.data(), problem.time);
    faces[d] = layout.template view<T>(lease.data()).origin;
  }

  // q = p dt / (h rho) has the unit of a velocity: its differences between cells are what faces lose.
  const double scale = dt / (grid_.spacing() * reference_density_);
  set_dirichlet(velocity.boundary(), problem, scale);
  const Vec<double, D> gain = dt * problem.acceleration;
  if (problem.bodies) stop_soft_walls(problem);
  set_right_hand_side(faces, velocity, problem, gain);
  add_given_pressures_to_right_hand_side();
  if (problem.bodies) {
    set_bodies(problem, dt);
    body_impulses_.assign(problem.bodies->change().begin(), problem.bodies->change().end());
    for (double& v : body_impulses_) v = -v;
    body_rows_.scatter(body_impulses_, poisson_.b.data());
    parallel_for(0, layout_.size, 1 << 16, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        if (coupled_.levels().label_of(i) == BodyLevels<D>::pocket) poisson_.b[i] = 0;
    });
  }
  poisson_.set_order_free(options.solve.order_free);
  // x times this is an impulse over the area of a face.
  const double push = reference_density_ * std::pow(grid_.spacing(), D);
  if (problem.bodies) coupled_.join(poisson_, body_rows_, body_outlets_, *problem.bodies, push);
  const double subtracted = balance(options.flux_correction, problem.bodies != nullptr, report);
  // The unknown is the excess over the pressure of the air, however large that is: it would only take digits from the rest.
  const double air = has_liquid_ ? problem.air_pressure : 0.0;
  const bool warm = problem.warm_start && problem.pressure;
  if (warm) {
    const grid::FieldView<const double, D> p = std::as_const(*problem.pressure).view();
    for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
      const double* from = p.at(c);
      for (Index k = 0; k < count; ++k)
        poisson_.x[first + k] = poisson_.matrix.active[first + k] && std::isfinite(from[k]) ? scale * from[k] : 0.0;
    });
    if (air != 0) add_in_open_regions(-scale * air);
  }
  if (problem.bodies) {
    coupled_.solve(options.solve, !warm, report.solve);
    for (RegionReport<D>& region : report.regions) region.residual = report.solve.residual;
  } else {
    poisson_.solve(options.solve, !warm, report.solve, subtracted);
    poisson_.region_residuals(sums_);
    for (std::size_t r = 0; r < report.regions.size(); ++r) report.regions[r].residual = sums_[r];
  }
  if (!report.solve.converged && !options.accept_unconverged) return;

  const NoInterrupts whole;
  layout_.halo.exchange(poisson_.x.data());
  if (problem.bodies) {
    body_rows_.gather(poisson_.x.data(), push, body_impulses_);
    problem.bodies->finish(body_impulses_);
    move_walls<T, D>(*problem.solid, problem.owners, *problem.bodies, problem.time);
  }
  apply(faces, velocity, problem, gain);
  velocity.fill_ghosts(problem.time);
  if (problem.pressure) {
    if (air != 0) add_in_open_regions(scale * air);
    const grid::FieldView<double, D> p = problem.pressure->view();
    for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
      double* to = p.at(c);
      for (Index k = 0; k < count; ++k)
        to[k] = poisson_.matrix.active[first + k] ? poisson_.x[first + k] / scale : is_liquid(first + k) ? 0.0 : air;
    });
  }
}

template <int D>
void PressureSolver<D>::add_in_open_regions(double value) {
  const auto& regions = poisson_.regions();
  for (const auto& u : regions.intervals()) {
    if (regions.regions()[u.region].closed) continue;
    for (Index i = u.index; i < u.index + u.count; ++i) poisson_.x[i] += value;
  }
}

template <int D>
template <class T>
void PressureSolver<D>::set_dirichlet(const grid::Boundary<D>& boundary, const PressureProblem<T, D>& problem, double scale) {
  std::array<double, 2 * D> side_pressure{};
  has_surface_ = has_liquid_ && problem.surface_pressure;
  const double air = has_liquid_ ? problem.air_pressure : 0.0;
  bool any = has_surface_;
  for (std::size_t s = 0; s < boundary.size(); ++s)
    if (const auto* open = std::get_if<grid::Open>(&boundary[s]); open && sides_[s] == SideKind::open) {
      side_pressure[s] = open->pressure - air;
      any |= side_pressure[s] != 0;
    }
  has_dirichlet_ = any;
  if (!any) return;
  if (dirichlet_.size() != layout_.size) dirichlet_ = Block<double>(layout_.size);
  if (has_surface_) {
    if (surface_.size() != layout_.size) surface_ = Block<double>(layout_.size);
    const grid::FieldView<const T, D> jump = problem.surface_pressure->view();
    for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
      const T* from = jump.at(c);
      for (Index k = 0; k < count; ++k) surface_[first + k] = scale * static_cast<double>(from[k]);
    });
    layout_.halo.exchange(surface_.data());
  }
  parallel_for(0, layout_.size, 1 << 16, [&](Index b, Index e) { std::fill(dirichlet_.data() + b, dirichlet_.data() + e, 0.0); });
  for (int d = 0; d < D; ++d)
    grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& first, Index count, int lower, int upper) {
      const Index i = layout_.index(first), s = layout_.strides[d];
      for (Index k = 0; k < count; ++k) {
        const int side = d == D - 1 ? (k == 0 ? lower : k == count - 1 ? upper : -1) : lower;
        if (side >= 0) dirichlet_[side % 2 ? i + k : i + k - s] = scale * side_pressure[side];
      }
    });
}

template <int D>
template <class T>
void PressureSolver<D>::set_right_hand_side(const std::array<const T*, D>& faces, const grid::MacField<T, D>& velocity,
                                            const PressureProblem<T, D>& problem, const Vec<double, D>& gain) {
  const FluxRows<T, D> flux(faces, velocity, problem.solid, gain, has_solid_ ? &open_ : nullptr, layout_);
  const double h = grid_.spacing();
  double* b = poisson_.b.data();
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
    flux.outflow(c, first, count, b + first);
    const T* target = problem.target_divergence ? problem.target_divergence->view().at(c) : nullptr;
    for (Index k = 0; k < count; ++k) {
      const Index i = first + k;
      if (!poisson_.matrix.active[i]) {
        b[i] = 0;
        continue;
      }
      double wanted = 0;
      if (target) wanted = h * (has_solid_ ? fluid_part(i) : 1.0) * static_cast<double>(target[k]);
      b[i] = wanted - b[i];
    }
  });
}

template <int D>
void PressureSolver<D>::add_given_pressures_to_right_hand_side() {
  if (!has_dirichlet_) return;
  const grid::FaceMatrix<double, D>& a = poisson_.matrix;
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      if (!a.active[i]) continue;
      for (int d = 0; d < D; ++d) {
        const Index axis = d;
        const Index s = layout_.strides[axis];
        const Index at = d == D - 1 ? i - first : c[axis];
        const bool at_lower = layout_.side_of_face(d, at) == 2 * d, at_upper = layout_.side_of_face(d, at + 1) == 2 * d + 1;
        const int lower = at_lower ? 2 * d : -1, upper = at_upper ? 2 * d + 1 : -1;
        const auto beyond = [&](Index j, bool on_side) {
          return a.active[j] ? jump_between_solved(i, j) : given_pressure(i, j, on_side);
        };
        poisson_.b[i] += face_coefficient(d, i, lower) * beyond(i - s, lower >= 0);
        poisson_.b[i] += face_coefficient(d, i + s, upper) * beyond(i + s, upper >= 0);
      }
    }
  });
}

template <int D>
double PressureSolver<D>::balance(FluxCorrection fix, bool bodies, ProjectionReport<D>& report) {
  const auto& regions = poisson_.regions().regions();
  report.regions.resize(regions.size());
  poisson_.regions().sum(poisson_.b.data(), sums_);
  if (bodies) coupled_.levels().keep_free(sums_);
  double area = 1;
  for (int d = 1; d < D; ++d) area *= grid_.spacing();
  bool any = false;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    RegionReport<D>& out = report.regions[r];
    out = {regions[r].cells, regions[r].closed, regions[r].first_cell, regions[r].closed ? -sums_[r] * area : 0.0, 0.0};
    if (!regions[r].closed) sums_[r] = 0;
    any |= sums_[r] != 0;
  }
  if (!any) return 0.0;
  if (fix == FluxCorrection::walls) return subtract(sums_, [this](Index i) { return wall_area(i); });
  // Without a solid all cells take the same, and so they do of what is no more than rounding: `poisson_` subtracts that.
  if (!has_solid_) return 0.0;
  poisson_.regions().sum_squares(poisson_.b.data(), weights_);
  any = false;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (std::abs(sums_[r]) <= rounding_of_fluxes * std::sqrt(static_cast<double>(regions[r].cells) * weights_[r])) sums_[r] = 0;
    any |= sums_[r] != 0;
  }
  // Cells that a solid nearly fills take nearly nothing: what they took would have to come through the slits that are left of
  // their faces.
  return any ? subtract(sums_, [this](Index i) { return fluid_part(i); }) : 0.0;
}

/// Subtracts the excess of each region from the right-hand side, in proportion to a weight.
template <int D>
template <class Weight>
double PressureSolver<D>::subtract(const std::vector<double>& excess, const Weight& weight) {
  poisson_.regions().sum_terms(weight, weights_);
  double squares = 0.0;
  const auto& intervals = poisson_.regions().intervals();
  parallel_for(0, static_cast<Index>(intervals.size()), 64, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const auto& u = intervals[n];
      const Index r = u.region;
      if (excess[r] == 0 || weights_[r] == 0) continue;
      const double part = excess[r] / weights_[r];
      for (Index i = u.index; i < u.index + u.count; ++i) poisson_.b[i] -= part * weight(i);
    }
  });
  // No weight is larger than the number of the faces of a cell.
  for (std::size_t r = 0; r < excess.size(); ++r)
    if (weights_[r] > 0) squares += excess[r] * excess[r] * (2 * D) / weights_[r];
  return std::sqrt(squares);
}

template <int D>
double PressureSolver<D>::fluid_part(Index cell) const {
  double faces = 0;
  for (std::size_t d = 0; d < D; ++d) faces += open_[d][cell] + open_[d][cell + layout_.strides[d]];
  if (faces <= 0 || faces >= 2 * D) return faces > 0 ? 1 : 0;
  Coord<D> c;
  Index rest = cell - layout_.origin;
  for (std::size_t d = 0; d < D; rest -= c[d] * layout_.strides[d], ++d) c[d] = rest / layout_.strides[d];
  return std::min(surface::open_part<D>(surface::corner_values<D>(solid_nodes_.at(c), solid_nodes_.strides)), faces);
}

template <int D>
double PressureSolver<D>::wall_area(Index cell) const {
  const grid::FaceMatrix<double, D>& a = poisson_.matrix;
  double area = 0;
  for (int d = 0; d < D; ++d) {
    const Index s = layout_.strides[d];
    for (const Index face : {cell, cell + s}) {
      if (!a.active[face == cell ? cell - s : cell + s] || (a.has_faces && a.face(d, face) == 0))
        area += 1;
      else if (has_solid_)
        area += 1 - open_[d][face];
    }
  }
  return area;
}

template <int D>
template <class T>
void PressureSolver<D>::apply(const std::array<const T*, D>& faces, grid::MacField<T, D>& velocity,
                              const PressureProblem<T, D>& problem, const Vec<double, D>& gain) {
  const grid::FaceMatrix<double, D>& a = poisson_.matrix;
  const double* x = poisson_.x.data();
  std::optional<WallVelocity<T, D>> walls;
  if (problem.solid && problem.solid->velocity()) walls.emplace(*problem.solid, faces, gain);
  const auto q = [&](Index i, Index beside, bool on_side) { return a.active[i] ? x[i] : given_pressure(beside, i, on_side); };
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const grid::FieldView<T, D> view = velocity.component(d).view();
    const Index s = layout_.strides[axis];
    const double* open = has_solid_ ? open_[axis].data() : nullptr;
    grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& first, Index count, int lower, int upper) {
      const T* from = faces[axis] + (view.at(first) - view.origin);
      T* to = view.at(first);
      const Index begin = layout_.index(first);
      for (Index k = 0; k < count; ++k) {
        const Index i = begin + k;
        const int side = d == D - 1 ? (k == 0 ? lower : k == count - 1 ? upper : -1) : lower;
        if (open && open[i] == 0) {
          Coord<D> face = first;
          face[D - 1] += k;
          Coord<D> cell = face;
          if (side >= 0 ? side % 2 == 1 : a.active[i - s]) --cell[axis];
          // In a wall too, what was given stays: a flow that goes on there is what transport needs, which would take the velocity
          // of the wall for that of the flow and slow it like friction.
          const bool given = (has_given_ && given_[axis][i]) || (side >= 0 && sides_[side] == SideKind::given);
          to[k] = given ? from[k] : walls ? static_cast<T>(walls->on_closed_face(axis, face, cell)) : T(0);
        } else if (a.active[i - s] || a.active[i]) {
          const double w = face_coefficient(d, i, side);
          to[k] = static_cast<T>(static_cast<double>(from[k]) -
                                 (open ? w / open[i] : w) *
                                     (q(i, i - s, side >= 0) - q(i - s, i, side >= 0) - jump_between_solved(i, i - s)));
        } else {
          to[k] = from[k];
        }
      }
    });
  }
}

template <int D>
template <class T>
void PressureSolver<D>::divergence(const grid::MacField<T, D>& velocity, grid::SolidBoundary<T, D>* solid,
                                   grid::Field<T, D>& out) {
  require(velocity.grid() == grid_ && out.grid() == grid_, "the velocity and the result must have the grid of the solver");
  require(!solid || solid->grid() == grid_, "solid must have the grid of the velocity");
  if (solid) grid::compute_open_fractions<D>(solid->levelset(), layout_, open_);
  std::array<const T*, D> faces;
  for (int d = 0; d < D; ++d) faces[d] = velocity.component(d).view().origin;
  if (solid && solid->velocity()) solid->velocity()->fill_ghosts(0.0);
  const FluxRows<T, D> flux(faces, velocity, solid, Vec<double, D>::Zero(), solid ? &open_ : nullptr, layout_);
  const grid::FieldView<T, D> view = out.view();
  const double inverse = 1 / grid_.spacing();
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index, Index count) {
    T* to = view.at(c);
    std::array<double, 64> sums;
    for (Index k = 0; k < count; k += 64) {
      Coord<D> at = c;
      at[D - 1] = k;
      const Index n = std::min<Index>(64, count - k);
      flux.outflow(at, layout_.index(at), n, sums.data());
      for (Index l = 0; l < n; ++l) to[k + l] = static_cast<T>(inverse * sums[l]);
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                         \
  template void PressureSolver<D>::project<T>(grid::MacField<T, D>&, double, const PressureProblem<T, D>&, \
                                              const ProjectionOptions&, ProjectionReport<D>&);             \
  template void PressureSolver<D>::divergence<T>(const grid::MacField<T, D>&, grid::SolidBoundary<T, D>*, grid::Field<T, D>&);
template class PressureSolver<2>;
template class PressureSolver<3>;
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
