#include "meniscus/solids/position/position_contacts.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/position/contact_packs.hpp"

namespace meniscus::solids {
namespace {

using collision::RepulsionPairs;
using collision::detail::SweepRules;
using detail::each_colour;
using detail::each_pack;
using detail::gather;
using detail::load;
using detail::PackRows;
using detail::PairPack;
using detail::place_of;
using detail::sweep_rules;
using detail::width;
using numerics::any;
using numerics::Pack;
using numerics::PackMask;
using numerics::PackVec3;
using numerics::select;
using Node = PositionContacts::Node;

constexpr Index vertices_per_task = 4096;
/// Pairs that were pressed are pressed yet within this multiple of their thickness.
constexpr double pressed_within = 1.1;
/// Projections may bring pairs nearer than they are predicted to come by this multiple of their thickness.
constexpr double projected = 0.5;

collision::RepulsionOptions finder_options(const PositionContactOptions& o) {
  collision::RepulsionOptions r;
  r.generous = o.generous;
  r.margin = o.margin;
  r.reach = o.reach;
  r.clamp = o.clamp;
  r.margin_at_rest = false;
  r.most_motion = o.most_motion;
  r.soft_edges = o.soft_edges;
  return r;
}

/// Inverse masses of the corners, and that of a pair; whether it can be moved.
MENISCUS_INLINE PackMask inverse_mass(const PairPack& p, std::span<const Node> vertices, Pack (&w)[4], Pack& inverse) {
  inverse = numerics::splat(0.0);
  Pack most = inverse;
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < width; ++i) w[k][i] = vertices[p.place[k][i]].w;
    inverse += p.lanes.weights[k] * p.lanes.weights[k] * w[k];
    most = numerics::max(most, w[k]);
  }
  return inverse > collision::detail::least_share * most;
}

}  // namespace

PositionContacts::PositionContacts(std::optional<std::span<const collision::CollisionMesh::Edge>> edges,
                                   std::span<const mesh::Triangle> triangles, std::span<const mesh::Point> rest,
                                   std::span<const double> thickness, std::span<const double> friction,
                                   const PositionContactOptions& options)
    : options_(options),
      mesh_(edges, triangles),
      repulsion_(mesh_, rest, thickness, friction, finder_options(options)),
      nodes_(std::vector<double>(rest.size(), 0.0)),
      reach_(options.reach),
      inverse_masses_(rest.size(), 0.0) {
  require(options.recovery > 0, "the velocity of recovery must be positive, not ", options.recovery);
  std::vector<std::array<std::int32_t, 2>> sides;
  for (const mesh::Triangle& t : triangles)
    for (std::size_t k = 0; k < 3; ++k) sides.push_back({std::min(t[k], t[(k + 1) % 3]), std::max(t[k], t[(k + 1) % 3])});
  std::ranges::sort(sides);
  for (const auto& e : mesh_.edges())
    ends_ = ends_ || !std::ranges::binary_search(sides, std::array{std::min(e[0], e[1]), std::max(e[0], e[1])});
}

void PositionContacts::require_vertices(std::size_t n) const {
  require(n == inverse_masses_.size(), "the surfaces have ", inverse_masses_.size(), " vertices, not ", n);
}

std::span<const PassedPair> PositionContacts::passed(std::span<const Node> vertices, double reach) {
  require_vertices(vertices.size());
  passed_.clear();
  const SweepRules rules = sweep_rules(reach, ends_);
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind) {
    // Without edges, vertices go around the ends of faces, and there is no telling on which side they belong.
    if (kind < 2 && !bodies_.empty() && !options_.soft_edges) continue;
    const RepulsionPairs& pairs = pairs_[kind];
    flags_.assign(pairs.elements.size(), 0);
    each_pack(pairs, [&](const PackRows& row) {
      PairPack p;
      load(kind % 2 == 1, pairs, row, 1.0, rules, [&](std::size_t v) { return place_of(vertices[v]); }, p);
      for (int i = 0; i < p.size; ++i) {
        const bool sided = kind != 2 || outward_[row(i)] == 0;
        flags_[row(i)] = sided && (p.lanes.active[i] & p.lanes.inverted[i]) != 0 ? 1 : 0;
      }
    });
    for (std::size_t i = 0; i < flags_.size(); ++i)
      if (flags_[i] != 0) passed_.push_back({static_cast<std::int32_t>(kind % 2), pairs.elements[i][0], pairs.elements[i][1]});
  }
  std::ranges::sort(passed_);
  return passed_;
}

void PositionContacts::turn(std::span<const PassedPair> passed) {
  if (passed.empty()) return;
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind) {
    RepulsionPairs& pairs = pairs_[kind];
    for (std::size_t i = 0; i < pairs.elements.size(); ++i) {
      const auto& e = pairs.elements[i];
      if (!std::ranges::binary_search(passed, PassedPair{static_cast<std::int32_t>(kind % 2), e[0], e[1]})) continue;
      if (kind == 2 && outward_[i] != 0) continue;
      std::swap(pairs.places[i][2], pairs.places[i][3]);
      if (kind % 2 == 1)
        for (float& d : pairs.direction[i]) d = -d;
    }
  }
}

void PositionContacts::find(std::span<const Node> vertices, std::span<const mesh::Point> motion,
                            std::span<const PassedPair> passed) {
  require_vertices(vertices.size());
  require(motion.size() == vertices.size(), "there must be a motion of each of ", vertices.size(), " vertices, not ",
          motion.size());
  found_.resize(vertices.size());
  motion_.assign(motion.begin(), motion.end());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    inverse_masses_[v] = vertices[v].w;
    found_[v] = {vertices[v].x, vertices[v].y, vertices[v].z};
  }
  nodes_.set_inverse_masses(inverse_masses_);
  repulsion_.find(mesh_, nodes_, found_, motion_);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    pairs_[kind] = repulsion_.pairs(kind == 0 ? collision::PairKind::vertex_face : collision::PairKind::edge_edge);
    for (collision::Stencil& s : pairs_[kind].places)
      for (std::int32_t& v : s) v = repulsion_.vertices()[v];
    separate(kind);
  }
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind) {
    effects_[kind].assign(pairs_[kind].elements.size(), Effect{});
    work_[kind].pairs.clear();
    work_[kind].colours.assign(1, 0);
  }
  turn(passed);
}

bool PositionContacts::outdated(std::span<const Node> vertices, double part) const {
  require_vertices(vertices.size());
  if (found_.size() != vertices.size()) return true;
  const std::span<const double> h = repulsion_.thickness();
  return parallel_reduce(
             0, static_cast<Index>(vertices.size()), vertices_per_task, 0,
             [&](Index a, Index b) {
               int far = 0;
               for (Index v = a; v < b; ++v) {
                 const mesh::Point x(vertices[v].x, vertices[v].y, vertices[v].z);
                 const double allowed = 0.5 * ((options_.generous - 1) * h[v] + options_.margin);
                 far |= (x - found_[v] - part * motion_[v]).squaredNorm() > allowed * allowed ? 1 : 0;
               }
               return far;
             },
             [](int a, int b) { return a | b; }) != 0;
}

double PositionContacts::begin(std::span<const Node> vertices, std::span<const Node> predicted, double dt) {
  require_vertices(vertices.size());
  require_vertices(predicted.size());
  start_.resize(vertices.size());
  // Differences between motions are within their box; pairs must not get out of reach in one substep.
  mesh::Point low = mesh::Point::Zero(), high = low;
  double thinnest = std::numeric_limits<double>::infinity();
  ways_.resize(vertices.size());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    start_[v] = {vertices[v].x, vertices[v].y, vertices[v].z};
    const mesh::Point way = mesh::Point(predicted[v].x, predicted[v].y, predicted[v].z) - start_[v];
    ways_[v] = way;
    low = v == 0 ? way : mesh::Point(low.cwiseMin(way));
    high = v == 0 ? way : mesh::Point(high.cwiseMax(way));
    if (repulsion_.thickness()[v] > 0) thinnest = std::min(thinnest, repulsion_.thickness()[v]);
  }
  reach_ = std::max(options_.reach, (high - low).norm() / thinnest);
  const SweepRules rules = sweep_rules(reach_, ends_);
  const double apart = options_.recovery * dt;
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind) {
    const RepulsionPairs& pairs = pairs_[kind];
    each_pack(pairs, [&](const PackRows& row) {
      PairPack p;
      load(kind % 2 == 1, pairs, row, 1.0, rules, [&](std::size_t v) { return start_[v].data(); }, p);
      // No two points of a pair approach by more than vertices move against the first.
      Pack most = numerics::splat(0.0);
      const PackVec3 own = gather(p.place[0], [&](std::size_t v) { return ways_[v].data(); });
      for (int k = 1; k < 4; ++k) {
        const PackVec3 u = gather(p.place[k], [&](std::size_t v) { return ways_[v].data(); }) - own;
        most = numerics::max(most, numerics::dot(u, u));
      }
      most = 2.0 * numerics::sqrt(most);
      for (int i = 0; i < p.size; ++i) {
        const double h = p.thickness[i], distance = h - p.lanes.overlap[i];
        // Degenerate elements have no distance.
        const bool sound = std::isfinite(distance);
        effects_[kind][row(i)] = {sound ? std::min(h, distance + apart) : h,
                                  sound ? std::max(0.0, std::clamp(h - distance, 0.0, apart) - moving_part * apart) : 0.0,
                                  0.0,
                                  {},
                                  !(sound && distance - most[i] > (1 + projected) * h)};
      }
    });
    choose(kind);
  }
  return reach_;
}

void PositionContacts::choose(std::size_t kind) {
  Work& work = work_[kind];
  work.pairs.clear();
  work.colours.assign(1, 0);
  const std::vector<Index>& colours = pairs_[kind].colours;
  for (std::size_t c = 0; c + 1 < colours.size(); ++c) {
    for (Index i = colours[c]; i < colours[c + 1]; ++i)
      if (effects_[kind][i].near) work.pairs.push_back(static_cast<std::int32_t>(i));
    work.colours.push_back(static_cast<Index>(work.pairs.size()));
  }
}

void PositionContacts::project(std::span<Node> vertices, bool backward) {
  require_vertices(vertices.size());
  const SweepRules rules = sweep_rules(reach_, ends_);
  for (std::size_t round = 0; round < 2; ++round) {
    const std::size_t kind = backward ? 1 - round : round;
    const RepulsionPairs& pairs = pairs_[kind];
    std::vector<Effect>& effects = effects_[kind];
    each_colour(work_[kind].pairs, work_[kind].colours, backward, [&](const PackRows& row) {
      PairPack p;
      load(kind == 1, pairs, row, 1.0, rules, [&](std::size_t v) { return place_of(vertices[v]); }, p);
      if (!any(p.lanes.active)) return;
      const auto effect = [&](int i) -> Effect& { return effects[row(i)]; };
      Pack kept, pressed, mu, w[4], inverse;
      PackVec3 rubbed;
      for (int i = 0; i < width; ++i) {
        kept[i] = effect(i).kept;
        pressed[i] = effect(i).pressed;
        mu[i] = pairs.friction[row(i)];
        rubbed.x[i] = effect(i).rubbed[0];
        rubbed.y[i] = effect(i).rubbed[1];
        rubbed.z[i] = effect(i).rubbed[2];
      }
      const PackMask able = inverse_mass(p, vertices, w, inverse);
      const Pack overlap = p.lanes.overlap - p.thickness + kept;
      const PackMask acts = p.lanes.active & able & (overlap > 0.0);
      if (!any(acts)) return;
      const Pack zero = numerics::splat(0.0), one = numerics::splat(1.0);
      const PackVec3& n = p.lanes.normal;
      const Pack(&a)[4] = p.lanes.weights;
      const Pack push = overlap / select(acts, inverse, one);
      pressed += push;
      // Against what the pair slides over the step: both the bound and what is rubbed are sums of its corrections.
      PackVec3 slip{zero, zero, zero};
      for (int k = 0; k < 4; ++k)
        slip = slip + a[k] * (p.x[k] - gather(p.place[k], [&](std::size_t v) { return start_[v].data(); }));
      slip = slip - numerics::dot(slip, n) * n;
      PackVec3 wanted = rubbed - (1.0 / select(acts, inverse, one)) * slip;
      wanted = wanted - numerics::dot(wanted, n) * n;
      const Pack size = numerics::sqrt(numerics::dot(wanted, wanted)), most = mu * pressed;
      wanted = select(size > most, most / select(size > 0.0, size, one), one) * wanted;
      const PackVec3 impulse = push * n + (wanted - rubbed);
      for (int i = 0; i < p.size; ++i) {
        if (acts[i] == 0) continue;
        Effect& to = effect(i);
        to.pressed = pressed[i];
        to.rubbed = {wanted.x[i], wanted.y[i], wanted.z[i]};
        for (int k = 0; k < 4; ++k) {
          Node& v = vertices[p.place[k][i]];
          // Nodes that do not move may be in several pairs of a colour.
          if (v.w == 0) continue;
          const double f = w[k][i] * a[k][i];
          v.x += f * impulse.x[i];
          v.y += f * impulse.y[i];
          v.z += f * impulse.z[i];
        }
      }
    });
  }
}

void PositionContacts::rebound(std::span<const Node> vertices, std::span<const mesh::Point> before,
                               std::span<mesh::Point> velocities, double restitution, double threshold) {
  require_vertices(vertices.size());
  require_vertices(before.size());
  require_vertices(velocities.size());
  const SweepRules rules = sweep_rules(reach_, ends_);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const RepulsionPairs& pairs = pairs_[kind];
    each_colour(work_[kind].pairs, work_[kind].colours, false, [&](const PackRows& row) {
      PairPack p;
      load(kind == 1, pairs, row, pressed_within, rules, [&](std::size_t v) { return place_of(vertices[v]); }, p);
      Pack w[4], inverse;
      const PackMask able = inverse_mass(p, vertices, w, inverse) & p.lanes.active;
      for (int i = 0; i < p.size; ++i) {
        if (able[i] == 0 || !(effects_[kind][row(i)].pressed > 0)) continue;
        const mesh::Point n(p.lanes.normal.x[i], p.lanes.normal.y[i], p.lanes.normal.z[i]);
        double came = 0, goes = 0;
        for (int k = 0; k < 4; ++k) {
          const Index v = p.place[k][i];
          came += p.lanes.weights[k][i] * n.dot(before[v]);
          goes += p.lanes.weights[k][i] * n.dot(velocities[v]);
        }
        const double wanted = came < -threshold ? -restitution * came : 0.0;
        if (!(goes < wanted)) continue;
        for (int k = 0; k < 4; ++k)
          if (w[k][i] > 0) velocities[p.place[k][i]] += ((wanted - goes) / inverse[i] * w[k][i] * p.lanes.weights[k][i]) * n;
      }
    });
  }
}

PositionContactReport PositionContacts::report(std::span<const Node> vertices) const {
  require_vertices(vertices.size());
  const SweepRules rules = sweep_rules(reach_, ends_);
  PositionContactReport r;
  r.pairs = size();
  r.least = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind)
    for (Index first = 0; first < pairs_[kind].size(); first += width) {
      PairPack p;
      const PackRows rows{nullptr, first, std::min<Index>(width, pairs_[kind].size() - first)};
      load(kind % 2 == 1, pairs_[kind], rows, 1.0, rules, [&](std::size_t v) { return place_of(vertices[v]); }, p);
      for (int i = 0; i < p.size; ++i) {
        if (p.lanes.active[i] == 0) continue;
        ++r.active;
        r.passed += p.lanes.inverted[i] != 0 ? 1 : 0;
        r.least = std::min(r.least, 1 - p.lanes.overlap[i] / p.thickness[i]);
      }
    }
  return r;
}

Index PositionContacts::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  Index sum = mesh_.nbytes() + repulsion_.nbytes() + nodes_.nbytes() + bytes(passed_) + bytes(inverse_masses_) + bytes(found_) +
              bytes(motion_) + bytes(start_) + bytes(ways_) + bytes(flags_) + bytes(bodies_) + bytes(candidates_);
  for (std::size_t kind = 0; kind < pairs_.size(); ++kind)
    sum += pairs_[kind].nbytes() + bytes(effects_[kind]) + bytes(work_[kind].pairs);
  return sum;
}

}  // namespace meniscus::solids
