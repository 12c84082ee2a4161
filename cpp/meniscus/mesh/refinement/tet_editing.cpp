#include "meniscus/mesh/refinement/tet_editing.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

bool has(const Tet& t, std::int32_t v) { return t[0] == v || t[1] == v || t[2] == v || t[3] == v; }

using Pair = std::array<std::int32_t, 2>;

void sort_unique(auto& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

double min_sine(const Point& a, const Point& b, const Point& c, const Point& d) {
  const Point ab = b - a, ac = c - a, ad = d - a, bc = c - b, bd = d - b;
  // Normals of the faces opposite of each corner, outwards, of the length of twice their areas.
  const std::array<Point, 4> n{bc.cross(bd), ad.cross(ac), ab.cross(ad), ac.cross(ab)};
  const double volume = ab.dot(ac.cross(ad));
  std::array<double, 4> area;
  for (std::size_t k = 0; k < 4; ++k) area[k] = n[k].squaredNorm();
  // The dihedral angle at the edge of corners i, j lies between the faces opposite of the other two.
  const std::array<double, 6> length{ab.squaredNorm(), ac.squaredNorm(), ad.squaredNorm(),
                                     bc.squaredNorm(), bd.squaredNorm(), (d - c).squaredNorm()};
  double least = 1;
  for (std::size_t e = 0; e < 6; ++e) {
    const auto [k, l] = tet_edges[5 - e];
    double square = length[e] / (area[k] * area[l]);
    if (!(area[k] * area[l] > 0)) return volume > 0 ? 0 : -1;
    if (n[k].dot(n[l]) > 0) square *= 0.49;
    least = std::min(least, square * volume * volume);
  }
  return volume > 0 ? std::sqrt(least) : -std::sqrt(least);
}

TetEditor::TetEditor(const TetMeshData& mesh) : tets_(mesh.tets), alive_(mesh.tets.size(), 1), stars_(mesh.vertices.size()) {
  nodes_.reserve(mesh.vertices.size());
  for (const Point& x : mesh.vertices) nodes_.push_back({x, 3, -1});
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(tets_.size()); ++t) link(t);
  for (const Tet& t : tets_)
    for (const auto& f : tet_faces)
      if (tets_with(t[f[0]], t[f[1]], t[f[2]]) == 1)
        for (const std::size_t k : f) nodes_[t[k]].freedom = 2;
}

void TetEditor::link(std::int32_t t) {
  for (const std::int32_t v : tets_[t]) stars_[v].push_back(t);
}

void TetEditor::unlink(std::int32_t t) {
  for (const std::int32_t v : tets_[t]) {
    auto& star = stars_[v];
    *std::find(star.begin(), star.end(), t) = star.back();
    star.pop_back();
  }
}

int TetEditor::tets_with(std::int32_t a, std::int32_t b, std::int32_t c) const {
  int count = 0;
  for (const std::int32_t t : stars_[a]) count += has(tets_[t], b) && has(tets_[t], c);
  return count;
}

bool TetEditor::has_edge(std::int32_t a, std::int32_t b) const {
  for (const std::int32_t t : stars_[a])
    if (has(tets_[t], b)) return true;
  return false;
}

void TetEditor::boundary_faces(std::span<const std::int32_t> tets, std::vector<Triangle>& out) const {
  out.clear();
  for (const std::int32_t i : tets) {
    const Tet& t = tets_[i];
    for (const auto& f : tet_faces)
      if (boundary_face(t[f[0]], t[f[1]], t[f[2]])) out.push_back({t[f[0]], t[f[1]], t[f[2]]});
  }
}

void TetEditor::boundary_faces_at(std::int32_t v, std::vector<Triangle>& out) const {
  out.clear();
  if (!on_boundary(v)) return;
  for (const std::int32_t i : stars_[v]) {
    const Tet& t = tets_[i];
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& f = tet_faces[k];
      if (t[k] != v && boundary_face(t[f[0]], t[f[1]], t[f[2]])) out.push_back({t[f[0]], t[f[1]], t[f[2]]});
    }
  }
}

std::vector<Triangle> TetEditor::boundary() const {
  std::vector<Triangle> all, faces;
  for (std::int32_t v = 0; v < static_cast<std::int32_t>(vertices()); ++v) {
    boundary_faces_at(v, faces);
    for (const Triangle& f : faces)
      if (std::min({f[0], f[1], f[2]}) == v) all.push_back(f);
  }
  return all;
}

void TetEditor::neighbours(std::int32_t v, std::vector<std::int32_t>& out) const {
  out.clear();
  for (const std::int32_t t : stars_[v])
    for (const std::int32_t u : tets_[t])
      if (u != v) out.push_back(u);
  sort_unique(out);
}

bool TetEditor::find_ring(std::int32_t a, std::int32_t b, EdgeRing& out) const {
  out.vertices.clear();
  out.tets.clear();
  std::vector<Pair> steps;
  for (const std::int32_t i : stars_[a]) {
    const Tet& t = tets_[i];
    if (!has(t, b)) continue;
    out.tets.push_back(i);
    // Rotations that keep the orientation bring a to the front and b to the second place.
    Tet s = t;
    if (s[1] == a) s = {s[1], s[0], s[3], s[2]};
    if (s[2] == a) s = {s[2], s[3], s[0], s[1]};
    if (s[3] == a) s = {s[3], s[2], s[1], s[0]};
    if (s[2] == b) s = {s[0], s[2], s[3], s[1]};
    if (s[3] == b) s = {s[0], s[3], s[1], s[2]};
    steps.push_back({s[2], s[3]});
  }
  if (steps.empty()) return false;
  std::sort(steps.begin(), steps.end());
  const auto step_from = [&](std::int32_t v) {
    const auto i = std::lower_bound(steps.begin(), steps.end(), Pair{v, -1});
    return i != steps.end() && (*i)[0] == v ? (*i)[1] : -1;
  };
  std::int32_t first = steps[0][0];
  out.open = false;
  for (const Pair& s : steps) {
    const bool reached = std::any_of(steps.begin(), steps.end(), [&](const Pair& r) { return r[1] == s[0]; });
    if (reached) continue;
    if (out.open) return false;
    out.open = true;
    first = s[0];
  }
  for (std::int32_t v = first; v >= 0 && out.vertices.size() <= steps.size() + 1;) {
    out.vertices.push_back(v);
    v = step_from(v);
    if (v == first) break;
  }
  return out.vertices.size() == steps.size() + (out.open ? 1 : 0);
}

bool TetEditor::contractible(std::int32_t a, std::int32_t b) const {
  std::vector<std::int32_t> at_a, at_b, common, ring;
  neighbours(a, at_a);
  neighbours(b, at_b);
  std::set_intersection(at_a.begin(), at_a.end(), at_b.begin(), at_b.end(), std::back_inserter(common));
  std::vector<Pair> edges_a, edges_b, ring_edges, common_edges;
  const auto in_common = [&](std::int32_t v) { return std::binary_search(common.begin(), common.end(), v); };
  const auto collect = [&](std::int32_t v, std::int32_t other, std::vector<Pair>& edges) {
    for (const std::int32_t i : stars_[v]) {
      const Tet& t = tets_[i];
      for (const auto& e : tet_edges) {
        const auto [p, q] = std::minmax(t[e[0]], t[e[1]]);
        if (p == v || q == v || p == other || q == other) continue;
        if (in_common(p) && in_common(q)) edges.push_back({p, q});
      }
    }
    sort_unique(edges);
  };
  collect(a, b, edges_a);
  collect(b, a, edges_b);
  for (const std::int32_t i : stars_[a]) {
    const Tet& t = tets_[i];
    if (!has(t, b)) continue;
    Pair rest{-1, -1};
    for (const std::int32_t v : t)
      if (v != a && v != b) (rest[0] < 0 ? rest[0] : rest[1]) = v;
    ring.insert(ring.end(), rest.begin(), rest.end());
    ring_edges.push_back({std::min(rest[0], rest[1]), std::max(rest[0], rest[1])});
  }
  sort_unique(ring);
  sort_unique(ring_edges);
  if (ring != common) return false;
  std::set_intersection(edges_a.begin(), edges_a.end(), edges_b.begin(), edges_b.end(), std::back_inserter(common_edges));
  if (common_edges != ring_edges) return false;
  if (!on_boundary(a) || !on_boundary(b)) return true;
  // With the vertex beyond the boundary: neighbours along the boundary of both are the two opposite of the edge.
  const auto along_boundary = [&](std::int32_t v) {
    std::vector<Triangle> faces;
    boundary_faces_at(v, faces);
    std::vector<std::int32_t> list;
    for (const Triangle& f : faces)
      for (const std::int32_t u : f)
        if (u != v) list.push_back(u);
    sort_unique(list);
    return list;
  };
  const auto around_a = along_boundary(a);
  const auto around_b = along_boundary(b);
  if (!std::binary_search(around_a.begin(), around_a.end(), b)) return false;
  common.clear();
  std::set_intersection(around_a.begin(), around_a.end(), around_b.begin(), around_b.end(), std::back_inserter(common));
  // A closed surface of four triangles must not be contracted further.
  return common.size() == 2 && around_a.size() + around_b.size() > 6;
}

void TetEditor::set(std::int32_t v, const EditedVertex& value) {
  journal_.add(Change::moved, v, nodes_[v]);
  nodes_[v] = value;
}

std::int32_t TetEditor::add_vertex(const EditedVertex& value) {
  const auto v = static_cast<std::int32_t>(nodes_.size());
  nodes_.push_back(value);
  stars_.emplace_back();
  journal_.add(Change::new_vertex, v, value);
  return v;
}

void TetEditor::remove_tet(std::int32_t t) {
  alive_[t] = 0;
  unlink(t);
  journal_.add(Change::removed_element, t, {Point::Zero()});
}

std::int32_t TetEditor::add_tet(const Tet& corners) {
  const auto t = static_cast<std::int32_t>(tets_.size());
  tets_.push_back(corners);
  alive_.push_back(1);
  link(t);
  journal_.add(Change::new_element, t, {Point::Zero()});
  return t;
}

void TetEditor::undo(std::size_t mark) {
  journal_.undo(mark, [&](const EditJournal<EditedVertex>::Entry& e) {
    switch (e.change) {
      case Change::moved:
        nodes_[e.which] = e.before;
        break;
      case Change::new_vertex:
        nodes_.pop_back();
        stars_.pop_back();
        break;
      case Change::removed_element:
        alive_[e.which] = 1;
        link(e.which);
        break;
      case Change::new_element:
        unlink(e.which);
        tets_.pop_back();
        alive_.pop_back();
        break;
    }
  });
}

void TetEditor::changed(std::size_t mark, std::vector<std::int32_t>& out) const {
  out.clear();
  for (std::size_t i = mark; i < journal_.size(); ++i) {
    const auto& e = journal_[i];
    if (e.change == Change::new_element && alive(e.which)) out.push_back(e.which);
    if (e.change == Change::moved) out.insert(out.end(), stars_[e.which].begin(), stars_[e.which].end());
  }
  sort_unique(out);
}

void TetEditor::changed_boundary(std::size_t mark, std::vector<Triangle>& faces, std::vector<std::int32_t>& moved) const {
  faces.clear();
  moved.clear();
  for (std::size_t i = mark; i < journal_.size(); ++i) {
    const auto& e = journal_[i];
    if (e.change == Change::moved || e.change == Change::new_vertex) {
      moved.push_back(e.which);
      continue;
    }
    const Tet& t = tets_[e.which];
    for (const auto& f : tet_faces) {
      Triangle corners{t[f[0]], t[f[1]], t[f[2]]};
      std::sort(corners.begin(), corners.end());
      faces.push_back(corners);
    }
  }
  sort_unique(moved);
  // Each tetrahedron that comes or goes makes a face of its own a boundary face, or ends that.
  std::sort(faces.begin(), faces.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < faces.size(); ++i) {
    if (kept > 0 && faces[kept - 1] == faces[i])
      --kept;
    else
      faces[kept++] = faces[i];
  }
  faces.resize(kept);
}

TetMeshData TetEditor::mesh() const {
  TetMeshData result;
  for (const EditedVertex& v : nodes_) result.vertices.push_back(v.position);
  for (std::size_t t = 0; t < tets_.size(); ++t)
    if (alive_[t]) result.tets.push_back(tets_[t]);
  return result;
}

}  // namespace meniscus::mesh
