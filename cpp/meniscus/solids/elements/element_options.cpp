#include "meniscus/solids/elements/element_options.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

template <class Good>
void check(std::size_t elements, std::span<const double> values, const char* name, Good&& good, const char* range) {
  require(values.size() == 1 || values.size() == elements, name, " must hold one value or one per element, not ", values.size());
  for (std::size_t e = 0; e < values.size(); ++e)
    require(std::isfinite(values[e]) && good(values[e]), name, " must be ", range, ", but that of element ", e, " is ",
            values[e]);
}

}  // namespace

void require_valid(std::size_t elements, const ElementProperties& properties, double highest_ratio,
                   const ElementOptions& options) {
  check(elements, properties.youngs_modulus, "youngs_modulus", [](double v) { return v >= 0; }, "finite and not negative");
  check(
      elements, properties.poissons_ratio, "poissons_ratio", [&](double v) { return v > -1 && v < highest_ratio; },
      highest_ratio < 1 ? "above -1 and below 1/2" : "above -1 and below 1");
  if (!properties.density.empty()) require_positive(elements, properties.density, "density");
  require(std::isfinite(options.damping) && options.damping >= 0, "damping must be finite and not negative, not ",
          options.damping);
  require(std::isfinite(options.mass_damping) && options.mass_damping >= 0, "mass_damping must be finite and not negative, not ",
          options.mass_damping);
  require(options.mass_damping == 0 || !properties.density.empty(), "mass_damping needs densities");
}

void require_positive(std::size_t elements, std::span<const double> values, const char* name) {
  check(elements, values, name, [](double v) { return v > 0; }, "finite and positive");
}

}  // namespace meniscus::solids
