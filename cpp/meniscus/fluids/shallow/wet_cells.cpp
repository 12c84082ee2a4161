#include "meniscus/fluids/shallow/wet_cells.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>

namespace meniscus::fluids {
namespace {

template <class Body>
void each_cell(const ShallowLayout& at, Body&& body) {
  parallel_for(0, at.nx, 8, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i)
      for (Index j = 0; j < at.ny; ++j) body(at.at(i, j), i * at.ny + j);
  });
}

template <class T>
std::array<Index, 4> neighbours(const ShallowModel<T>& model, Index k) {
  return {k - model.layout.stride, k + model.layout.stride, k - 1, k + 1};
}

}  // namespace

template <class T>
void fill_ratio(const ShallowModel<T>& model, const ShallowFields<T>& water, double flat, double film, double* ratio) {
  each_cell(model.layout, [&](Index k, Index out) {
    const double ground = model.ground[k], depth = water.depth[k];
    double least = ground, most = ground, deepest = depth, highest = -std::numeric_limits<double>::infinity();
    for (const Index n : neighbours(model, k)) {
      least = std::min(least, static_cast<double>(model.ground[n]));
      most = std::max(most, static_cast<double>(model.ground[n]));
      deepest = std::max(deepest, static_cast<double>(water.depth[n]));
      if (water.depth[n] > model.dry) highest = std::max(highest, static_cast<double>(model.ground[n]) + water.depth[n]);
    }
    const double low = 0.5 * (ground + least), high = 0.5 * (ground + most) + flat;
    const double surface = depth > model.dry ? ground + depth : highest;
    const bool dry = !std::isfinite(surface) || 0.5 * (depth + deepest) < film;
    ratio[out] = dry ? 0.0 : std::clamp((surface - low) / (high - low), 0.0, 1.0);
  });
}

template <class T>
void height_over_water(const ShallowModel<T>& model, const ShallowFields<T>& water, double* height) {
  each_cell(model.layout, [&](Index k, Index out) {
    const double ground = model.ground[k], dry = model.dry;
    if (water.depth[k] > dry) {
      height[out] = -static_cast<double>(water.depth[k]);
      return;
    }
    double surface = -std::numeric_limits<double>::infinity();
    for (const Index n : neighbours(model, k))
      if (water.depth[n] > dry) surface = std::max(surface, static_cast<double>(model.ground[n]) + water.depth[n]);
    // Water that stands above dry ground beside it ends half a cell on.
    height[out] = std::isfinite(surface) && ground > surface ? ground - surface : model.spacing;
  });
}

#define MENISCUS_INSTANTIATE(T)                                                                          \
  template void fill_ratio<T>(const ShallowModel<T>&, const ShallowFields<T>&, double, double, double*); \
  template void height_over_water<T>(const ShallowModel<T>&, const ShallowFields<T>&, double*);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
