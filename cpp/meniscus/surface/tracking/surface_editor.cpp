#include "meniscus/surface/tracking/surface_editor.hpp"

#include "meniscus/surface/tracking/vertex_quadric.hpp"

#include <cmath>

namespace meniscus::surface {

using mesh::Point;
using mesh::Triangle;

Point vertex_normal(const mesh::DynamicSurface& surface, std::int32_t v) {
  Point sum = Point::Zero();
  for (const std::int32_t t : surface.star(v)) sum += surface.area_vector(t);
  const double size = sum.norm();
  return size > 0 ? Point(sum / size) : Point::Zero();
}

bool on_crease(const mesh::DynamicSurface& s, std::int32_t v) {
  // Normals of one plane differ by at most 10 degrees, those of different planes by at least 25.
  constexpr double same = 0.985, other = 0.906;
  std::array<Point, 3> planes;
  std::size_t found = 0;
  for (const std::int32_t t : s.star(v)) {
    const Point n = s.area_vector(t).normalized();
    bool known = false;
    for (std::size_t k = 0; k < found; ++k) {
      const double along = n.dot(planes[k]);
      if (along >= same)
        known = true;
      else if (along > other)
        return false;
    }
    if (known) continue;
    if (found == planes.size()) return false;
    planes[found++] = n;
  }
  return found > 1;
}

int vertex_rank(const mesh::DynamicSurface& surface, std::int32_t v, double ridge) {
  Eigen::Matrix3d quadric = Eigen::Matrix3d::Zero();
  for (const std::int32_t t : surface.star(v)) add_to_quadric(surface.area_vector(t), quadric);
  return split_quadric(quadric).rank(ridge);
}

TriangleAngles angles_of(const Point& a, const Point& b, const Point& c) {
  const double ab = (b - a).squaredNorm(), bc = (c - b).squaredNorm(), ca = (a - c).squaredNorm();
  const double twice_area = mesh::area_vector(a, b, c).norm();
  const double least = std::min({ab, bc, ca}), largest = std::max({ab, bc, ca});
  const double other = ab + bc + ca - least - largest;
  if (!(twice_area > 0) || !(least > 0)) return {0, -1};
  return {twice_area / std::sqrt(largest * other), (least + other - largest) / (2 * std::sqrt(least * other))};
}

void SurfaceEditor::assign(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, const Obstacles& obstacles,
                           const TrackingOptions& options, const Observer& observer) {
  options_ = options;
  observer_ = &observer;
  volume_ = options.volume_change * options.edge_length * options.edge_length * options.edge_length;
  fixed_.assign(fixed.begin(), fixed.end());
  mesh.assign(surface);
  guard_.watch(mesh, obstacles);
  events_.begin(mesh);
  counts = {};
}

double SurfaceEditor::scale(std::int32_t a, std::int32_t b) const {
  if (options_.curvature == 0) return 1;
  return std::min(scale_at(a), scale_at(b));
}

double SurfaceEditor::scale_at(std::int32_t v) const {
  // Creases stay sharp, however fine the mesh is.
  if (on_crease(mesh, v)) return 1;
  const Point normal = vertex_normal(mesh, v);
  double radius = std::numeric_limits<double>::infinity();
  for (const std::int32_t t : mesh.star(v)) {
    const std::int32_t w = mesh.link(t, v)[0];
    const double turn = (normal - vertex_normal(mesh, w)).norm();
    if (turn > 0 && !on_crease(mesh, w)) radius = std::min(radius, length(v, w) / turn);
  }
  return std::clamp(options_.curvature * radius / options_.edge_length, options_.finest, 1.0);
}

void SurfaceEditor::begin() {
  mesh.keep();
  transfers.clear();
  swept_.clear();
  part_count_ = 0;
}

std::int32_t SurfaceEditor::replace(std::int32_t t, const Triangle& corners) {
  mesh.remove_triangle(t);
  const std::int32_t fresh = mesh.add_triangle(corners);
  transfers.replace_triangle(t, fresh);
  return fresh;
}

void SurfaceEditor::sweep(std::int32_t t, const Point& to, std::int32_t own) {
  const Triangle& c = mesh.triangle(t);
  swept_.push_back({mesh.position(c[0]), mesh.position(c[1]), mesh.position(c[2]), to, {c[0], c[1], c[2], own, -2, -2, -2, -2}});
}

void SurfaceEditor::end_part(mesh::EventKind kind) {
  if (parts_.size() == part_count_) parts_.emplace_back();
  Part& part = parts_[part_count_++];
  part.kind = kind;
  part.end = mesh.mark();
  std::swap(part.transfers, transfers);
  transfers.clear();
}

double SurfaceEditor::swept_volume() const {
  double sum = 0;
  for (const SweptTet& t : swept_) sum += t.volume();
  return sum;
}

Refusal SurfaceEditor::refuse(Refusal reason) {
  mesh.undo(0);
  return reason;
}

bool SurfaceEditor::turns_inside_out() {
  // Where all vertices of a part belong to the operation, nothing of it is left that could be found in what is swept.
  if (changed_.empty() || !find_small_part(mesh, changed_.front(), 0, part_)) return false;
  return part_.volume * (part_.volume - swept_volume()) < 0;
}

Refusal SurfaceEditor::commit(mesh::EventKind kind, std::span<const std::int32_t> vertices, double most_volume) {
  if (std::abs(swept_volume()) > most_volume) return refuse(Refusal::volume);
  mesh.changed(0, changed_);
  if (options_.safety) {
    if (!guard_.apart(changed_)) return refuse(Refusal::intersection);
    if (!guard_.nothing_within(swept_, changed_) || turns_inside_out()) return refuse(Refusal::enclosed);
  }
  if (*observer_ && !(*observer_)(kind, vertices)) return refuse(Refusal::veto);
  gone_.clear();
  const auto& journal = mesh.journal();
  for (std::size_t i = 0; i < journal.size(); ++i) {
    if (journal[i].change == mesh::Change::removed_element) gone_.push_back(journal[i].which);
    if (journal[i].change == mesh::Change::new_vertex) fixed_.resize(mesh.vertices(), 0);
  }
  guard_.follow(gone_, changed_);
  std::size_t from = 0;
  for (std::size_t i = 0; i < part_count_; ++i) {
    events_.add(parts_[i].kind, mesh, from, parts_[i].end, parts_[i].transfers);
    from = parts_[i].end;
  }
  mesh.keep();
  return Refusal::none;
}

void SurfaceEditor::finish(std::vector<Point>& vertices, std::vector<Triangle>& triangles, std::vector<std::uint8_t>& fixed) {
  events_.finish(mesh);
  std::vector<std::int32_t> number(mesh.vertices(), -1);
  vertices.clear();
  fixed.clear();
  for (const std::int32_t v : events_.vertices) {
    number[v] = static_cast<std::int32_t>(vertices.size());
    vertices.push_back(mesh.position(v));
    fixed.push_back(static_cast<std::uint8_t>(this->fixed(v)));
  }
  triangles.clear();
  for (const std::int32_t t : events_.triangles) {
    const Triangle& c = mesh.triangle(t);
    triangles.push_back({number[c[0]], number[c[1]], number[c[2]]});
  }
}

}  // namespace meniscus::surface
