/// Sets of discrete velocities of the lattice Boltzmann method, with their weights.
///
/// Velocity 0 is rest; velocities 2 p + 1 and 2 p + 2 are opposite. D3Q19 is numbered as in Müller et al. 2008, section 10.2,
/// with the signs of the diagonals chosen so.
#pragma once

#include "meniscus/core/types.hpp"

#include <array>
#include <utility>

namespace meniscus::fluids::lattice {

using core::Coord;
using core::Index;

template <int D, int Q>
struct Lattice;

/// Two dimensions, nine velocities. The weights are 4/9, 1/9 and 1/36; those printed in the notes are the head of the D3Q19
/// table, and lose mass.
template <>
struct Lattice<2, 9> {
  static constexpr int e[9][3] = {{0, 0, 0}, {1, 0, 0},   {-1, 0, 0}, {0, 1, 0}, {0, -1, 0},
                                  {1, 1, 0}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}};
  static constexpr double weight_by_square[4] = {4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 0.0};
};

template <>
struct Lattice<3, 15> {
  static constexpr int e[15][3] = {{0, 0, 0},   {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},    {0, -1, 0},
                                   {0, 0, 1},   {0, 0, -1}, {1, 1, 1},   {-1, -1, -1}, {1, 1, -1},
                                   {-1, -1, 1}, {1, -1, 1}, {-1, 1, -1}, {1, -1, -1},  {-1, 1, 1}};
  static constexpr double weight_by_square[4] = {2.0 / 9.0, 1.0 / 9.0, 0.0, 1.0 / 72.0};
};

template <>
struct Lattice<3, 19> {
  static constexpr int e[19][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
                                   {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0}, {0, 1, 1},  {0, -1, -1}, {0, 1, -1},
                                   {0, -1, 1}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1}, {-1, 0, 1}};
  static constexpr double weight_by_square[4] = {1.0 / 3.0, 1.0 / 18.0, 1.0 / 36.0, 0.0};
};

template <>
struct Lattice<3, 27> {
  static constexpr int e[27][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},  {0, 0, 1},   {0, 0, -1},
                                   {1, 1, 0},  {-1, -1, 0}, {1, -1, 0},  {-1, 1, 0},  {0, 1, 1},   {0, -1, -1}, {0, 1, -1},
                                   {0, -1, 1}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},  {-1, 0, 1},  {1, 1, 1},   {-1, -1, -1},
                                   {1, 1, -1}, {-1, -1, 1}, {1, -1, 1},  {-1, 1, -1}, {1, -1, -1}, {-1, 1, 1}};
  static constexpr double weight_by_square[4] = {8.0 / 27.0, 2.0 / 27.0, 1.0 / 54.0, 1.0 / 216.0};
};

/// Largest number of directions of any set.
inline constexpr int most_directions = 27;

/// The opposite of a direction.
constexpr int opposite(int k) { return k == 0 ? 0 : (k % 2 == 1 ? k + 1 : k - 1); }

/// What kernels ask of a set.
template <int D, int Q>
struct LatticeModel : Lattice<D, Q> {
  static constexpr int dimension = D;
  static constexpr int directions = Q;
  static constexpr int pairs = Q / 2;

  static constexpr int square(int k) {
    int s = 0;
    for (int d = 0; d < D; ++d) s += Lattice<D, Q>::e[k][d] * Lattice<D, Q>::e[k][d];
    return s;
  }
  static constexpr double weight(int k) { return Lattice<D, Q>::weight_by_square[square(k)]; }
  /// The direction with these components.
  static constexpr int find(const std::array<int, 3>& e) {
    for (int k = 0; k < Q; ++k)
      if (Lattice<D, Q>::e[k][0] == e[0] && Lattice<D, Q>::e[k][1] == e[1] && Lattice<D, Q>::e[k][2] == e[2]) return k;
    return -1;
  }
};

}  // namespace meniscus::fluids::lattice
