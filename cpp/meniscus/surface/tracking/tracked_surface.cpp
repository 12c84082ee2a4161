#include "meniscus/surface/tracking/tracked_surface.hpp"

#include "meniscus/collision/contact/limited_motion.hpp"
#include "meniscus/core/cancellation.hpp"
#include "meniscus/surface/tracking/edge_collapse.hpp"
#include "meniscus/surface/tracking/edge_flip.hpp"
#include "meniscus/surface/tracking/edge_split.hpp"
#include "meniscus/surface/tracking/motions/null_space_smoothing.hpp"
#include "meniscus/surface/tracking/zippering.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {

using mesh::Point;
using mesh::Triangle;

void require_options(const TrackingOptions& o) {
  require(o.edge_length > 0 && std::isfinite(o.edge_length), "edge_length must be positive, not ", o.edge_length);
  require(o.shortest > 0 && o.shortest < o.longest / 2,
          "lengths must leave room: shortest must be positive and less than half of longest, not ", o.shortest, " and ",
          o.longest);
  require(o.volume_change >= 0, "volume_change must not be negative, but is ", o.volume_change);
  require(o.least_angle >= 0 && o.least_angle < 1.04 && o.largest_angle > 1.05 && o.largest_angle <= 3.15,
          "angles must allow an equilateral triangle, not from ", o.least_angle, " to ", o.largest_angle, " rad");
  require(o.curvature >= 0 && o.finest > 0 && o.finest <= 1, "curvature must not be negative, and finest must be within 0 and 1");
  require(o.proximity >= 0 && o.merge_distance >= 0, "proximity and merge_distance must not be negative");
  require(o.merge == MergeGaps::none || !o.topology || o.merge_distance > o.proximity,
          "merge_distance must exceed proximity, the distance at which parts repel each other, but is ", o.merge_distance,
          " with ", o.proximity);
  require(o.ridge > 0 && o.ridge < 1, "ridge must be within 0 and 1, not ", o.ridge);
  require(o.flip_sweeps >= 0, "flip_sweeps must not be negative, but is ", o.flip_sweeps);
}

}  // namespace

TrackedSurface::TrackedSurface(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed,
                               const TrackingOptions& o)
    : options(o) {
  require_options(options);
  set(surface, fixed, true);
}

void TrackedSurface::set(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, bool test) {
  replace(surface, fixed, test);
  contact_.reset();
}

void TrackedSurface::replace(const mesh::TriangleMeshView& surface, std::span<const std::uint8_t> fixed, bool test) {
  require(fixed.empty() || fixed.size() == surface.vertices.size(), "fixed must have one flag per vertex, ",
          surface.vertices.size(), ", not ", fixed.size());
  mesh::require_measurable(surface.vertices, "vertices");
  if (!surface.triangles.empty()) mesh::require_valid(surface);
  if (test) require_sound(surface);
  std::vector<std::uint8_t> flags(surface.vertices.size(), 0);
  std::copy(fixed.begin(), fixed.end(), flags.begin());
  // Views of the arrays before keep these.
  Block<double> vertices(3 * static_cast<Index>(surface.vertices.size()));
  Block<Triangle> triangles(surface.size());
  std::copy_n(reinterpret_cast<const double*>(surface.vertices.data()), vertices.size(), vertices.data());
  std::copy(surface.triangles.begin(), surface.triangles.end(), triangles.begin());
  vertices_ = std::move(vertices);
  triangles_ = std::move(triangles);
  fixed_ = std::move(flags);
  ++generation_;
}

void TrackedSurface::require_sound(const mesh::TriangleMeshView& surface) const {
  mesh::require_valid(surface);
  const mesh::SurfaceDefects d = mesh::find_defects(surface.triangles);
  require(d.repeated_corners == 0, d.repeated_corners, " triangles have a corner twice; mesh.repair removes them");
  require(d.repeated_triangles == 0, d.repeated_triangles,
          " triangles have the corners of another one; mesh.repair removes them");
  require(d.odd_edges == 0, d.odd_edges,
          " edges have three or another odd number of triangles; a surface passes through edges in pairs");
  require(d.unpaired_edges == 0, d.unpaired_edges,
          " edges have triangles of opposed orientation; mesh.repair turns them to one side");
  if (!options.safety) return;
  collision::CollisionMesh all(std::nullopt, surface.triangles);
  const auto met = all.self_intersections(surface.vertices, mesh::DegenerateContact::counts);
  if (met.size() == 0) return;
  const auto& edge = all.edges()[met[0][0]];
  const Triangle& c = surface.triangles[met[0][1]];
  require(false, "the surface intersects itself at ", met.size(), " pairs of edges and triangles, the first of them edge (",
          edge[0], ", ", edge[1], ") and triangle (", c[0], ", ", c[1], ", ", c[2], "); safety=False takes it as it is");
}

void TrackedSurface::add_obstacle(const mesh::TriangleMeshView& obstacle) {
  mesh::require_valid(obstacle);
  Obstacles more = obstacles_;
  const auto first = static_cast<std::int32_t>(more.vertices.size());
  more.vertices.insert(more.vertices.end(), obstacle.vertices.begin(), obstacle.vertices.end());
  for (const Triangle& c : obstacle.triangles) more.triangles.push_back({c[0] + first, c[1] + first, c[2] + first});
  if (options.safety) {
    collision::CollisionMesh own(std::nullopt, triangles()), other(std::nullopt, more.triangles);
    const auto met = own.intersections_with(other, vertices(), more.vertices, mesh::DegenerateContact::counts);
    require(met.edge_face.size() + met.face_edge.size() == 0, "the obstacle meets the surface at ",
            met.edge_face.size() + met.face_edge.size(), " pairs of edges and triangles");
  }
  obstacles_ = std::move(more);
  contact_.reset();
  obstacle_ends_ = obstacles_.vertices;
}

void TrackedSurface::move_obstacles(std::span<const Point> ends) {
  require(ends.size() == obstacles_.vertices.size(), "obstacles have ", obstacles_.vertices.size(), " vertices, not ",
          ends.size());
  mesh::require_finite(ends, "ends of obstacles");
  obstacle_ends_.assign(ends.begin(), ends.end());
}

void TrackedSurface::place_obstacles(std::span<const Point> places) {
  move_obstacles(places);
  obstacles_.vertices = obstacle_ends_;
}

TrackingCounts TrackedSurface::improve(mesh::SurfaceEvents& events) {
  ComponentVolumes before;
  if (options.keep_volume) before = measure_components({vertices(), triangles()});
  editor_.assign({vertices(), triangles()}, fixed_, obstacles_, options, observer);
  if (options.split) split_edges(editor_);
  if (options.flip) flip_edges(editor_);
  if (options.collapse) {
    collapse_edges(editor_);
    remove_residues(editor_);
  }
  if (options.flip && options.collapse) flip_edges(editor_);
  if (options.topology) merge_close_edges(editor_);
  std::vector<Point> x;
  std::vector<Triangle> c;
  std::vector<std::uint8_t> fixed;
  editor_.finish(x, c, fixed);
  TrackingCounts counts = editor_.counts;
  if (editor_.events().size() > 0) contact_.reset();
  try {
    std::vector<Point> to(x);
    if (options.smooth) smooth_positions({x, c}, fixed, options.ridge, to);
    for (std::size_t v = 0; v < x.size(); ++v) counts.smoothed += static_cast<Index>(to[v] != x[v]);
    if (options.keep_volume) restore_volume(before, c, fixed, to);
    counts.limited = approach(c, x, to);
  } catch (...) {
    // It may be that of the new triangles already, which will not be.
    contact_.reset();
    throw;
  }
  take(events, x, c, fixed);
  return counts;
}

void TrackedSurface::take(mesh::SurfaceEvents& events, std::vector<Point>& x, std::span<const Triangle> triangles,
                          std::span<const std::uint8_t> fixed) {
  const NoInterrupts whole;
  events = editor_.events();
  // Views of the arrays before stay what they are.
  if (events.size() > 0)
    replace({x, triangles}, fixed, false);
  else
    std::copy(x.begin(), x.end(), positions().begin());
}

std::vector<Refusal> TrackedSurface::apply(mesh::EventKind kind, std::span<const std::int32_t> rows,
                                           mesh::SurfaceEvents& events) {
  const std::size_t width = kind == mesh::EventKind::merge ? 4 : 2;
  require(kind != mesh::EventKind::pinch, "sheets part where an edge collapses; there is no operation of that kind alone");
  for (const std::int32_t v : rows)
    require(v >= 0 && v < std::ssize(vertices()), "vertex ", v, " does not exist; there are ", vertices().size());
  editor_.assign({vertices(), triangles()}, fixed_, obstacles_, options, observer);
  std::vector<Refusal> ends;
  for (std::size_t i = 0; i + width <= rows.size(); i += width) {
    const std::int32_t a = rows[i], b = rows[i + 1];
    bool there = a != b && editor_.mesh.count_at_edge(a, b) > 0;
    if (width == 4) there = there && rows[i + 2] != rows[i + 3] && editor_.mesh.count_at_edge(rows[i + 2], rows[i + 3]) > 0;
    Refusal end = Refusal::topology;
    if (there && kind == mesh::EventKind::split) end = split_edge(editor_, a, b);
    if (there && kind == mesh::EventKind::flip) end = flip_edge(editor_, a, b, false);
    if (there && kind == mesh::EventKind::collapse) end = collapse_edge(editor_, a, b);
    if (there && kind == mesh::EventKind::merge) end = merge_edges(editor_, {a, b}, {rows[i + 2], rows[i + 3]});
    ends.push_back(end);
  }
  std::vector<Point> x;
  std::vector<Triangle> c;
  std::vector<std::uint8_t> fixed;
  editor_.finish(x, c, fixed);
  contact_.reset();
  take(events, x, c, fixed);
  return ends;
}

Index TrackedSurface::smooth() {
  std::vector<Point> x(vertices().begin(), vertices().end()), to(x);
  smooth_positions({x, triangles()}, fixed_, options.ridge, to);
  Index moved = 0;
  for (std::size_t v = 0; v < x.size(); ++v) moved += static_cast<Index>(to[v] != x[v]);
  approach(triangles(), x, to);
  const NoInterrupts whole;
  std::copy(x.begin(), x.end(), positions().begin());
  return moved;
}

TrackedSurface::Contact& TrackedSurface::contact(std::span<const Triangle> triangles, std::size_t vertices) const {
  if (!contact_) {
    std::vector<Triangle> all(triangles.begin(), triangles.end());
    const auto first = static_cast<std::int32_t>(vertices);
    for (const Triangle& c : obstacles_.triangles) all.push_back({c[0] + first, c[1] + first, c[2] + first});
    contact_.emplace(all);
  }
  return *contact_;
}

Index TrackedSurface::approach(std::span<const Triangle> triangles, std::vector<Point>& x, std::vector<Point>& to) const {
  Index kept_back = 0;
  if (options.safety && x != to) {
    const std::size_t n = x.size();
    for (std::vector<Point>* list : {&x, &to}) list->insert(list->end(), obstacles_.vertices.begin(), obstacles_.vertices.end());
    std::vector<double> part(x.size(), 1.0);
    collision::limit_motion(contact(triangles, n).mesh, x, {}, to, part);
    kept_back = std::count_if(part.begin(), part.end(), [](double p) { return p < 1; });
    to.resize(n);
  }
  std::swap(x, to);
  return kept_back;
}

void TrackedSurface::restore_volume(const ComponentVolumes& before, std::span<const Triangle> triangles,
                                    std::span<const std::uint8_t> fixed, std::span<Point> x) const {
  // What is less is rounding.
  constexpr double least = 1e-13;
  const mesh::SurfaceEvents& events = editor_.events();
  for (const mesh::EventKind kind : events.kinds)
    if (kind == mesh::EventKind::merge || kind == mesh::EventKind::pinch) return;
  const ComponentVolumes now = measure_components({x, triangles});
  if (now.volume.size() != before.volume.size()) return;
  std::vector<double> missing(now.volume.size(), 0.0);
  std::vector<std::uint8_t> known(now.volume.size(), 0);
  // Vertices that were there before tell which part is which.
  for (std::size_t v = 0; v < x.size(); ++v) {
    const std::int32_t slot = events.vertices[v], p = now.part[v];
    if (p < 0 || known[p] != 0 || slot >= std::ssize(before.part)) continue;
    known[p] = 1;
    const std::int32_t q = before.part[slot];
    const double gone = before.volume[q] - now.volume[p];
    if (before.closed[q] != 0 && std::abs(gone) > least * std::abs(now.volume[p])) missing[p] = gone;
  }
  if (std::all_of(missing.begin(), missing.end(), [](double m) { return m == 0; })) return;
  std::vector<Point> ways(x.size());
  offset_components({x, triangles}, now, missing, ways);
  for (std::size_t v = 0; v < x.size(); ++v)
    if (fixed[v] == 0) x[v] += ways[v];
}

void TrackedSurface::repel(Contact& meeting, std::span<const Point> start, const collision::ContactNodes& nodes, double dt,
                           std::span<Point> ends, MotionReport& report) const {
  if (!meeting.repulsion) {
    collision::RepulsionOptions rule;
    rule.elastic = collision::ElasticRule::full_gap;
    rule.generous = 1;
    rule.history = false;
    // The surface has no shape at rest.
    rule.clamp = std::numeric_limits<double>::infinity();
    const std::vector<double> thickness(start.size(), options.proximity * options.edge_length), friction(start.size(), 0.0);
    meeting.repulsion.emplace(meeting.mesh, start, thickness, friction, rule);
  }
  collision::Repulsion& repulsion = *meeting.repulsion;
  repulsion.find(meeting.mesh, nodes, start);
  if (repulsion.size() == 0) return;
  std::vector<Point> before(start.size()), after;
  for (std::size_t v = 0; v < start.size(); ++v) before[v] = (ends[v] - start[v]) / dt;
  after = before;
  repulsion.push(nodes, start, after, dt);
  for (std::size_t v = 0; v < fixed_.size(); ++v)
    if (after[v] != before[v]) {
      ends[v] = start[v] + dt * after[v];
      ++report.repelled;
    }
}

MotionReport TrackedSurface::move(std::span<const Point> ends, double dt) {
  const auto n = vertices().size();
  require(ends.size() == n, "the surface has ", n, " vertices, but ends are ", ends.size());
  require(dt > 0 && std::isfinite(dt), "dt must be positive, not ", dt);
  mesh::require_measurable(ends, "ends");
  MotionReport report;
  std::vector<Point> to(ends.begin(), ends.end());
  for (std::size_t v = 0; v < n; ++v)
    if (fixed_[v] != 0) to[v] = vertices()[v];
  if (options.safety && n > 0) {
    Contact& meeting = contact(triangles(), n);
    std::vector<Point> start(vertices().begin(), vertices().end());
    start.insert(start.end(), obstacles_.vertices.begin(), obstacles_.vertices.end());
    to.insert(to.end(), obstacle_ends_.begin(), obstacle_ends_.end());
    std::vector<double> inverse_masses(start.size(), 0.0);
    for (std::size_t v = 0; v < n; ++v) inverse_masses[v] = fixed_[v] != 0 ? 0.0 : 1.0;
    const collision::ContactNodes nodes(inverse_masses);
    if (options.proximity > 0) repel(meeting, start, nodes, dt, to, report);
    collision::ContactResolver resolver(meeting.mesh, nodes);
    collision::ResolveOptions rules;
    rules.impulse_passes = 3;
    const std::vector<Point> pushed = to;
    report.contacts = resolver.resolve(start, to, {}, rules);
    report.fraction = report.contacts.fraction;
    report.zone_vertices = report.contacts.zones.nodes;
    const auto found = resolver.paths().end();
    if (report.contacts.end == collision::ResolveEnd::pinched) {
      report.pinched = true;
      report.fraction = 0;
    } else {
      std::copy(found.begin(), found.end(), to.begin());
      for (std::size_t v = 0; v < n; ++v) report.pushed += static_cast<Index>(to[v] != pushed[v]);
    }
  }
  const NoInterrupts whole;
  if (report.pinched) return report;
  std::copy_n(to.begin(), n, positions().begin());
  if (to.size() > n) {
    // Where the step was cut, obstacles are on their way, too.
    std::copy(to.begin() + static_cast<std::ptrdiff_t>(n), to.end(), obstacles_.vertices.begin());
  } else {
    obstacles_.vertices = obstacle_ends_;
  }
  return report;
}

Index TrackedSurface::intersections() const {
  if (triangles().empty()) return 0;
  collision::CollisionMesh own(std::nullopt, triangles());
  Index found = own.self_intersections(vertices(), mesh::DegenerateContact::counts).size();
  if (!obstacles_.triangles.empty()) {
    collision::CollisionMesh other(std::nullopt, obstacles_.triangles);
    const auto met = own.intersections_with(other, vertices(), obstacles_.vertices, mesh::DegenerateContact::counts);
    found += met.edge_face.size() + met.face_edge.size();
  }
  return found;
}

Index TrackedSurface::nbytes() const {
  Index bytes = vertices_.size() * static_cast<Index>(sizeof(double)) + triangles_.size() * static_cast<Index>(sizeof(Triangle)) +
                static_cast<Index>(fixed_.capacity()) + editor_.nbytes();
  bytes += static_cast<Index>((obstacles_.vertices.capacity() + obstacle_ends_.capacity()) * sizeof(Point) +
                              obstacles_.triangles.capacity() * sizeof(Triangle));
  if (contact_) bytes += contact_->mesh.nbytes() + (contact_->repulsion ? contact_->repulsion->nbytes() : 0);
  return bytes;
}

double TrackedSurface::volume() const {
  if (triangles().empty()) return 0;
  const Point& origin = vertices()[0];
  return parallel_reduce(
      0, static_cast<Index>(triangles().size()), 4096, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index t = begin; t < end; ++t) {
          const Triangle& c = triangles()[t];
          sum += (vertices()[c[0]] - origin).dot((vertices()[c[1]] - origin).cross(vertices()[c[2]] - origin)) / 6;
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

double TrackedSurface::area() const {
  return parallel_reduce(
      0, static_cast<Index>(triangles().size()), 4096, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index t = begin; t < end; ++t) {
          const Triangle& c = triangles()[t];
          sum += mesh::area_vector(vertices()[c[0]], vertices()[c[1]], vertices()[c[2]]).norm() / 2;
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

}  // namespace meniscus::surface
