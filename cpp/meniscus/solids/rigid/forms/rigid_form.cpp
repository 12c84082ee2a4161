#include "meniscus/solids/rigid/forms/rigid_form.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace meniscus::solids {
namespace {

/// rad: faces that are bent less against each other count as one at the edge between them.
constexpr double flat_edge = 1e-5;

Vector3 normal_of(std::span<const Vector3> x, const mesh::Triangle& t) {
  const auto p = [&](std::size_t k) { return x[t[k]]; };
  return mesh::area_vector(p(0), p(1), p(2));
}

double size_of(std::span<const Vector3> x) {
  mesh::Box box;
  for (const Vector3& p : x) box.add(p);
  return (box.high - box.low).norm();
}

/// Triangles in one plane have one number, the lowest of them: along a chain of neighbours, against the normal of the first.
std::vector<std::int32_t> planes_of(std::span<const Vector3> x, std::span<const mesh::Triangle> triangles, double tolerance) {
  std::map<std::array<std::int32_t, 2>, std::int32_t> across;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) across[{triangles[t][k], triangles[t][(k + 1) % 3]}] = static_cast<std::int32_t>(t);
  std::vector<std::int32_t> plane(triangles.size(), -1), stack;
  for (std::size_t seed = 0; seed < triangles.size(); ++seed) {
    if (plane[seed] >= 0) continue;
    const Vector3 n = normal_of(x, triangles[seed]).normalized();
    const double offset = n.dot(x[triangles[seed][0]]);
    plane[seed] = static_cast<std::int32_t>(seed);
    stack.assign(1, static_cast<std::int32_t>(seed));
    while (!stack.empty()) {
      const mesh::Triangle& t = triangles[stack.back()];
      stack.pop_back();
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = across.find({t[(k + 1) % 3], t[k]});
        if (at == across.end() || plane[at->second] >= 0) continue;
        const mesh::Triangle& other = triangles[at->second];
        const bool flat =
            std::all_of(other.begin(), other.end(), [&](std::int32_t v) { return std::abs(n.dot(x[v]) - offset) <= tolerance; });
        if (!flat) continue;
        plane[at->second] = static_cast<std::int32_t>(seed);
        stack.push_back(at->second);
      }
    }
  }
  return plane;
}

/// The loop around triangles, from its lowest vertex on.
std::vector<std::int32_t> loop_around(std::span<const mesh::Triangle> triangles) {
  std::map<std::array<std::int32_t, 2>, int> edges;
  for (const mesh::Triangle& t : triangles)
    for (std::size_t k = 0; k < 3; ++k) ++edges[{t[k], t[(k + 1) % 3]}];
  std::map<std::int32_t, std::int32_t> next;
  for (const auto& [e, n] : edges)
    if (!edges.contains({e[1], e[0]})) next[e[0]] = e[1];
  std::vector<std::int32_t> loop;
  if (next.empty()) return loop;
  for (std::int32_t v = next.begin()->first; loop.size() < next.size(); v = next.at(v)) {
    loop.push_back(v);
    if (!next.contains(v)) break;
  }
  return loop;
}

}  // namespace

bool is_convex(std::span<const Vector3> x, std::span<const mesh::Triangle> triangles, double tolerance) {
  return std::all_of(triangles.begin(), triangles.end(), [&](const mesh::Triangle& t) {
    const Vector3 n = normal_of(x, t).normalized();
    const double offset = n.dot(x[t[0]]) + tolerance;
    return std::all_of(x.begin(), x.end(), [&](const Vector3& p) { return n.dot(p) <= offset; });
  });
}

RigidForm RigidForm::rounded(std::span<const Vector3> points, double radius) {
  require(points.size() == 1 || points.size() == 2, "a rounded form has one or two points, not ", points.size());
  require(radius > 0, "the radius must be positive, but is ", radius);
  RigidForm f;
  f.kind = FormKind::convex;
  f.radius = radius;
  f.vertices.assign(points.begin(), points.end());
  if (points.size() == 2) f.edges.push_back({.vertices = {0, 1}});
  f.measure();
  f.thin = radius;
  return f;
}

RigidForm RigidForm::half_space(const Vector3& point, const Vector3& normal) {
  RigidForm f;
  f.kind = FormKind::half_space;
  f.vertices = {point};
  f.faces.normals = {normal.normalized()};
  f.faces.offsets = {f.faces.normals[0].dot(point)};
  f.faces.first = {0, 0};
  f.reach = f.thin = std::numeric_limits<double>::infinity();
  return f;
}

RigidForm RigidForm::polyhedron(std::span<const Vector3> x, std::span<const mesh::Triangle> triangles) {
  const double size = size_of(x);
  require(triangles.size() >= 4 && is_convex(x, triangles, 1e-6 * size),
          "the surface of a convex body must be closed and convex");
  RigidForm f;
  f.kind = FormKind::convex;
  f.vertices.assign(x.begin(), x.end());
  const auto plane = planes_of(x, triangles, 1e-9 * size);
  std::vector<mesh::Triangle> own;
  for (std::size_t seed = 0; seed < triangles.size(); ++seed) {
    if (plane[seed] != static_cast<std::int32_t>(seed)) continue;
    own.clear();
    Vector3 n = Vector3::Zero();
    for (std::size_t t = seed; t < triangles.size(); ++t)
      if (plane[t] == plane[seed]) own.push_back(triangles[t]), n += normal_of(x, triangles[t]);
    const auto loop = loop_around(own);
    require(loop.size() >= 3, "face ", f.faces.size(), " of a convex body has no outline");
    require(loop.size() <= most_corners, "a face of a convex body has at most ", most_corners, " corners, not ", loop.size());
    n.normalize();
    f.faces.normals.push_back(n);
    double offset = -std::numeric_limits<double>::infinity();
    for (const std::int32_t v : loop) offset = std::max(offset, n.dot(x[v]));
    f.faces.offsets.push_back(offset);
    f.faces.corners.insert(f.faces.corners.end(), loop.begin(), loop.end());
    f.faces.first.push_back(static_cast<std::int32_t>(f.faces.corners.size()));
  }
  f.find_edges();
  f.measure();
  f.thin = *std::min_element(f.faces.offsets.begin(), f.faces.offsets.end());
  return f;
}

RigidForm RigidForm::surface(std::span<const Vector3> x, std::span<const mesh::Triangle> triangles, bool closed) {
  mesh::require_valid({.vertices = x, .triangles = triangles});
  RigidForm f;
  f.kind = FormKind::mesh;
  f.closed = closed;
  f.vertices.assign(x.begin(), x.end());
  f.triangles.assign(triangles.begin(), triangles.end());
  std::vector<mesh::Box> boxes;
  for (const mesh::Triangle& t : triangles) {
    mesh::Box& box = boxes.emplace_back();
    const Vector3 n = normal_of(x, t).stableNormalized();
    f.faces.normals.push_back(n);
    f.faces.offsets.push_back(n.dot(x[t[0]]));
    for (const std::int32_t v : t) {
      box.add(x[v]);
      f.faces.corners.push_back(v);
    }
    f.faces.first.push_back(static_cast<std::int32_t>(f.faces.corners.size()));
  }
  f.find_edges();
  f.measure();
  mesh::Box whole;
  for (const Vector3& p : x) whole.add(p);
  f.thin = 0.5 * (whole.high - whole.low).minCoeff();
  f.tree.emplace(boxes);
  f.vertex_normals.assign(x.size(), Vector3::Zero());
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      const auto corner = [&](std::size_t i) { return x[triangles[t][(k + i) % 3]]; };
      const Vector3 d = corner(1) - corner(0), e = corner(2) - corner(0);
      f.vertex_normals[triangles[t][k]] += std::atan2(d.cross(e).norm(), d.dot(e)) * f.faces.normals[t];
    }
  numerics::list_by_rows(std::ssize(x), f.first_around, f.around, [&](auto&& add) {
    for (const FormEdge& e : f.edges)
      for (std::size_t k = 0; k < 2; ++k) add(e.vertices[k], e.vertices[1 - k]);
  });
  // The first triangle with a vertex or an edge stands for it; nobody for those inside of a flat part, which touch nothing that
  // faces, or corners and edges of the other body, do not.
  f.owned.assign(triangles.size(), 0);
  f.triangle_edges.resize(triangles.size());
  std::vector<std::uint8_t> seen(x.size(), 1);
  for (const FormEdge& e : f.edges)
    if (!e.flat)
      for (const std::int32_t v : e.vertices) seen[v] = 0;
  std::map<std::array<std::int32_t, 2>, std::int32_t> number;
  for (std::size_t e = 0; e < f.edges.size(); ++e) number[f.edges[e].vertices] = static_cast<std::int32_t>(e);
  std::vector<std::uint8_t> met(f.edges.size(), 0);
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k) {
      auto& vertex = seen[triangles[t][k]];
      if (!vertex) f.owned[t] = static_cast<std::uint8_t>(f.owned[t] | (1U << k));
      vertex = 1;
      const std::int32_t a = triangles[t][k], b = triangles[t][(k + 1) % 3];
      const std::int32_t e = number.at({std::min(a, b), std::max(a, b)});
      f.triangle_edges[t][k] = e;
      if (!met[e] && !f.edges[e].flat) f.owned[t] = static_cast<std::uint8_t>(f.owned[t] | (8U << k));
      met[e] = 1;
    }
  return f;
}

void RigidForm::find_edges() {
  std::map<std::array<std::int32_t, 2>, FormEdge> found;
  for (std::size_t face = 0; face < faces.size(); ++face) {
    const auto loop = faces.of(face);
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const std::int32_t a = loop[k], b = loop[(k + 1) % loop.size()];
      FormEdge& e = found[{std::min(a, b), std::max(a, b)}];
      e.vertices = {std::min(a, b), std::max(a, b)};
      auto& side = e.faces[e.faces[0] < 0 ? 0 : 1];
      side = static_cast<std::int32_t>(face);
    }
  }
  for (auto& [pair, e] : found) {
    if (e.faces[1] >= 0) {
      // Convex where the corners of the one face are not above the plane of the other.
      double above = -std::numeric_limits<double>::infinity();
      const Index first = e.faces[0];
      for (const std::int32_t v : faces.of(e.faces[1]))
        if (v != pair[0] && v != pair[1]) above = std::max(above, faces.normals[first].dot(vertices[v]) - faces.offsets[first]);
      const Vector3 along = vertices[pair[1]] - vertices[pair[0]];
      e.convex = above <= 1e-9 * along.norm();
      const Vector3 &n = faces.normals[first], &m = faces.normals[e.faces[1]];
      e.flat = n.dot(m) > 0 && n.cross(m).norm() < flat_edge;
    }
    edges.push_back(e);
  }
}

void RigidForm::measure() {
  reach = 0;
  for (const Vector3& p : vertices) reach = std::max(reach, p.norm());
  reach += radius;
}

Index RigidForm::nbytes() const {
  const std::size_t tree_bytes = tree ? tree->nodes().size_bytes() + tree->order().size_bytes() : 0;
  return static_cast<Index>(vertices.capacity() * sizeof(Vector3) + edges.capacity() * sizeof(FormEdge) +
                            faces.first.capacity() * 4 + faces.corners.capacity() * 4 + faces.normals.capacity() * 24 +
                            faces.offsets.capacity() * 8 + triangles.capacity() * sizeof(mesh::Triangle) + owned.capacity() +
                            triangle_edges.capacity() * 12 + (first_around.capacity() + around.capacity()) * 4 + tree_bytes);
}

}  // namespace meniscus::solids
