// Conversion of tuples from Python to small vectors.
#pragma once

#include "meniscus/core/namespaces.hpp"

namespace meniscus::bindings {

template <int D>
Vec<double, D> vector_of(const std::array<double, D>& components) {
  return Eigen::Map<const Vec<double, D>>(components.data());
}

}  // namespace meniscus::bindings
