#include "meniscus/collision/contact/limited_motion.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::collision {

void limit_motion(CollisionMesh& mesh, std::span<const mesh::Point> start, std::span<const StillMesh> still,
                  std::span<mesh::Point> end, std::span<double> part) {
  require(start.size() == end.size() && part.size() == end.size(), "start and end must have equally many positions");
  const std::vector<mesh::Point> wanted(end.begin(), end.end());
  std::vector<int> halved(end.size(), 0);
  std::vector<std::uint8_t> touching(end.size(), 0), changed(end.size(), 0);
  for (std::size_t v = 0; v < end.size(); ++v) changed[v] = static_cast<std::uint8_t>(start[v] != end[v]);
  std::fill(part.begin(), part.end(), 1.0);
  for (;;) {
    std::fill(touching.begin(), touching.end(), std::uint8_t{0});
    const auto mark_vertex = [&](std::int32_t v) { touching[v] = 1; };
    const auto mark_edge = [&](std::int32_t e) {
      for (const std::int32_t v : mesh.edges()[e]) touching[v] = 1;
    };
    const auto mark_face = [&](std::int32_t f) {
      for (const std::int32_t v : mesh.triangles()[f]) touching[v] = 1;
    };
    const Motion motion{start, end};
    bool any = false;
    const CollisionPairs own = mesh.collisions(motion, ContactMode::any, {changed, false});
    for (const auto& [v, f] : own.vertex_face) mark_vertex(v), mark_face(f), any = true;
    for (const auto& [e, f] : own.edge_edge) mark_edge(e), mark_edge(f), any = true;
    for (const StillMesh& other : still) {
      const MutualPairs met =
          mesh.collisions_with(*other.mesh, {motion, {other.positions, other.positions}}, ContactMode::any, {{}, {}, false});
      for (const auto& pair : met.vertex_face) mark_vertex(pair[0]), any = true;
      for (const auto& pair : met.face_vertex) mark_face(pair[0]), any = true;
      for (const auto& pair : met.edge_edge) mark_edge(pair[0]), any = true;
    }
    if (!any) return;
    bool slower = false;
    changed.assign(end.size(), 0);
    for (std::size_t v = 0; v < end.size(); ++v) {
      if (touching[v] == 0 || halved[v] > most_halvings) continue;
      slower = true;
      changed[v] = 1;
      ++halved[v];
      part[v] = halved[v] > most_halvings ? 0 : std::ldexp(1.0, -halved[v]);
      end[v] = start[v] + part[v] * (wanted[v] - start[v]);
    }
    if (!slower) {
      const auto first = std::find(touching.begin(), touching.end(), std::uint8_t{1}) - touching.begin();
      require(false, "elements must not touch at the start, but those of vertex ", static_cast<Index>(first), " do");
    }
  }
}

}  // namespace meniscus::collision
