/// Quadratic tetrahedral finite elements (ten nodes, linear strain) as a force.
///
/// They bend: unlike linear ones, they neither lock in bending nor, as far as Poisson's ratio of 0.499, by their resistance to a
/// change of volume. Edges may be curved. At each of four quadrature points, F = sum x_k g_k^T over the gradients g_k of the
/// shape functions, and the nodes feel the forces f_k = -sum w P(F) g_k, which are minus the derivative of the energy sum w
/// psi(F).
///
/// The tangent is stored as the derivative of w P by the derivatives of positions in the directions of three reference axes: six
/// 3 x 3 blocks per point, whatever the material.
///
/// Sources: Zienkiewicz and Taylor, "The finite element method", volume 1, 2000, chapters 8 and 9; Mueller et al.,
/// "Real time physics class notes", 2008, sections 4.2 and 4.3 (materials); Smith, de Goes and Kim, "Analytic eigensystems for
/// isotropic distortion energies", 2019 (definite tangents).
#pragma once

#include "meniscus/solids/elements/constant_strain_elements.hpp"
#include "meniscus/solids/elements/quadratic/quadratic_tet.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

class QuadraticTetElements final : public ConstantStrainElements<quadratic_tet::nodes> {
 public:
  QuadraticTetElements(std::span<const mesh::Point> rest, std::span<const QuadraticTet> tets, const ElementProperties& properties,
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

  /// At rest, by the quadrature rule, m^3.
  std::span<const double> volumes() const { return measure_; }

  /// At the four points of each element.
  void deformation_gradients(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;
  /// First Piola-Kirchhoff stresses there, Pa.
  void stresses(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;

  /// Rest state of eight elements; the lanes beyond the last element repeat it without stiffness.
  struct alignas(64) Rest {
    /// Rows of the inverse of the derivative of the rest positions, at each point.
    double y[quadratic_tet::points][9][pack_size];
    double weight[quadratic_tet::points][pack_size];
    double lambda[pack_size], mu[pack_size];
    std::int32_t node[quadratic_tet::nodes][pack_size];
  };

 private:
  /// Stored tangents and the strides between the numbers of one element and between elements of a pack.
  struct Fields {
    const double* first;
    std::size_t field, lane;
  };

  template <Material material>
  void add_forces_of(std::span<const mesh::Point> x) const;
  template <Material material>
  double energy_of(std::span<const mesh::Point> x) const;
  template <Material material>
  void stresses_of(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const;
  /// The frozen tangent, or the stiffness that damps: Hooke's law between the rates of Green strain and second Piola-Kirchhoff
  /// stress, which no rotation changes.
  void store_frozen(std::span<const mesh::Point> x, bool damping, double* to, std::size_t field, std::size_t lane) const;
  void linearise_damping(std::span<const mesh::Point> x) override;
  /// Whether damping is in proportion to the tangent of the last linearisation.
  bool damps_as_tangent() const { return tangent_ == Tangent::frozen && options_.material != Material::corotational; }
  void store_tangents(std::span<const mesh::Point> x, bool definite);
  void multiply_tangent(std::span<const mesh::Point> dx) const override;
  /// Sets `corner_` to minus the stored stiffness times dx.
  void multiply(std::span<const mesh::Point> dx, const Fields& fields) const;
  /// The diagonal block of a node of an element.
  static Block3 block(const Fields& fields, Index element, int node);
  /// Sets `corner_` to bounds of the definite tangent, or of the stiffness that damps.
  void set_bounds(std::span<const mesh::Point> x, bool damping) const;
  void assemble();
  /// Element after element where a matrix is assembled from them; else eight elements side by side, for products.
  Fields stiffness_fields() const;
  /// Of the stiffness that damps.
  Fields damping_tangents() const;

  std::vector<Rest> rest_;
  /// Those, if there is damping and they are not the linearisation.
  std::vector<double> damping_fields_;
};

}  // namespace meniscus::solids
