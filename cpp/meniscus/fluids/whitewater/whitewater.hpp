/// Whitewater: spray, foam and bubbles where a liquid takes in air. They are particles that follow the liquid and the air above
/// it, and do not act on them.
///
/// Source: Ihmsen, Akinci, Akinci and Teschner 2012, "Unified spray, foam and bubbles for particle-based fluids", sections 3.1 to
/// 3.3, on the velocity and the level set of a grid. Terminal speeds take the place of the printed drag and buoyancy.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::fluids {

enum class WhitewaterKind : std::uint8_t { spray, foam, bubble };

/// Rises from 0 at `low` to 1 at `high`.
struct Ramp {
  double low, high;
  double operator()(double value) const { return value >= high ? 1.0 : value <= low ? 0.0 : (value - low) / (high - low); }
};

/// What a cell at the surface sends out in a second: Φ_speed (air_rate Φ_air + crest_rate Φ_crest) particles.
struct WhitewaterSources {
  double air_rate = 0.0;           ///< 1/s
  double crest_rate = 0.0;         ///< 1/s
  Ramp air;                        ///< of the mean speed at which the liquid around comes towards a cell or passes it, m/s
  Ramp crest;                      ///< of the curvature of the surface times the spacing, where the liquid moves along its normal
  Ramp energy;                     ///< of half the square of the speed, m^2/s^2
  double spread = 0.0;             ///< speed in a random direction, in parts of that of `air`
  std::array<double, 2> radius{};  ///< m, between which the radii lie
  std::array<double, 2> lifetime{};  ///< s, likewise
  std::uint64_t seed = 0;
  Index most = 0;  ///< particles that there may be; the sources of a step are cut alike so that no more come
};

/// How particles move.
struct WhitewaterMotion {
  double air_drag = 0.0;  ///< of spray, 1/s
  double rise = 0.0;      ///< terminal speed of bubbles, m/s
  double response = 0.0;  ///< s in which bubbles and foam take the velocity of the liquid
  double layer = 0.0;     ///< half the thickness of the foam, m: spray is above, bubbles are below
};

struct WhitewaterEmission {
  Index emitted = 0;
  double wanted = 0.0;  ///< what the sources would have sent out without `most`
};

/// Adds the particles that the liquid of this block sends out in dt. Columns: 'velocity', 'radius', 'lifetime' of the type of the
/// positions, 'kind' uint8. `solid`: its level set on nodes, or nullptr. `step` keys the random numbers.
template <class T, int D>
WhitewaterEmission emit_whitewater(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, grid::Field<T, D>& phi,
                                   grid::Field<double, D>* solid, const WhitewaterSources& sources, double layer, double dt,
                                   double time, std::uint32_t step, Workspace& workspace);

/// Moves all particles for dt by their kind where they are, ages the foam, and removes what is too old; returns the number of
/// these. Particles may lie beyond the domain or in the solid afterwards. Collective.
template <class T, int D>
Index move_whitewater(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, grid::Field<T, D>& phi,
                      grid::Field<double, D>* solid, const Vec<double, D>& gravity, const WhitewaterMotion& motion, double dt,
                      double time, Workspace& workspace);

/// Sets the kind of each particle from the level set where it is. Collective.
template <class T, int D>
void sort_whitewater(grid::ParticleSet& particles, grid::Field<T, D>& phi, double layer, double time, Workspace& workspace);

}  // namespace meniscus::fluids
