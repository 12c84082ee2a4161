#include "meniscus/fluids/shallow/shallow_model.hpp"

#include "meniscus/core/parallel.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

/// The cell of the domain that a ghost beyond one of n cells copies, and whether it is a mirror image.
struct Source {
  Index cell;
  bool mirrored;
};

Source source_of(Index i, Index n, ShallowSideKind low, ShallowSideKind high) {
  if (low == ShallowSideKind::joined) {
    // The domain may be narrower than its ghosts.
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return {i, false};
  }
  const ShallowSideKind kind = i < 0 ? low : high;
  if (kind != ShallowSideKind::wall) return {i < 0 ? 0 : n - 1, false};
  const Index image = i < 0 ? -1 - i : 2 * n - 1 - i;
  return {std::clamp<Index>(image, 0, n - 1), true};
}

/// Continues the bed in a straight line through sides where water flows, so that uniform flow down a slope stays uniform there.
template <class T>
void continue_bed(const ShallowModel<T>& model, T* bed) {
  const ShallowLayout& at = model.layout;
  for (int number = 0; number < 4; ++number) {
    const Index n = number < 2 ? at.nx : at.ny, across = number < 2 ? at.ny : at.nx;
    if (model.sides[number].kind <= ShallowSideKind::joined || n < 2) continue;
    const Index outward = (number < 2 ? at.stride : 1) * (number % 2 == 0 ? -1 : 1);
    for (Index k = 0; k < across; ++k) {
      const Index end = number % 2 == 0 ? 0 : n - 1;
      T* last = bed + (number < 2 ? at.at(end, k) : at.at(k, end));
      const T rise = last[0] - last[-outward];
      for (Index g = 1; g <= shallow_ghosts; ++g) last[g * outward] = last[0] + static_cast<T>(g) * rise;
    }
  }
}

}  // namespace

template <class T>
void fill_shallow_ghosts(const ShallowModel<T>& model, T* cells, int mirrored_axis) {
  const ShallowLayout& at = model.layout;
  constexpr Index g = shallow_ghosts;
  for (Index k = 0; k < 2 * g; ++k) {
    const Index i = k < g ? k - g : at.nx + k - g;
    const Source from = source_of(i, at.nx, model.sides[0].kind, model.sides[1].kind);
    const T sign = from.mirrored && mirrored_axis == 0 ? T(-1) : T(1);
    const T* source = cells + at.at(from.cell, 0);
    T* row = cells + at.at(i, 0);
    for (Index j = 0; j < at.ny; ++j) row[j] = sign * source[j];
  }
  for (Index k = 0; k < 2 * g; ++k) {
    const Index j = k < g ? k - g : at.ny + k - g;
    const Source from = source_of(j, at.ny, model.sides[2].kind, model.sides[3].kind);
    const T sign = from.mirrored && mirrored_axis == 1 ? T(-1) : T(1);
    for (Index i = -g; i < at.nx + g; ++i) cells[at.at(i, j)] = sign * cells[at.at(i, from.cell)];
  }
}

template <class T>
void prepare_shallow(ShallowModel<T>& model) {
  const ShallowLayout& at = model.layout;
  if (model.pressure.size() == 0) {
    model.bed = model.ground;
  } else {
    if (model.bed.size() == 0 || model.bed.data() == model.ground.data()) model.bed = shallow_array<T>(at);
    const T per_pascal = T(1 / (model.density * model.gravity));
    parallel_for(0, at.nx, 16, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i)
        for (Index k = at.at(i, 0), last = at.at(i, at.ny); k < last; ++k)
          model.bed[k] = model.ground[k] + per_pascal * model.pressure[k];
    });
  }
  fill_shallow_ghosts(model, model.bed.data(), -1);
  continue_bed(model, model.bed.data());
  for (Block<T>* block : {&model.pressure, &model.gravity_of, &model.manning, &model.push_u, &model.push_v, &model.stress_u,
                          &model.stress_v, &model.damping_u, &model.damping_v})
    if (block->size() > 0) fill_shallow_ghosts(model, block->data(), -1);
  model.most_gravity = model.gravity;
  if (model.gravity_of.size() > 0) {
    model.most_gravity = 0;
    if (model.root.size() == 0) model.root = shallow_array<T>(at, T(1));
    for (Index i = 0; i < at.nx; ++i)
      for (Index k = at.at(i, 0), last = at.at(i, at.ny); k < last; ++k) {
        model.root[k] = std::sqrt(model.gravity_of[k]);
        model.most_gravity = std::max(model.most_gravity, static_cast<double>(model.gravity_of[k]));
      }
    fill_shallow_ghosts(model, model.root.data(), -1);
  }
}

#define MENISCUS_INSTANTIATE(T)                                          \
  template void fill_shallow_ghosts<T>(const ShallowModel<T>&, T*, int); \
  template void prepare_shallow<T>(ShallowModel<T>&);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
