#include "meniscus/solids/force.hpp"

#include "meniscus/solids/elements/element_gather.hpp"

namespace meniscus::solids {

void Force::begin_step(std::span<const mesh::Point> x, double) { linearise(x, Tangent::frozen); }

template class ElementGather<2>;
template class ElementGather<3>;
template class ElementGather<4>;
template class ElementGather<10>;

}  // namespace meniscus::solids
