// Steps and equilibria of rods.
#include "meniscus/solids/hair/rod_loops.hpp"
#include "meniscus/solids/hair/strand_newton.hpp"

namespace meniscus::solids::hair {

StrandReport RodStrands::step(const StrandStep& options, Points x, Points v, std::span<const double> masses,
                              std::span<const std::uint8_t> held, ConstPoints targets) {
  return strand_newton::step(*this, options, x, v, masses, held, targets);
}

StrandReport RodStrands::equilibrium(const mesh::Point& gravity, Points x, std::span<const double> masses,
                                     std::span<const std::uint8_t> held, int iterations, double tolerance) {
  return strand_newton::equilibrium(*this, gravity, x, masses, held, iterations, tolerance);
}

void RodStrands::stable(ConstPoints x, std::span<const std::uint8_t> held, std::span<std::uint8_t> out) const {
  strand_newton::stable(*this, x, held, out);
}

}  // namespace meniscus::solids::hair
