// Pairs of surfaces of which vertices belong to bodies.
#include "meniscus/solids/position/position_contacts.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/position/contact_packs.hpp"

namespace meniscus::solids {
namespace {

/// Rows begin within this multiple of the thickness: what other rows push may come nearer.
constexpr double rows_within = 1.05;

/// Moves a pair of a list to a place before it, or to the end of another list.
void move_pair(collision::RepulsionPairs& from, std::size_t i, collision::RepulsionPairs& to, std::size_t place) {
  to.elements[place] = from.elements[i];
  to.places[place] = from.places[i];
  to.thickness[place] = from.thickness[i];
  to.friction[place] = from.friction[i];
  if (!from.direction.empty()) to.direction[place] = from.direction[i];
}

}  // namespace

void PositionContacts::set_bodies(std::span<const std::int32_t> body_of_vertex, std::span<const std::uint8_t> closed,
                                  std::span<const std::uint8_t> apart) {
  require_vertices(body_of_vertex.size());
  bodies_.assign(body_of_vertex.begin(), body_of_vertex.end());
  closed_.assign(closed.begin(), closed.end());
  depths_.assign(bodies_.size(), 0.0);
  repulsion_.set_bodies(mesh_, bodies_, apart);
  for (const std::int32_t b : bodies_)
    require(b < static_cast<std::int32_t>(closed_.size()), "there are ", closed_.size(), " bodies, not one of number ", b);
}

void PositionContacts::separate(std::size_t kind) {
  collision::RepulsionPairs &own = pairs_[kind], &others = pairs_[kind + 2];
  others.clear();
  if (bodies_.empty()) return;
  const std::size_t second = kind == 0 ? 1 : 2;
  const auto body = [&](std::size_t i, std::size_t k) { return bodies_[own.places[i][k]]; };
  Index count = 0;
  for (std::size_t i = 0; i < own.elements.size(); ++i) {
    const std::int32_t a = body(i, 0), b = body(i, second);
    count += a != b && (a >= 0 || b >= 0) ? 1 : 0;
  }
  others.resize(count, kind == 1);
  std::size_t kept = 0, taken = 0, colour = 0;
  for (std::size_t i = 0; i < own.elements.size(); ++i) {
    // Colours end where their pairs did.
    for (; colour < own.colours.size() && own.colours[colour] <= static_cast<Index>(i); ++colour)
      own.colours[colour] = static_cast<Index>(kept);
    const std::int32_t a = body(i, 0), b = body(i, second);
    if (a < 0 && b < 0)
      move_pair(own, i, own, kept++);
    else if (a != b)
      move_pair(own, i, others, taken++);
  }
  for (; colour < own.colours.size(); ++colour) own.colours[colour] = static_cast<Index>(kept);
  own.resize(static_cast<Index>(kept), kind == 1);
  others.colours.assign({0, count});
  if (kind != 0) return;
  outward_.assign(count, 0);
  for (std::size_t i = 0; i < outward_.size(); ++i) {
    collision::Stencil& s = others.places[i];
    const std::int32_t b = bodies_[s[1]];
    if (b < 0 || closed_[b] == 0) continue;
    outward_[i] = 1;
    const mesh::Triangle& t = mesh_.triangles()[others.elements[i][1]];
    s = {s[0], t[0], t[1], t[2]};
  }
}

void PositionContacts::keep_nearest(std::span<const std::int32_t> list) {
  const auto inside = [&](std::size_t i) {
    return std::isfinite(candidates_[i].gap) && candidates_[i].distance < 0 && outward_[list[i]] != 0;
  };
  const auto depth = [&](std::size_t i) -> double& { return depths_[candidates_[i].vertices[0]]; };
  for (std::size_t i = 0; i < list.size(); ++i)
    if (inside(i)) depth(i) = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (inside(i)) depth(i) = std::max(depth(i), candidates_[i].distance);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (inside(i) && candidates_[i].distance < depth(i)) candidates_[i].gap = std::numeric_limits<double>::infinity();
}

void PositionContacts::rows(std::span<const Node> vertices, std::vector<SurfaceRow>& out) {
  require_vertices(vertices.size());
  out.clear();
  const detail::SweepRules rules = detail::sweep_rules(reach_, ends_);
  for (std::size_t kind = 2; kind < pairs_.size(); ++kind) {
    const collision::RepulsionPairs& pairs = pairs_[kind];
    const std::vector<std::int32_t>& list = work_[kind].pairs;
    candidates_.resize(list.size());
    parallel_for(0, static_cast<Index>(list.size()), detail::pairs_per_task, [&](Index a, Index b) {
      simd_dispatch([&] {
        for (Index first = a; first < b; first += detail::width) {
          const detail::PackRows row{list.data(), first, std::min<Index>(detail::width, b - first)};
          detail::PairPack p;
          detail::load(
              kind % 2 == 1, pairs, row, rows_within, rules, [&](std::size_t v) { return detail::place_of(vertices[v]); }, p);
          for (int i = 0; i < p.size; ++i) {
            SurfaceRow& r = candidates_[first + i];
            r.gap = std::numeric_limits<double>::infinity();
            if (p.lanes.active[i] == 0) continue;
            // Below the face of a closed body, but beside it, is outside.
            if (kind == 2 && outward_[row(i)] != 0 && p.lanes.inverted[i] != 0 &&
                std::max({p.lanes.weights[1][i], p.lanes.weights[2][i], p.lanes.weights[3][i]}) > 0)
              continue;
            for (std::size_t k = 0; k < 4; ++k) {
              r.vertices[k] = p.place[k][i];
              r.weights[k] = p.lanes.weights[k][i];
            }
            r.normal = {p.lanes.normal.x[i], p.lanes.normal.y[i], p.lanes.normal.z[i]};
            r.distance = p.thickness[i] - p.lanes.overlap[i];
            r.apart = effects_[kind][row(i)].apart;
            r.gap = r.distance - effects_[kind][row(i)].kept + r.apart;
            r.friction = pairs.friction[row(i)];
          }
        }
      });
    });
    if (kind == 2) keep_nearest(list);
    for (const SurfaceRow& r : candidates_)
      if (std::isfinite(r.gap)) out.push_back(r);
  }
}

}  // namespace meniscus::solids
