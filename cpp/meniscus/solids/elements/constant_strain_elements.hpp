/// Base of finite elements with N nodes each, of constant strain or (quadratic tetrahedra) with several points of it: stored
/// values, mass-proportional damping, and sums over corners.
#pragma once

#include "meniscus/numerics/lane_pack.hpp"
#include "meniscus/solids/elements/block_stiffness.hpp"
#include "meniscus/solids/elements/element_options.hpp"

#include <optional>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

template <int N>
class ConstantStrainElements : public Force {
 public:
  using Element = std::array<std::int32_t, static_cast<std::size_t>(N)>;

  Index nodes() const override { return gather_.nodes(); }
  bool damped() const override { return options_.damping > 0 || options_.mass_damping > 0; }
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  void add_tangent(std::span<const mesh::Point> u, double stiffness_scale, double damping_scale,
                   std::span<mesh::Point> f) const override;
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { step_dt_ = 0; }

  DampingRatios damping_ratios(std::span<const mesh::Point> x) const override;

  Index size() const { return static_cast<Index>(measure_.size()); }
  const ElementOptions& options() const { return options_; }
  /// Elements that were left out, ascending.
  std::span<const std::int32_t> skipped() const { return skipped_; }
  /// Per node, kg; empty without densities.
  std::span<const double> masses() const { return mass_; }
  /// Filled by `linearise`, before or after a step; throws if the matrix is not assembled.
  const BlockStiffness& matrix() const;

 protected:
  /// Throws InvalidArgument for positions that are not finite or too few. `what` names the elements in messages.
  ConstantStrainElements(std::span<const mesh::Point> rest, std::span<const Element> elements,
                         const ElementProperties& properties, const ElementOptions& options, const char* what);

  /// Eight elements lie side by side; the last pack may be filled up.
  std::size_t packs() const { return (measure_.size() + pack_size - 1) / pack_size; }

  /// Sets `corner_` to the change of the forces under dx, by the present linearisation.
  virtual void multiply_tangent(std::span<const mesh::Point> dx) const = 0;

  /// Sets the linearisation, and the matrix if there is one, to the stiffness that damps at x.
  virtual void linearise_damping(std::span<const mesh::Point> x) = 0;

  /// Whether the stiffness that damps is that at the start of a step: `held_`, or (times damping / step_dt_) kept by `matrix_`,
  /// which then contains it.
  bool in_step() const { return step_dt_ > 0; }
  const double* damping_fields() const { return in_step() ? held_.data() : fields_.data(); }
  void add_mass_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const;
  void add_mass_diagonal(double damping_scale, std::span<Block3> blocks) const;
  /// Adds to each node the sum of the first coordinates of `corner_` at its corners, times a scale.
  void add_corner_sums(double scale, std::span<double> nodes) const;
  void add_mass_damping_bounds(std::span<double> damping) const;
  /// Memory of what this class stores, bytes.
  std::size_t common_bytes() const;

  ElementOptions options_;
  ElementGather<N> gather_;
  std::vector<std::int32_t> skipped_;
  std::vector<double> mass_;
  /// Volumes or areas at rest.
  std::vector<double> measure_;
  /// The sum of volume times Young's modulus, J.
  double unit_energy_ = 0;
  Tangent tangent_ = Tangent::frozen;
  /// The linearisation of all elements, as numbers whose order the element decides.
  std::vector<double> fields_;
  std::optional<BlockStiffness> matrix_;
  double step_dt_ = 0;
  std::vector<double> held_;
  /// Contribution of each corner of each element.
  mutable std::vector<mesh::Point> corner_;
};

}  // namespace meniscus::solids
