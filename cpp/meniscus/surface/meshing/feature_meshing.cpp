#include "meniscus/surface/meshing/feature_meshing.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/surface/meshing/boundary_contacts.hpp"
#include "meniscus/surface/meshing/constrained_improvement.hpp"
#include "meniscus/surface/meshing/surface_samples.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace meniscus::surface {
namespace {

/// Target of the improvement; steps are accepted at the requested bound.
constexpr double target_quality = 0.26;
/// Nothing is inserted closer to another vertex than this, in cells.
constexpr double closest_vertex = 0.08;
/// Edges where normals turn by more than this (radians) are good places for vertices, without being bound to.
constexpr double ridge_angle = 0.2;
/// Steps of several parts are for what is beyond the tolerance by this factor; twice the tolerance is reported.
constexpr double worth_more = 1.6;
/// Once with single steps, then with steps of several parts.
constexpr int phases = 4;
/// Number of edges that are fitted after a step that has increased the deviation.
constexpr std::size_t max_nested = 8;
/// The neighbourhood in which steps of several parts have to be of use, in cells.
constexpr double neighbourhood = 3;
/// Distance of the samples in which steps of several parts are looked for, in cells.
constexpr double dense = 0.1;
/// Steps that are tried per boundary face of the lattice mesh, of the single and of the compound ones. Where the lattice resolves
/// the surface, less than one is enough; details that are too fine for it would take any number.
constexpr Index single_steps = 6, compound_steps = 1;

class FeatureFit {
 public:
  FeatureFit(const mesh::TetMeshData& mesh, const MeshDistance& surface, const FeatureMeshingOptions& options)
      : mesh_(mesh),
        options_(options),
        tolerance_(options.tolerance * options.cell),
        near_(neighbourhood * options.cell),
        counts_(boundary_filter(surface, options.cell)),
        creases_(surface.mesh(), options.sharp_angle, 1.5 * options.cell, counts_),
        ridges_(surface.mesh(), ridge_angle, 0.0, counts_),
        surface_(surface),
        off_(mesh_, surface, tolerance_),
        improvement_(mesh_, off_, creases_, options.cell),
        contacts_(mesh_, options.cell),
        samples_(surface.mesh(), 0.33 * options.cell, counts_),
        min_quality_(std::sin(options.min_angle)) {
    for (const mesh::Tet& t : mesh.tets) min_quality_ = std::min(min_quality_, mesh_.quality(t));
    touched_.assign(mesh.vertices.size(), 0);
  }

  mesh::TetMeshData run() {
    const auto faces = static_cast<Index>(mesh_.boundary().size());
    for (int phase = 0; phase < phases; ++phase) {
      compound_ = phase > 0;
      if (phase <= 1) attempts_left_ = faces * (compound_ ? compound_steps : single_steps);
      if (compound_) {
        // Better tetrahedra around leave more room.
        improve_all();
        std::fill(touched_.begin(), touched_.end(), round_);
      }
      fit_corners();
      Index done = 0;
      for (int rounds = 0; rounds < 6 && attempts_left_ > 0; ++rounds) {
        ++round_;
        const Index now = fit_edges() + fit_surface() + fit_faces();
        done += now;
        if (now == 0 || 100 * now < done) break;
      }
      if (compound_ && done == 0) break;
    }
    improve_all();
    return mesh_.mesh();
  }

 private:
  struct Task {
    double deviation;
    std::int32_t a, b;
  };

  struct Binding {
    std::int8_t freedom;
    std::int32_t curve;
  };

  /// Whether one more step may be tried.
  bool may_try() { return attempts_left_-- > 0; }

  int stamp(std::int32_t v) const { return touched_[v]; }

  bool take_back(std::size_t mark) {
    mesh_.undo(mark);
    touched_.resize(mesh_.vertices());
    return false;
  }

  /// Adds what `target_` is farther from `faces_` than the tolerance.
  void add_target(Excess& e) const {
    if (!target_) return;
    double least = std::numeric_limits<double>::infinity();
    for (const mesh::Triangle& f : faces_)
      least = std::min(
          least, collision::closest_point_on_triangle(*target_, mesh_.position(f[0]), mesh_.position(f[1]), mesh_.position(f[2]))
                     .squared_distance);
    e.add(std::max(0.0, std::sqrt(least) - tolerance_));
  }

  /// The excess of `faces_` and, for a step of several parts, that of the neighbourhood of x, which includes the vertex v.
  std::array<Excess, 2> present_excess(std::int32_t v, const mesh::Point& x) const {
    std::array<Excess, 2> result{off_.excess(faces_), {}};
    if (compound_ && !nested_) result[1] = off_.excess_near(v, x, near_);
    for (Excess& e : result) add_target(e);
    return result;
  }

  /// Accepts what has been done at x since a mark, or takes it back.
  bool accept_or_undo(std::size_t mark, std::span<const std::int32_t> seeds, const Excess& before, const Excess& before_near,
                      const mesh::Point& x) {
    touched_.resize(mesh_.vertices(), round_);
    mesh_.changed(mark, changed_);
    mesh_.boundary_faces(changed_, faces_);
    // The improvement keeps the boundary where it is, so that what comes before it counts.
    Excess now = off_.excess(faces_);
    add_target(now);
    const bool of_use = now.below(before);
    if (!of_use && (!compound_ || nested_)) return take_back(mark);
    improvement_.improve(seeds, 1.15 * min_quality_, 4);
    mesh_.changed(mark, changed_);
    for (const std::int32_t t : changed_)
      if (mesh_.quality(mesh_.tet(t)) < min_quality_) return take_back(mark);
    if (!of_use) {
      nested_ = true;
      const std::optional<mesh::Point> target = std::exchange(target_, std::nullopt);
      mesh_.boundary_faces(changed_, faces_);
      std::vector<Task> tasks = far_edges(std::vector<mesh::Triangle>(faces_));
      if (tasks.size() > max_nested) tasks.resize(max_nested);
      for (const Task& task : tasks) fit_task(task);
      nested_ = false;
      target_ = target;
      mesh_.changed(mark, changed_);
      std::int32_t start = -1;
      for (const std::int32_t t : changed_)
        for (const std::int32_t v : mesh_.tet(t))
          if (mesh_.on_boundary(v)) start = v;
      Excess after = off_.excess_near(start, x, near_);
      mesh_.boundary_faces(changed_, faces_);
      add_target(after);
      if (!(after.sum < 0.99 * before_near.sum)) return take_back(mark);
    }
    if (nested_) return true;
    if (!contacts_.accept(mark)) return take_back(mark);
    mesh_.changed(mark, changed_);
    for (const std::int32_t t : changed_)
      for (const std::int32_t v : mesh_.tet(t)) touched_[v] = round_;
    mesh_.keep();
    return true;
  }

  bool move_onto(std::int32_t v, const mesh::Point& x, const Binding& binding) {
    if (!may_try()) return false;
    const std::size_t mark = mesh_.mark();
    mesh_.boundary_faces_at(v, faces_);
    const auto [before, near] = present_excess(v, x);
    mesh_.set(v, {x, binding.freedom, binding.curve});
    std::vector<std::int32_t> seeds;
    mesh_.neighbours(v, seeds);
    seeds.push_back(v);
    return accept_or_undo(mark, seeds, before, near, x);
  }

  /// Splits an edge or a face, given by its corners, with a vertex at x.
  bool insert(std::span<const std::int32_t> corners, const mesh::Point& x, const Binding& binding) {
    for (const std::int32_t v : corners)
      if ((x - mesh_.position(v)).norm() < closest_vertex * options_.cell) return false;
    std::vector<std::int32_t> tets;
    for (const std::int32_t t : mesh_.star(corners[0])) {
      std::size_t common = 0;
      for (const std::int32_t v : mesh_.tet(t)) common += std::find(corners.begin(), corners.end(), v) != corners.end() ? 1 : 0;
      if (common == corners.size()) tets.push_back(t);
    }
    if (tets.empty() || !may_try()) return false;
    const std::size_t mark = mesh_.mark();
    mesh_.boundary_faces(tets, faces_);
    const auto [before, near] = present_excess(corners[0], x);
    const std::int32_t m = mesh_.add_vertex({x, binding.freedom, binding.curve});
    for (const std::int32_t i : tets) {
      const mesh::Tet t = mesh_.tet(i);
      mesh_.remove_tet(i);
      for (const std::int32_t end : corners) {
        mesh::Tet part = t;
        for (std::int32_t& v : part)
          if (v == end) v = m;
        mesh_.add_tet(part);
      }
    }
    std::vector<std::int32_t> seeds;
    mesh_.neighbours(m, seeds);
    seeds.push_back(m);
    return accept_or_undo(mark, seeds, before, near, x);
  }

  void fit_corners() {
    for (const mesh::Point& c : creases_.corners()) {
      check_interrupt();
      std::vector<std::pair<double, std::int32_t>> near;
      bool there = false;
      for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh_.vertices()); ++v)
        if (mesh_.on_boundary(v) && !mesh_.star(v).empty()) {
          const double d = (mesh_.position(v) - c).norm();
          there |= d == 0 && mesh_.vertex(v).freedom == 0;
          if (d < 1.5 * options_.cell && mesh_.vertex(v).freedom > 0) near.push_back({d, v});
        }
      if (there) continue;
      std::sort(near.begin(), near.end());
      for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 8); ++i)
        if (move_onto(near[i].second, c, {0, -1})) break;
    }
  }

  /// Those edges of some boundary faces that are too far away, the farthest first.
  std::vector<Task> far_edges(std::span<const mesh::Triangle> faces) {
    std::vector<Task> tasks;
    for (const mesh::Triangle& f : faces)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::int32_t a = f[k];
        const std::int32_t b = f[(k + 1) % 3];
        // The triangle beyond passes the edge the other way round.
        if (a > b) continue;
        if (!nested_ && std::max(stamp(a), stamp(b)) < round_ - 1) continue;
        const double d = off_.of_edge(a, b).distance;
        if (d > (compound_ ? worth_more : 1) * tolerance_) tasks.push_back({d, a, b});
      }
    std::sort(tasks.begin(), tasks.end(), [](const Task& s, const Task& t) {
      return std::tuple(-s.deviation, s.a, s.b) < std::tuple(-t.deviation, t.a, t.b);
    });
    return tasks;
  }

  Index fit_edges() {
    Index done = 0;
    for (const Task& task : far_edges(mesh_.boundary())) {
      check_interrupt();
      done += fit_task(task);
    }
    return done;
  }

  bool fit_task(const Task& task) {
    mesh::EdgeRing ring;
    if (task.a >= mesh_.vertices() || task.b >= mesh_.vertices()) return false;
    if (!mesh_.find_ring(task.a, task.b, ring) || !ring.open) return false;
    const Deviation d = off_.of_edge(task.a, task.b);
    if (d.distance <= tolerance_) return false;
    return fit_edge(task.a, task.b, d);
  }

  bool fit_edge(std::int32_t a, std::int32_t b, const Deviation& d) {
    const mesh::Point xa = mesh_.position(a), xb = mesh_.position(b);
    const double length = (xb - xa).norm();
    const std::array<std::int32_t, 2> edge{a, b};
    for (const FeatureEdges* lines : {&creases_, &ridges_}) {
      if (lines->empty()) continue;
      // The point of the lines that is closest to the edge, by turns.
      FeaturePoint q = lines->closest(d.sample);
      double t = 0.5;
      for (int i = 0; i < 4; ++i) {
        t = std::clamp((q.position - xa).dot(xb - xa) / (length * length), 0.0, 1.0);
        q = lines->closest(xa + t * (xb - xa));
      }
      if (q.distance > 0.7 * length) continue;
      const bool crease = lines == &creases_;
      const auto binding = [&](const FeaturePoint& p) { return crease ? Binding{1, p.curve} : Binding{2, -1}; };
      const auto snap = [&](std::int32_t v) {
        if (mesh_.vertex(v).freedom != 2) return false;
        const FeaturePoint own = lines->closest(mesh_.position(v));
        if (own.distance > 0.6 * length || own.distance == 0) return false;
        return move_onto(v, own.position, binding(own));
      };
      if (t < 0.4 && snap(a)) return true;
      if (t > 0.6 && snap(b)) return true;
      if (insert(edge, q.position, binding(q))) return true;
      if (t < 0.5 ? snap(a) || snap(b) : snap(b) || snap(a)) return true;
    }
    if (insert(edge, surface_.closest(d.sample).position, {2, -1})) return true;
    return reconnect(a, b);
  }

  /// Flips or contracts an edge of the boundary.
  bool reconnect(std::int32_t a, std::int32_t b) {
    using When = ConstrainedImprovement::When;
    if (!may_try()) return false;
    const mesh::Point x = 0.5 * (mesh_.position(a) + mesh_.position(b));
    for (const int way : {0, 1, 2}) {
      const std::size_t mark = mesh_.mark();
      std::vector<std::int32_t> seeds{a, b};
      mesh::EdgeRing ring;
      if (!mesh_.find_ring(a, b, ring)) return false;
      seeds.insert(seeds.end(), ring.vertices.begin(), ring.vertices.end());
      mesh_.boundary_faces(way == 0 ? std::span<const std::int32_t>(ring.tets) : mesh_.star(way == 1 ? a : b), faces_);
      const auto [before, near] = present_excess(a, x);
      const bool changed = way == 0   ? improvement_.remove_edge(a, b, When::always)
                           : way == 1 ? improvement_.contract(a, b, When::always)
                                      : improvement_.contract(b, a, When::always);
      if (changed && accept_or_undo(mark, seeds, before, near, x)) return true;
    }
    return false;
  }

  /// Points of the surface that are too far away from the boundary become vertices.
  Index fit_surface() {
    Index done = 0;
    std::vector<mesh::Point> mended;
    // Features farther away than a cell are not resolved by the lattice.
    for (const std::size_t i : samples_.far(mesh_, touched_, round_, worth_more * tolerance_, options_.cell)) {
      check_interrupt();
      // One step for each place and round.
      const mesh::Point& p = samples_.position(i);
      if (std::any_of(mended.begin(), mended.end(), [&](const mesh::Point& q) { return (q - p).norm() < 0.7 * options_.cell; })) {
        samples_.ask_again(i);
        continue;
      }
      mended.push_back(p);
      const mesh::Triangle f = samples_.face(i);
      if (!mesh_.boundary_face(f[0], f[1], f[2])) {
        samples_.ask_again(i);
        continue;
      }
      done += fit_sample(f, p);
    }
    return done;
  }

  /// Faces that are too far away in the middle.
  Index fit_faces() {
    Index done = 0;
    for (const mesh::Triangle& f : mesh_.boundary()) {
      if (std::max({stamp(f[0]), stamp(f[1]), stamp(f[2])}) < round_ - 1) continue;
      if (!mesh_.boundary_face(f[0], f[1], f[2])) continue;
      const Deviation d = compound_ ? off_.of_face(f, dense * options_.cell) : off_.of_face(f);
      if (d.distance > (compound_ ? worth_more : 1.2) * tolerance_) done += fit_sample(f, surface_.closest(d.sample).position);
    }
    return done;
  }

  /// Puts a vertex at a point of the surface or close to it. The point counts as a sample for that step.
  bool fit_sample(const mesh::Triangle& f, const mesh::Point& given) {
    target_ = given;
    const bool done = put_vertex(f, given);
    target_.reset();
    return done;
  }

  bool put_vertex(const mesh::Triangle& f, mesh::Point x) {
    Binding binding{2, -1};
    if (!creases_.empty()) {
      const FeaturePoint q = creases_.closest(x);
      if (q.distance < 0.2 * options_.cell) {
        x = q.position;
        binding = {1, q.curve};
      }
    }
    std::array<std::pair<double, std::int32_t>, 3> corners;
    for (std::size_t k = 0; k < 3; ++k) corners[k] = {(mesh_.position(f[k]) - x).norm(), f[k]};
    std::sort(corners.begin(), corners.end());
    for (const auto& [d, v] : corners)
      if (mesh_.vertex(v).freedom > binding.freedom || (mesh_.vertex(v).freedom == 2 && binding.freedom == 2))
        if (move_onto(v, x, binding)) return true;
    for (std::size_t k = 0; k < 3; ++k)
      if (insert(std::array<std::int32_t, 2>{corners[k].second, corners[(k + 1) % 3].second}, x, binding)) return true;
    return insert(f, x, binding);
  }

  void improve_all() {
    std::vector<std::pair<double, std::int32_t>> bad;
    for (int pass = 0; pass < 3; ++pass) {
      bad.clear();
      for (std::int32_t t = 0; t < static_cast<std::int32_t>(mesh_.slots()); ++t) {
        if (!mesh_.alive(t)) continue;
        const double q = mesh_.quality(mesh_.tet(t));
        if (q < target_quality) bad.push_back({q, t});
      }
      std::sort(bad.begin(), bad.end());
      Index useful = 0;
      for (const auto& [q, t] : bad) {
        check_interrupt();
        const std::size_t mark = mesh_.mark();
        if (improvement_.improve_tets({&t, 1}, target_quality) == 0) continue;
        if (!contacts_.accept(mark)) {
          take_back(mark);
          continue;
        }
        mesh_.keep();
        ++useful;
      }
      if (useful == 0) break;
    }
  }

  mesh::TetEditor mesh_;
  FeatureMeshingOptions options_;
  double tolerance_;
  double near_;
  PointFilter counts_;
  FeatureEdges creases_;
  FeatureEdges ridges_;
  const MeshDistance& surface_;
  BoundaryDeviation off_;
  ConstrainedImprovement improvement_;
  BoundaryContacts contacts_;
  SurfaceSamples samples_;
  double min_quality_;
  /// Steps may make things worse for a while (`compound_`), until the edges around are fitted (`nested_`).
  bool compound_ = false, nested_ = false;
  /// Steps that may still be tried.
  Index attempts_left_ = 0;
  /// The round in which something around each vertex has changed last.
  std::vector<int> touched_;
  int round_ = 0;
  /// A point that the step under way shall bring the boundary to.
  std::optional<mesh::Point> target_;
  std::vector<std::int32_t> changed_;
  std::vector<mesh::Triangle> faces_;
};

}  // namespace

mesh::TetMeshData mesh_features(const mesh::TetMeshData& mesh, const MeshDistance& surface,
                                const FeatureMeshingOptions& options) {
  require(options.cell > 0 && std::isfinite(options.cell), "cell must be positive and finite, but is ", options.cell);
  require(options.tolerance > 0 && std::isfinite(options.tolerance), "deviation must be positive and finite, but is ",
          options.tolerance);
  require(options.min_angle > 0 && options.min_angle < 1, "min_angle must be in (0, 1), but is ", options.min_angle);
  if (mesh.tets.empty()) return mesh;
  return FeatureFit(mesh, surface, options).run();
}

}  // namespace meniscus::surface
