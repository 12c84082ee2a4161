#include "meniscus/solids/contact/barrier_contact.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>
#include <limits>

namespace meniscus::solids {
namespace {

/// Largest stiffness that doubling leads to, relative to the least.
constexpr double stiffest = 1 << 20;
/// Tolerance of times of impact, relative to the way.
constexpr double impact_tolerance = 1e-6;

double weight_of(const collision::ContactNodes& nodes, std::int32_t vertex, std::int32_t node) {
  double sum = 0;
  for (const collision::NodeShare& s : nodes.shares(vertex))
    if (s.node == node) sum += s.weight;
  return sum;
}

/// add(node, vertex, weight) for all vertices of the first `count` nodes: the transpose of `ContactNodes::at_vertices`.
template <class Add>
void each_share(const collision::ContactNodes& nodes, Index count, Add&& add) {
  nodes::each(count, [&](std::size_t i) {
    const auto node = static_cast<std::int32_t>(i);
    for (const std::int32_t v : nodes.vertices_of(node)) add(i, v, weight_of(nodes, v, node));
  });
}

}  // namespace

BarrierContact::BarrierContact(const ContactSurfaces& surfaces, SolidBarrier::Solids solids, const GivenWays& ways, Index bodies,
                               const BarrierStepOptions& options)
    : surfaces_(surfaces),
      solids_(std::move(solids), *surfaces.nodes, bodies, options.activation),
      ways_(ways),
      bodies_(bodies),
      options_(options),
      slip_(options.slip_speed * ways.dt),
      stiffness_(options.fixed_stiffness),
      closest_part_(unbounded) {
  const collision::ContactNodes& n = *surfaces.nodes;
  const Index all = n.nodes(), vertices = n.vertices();
  require(static_cast<Index>(ways.start.size()) == all && static_cast<Index>(ways.end.size()) == all && bodies <= all,
          "there are ", all, " nodes, but ", ways.start.size(), " positions at the start, ", ways.end.size(), " at the end and ",
          bodies, " nodes of bodies");
  require(static_cast<Index>(surfaces.friction.size()) == vertices, "there must be a coefficient of friction for each of ",
          vertices, " vertices, not ", surfaces.friction.size());
  all_.resize(all);
  evaluated_.resize(bodies);
  for (auto* v : {&start_, &at_, &there_, &moved_, &sums_}) v->resize(vertices);
  blocks_.resize(vertices);
  yielding_.resize(vertices);
  for (Index v = 0; v < vertices; ++v) yielding_[v] = n.yields(static_cast<std::int32_t>(v)) ? 1 : 0;
  n.at_vertices(ways.start, start_);
}

bool BarrierContact::can_touch() const { return !surfaces_.mesh->triangles().empty() || surfaces_.mesh->edges().size() > 1; }

mesh::Point BarrierContact::given(std::size_t i, double fraction) const {
  if (fraction == 1) return ways_.end[i];
  return ways_.start[i] + fraction * (ways_.end[i] - ways_.start[i]);
}

void BarrierContact::vertices(ConstPoints x, double fraction, std::span<mesh::Point> out) {
  nodes::each(static_cast<Index>(all_.size()), [&](std::size_t i) { all_[i] = i < x.size() ? x[i] : given(i, fraction); });
  surfaces_.nodes->at_vertices(all_, out);
}

void BarrierContact::all(ConstPoints x, Points out) const {
  nodes::each(static_cast<Index>(out.size()), [&](std::size_t i) { out[i] = i < x.size() ? x[i] : given(i, now_); });
}

double BarrierContact::evaluate(ConstPoints x, Points forces) {
  if (nodes::first(bodies_, [&](std::size_t i) { return !x[i].allFinite(); }) < bodies_) return unbounded;
  nodes::copy(x, evaluated_);
  if (!solids_.find(x, when(trial_))) return unbounded;
  vertices(x, trial_, at_);
  if (!surfaces_.barrier->try_find(*surfaces_.mesh, *surfaces_.nodes, at_)) return unbounded;
  double energy = stiffness_ * surfaces_.barrier->energy(at_) + stiffness_ * solids_.energy();
  nodes::each(static_cast<Index>(at_.size()), [&](std::size_t v) {
    moved_[v] = at_[v] - start_[v];
    sums_[v].setZero();
  });
  surfaces_.barrier->add_gradient(at_, stiffness_, sums_);
  if (friction_.size() > 0) {
    energy += friction_.energy(moved_, slip_);
    friction_.add_gradient(moved_, slip_, sums_);
  }
  each_share(*surfaces_.nodes, bodies_, [&](std::size_t i, Index v, double w) { forces[i] -= w * sums_[v]; });
  solids_.add_forces(stiffness_, forces);
  solids_.add_friction(x, ways_.start, slip_, forces);
  return energy + solids_.friction_energy(x, ways_.start, slip_);
}

void BarrierContact::linearise() {
  surfaces_.barrier->linearise(at_, collision::Curvature::definite);
  friction_.linearise(moved_, slip_);
  solids_.linearise(stiffness_, evaluated_, ways_.start, slip_);
}

void BarrierContact::add_product(ConstPoints u, double factor, Points out) {
  if (!surfaces_.barrier->pairs().empty() || friction_.size() > 0) {
    nodes::each(static_cast<Index>(all_.size()), [&](std::size_t i) { all_[i] = i < u.size() ? u[i] : mesh::Point(0, 0, 0); });
    surfaces_.nodes->at_vertices(all_, there_);
    nodes::clear(sums_);
    surfaces_.barrier->add_product(there_, stiffness_, sums_);
    friction_.add_product(there_, sums_);
    each_share(*surfaces_.nodes, bodies_, [&](std::size_t i, Index v, double w) { out[i] += (factor * w) * sums_[v]; });
  }
  solids_.add_product(u, factor, out);
}

void BarrierContact::add_diagonal(double factor, std::span<Block3> out) {
  // Of vertices in several nodes without what couples these.
  nodes::each(static_cast<Index>(blocks_.size()), [&](std::size_t v) { blocks_[v].setZero(); });
  surfaces_.barrier->add_diagonal(stiffness_, blocks_);
  friction_.add_diagonal(blocks_);
  each_share(*surfaces_.nodes, bodies_, [&](std::size_t i, Index v, double w) { out[i] += (factor * w * w) * blocks_[v]; });
  solids_.add_diagonal(factor, out);
}

void BarrierContact::add_given(double factor, Points out) {
  const double rest = 1 - now_;
  solids_.add_given(stiffness_, evaluated_, when(1), ways_.dt, factor * rest, out);
  nodes::each(static_cast<Index>(all_.size()), [&](std::size_t i) {
    all_[i] = i < out.size() ? mesh::Point(0, 0, 0) : mesh::Point(rest * (ways_.end[i] - ways_.start[i]));
  });
  surfaces_.nodes->at_vertices(all_, there_);
  nodes::clear(sums_);
  surfaces_.barrier->add_product(there_, stiffness_, sums_);
  friction_.add_product(there_, sums_);
  each_share(*surfaces_.nodes, bodies_, [&](std::size_t i, Index v, double w) { out[i] += (factor * w) * sums_[v]; });
}

double BarrierContact::free_part(ConstPoints from, ConstPoints to) {
  const double end = aims_ ? 1.0 : now_;
  double alpha = solids_.free_part(from, to, when(now_), when(end));
  if (!can_touch()) return alpha;
  vertices(from, now_, there_);
  vertices(to, end, sums_);
  for (int attempt = 0; attempt < 4; ++attempt) {
    nodes::each(static_cast<Index>(at_.size()), [&](std::size_t v) { at_[v] = there_[v] + alpha * (sums_[v] - there_[v]); });
    const double impact = surfaces_.mesh->time_of_impact({there_, at_}, impact_tolerance, {yielding_, false});
    if (impact == unbounded) return alpha;
    if (impact > 0) return alpha * part_of_way * impact;
    // A way so long that the first contact is within the tolerance of its start.
    alpha *= 1e-4;
  }
  return 0;
}

bool BarrierContact::is_free(ConstPoints from, ConstPoints to) {
  if (!can_touch()) return true;
  vertices(from, now_, there_);
  vertices(to, trial_, sums_);
  return !surfaces_.mesh->collides({there_, sums_}, collision::ContactMode::any, {yielding_, false});
}

bool BarrierContact::arrive(ConstPoints x) {
  come(x);
  const double before = closest_part_;
  closest_part_ = closest().second;
  if (options_.fixed_stiffness > 0 || !(closest_part_ < std::min(before, options_.least_part))) return false;
  if (before >= options_.least_part || stiffness_ >= stiffest * least_stiffness_) return false;
  stiffness_ *= 2;
  return true;
}

void BarrierContact::come(ConstPoints x) {
  now_ = trial_;
  if (!on_iterate) return;
  all(x, all_);
  on_iterate(all_);
}

void BarrierContact::set_stiffness(double stiffness, double least) {
  stiffness_ = stiffness;
  least_stiffness_ = least;
}

bool BarrierContact::moves() const {
  const Index count = static_cast<Index>(all_.size()) - bodies_;
  const auto moved = [&](std::size_t k) { return ways_.end[bodies_ + k] != ways_.start[bodies_ + k]; };
  return solids_.moves() || nodes::first(count, moved) < count;
}

void BarrierContact::advance(double part) { trial_ = part == 1 ? 1 : now_ + part * (1 - now_); }

void BarrierContact::retreat() { trial_ = now_; }

double BarrierContact::fastest() const {
  const Index count = static_cast<Index>(all_.size()) - bodies_;
  return nodes::largest(count, [&](std::size_t k) {
    const std::size_t i = bodies_ + k;
    return (given(i, now_) - ways_.start[i]).norm() / ways_.dt;
  });
}

double BarrierContact::largest_way() const {
  const Index count = static_cast<Index>(all_.size()) - bodies_;
  return nodes::largest(count,
                        [&](std::size_t k) { return (ways_.end[bodies_ + k] - ways_.start[bodies_ + k]).cwiseAbs().maxCoeff(); });
}

std::pair<double, double> BarrierContact::closest() const {
  const double of_solids = solids_.least_distance();
  return {std::min(of_solids, surfaces_.barrier->least_distance()),
          std::min(of_solids / solids_.activation(), surfaces_.barrier->least_part())};
}

Index BarrierContact::lag(ConstPoints x, double stiffness) {
  require(solids_.find(x, when(now_)), "nodes must be outside of solids");
  vertices(x, now_, at_);
  surfaces_.barrier->find(*surfaces_.mesh, *surfaces_.nodes, at_);
  friction_.lag(*surfaces_.barrier, at_, stiffness, surfaces_.friction);
  solids_.lag(stiffness, x, when(1), ways_.dt);
  return friction_pairs();
}

void BarrierContact::add_barrier_forces(double stiffness, Points all) {
  nodes::clear(sums_);
  surfaces_.barrier->add_gradient(at_, stiffness, sums_);
  each_share(*surfaces_.nodes, static_cast<Index>(all.size()), [&](std::size_t i, Index v, double w) { all[i] -= w * sums_[v]; });
  solids_.add_forces(stiffness, all);
}

}  // namespace meniscus::solids
