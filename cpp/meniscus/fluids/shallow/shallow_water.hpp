/// Shallow water: what it is made of, and its step in one of three schemes.
///
/// Source: Mueller, Stam, James and Thuerey, "Real time physics class notes", chapter 11 and appendix A.
#pragma once

#include "meniscus/fluids/shallow/flux_scheme.hpp"
#include "meniscus/fluids/shallow/shallow_model.hpp"
#include "meniscus/fluids/shallow/staggered_scheme.hpp"

#include <memory>

namespace meniscus::fluids {

/// flux: finite volumes, see flux_scheme.hpp. staggered: conserves mass and momentum on staggered faces. printed:
/// semi-Lagrangian, as in the notes with the signs put right.
enum class ShallowScheme : int { flux, staggered, printed };

/// Arrays of the model and of the water, by name.
enum class ShallowArray : int {
  depth,
  u,
  v,
  ground,
  pressure,
  gravity_of,
  manning,
  push_u,
  push_v,
  stress_u,
  stress_v,
  damping_u,
  damping_v,
  level,
  wall_u,
  wall_v
};

template <class T>
class ShallowWater {
 public:
  ShallowWater(const ShallowModel<T>& model, ShallowScheme scheme);

  /// An array of numbers, made where it is not there yet.
  Block<T>& array(ShallowArray which);
  /// Takes an array away.
  void drop(ShallowArray which);
  /// Whether the samples of an array are the faces before the cells along an axis; -1: they are cells.
  int faces_of(ShallowArray which) const;
  Block<std::uint8_t>& walls(int axis);

  ShallowModel<T>& model() { return model_; }
  const ShallowModel<T>& model() const { return model_; }
  ShallowFields<T>& water() { return water_; }
  ShallowScheme scheme() const { return scheme_; }

  ShallowSums advance(double dt);
  double longest_substep();
  /// As the functions of the same names in wet_cells.hpp.
  void fill_ratio(double flat, double film, double* ratio);
  void height_over_water(double* height);
  Index bytes() const;

 private:
  ShallowModel<T> model_;
  ShallowFields<T> water_;
  ShallowScheme scheme_;
  std::unique_ptr<FluxScheme<T>> flux_;
  std::unique_ptr<StaggeredScheme<T>> staggered_;
};

}  // namespace meniscus::fluids
