#include "meniscus/surface/meshing/boundary_deviation.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

constexpr std::array<std::array<double, 3>, 12> sample_weights{{{0.5, 0.5, 0.0},
                                                                {0.0, 0.5, 0.5},
                                                                {0.5, 0.0, 0.5},
                                                                {0.5, 0.25, 0.25},
                                                                {0.25, 0.5, 0.25},
                                                                {0.25, 0.25, 0.5},
                                                                {0.75, 0.25, 0.0},
                                                                {0.25, 0.75, 0.0},
                                                                {0.0, 0.75, 0.25},
                                                                {0.0, 0.25, 0.75},
                                                                {0.25, 0.0, 0.75},
                                                                {0.75, 0.0, 0.25}}};

/// Calls visit(point, whether it is a corner) for points of a triangle that are at most `spacing` apart.
template <class Visit>
void each_sample(const mesh::TriangleMeshView& mesh, Index t, double spacing, Visit&& visit) {
  const mesh::Point& a = mesh.corner(t, 0);
  const mesh::Point& b = mesh.corner(t, 1);
  const mesh::Point& c = mesh.corner(t, 2);
  const double longest = std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
  const int n = static_cast<int>(std::clamp(std::ceil(longest / spacing), 1.0, 1000.0));
  for (int i = 0; i <= n; ++i)
    for (int k = 0; i + k <= n; ++k)
      visit(a + (static_cast<double>(i) / n) * (b - a) + (static_cast<double>(k) / n) * (c - a), i == n || k == n || i + k == 0);
}

}  // namespace

mesh::Point BoundaryDeviation::projected(const mesh::Point& x) const {
  const collision::MeshPoint q = surface_.closest(x, hint_);
  hint_ = q.slot;
  return q.position;
}

void BoundaryDeviation::raise(Deviation& worst, const mesh::Point& sample) const {
  // Most samples are within: to know this takes less than to know the distance.
  if (collision::within_distance(surface_.tree(), sample, std::max(tolerance_, worst.distance), hint_)) return;
  const collision::MeshPoint q = surface_.closest(sample, hint_);
  hint_ = q.slot;
  worst.distance = std::sqrt(q.squared_distance);
  worst.sample = sample;
}

Deviation BoundaryDeviation::of_face(const mesh::Triangle& face) const {
  Deviation worst;
  const mesh::Point& a = mesh_.position(face[0]);
  const mesh::Point& b = mesh_.position(face[1]);
  const mesh::Point& c = mesh_.position(face[2]);
  for (const auto& w : sample_weights) raise(worst, w[0] * a + w[1] * b + w[2] * c);
  return worst;
}

Deviation BoundaryDeviation::of_face(const mesh::Triangle& face, double spacing) const {
  Deviation worst;
  const std::array<mesh::Point, 3> corners{mesh_.position(face[0]), mesh_.position(face[1]), mesh_.position(face[2])};
  constexpr std::array<mesh::Triangle, 1> alone{{{0, 1, 2}}};
  each_sample({corners, alone}, 0, spacing, [&](const mesh::Point& p, bool) { raise(worst, p); });
  return worst;
}

Deviation BoundaryDeviation::of_edge(std::int32_t a, std::int32_t b) const {
  Deviation worst;
  for (const double t : {0.5, 0.25, 0.75}) raise(worst, (1 - t) * mesh_.position(a) + t * mesh_.position(b));
  return worst;
}

double BoundaryDeviation::of_faces(std::span<const mesh::Triangle> faces) const {
  double worst = 0;
  for (const mesh::Triangle& f : faces) worst = std::max(worst, of_face(f).distance);
  return worst;
}

bool BoundaryDeviation::within(std::span<const mesh::Triangle> faces, double limit) const {
  for (const mesh::Triangle& f : faces) {
    const mesh::Point& a = mesh_.position(f[0]);
    const mesh::Point& b = mesh_.position(f[1]);
    const mesh::Point& c = mesh_.position(f[2]);
    for (const auto& w : sample_weights)
      if (!collision::within_distance(surface_.tree(), w[0] * a + w[1] * b + w[2] * c, limit, hint_)) return false;
  }
  return true;
}

bool BoundaryDeviation::within_around(std::int32_t v, std::span<const mesh::Triangle> faces, double limit) const {
  for (const mesh::Triangle& f : faces) {
    const std::size_t k = f[0] == v ? 0 : f[1] == v ? 1 : 2;
    const mesh::Point& a = mesh_.position(v);
    const mesh::Point& b = mesh_.position(f[(k + 1) % 3]);
    const mesh::Point& c = mesh_.position(f[(k + 2) % 3]);
    // The edge to the third corner is that to the second one of the next face around the vertex.
    for (const auto& w : sample_weights)
      if (w[0] > 0 && w[1] > 0 && !collision::within_distance(surface_.tree(), w[0] * a + w[1] * b + w[2] * c, limit, hint_))
        return false;
  }
  return true;
}

Excess BoundaryDeviation::excess(std::span<const mesh::Triangle> faces) const {
  Excess result;
  for (const mesh::Triangle& f : faces) result.add(std::max(0.0, of_face(f).distance - tolerance_));
  return result;
}

Excess BoundaryDeviation::excess_near(std::int32_t start, const mesh::Point& x, double radius) const {
  std::vector<std::int32_t> near{start}, around;
  std::vector<mesh::Triangle> faces, all;
  std::vector<std::int32_t> seen{start};
  for (std::size_t i = 0; i < near.size(); ++i) {
    mesh_.boundary_faces_at(near[i], faces);
    all.insert(all.end(), faces.begin(), faces.end());
    mesh_.neighbours(near[i], around);
    for (const std::int32_t v : around) {
      if (!mesh_.on_boundary(v) || (mesh_.position(v) - x).norm() > radius) continue;
      const auto place = std::lower_bound(seen.begin(), seen.end(), v);
      if (place != seen.end() && *place == v) continue;
      seen.insert(place, v);
      near.push_back(v);
    }
  }
  for (mesh::Triangle& f : all) std::rotate(f.begin(), std::min_element(f.begin(), f.end()), f.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return excess(all);
}

PointFilter boundary_filter(const MeshDistance& surface, double cell) {
  if (!surface.overlaps()) return {};
  return [&surface, reach = 0.01 * cell](const mesh::Point& p) { return surface.separates(p, reach); };
}

std::vector<mesh::Point> triangle_samples(const mesh::TriangleMeshView& mesh, double spacing) {
  std::vector<mesh::Point> result(mesh.vertices.begin(), mesh.vertices.end());
  for (Index t = 0; t < mesh.size(); ++t)
    each_sample(mesh, t, spacing, [&](const mesh::Point& p, bool corner) {
      if (!corner) result.push_back(p);
    });
  return result;
}

Deviation largest_deviation(const mesh::TriangleMeshView& mesh, const mesh::TriangleTree& surface, double spacing, double least,
                            const PointFilter& counts) {
  return parallel_reduce(
      0, mesh.size(), 64, Deviation{},
      [&](Index begin, Index end) {
        Deviation worst;
        std::int32_t slot = 0;
        for (Index t = begin; t < end; ++t)
          each_sample(mesh, t, spacing, [&](const mesh::Point& p, bool) {
            if (collision::within_distance(surface, p, std::max(least, worst.distance), slot)) return;
            if (counts && !counts(p)) return;
            const collision::MeshPoint q = collision::closest_point(surface, p, slot);
            slot = q.slot;
            worst = {std::sqrt(q.squared_distance), p};
          });
        return worst;
      },
      [](const Deviation& a, const Deviation& b) { return b.distance > a.distance ? b : a; });
}

}  // namespace meniscus::surface
