/// Boundary treatment of particles that a step has moved beyond a side of the domain or into a solid.
#pragma once

#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::grid {

enum class ParticleFate : std::uint8_t {
  stays,     ///< where it is, or at a side that has stopped it
  pushed,    ///< to just outside of the solid
  in_solid,  ///< is in the solid, without a way out
  left,      ///< is beyond an open side
};

struct FateCounts {
  Index pushed = 0;
  Index in_solid = 0;
  Index left = 0;

  void count(ParticleFate fate) {
    pushed += fate == ParticleFate::pushed;
    in_solid += fate == ParticleFate::in_solid;
    left += fate == ParticleFate::left;
  }
};

/// Treatment of particles in the solid.
enum class InSolid {
  remove,    ///< they stay there; their fate is `in_solid`
  push_out,  ///< they are moved to just outside, along the gradient of the level set
};

template <int D>
struct ParticleBoundary {
  OpenSides<D> open{};
  /// Level set on nodes, a distance (m), <= 0 inside; or nullptr.
  const Field<double, D>* solid = nullptr;
  InSolid in_solid = InSolid::push_out;
};

/// Distance outside of a solid, in cells, at which a particle is put: enough to be outside in single precision too.
inline constexpr double solid_gap = 1e-3;

/// A point on its way out of a solid.
template <class T, int D>
struct PushedPoint {
  T x[D];
  ParticleFate fate = ParticleFate::stays;
  std::int8_t steps = 0;  ///< of at most ten

  Vec<double, D> position() const { return Eigen::Map<const Vec<T, D>>(x).template cast<double>(); }
};

/// Moves a point on until it is out of the solid or has no steps left; false where it has come into another block, which must go
/// on. `normal` becomes the last direction.
template <class T, int D>
bool push_on(const FieldProbe<double, D>& solid, PushedPoint<T, D>& point, Vec<double, D>* normal = nullptr);

/// Moves a point in the solid to just outside of it along the gradient of its level set, within the domain; `normal` becomes the
/// last direction. `in_solid` if it is still inside after ten steps. A level set that is a distance needs one or two. For grids
/// of one block.
template <class T, int D>
ParticleFate push_out(const FieldProbe<double, D>& solid, T* x, Vec<double, D>* normal = nullptr);

/// Moves n positions (n, D) by the rule and sets the fate of each. Particles beyond an open side stay there; those beyond a
/// closed one are put onto it. Along periodic axes nothing happens. Collective: particles may lie in any block. The counts are
/// those of the own particles.
template <class T, int D>
FateCounts apply_particle_boundary(const Grid<D>& grid, const ParticleBoundary<D>& boundary, T* positions, Index n,
                                   ParticleFate* fates);

/// The same for the particles of a set; sets left[i] to whether particle i is beyond an open side.
template <class T, int D>
FateCounts apply_particle_boundary(const Grid<D>& grid, const ParticleBoundary<D>& boundary, ParticleSet& particles,
                                   std::uint8_t* left, Workspace& workspace);

/// Sets flags[i] to whether particle i has left or, with `in_solid`, is in the solid, for ParticleSet::remove.
void flag_lost(const ParticleFate* fates, Index n, bool in_solid, std::uint8_t* flags);

}  // namespace meniscus::grid
