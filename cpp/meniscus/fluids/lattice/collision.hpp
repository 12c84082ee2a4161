/// Collision of the populations of one pack of cells: one or two relaxation times, with second-order forcing and Smagorinsky's
/// model.
///
/// Equilibria are those of He and Luo for incompressible flow: velocity is momentum, at the reference density 1. The symmetric
/// parts of opposite populations relax at the rate that viscosity tells; the antisymmetric ones at the same (BGK), or such that
/// (1 / even - 1/2) (1 / odd - 1/2) is `magic`.
///
/// Source: Müller et al. 2008, section 10.3 (10.4)-(10.6), 10.5; He and Luo 1997, J. Stat. Phys. 88, 927; Guo, Zheng and Shi
/// 2002, Phys. Rev. E 65, 046308 (forcing); Ginzburg, Verhaeghe and d'Humières 2008, Commun. Comput. Phys. 3, 427 (two relaxation
/// times).
#pragma once

#include "meniscus/fluids/lattice/lattice_models.hpp"
#include "meniscus/fluids/lattice/packs.hpp"

#include <cmath>

namespace meniscus::fluids::lattice {

/// Which rates apply to which parts.
enum class CollisionKind : int { bgk, trt, cumulant };

/// The viscosity that Smagorinsky's model adds. `printed` has the viscosity where the relaxation time belongs: (10.9) of the
/// notes.
enum class EddyForm : int { consistent, printed };

/// A collision in lattice units.
struct CollisionRule {
  CollisionKind kind = CollisionKind::trt;
  double viscosity = 1.0 / 6.0;
  /// (1 / even - 1/2) (1 / odd - 1/2): 3/16 puts half-way walls along the axes where they belong at any viscosity.
  double magic = 3.0 / 16.0;
  /// Acceleration.
  std::array<double, 3> force{};
  /// Constant of the eddy viscosity; 0: none.
  double smagorinsky = 0.0;
  EddyForm form = EddyForm::consistent;
  /// Speeds above this are refused.
  double limit = 1.0;

  double tau() const { return 3.0 * viscosity + 0.5; }
};

/// The numbers of a rule in the scalar of the kernel.
template <class C>
struct CollisionNumbers {
  explicit CollisionNumbers(const CollisionRule& r)
      : tau(C(r.tau())),
        even(C(1.0 / r.tau())),
        bgk(r.kind == CollisionKind::bgk),
        magic(C(r.magic)),
        eddy(C(18.0 * r.smagorinsky * r.smagorinsky)),
        base(C(r.form == EddyForm::consistent ? r.tau() : r.viscosity)),
        limit(C(r.limit * r.limit)) {
    odd = bgk ? even : C(1.0 / (r.magic / (r.tau() - 0.5) + 0.5));
    for (int d = 0; d < 3; ++d) force[d] = C(r.force[d]);
  }
  C tau, even, odd{};
  bool bgk;
  C magic, eddy, base, limit;
  std::array<C, 3> force{};
};

template <class C>
MENISCUS_INLINE PackOf<C> square_root(const PackOf<C>& x) {
  PackOf<C> r;
  for (int i = 0; i < Lanes<C>::count; ++i) r[i] = std::sqrt(x[i]);
  return r;
}

/// x times a component of a direction, added to a sum.
template <int E, class P>
MENISCUS_INLINE void add_times(P& sum, const P& x) {
  if constexpr (E > 0) sum += x;
  if constexpr (E < 0) sum -= x;
}

/// Density less 1, and momentum, of the populations of a pack.
template <class L, class C>
MENISCUS_INLINE void sum_moments(const PackOf<C>* f, PackOf<C>& density, PackOf<C>* momentum) {
  using P = PackOf<C>;
  density = f[0];
  for (int d = 0; d < L::dimension; ++d) momentum[d] = P{};
  unroll<L::pairs>([&](auto pair) MENISCUS_FORCED {
    constexpr int k = 2 * pair + 1;
    density += f[k] + f[k + 1];
    const P difference = f[k] - f[k + 1];
    unroll<L::dimension>([&](auto d) MENISCUS_FORCED { add_times<L::e[k][d]>(momentum[d], difference); });
  });
}

/// Sets q to the second moment of f less its equilibrium, and returns its norm: before the collision it is 2/3 of the relaxation
/// time times that of the strain rate. Source: Müller et al. 2008, section 10.5.
template <class L, class C>
MENISCUS_INLINE PackOf<C> stress_of(const PackOf<C>* f, const PackOf<C>& density, const PackOf<C>* u,
                                    const std::array<C, 3>& force, PackOf<C> (&q)[3][3]) {
  constexpr int D = L::dimension;
  using P = PackOf<C>;
  P total{};
  unroll<D>([&](auto a) MENISCUS_FORCED {
    unroll<D>([&](auto b) MENISCUS_FORCED {
      if constexpr (b >= a) {
        P moment{};
        unroll<L::pairs>([&](auto pair) MENISCUS_FORCED {
          constexpr int k = 2 * pair + 1;
          add_times<L::e[k][a] * L::e[k][b]>(moment, P(f[k] + f[k + 1]));
        });
        moment -= u[a] * u[b];
        moment += (u[a] * force[b] + u[b] * force[a]) * C(0.5);
        if constexpr (a == b) moment -= density * C(1.0 / 3.0);
        total += moment * moment * C(a == b ? 1.0 : 2.0);
        q[a][b] = moment;
        q[b][a] = moment;
      }
    });
  });
  return square_root<C>(total);
}

/// Collides f in place, and returns the squared speed.
///
/// Forces enter without terms of their own: the antisymmetric part relaxes to e v with odd v = odd u + (1 - odd / 2) F, and the
/// symmetric part to the equilibrium of u + c F with c = 1 / even - 1/2, which differs from Guo's by a stress of order c^2 F^2.
template <class L, class C, bool Eddies>
MENISCUS_INLINE PackOf<C> collide(PackOf<C>* f, const CollisionNumbers<C>& n) {
  constexpr int D = L::dimension;
  using P = PackOf<C>;
  P density, u[D];
  sum_moments<L, C>(f, density, u);
  P speed{};
  for (int d = 0; d < D; ++d) {
    u[d] += C(0.5) * n.force[d];
    speed += u[d] * u[d];
  }
  using Rate = std::conditional_t<Eddies, P, C>;
  Rate even, odd, shift;
  if constexpr (Eddies) {
    P stress[3][3];
    const P norm = stress_of<L, C>(f, density, u, n.force, stress);
    const P tau = n.tau + (square_root<C>(n.base * n.base + n.eddy * norm) - n.base) * C(0.5);
    even = C(1.0) / tau;
    odd = n.bgk ? even : C(1.0) / (n.magic / (tau - C(0.5)) + C(0.5));
    shift = tau - C(0.5);
  } else {
    even = n.even;
    odd = n.odd;
    shift = n.tau - C(0.5);
  }
  P v[D], square{};
  const Rate rest = C(1.0) - C(0.5) * odd;
  for (int d = 0; d < D; ++d) {
    v[d] = odd * u[d] + rest * n.force[d];
    u[d] += shift * n.force[d];
    square += u[d] * u[d];
  }
  const Rate keep_even = C(0.5) - C(0.5) * even, keep_odd = C(0.5) - C(0.5) * odd;
  const P base = even * (density - C(1.5) * square);
  f[0] += C(L::weight(0)) * base - even * f[0];
  unroll<L::pairs>([&](auto pair) MENISCUS_FORCED {
    constexpr int k = 2 * pair + 1;
    constexpr C w = C(L::weight(k));
    P along{}, drift{};
    unroll<D>([&](auto d) MENISCUS_FORCED {
      add_times<L::e[k][d]>(along, u[d]);
      add_times<L::e[k][d]>(drift, v[d]);
    });
    const P even_part = keep_even * (f[k] + f[k + 1]) + w * base + (C(4.5) * w) * even * (along * along);
    const P odd_part = keep_odd * (f[k] - f[k + 1]) + (C(3.0) * w) * drift;
    f[k] = even_part + odd_part;
    f[k + 1] = even_part - odd_part;
  });
  return speed;
}

/// The equilibrium of direction k, less its weight.
template <class L, class C>
C equilibrium(int k, C density, const C* u) {
  C along = 0, speed = 0;
  for (int d = 0; d < L::dimension; ++d) {
    along += C(L::e[k][d]) * u[d];
    speed += u[d] * u[d];
  }
  return C(L::weight(k)) * (density + C(3.0) * along + C(4.5) * along * along - C(1.5) * speed);
}

}  // namespace meniscus::fluids::lattice
