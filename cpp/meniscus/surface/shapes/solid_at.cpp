#include "meniscus/surface/shapes/solid_at.hpp"

#include "meniscus/core/parallel.hpp"

#include <vector>

namespace meniscus::surface {

void RigidSolidAt::ask(std::span<const mesh::Point> points, const SolidAnswers& answers) const {
  if (points.empty()) return;
  mesh::require_finite(points, "points");
  const auto n = static_cast<Index>(points.size());
  const auto each = [&](auto&& f) {
    parallel_for(0, n, shape_batch, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) f(i);
    });
  };
  if (!answers.distances.empty() || !answers.normals.empty()) {
    std::vector<mesh::Point> body(points.size());
    each([&](std::size_t i) { body[i] = motion_.pose.to_body(points[i]); });
    if (!answers.distances.empty()) signed_distance<3>(*shape_, body[0].data(), n, answers.distances.data());
    if (!answers.normals.empty()) {
      normals<3>(*shape_, body[0].data(), n, answers.normals[0].data());
      each([&](std::size_t i) { answers.normals[i] = (motion_.pose.rotation * answers.normals[i]).eval(); });
    }
  }
  if (!answers.velocities.empty())
    each([&](std::size_t i) {
      answers.velocities[i] = motion_.moves ? mesh::Point(motion_.linear + motion_.gradient * (points[i] - motion_.reference))
                                            : mesh::Point(mesh::Point::Zero());
    });
}

}  // namespace meniscus::surface
