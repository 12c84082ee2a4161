#include "meniscus/collision/contact/contact_detection.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"

namespace meniscus::collision {
namespace {

constexpr Index candidate_chunk = 2048;

}  // namespace

void DeactivatedPairs::sort() {
  for (ElementPair& pair : edge_edge)
    if (pair[0] > pair[1]) std::swap(pair[0], pair[1]);
  std::sort(vertex_face.begin(), vertex_face.end());
  std::sort(edge_edge.begin(), edge_edge.end());
}

void DeactivatedPairs::require_pairs_of(const CollisionMesh& mesh, Index vertices) const {
  const auto edges = static_cast<Index>(mesh.edges().size()), faces = static_cast<Index>(mesh.triangles().size());
  const auto check = [&](PairKind kind, const ElementPair& pair) {
    const bool face = kind == PairKind::vertex_face;
    const auto named = [&](const char* what, std::size_t k, Index count) {
      require(pair[k] >= 0 && pair[k] < count, "a deactivated pair has ", what, " ", pair[k], ", but there are ", count);
    };
    named(face ? "vertex" : "edge", 0, face ? vertices : edges);
    named(face ? "triangle" : "edge", 1, face ? faces : edges);
    const Stencil s = stencil_of(mesh, kind, pair);
    const std::size_t first = face ? 1 : 2;
    for (std::size_t i = 0; i < first; ++i)
      for (std::size_t j = first; j < 4; ++j)
        require(s[i] != s[j], "elements of a deactivated pair must have no vertex in common, but ",
                face ? "the vertex and the triangle (" : "the edges (", pair[0], ", ", pair[1], ") have vertex ", s[i]);
  };
  for (const ElementPair& pair : vertex_face) check(PairKind::vertex_face, pair);
  for (const ElementPair& pair : edge_edge) check(PairKind::edge_edge, pair);
}

bool DeactivatedPairs::contains(PairKind kind, const ElementPair& pair) const {
  const auto& pairs = kind == PairKind::vertex_face ? vertex_face : edge_edge;
  return std::ranges::binary_search(pairs, pair);
}

Stencil stencil_of(const CollisionMesh& mesh, PairKind kind, const ElementPair& pair) {
  const Index second = pair[1];
  if (kind == PairKind::vertex_face) {
    const mesh::Triangle& face = mesh.triangles()[second];
    return {pair[0], face[0], face[1], face[2]};
  }
  const auto& a = mesh.edges()[pair[0]];
  const auto& b = mesh.edges()[second];
  return {a[0], a[1], b[0], b[1]};
}

void ContactPaths::set(std::span<const mesh::Point> start, std::span<const mesh::Point> end) {
  const auto n = static_cast<std::size_t>(nodes_->nodes());
  require(start.size() == n && end.size() == n, "there must be positions of ", n, " nodes at the start and the end, not ",
          start.size(), " and ", end.size());
  mesh::require_finite(start, "the positions at the start");
  mesh::require_finite(end, "the positions at the end");
  start_.assign(start.begin(), start.end());
  end_.assign(end.begin(), end.end());
  displacement_.resize(n);
  parallel_for(0, static_cast<Index>(n), candidate_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) displacement_[i] = end_[i] - start_[i];
  });
  vertex_start_.resize(nodes_->vertices());
  vertex_end_.resize(vertex_start_.size());
  nodes_->at_vertices(start_, vertex_start_);
  nodes_->at_vertices(end_, vertex_end_);
  marks_.assign(vertex_start_.size(), 0);
  all_ = true;
}

void ContactPaths::move(std::span<const std::int32_t> moved) {
  // What moves one node of a body with few coordinates moves all of them.
  const auto for_each = [&](auto&& visit) {
    for (const std::int32_t node : moved)
      if (const CoupledNodes* const body = nodes_->led_by(node))
        for (std::int32_t i = body->first; i < body->first + body->count; ++i) visit(i);
      else
        visit(node);
  };
  for_each([&](std::int32_t node) {
    const Index i = node;
    end_[i] = start_[i] + displacement_[i];
  });
  for_each([&](std::int32_t node) {
    for (const std::int32_t v : nodes_->vertices_of(node)) {
      vertex_end_[v] = nodes_->at_vertex(v, end_);
      marks_[v] = 1;
    }
  });
}

bool ContactPaths::within(std::span<const std::int32_t> moved, double most) const {
  return std::ranges::all_of(moved, [&](std::int32_t node) {
    const mesh::Point& u = displacement_[node];
    return std::abs(u.x()) <= most && std::abs(u.y()) <= most && std::abs(u.z()) <= most;
  });
}

void ContactPaths::cut(double fraction) {
  parallel_for(0, static_cast<Index>(start_.size()), candidate_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      displacement_[i] *= fraction;
      end_[i] = start_[i] + displacement_[i];
    }
  });
  nodes_->at_vertices(end_, vertex_end_);
  all_ = true;
}

bool ContactPaths::counts(PairKind kind, const ElementPair& pair, const Stencil& vertices,
                          const DeactivatedPairs& deactivated) const {
  const auto any = [&](auto&& of) { return std::ranges::any_of(vertices, of); };
  return any([&](std::int32_t v) { return nodes_->counts(v); }) && any([&](std::int32_t v) { return nodes_->yields(v); }) &&
         (deactivated.empty() || !deactivated.contains(kind, pair));
}

std::array<std::vector<ElementPair>, 2> ContactPaths::touching(const DeactivatedPairs& deactivated) {
  std::array<std::vector<ElementPair>, 2> result;
  const CollisionPairs pairs = mesh_->collisions({vertex_start_, vertex_start_}, ContactMode::any, {});
  for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge}) {
    const bool face = kind == PairKind::vertex_face;
    const Block<ElementPair>& found = face ? pairs.vertex_face : pairs.edge_edge;
    for (Index i = 0; i < found.size(); ++i)
      if (counts(kind, found[i], stencil_of(*mesh_, kind, found[i]), deactivated)) result[face ? 0 : 1].push_back(found[i]);
  }
  return result;
}

void ContactPaths::append(PairKind kind, const Block<ElementPair>& pairs, const DeactivatedPairs& deactivated) {
  const std::size_t before = found_.size();
  for (Index i = 0; i < pairs.size(); ++i) {
    const ElementPair& pair = pairs[i];
    const Stencil vertices = stencil_of(*mesh_, kind, pair);
    if (!counts(kind, pair, vertices, deactivated)) continue;
    PathContact contact{};
    contact.kind = kind;
    contact.pair = pair;
    contact.vertices = vertices;
    found_.push_back(contact);
  }
  parallel_for(static_cast<Index>(before), static_cast<Index>(found_.size()), 64, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index i = b; i < e; ++i) {
      const PathContact& c = found_[i];
      found_[i] = path_contact(c.kind, c.pair, c.vertices, vertex_start_, vertex_end_);
    }
  });
}

std::span<const PathContact> ContactPaths::detect(const DeactivatedPairs& deactivated) {
  found_.clear();
  DetectionOptions options;
  if (!all_) options.changed = marks_;
  const CollisionPairs pairs = mesh_->collisions({vertex_start_, vertex_end_}, ContactMode::any, options);
  append(PairKind::vertex_face, pairs.vertex_face, deactivated);
  append(PairKind::edge_edge, pairs.edge_edge, deactivated);
  std::ranges::fill(marks_, std::uint8_t{0});
  all_ = false;
  return found_;
}

Index ContactPaths::nbytes() const {
  return static_cast<Index>(
      (start_.capacity() + end_.capacity() + displacement_.capacity() + vertex_start_.capacity() + vertex_end_.capacity()) *
          sizeof(mesh::Point) +
      marks_.capacity() + found_.capacity() * sizeof(PathContact));
}

}  // namespace meniscus::collision
