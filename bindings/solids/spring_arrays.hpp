// Conversion of spring options from Python, with copies of their arrays.
#pragma once

#include "solids/force_arrays.hpp"

#include "meniscus/solids/springs/spring_options.hpp"

namespace meniscus::bindings {

/// Owns what solids::SpringOptions points to.
struct SpringArrays {
  /// Strain from which a piece of the stress-strain law holds, and its slope over Young's modulus (see StressStrain::Piece).
  using Pieces = std::vector<std::pair<double, double>>;
  std::vector<double> stiffness;
  bool per_length;
  std::vector<double> damping;
  std::vector<double> inverse_mass;
  Pieces pieces;

  SpringArrays(const py::array& stiffnesses, bool is_per_length, const py::array& dampings, const py::array& inverse_masses,
               Pieces law)
      : stiffness(copied(stiffnesses, "stiffness")),
        per_length(is_per_length),
        damping(copied(dampings, "damping")),
        inverse_mass(copied(inverse_masses, "masses")),
        pieces(std::move(law)) {}

  solids::SpringOptions options() const {
    std::vector<solids::StressStrain::Piece> law;
    for (const auto& [strain, slope] : pieces) law.push_back({strain, slope});
    return {stiffness, per_length, damping, inverse_mass, law.empty() ? solids::StressStrain() : solids::StressStrain(law)};
  }

 private:
  static std::vector<double> copied(const py::array& values, const char* name) {
    const auto span = values_of<double>(values, name);
    return {span.begin(), span.end()};
  }
};

}  // namespace meniscus::bindings
