#include "meniscus/surface/markers/particle_ballistics.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/within_reach.hpp"
#include "meniscus/grid/particles/particle_boundary.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/joint_reductions.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"

#include <cmath>
#include <optional>

namespace meniscus::surface {
namespace {

/// Contacts of one particle in one step. Who needs more is rattling in a corner and stays there for the rest of the step.
constexpr int max_contacts = 32;
/// Halvings of a piece of path that enters the solid.
constexpr int bisections = 40;

enum Fate : std::uint8_t { flies = 0, touched = 1, left = 2, in_solid = 3 };

template <class T, int D>
class Flight {
 public:
  using V = Vec<double, D>;

  Flight(const grid::Grid<D>& grid, const FlightOptions<D>& options, const grid::SolidBoundary<T, D>* solid, double time)
      : grid_(grid), sides_(grid, options.open), options_(options), boundary_(solid) {
    if (solid) solid_.emplace(solid->levelset(), &far_, time);
    if (solid && solid->velocity())
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        solid_velocity_[a].emplace(solid->velocity()->component(d), &far_velocity_[a], time);
      }
  }

  /// Collective: obtains what other blocks know of the solid, up to `width` samples beyond this one.
  void look_farther(Index width) {
    far_.fetch(boundary_->levelset().layout(), boundary_->levelset().storage().data(), width);
    if (!boundary_->velocity()) return;
    for (int d = 0; d < D; ++d) {
      const grid::Field<T, D>& c = boundary_->velocity()->component(d);
      far_velocity_[d].fetch(c.layout(), c.storage().data(), width);
    }
  }

  Fate run(V& x, V& v, double dt) const {
    Fate fate = flies;
    V acceleration = options_.gravity;
    if (solid_ && solid_->value(x) <= 0.0) {
      V normal = V::Zero();
      if (!push_out(x, &normal)) return in_solid;
      // The solid has taken it along to where it is at the end of the step.
      respond(x, normal, v, acceleration);
      V at = x;
      move_freely(at, v, acceleration, dt);
      return touched;
    }
    double remaining = dt;
    for (int contact = 0; contact < max_contacts && remaining > 0.0; ++contact) {
      V there = x;
      V after = v;
      move_freely(there, after, acceleration, remaining);
      V normal;
      const double part = first_contact(x, there, normal);
      if (part > 1.0) {
        x = there;
        v = after;
        break;
      }
      fate = touched;
      V at = x;
      move_freely(at, v, acceleration, part * remaining);
      remaining -= part * remaining;
      respond(x, normal, v, acceleration);
    }
    for (int d = 0; d < D; ++d) {
      if ((sides_.leads_out(d, 0) && x[d] < sides_.at(d, 0)) || (sides_.leads_out(d, 1) && x[d] > sides_.at(d, 1))) return left;
      x[d] = sides_.image(d, x[d]);
    }
    return fate;
  }

  bool inside(const V& x) const { return solid_ && solid_->value(x) <= 0.0; }
  /// False where there is no way out.
  template <class Position>
  bool push_out(Position& x, V* normal = nullptr) const {
    return grid::push_out<typename Position::Scalar, D>(*solid_, x.data(), normal) != grid::ParticleFate::in_solid;
  }

 private:
  /// Exact for constant acceleration and linear drag.
  void move_freely(V& x, V& v, const V& acceleration, double t) const {
    if (options_.drag == 0.0) {
      x += t * v + 0.5 * t * t * acceleration;
      v += t * acceleration;
      return;
    }
    const double decay = -std::expm1(-options_.drag * t);
    const V terminal = acceleration / options_.drag;
    const V excess = v - terminal;
    x += t * terminal + decay / options_.drag * excess;
    v -= decay * excess;
  }

  /// The part of the way from x to `to` before the first contact, above 1 if there is none. x is moved to the contact, just
  /// outside.
  double first_contact(V& x, const V& to, V& normal) const {
    double part = 2.0;
    int wall = -1;
    for (int d = 0; d < D; ++d) {
      for (int upper = 0; upper < 2; ++upper) {
        if (!sides_.stops(d, upper)) continue;
        const double side = sides_.at(d, upper);
        if (upper ? to[d] <= side : to[d] >= side) continue;
        const double p = std::clamp((side - x[d]) / (to[d] - x[d]), 0.0, 1.0);
        if (p >= part) continue;
        part = p;
        wall = grid::side_index(d, upper);
      }
    }
    const V way = to - x;
    double touch = 2.0;
    if (solid_) touch = enters_solid(x, way, std::min(part, 1.0));
    if (touch <= 1.0) {
      part = touch;
      x += touch * way;
      const V gradient = (*solid_)(x).gradient;
      const double slope = gradient.norm();
      normal = slope > 0.0 ? V(gradient / slope) : V(V::Zero());
      const V outside = x + grid::solid_gap * grid_.spacing() * normal;
      if (solid_->value(outside) > 0.0) x = onto_walls(outside);
    } else if (wall >= 0) {
      x += part * way;
      const int d = wall / 2;
      normal = V::Zero();
      normal[d] = wall % 2 ? -1.0 : 1.0;
      x[d] = sides_.at(d, wall % 2);
    }
    return part;
  }

  V onto_walls(V x) const {
    for (int d = 0; d < D; ++d) {
      if (sides_.stops(d, 0)) x[d] = std::max(x[d], sides_.at(d, 0));
      if (sides_.stops(d, 1)) x[d] = std::min(x[d], sides_.at(d, 1));
    }
    return x;
  }

  /// The last part of the way, up to `end`, before the solid; above 1 if the way does not enter it. The level set bounds every
  /// step.
  double enters_solid(const V& x, const V& way, double end) const {
    const double length = way.norm();
    if (length == 0.0) return 2.0;
    const double shortest = 0.1 * grid_.spacing() / length;
    double before = 0.0;
    double value = solid_->value(x);
    while (before < end) {
      double p = std::min(before + std::max(0.8 * value / length, shortest), end);
      value = solid_->value(x + p * way);
      if (value <= 0.0) {
        for (int i = 0; i < bisections; ++i) {
          const double middle = 0.5 * (before + p);
          (solid_->value(x + middle * way) > 0.0 ? before : p) = middle;
        }
        return before;
      }
      before = p;
    }
    return 2.0;
  }

  /// Velocity after a contact; then nothing pushes it into the surface any more.
  void respond(const V& x, const V& normal, V& v, V& acceleration) const {
    V surface = V::Zero();
    for (int d = 0; d < D; ++d)
      if (const auto& c = solid_velocity_[d]) surface[d] = c->value(x);
    const double across = (v - surface).dot(normal);
    if (across < 0.0) v -= (1.0 + options_.restitution) * across * normal;
    acceleration = options_.gravity;
    // A bounce that gravity brings back at once is rest.
    const double pull = acceleration.dot(normal);
    if (pull < 0.0 && (options_.restitution == 0.0 || across >= 0.0)) acceleration -= pull * normal;
  }

  const grid::Grid<D>& grid_;
  grid::DomainSides<D> sides_;
  const FlightOptions<D>& options_;
  const grid::SolidBoundary<T, D>* boundary_;
  grid::FarValues<D> far_;
  std::array<grid::FarValues<D>, D> far_velocity_;
  std::optional<grid::FieldProbe<double, D>> solid_;
  std::array<std::optional<grid::FieldProbe<T, D>>, D> solid_velocity_;
};

}  // namespace

template <class T, int D>
SprayFlight advance_spray(const grid::Grid<D>& grid, grid::ParticleSet& particles, double dt, const FlightOptions<D>& options,
                          grid::SolidBoundary<T, D>* solid, double time, Workspace& workspace) {
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, got ", dt);
  require(options.gravity.allFinite(), "gravity must be finite");
  require(std::isfinite(options.drag) && options.drag >= 0.0, "drag must not be negative, got ", options.drag);
  require(options.restitution >= 0.0 && options.restitution <= 1.0, "restitution must be between 0 and 1, got ",
          options.restitution);
  require(!solid || solid->grid() == grid, "solid must have the grid of the particles");
  const SprayColumns<T, D> s(particles);
  const Index n = particles.size();
  if (solid) solid->levelset().fill_ghosts(time);
  if (solid && solid->velocity()) solid->velocity()->fill_ghosts(time);
  Flight<T, D> flight(grid, options, solid, time);
  const auto positions = workspace.take<T>(n * D);
  const auto velocities = workspace.take<T>(n * D);
  const auto fates = workspace.take<std::uint8_t>(n);
  grid::within_reach<D>(
      grid, n, 256, workspace,
      [&](Index i) {
        Vec<double, D> x = Eigen::Map<const Vec<T, D>>(s.position + i * D).template cast<double>();
        Vec<double, D> v = Eigen::Map<const Vec<T, D>>(s.velocity + i * D).template cast<double>();
        std::uint8_t fate = flight.run(x, v, dt);
        Eigen::Map<Vec<T, D>> to(positions.data() + i * D);
        to = x.template cast<T>();
        if (fate <= touched && flight.inside(to.template cast<double>())) {
          // Rounding has put it in, by less than the gap.
          fate = flight.push_out(to) ? touched : in_solid;
        }
        fates.data()[i] = fate;
        Eigen::Map<Vec<T, D>>(velocities.data() + i * D) = v.template cast<T>();
      },
      [&](Index width) { flight.look_farther(width); });
  std::array<Index, 3> counts{};
  std::array<numerics::BinnedSum, 2> volumes;
  const auto removed = workspace.take<std::uint8_t>(n);
  for (Index i = 0; i < n; ++i) {
    const std::uint8_t fate = fates.data()[i];
    removed.data()[i] = fate >= left;
    counts[2] += fate == touched;
    if (fate < left) continue;
    const Index which = fate == left ? 0 : 1;
    ++counts[which];
    volumes[which].add(ball_volume<D>(static_cast<double>(s.radius[i])));
  }
  const Index gone = counts[0] + counts[1];
  parallel::Communicator& communicator = *grid.communicator();
  parallel::add_up(communicator, {&counts[0], &counts[1], &counts[2]});
  parallel::global_sums(communicator, volumes.data(), 2);
  const SprayFlight info{counts[0], volumes[0].value(), counts[1], volumes[1].value(), counts[2]};
  const NoInterrupts commit;
  std::copy_n(positions.data(), n * D, s.position);
  std::copy_n(velocities.data(), n * D, s.velocity);
  if (gone > 0) particles.remove(removed.data(), workspace);
  if (grid.block().cut()) grid::migrate_particles<D>(particles, grid, workspace);
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                    \
  template SprayFlight advance_spray<T, D>(const grid::Grid<D>&, grid::ParticleSet&, double, const FlightOptions<D>&, \
                                           grid::SolidBoundary<T, D>*, double, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
