// Application of repulsion: sweeps over the pairs, colour by colour.
#include "meniscus/collision/contact/contact_row.hpp"
#include "meniscus/collision/contact/repulsion.hpp"
#include "meniscus/collision/contact/repulsion_lanes.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/lower_to.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"

#include <atomic>
#include <cmath>
#include <limits>

namespace meniscus::collision {
namespace {

using detail::PairLanes;
using detail::SweepRules;
using numerics::any;
using numerics::max_of;
using numerics::Pack;
using numerics::PackMask;
using numerics::PackVec3;

constexpr Index pairs_per_task = 1024;
constexpr Index vertices_per_task = 4096;
constexpr Index width = numerics::pack_size;
constexpr Index ahead = 2 * width;

/// Counts of all threads. Sums of integers and a maximum do not depend on the order.
struct Tally {
  std::atomic<Index> active{0};
  std::atomic<Index> inverted{0};
  std::atomic<Index> impulses{0};
  std::atomic<double> least_gap{0};  // -overlap
};

/// Counts of one task.
struct Counts {
  Index active = 0;
  Index inverted = 0;
  Index impulses = 0;
  double overlap = 0;
  void add_to(Tally& tally) const {
    tally.active.fetch_add(active, std::memory_order_relaxed);
    tally.inverted.fetch_add(inverted, std::memory_order_relaxed);
    tally.impulses.fetch_add(impulses, std::memory_order_relaxed);
    lower_to(tally.least_gap, -overlap);
  }
};

MENISCUS_INLINE Index count(const PackMask& m) {
  long long n = 0;
  for (int k = 0; k < numerics::pack_size; ++k) n -= m[k];
  return n;
}

MENISCUS_INLINE PackVec3 gather(const PackedVertex* packed, const std::int32_t (&place)[4][width], int k,
                                double const (PackedVertex::*member)[3]) {
  PackVec3 r;
  for (int i = 0; i < width; ++i) {
    const double* x = packed[place[k][i]].*member;
    r.x[i] = x[0];
    r.y[i] = x[1];
    r.z[i] = x[2];
  }
  return r;
}

template <class F>
MENISCUS_INLINE Pack padded(Index size, F&& value) {
  Pack r;
  for (int i = 0; i < width; ++i) r[i] = value(i < size ? i : 0);
  return r;
}

/// Works on the pairs [begin, end) of one colour. `scalar` takes over after the geometry where vertices are not plain nodes.
template <bool edges, class Scalar>
MENISCUS_INLINE void work(const RepulsionPairs& pairs, Index begin, Index end, PackedVertex* packed, const SweepRules& rules,
                          const Scalar* scalar, Counts& counts) {
  for (Index first = begin; first < end; first += width) {
    const Index size = std::min<Index>(width, end - first);
    const auto at = [&](int i) { return static_cast<std::size_t>(first + i); };
    // The vertices of later pairs are anywhere in memory.
    for (Index i = first + ahead; i < std::min(first + ahead + width, end); ++i)
      for (const std::int32_t p : pairs.places[i]) __builtin_prefetch(packed + p, 1);
    std::int32_t place[4][width];
    for (int i = 0; i < width; ++i)
      for (std::size_t k = 0; k < 4; ++k) place[k][i] = pairs.places[at(i < size ? i : 0)][k];
    PackVec3 x[4];
    for (int k = 0; k < 4; ++k) x[k] = gather(packed, place, k, &PackedVertex::position);
    const Pack h = padded(size, [&](int i) { return rules.wider * pairs.thickness[at(i)]; });
    PairLanes p;
    if constexpr (edges) {
      PackVec3 before;
      before.x = padded(size, [&](int i) { return static_cast<double>(pairs.direction[at(i)][0]); });
      before.y = padded(size, [&](int i) { return static_cast<double>(pairs.direction[at(i)][1]); });
      before.z = padded(size, [&](int i) { return static_cast<double>(pairs.direction[at(i)][2]); });
      p = detail::edge_edge_lanes(x, before, h, rules);
    } else {
      p = detail::vertex_face_lanes(x, h, rules);
    }
    if (size < width)
      for (int i = static_cast<int>(size); i < width; ++i) p.active[i] = 0;
    if (!any(p.active)) continue;
    counts.active += count(p.active);
    counts.inverted += count(p.active & p.inverted);
    counts.overlap = std::max(counts.overlap, max_of(numerics::select(p.active, p.overlap, numerics::splat(0.0))));
    if (scalar != nullptr) {
      for (int i = 0; i < size; ++i)
        if (p.active[i] != 0) counts.impulses += (*scalar)(pairs, first + i, p, i) ? 1 : 0;
      continue;
    }
    PackVec3 v[4];
    Pack inverse_masses[4];
    for (int k = 0; k < 4; ++k) {
      v[k] = gather(packed, place, k, &PackedVertex::velocity);
      for (int i = 0; i < width; ++i) inverse_masses[k][i] = packed[place[k][i]].inverse_mass;
    }
    const Pack friction = rules.friction ? padded(size, [&](int i) { return pairs.friction[at(i)]; }) : numerics::splat(0.0);
    const PackMask acts = detail::respond(p, v, inverse_masses, friction, rules);
    for (int i = 0; i < width; ++i) {
      if (acts[i] == 0) continue;
      ++counts.impulses;
      for (int k = 0; k < 4; ++k) {
        // Nodes of infinite mass may be in several pairs of a colour.
        if (inverse_masses[k][i] == 0) continue;
        double* to = packed[place[k][i]].velocity;
        to[0] = v[k].x[i];
        to[1] = v[k].y[i];
        to[2] = v[k].z[i];
      }
    }
  }
}

/// The response of one pair whose vertices are sums of nodes, or whose nodes are guided.
struct RowResponse {
  const ContactNodes& nodes;
  std::span<const std::int32_t> vertices;
  std::span<mesh::Point> velocities;
  const SweepRules& rules;

  MENISCUS_NOINLINE bool operator()(const RepulsionPairs& pairs, Index pair, const PairLanes& p, int lane) const {
    Stencil s;
    std::array<double, 4> a;
    double squares = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      s[k] = vertices[pairs.places[pair][k]];
      a[k] = p.weights[k][lane];
      squares += a[k] * a[k];
    }
    const mesh::Point n(p.normal.x[lane], p.normal.y[lane], p.normal.z[lane]);
    const ContactRow row(nodes, s, a, n);
    const bool common = rules.common > 0;
    double most = 0;
    double all = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      most = std::max(most, nodes.inverse_mass(row.node(k)));
      all += row.weight(k) * row.weight(k);
    }
    if (!(row.inverse_mass(nodes) > detail::least_share * most)) return false;
    const double inverse = common ? rules.common * all : row.inverse_mass(nodes);
    const double along = row.relative_normal(velocities);
    const auto choose = [](bool c, double yes, double no) { return c ? yes : no; };
    const double j = detail::normal_impulse<double>(rules, along, p.overlap[lane], inverse, squares, choose);
    if (!(j > 0)) return false;
    const auto apply = [&](const mesh::Point& impulse) {
      if (!common) return row.apply(nodes, impulse, velocities);
      for (std::size_t k = 0; k < row.size(); ++k)
        if (nodes.inverse_mass(row.node(k)) > 0)
          velocities[row.node(k)] += row.weight(k) * rules.common * nodes.free_part(row.node(k), impulse);
    };
    apply(j * n);
    if (!rules.friction) return true;
    const mesh::Point u = row.relative(velocities);
    const mesh::Point slip = u - n.dot(u) * n;
    const double speed = slip.norm();
    if (!(speed > 0)) return true;
    const mesh::Point direction = slip / speed;
    const double inverse_along = common ? inverse : row.inverse_mass(nodes, direction);
    if (!(inverse_along > detail::least_share * most)) return true;
    const double mu = pairs.friction[pair];
    apply(-std::min(mu * j, speed / inverse_along) * direction);
    return true;
  }
};

/// Vertices with less of a contact than this do not stand on it.
constexpr double least_weight = 0.2;
/// Length of the mean of normals of length 1 below which elements press against each other.
constexpr double opposed = 0.5;

/// Adds a pair to what the nodes of its yielding element stand on, if the other one does not yield.
struct SupportSum {
  const ContactNodes& nodes;
  std::span<const std::int32_t> vertices;
  std::span<const mesh::Point> velocities;
  std::span<NodeSupport> supports;
  std::span<double> shares;
  std::size_t first_size;
  double wider;

  MENISCUS_NOINLINE bool operator()(const RepulsionPairs& pairs, Index pair, const PairLanes& p, int lane) const {
    const Index at = pair;
    const auto vertex = [&](std::size_t k) { return vertices[pairs.places[at][k]]; };
    const auto yields = [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k)
        if (nodes.yields(vertex(k))) return true;
      return false;
    };
    const bool first = yields(0, first_size);
    if (first == yields(first_size, 4)) return false;
    mesh::Point given = mesh::Point::Zero();
    const auto fixed = [&](std::size_t k) { return (k < first_size) != first; };
    for (std::size_t k = 0; k < 4; ++k)
      if (fixed(k)) given += std::abs(p.weights[k][lane]) * nodes.at_vertex(vertex(k), velocities);
    const mesh::Point n(p.normal.x[lane], p.normal.y[lane], p.normal.z[lane]);
    const double gap = (wider - 1) * pairs.thickness[at] - p.overlap[lane];
    for (std::size_t k = 0; k < 4; ++k) {
      if (fixed(k)) continue;
      for (const NodeShare& s : nodes.shares(vertex(k))) {
        const double w = std::abs(p.weights[k][lane]) * s.weight;
        if (!(w >= least_weight) || !(nodes.inverse_mass(s.node) > 0)) continue;
        const Index i = s.node;
        NodeSupport& to = supports[i];
        to.gap = shares[i] > 0 ? std::min(to.gap, gap) : gap;
        to.normal += (first ? w : -w) * n;
        to.velocity += w * given;
        to.friction += w * pairs.friction[at];
        shares[i] += w;
      }
    }
    return true;
  }
};

double mean_mass(const ContactNodes& nodes) {
  double sum = 0;
  Index count = 0;
  for (const double w : nodes.inverse_masses())
    if (w > 0) {
      sum += 1 / w;
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : 1;
}

}  // namespace

void Repulsion::pack(const ContactNodes& nodes, std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities) {
  const auto used = static_cast<Index>(vertices_.size());
  if (packed_.size() < used) packed_ = Block<PackedVertex>(used);
  const bool plain = nodes.plain();
  parallel_for(0, used, vertices_per_task, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const std::int32_t vertex = vertices_[i];
      const Index v = vertex;
      PackedVertex& p = packed_[i];
      for (Index d = 0; d < 3; ++d) {
        p.position[d] = positions[v][d];
        p.velocity[d] = plain ? velocities[v][d] : 0.0;
      }
      p.inverse_mass = plain ? nodes.inverse_mass(vertex) : 0.0;
      p.unused = 0;
    }
  });
}

RepulsionReport Repulsion::push(const ContactNodes& nodes, std::span<const mesh::Point> positions,
                                std::span<mesh::Point> velocities, double dt) {
  require(std::isfinite(dt) && dt > 0, "dt must be positive and finite, not ", dt);
  return sweep(nodes, positions, velocities, dt, false);
}

RepulsionReport Repulsion::rub(const ContactNodes& nodes, std::span<const mesh::Point> positions,
                               std::span<mesh::Point> velocities) {
  return sweep(nodes, positions, velocities, 0, true);
}

RepulsionReport Repulsion::sweep(const ContactNodes& nodes, std::span<const mesh::Point> positions,
                                 std::span<mesh::Point> velocities, double dt, bool friction) {
  const std::lock_guard lock(mutex_);
  require_matching(nodes, positions);
  require(static_cast<Index>(velocities.size()) == nodes.nodes(), "there are ", nodes.nodes(), " nodes, but ", velocities.size(),
          " velocities");
  mesh::require_finite(positions, "positions");
  mesh::require_finite(velocities, "velocities");
  RepulsionReport report;
  report.pairs = size();
  if (report.pairs == 0) return report;

  const bool literal = options_.elastic == ElasticRule::literal;
  const bool full = options_.elastic == ElasticRule::full_gap;
  const SweepRules rules{
      .reach = options_.reach,
      .history = options_.history,
      .flip = options_.flip,
      .sided = options_.edge_history == EdgeHistory::sided,
      .ends = ends_,
      .spring = friction ? 0
                : full   ? std::numeric_limits<double>::infinity()
                         : 2 * dt * options_.stiffness,
      .rate = friction ? 0 : (full ? 1 : options_.part) / dt,
      .second_term = literal ? 2.0 : 1.0,
      .common = literal ? 1 / (options_.common_mass > 0 ? options_.common_mass : mean_mass(nodes)) : 0,
      .friction = friction,
  };
  pack(nodes, positions, velocities);
  const bool rows = !nodes.plain() || nodes.guided();
  if (rows) moved_.assign(velocities.begin(), velocities.end());
  const RowResponse response{nodes, vertices_, moved_, rules};
  Tally tally;
  for (std::size_t kind = 0; kind < 2; ++kind)
    for (std::size_t c = 0; c + 1 < pairs_[kind].colours.size(); ++c)
      parallel_for(pairs_[kind].colours[c], pairs_[kind].colours[c + 1], pairs_per_task, [&](Index b, Index e) {
        const StandardArithmetic arithmetic;
        Counts counts;
        simd_dispatch([&] {
          const RowResponse* scalar = rows ? &response : nullptr;
          if (kind == 0)
            work<false>(pairs_[0], b, e, packed_.data(), rules, scalar, counts);
          else
            work<true>(pairs_[1], b, e, packed_.data(), rules, scalar, counts);
        });
        counts.add_to(tally);
      });
  report.active = tally.active;
  report.inverted = tally.inverted;
  report.impulses = tally.impulses;
  report.largest_overlap = -tally.least_gap + 0.0;
  if (rows) {
    std::ranges::copy(moved_, velocities.begin());
    return report;
  }
  parallel_for(0, static_cast<Index>(vertices_.size()), vertices_per_task, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for (Index d = 0; d < 3; ++d) velocities[vertices_[i]][d] = packed_[i].velocity[d];
  });
  return report;
}

std::vector<NodeSupport> Repulsion::supports(const ContactNodes& nodes, std::span<const mesh::Point> positions,
                                             std::span<const mesh::Point> velocities, double wider) {
  const std::lock_guard lock(mutex_);
  require_matching(nodes, positions);
  require(static_cast<Index>(velocities.size()) == nodes.nodes(), "there are ", nodes.nodes(), " nodes, but ", velocities.size(),
          " velocities");
  require(std::isfinite(wider) && wider >= 1, "wider must be at least 1, not ", wider);
  mesh::require_finite(positions, "positions");
  mesh::require_finite(velocities, "velocities");
  std::vector<NodeSupport> found;
  if (size() == 0) return found;
  const SweepRules rules{.reach = options_.reach,
                         .history = options_.history,
                         .flip = options_.flip,
                         .sided = options_.edge_history == EdgeHistory::sided,
                         .ends = ends_,
                         .spring = 0,
                         .rate = 0,
                         .second_term = 1,
                         .common = 0,
                         .friction = false,
                         .wider = wider};
  pack(nodes, positions, velocities);
  const NodeSupport nothing{0, mesh::Point::Zero(), mesh::Point::Zero(), 0, 0};
  supports_.assign(velocities.size(), nothing);
  shares_.assign(velocities.size(), 0.0);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const SupportSum sum{nodes, vertices_, velocities, supports_, shares_, kind == 0 ? std::size_t{1} : std::size_t{2}, wider};
    for (std::size_t c = 0; c + 1 < pairs_[kind].colours.size(); ++c)
      parallel_for(pairs_[kind].colours[c], pairs_[kind].colours[c + 1], pairs_per_task, [&](Index b, Index e) {
        const StandardArithmetic arithmetic;
        Counts counts;
        simd_dispatch([&] {
          if (kind == 0)
            work<false>(pairs_[0], b, e, packed_.data(), rules, &sum, counts);
          else
            work<true>(pairs_[1], b, e, packed_.data(), rules, &sum, counts);
        });
      });
  }
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (!(shares_[i] > 0)) continue;
    NodeSupport& s = supports_[i];
    const double length = s.normal.norm();
    if (!(length > opposed * shares_[i])) continue;
    s.node = static_cast<std::int32_t>(i);
    s.normal /= length;
    s.velocity /= shares_[i];
    s.friction /= shares_[i];
    found.push_back(s);
  }
  return found;
}

}  // namespace meniscus::collision
