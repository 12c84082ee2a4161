#include "meniscus/mesh/refinement/red_green.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/machine_memory.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

Point at(const std::vector<Point>& x, std::int32_t v) { return x[v]; }

/// The edges (numbered as in `tet_edges`) of the face opposite of each corner.
constexpr std::array<std::array<std::size_t, 3>, 4> face_edges{{{3, 4, 5}, {1, 2, 5}, {0, 2, 4}, {0, 1, 3}}};

unsigned bits(const std::array<std::size_t, 3>& edges) { return (1U << edges[0]) | (1U << edges[1]) | (1U << edges[2]); }

/// Green pattern that closes a set of split edges.
enum class Closure { none, one_edge, two_opposite_edges, face, incomplete_face, red };

Closure closure_of(unsigned mask) {
  int count = 0;
  for (unsigned m = mask; m; m &= m - 1) ++count;
  if (count == 0) return Closure::none;
  if (count == 1) return Closure::one_edge;
  if (count == 2) {
    for (unsigned e = 0; e < 3; ++e)
      if (mask == ((1U << e) | (1U << (5 - e)))) return Closure::two_opposite_edges;
    return Closure::incomplete_face;
  }
  if (count == 3)
    for (const auto& edges : face_edges)
      if (mask == bits(edges)) return Closure::face;
  return Closure::red;
}

/// t with corner k replaced by v.
Tet with(Tet t, std::size_t k, std::int32_t v) {
  t[k] = v;
  return t;
}

}  // namespace

void EdgeMiddles::add(std::int32_t a, std::int32_t b, std::int32_t middle) {
  if (2 * ++used_ > slots_.size()) {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.middle >= 0) slots_[place(s.key)] = s;
  }
  const std::uint64_t k = key(a, b);
  slots_[place(k)] = {k, middle};
}

RedGreen::RedGreen(TetMeshData coarse) : x_(std::move(coarse.vertices)) {
  require_valid_elements(coarse.tets, static_cast<Index>(x_.size()));
  require_finite(x_, "vertices");
  tets_.reserve(coarse.tets.size());
  for (const Tet& t : coarse.tets) {
    leaves_.push_back(static_cast<std::int32_t>(tets_.size()));
    tets_.push_back({t, -1});
  }
  require_room(0);
}

void RedGreen::require_room(std::size_t more) const {
  // A tetrahedron takes about 200 bytes with its part of the vertices, the edges and the result.
  const std::size_t most = std::min(std::size_t{1} << 28, machine_memory() / 200);
  require(tets_.size() + more <= most && x_.size() < (std::size_t{1} << 30), "the refined mesh would have more than ", most,
          " tetrahedra: take larger sizes or fewer levels");
}

std::int32_t RedGreen::split(std::int32_t a, std::int32_t b) {
  std::int32_t m = middles_.find(a, b);
  if (m >= 0) return m;
  m = static_cast<std::int32_t>(x_.size());
  middles_.add(a, b, m);
  x_.push_back(0.5 * (at(x_, std::min(a, b)) + at(x_, std::max(a, b))));
  return m;
}

std::vector<Tet> RedGreen::leaves() const {
  std::vector<Tet> result;
  for (const std::int32_t t : leaves_) result.push_back(tets_[t].corners);
  return result;
}

bool RedGreen::must_refine(const Tet& t) const {
  std::array<std::int32_t, 6> m;
  unsigned mask = 0;
  for (std::size_t e = 0; e < 6; ++e) {
    const std::int32_t a = t[tet_edges[e][0]];
    const std::int32_t b = t[tet_edges[e][1]];
    m[e] = middles_.find(a, b);
    if (m[e] < 0) continue;
    mask |= 1U << e;
    // Half an edge is split: what is beyond it is two levels finer, which no green tetrahedra join.
    if (middles_.find(a, m[e]) >= 0 || middles_.find(m[e], b) >= 0) return true;
  }
  const Closure c = closure_of(mask);
  if (c == Closure::red) return true;
  if (c == Closure::face)
    for (const auto& e : face_edges)
      if (mask == bits(e))
        return middles_.find(m[e[0]], m[e[1]]) >= 0 || middles_.find(m[e[1]], m[e[2]]) >= 0 ||
               middles_.find(m[e[2]], m[e[0]]) >= 0;
  return false;
}

/// If two edges of a face are split and no other edge of the tetrahedron, splits the third one too.
bool RedGreen::complete_face(const Tet& t) {
  unsigned mask = 0;
  for (std::size_t e = 0; e < 6; ++e)
    if (middles_.find(t[tet_edges[e][0]], t[tet_edges[e][1]]) >= 0) mask |= 1U << e;
  if (closure_of(mask) != Closure::incomplete_face) return false;
  for (const auto& edges : face_edges)
    if ((mask & bits(edges)) == mask)
      for (const std::size_t e : edges) split(t[tet_edges[e][0]], t[tet_edges[e][1]]);
  return true;
}

void RedGreen::cut(std::int32_t tet) {
  const Tet c = tets_[tet].corners;
  std::array<std::int32_t, 6> m;
  for (std::size_t e = 0; e < 6; ++e) m[e] = split(c[tet_edges[e][0]], c[tet_edges[e][1]]);
  tets_[tet].first_child = static_cast<std::int32_t>(tets_.size());
  std::array<Tet, 8> child;
  cut_into_eight(c, m.data(), shortest_diagonal(c, x_), child.data());
  for (const Tet& t : child) {
    leaves_.push_back(static_cast<std::int32_t>(tets_.size()));
    tets_.push_back({t, -1});
  }
}

void RedGreen::drop_parents() {
  std::erase_if(leaves_, [&](std::int32_t t) { return tets_[t].first_child >= 0; });
}

Index RedGreen::close(std::vector<std::int32_t> chosen) {
  Index count = 0;
  while (!chosen.empty()) {
    check_interrupt();
    require_room(8 * chosen.size());
    for (const std::int32_t t : chosen) cut(t);
    drop_parents();
    count += static_cast<Index>(chosen.size());
    chosen.clear();
    // Completed faces may give tetrahedra that came before them something to do.
    for (bool completed = true; completed && chosen.empty();) {
      completed = false;
      for (const std::int32_t t : leaves_) {
        const Tet corners = tets_[t].corners;
        if (complete_face(corners)) completed = true;
        if (must_refine(corners)) chosen.push_back(t);
      }
    }
  }
  return count;
}

Index RedGreen::refine(std::span<const double> sizes) {
  require(sizes.size() == x_.size(), "sizes must have one value per vertex, ", x_.size(), ", not ", sizes.size());
  for (std::size_t v = 0; v < sizes.size(); ++v) require(sizes[v] > 0, "sizes must be positive, but [", v, "] is ", sizes[v]);
  std::vector<std::int32_t> chosen;
  for (const std::int32_t leaf : leaves_) {
    const Tet& t = tets_[leaf].corners;
    double least = sizes[t[0]];
    for (const std::int32_t v : t) least = std::min(least, sizes[v]);
    double longest = 0;
    for (const auto& e : tet_edges) longest = std::max(longest, (at(x_, t[e[0]]) - at(x_, t[e[1]])).squaredNorm());
    // Edges of the lattice have the wanted length up to round-off.
    if (std::sqrt(longest) > least * (1 + 1e-9)) chosen.push_back(leaf);
  }
  return close(std::move(chosen));
}

Index RedGreen::refine(std::span<const bool> chosen) {
  require(chosen.size() == leaves_.size(), "chosen must have one value per leaf, ", leaves_.size(), ", not ", chosen.size());
  std::vector<std::int32_t> list;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) list.push_back(leaves_[i]);
  return close(std::move(list));
}

TetMeshData RedGreen::mesh() const {
  TetMeshData result{x_, {}};
  for (const std::int32_t leaf : leaves_) {
    const Tet& t = tets_[leaf].corners;
    std::array<std::int32_t, 6> m;
    unsigned mask = 0;
    for (std::size_t e = 0; e < 6; ++e) {
      m[e] = middles_.find(t[tet_edges[e][0]], t[tet_edges[e][1]]);
      if (m[e] >= 0) mask |= 1U << e;
    }
    auto& out = result.tets;
    switch (closure_of(mask)) {
      case Closure::none:
        out.push_back(t);
        break;
      case Closure::one_edge:
        for (std::size_t e = 0; e < 6; ++e)
          if (m[e] >= 0)
            for (const std::size_t k : tet_edges[e]) out.push_back(with(t, k, m[e]));
        break;
      case Closure::two_opposite_edges:
        for (std::size_t e = 0; e < 3; ++e)
          if (m[e] >= 0)
            for (const std::size_t k : tet_edges[e])
              for (const std::size_t l : tet_edges[5 - e]) out.push_back(with(with(t, k, m[e]), l, m[5 - e]));
        break;
      case Closure::face:
        for (std::size_t k = 0; k < 4; ++k) {
          if (mask != bits(face_edges[k])) continue;
          // At each corner of the face the other two go to the middles of their edges; the inner one has all three middles.
          const auto between = [&](std::size_t a, std::size_t b) {
            for (std::size_t e = 0; e < 6; ++e)
              if ((tet_edges[e][0] == a && tet_edges[e][1] == b) || (tet_edges[e][0] == b && tet_edges[e][1] == a)) return m[e];
            return std::int32_t{-1};
          };
          const auto& f = tet_faces[k];
          for (std::size_t i = 0; i < 3; ++i) {
            const std::size_t a = f[i];
            const std::size_t b = f[(i + 1) % 3];
            const std::size_t c = f[(i + 2) % 3];
            out.push_back(with(with(t, b, between(a, b)), c, between(a, c)));
          }
          out.push_back(with(with(with(t, f[0], between(f[0], f[1])), f[1], between(f[1], f[2])), f[2], between(f[2], f[0])));
        }
        break;
      case Closure::incomplete_face:
      case Closure::red:
        break;  // refine() leaves none
    }
  }
  return result;
}

void refine(RedGreen& hierarchy, const SizeFunction& sizes, int rounds) {
  std::vector<double> values;
  for (int round = 0; round < rounds; ++round) {
    values.resize(hierarchy.vertices().size());
    sizes(hierarchy.vertices(), values);
    if (hierarchy.refine(std::span<const double>(values)) == 0) return;
  }
}

}  // namespace meniscus::mesh
