/// Options of all kinds of springs: stiffness, damping and stress.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/solids/springs/stress_strain.hpp"

#include <span>

namespace meniscus::solids {

struct SpringOptions {
  /// Per spring: k (N/m); or E (N) for k = E / l0 with the rest length l0. Per hinge: N m.
  std::span<const double> stiffness;
  bool per_length = false;
  /// Per spring: b (N s/m); or, where there are inverse masses, a fraction of critical damping. Per hinge: N s.
  std::span<const double> damping;
  /// Per node (1/kg); empty where damping is no fraction.
  std::span<const double> inverse_mass{};
  /// Stress as a function of the strain.
  StressStrain law{};

  /// Throws InvalidArgument unless there is one stiffness and one damping for each of `count` elements and, where there are
  /// inverse masses, one for each of `nodes`. `element` says what the elements are, in the singular and in the plural.
  void require_sizes(std::size_t count, Index nodes, const char* element, const char* elements) const {
    require(stiffness.size() == count, "there must be one stiffness for each of the ", count, " ", elements, ", not ",
            stiffness.size());
    require(damping.size() == count, "there must be one damping coefficient for each of the ", count, " ", elements, ", not ",
            damping.size());
    require(inverse_mass.empty() || inverse_mass.size() >= static_cast<std::size_t>(nodes),
            "there must be one mass for each of the ", nodes, " nodes, not ", inverse_mass.size());
    for (std::size_t i = 0; i < count; ++i)
      require(std::isfinite(stiffness[i]) && stiffness[i] >= 0 && std::isfinite(damping[i]) && damping[i] >= 0,
              "stiffness and damping of ", element, " ", i, " must be finite and not negative, not ", stiffness[i], " and ",
              damping[i]);
  }
};

}  // namespace meniscus::solids
