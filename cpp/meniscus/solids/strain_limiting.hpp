/// Strain limiting: impulses along edges that keep their lengths at the end of a step within a part of those at rest.
///
/// An edge whose ends would come too far apart, or too close, takes an impulse along the line between its ends at the end of the
/// step that gives it the length of the limit. The impulses on both ends are opposite, so linear momentum is conserved, for any
/// masses. Edges take the newest velocities, colour by colour, within a colour in ascending order; edges of one colour have no
/// end in common that can move, so they are done in parallel with the bits of that order.
///
/// Source: Guendelman et al. 2005, section 2; Provot, "Deformation constraints in a mass-spring model to describe rigid cloth
/// behavior", 1995; Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation",
/// 2002, section 7.3 (velocities in place of positions).
#pragma once

#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/numerics/graph/colouring.hpp"

#include <array>
#include <span>
#include <vector>

namespace meniscus::solids {

struct StrainLimits {
  /// Greatest change of length over length at rest.
  double limit = 0.1;
  /// Impulses lead to this multiple of the limit, so that a finite number of sweeps meets it.
  double inside = 0.99;
  /// Most sweeps over all edges.
  Index sweeps = 100;
};

struct StrainReport {
  /// Sweeps over all edges, with the one that found nothing to do.
  Index sweeps = 0;
  Index impulses = 0;
  /// Greatest change of length over length at rest at the end of the step, before and after.
  double before = 0;
  double after = 0;
};

class StrainLimiter {
 public:
  /// Throws InvalidArgument for ends that are no nodes or equal, and for lengths that are not positive and finite. Ends of
  /// inverse mass 0 do not take impulses.
  StrainLimiter(std::span<const std::array<std::int32_t, 2>> edges, std::span<const double> rest_lengths,
                std::span<const double> inverse_masses);

  /// Changes the velocities (m/s) of a step dt (s) from the positions (m). If it throws, they are unchanged.
  StrainReport limit(std::span<const mesh::Point> positions, std::span<mesh::Point> velocities, double dt,
                     const StrainLimits& limits);

 private:
  struct Edge {
    std::array<std::int32_t, 2> nodes;
    double length;
  };
  double largest_strain(std::span<const mesh::Point> positions, std::span<const mesh::Point> velocities, double dt) const;

  std::vector<double> inverse_masses_;
  /// By colours.
  std::vector<Edge> edges_;
  std::vector<Index> colours_;
  std::vector<mesh::Point> moved_;
};

}  // namespace meniscus::solids
