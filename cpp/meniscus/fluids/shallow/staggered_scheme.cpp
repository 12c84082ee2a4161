#include "meniscus/fluids/shallow/staggered_scheme.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/shallow/staggered_forces.hpp"
#include "meniscus/fluids/shallow/staggered_rows.hpp"
#include "meniscus/fluids/shallow/substeps.hpp"

#include <cmath>
#include <utility>

namespace meniscus::fluids {
namespace {

constexpr double diagonal = 1.4142135623730951;  // how much faster waves of two cells are along the diagonal

template <class T>
void copy_tile(const ShallowLayout& at, const ShallowTile& tile, const ShallowFields<T>& from, ShallowFields<T>& to) {
  // The last faces of the domain belong to the last cells.
  const Index rows = tile.rows + (tile.i + tile.rows == at.nx), n = tile.columns + (tile.j + tile.columns == at.ny);
  for (Index i = tile.i; i < tile.i + rows; ++i) {
    const Index k = at.at(i, tile.j);
    std::copy_n(from.depth.data() + k, n, to.depth.data() + k);
    std::copy_n(from.u.data() + k, n, to.u.data() + k);
    std::copy_n(from.v.data() + k, n, to.v.data() + k);
  }
}

}  // namespace

template <class T>
StaggeredScheme<T>::StaggeredScheme(const ShallowLayout& layout, bool printed)
    : layout_(layout), printed_(printed), other_(layout), tiles_(layout) {}

template <class T>
Index StaggeredScheme<T>::bytes() const {
  return 3 * layout_.size() * static_cast<Index>(sizeof(T));
}

template <class T>
double StaggeredScheme<T>::bound() const {
  const double factor = layout_.ny == 1 ? 1.0 : diagonal;
  return tiles_.largest([&](const ShallowTile& t) { return factor * t.wave + std::hypot(t.fast_u, t.fast_v); });
}

template <class T>
double StaggeredScheme<T>::longest_substep(const ShallowModel<T>& model, const ShallowFields<T>& water) {
  tiles_.measure(model, water);
  return model.cfl * model.spacing / bound();
}

template <class T>
ShallowSums StaggeredScheme<T>::advance(const ShallowModel<T>& model, ShallowFields<T>& water, double dt) {
  ShallowSums sums;
  sums.before = tiles_.measure(model, water) * model.spacing * model.spacing;
  std::array<double, 4> left{};
  double damped = 0;
  ShallowFields<T>*from = &water, *to = &other_;
  Substeps substeps(dt);
  while (!substeps.done()) {
    double piece = substeps.next(model.cfl * model.spacing / bound());
    tiles_.choose(model, *from, *to);
    fill_sides(model, *from);
    if (printed_) {
      const T ratio = static_cast<T>(piece / model.spacing);
      carry(model, *from, *to, ratio);
      fill_sides(model, *to);
      spread(model, *to, ratio);
    } else {
      flow(model, *from, *to, static_cast<T>(piece / model.spacing));
      const double out = tiles_.largest([](const ShallowTile& t) { return t.outflow; });
      if (piece * out > model.spacing) {
        piece = 0.9 * model.spacing / out;
        flow(model, *from, *to, static_cast<T>(piece / model.spacing));
      }
    }
    damp_depth(model, tiles_, piece, *to);
    fill_shallow_ghosts(model, to->depth.data(), -1);
    accelerate(model, *from, *to, piece);
    for (const Index t : tiles_.active()) {
      const ShallowTile& tile = tiles_.all()[t];
      for (int s = 0; s < 4; ++s) left[s] += piece * tile.left[s];
      damped += tile.damped;
    }
    substeps.took(piece);
    std::swap(from, to);
  }
  if (from != &water) tiles_.each_active([&](ShallowTile& tile) { copy_tile(layout_, tile, other_, water); });
  fill_sides(model, water);
  const double area = model.spacing * model.spacing;
  for (int s = 0; s < 4; ++s) sums.left[s] = left[s] * model.spacing;
  sums.damped = damped * area;
  sums.substeps = substeps.count();
  tiles_.add_to(sums, area);
  require(std::isfinite(sums.volume) && std::isfinite(sums.kinetic), "the depth and the velocity must be finite after a step");
  return sums;
}

template <class T>
void StaggeredScheme<T>::fill_sides(const ShallowModel<T>& model, ShallowFields<T>& water) const {
  const ShallowLayout& at = layout_;
  fill_shallow_ghosts(model, water.depth.data(), -1);
  T *h = water.depth.data(), *z = const_cast<T*>(model.bed.data());
  for (int axis = 0; axis < 2; ++axis) {
    const Index n = axis == 0 ? at.nx : at.ny, across = axis == 0 ? at.ny : at.nx;
    const Index step = axis == 0 ? at.stride : 1, aside = axis == 0 ? 1 : at.stride;
    T *u = axis == 0 ? water.u.data() : water.v.data(), *v = axis == 0 ? water.v.data() : water.u.data();
    for (int end = 0; end < 2; ++end) {
      const ShallowSide& side = model.sides[2 * axis + end];
      const int sign = end == 0 ? -1 : 1;
      for (Index k = 0; k < across; ++k) {
        const Index cell = axis == 0 ? at.at(end == 0 ? 0 : n - 1, k) : at.at(k, end == 0 ? 0 : n - 1);
        const Index face = end == 0 ? cell : cell + step, inner = face - sign * step, ghost = cell + sign * step;
        if (side.kind == ShallowSideKind::joined) {
          if (end == 1) u[face] = u[face - n * step];
        } else if (side.kind == ShallowSideKind::wall) {
          u[face] = T(0);
        } else {
          const SideState inside{static_cast<double>(h[cell]), 0.5 * sign * (static_cast<double>(u[face]) + u[inner]),
                                 0.5 * (static_cast<double>(v[cell]) + v[cell + aside])};
          const SideState on = state_on_side(side, k, inside, static_cast<double>(z[cell]), model.gravity);
          u[face] = static_cast<T>(sign * on.outward);
          h[ghost] = static_cast<T>(on.depth);
          if (on.outward > 0) h[ghost] = h[cell];
        }
      }
      // Ghosts beyond the last faces and cells.
      const bool around = side.kind == ShallowSideKind::joined, wall = side.kind == ShallowSideKind::wall;
      for (Index k = -1; k <= across + 1; ++k) {
        const Index first = axis == 0 ? at.at(0, k) : at.at(k, 0);
        const Index last_face = first + n * step, last_cell = last_face - step;
        const Index face = end == 0 ? first - step : last_face + step, mirror = end == 0 ? first + step : last_cell;
        const Index opposite = end == 0 ? last_cell : first + step;
        u[face] = around ? u[opposite] : wall ? -u[mirror] : u[end == 0 ? first : last_face];
        const Index ghost = end == 0 ? first - step : last_face, own = end == 0 ? first : last_cell;
        v[ghost] = around ? v[end == 0 ? last_cell : first] : v[own];
      }
    }
  }
  if (model.wall_u.size() == 0) return;
  for (Index k = 0; k < at.size(); ++k) {
    if (model.wall_u[k]) water.u[k] = T(0);
    if (model.wall_v[k]) water.v[k] = T(0);
  }
}

template <class T>
void StaggeredScheme<T>::flow(const ShallowModel<T>& model, const ShallowFields<T>& from, ShallowFields<T>& to, T ratio) {
  const Index s = layout_.stride;
  tiles_.each_active([&](ShallowTile& tile) {
    TileRow<T> out{};
    const Index n = tile.columns;
    tile.left = {};
    for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
      const Index k = layout_.at(i, tile.j);
      const T *h = from.depth.data() + k, *u = from.u.data() + k, *v = from.v.data() + k;
      T* to_h = to.depth.data() + k;
      simd_dispatch([&] {
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j) {
          const T u1 = u[j], u2 = u[j + s], v1 = v[j], v2 = v[j + 1], c = h[j];
          const T net = upwind_flux(u2, c, h[j + s]) - upwind_flux(u1, h[j - s], c) + upwind_flux(v2, c, h[j + 1]) -
                        upwind_flux(v1, h[j - 1], c);
          const T outward = (u2 > T(0) ? u2 : T(0)) - (u1 < T(0) ? u1 : T(0)) + (v2 > T(0) ? v2 : T(0)) - (v1 < T(0) ? v1 : T(0));
          const T depth = c - ratio * net;
          to_h[j] = depth > T(0) ? depth : T(0);
          out[j] = outward > out[j] ? outward : out[j];
        }
      });
      for (Index j = 0; j < n; ++j) {
        if (i == 0) tile.left[0] -= static_cast<double>(upwind_flux(u[j], h[j - s], h[j]));
        if (i == layout_.nx - 1) tile.left[1] += static_cast<double>(upwind_flux(u[j + s], h[j], h[j + s]));
      }
      if (tile.j == 0) tile.left[2] -= static_cast<double>(upwind_flux(v[0], h[-1], h[0]));
      if (tile.j + n == layout_.ny) tile.left[3] += static_cast<double>(upwind_flux(v[n], h[n - 1], h[n]));
    }
    for (int axis = 0; axis < 2; ++axis)
      if (model.sides[2 * axis].kind == ShallowSideKind::joined) tile.left[2 * axis] = tile.left[2 * axis + 1] = 0;
    tile.outflow = largest_of(out, n);
  });
}

template <class T>
void StaggeredScheme<T>::carry(const ShallowModel<T>&, const ShallowFields<T>& from, ShallowFields<T>& to, T ratio) {
  const Index s = layout_.stride;
  tiles_.each_active([&](ShallowTile& tile) {
    const Index n = tile.columns;
    tile.left = {};
    for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
      const Index k = layout_.at(i, tile.j);
      const T *h = from.depth.data() + k, *u = from.u.data() + k, *v = from.v.data() + k;
      T *to_h = to.depth.data() + k, *to_u = to.u.data() + k, *to_v = to.v.data() + k;
      const T half = T(0.5) * ratio, quarter = T(0.25) * ratio;
      simd_dispatch([&] {
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j) to_h[j] = carried_from(h + j, s, half * (u[j] + u[j + s]), half * (v[j] + v[j + 1]));
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j)
          to_u[j] = carried_from(u + j, s, ratio * u[j], quarter * (v[j - s] + v[j] + v[j - s + 1] + v[j + 1]));
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j)
          to_v[j] = carried_from(v + j, s, quarter * (u[j - 1] + u[j] + u[j + s - 1] + u[j + s]), ratio * v[j]);
      });
    }
  });
}

template <class T>
void StaggeredScheme<T>::spread(const ShallowModel<T>&, ShallowFields<T>& to, T ratio) {
  const Index s = layout_.stride;
  tiles_.each_active([&](ShallowTile& tile) {
    const Index n = tile.columns;
    for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
      const Index k = layout_.at(i, tile.j);
      const T *u = to.u.data() + k, *v = to.v.data() + k;
      T* h = to.depth.data() + k;
      simd_dispatch([&] {
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j) {
          const T depth = h[j] - h[j] * (u[j + s] - u[j] + v[j + 1] - v[j]) * ratio;
          h[j] = depth > T(0) ? depth : T(0);
        }
      });
    }
  });
}

template <class T>
void StaggeredScheme<T>::accelerate(const ShallowModel<T>& model, const ShallowFields<T>& from, ShallowFields<T>& to, double dt) {
  const Index s = layout_.stride;
  const T ratio = static_cast<T>(dt / model.spacing), dry = static_cast<T>(model.dry), gravity = static_cast<T>(model.gravity);
  const bool curved = model.gravity_of.size() > 0;
  const Index first_u = model.sides[0].kind == ShallowSideKind::joined ? 0 : 1;
  const Index first_v = model.sides[2].kind == ShallowSideKind::joined ? 0 : 1;
  const T half = printed_ ? T(0) : T(0.5);
  tiles_.each_active([&](ShallowTile& tile) {
    const Index n = tile.columns;
    TileRow<T> qx[3], qy[2], fast_u{}, fast_v{}, deep{}, volume{}, kinetic{};
    // Discharges through the faces of row i, from one cell before the tile to one behind it.
    const auto discharge = [&](Index i, bool x, TileRow<T>& q) {
      const Index k = layout_.at(i, tile.j) - 1, back = x ? s : 1;
      const T *h = from.depth.data() + k, *u = (x ? from.u.data() : from.v.data()) + k;
#pragma GCC ivdep
      for (Index j = 0; j < n + 2; ++j) q[j] = upwind_flux(u[j], h[j - back], h[j]);
    };
    simd_dispatch([&] {
      if (!printed_) {
        discharge(tile.i - 1, true, qx[(tile.i + 2) % 3]);
        discharge(tile.i, true, qx[tile.i % 3]);
        discharge(tile.i - 1, false, qy[(tile.i + 1) % 2]);
      }
      for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
        const Index k = layout_.at(i, tile.j);
        if (!printed_) {
          discharge(i + 1, true, qx[(i + 1) % 3]);
          discharge(i, false, qy[i % 2]);
        }
        const T *q0 = qx[(i + 2) % 3] + 1, *q1 = qx[i % 3] + 1, *q2 = qx[(i + 1) % 3] + 1;
        const T *p0 = qy[(i + 1) % 2] + 1, *p1 = qy[i % 2] + 1;
        const T *h = to.depth.data() + k, *z = model.bed.data() + k;
        const T* root = curved ? model.gravity_of.data() + k : nullptr;
        const ShallowFields<T>& before = printed_ ? to : from;
        const T *u = before.u.data() + k, *v = before.v.data() + k;
        T *to_u = to.u.data() + k, *to_v = to.v.data() + k;
        const auto along_x = [&]<bool bent>() {
          const FaceGravity<T> g{gravity, dry, bent ? root - s : nullptr, root};
#pragma GCC ivdep
          for (Index j = 0; j < n; ++j) {
            const T h1 = h[j - s], h2 = h[j], mean = T(0.5) * (h1 + h2);
            T change = T(0);
            if (half != T(0))
              change = momentum_change(u[j], u[j - s], u[j + s], u[j - 1], u[j + 1], half * (q0[j] + q1[j]),
                                       half * (q1[j] + q2[j]), half * (p0[j] + p1[j]), half * (p0[j + 1] + p1[j + 1]));
            const T a = u[j] - ratio * (change / (mean > dry ? mean : dry) + slope_between<bent>(g, j, h1, h2, z[j - s], z[j]));
            to_u[j] = from_water(a, h1, h2, dry);
          }
        };
        const auto along_y = [&]<bool bent>() {
          const FaceGravity<T> g{gravity, dry, bent ? root - 1 : nullptr, root};
#pragma GCC ivdep
          for (Index j = 0; j < n; ++j) {
            const T h1 = h[j - 1], h2 = h[j], mean = T(0.5) * (h1 + h2);
            T change = T(0);
            if (half != T(0))
              change = momentum_change(v[j], v[j - 1], v[j + 1], v[j - s], v[j + s], half * (p1[j - 1] + p1[j]),
                                       half * (p1[j] + p1[j + 1]), half * (q1[j - 1] + q1[j]), half * (q2[j - 1] + q2[j]));
            const T a = v[j] - ratio * (change / (mean > dry ? mean : dry) + slope_between<bent>(g, j, h1, h2, z[j - 1], z[j]));
            to_v[j] = from_water(a, h1, h2, dry);
          }
        };
        const T side_u = u[0], side_v = v[0];
        (void)side_u;
        if (i >= first_u)
          curved ? along_x.template operator()<true>() : along_x.template operator()<false>();
        else
          std::copy_n(from.u.data() + k, n, to_u);
        curved ? along_y.template operator()<true>() : along_y.template operator()<false>();
        if (tile.j < first_v) to_v[0] = printed_ ? side_v : from.v.data()[k];
        apply_face_forces(model, k, n, static_cast<T>(dt), i >= first_u, tile.j < first_v ? 1 : 0, from, to);
#pragma GCC ivdep
        for (Index j = 0; j < n; ++j) {
          const T a = std::abs(to_u[j]), b = std::abs(to_v[j]);
          volume[j] += h[j];
          kinetic[j] += h[j] * (a * a + b * b);
          fast_u[j] = a > fast_u[j] ? a : fast_u[j];
          fast_v[j] = b > fast_v[j] ? b : fast_v[j];
          deep[j] = h[j] > deep[j] ? h[j] : deep[j];
        }
      }
    });
    const double deepest = largest_of(deep, n);
    tile.volume = sum_of(volume, n);
    tile.kinetic = 0.5 * sum_of(kinetic, n);
    tile.fast_u = largest_of(fast_u, n);
    tile.fast_v = largest_of(fast_v, n);
    tile.wave = std::sqrt(model.most_gravity * deepest);
    tile.wet = deepest > model.dry;
  });
  // The last faces of the domain belong to its sides; those of periodic axes are the first ones.
  for (Index j = 0; j < layout_.ny; ++j)
    to.u[layout_.at(layout_.nx, j)] = first_u == 0 ? to.u[layout_.at(0, j)] : from.u[layout_.at(layout_.nx, j)];
  for (Index i = 0; i < layout_.nx; ++i)
    to.v[layout_.at(i, layout_.ny)] = first_v == 0 ? to.v[layout_.at(i, 0)] : from.v[layout_.at(i, layout_.ny)];
}

template class StaggeredScheme<float>;
template class StaggeredScheme<double>;

}  // namespace meniscus::fluids
