#include "meniscus/mesh/topology/tet_topology.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <tuple>

namespace meniscus::mesh {
namespace {

constexpr Index tet_chunk = 1024;

/// A face of a tetrahedron, seen from the lowest of its vertices.
struct Side {
  std::int32_t middle;
  std::int32_t high;
  /// 4 * tetrahedron + opposite corner.
  std::int32_t slot;

  bool same_face(const Side& o) const { return middle == o.middle && high == o.high; }
  bool operator<(const Side& o) const { return std::tie(middle, high, slot) < std::tie(o.middle, o.high, o.slot); }
};

/// Calls f(side) for the faces at corner `corner` of which its vertex is the lowest.
template <class F>
void sides_at(const Tet& tet, std::int32_t corner, F&& f) {
  const std::size_t k = static_cast<std::size_t>(corner) % 4;
  for (std::size_t opposite = 0; opposite < 4; ++opposite) {
    if (opposite == k) continue;
    std::array<std::int32_t, 2> others;
    std::size_t count = 0;
    for (std::size_t i = 0; i < 4; ++i)
      if (i != k && i != opposite) others[count++] = tet[i];
    const auto [low, high] = std::minmax(others[0], others[1]);
    if (low > tet[k]) f(Side{low, high, corner - static_cast<std::int32_t>(k) + static_cast<std::int32_t>(opposite)});
  }
}

Triangle face_of(const Tet& tet, std::size_t opposite) {
  const auto& f = tet_faces[opposite];
  return {tet[f[0]], tet[f[1]], tet[f[2]]};
}

/// True where two triangles with the same corners go round in the same direction.
bool same_direction(const Triangle& a, const Triangle& b) {
  const Index first = std::find(b.begin(), b.end(), a[0]) - b.begin();
  return b[(first + 1) % 3] == a[1];
}

}  // namespace

TetTopology::TetTopology(const VertexStars<4>& stars) {
  const Index n = stars.vertices();
  const auto tets = stars.elements();
  const auto at = [](auto& v, auto i) -> auto& { return v[i]; };
  std::vector<std::int32_t> side_start(static_cast<std::size_t>(n) + 1, 0);
  parallel_for(0, n, tet_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v)
      for (const std::int32_t corner : stars.at(v))
        sides_at(at(tets, corner / 4), corner, [&](const Side&) { ++at(side_start, v + 1); });
  });
  for (std::size_t v = 1; v < side_start.size(); ++v) side_start[v] += side_start[v - 1];
  std::vector<Side> sides(side_start.back());
  std::vector<std::int32_t> face_start(static_cast<std::size_t>(n) + 1, 0);
  parallel_for(0, n, tet_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      Side* const first = sides.data() + at(side_start, v);
      Side* last = first;
      for (const std::int32_t corner : stars.at(v)) sides_at(at(tets, corner / 4), corner, [&](const Side& s) { *last++ = s; });
      std::sort(first, last);
      for (const Side* s = first; s < last; ++s)
        if (s == first || !s->same_face(s[-1])) ++at(face_start, v + 1);
    }
  });
  for (std::size_t v = 1; v < face_start.size(); ++v) face_start[v] += face_start[v - 1];
  const auto crowded = [](const Side* s, const Side* last) { return last - s > 2 && s[2].same_face(s[0]); };
  const Index bad = parallel_reduce(
      0, n, tet_chunk, n,
      [&](Index b, Index e) {
        for (Index v = b; v < e; ++v) {
          const Side* const last = sides.data() + at(side_start, v + 1);
          for (const Side* s = sides.data() + at(side_start, v); s < last; ++s)
            if (crowded(s, last)) return v;
        }
        return n;
      },
      [](Index a, Index b) { return std::min(a, b); });
  if (bad < n) {
    const Side* s = sides.data() + at(side_start, bad);
    while (!crowded(s, sides.data() + at(side_start, bad + 1))) ++s;
    require(false, "a face can have at most two tetrahedra, but ", bad, ", ", s->middle, ", ", s->high, " is a face of tets ",
            s[0].slot / 4, ", ", s[1].slot / 4, " and ", s[2].slot / 4);
  }
  const auto count = static_cast<std::size_t>(face_start.back());
  faces_.resize(count);
  face_tets_.resize(count);
  faces_of_.resize(tets.size());
  neighbours_.resize(tets.size());
  parallel_for(0, n, tet_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      std::int32_t face = at(face_start, v);
      const Side* const last = sides.data() + at(side_start, v + 1);
      for (const Side* s = sides.data() + at(side_start, v); s < last; ++face) {
        const std::int32_t t = s->slot / 4;
        const Index k = s->slot % 4;
        at(faces_, face) = face_of(at(tets, t), k);
        at(faces_of_, t)[k] = face;
        const bool shared = last - s > 1 && s[1].same_face(*s);
        const std::int32_t other = shared ? s[1].slot / 4 : -1;
        at(neighbours_, t)[k] = other;
        if (shared) {
          at(faces_of_, other)[s[1].slot % 4] = face;
          at(neighbours_, other)[s[1].slot % 4] = t;
        }
        at(face_tets_, face) = {t, other};
        s += shared ? 2 : 1;
      }
    }
  });
  for (std::size_t f = 0; f < count; ++f)
    if (face_tets_[f][1] < 0) boundary_.push_back(static_cast<std::int32_t>(f));
}

std::vector<std::int32_t> TetTopology::flipped_faces(std::span<const Tet> tets) const {
  std::vector<std::int32_t> found;
  for (std::size_t f = 0; f < faces_.size(); ++f) {
    const std::int32_t second = face_tets_[f][1];
    if (second < 0) continue;
    const auto& around = faces_of_[second];
    const auto k =
        static_cast<std::size_t>(std::find(around.begin(), around.end(), static_cast<std::int32_t>(f)) - around.begin());
    if (same_direction(faces_[f], face_of(tets[second], k))) found.push_back(static_cast<std::int32_t>(f));
  }
  return found;
}

std::int32_t tet_components(const TetTopology& topology, std::span<std::int32_t> component) {
  return numerics::label_components(component, [&](auto&& unite) {
    for (const auto& t : topology.face_tets())
      if (t[1] >= 0) unite(t[0], t[1]);
  });
}

}  // namespace meniscus::mesh
