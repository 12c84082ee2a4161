#include "meniscus/collision/ray_casting/hit_columns.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::collision {
namespace {

void store(const ThickSurface& surface, const WedgeHit& hit, std::span<const mesh::Point> velocities, std::size_t i,
           const HitColumns& out) {
  const mesh::Point velocity = velocities.empty() ? mesh::Point(mesh::Point::Zero()) : surface.velocity(hit, velocities);
  out.visibility[i] = static_cast<std::int8_t>(hit.visibility);
  out.triangle[i] = hit.triangle;
  out.body[i] = hit.body;
  out.fraction[i] = hit.fraction;
  std::copy_n(hit.barycentric.data(), 3, out.barycentric + 3 * i);
  std::copy_n(hit.position.data(), 3, out.position + 3 * i);
  std::copy_n(velocity.data(), 3, out.velocity + 3 * i);
}

/// Calls body(i) for i < n, in parallel.
template <class Body>
void for_each_row(std::size_t n, Body&& body) {
  parallel_for(0, static_cast<Index>(n), 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) body(i);
  });
}

}  // namespace

void store_hits(const ThickSurface& surface, std::span<const WedgeHit> hits, std::span<const mesh::Point> velocities,
                const HitColumns& out) {
  for_each_row(hits.size(), [&](std::size_t i) { store(surface, hits[i], velocities, i, out); });
}

void store_blocked_faces(const ThickSurface& surface, std::span<const BlockedFace> faces, std::span<const mesh::Point> velocities,
                         std::int32_t* axis, Index* index, const HitColumns& out) {
  for_each_row(faces.size(), [&](std::size_t i) {
    axis[i] = faces[i].axis;
    std::copy_n(faces[i].face.data(), 3, index + 3 * i);
    store(surface, faces[i].hit, velocities, i, out);
  });
}

}  // namespace meniscus::collision
