/// Removal of marker particles that have escaped too far from their level set (Guendelman, Selle, Losasso and Fedkiw, "Coupling
/// water and smoke to thin deformable and rigid shells", 2005, section 8).
#pragma once

#include "meniscus/surface/markers/particle_spray.hpp"

#include <limits>
#include <optional>

namespace meniscus::surface {

/// Markers that are removed. s is their sign, phi the level set at their place.
struct EscapeRules {
  double distance = 1.5;                                   ///< removed are markers with -s phi > distance * radius
  bool inside = true;                                      ///< markers of the inside are
  bool outside = true;                                     ///< markers of the outside are
  double depth = std::numeric_limits<double>::infinity();  ///< m; markers of the outside with -phi > depth are in any case
  double removed_radius = 0.0;                             ///< m, of spray and bubbles; zero: that of the marker
  std::optional<RadiusBounds> far_radii;                   ///< the radii of those that stay are set, as by RadiusOf::far
};

struct Removal {
  Transfer inside, outside;
};

/// Removes escaped markers. Those with -s phi > distance * radius are added to `spray` or `bubbles`, where these are given, with
/// the velocity of the flow at their place. The level set is read once. Nothing is changed if anything is thrown.
template <class T, int D>
Removal remove_escaped(grid::Field<T, D>& phi, grid::ParticleSet& markers, const EscapeRules& rules,
                       grid::MacField<T, D>& velocity, grid::ParticleSet* spray, grid::ParticleSet* bubbles, double time,
                       Workspace& workspace);

}  // namespace meniscus::surface
