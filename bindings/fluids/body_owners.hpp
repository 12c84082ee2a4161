// Faces that belong to the bodies of a fluid's problem.
#pragma once

#include "any_field.hpp"

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"

#include <algorithm>
#include <optional>

namespace meniscus::bindings {

/// Numbers of the bodies by axis and face in C order, which live as long as the arrays; nulls without bodies.
template <int D>
std::array<const std::int32_t*, D> body_owners(const Coord<D>& shape, const fluids::MovingBodies* bodies,
                                               const std::optional<std::array<py::array, D>>& owners) {
  std::array<const std::int32_t*, D> out{};
  require((bodies != nullptr) == owners.has_value(), "bodies and the faces that they own go together");
  for (int d = 0; bodies && d < D; ++d) {
    const Index n = product<D>(grid::Stagger<D>::face(d).extents(shape));
    out[d] = data_of<std::int32_t>((*owners)[d], "owners", n);
    const auto known = [&](std::int32_t owner) { return owner >= -1 - bodies->count() && owner < bodies->count(); };
    require(std::all_of(out[d], out[d] + n, known), "owners must be numbers of bodies, or -1");
  }
  return out;
}

}  // namespace meniscus::bindings
