/// Forces on the triangles of a surface: wind along the normals, and pressure.
///
/// Source: Selle 2008, section 6.6 (per vertex, F = c ((wind - v) . N) N, an approximate pressure; quadratic would be better).
#pragma once

#include "meniscus/solids/elements/element_gather.hpp"
#include "meniscus/solids/external_forces.hpp"

namespace meniscus::solids {

/// Area vectors of triangles, and their sums at nodes.
class NodeNormals {
 public:
  explicit NodeNormals(std::span<const mesh::Triangle> triangles);
  Index nodes() const { return gather_.nodes(); }
  std::span<const mesh::Triangle> triangles() const { return triangles_; }
  /// Calls body(node, sum of twice the area vectors of the triangles at the node at x), the nodes in parallel.
  template <class Body>
  void for_nodes(std::span<const mesh::Point> x, Body&& body) const {
    fill(x, area_);
    parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        if (!gather_.at(i).empty()) body(i, sum(i, area_));
    });
  }
  /// The same, one node after the other.
  template <class Body>
  void for_nodes_in_order(std::span<const mesh::Point> x, Body&& body) const {
    fill(x, area_);
    for (Index i = 0; i < nodes(); ++i)
      if (!gather_.at(i).empty()) body(i, sum(i, area_));
  }
  /// The same with the change of the sums under dx as well.
  template <class Body>
  void for_changes(std::span<const mesh::Point> x, std::span<const mesh::Point> dx, Body&& body) const {
    fill(x, area_);
    fill_changes(x, dx, change_);
    parallel_for(0, nodes(), 1024, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        if (!gather_.at(i).empty()) body(i, sum(i, area_), sum(i, change_));
    });
  }
  std::size_t nbytes() const {
    return gather_.nbytes() + triangles_.capacity() * sizeof(mesh::Triangle) + 2 * area_.capacity() * sizeof(mesh::Point);
  }

 private:
  void fill(std::span<const mesh::Point> x, std::span<mesh::Point> out) const;
  void fill_changes(std::span<const mesh::Point> x, std::span<const mesh::Point> dx, std::span<mesh::Point> out) const;
  mesh::Point sum(Index node, std::span<const mesh::Point> of) const {
    mesh::Point total = mesh::Point::Zero();
    for (const std::int32_t slot : gather_.at(node)) total += of[slot / 3];
    return total;
  }
  std::vector<mesh::Triangle> triangles_;
  ElementGather<3> gather_;
  mutable std::vector<mesh::Point> area_;
  mutable std::vector<mesh::Point> change_;
};

/// Drag of the wind along the normals of the nodes, which are those of the triangles weighted by area. A node whose triangles
/// have no area in sum has no normal and no drag. Quadratic: F = c |(wind - v) . N| ((wind - v) . N) N.
class WindDrag final : public Force {
 public:
  /// Coefficients per node, N s/m, or N s^2/m^2 for quadratic drag.
  WindDrag(std::span<const mesh::Triangle> triangles, std::span<const double> coefficients, bool quadratic);

  Wind& wind() { return wind_; }

  Index nodes() const override { return normals_.nodes(); }
  double energy(std::span<const mesh::Point>) const override { return 0; }
  bool conservative() const override { return false; }
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  /// Differentials of the wind's force on nodes at rest; not symmetric, and only in the exact tangent.
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return only_damping; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  /// Normals stay as they are at x.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  bool has_drag() const override { return true; }
  double add_drag(std::span<const mesh::Point> v, std::span<mesh::Point> f) const override;
  void linearise_drag(std::span<const mesh::Point> v) override;
  std::span<double> memory() override { return wind_.memory(); }
  std::size_t nbytes() const override;

 private:
  /// Of the damping; in a step, minus the derivative of the drag.
  double coefficient(std::size_t node, const mesh::Point& normal) const;
  NodeNormals normals_;
  std::vector<double> coefficient_;
  bool quadratic_;
  Wind wind_;
  std::vector<mesh::Point> x_;
  std::vector<mesh::Point> normal_;
  Tangent tangent_ = Tangent::exact;
  bool in_step_ = false;
  /// In a step, minus the derivative of the drag at the last `linearise_drag`, along the normal.
  std::vector<double> slope_;
};

/// A pressure p on one side of a surface; positive pressure acts from inside, along the normals. Every triangle gives p times its
/// area vector, a third to each corner. For a closed surface the energy is -p times the volume.
class Pressure final : public Force {
 public:
  Pressure(std::span<const mesh::Triangle> triangles, double pressure, bool closed);

  double pressure() const { return pressure_; }
  void set_pressure(double pressure) { pressure_ = pressure; }
  /// Signed volume inside of a closed surface, m^3.
  double volume(std::span<const mesh::Point> x) const;

  Index nodes() const override { return normals_.nodes(); }
  double energy(std::span<const mesh::Point> x) const override;
  bool conservative() const override { return closed_; }
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  /// Indefinite, and therefore only in the exact tangent.
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return false; }
  void add_damping(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  /// Nothing: the diagonal blocks of a closed surface are 0.
  void add_diagonal(double, double, std::span<Block3>) const override {}
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return {0, 0}; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  /// The force on an open surface, which has no energy, stays as it is at x.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { held_ = false; }
  std::size_t nbytes() const override { return normals_.nbytes() + x_.capacity() * sizeof(mesh::Point); }

 private:
  NodeNormals normals_;
  double pressure_;
  bool closed_;
  /// In a step with an open surface, the force is that at x_.
  bool held_ = false;
  std::vector<mesh::Point> x_;
  Tangent tangent_ = Tangent::exact;
};

}  // namespace meniscus::solids
