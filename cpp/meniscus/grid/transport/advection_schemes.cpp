// Table of all advection schemes.
#include "meniscus/core/error.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"

#include <array>
#include <string>

namespace meniscus::grid {
namespace {

/// A new scheme is one line here and one in `schemes` (advect.hpp).
constexpr std::array table{&schemes::upwind, &schemes::semi_lagrangian, &schemes::bfecc, &schemes::maccormack};

}  // namespace

std::span<const AdvectionScheme* const> advection_schemes() { return table; }

const AdvectionScheme& advection_scheme(std::string_view name) {
  std::string names;
  for (const AdvectionScheme* scheme : table) {
    if (scheme->name == name) return *scheme;
    names += (names.empty() ? "'" : ", '") + std::string(scheme->name) + "'";
  }
  throw InvalidArgument("there is no scheme of advection '" + std::string(name) + "', only " + names);
}

}  // namespace meniscus::grid
