/// Linear tetrahedral finite elements (constant strain) as a force.
///
/// An element has the deformation gradient F = sum p_k y_k^T, where p are positions, y1 to y3 are the rows of the inverse of the
/// edges at rest and y0 = -(y1 + y2 + y3). Its nodes feel the forces f_k = -V P(F) y_k.
///
/// For isotropic materials the stiffness is short: with z_k = R y_k, a corotational element has the
/// blocks V (lambda z_i z_j^T + mu z_j z_i^T + mu (z_i . z_j) I) plus the effect of the change of R,
/// so that a product with it needs z alone.
///
/// Sources: Mueller et al., "Real time physics class notes", 2008, sections 4.2 and 4.3, with the corrections of the signs and
/// factors; Smith, de Goes and Kim, "Analytic eigensystems for isotropic distortion energies", 2019 (definite tangents).
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"
#include "meniscus/solids/elements/constant_strain_elements.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

class TetElements final : public ConstantStrainElements<4> {
 public:
  TetElements(std::span<const mesh::Point> rest, std::span<const mesh::Tet> tets, const ElementProperties& properties,
              const ElementOptions& options);

  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  std::size_t nbytes() const override;

  /// At rest, m^3.
  std::span<const double> volumes() const { return measure_; }

  void deformation_gradients(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;
  /// First Piola-Kirchhoff stresses, Pa.
  void stresses(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;

  /// Rest state of eight elements; the lanes beyond the last element repeat it without stiffness.
  struct alignas(64) Rest {
    double y[9][pack_size];
    double volume[pack_size], lambda[pack_size], mu[pack_size];
    std::int32_t node[4][pack_size];
  };

  /// The axes in which the stiffness of a material is written: those at rest, rotated with the element, or of the principal
  /// stretches.
  enum class Frame : std::int8_t { rest, rotated, principal };

 private:
  template <Material material>
  void add_forces_of(std::span<const mesh::Point> x) const;
  template <Material material>
  double energy_of(std::span<const mesh::Point> x) const;
  template <Material material>
  void stresses_of(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;
  template <Frame frame>
  void linearise_in(std::span<const mesh::Point> x, Tangent tangent);
  /// Sets `corner_` to bounds of the definite tangent, or of the stiffness that damps.
  template <Frame frame>
  void add_bounds_in(std::span<const mesh::Point> x, bool damping) const;
  void multiply_tangent(std::span<const mesh::Point> dx) const override;
  void linearise_damping(std::span<const mesh::Point> x) override;
  /// The matrices of a linearisation: the frozen tangent, the exact or definite one, and that of damping. The last is Hooke's law
  /// between the rates of Green strain and second Piola-Kirchhoff stress, which no rotation changes, however strained the
  /// element; of the linear material it is the stiffness.
  enum class Product : std::int8_t { frozen, whole, damping };
  /// Sets `corner_` to minus that matrix times dx; `fields`: those of the linearisation.
  void multiply(const double* fields, std::span<const mesh::Point> dx, Product product) const;
  /// The block of that matrix between the corners a and b of an element.
  Block3 block(const double* fields, Index element, int a, int b, Product product) const;
  Product tangent_product() const { return tangent_ == Tangent::frozen ? Product::frozen : Product::whole; }
  /// Whether damping is in proportion to the tangent of the last linearisation.
  bool damps_as_tangent() const { return tangent_ == Tangent::frozen && options_.material != Material::corotational; }
  void assemble();
  /// Strides in `fields_` between the numbers of one element, and between the same number of consecutive elements of a pack.
  std::size_t field_stride() const { return matrix_ ? 1 : pack_size; }
  std::size_t lane_stride() const { return matrix_ ? static_cast<std::size_t>(field_count_) : 1; }
  /// Whether the stiffness is that at rest, rotated by R ("stiffness warping"); R is the identity for the linear material.
  bool warped() const { return options_.material == Material::linear || options_.material == Material::corotational; }

  std::vector<Rest> rest_;
  /// Numbers per element in `fields_`. For products they lie eight elements side by side; where a matrix is assembled, element
  /// after element.
  int field_count_ = 0;
};

}  // namespace meniscus::solids
