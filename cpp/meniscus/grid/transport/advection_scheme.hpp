/// Schemes of advection by name: each is one file that composes passes (advection_step.hpp).
#pragma once

#include "meniscus/grid/transport/advection_step.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <tuple>

namespace meniscus::grid {

/// One scheme, for every dimension and scalar. `Scheme` has a static function template advance<T, D>(AdvectionStep<T, D>&).
struct AdvectionScheme {
  template <class T, int D>
  using Advance = void (*)(AdvectionStep<T, D>&);

  /// The name of the scheme in scripts.
  std::string_view name;
  /// The transport block of the scheme; schemes without one use the block of the options.
  std::optional<TransportBlock> block;
  std::tuple<Advance<double, 2>, Advance<float, 3>, Advance<double, 3>> variants;

  template <class T, int D>
  void advance(AdvectionStep<T, D>& step) const {
    std::get<Advance<T, D>>(variants)(step);
  }
};

template <class Scheme>
constexpr AdvectionScheme make_scheme(std::string_view name, std::optional<TransportBlock> block = {}) {
  return {name,
          block,
          {&Scheme::template advance<double, 2>, &Scheme::template advance<float, 3>, &Scheme::template advance<double, 3>}};
}

/// All schemes, in the order in which documentation lists them.
std::span<const AdvectionScheme* const> advection_schemes();

}  // namespace meniscus::grid
