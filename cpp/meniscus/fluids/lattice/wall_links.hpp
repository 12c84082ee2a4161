/// Links between fluid cells and the solid cells beside them: walls at their true distance, or half-way.
///
/// A link has the part up to the wall, delta in (0, 1]. What comes back along it is what left along it, corrected by what passes
/// the cell in the direction of the wall and away from it, with the weight (1 - 2 delta) / (1 + 2 delta), which is exact for
/// flows that are linear and, with two relaxation times, does not depend on the viscosity; half-way walls have delta = 1/2 and no
/// correction.
///
/// Half-way walls keep the mass; others leak a little. What they have added, beyond what half-way walls with the same velocities
/// would, is taken back from all links in the next steps, little by little.
///
/// Source: Ginzburg, Verhaeghe and d'Humières 2008, Commun. Comput. Phys. 3, 427, section 5 (central linear interpolation); Ladd
/// 1994, J. Fluid Mech. 271, 285 (momentum exchange of walls that move); Müller et al. 2008, section 10.4 (half-way).
#pragma once

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/lattice/exits.hpp"

#include <vector>

namespace meniscus::fluids::lattice {

/// What a step needs of a link, and what it leaves there.
template <class C>
struct WallLink {
  Index cell = 0;  ///< of the fluid, index in the box
  C share = 0;     ///< of what passes the cell
  C push = 0;      ///< of the wall's motion
  /// What left to the wall and what came back in the last step, less the weight.
  C left = 0, back = 0;
  std::int32_t direction = 0;  ///< from the cell to the wall
};

/// Where the wall of a link is.
struct LinkPlace {
  double fraction = 0.5;             ///< of the link up to the wall
  std::array<double, 3> velocity{};  ///< of the wall, in lattice units
  std::int32_t owner = 0;            ///< number of the solid
};

/// What a wall half-way would add to the population that comes back.
template <class L>
double half_way_push(int direction, const std::array<double, 3>& velocity) {
  double along = 0;
  for (int d = 0; d < L::dimension; ++d) along += L::e[direction][d] * velocity[d];
  return -6.0 * L::weight(direction) * along;
}

/// Sets the numbers of a link from its place. `between_walls`: there is no fluid behind the cell; the wall is then half-way.
template <class L, class C>
void prepare(WallLink<C>& link, LinkPlace& place, bool between_walls) {
  if (between_walls) place.fraction = 0.5;
  const double both = 1.0 + 2.0 * place.fraction;
  link.share = C((1.0 - 2.0 * place.fraction) / both);
  link.push = C(2.0 / both * half_way_push<L>(link.direction, place.velocity));
}

/// Sets what comes back from the walls, less `leak` times the weight of each link; returns the mass that walls at their true
/// distance would else have added.
template <class L, class T>
double reflect(const Populations<L, T>& f, std::vector<WallLink<typename Storage<T>::Compute>>& links, double leak,
               const std::array<typename Storage<T>::Compute, L::directions>& units) {
  using C = typename Storage<T>::Compute;
  const core::NoInterrupts whole;
  std::array<C, L::directions> sealed{};
  for (int k = 0; k < L::directions; ++k) sealed[k] = C(leak * L::weight(k));
  return core::parallel_reduce(
      0, static_cast<Index>(links.size()), 2048, 0.0,
      [&](Index begin, Index end) {
        double added = 0;
        for (auto link = links.begin() + begin; link != links.begin() + end; ++link) {
          const int k = link->direction, o = opposite(k);
          const C left = Storage<T>::value(f.leaving(k)[link->cell], units[k]);
          C back = left + link->push;
          if (link->share != C(0))
            back += link->share *
                    (Storage<T>::value(f.next(k)[link->cell], units[k]) - Storage<T>::value(f.leaving(o)[link->cell], units[o]));
          added += static_cast<double>(back - left);
          back -= sealed[k];
          f.next(o)[link->cell] = Storage<T>::stored(back, units[o]);
          link->left = left;
          link->back = back;
        }
        return added;
      },
      [](double a, double b) { return a + b; });
}

}  // namespace meniscus::fluids::lattice
