#include "meniscus/fluids/tet_vof/transport/water_transport.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/tet_vof/tet_ranks.hpp"
#include "meniscus/fluids/tet_vof/transport/mesh_walls.hpp"
#include "meniscus/fluids/tet_vof/transport/solid_clipping.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::fluids {
namespace {

/// Streams of random points.
constexpr std::uint64_t backward_points = 1;
constexpr std::uint64_t forward_points = 2;

mesh::Point at(const mesh::TetWeights& w, const std::array<mesh::Point, 4>& x) {
  return (w[0] * x[0] + w[1] * x[1]) + (w[2] * x[2] + w[3] * x[3]);
}

double volume_of(const std::array<mesh::Point, 4>& x) { return std::abs(mesh::signed_volume(x[0], x[1], x[2], x[3])); }

/// Pulls a point that has come into the solid back on its way, until it is where water may be. Returns the tetrahedron there, or
/// `inside` if none is found.
std::int32_t outside_of_solid(const mesh::Point& start, std::span<const std::int32_t> ranks, NearLocation& mesh,
                              std::int32_t inside, mesh::Point& p) {
  const mesh::Point way = p - start;
  for (double part = 0.875; part >= 0; part -= 0.125) {
    const mesh::Point q = start + part * way;
    const std::int32_t k = mesh.find(q);
    if (k < 0 || ranks[k] < 0) continue;
    p = q;
    return k;
  }
  return inside;
}

/// Puts water that has met a wall into the last tetrahedron on its way, or else back to where it was. Returns the change of its
/// momentum over density.
mesh::Point put_at_wall(std::int32_t from, const mesh::Point& start, const mesh::Point& p, double v, const mesh::Point& u,
                        const TransportStep& step, NearLocation& after, ParcelList& parcels) {
  after.along(start, p, [](std::int32_t) { return true; });
  const auto [last, face] = after.exit();
  if (last < 0 || step.ranks[last] < 0) {
    parcels.push_back({v, u, from});
    return mesh::Point::Zero();
  }
  const mesh::Point change =
      held_by_wall(u, step.after.graph.tet(last), face, step.before.positions, step.after.positions, step.dt);
  parcels.push_back({v, u + change, last});
  return v * change;
}

void keep_last(std::int32_t& value, std::int32_t candidate) {
  std::atomic_ref<std::int32_t> v(value);
  std::int32_t now = v.load(std::memory_order_relaxed);
  while (now < candidate && !v.compare_exchange_weak(now, candidate, std::memory_order_relaxed)) {
  }
}

mesh::Point middle(const std::array<mesh::Point, 4>& x) { return 0.25 * ((x[0] + x[1]) + (x[2] + x[3])); }

/// How often to look for a solid on a path: several times per tetrahedron.
double look_length(const std::array<mesh::Point, 4>& x) { return 0.5 * std::cbrt(volume_of(x)); }

/// The points where all around is alike.
SampleOptions fewer(SampleOptions samples) {
  if (samples.kind == WaterSampling::adaptive) samples.count = std::max<Index>(samples.count / 3, 1);
  return samples;
}

}  // namespace

/// A tetrahedron traced back from the end of the step, and stopped at solids.
WaterTransport::Traced WaterTransport::traced_back(std::int32_t slot, const TransportStep& step, NearLocation& before) const {
  const std::int32_t t = reach_.tets()[slot];
  const mesh::Point& u = reach_.velocities()[slot];
  Traced traced;
  for (std::size_t k = 0; k < 4; ++k) {
    traced.x[k] = step.after.corner(t, k);
    traced.y[k] = traced.x[k] - step.dt * (step.trace == TetTrace::per_node ? reach_.node_velocity(graph_.tet(t)[k]) : u);
  }
  if (!step.distance_before.empty()) {
    traced.start = carried_by_solid(graph_.tet(t), step.after, step.before, step.distance_after, step.distance_before);
    traced.near_solid = stop_at_solid(graph_.tet(t), traced.start, step.distance_after, step.distance_before, before, traced.y);
    traced.look = look_length(traced.x);
  }
  return traced;
}

/// Returns the number of points.
Index WaterTransport::request_by_points(std::int32_t slot, const SampleOptions& samples, const TransportStep& step,
                                        NearLocation& before, RequestList& list, std::vector<OutsidePoint>* outside) const {
  const std::int32_t t = reach_.tets()[slot];
  before.begin(t);
  const Traced traced = traced_back(slot, step, before);
  const double volume = volume_of(traced.y);
  std::array<mesh::TetWeights, most_samples> memory;
  const auto points = sample_points(samples, t, backward_points, memory);
  const auto parts = static_cast<double>(points.size());
  const std::size_t first = list.size();
  before.begin(t);
  for (const mesh::TetWeights& w : points) {
    const mesh::Point p = at(w, traced.y);
    if (traced.near_solid &&
        last_before_solid(at(w, traced.start), p, traced.look, step.ranks, step.distance_before, before) >= 0)
      continue;
    const std::int32_t k = before.find(p);
    if (k < 0) {
      // A tetrahedron that was pulled apart asks for no more than it has room for.
      if (outside != nullptr) outside->push_back({p, std::min(volume, volume_of(traced.x)) / parts, t});
      continue;
    }
    const std::int32_t donor = reach_.slot(k);
    if (donor < 0 || donor >= reach_.wet()) continue;
    // Here the volumes still count points.
    std::size_t i = first;
    while (i < list.size() && list.donor(i) != donor) ++i;
    if (i == list.size())
      list.push(donor, 1);
    else
      list.volume(i) += 1;
  }
  for (std::size_t i = first; i < list.size(); ++i) list.volume(i) = quantum_.nearest(volume * (list.volume(i) / parts));
  return static_cast<Index>(points.size());
}

void WaterTransport::count_pieces(std::size_t pieces) {
  for (std::size_t p = 0; p < pieces; ++p) {
    count_.points += counts_[p].points;
    count_.overlaps += counts_[p].overlaps;
  }
}

void WaterTransport::request(const TetWater& water, const TransportStep& step, const WetBoundary& boundary, bool outside) {
  reach_.gather(water, step.before.positions, step.after.positions, step.ranks, step.dt, step.trace == TetTrace::per_node,
                boundary);
  const Index wet = reach_.wet();
  old_volume_.resize(wet);
  remainder_.resize(wet);
  requested_.assign(wet, 0);
  last_.assign(wet, -1);
  const std::size_t pieces = static_cast<std::size_t>((reach_.size() + chunk - 1) / chunk);
  if (requests_.size() < pieces) requests_.resize(pieces);
  if (outside_pieces_.size() < pieces) outside_pieces_.resize(pieces);
  counts_.assign(pieces, {});
  count_ = {};
  request_end_.resize(reach_.size());
  parallel_for(0, reach_.wet(), chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const Index s = i;
      remainder_[s] = old_volume_[s] = water.volume[reach_.tets()[s]];
    }
  });
  find_planes(water, step);
  const SampleOptions few = fewer(step.samples);
  parallel_for(0, reach_.size(), chunk, [&](Index b, Index e) {
    auto& list = requests_[b / chunk];
    auto& beyond = outside_pieces_[b / chunk];
    list.clear();
    beyond.clear();
    NearLocation before(step.before);
    OverlapSearch search;
    Index points = 0;
    for (Index i = b; i < e; ++i) {
      const auto slot = static_cast<std::int32_t>(i);
      const std::size_t first = list.size();
      if (step.ranks[reach_.tets()[i]] >= 0) {
        std::vector<OutsidePoint>* const to = outside ? &beyond : nullptr;
        const WaterSampling kind = step.samples.kind;
        if (kind == WaterSampling::exact || (kind == WaterSampling::adaptive && !all_alike(slot, step)))
          request_by_overlap(slot, step, before, search, list, to);
        else
          points += request_by_points(slot, few, step, before, list, to);
      }
      for (std::size_t j = first; j < list.size(); ++j) {
        const Index donor = list.donor(j);
        add_exactly(requested_[donor], list.volume(j));
        keep_last(last_[donor], slot);
      }
      request_end_[i] = static_cast<std::int32_t>(list.size());
    }
    counts_[b / chunk] = {points, search.overlaps()};
  });
  count_pieces(pieces);
  outside_.clear();
  for (std::size_t p = 0; p < pieces; ++p) outside_.insert(outside_.end(), outside_pieces_[p].begin(), outside_pieces_[p].end());
}

void WaterTransport::deliver(const TetWater& water) {
  std::atomic<bool> same = true;
  parallel_for(0, reach_.size(), chunk, [&](Index b, Index e) {
    for (auto s = static_cast<std::size_t>(b); s < static_cast<std::size_t>(e); ++s)
      if (water.volume[reach_.tets()[s]] != (s < old_volume_.size() ? old_volume_[s] : 0.0)) same = false;
  });
  require(same, "the water must not be changed between request and deliver, but its volume was");
  const auto granted = [&](std::size_t d, double v) {
    return requested_[d] <= old_volume_[d] ? v : quantum_.share(old_volume_[d], v, requested_[d]);
  };
  parallel_for(0, reach_.size(), chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for_requests_of(i, [&](std::size_t d, double v) { add_exactly(remainder_[d], -granted(d, v)); });
  });
  // What rounding leaves of a donor that gives all goes to the last that has asked, so that nothing is left there.
  parallel_for(0, reach_.size(), chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      double volume = 0;
      mesh::Point momentum = mesh::Point::Zero();
      for_requests_of(i, [&](std::size_t d, double asked) {
        double v = granted(d, asked);
        if (last_[d] == i && gives_all(d)) v += remainder_[d];
        volume += v;
        momentum += v * reach_.velocities()[d];
      });
      const Index t = reach_.tets()[i];
      water.volume[t] = volume;
      water.velocity[t] = volume > 0 ? mesh::Point(momentum / volume) : mesh::Point::Zero();
    }
  });
  parallel_for(0, reach_.wet(), chunk, [&](Index b, Index e) {
    for (auto d = static_cast<std::size_t>(b); d < static_cast<std::size_t>(e); ++d)
      if (gives_all(d)) remainder_[d] = 0;
  });
}

mesh::Point WaterTransport::forward(const TetWater& water, const TransportStep& step, std::vector<LeftWater>& left,
                                    Workspace& workspace) {
  const auto pieces = (reach_.wet() + chunk - 1) / chunk;
  const SampleOptions few = fewer(step.samples);
  parcels_.begin(pieces, reach_.velocities());
  left_.begin(pieces);
  impulses_.assign(pieces, mesh::Point::Zero());
  counts_.assign(pieces, {});
  parallel_for(0, reach_.wet(), chunk, [&](Index b, Index e) {
    auto& parcels = parcels_.piece(b / chunk);
    auto& gone = left_.piece(b / chunk);
    NearLocation after(step.after);
    OverlapSearch search;
    std::array<mesh::TetWeights, most_samples> memory;
    Index located = 0;
    for (Index i = b; i < e; ++i) {
      const Index s = i;
      if (!(remainder_[s] > 0)) continue;
      const std::int32_t t = reach_.tets()[s];
      const mesh::Point& u = reach_.velocities()[s];
      Traced traced;
      for (std::size_t k = 0; k < 4; ++k) {
        traced.x[k] = step.before.corner(t, k);
        traced.y[k] = traced.x[k] + step.dt * (step.trace == TetTrace::per_node ? reach_.node_velocity(graph_.tet(t)[k]) : u);
      }
      after.begin(t);
      if (!step.distance_after.empty()) {
        traced.start = carried_by_solid(graph_.tet(t), step.before, step.after, step.distance_before, step.distance_after);
        traced.near_solid =
            stop_at_solid(graph_.tet(t), traced.start, step.distance_before, step.distance_after, after, traced.y);
        traced.look = look_length(traced.x);
      }
      after.begin(t);
      const WaterSampling kind = step.samples.kind;
      if (kind == WaterSampling::exact || (kind == WaterSampling::adaptive && !all_alike(static_cast<std::int32_t>(i), step))) {
        forward_by_overlap(static_cast<std::int32_t>(i), step, traced, after, search, parcels, gone);
        remainder_[s] = 0;
        continue;
      }
      const auto points = sample_points(few, t, forward_points, memory);
      located += static_cast<Index>(points.size());
      double rest = remainder_[s];
      const double part = quantum_.floor(rest / static_cast<double>(points.size()));
      const std::size_t first = parcels.size();
      for (std::size_t j = 0; j < points.size(); ++j) {
        const double v = j + 1 < points.size() ? part : rest;
        rest -= v;
        if (v == 0) continue;
        const mesh::Point start = at(points[j], traced.near_solid ? traced.start : traced.x);
        mesh::Point p = at(points[j], traced.y);
        std::int32_t k =
            traced.near_solid ? last_before_solid(start, p, traced.look, step.ranks, step.distance_after, after) : -1;
        if (k < 0) k = after.find(p);
        if (k >= 0 && step.ranks[k] == rank_inside) k = outside_of_solid(start, step.ranks, after, k, p);
        if (k < 0 && !step.open_boundary) {
          impulses_[b / chunk] += put_at_wall(t, start, p, v, u, step, after, parcels);
          continue;
        }
        // Where nothing can leave, what has come into a disabled tetrahedron is let out of it before push-out.
        if (k < 0 || (step.ranks[k] == rank_disabled && step.open_boundary)) {
          // Beyond the mesh nobody knows where the solid is.
          if (k < 0 && traced.near_solid) p = leaving_point(start, p, traced.look, after);
          gone.push_back({p, u, v, t});
          continue;
        }
        std::size_t n = first;
        while (n < parcels.size() && (parcels.target(n) != k || parcels.velocity(n) != u)) ++n;
        if (n == parcels.size())
          parcels.push_shared(v, static_cast<std::int32_t>(i), k);
        else
          parcels.volume(n) += v;
      }
      remainder_[s] = 0;
    }
    counts_[b / chunk] = {located, search.overlaps()};
  });
  count_pieces(pieces);
  parcels_.add_to(water, workspace);
  left_.move_to(left);
  mesh::Point impulse = mesh::Point::Zero();
  for (const mesh::Point& p : impulses_) impulse += p;
  return impulse;
}

void WaterTransport::expected(std::span<const std::int32_t> tets, const TransportStep& step, std::span<double> volume) const {
  for (std::size_t i = 0; i < tets.size(); ++i) {
    volume[i] = 0;
    const std::int32_t s = reach_.slot(tets[i]);
    if (s < 0) continue;
    for_requests_of(s, [&](std::size_t d, double asked) {
      std::array<mesh::Point, 4> x;
      for (std::size_t k = 0; k < 4; ++k) x[k] = step.before.corner(reach_.tets()[d], k);
      volume[i] += asked * std::min(old_volume_[d] / volume_of(x), 1.0);
    });
  }
}

mesh::Point WaterTransport::remaining_momentum() const {
  mesh::Point sum = mesh::Point::Zero();
  for (std::size_t s = 0; s < remainder_.size(); ++s) sum += remainder_[s] * reach_.velocities()[s];
  return sum;
}

/// Carries what is left of a donor to where its tetrahedron has moved, y, by the volumes in common.
void WaterTransport::forward_by_overlap(std::int32_t slot, const TransportStep& step, const Traced& traced, NearLocation& after,
                                        OverlapSearch& search, ParcelList& parcels, std::vector<LeftWater>& gone) {
  const Index s = slot;
  const std::int32_t t = reach_.tets()[s];
  const mesh::Point& u = reach_.velocities()[s];
  const std::array<mesh::Point, 4>& y = traced.y;
  const double volume = volume_of(y);
  const mesh::Point centre = 0.25 * ((y[0] + y[1]) + (y[2] + y[3]));
  std::int32_t start = after.find(centre);
  for (std::size_t k = 0; k < 4 && start < 0; ++k) start = after.find(0.9 * y[k] + 0.1 * centre);
  const std::size_t first = parcels.size();
  double lost = volume, held = 0;
  mesh::Point moment = volume * centre;
  std::size_t largest = first;
  if (start >= 0)
    search.find(
        step.after, y, start, [](std::int32_t) -> const mesh::HalfSpace* { return nullptr; },
        [&](std::int32_t k, const mesh::TetOverlap& o) {
          const std::int32_t rank = step.ranks[k];
          // What has come into the solid goes where the rest does; what has come into a disabled tetrahedron leaves.
          if (rank == rank_disabled || !(o.volume > 0)) return;
          lost -= o.volume;
          moment -= o.moment;
          if (rank == rank_inside) return;
          held += o.volume;
          std::int32_t before_solid = -1;
          if (traced.near_solid) {
            after.begin(t);
            before_solid =
                last_before_solid(middle(traced.start), o.moment / o.volume, traced.look, step.ranks, step.distance_after, after);
          }
          parcels.push_shared(o.volume, slot, before_solid < 0 ? k : before_solid);
          if (o.volume > parcels.volume(largest)) largest = parcels.size() - 1;
        });
  double rest = remainder_[s];
  if (lost <= 1e-9 * volume) lost = 0;
  if (held == 0 && lost == 0) {
    parcels.push_shared(rest, slot, step.ranks[t] >= 0 || start < 0 ? t : start);
    return;
  }
  const double all = held + lost;
  const double leaving = held == 0 ? rest : quantum_.floor(rest * (lost / all));
  rest -= leaving;
  double given = 0;
  for (std::size_t n = first; n < parcels.size(); ++n) {
    parcels.volume(n) = quantum_.floor(rest * (parcels.volume(n) / held) * (1 - 0x1p-50));
    given += parcels.volume(n);
  }
  if (held > 0) parcels.volume(largest) += rest - given;
  if (leaving == 0) return;
  if (!step.open_boundary) {
    parcels.push_shared(leaving, slot, held > 0 ? parcels.target(largest) : t);
    return;
  }
  mesh::Point p = moment / lost;
  if (traced.near_solid) {
    after.begin(t);
    const mesh::Point from = middle(traced.start);
    const std::int32_t k = last_before_solid(from, p, traced.look, step.ranks, step.distance_after, after);
    if (k >= 0) {
      parcels.push_shared(leaving, slot, k);
      return;
    }
    p = leaving_point(from, p, traced.look, after);
  }
  gone.push_back({p, u, leaving, t});
}

std::size_t WaterTransport::nbytes() const {
  std::size_t bytes = reach_.nbytes() + parcels_.nbytes() + request_end_.capacity() * 4 + last_.capacity() * 4 +
                      (old_volume_.capacity() + requested_.capacity() + remainder_.capacity()) * 8 +
                      outside_.capacity() * sizeof(OutsidePoint) + counts_.capacity() * sizeof(TransportCount);
  for (const auto& p : requests_) bytes += p.nbytes() + sizeof(RequestList);
  for (const auto& p : outside_pieces_) bytes += p.capacity() * sizeof(OutsidePoint);
  return bytes;
}

}  // namespace meniscus::fluids
