// Conversion of the options of springs from Python.
#pragma once

#include "solids/force_arrays.hpp"

#include "meniscus/solids/springs/spring_options.hpp"

namespace meniscus::bindings {

/// Owns what solids::SpringOptions points to.
struct SpringArrays {
  using Pieces = std::vector<std::pair<double, double>>;
  std::vector<double> stiffness;
  bool per_length;
  std::vector<double> damping;
  std::vector<double> inverse_mass;
  Pieces pieces;

  SpringArrays(const py::array& stiffnesses, bool relative, const py::array& dampings, const py::array& inverse_masses,
               Pieces law)
      : stiffness(copied(stiffnesses, "stiffness")),
        per_length(relative),
        damping(copied(dampings, "damping")),
        inverse_mass(copied(inverse_masses, "masses")),
        pieces(std::move(law)) {}

  solids::SpringOptions options() const {
    std::vector<solids::StressStrain::Piece> law;
    for (const auto& [from, factor] : pieces) law.push_back({from, factor});
    return {stiffness, per_length, damping, inverse_mass, law.empty() ? solids::StressStrain() : solids::StressStrain(law)};
  }

 private:
  static std::vector<double> copied(const py::array& values, const char* name) {
    const auto span = values_of<double>(values, name);
    return {span.begin(), span.end()};
  }
};

}  // namespace meniscus::bindings
