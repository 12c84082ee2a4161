#include "meniscus/fluids/tet_vof/transport/mesh_walls.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::fluids {

mesh::Point held_by_wall(const mesh::Point& velocity, const mesh::Tet& tet, std::size_t face, std::span<const mesh::Point> before,
                         std::span<const mesh::Point> after, double dt) {
  const auto x = [&](std::size_t k) -> const mesh::Point& { return after[tet[k]]; };
  const auto& f = mesh::tet_faces[face];
  mesh::Point normal = (x(f[1]) - x(f[0])).cross(x(f[2]) - x(f[0]));
  const double area = normal.norm();
  if (!(area > 0)) return mesh::Point::Zero();
  normal *= ((x(f[0]) - x(face)).dot(normal) < 0 ? -1 : 1) / area;
  mesh::Point moved = mesh::Point::Zero();
  for (const std::size_t k : f) moved += (x(k) - before[tet[k]]) / 3;
  const double through = (velocity - moved / dt).dot(normal);
  return through > 0 ? mesh::Point(-through * normal) : mesh::Point(mesh::Point::Zero());
}

mesh::Point hold_at_walls(const TetWater& water, const TetGraph& graph, std::span<const mesh::Point> before,
                          std::span<const mesh::Point> after, double dt) {
  return parallel_reduce(
      0, graph.size(), 1 << 12, mesh::Point(mesh::Point::Zero()),
      [&](Index b, Index e) {
        mesh::Point sum = mesh::Point::Zero();
        for (Index i = b; i < e; ++i) {
          const Index at = i;
          const auto t = static_cast<std::int32_t>(i);
          if (!(water.volume[at] > 0) || !graph.at_boundary(t)) continue;
          for (std::size_t face = 0; face < 4; ++face) {
            if (graph.neighbours(t)[face] >= 0) continue;
            const mesh::Point change = held_by_wall(water.velocity[at], graph.tet(t), face, before, after, dt);
            water.velocity[at] += change;
            sum += water.volume[at] * change;
          }
        }
        return sum;
      },
      [](const mesh::Point& a, const mesh::Point& b) { return mesh::Point(a + b); });
}

}  // namespace meniscus::fluids
