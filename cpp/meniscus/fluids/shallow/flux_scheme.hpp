/// The scheme `flux` of shallow water: finite volumes, second order in space and time, at rest over any ground, never negative.
///
/// Heun's method over limited, hydrostatically reconstructed fluxes. Only tiles with water, or beside some, are worked on.
/// A substep dt obeys dt (|u| + c + |v| + c) <= spacing / 2 in both of its stages, with the largest values of the whole water,
/// which makes depths stay positive: no cell gives more through its faces than it holds.
#pragma once

#include "meniscus/fluids/shallow/flux_kind.hpp"
#include "meniscus/fluids/shallow/shallow_tiles.hpp"

namespace meniscus::fluids {

template <class T>
class FluxScheme {
 public:
  explicit FluxScheme(const ShallowLayout& layout);

  /// Advances the water by dt (s) in substeps. Throws InvalidArgument for water that is not finite or takes more than 10^6
  /// substeps.
  ShallowSums advance(const ShallowModel<T>& model, ShallowFields<T>& water, double dt);

  /// Longest substep (s) of the water as it is; infinite without water.
  double longest_substep(const ShallowModel<T>& model, const ShallowFields<T>& water);

  Index bytes() const;

 private:
  void stage(const ShallowModel<T>& model, const ShallowFields<T>& from, const ShallowFields<T>* base, ShallowFields<T>& to,
             double dt);
  double fastest() const;
  template <FluxKind kind>
  void work_on(const ShallowModel<T>& model, const ShallowFields<T>& from, const ShallowFields<T>* base, ShallowFields<T>& to,
               double dt, ShallowTile& tile) const;

  ShallowLayout layout_;
  ShallowFields<T> middle_;
  ShallowTiles tiles_;
};

}  // namespace meniscus::fluids
