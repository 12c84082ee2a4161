/// Bending of a thin plate that is flat at rest, by the curvature of its triangles: an energy of the material (N m), whatever the
/// mesh. See `PlateCurvature` for the curvatures and why they converge.
///
/// The energy of a triangle is A / 2 k^T D k for its curvatures k and the stiffness D; its derivatives are those of the angles of
/// hinges, so that rigid motions and motions in the plane cost nothing.
#pragma once

#include "meniscus/solids/plates/plate_curvature.hpp"
#include "meniscus/solids/springs/dihedral_bending.hpp"

namespace meniscus::solids {

class PlateBending final : public Force {
 public:
  /// Of (k11, k22, k12), N m; symmetric and positive definite.
  using Stiffness = Eigen::Matrix3d;

  struct Parameters {
    std::span<const mesh::Triangle> triangles;
    std::span<const PlateCurvature::Plane> rest;
    std::span<const FourNodes> hinges;
    /// One flag per triangle; may be empty.
    std::span<const std::uint8_t> rigid;
    /// One for all triangles or one each.
    std::span<const Stiffness> stiffness;
    /// s; the damping is that times the stiffness.
    double damping;
    /// Triangles below this multiple of their rest area have no angle with others.
    double collapsed;
  };
  explicit PlateBending(const Parameters& parameters);

  const PlateCurvature& curvature() const { return curvature_; }
  /// Curvatures of the triangles at x, 1/m.
  void curvatures(std::span<const mesh::Point> x, std::span<PlateCurvature::Tensor> out) const;

  Index nodes() const override { return gather_.nodes(); }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return damping_ > 0; }
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  /// The part of each hinge by itself.
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return {damping_, damping_}; }
  /// The fastest change of an angle, 1/s.
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  /// Damping stays that at x.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  std::size_t nbytes() const override;

 private:
  using Modes = std::array<mesh::Point, 4>;
  Index hinges() const { return static_cast<Index>(hinges_.size()); }
  const Stiffness& stiffness(Index triangle) const { return stiffness_.size() == 1 ? stiffness_[0] : stiffness_[triangle]; }
  /// Calls body(i, angle, modes) for the hinges [begin, end), one after the other; 0 where a triangle has collapsed.
  template <class Body>
  void for_bends(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const;
  /// Sets `angle_` and `modes` to those at x.
  void find_angles(std::span<const mesh::Point> x, std::vector<Modes>& modes) const;
  /// Sets `moment_` to the moments that go with the angles (or their changes) in `angle_`.
  void find_moments() const;
  void add_product(const std::vector<Modes>& modes, std::span<const mesh::Point> dx, double scale, bool geometric,
                   std::span<mesh::Point> f) const;
  Modes geometric(Index hinge, const Modes& d) const;
  void add_bounds(std::span<const mesh::Point> x, double scale, std::span<double> bounds) const;

  std::vector<FourNodes> hinges_;
  PlateCurvature curvature_;
  std::vector<Stiffness> stiffness_;
  double damping_;
  /// The least |n| of the two triangles of a hinge, for n twice the area vector.
  std::vector<std::array<double, 2>> least_areas_;
  /// Of each hinge: moment per angle of its own, and the sum of the sizes of those of all.
  std::vector<double> own_, bound_;
  ElementGather<4> gather_;
  std::vector<mesh::Point> x_;
  std::vector<Modes> linear_, start_;
  std::vector<double> linear_moment_;
  Tangent tangent_ = Tangent::exact;
  bool in_step_ = false;
  mutable std::vector<double> angle_, moment_;
  mutable std::vector<PlateCurvature::Tensor> couple_;
  mutable std::vector<Modes> now_;
  mutable std::vector<mesh::Point> contribution_;
};

}  // namespace meniscus::solids
