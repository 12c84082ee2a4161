#include "meniscus/fluids/shallow/flux_scheme.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/shallow/flux_rows.hpp"
#include "meniscus/fluids/shallow/flux_sides.hpp"
#include "meniscus/fluids/shallow/shallow_forces.hpp"
#include "meniscus/fluids/shallow/substeps.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr double safest = 0.5;  // of the spacing: what a cell may give in a substep through faces across from each other

/// Rows that a tile keeps while it goes through its cells.
template <class T>
struct TileRows {
  FaceWater<T> low_x, high_x[2], low_y, high_y;
  FaceFlux<T> flux_x[2], flux_y;
  TileRow<T> rise_x[2], rise_y, depth, momentum, along, fast_u, fast_v, wave, volume, kinetic, damped;
};

/// What bounds a substep in a tile, m/s.
struct FluxSpeed {
  bool one_row;
  double operator()(const ShallowTile& tile) const {
    return one_row ? tile.fast_u + tile.wave : tile.fast_u + tile.fast_v + 2 * tile.wave;
  }
};

}  // namespace

template <class T>
FluxScheme<T>::FluxScheme(const ShallowLayout& layout) : layout_(layout), middle_(layout), tiles_(layout) {}

template <class T>
Index FluxScheme<T>::bytes() const {
  return 3 * layout_.size() * static_cast<Index>(sizeof(T));
}

template <class T>
double FluxScheme<T>::fastest() const {
  return tiles_.largest(FluxSpeed{layout_.ny == 1});
}

template <class T>
double FluxScheme<T>::longest_substep(const ShallowModel<T>& model, const ShallowFields<T>& water) {
  tiles_.measure(model, water);
  return model.cfl * model.spacing / fastest();
}

template <class T>
ShallowSums FluxScheme<T>::advance(const ShallowModel<T>& model, ShallowFields<T>& water, double dt) {
  ShallowSums sums;
  sums.before = tiles_.measure(model, water) * model.spacing * model.spacing;
  std::array<double, 4> left{};
  double damped = 0;
  const auto add_ledger = [&](double weight) {
    for (const Index t : tiles_.active()) {
      const ShallowTile& tile = tiles_.all()[t];
      for (int s = 0; s < 4; ++s) left[s] += weight * tile.left[s];
      damped += 0.5 * tile.damped;
    }
  };
  Substeps substeps(dt);
  while (!substeps.done()) {
    double piece = substeps.next(model.cfl * model.spacing / fastest());
    tiles_.choose(model, water, middle_);
    stage(model, water, nullptr, middle_, piece);
    if (const double safe = safest * model.spacing / fastest(); piece > safe) {
      piece = std::min(safe, 0.9 * piece);
      stage(model, water, nullptr, middle_, piece);
    }
    add_ledger(0.5 * piece);
    stage(model, middle_, &water, water, piece);
    add_ledger(0.5 * piece);
    substeps.took(piece);
  }
  const double area = model.spacing * model.spacing;
  for (int s = 0; s < 4; ++s) sums.left[s] = left[s] * model.spacing;
  sums.damped = damped * area;
  sums.substeps = substeps.count();
  tiles_.add_to(sums, area);
  require(std::isfinite(sums.volume) && std::isfinite(sums.kinetic), "the depth and the velocity must be finite after a step");
  return sums;
}

template <class T>
void FluxScheme<T>::stage(const ShallowModel<T>& model, const ShallowFields<T>& from, const ShallowFields<T>* base,
                          ShallowFields<T>& to, double dt) {
  // Shared ownership: the ghosts of what is read are no part of the state.
  ShallowFields<T> read = from;
  fill_shallow_ghosts(model, read.depth.data(), -1);
  fill_shallow_ghosts(model, read.u.data(), 0);
  fill_shallow_ghosts(model, read.v.data(), 1);
  tiles_.each_active([&](ShallowTile& tile) {
    simd_dispatch([&] {
      if (model.gravity_of.size() > 0)
        work_on<FluxKind::curved>(model, read, base, to, dt, tile);
      else if (model.pressure.size() > 0)
        work_on<FluxKind::pressed>(model, read, base, to, dt, tile);
      else
        work_on<FluxKind::plain>(model, read, base, to, dt, tile);
    });
  });
}

template <class T>
template <FluxKind kind>
MENISCUS_INLINE void FluxScheme<T>::work_on(const ShallowModel<T>& model, const ShallowFields<T>& from,
                                            const ShallowFields<T>* base, ShallowFields<T>& to, double dt,
                                            ShallowTile& tile) const {
  TileRows<T> rows;
  const Index n = tile.columns, s = layout_.stride;
  const T dry = static_cast<T>(model.dry), step = static_cast<T>(dt), ratio = static_cast<T>(dt / model.spacing);
  const T plain = static_cast<T>(model.gravity);
  const bool walls = model.wall_u.size() > 0, one_row = layout_.ny == 1;
  const T *h = from.depth.data(), *u = from.u.data(), *v = from.v.data(), *z = model.bed.data();
  constexpr bool curved = kind == FluxKind::curved;
  // What the kind of flux needs beside the water.
  const T* extra = curved ? model.root.data() : kind == FluxKind::pressed ? model.pressure.data() : model.bed.data();
  const bool closed_x = model.sides[0].kind != ShallowSideKind::joined, closed_y = model.sides[2].kind != ShallowSideKind::joined;
  const auto side = [&](int number) {
    return model.sides[number].kind > ShallowSideKind::joined ? &model.sides[number] : nullptr;
  };
  for (Index j = 0; j < n; ++j)
    rows.volume[j] = rows.kinetic[j] = rows.damped[j] = rows.fast_u[j] = rows.fast_v[j] = rows.wave[j] = T(0);
  tile.left = {};
  for (Index i = tile.i - 1, end = tile.i + tile.rows; i <= end; ++i) {
    const int now = static_cast<int>(i & 1), last = 1 - now;
    const Index k = layout_.at(i, tile.j);
    FaceFlux<T>& upper = rows.flux_x[now];
    const FluxCells<T> cells{h + k, u + k, v + k, z + k, extra + k, s};
    reconstruct<kind>(n, cells, dry, rows.low_x, rows.high_x[now], rows.rise_x[now]);
    if (walls)
      level_beside_walls(n, model.wall_u.data() + k, model.wall_u.data() + k + s, cells, rows.low_x, rows.high_x[now],
                         rows.rise_x[now]);
    if (i < tile.i) continue;
    face_flux<kind>(n, rows.high_x[last], rows.low_x, 0, extra + k - s, extra + k, plain, dry, upper);
    if (walls) stop_at_walls(n, model.wall_u.data() + k, rows.high_x[last], rows.low_x, 0, plain, upper);
    if (const ShallowSide* lower_side = side(0); i == 0 && lower_side)
      for (Index j = 0; j < n; ++j) flow_through_side(*lower_side, tile.j + j, -1, rows.low_x, j, model.gravity, j, upper);
    if (const ShallowSide* upper_side = side(1); i == layout_.nx && upper_side)
      for (Index j = 0; j < n; ++j) flow_through_side(*upper_side, tile.j + j, 1, rows.high_x[last], j, model.gravity, j, upper);
    if (i == 0 && closed_x) tile.left[0] -= sum_of(upper.mass, n);
    if (i == layout_.nx && closed_x) tile.left[1] += sum_of(upper.mass, n);
    if (i == tile.i) continue;

    // The row before is complete now.
    const Index r = k - s;
    const FaceFlux<T>&lower = rows.flux_x[last], &across = rows.flux_y;
    if (!one_row) {
      const FluxCells<T> wide{h + r - 1, v + r - 1, u + r - 1, z + r - 1, extra + r - 1, 1};
      reconstruct<kind>(n + 2, wide, dry, rows.low_y, rows.high_y, rows.rise_y);
      const std::uint8_t* wall = walls ? model.wall_v.data() + r - 1 : nullptr;
      if (walls) level_beside_walls(n + 2, wall, wall + 1, wide, rows.low_y, rows.high_y, rows.rise_y);
      FaceWater<T>& low = rows.low_y;
      // Faces j of the tile lie between cells j and j + 1 of the wide row.
      face_flux<kind>(n + 1, rows.high_y, low, 1, extra + r - 1, extra + r, plain, dry, rows.flux_y);
      if (walls) stop_at_walls(n + 1, wall + 1, rows.high_y, low, 1, plain, rows.flux_y);
      if (const ShallowSide* first = side(2); tile.j == 0 && first)
        flow_through_side(*first, i - 1, -1, low, 1, model.gravity, 0, rows.flux_y);
      if (const ShallowSide* second = side(3); tile.j + n == layout_.ny && second)
        flow_through_side(*second, i - 1, 1, rows.high_y, n, model.gravity, n, rows.flux_y);
      if (tile.j == 0 && closed_y) tile.left[2] -= across.mass[0];
      if (tile.j + n == layout_.ny && closed_y) tile.left[3] += across.mass[n];
    }
    const T *hr = h + r, *ur = u + r, *vr = v + r, *own = extra + r;
    const T* rise_x = rows.rise_x[last];
#pragma GCC ivdep
    for (Index j = 0; j < n; ++j) {
      const T g = curved ? own[j] * own[j] : plain;
      T dh = upper.mass[j] - lower.mass[j];
      T dq = upper.below[j] - lower.above[j] + g * hr[j] * rise_x[j];
      T dp = upper.along[j] - lower.along[j];
      rows.depth[j] = dh;
      rows.momentum[j] = dq;
      rows.along[j] = dp;
    }
    if (!one_row)
#pragma GCC ivdep
      for (Index j = 0; j < n; ++j) {
        const T g = curved ? own[j] * own[j] : plain;
        rows.depth[j] += across.mass[j + 1] - across.mass[j];
        rows.momentum[j] += across.along[j + 1] - across.along[j];
        rows.along[j] += across.below[j + 1] - across.above[j] + g * hr[j] * rows.rise_y[j + 1];
      }
#pragma GCC ivdep
    for (Index j = 0; j < n; ++j) {
      const T left = hr[j] - ratio * rows.depth[j];
      rows.momentum[j] = hr[j] * ur[j] - ratio * rows.momentum[j];
      rows.along[j] = hr[j] * vr[j] - ratio * rows.along[j];
      rows.depth[j] = left > T(0) ? left : T(0);
    }
    apply_shallow_forces(model, r, n, step, dry, rows.depth, rows.momentum, rows.along, rows.damped);
    if (base) {
      const T *h0 = base->depth.data() + r, *u0 = base->u.data() + r, *v0 = base->v.data() + r;
#pragma GCC ivdep
      for (Index j = 0; j < n; ++j) {
        rows.momentum[j] = T(0.5) * (h0[j] * u0[j] + rows.momentum[j]);
        rows.along[j] = T(0.5) * (h0[j] * v0[j] + rows.along[j]);
        rows.depth[j] = T(0.5) * (h0[j] + rows.depth[j]);
      }
    }
    T *ho = to.depth.data() + r, *uo = to.u.data() + r, *vo = to.v.data() + r;
#pragma GCC ivdep
    for (Index j = 0; j < n; ++j) {
      const T depth = rows.depth[j];
      const T inverse = T(1) / (depth > dry ? depth : dry);
      const bool moves = depth > dry;
      const T a = moves ? rows.momentum[j] * inverse : T(0), b = moves ? rows.along[j] * inverse : T(0);
      const T wave = moves ? std::sqrt((curved ? own[j] * own[j] : plain) * depth) : T(0);
      const T fast_a = std::abs(a), fast_b = std::abs(b);
      ho[j] = depth;
      uo[j] = a;
      vo[j] = b;
      rows.volume[j] += depth;
      rows.kinetic[j] += depth * (a * a + b * b);
      rows.fast_u[j] = fast_a > rows.fast_u[j] ? fast_a : rows.fast_u[j];
      rows.fast_v[j] = fast_b > rows.fast_v[j] ? fast_b : rows.fast_v[j];
      rows.wave[j] = wave > rows.wave[j] ? wave : rows.wave[j];
    }
  }
  const double a = largest_of(rows.fast_u, n), b = largest_of(rows.fast_v, n), c = largest_of(rows.wave, n);
  tile.volume = sum_of(rows.volume, n);
  tile.kinetic = 0.5 * sum_of(rows.kinetic, n);
  tile.damped = sum_of(rows.damped, n);
  tile.fast_u = a;
  tile.fast_v = b;
  tile.wave = c;
  tile.wet = c > 0;
}

template class FluxScheme<float>;
template class FluxScheme<double>;

}  // namespace meniscus::fluids
