/// Links between fluid cells and the solid cells beside them: walls at their true distance, or half-way.
///
/// A link has the part up to the wall, delta in (0, 1]. What comes back along it is what left along it, corrected by what passes the cell
/// in the direction of the wall and away from it, with the weight (1 - 2 delta) / (1 + 2 delta), which is exact for flows that are linear
/// and, with two relaxation times, does not depend on the viscosity; half-way walls have delta = 1/2 and no correction.
///
/// Source: Ginzburg, Verhaeghe and d'Humières 2008, Commun. Comput. Phys. 3, 427, section 5 (central linear interpolation); Wen, Zhang, Tu,
/// Wang and Fang 2014, J. Comput. Phys. 266, 161 (momentum exchange of walls that move); Müller et al. 2008, section 10.4 (half-way).
#pragma once

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/lattice/exits.hpp"

#include <vector>

namespace meniscus::fluids::lattice {

struct WallLink {
  Index cell = 0;           ///< of the fluid, index in the box
  std::int32_t direction = 0;  ///< from there to the wall
  std::int32_t owner = 0;      ///< number of the solid
  double fraction = 0.5;    ///< of the link up to the wall
  std::array<double, 3> velocity{};  ///< of the wall, in lattice units
  double share = 0.0;       ///< of what passes the cell
  double push = 0.0;        ///< of the wall's motion
  /// What left to the wall and what came back in the last step, less the weight.
  double left = 0.0, back = 0.0;
};

/// Sets the numbers of a link from its fraction and velocity. `between_walls`: there is no fluid behind the cell; the wall is then half-way.
template <class L>
void prepare(WallLink& link, bool between_walls) {
  if (between_walls) link.fraction = 0.5;
  double along = 0;
  for (int d = 0; d < L::dimension; ++d) along += L::e[link.direction][d] * link.velocity[d];
  link.share = (1.0 - 2.0 * link.fraction) / (1.0 + 2.0 * link.fraction);
  link.push = -12.0 / (1.0 + 2.0 * link.fraction) * L::weight(link.direction) * along;
}

/// Sets what comes back from the walls.
template <class L, class T>
void reflect(const Populations<L, T>& f, std::vector<WallLink>& links,
             const std::array<typename Storage<T>::Compute, L::directions>& units) {
  using C = typename Storage<T>::Compute;
  const core::NoInterrupts whole;
  core::parallel_for(0, static_cast<Index>(links.size()), 2048, [&](Index begin, Index end) {
    for (auto link = links.begin() + begin; link != links.begin() + end; ++link) {
      const int k = link->direction, o = opposite(k);
      const C left = Storage<T>::value(f.leaving(k)[link->cell], units[k]);
      C back = left + C(link->push);
      if (link->share != 0.0)
        back += C(link->share) * (Storage<T>::value(f.next(k)[link->cell], units[k]) -
                                  Storage<T>::value(f.leaving(o)[link->cell], units[o]));
      f.next(o)[link->cell] = Storage<T>::stored(back, units[o]);
      link->left = left;
      link->back = back;
    }
  });
}

}  // namespace meniscus::fluids::lattice
