#include "meniscus/surface/feature_fit.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/surface/constrained_improvement.hpp"

#include <cmath>
#include <limits>

namespace meniscus {
namespace {

/// What improvement aims at; steps are accepted at the bound that was asked for.
constexpr double target_quality = 0.26;
/// Edges are not split closer to their ends than this, in cells.
constexpr double shortest_part = 0.12;

class FeatureFit {
 public:
  FeatureFit(const TetMeshData& mesh, const MeshDistance& surface, const FeatureFitOptions& options)
      : mesh_(mesh),
        options_(options),
        creases_(surface.mesh(), options.sharp_angle, 1.5 * options.cell),
        ridges_(surface.mesh(), 0.2, 0.0),
        surface_(surface),
        improvement_(mesh_, {surface, creases_, options.tolerance * options.cell, options.cell}),
        least_(std::sin(options.least_angle)) {
    for (const Tet& t : mesh.tets) least_ = std::min(least_, mesh_.quality(t));
  }

  TetMeshData run(FeatureFitReport* report) {
    fit_corners();
    for (int round = 0; round < 8; ++round)
      if (fit_edges() == 0) break;
    improve_all();
    if (report) *report = report_;
    return mesh_.mesh();
  }

 private:
  struct Task {
    double deviation;
    std::int32_t a, b;
  };

  /// Accepts what has been done since a mark, or takes it back.
  bool settle(std::size_t mark, std::span<const std::int32_t> seeds, double deviation_before) {
    improvement_.improve(seeds, target_quality, 4);
    mesh_.changed(mark, changed_);
    for (const std::int32_t t : changed_)
      if (mesh_.quality(mesh_.tet(t)) < least_) {
        mesh_.undo(mark);
        return false;
      }
    mesh_.boundary_faces(changed_, faces_);
    if (improvement_.deviation(faces_) > std::max(deviation_before, options_.tolerance * options_.cell)) {
      mesh_.undo(mark);
      return false;
    }
    mesh_.keep();
    return true;
  }

  double deviation_around(std::int32_t v) {
    mesh_.boundary_faces_at(v, faces_);
    return improvement_.deviation(faces_);
  }

  bool move_onto(std::int32_t v, const Point& x, std::int8_t freedom, std::int32_t curve) {
    const std::size_t mark = mesh_.mark();
    const double before = deviation_around(v);
    mesh_.set(v, {x, freedom, curve});
    mesh_.neighbours(v, seeds_);
    seeds_.push_back(v);
    return settle(mark, seeds_, before);
  }

  bool split_at(std::int32_t a, std::int32_t b, const Point& x, std::int8_t freedom, std::int32_t curve) {
    const double closest = std::min((x - mesh_.position(a)).norm(), (x - mesh_.position(b)).norm());
    if (closest < shortest_part * options_.cell || !mesh_.find_ring(a, b, ring_)) return false;
    const std::size_t mark = mesh_.mark();
    mesh_.boundary_faces(ring_.tets, faces_);
    const double before = improvement_.deviation(faces_);
    const std::int32_t m = mesh_.add_vertex({x, freedom, curve});
    for (const std::int32_t i : ring_.tets) {
      const Tet t = mesh_.tet(i);
      mesh_.remove_tet(i);
      for (const std::int32_t end : {a, b}) {
        Tet part = t;
        for (std::int32_t& v : part)
          if (v == end) v = m;
        mesh_.add_tet(part);
      }
    }
    mesh_.neighbours(m, seeds_);
    seeds_.push_back(m);
    return settle(mark, seeds_, before);
  }

  void fit_corners() {
    for (const Point& c : creases_.corners()) {
      check_interrupt();
      ++report_.corners;
      std::vector<std::pair<double, std::int32_t>> near;
      for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh_.vertices()); ++v)
        if (mesh_.on_boundary(v) && mesh_.vertex(v).freedom > 0 && !mesh_.star(v).empty()) {
          const double d = (mesh_.position(v) - c).norm();
          if (d < 1.5 * options_.cell) near.push_back({d, v});
        }
      std::sort(near.begin(), near.end());
      for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 8); ++i)
        if (move_onto(near[i].second, c, 0, -1)) {
          ++report_.fitted_corners;
          break;
        }
    }
  }

  /// The edges of the boundary that are too far away, the farthest first.
  std::vector<Task> far_edges() {
    std::vector<Task> tasks;
    std::vector<Triangle> faces;
    for (std::int32_t v = 0; v < static_cast<std::int32_t>(mesh_.vertices()); ++v) {
      mesh_.boundary_faces_at(v, faces);
      for (const Triangle& f : faces)
        for (std::size_t k = 0; k < 3; ++k)
          if (f[k] == v && f[(k + 1) % 3] > v) {
            // Each edge once: its other triangle passes it the other way round.
            const double d = improvement_.edge_deviation(v, f[(k + 1) % 3]).distance;
            if (d > options_.tolerance * options_.cell) tasks.push_back({d, v, f[(k + 1) % 3]});
          }
    }
    std::sort(tasks.begin(), tasks.end(), [](const Task& s, const Task& t) {
      return std::tuple(-s.deviation, s.a, s.b) < std::tuple(-t.deviation, t.a, t.b);
    });
    return tasks;
  }

  Index fit_edges() {
    Index done = 0;
    for (const Task& task : far_edges()) {
      check_interrupt();
      if (!mesh_.has_edge(task.a, task.b)) continue;
      const Deviation d = improvement_.edge_deviation(task.a, task.b);
      if (d.distance <= options_.tolerance * options_.cell) continue;
      if (!mesh_.find_ring(task.a, task.b, ring_) || !ring_.open) continue;
      if (fit_edge(task.a, task.b, d))
        ++done;
      else
        ++report_.refused;
    }
    report_.inserted += done;
    return done;
  }

  bool fit_edge(std::int32_t a, std::int32_t b, const Deviation& d) {
    const Point xa = mesh_.position(a), xb = mesh_.position(b);
    const double length = (xb - xa).norm();
    for (const FeatureEdges* lines : {&creases_, &ridges_}) {
      if (lines->empty()) continue;
      // The point of the lines that is closest to the edge, by turns.
      Point p = d.sample;
      FeaturePoint q = lines->closest(p);
      double t = 0.5;
      for (int i = 0; i < 4; ++i) {
        t = std::clamp((q.position - xa).dot(xb - xa) / (length * length), 0.0, 1.0);
        p = xa + t * (xb - xa);
        q = lines->closest(p);
      }
      if (q.distance > 0.7 * length) continue;
      const bool crease = lines == &creases_;
      const std::int8_t freedom = crease ? 1 : 2;
      const std::int32_t curve = crease ? q.curve : -1;
      const auto snap = [&](std::int32_t v) {
        if (mesh_.vertex(v).freedom != 2) return false;
        const FeaturePoint own = lines->closest(mesh_.position(v));
        if (own.distance > 0.6 * length || own.distance == 0) return false;
        return move_onto(v, own.position, freedom, crease ? own.curve : -1);
      };
      if (t < 0.4 && snap(a)) return true;
      if (t > 0.6 && snap(b)) return true;
      if (split_at(a, b, q.position, freedom, curve)) return true;
      if (t < 0.5 ? snap(a) || snap(b) : snap(b) || snap(a)) return true;
    }
    return split_at(a, b, surface_.closest(d.sample).position, 2, -1);
  }

  void improve_all() {
    std::vector<std::int32_t> all;
    for (int pass = 0; pass < 3; ++pass) {
      all.clear();
      for (std::int32_t t = 0; t < static_cast<std::int32_t>(mesh_.slots()); ++t)
        if (mesh_.alive(t)) all.push_back(t);
      const Index useful = improvement_.improve_tets(all, target_quality);
      mesh_.keep();
      if (useful == 0) break;
    }
  }

  TetEditor mesh_;
  FeatureFitOptions options_;
  FeatureEdges creases_;
  FeatureEdges ridges_;
  const MeshDistance& surface_;
  ConstrainedImprovement improvement_;
  double least_;
  FeatureFitReport report_;
  std::vector<std::int32_t> changed_, seeds_;
  std::vector<Triangle> faces_;
  EdgeRing ring_;
};

}  // namespace

TetMeshData fit_features(const TetMeshData& mesh, const MeshDistance& surface, const FeatureFitOptions& options,
                         FeatureFitReport* report) {
  require(options.cell > 0, "cell must be positive, but is ", options.cell);
  if (mesh.tets.empty()) return mesh;
  return FeatureFit(mesh, surface, options).run(report);
}

}  // namespace meniscus
