/// Shapes of altitude-spring hair: particles beside the hair where its own do not span tetrahedra, and spring constants that give
/// a strand its stiffness against bending and twist.
///
/// Source: Selle 2008, section 7.3.1 and figure 7.1(d) (two new particles at the middles of segments). Fit of the constants: own.
#pragma once

#include "meniscus/solids/hair/strips/strip_strands.hpp"

namespace meniscus::solids::hair::strips {

/// Which segments get a particle beside them: those in line with a neighbour, or all.
enum class Extra : std::int8_t { colinear, always };

/// What a particle is: on the hair, beside it, or part of the frame behind the root.
enum class Particle : std::uint8_t { point, extra, frame };

struct StripShape {
  std::vector<std::int64_t> offsets;
  std::vector<mesh::Point> particles;
  std::vector<Particle> kinds;
  /// Particle of each point of the hair.
  std::vector<std::int32_t> nodes;
  /// Masses as parts of the mass per length times the length, m.
  std::vector<double> lengths;
  /// Per particle, whether its springs to the next and to the one after it are edges, which hardly stretch.
  std::vector<std::array<std::uint8_t, 2>> edges;
  /// The particle on the hair, or before one beside it, from which `limit_lengths` goes on; -1: none.
  std::vector<std::int32_t> parents;
};

/// `framed`: two particles behind each root hold its direction and twist. Throws InvalidArgument for coincident points.
StripShape shape_strips(std::span<const std::int64_t> offsets, std::span<const mesh::Point> points,
                        std::span<const mesh::Point> directions, std::span<const mesh::Point> directors, bool framed,
                        Extra extra);

/// Per strand, N m^2 (bending, twisting) and N (stretching).
struct StrandStiffness {
  double bending = 0;
  double twisting = 0;
  double stretching = 0;
};

/// Constants of all springs such that the strands, held at their first three particles, give way to forces and moments at their
/// tips as rods of this stiffness do. Sets per strand the largest relative difference of those compliances that were fitted.
std::vector<SpringConstants> fit_constants(const StripShape& shape, std::span<const StrandStiffness> stiffness,
                                           std::span<double> misfit);

/// Tensions of the springs to the next three particles that hold loads on a strand of n particles, from its tip on; false where
/// springs have no direction. Particles 0 to 2 take what is left.
bool balance(Index n, const mesh::Point* x, const mesh::Point* loads, std::array<double, 3>* tensions);

}  // namespace meniscus::solids::hair::strips
