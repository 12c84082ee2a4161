/// Linear triangular finite elements (constant strain) in space as a force: membranes that resist stretch and shear in their
/// plane, but not bending.
///
/// The deformation gradient F is 3 x 2: it maps the plane of the triangle at rest into space. Stress is plane: lambda = E nu / (1
/// - nu^2). Energies and forces are finite also where a triangle is a segment or a point; the direction in which a collapsed
/// triangle opens is not determined, and an arbitrary one is chosen.
///
/// Sources: Mueller et al., "Real time physics class notes", 2008, section 4 (constant strain); Volino, Magnenat-Thalmann and
/// Faure, "A simple approach to nonlinear tensile stiffness for accurate cloth simulation", 2009 (triangles in space); Smith, de
/// Goes and Kim, "Analytic eigensystems for isotropic distortion energies", 2019 (definite tangents).
#pragma once

#include "meniscus/solids/elements/constant_strain_elements.hpp"

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

class TriangleMembrane final : public ConstantStrainElements<3> {
 public:
  /// `thickness` per element or one for all, m. The material must not be linear.
  TriangleMembrane(std::span<const mesh::Point> rest, std::span<const mesh::Triangle> triangles,
                   const ElementProperties& properties, std::span<const double> thickness, const ElementOptions& options);

  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  std::size_t nbytes() const override;

  /// At rest, m^2.
  std::span<const double> areas() const { return measure_; }

  using Gradient = Eigen::Matrix<double, 3, 2, Eigen::RowMajor>;
  /// With columns along the first edge at rest and across it.
  void deformation_gradients(std::span<const mesh::Point> x, std::span<Gradient> out) const;
  /// First Piola-Kirchhoff stresses, Pa.
  void stresses(std::span<const mesh::Point> x, std::span<Gradient> out) const;

  /// Rest state of eight elements: the rows y1, y2 of the inverse of the edges in the plane; volumes; Lame's constants.
  struct alignas(64) Rest {
    double y[4][pack_size];
    double volume[pack_size], lambda[pack_size], mu[pack_size];
    std::int32_t node[3][pack_size];
  };

 private:
  void multiply_tangent(std::span<const mesh::Point> dx) const override;
  void linearise_damping(std::span<const mesh::Point> x) override;
  /// The matrices of a linearisation: the frozen tangent, the exact or definite one, and that of damping.
  enum class Product : std::int8_t { frozen, whole, damping };
  /// Sets `corner_` to minus that matrix times dx; `fields`: those of the linearisation.
  void multiply(const double* fields, std::span<const mesh::Point> dx, Product product) const;
  /// Sets `corner_` to bounds of the definite tangent, or of the stiffness that damps.
  void set_bounds(std::span<const mesh::Point> x, bool damping) const;
  /// The block of that matrix between the corners a and b of an element.
  Block3 block(const double* fields, Index element, int a, int b, Product product) const;
  Product tangent_product() const { return tangent_ == Tangent::frozen ? Product::frozen : Product::whole; }

  std::vector<Rest> rest_;
};

}  // namespace meniscus::solids
