#include "meniscus/surface/tracking/zippering.hpp"

#include "meniscus/collision/proximity/proximity.hpp"
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <tuple>

namespace meniscus::surface {
namespace {

using mesh::DynamicSurface;
using mesh::Point;
using mesh::Triangle;
using Edge = std::array<std::int32_t, 2>;

constexpr Index pair_chunk = 512;

/// The four vertices around the two triangles of an edge, in the direction in which these traverse their outer edges.
struct Hole {
  std::array<std::int32_t, 2> triangles;
  std::array<std::int32_t, 4> rim;
};

std::optional<Hole> hole_at(const DynamicSurface& s, const Edge& e) {
  const auto pair = s.pair_at(e[0], e[1]);
  if (!pair) return std::nullopt;
  const std::int32_t c = s.opposite((*pair)[0], e[0], e[1]), d = s.opposite((*pair)[1], e[0], e[1]);
  if (c == d) return std::nullopt;
  return Hole{*pair, {e[0], d, e[1], c}};
}

struct EdgePair {
  double distance;
  Edge first, second;
};

Point edge_normal(const DynamicSurface& s, const Hole& hole) {
  Point sum = Point::Zero();
  for (const std::int32_t t : hole.triangles) sum += s.area_vector(t).normalized();
  return sum;
}

/// Whether options let the gap between two edges close; `way` leads from the first to the second.
bool may_close(const SurfaceEditor& editor, const Hole& first, const Hole& second, const Point& way) {
  const double from_first = way.dot(edge_normal(editor.mesh, first)), from_second = -way.dot(edge_normal(editor.mesh, second));
  const MergeGaps merge = editor.options().merge;
  if (from_first > 0 && from_second > 0) return merge == MergeGaps::outside || merge == MergeGaps::both;
  if (from_first < 0 && from_second < 0) return merge == MergeGaps::inside || merge == MergeGaps::both;
  return false;
}

/// Whether the boxes of two edges are closer than a distance.
bool near(const DynamicSurface& s, const Edge& first, const Edge& second, double most) {
  const Point &a = s.position(first[0]), &b = s.position(first[1]), &c = s.position(second[0]), &d = s.position(second[1]);
  for (int k = 0; k < 3; ++k)
    if (std::min(a[k], b[k]) - most > std::max(c[k], d[k]) || std::min(c[k], d[k]) - most > std::max(a[k], b[k])) return false;
  return true;
}

collision::ElementProximity proximity_of(const DynamicSurface& s, const Edge& first, const Edge& second) {
  return collision::proximity(collision::PairKind::edge_edge,
                              {s.position(first[0]), s.position(first[1]), s.position(second[0]), s.position(second[1])});
}

/// Pairs of edges closer than the distance to merge, in parallel.
void find_pairs(const SurfaceEditor& editor, std::vector<EdgePair>& out) {
  const DynamicSurface& s = editor.mesh;
  const double most = editor.options().merge_distance * editor.options().edge_length;
  std::vector<std::vector<EdgePair>> found((s.slots() + pair_chunk - 1) / pair_chunk);
  parallel_for(0, s.slots(), pair_chunk, [&](Index begin, Index end) {
    auto& own = found[begin / pair_chunk];
    for (auto t = static_cast<std::int32_t>(begin); t < static_cast<std::int32_t>(end); ++t) {
      if (!s.alive(t)) continue;
      const Triangle& c = s.triangle(t);
      mesh::Box around = editor.guard().box_of(t);
      around.low.array() -= most;
      around.high.array() += most;
      editor.guard().for_each_near(around, [&](std::int32_t u) {
        if (u == t || !s.alive(u)) return;
        const Triangle& o = s.triangle(u);
        for (const std::int32_t v : c)
          if (v == o[0] || v == o[1] || v == o[2]) return;
        // An edge with two triangles is traversed upwards by one of them.
        for (std::size_t i = 0; i < 3; ++i) {
          const Edge first{c[i], c[(i + 1) % 3]};
          if (first[0] > first[1]) continue;
          for (std::size_t j = 0; j < 3; ++j) {
            const Edge second{o[j], o[(j + 1) % 3]};
            if (second[0] > second[1] || second < first || !near(s, first, second, most)) continue;
            const double distance = proximity_of(s, first, second).distance;
            if (distance < most) own.push_back({distance, first, second});
          }
        }
      });
    }
  });
  out.clear();
  for (const auto& own : found) out.insert(out.end(), own.begin(), own.end());
  const auto key = [](const EdgePair& p) { return std::tuple(p.distance, p.first, p.second); };
  std::sort(out.begin(), out.end(), [&](const EdgePair& a, const EdgePair& b) { return key(a) < key(b); });
  out.erase(std::unique(out.begin(), out.end(), [&](const EdgePair& a, const EdgePair& b) { return key(a) == key(b); }),
            out.end());
}

/// The eight triangles between rims a and b, where a[i] is opposite of b[turn - i].
std::array<Triangle, 8> tube(const DynamicSurface& s, const std::array<std::int32_t, 4>& a, const std::array<std::int32_t, 4>& b,
                             std::size_t turn) {
  std::array<Triangle, 8> out;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int32_t p = a[i], q = a[(i + 1) % 4], r = b[(turn + 3 - i) % 4], t = b[(turn + 4 - i) % 4];
    const bool across = (s.position(p) - s.position(r)).squaredNorm() <= (s.position(q) - s.position(t)).squaredNorm();
    out[2 * i] = across ? Triangle{p, q, r} : Triangle{p, q, t};
    out[2 * i + 1] = across ? Triangle{p, r, t} : Triangle{q, r, t};
  }
  return out;
}

Refusal close_with(SurfaceEditor& editor, const Hole& a, const Hole& b, std::size_t turn) {
  DynamicSurface& s = editor.mesh;
  editor.begin();
  const auto triangles = tube(s, a.rim, b.rim, turn);
  std::array<std::int32_t, 8> own;
  std::copy(a.rim.begin(), a.rim.end(), own.begin());
  std::copy(b.rim.begin(), b.rim.end(), own.begin() + 4);
  // What the tube encloses, from one of its vertices.
  const Point& tip = s.position(a.rim[0]);
  for (const Hole* hole : {&a, &b})
    for (const std::int32_t t : hole->triangles) {
      const Triangle& c = s.triangle(t);
      editor.sweep({s.position(c[0]), s.position(c[1]), s.position(c[2]), tip, own});
    }
  for (const Triangle& c : triangles) editor.sweep({s.position(c[1]), s.position(c[0]), s.position(c[2]), tip, own});
  const std::array old{a.triangles[0], a.triangles[1], b.triangles[0], b.triangles[1]};
  for (const std::int32_t t : old) s.remove_triangle(t);
  const std::array edges{Edge{a.rim[0], a.rim[2]}, Edge{b.rim[0], b.rim[2]}};
  for (const Triangle& c : triangles) {
    const std::int32_t fresh = s.add_triangle(c);
    for (const std::int32_t t : old) editor.transfers.triangles.push_back({fresh, t, 0.25, 0.125});
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int32_t v = c[k], w = c[(k + 1) % 3];
      const auto of_a = [&](std::int32_t x) { return std::find(a.rim.begin(), a.rim.end(), x) != a.rim.end(); };
      if (of_a(v) == of_a(w)) continue;
      // Both triangles of the edge come by.
      for (const Edge& e : edges) editor.transfers.edge(v, w, e[0], e[1], 0.25, 0.0625);
    }
  }
  editor.end_part(mesh::EventKind::merge);
  const std::array vertices{edges[0][0], edges[0][1], edges[1][0], edges[1][1]};
  return editor.commit(mesh::EventKind::merge, vertices, std::numeric_limits<double>::infinity());
}

}  // namespace

Refusal merge_edges(SurfaceEditor& editor, Edge first, Edge second) {
  const DynamicSurface& s = editor.mesh;
  const auto a = hole_at(s, first), b = hole_at(s, second);
  if (!a || !b) return Refusal::topology;
  std::vector<std::int32_t> around;
  for (const std::int32_t v : a->rim) {
    if (editor.fixed(v)) return Refusal::topology;
    s.neighbours(v, around);
    for (const std::int32_t w : b->rim)
      if (v == w || editor.fixed(w) || std::binary_search(around.begin(), around.end(), w)) return Refusal::topology;
  }
  // The shortest tube first.
  std::array<std::pair<double, std::size_t>, 4> turns;
  for (std::size_t turn = 0; turn < 4; ++turn) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += (s.position(a->rim[i]) - s.position(b->rim[(turn + 4 - i) % 4])).norm();
    turns[turn] = {sum, turn};
  }
  std::sort(turns.begin(), turns.end());
  Refusal end = Refusal::none;
  for (std::size_t k = 0; k < 4; ++k) {
    end = close_with(editor, *a, *b, turns[k].second);
    if (end == Refusal::none && k > 0) ++editor.counts.second_ways;
    if (end == Refusal::none || end == Refusal::veto) break;
  }
  return end;
}

void merge_close_edges(SurfaceEditor& editor) {
  const DynamicSurface& s = editor.mesh;
  if (editor.options().merge == MergeGaps::none) return;
  std::vector<EdgePair> pairs;
  find_pairs(editor, pairs);
  for (const EdgePair& pair : pairs) {
    check_interrupt();
    const auto a = hole_at(s, pair.first), b = hole_at(s, pair.second);
    if (!a || !b) continue;
    const auto close = proximity_of(s, pair.first, pair.second);
    if (!may_close(editor, *a, *b, close.second - close.first)) continue;
    editor.counts.merge.add(merge_edges(editor, pair.first, pair.second));
  }
}

}  // namespace meniscus::surface
