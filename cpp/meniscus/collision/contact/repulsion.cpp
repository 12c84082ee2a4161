#include "meniscus/collision/contact/repulsion.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meniscus::collision {
namespace {

constexpr Index node_chunk = 4096;

void require_not_negative(std::span<const double> values, const char* name) {
  for (std::size_t i = 0; i < values.size(); ++i)
    require(std::isfinite(values[i]) && values[i] >= 0, name, " must be finite and not negative, but that of vertex ", i, " is ",
            values[i]);
}

void require_valid(const RepulsionOptions& o) {
  const auto not_negative = [](double x, const char* name) {
    require(std::isfinite(x) && x >= 0, name, " must be finite and not negative, not ", x);
  };
  not_negative(o.stiffness, "stiffness");
  not_negative(o.common_mass, "common_mass");
  not_negative(o.margin, "margin");
  not_negative(o.most_motion, "most_motion");
  require(o.part > 0 && o.part <= 1, "part must be in (0, 1], not ", o.part);
  require(std::isfinite(o.generous) && o.generous >= 1, "generous must be at least 1, not ", o.generous);
  require(std::isfinite(o.flip) && o.flip <= 1, "flip must be at most 1, not ", o.flip);
  require(o.reach >= 0, "reach must not be negative, not ", o.reach);
  require(o.clamp > 0, "clamp must be positive, not ", o.clamp);
}

/// The number of the connected surface of each vertex.
std::vector<std::int32_t> components(const CollisionMesh& mesh, std::size_t vertices) {
  std::vector<std::int32_t> number(vertices);
  numerics::label_components(number, [&](auto&& unite) {
    for (const auto& e : mesh.edges()) unite(e[0], e[1]);
    if (mesh.edges_of_triangles()) return;
    for (const mesh::Triangle& t : mesh.triangles()) {
      unite(t[0], t[1]);
      unite(t[1], t[2]);
    }
  });
  return number;
}

/// Returns whether a mesh has an edge that is in no triangle.
bool has_loose_edges(const CollisionMesh& mesh) {
  if (mesh.edges_of_triangles()) return false;
  using Ends = std::pair<std::int32_t, std::int32_t>;
  std::vector<Ends> sides;
  sides.reserve(3 * mesh.triangles().size());
  for (const mesh::Triangle& t : mesh.triangles())
    for (std::size_t k = 0; k < 3; ++k) sides.emplace_back(std::minmax(t[k], t[(k + 1) % 3]));
  std::sort(sides.begin(), sides.end());
  return std::ranges::any_of(mesh.edges(), [&](const auto& e) {
    return !std::binary_search(sides.begin(), sides.end(), Ends(std::minmax(e[0], e[1])));
  });
}

}  // namespace

Repulsion::Repulsion(const CollisionMesh& mesh, std::span<const mesh::Point> rest, std::span<const double> thickness,
                     std::span<const double> friction, const RepulsionOptions& options)
    : options_(options) {
  require(thickness.size() == rest.size() && friction.size() == rest.size(),
          "there must be a thickness and a friction for each of ", rest.size(), " vertices, not ", thickness.size(), " and ",
          friction.size());
  require_valid(options);
  mesh::require_finite(rest, "rest");
  require_not_negative(thickness, "thickness");
  require_not_negative(friction, "friction");
  for (const auto& e : mesh.edges())
    for (const std::int32_t v : e)
      require(static_cast<std::size_t>(v) < rest.size(), "the mesh has vertex ", v, ", but rest has ", rest.size(), " positions");
  for (const mesh::Triangle& t : mesh.triangles())
    for (const std::int32_t v : t)
      require(static_cast<std::size_t>(v) < rest.size(), "the mesh has vertex ", v, ", but rest has ", rest.size(), " positions");
  surface_.rest.assign(rest.begin(), rest.end());
  surface_.friction.assign(friction.begin(), friction.end());
  surface_.component = components(mesh, rest.size());
  ends_ = has_loose_edges(mesh);
  std::vector<double> shortest(rest.size(), std::numeric_limits<double>::infinity());
  for (const auto& e : mesh.edges()) {
    const double length = (rest[e[0]] - rest[e[1]]).norm();
    for (const std::int32_t v : e) shortest[v] = std::min(shortest[v], length);
  }
  surface_.thickness.resize(rest.size());
  for (std::size_t v = 0; v < rest.size(); ++v) {
    const double most = options.clamp * shortest[v];
    if (thickness[v] > most) ++clamped_;
    surface_.thickness[v] = std::min(thickness[v], most);
  }
  thickest_ = surface_.thickness.empty() ? 0.0 : std::ranges::max(surface_.thickness);
}

void Repulsion::set_bodies(const CollisionMesh& mesh, std::span<const std::int32_t> body_of_vertex,
                           std::span<const std::uint8_t> apart) {
  const std::lock_guard lock(mutex_);
  clear();
  const std::size_t n = surface_.thickness.size();
  require(body_of_vertex.size() == n, "the surface has ", n, " vertices, not ", body_of_vertex.size());
  surface_.body.assign(body_of_vertex.begin(), body_of_vertex.end());
  std::vector<Index> count;
  for (const std::int32_t b : body_of_vertex) {
    if (b < 0) continue;
    if (count.size() <= static_cast<std::size_t>(b)) count.resize(static_cast<std::size_t>(b) + 1, 0);
    ++count[b];
  }
  require(count.size() <= apart.size(), "there must be a flag of each of ", count.size(), " bodies, not ", apart.size());
  surface_.apart.assign(apart.begin(), apart.end());
  greatest_ = count.empty() ? -1 : static_cast<std::int32_t>(std::ranges::max_element(count) - count.begin());
  const Index soft = std::ranges::count_if(body_of_vertex, [](std::int32_t b) { return b < 0; });
  mostly_bodies_ = greatest_ >= 0 && count[greatest_] > soft;
  grid_.set_up(mesh, surface_);
}

void Repulsion::look_for_others() {
  // Soft surfaces have a grid of their own. Pairs with bodies are found by what these have of others, or if one of them is
  // greater than all soft surfaces, by the others, so that its own triangles do not meet each other.
  surface_.yields = yielding_;
  looking_.resize(yielding_.size());
  for (std::size_t v = 0; v < looking_.size(); ++v) {
    const std::int32_t body = surface_.body[v];
    if (mostly_bodies_)
      looking_[v] = body < 0 ? yielding_[v] : static_cast<std::uint8_t>(body != greatest_);
    else
      looking_[v] = body >= 0 && surface_.apart[body] == 0 ? 1 : 0;
  }
}

void Repulsion::forget() {
  const std::lock_guard lock(mutex_);
  clear();
}

RepulsionPairs Repulsion::copy_of_pairs(PairKind kind) const {
  const std::lock_guard lock(mutex_);
  RepulsionPairs copy = pairs(kind);
  for (Stencil& s : copy.places)
    for (std::int32_t& v : s) v = vertices_[v];
  return copy;
}

void Repulsion::clear() {
  for (RepulsionPairs& p : pairs_) p.clear();
  vertices_.clear();
}

void Repulsion::follow(std::span<const mesh::Point> positions, std::span<const mesh::Point> motion) {
  const std::size_t n = positions.size();
  mesh::Point mean = mesh::Point::Zero();
  Index count = 0;
  for (std::size_t v = 0; v < n; ++v)
    if (yielding_[v] != 0) {
      mean += motion[v];
      ++count;
    }
  if (count > 0) mean /= static_cast<double>(count);
  motion_.resize(n);
  middle_.resize(n);
  parallel_for(0, static_cast<Index>(n), node_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      mesh::Point u = motion[v] - mean;
      // What has no thickness of its own may be thrown at what has.
      const bool bare = options_.bare_motion || (!surface_.body.empty() && surface_.body[v] >= 0);
      const double h = bare ? std::max(thickest_, surface_.thickness[v]) : surface_.thickness[v];
      const double most = options_.most_motion * h, length = u.norm();
      if (length > most) u *= most / length;
      motion_[v] = u;
      middle_[v] = positions[v] + 0.5 * u;
      growth_[v] += 0.5 * u.cwiseAbs().maxCoeff();
    }
  });
}

void Repulsion::find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions,
                     std::span<const mesh::Point> motion) {
  const std::lock_guard lock(mutex_);
  clear();
  const std::size_t n = surface_.thickness.size();
  require(positions.size() == n && static_cast<std::size_t>(nodes.vertices()) == n, "the surface has ", n, " vertices, not ",
          positions.size(), ", and the nodes not ", nodes.vertices());
  require(motion.empty() || motion.size() == n, "there must be a motion of each of ", n, " vertices, not ", motion.size());
  mesh::require_finite(motion, "motion");
  yielding_nodes_.resize(nodes.nodes());
  for (std::size_t i = 0; i < yielding_nodes_.size(); ++i) yielding_nodes_[i] = nodes.inverse_masses()[i] > 0 ? 1 : 0;
  yielding_.resize(n);
  growth_.resize(n);
  parallel_for(0, static_cast<Index>(n), node_chunk, [&](Index b, Index e) {
    for (Index v = b; v < e; ++v) {
      yielding_[v] = nodes.counts(static_cast<std::int32_t>(v)) ? 1 : 0;
      growth_[v] = 0.5 * (options_.generous * surface_.thickness[v] + options_.margin);
    }
  });
  const bool bodies = !surface_.body.empty();
  if (bodies) {
    look_for_others();
    resting_ = growth_;
  }
  const std::vector<std::uint8_t>& looking = bodies ? looking_ : yielding_;
  const bool all = std::ranges::find(looking, 0) == looking.end();
  if (!motion.empty()) {
    mesh::require_finite(positions, "positions");
    follow(positions, motion);
  }
  const std::span<const mesh::Point> along = motion.empty() ? std::span<const mesh::Point>() : motion_;
  const std::span<const mesh::Point> places = motion.empty() ? positions : std::span<const mesh::Point>(middle_);
  std::array<Index, 2> chunks{};
  const auto begin = [&](PairKind kind, Index count) {
    chunks[kind == PairKind::vertex_face ? 0 : 1] = count;
    finder_.begin(kind, bodies ? count + grid_.chunks(kind) : count);
  };
  if (!bodies || std::ranges::find(looking, 1) != looking.end()) {
    mesh.for_each_near(places, growth_, all ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(looking), begin,
                       [&](PairKind kind, const PairBlock& block) {
                         if (bodies)
                           finder_.add_with_bodies(kind, block, surface_, options_, positions, along);
                         else
                           finder_.add(kind, block, surface_, options_, positions, along);
                       });
  } else {
    mesh::require_finite(positions, "positions");
    for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge}) begin(kind, 0);
  }
  if (bodies && !grid_.empty()) {
    grid_.fill(places, resting_, along, options_.soft_edges);
    for (const PairKind kind : {PairKind::vertex_face, PairKind::edge_edge})
      if (kind == PairKind::vertex_face || options_.soft_edges)
        grid_.for_each_near(kind, chunks[kind == PairKind::vertex_face ? 0 : 1],
                            [&](const PairBlock& block) { finder_.add(kind, block, surface_, options_, positions, along); });
  }
  const std::array<Index, 2> seconds{static_cast<Index>(mesh.triangles().size()), static_cast<Index>(mesh.edges().size())};
  try {
    finder_.collect(nodes, seconds, pairs_);
    number_vertices(n);
  } catch (...) {
    clear();
    throw;
  }
}

void Repulsion::number_vertices(std::size_t vertices) {
  place_.assign(vertices, 0);
  for (const RepulsionPairs& p : pairs_)
    for (const Stencil& s : p.places)
      for (const std::int32_t v : s) place_[v] = 1;
  for (std::size_t v = 0; v < vertices; ++v)
    if (place_[v] != 0) {
      place_[v] = static_cast<std::int32_t>(vertices_.size());
      vertices_.push_back(static_cast<std::int32_t>(v));
    }
  for (RepulsionPairs& p : pairs_)
    parallel_for(0, p.size(), node_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i)
        for (std::int32_t& v : p.places[i]) v = place_[v];
    });
}

void Repulsion::require_matching(const ContactNodes& nodes, std::span<const mesh::Point> positions) const {
  const std::size_t n = surface_.thickness.size();
  require(positions.size() == n && static_cast<std::size_t>(nodes.vertices()) == n, "the surface has ", n, " vertices, not ",
          positions.size(), ", and the nodes not ", nodes.vertices());
  if (size() == 0) return;
  require(static_cast<std::size_t>(nodes.nodes()) == yielding_nodes_.size(), "the pairs were found with ", yielding_nodes_.size(),
          " nodes, not ", nodes.nodes());
  for (std::size_t i = 0; i < yielding_nodes_.size(); ++i)
    require(yielding_nodes_[i] != 0 || nodes.inverse_masses()[i] == 0, "node ", i,
            " yields, but did not when the pairs were found");
}

Index Repulsion::nbytes() const {
  const std::lock_guard lock(mutex_);
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  return surface_.nbytes() + pairs_[0].nbytes() + pairs_[1].nbytes() + bytes(vertices_) + bytes(place_) + bytes(yielding_nodes_) +
         bytes(yielding_) + bytes(looking_) + bytes(resting_) + grid_.nbytes() + bytes(growth_) + bytes(motion_) +
         bytes(middle_) + finder_.nbytes() + bytes(moved_) + bytes(supports_) + bytes(shares_) +
         packed_.size() * static_cast<Index>(sizeof(PackedVertex));
}

}  // namespace meniscus::collision
