/// Translations of expansions in solid harmonics: a rotation that takes the direction to the z axis, a translation along it, and
/// the rotation back, each a set of small dense matrices that act on eight expansions at a time: O(p^3) operations.
///
/// Expansions are scaled by the side of their boxes, so that those of all levels share the tables.
///
/// Source: Greengard and Rokhlin 1997, section 3 (rotations); White and Head-Gordon 1996.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/numerics/multipole/harmonics.hpp"

#include <memory>
#include <utility>

namespace meniscus::numerics {

/// Eight expansions or fewer, by their first coefficients.
struct ExpansionLanes {
  std::array<const double*, octet_size> from;
  std::array<double*, octet_size> to;
  int count = 0;

  /// Adds a pair, and calls translate(*this) when the lanes are full.
  template <class F>
  void add(const double* source, double* target, F&& translate) {
    from[count] = source;
    to[count++] = target;
    if (count == octet_size) flush(translate);
  }
  /// Calls translate(*this) for the pairs that are left; unused lanes repeat the first source.
  template <class F>
  void flush(F&& translate) {
    for (int i = count; i < octet_size; ++i) from[i] = from[0];
    if (count > 0) translate(*this);
    count = 0;
  }
};

class Translations {
 public:
  /// Tables of an order, made once and kept.
  static const Translations& of_order(int order);
  explicit Translations(int order);

  int order() const { return order_; }

  /// Directions between boxes of one level that are not neighbours while their parents are: each component in [-3, 3].
  static constexpr int directions = 343;
  static constexpr int direction(Index x, Index y, Index z) { return static_cast<int>((x + 3) * 49 + (y + 3) * 7 + z + 3); }

  /// Adds local expansions of multipole ones; the direction is that from source to target.
  void multipole_to_local(int direction, const ExpansionLanes& lanes) const { apply(far_[direction], lanes); }
  /// Adds multipoles of children to those of parents; `octant` has x in the bit of value 4.
  void multipole_to_parent(int octant, const ExpansionLanes& lanes) const { apply(up_[octant], lanes); }
  /// Adds local expansions of parents to those of children.
  void local_to_child(int octant, const ExpansionLanes& lanes) const { apply(down_[octant], lanes); }

 private:
  struct Turn {
    std::vector<double> matrix;  ///< per degree: rows of cosines, rows of sines
  };
  struct Shift {
    const Turn* turn = nullptr;
    const std::vector<double>* axial = nullptr;
    std::vector<double> before, after;  ///< cosine and sine of m times the azimuth by (n, m), scaled by powers of the distance
  };

  Shift make_shift(const Vec<double, 3>& direction, const std::vector<double>& axial) const;
  const Turn* turn_about_y(double angle);
  void apply(const Shift& shift, const ExpansionLanes& lanes) const;

  int order_;
  std::vector<std::pair<double, std::unique_ptr<Turn>>> turns_;
  std::vector<double> far_axial_, up_axial_, down_axial_;
  std::vector<Shift> far_, up_, down_;
};

}  // namespace meniscus::numerics
