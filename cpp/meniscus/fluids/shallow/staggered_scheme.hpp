/// The schemes `staggered` and `printed` of shallow water, on staggered faces: height first, then velocities by the new height.
///
/// staggered: depth by upwind fluxes, velocity by momentum that is conserved across jumps (Stelling and Duinmeijer 2003).
/// printed: depth and velocities carried along characteristics, then changed by divergence and slope ("Real time physics class
/// notes", chapter 11, with the signs put right). It does not conserve mass, and its jumps are too slow, however fine the grid
/// is.
#pragma once

#include "meniscus/fluids/shallow/shallow_tiles.hpp"

namespace meniscus::fluids {

template <class T>
class StaggeredScheme {
 public:
  StaggeredScheme(const ShallowLayout& layout, bool printed);

  /// As `FluxScheme::advance`.
  ShallowSums advance(const ShallowModel<T>& model, ShallowFields<T>& water, double dt);
  double longest_substep(const ShallowModel<T>& model, const ShallowFields<T>& water);
  Index bytes() const;

 private:
  void fill_sides(const ShallowModel<T>& model, ShallowFields<T>& water) const;
  void carry(const ShallowModel<T>& model, const ShallowFields<T>& from, ShallowFields<T>& to, T ratio);
  void spread(const ShallowModel<T>& model, ShallowFields<T>& to, T ratio);
  void flow(const ShallowModel<T>& model, const ShallowFields<T>& from, ShallowFields<T>& to, T ratio);
  void accelerate(const ShallowModel<T>& model, const ShallowFields<T>& from, ShallowFields<T>& to, double dt);
  double bound() const;

  ShallowLayout layout_;
  bool printed_;
  ShallowFields<T> other_;
  ShallowTiles tiles_;
};

}  // namespace meniscus::fluids
