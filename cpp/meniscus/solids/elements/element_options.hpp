/// Options of finite elements of all shapes.
#pragma once

#include "meniscus/solids/elements/elastic_material.hpp"

#include <span>

namespace meniscus::solids {

struct ElementOptions {
  Material material = Material::corotational;
  /// Stiffness-proportional damping, s: D = -damping K, where K is the stiffness without the change of R; for Green strain and
  /// neo-Hookean elements, Hooke's law between the rates of Green strain and of the second Piola-Kirchhoff stress.
  double damping = 0;
  /// Mass-proportional damping, 1/s; needs densities.
  double mass_damping = 0;
  /// Store a matrix of blocks, filled by `linearise`, for the products.
  bool assembled = true;
  /// Leave out elements that are flat or inverted at rest, instead of refusing them.
  bool skip_degenerate = false;
};

/// Per element, or one value for all.
struct ElementProperties {
  std::span<const double> youngs_modulus;  ///< Pa
  std::span<const double> poissons_ratio;
  std::span<const double> density;  ///< kg/m^3; none for no masses
};

/// The value for an element.
inline double property_of(std::span<const double> values, std::size_t element) {
  return values.size() == 1 ? values[0] : values[element];
}

/// Throws InvalidArgument for values out of range and for wrong numbers of them; `highest_ratio` is what Poisson's ratio stays
/// below.
void require_valid(std::size_t elements, const ElementProperties& properties, double highest_ratio,
                   const ElementOptions& options);

/// Throws InvalidArgument unless there are one or as many values as elements, all finite and positive.
void require_positive(std::size_t elements, std::span<const double> values, const char* name);

}  // namespace meniscus::solids
