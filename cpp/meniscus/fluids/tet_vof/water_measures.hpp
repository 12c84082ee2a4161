/// Sums over the water of a mesh, and what the mesh has room for.
#pragma once

#include "meniscus/fluids/tet_vof/tet_ranks.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

#include <utility>

namespace meniscus::fluids {

/// The largest and the mean volume of tetrahedra, m^3.
std::pair<double, double> largest_and_mean_volume(std::span<const mesh::Tet> tets, std::span<const mesh::Point> positions);

/// The sum of volumes that are multiples of a quantum, m^3, rounded once.
double total_volume(std::span<const double> volumes, const Quantum& quantum);

/// Replaces each volume by the nearest multiple of the quantum, and the velocity of what is dry by 0. Returns by how much the sum
/// of volumes has changed. Throws InvalidArgument that names the first volume which is negative or not finite.
double round_water(const TetWater& water, const Quantum& quantum);

/// The sum of volume times velocity, m^4/s.
mesh::Point total_momentum(const TetWater& water);

/// Sets what each tetrahedron may hold, m^3: its volume without the part that is solid (a fraction; or none) and without what
/// else takes up room (m^3; or nothing), not below 0; nothing where the kind is inside or disabled.
void measure_capacity(std::span<const mesh::Tet> tets, std::span<const mesh::Point> positions, std::span<const double> solid,
                      std::span<const double> porosity, std::span<const TetKind> kinds, std::span<double> capacity);

/// Adds an acceleration times dt, m/s, to all water. Returns the change of momentum over density.
mesh::Point accelerate(const TetWater& water, const mesh::Point& change);

/// Adhesion: accelerates water by strength (reach - distance) / reach along a direction, where its centroid is closer to the
/// solid than `reach`, m. `strengths` m/s^2 and `directions` have one row per tetrahedron or one for all; without directions,
/// towards the solid. Returns the change of momentum over density.
///
/// Source: Lee 2018, section 3.3.4.
mesh::Point adhere(const TetWater& water, std::span<const mesh::Tet> tets, std::span<const double> distances,
                   std::span<const mesh::Point> normals, std::span<const double> strengths,
                   std::span<const mesh::Point> directions, double reach, double dt);

}  // namespace meniscus::fluids
