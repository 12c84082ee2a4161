#include "meniscus/fluids/shallow/shallow_tiles.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"

#include <cmath>

namespace meniscus::fluids {

ShallowTiles::ShallowTiles(const ShallowLayout& layout) : layout_(layout) {
  across_ = (layout.ny + tile_columns - 1) / tile_columns;
  for (Index i = 0; i < layout.nx; i += tile_rows)
    for (Index j = 0; j < layout.ny; j += tile_columns) {
      ShallowTile& tile = tiles_.emplace_back();
      tile.i = i;
      tile.j = j;
      tile.rows = std::min(tile_rows, layout.nx - i);
      tile.columns = std::min(tile_columns, layout.ny - j);
    }
  active_.reserve(tiles_.size());
}

void ShallowTiles::add_to(ShallowSums& sums, double area) const {
  for (const ShallowTile& tile : tiles_) {
    sums.volume += tile.volume * area;
    sums.kinetic += tile.kinetic * area;
    sums.speed = std::max({sums.speed, tile.fast_u, tile.fast_v});
  }
  sums.wet_tiles = static_cast<Index>(active_.size());
}

namespace {

/// Throws InvalidArgument for the first cell whose water makes no sense.
template <class T>
void refuse_water(const ShallowLayout& at, const ShallowFields<T>& water) {
  for (Index i = 0; i < at.nx; ++i)
    for (Index j = 0; j < at.ny; ++j) {
      const Index k = at.at(i, j);
      const auto depth = static_cast<double>(water.depth[k]);
      require(std::isfinite(depth), "depth must be finite, but [", i, ", ", j, "] is ", depth);
      require(depth >= 0, "depth must not be negative, but [", i, ", ", j, "] is ", depth);
      for (int axis = 0; axis < 2; ++axis) {
        const auto speed = static_cast<double>(axis == 0 ? water.u[k] : water.v[k]);
        require(std::isfinite(speed), "velocity must be finite, but that along axis ", axis, " at [", i, ", ", j, "] is ", speed);
      }
    }
  throw InvalidArgument("depth and velocity must be finite, also their squares");
}

}  // namespace

template <class T>
double ShallowTiles::measure(const ShallowModel<T>& model, const ShallowFields<T>& water) {
  const T dry = static_cast<T>(model.dry);
  parallel_for(0, static_cast<Index>(tiles_.size()), 1, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      ShallowTile& tile = tiles_[t];
      TileRow<T> volume{}, kinetic{}, fast_u{}, fast_v{}, deep{}, least{};
      const Index n = tile.columns;
      for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
        const Index k = layout_.at(i, tile.j);
        const T *h = water.depth.data() + k, *u = water.u.data() + k, *v = water.v.data() + k;
        simd_dispatch([&] {
          for (Index j = 0; j < n; ++j) {
            const T a = std::abs(u[j]), b = std::abs(v[j]);
            volume[j] += h[j];
            kinetic[j] += h[j] * (a * a + b * b);
            fast_u[j] = a > fast_u[j] ? a : fast_u[j];
            fast_v[j] = b > fast_v[j] ? b : fast_v[j];
            deep[j] = h[j] > deep[j] ? h[j] : deep[j];
            least[j] = h[j] < least[j] ? h[j] : least[j];
          }
        });
      }
      const double deepest = largest_of(deep, n), a = largest_of(fast_u, n), b = largest_of(fast_v, n);
      const double wave = std::sqrt(model.most_gravity * deepest);
      tile.volume = sum_of(volume, n);
      tile.kinetic = 0.5 * sum_of(kinetic, n);
      tile.wet = deepest > static_cast<double>(dry);
      tile.fast_u = a;
      tile.fast_v = b;
      tile.wave = wave;
      tile.sound = std::isfinite(tile.volume + tile.kinetic) && std::all_of(least, least + n, [](T h) { return h >= T(0); });
    }
  });
  double volume = 0;
  for (const ShallowTile& tile : tiles_) {
    if (!tile.sound) refuse_water(layout_, water);
    volume += tile.volume;
  }
  return volume;
}

template <class T>
void ShallowTiles::choose(const ShallowModel<T>& model, const ShallowFields<T>& water, ShallowFields<T>& scratch) {
  const Index rows = static_cast<Index>(tiles_.size()) / across_;
  const bool around_x = model.sides[0].kind == ShallowSideKind::joined, around_y = model.sides[2].kind == ShallowSideKind::joined;
  const auto lets_in = [](ShallowSideKind kind) { return kind != ShallowSideKind::wall && kind != ShallowSideKind::joined; };
  active_.clear();
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < across_; ++c) {
      bool active = (r == 0 && lets_in(model.sides[0].kind)) || (r == rows - 1 && lets_in(model.sides[1].kind)) ||
                    (c == 0 && lets_in(model.sides[2].kind)) || (c == across_ - 1 && lets_in(model.sides[3].kind));
      for (Index dr = -1; dr <= 1 && !active; ++dr)
        for (Index dc = -1; dc <= 1 && !active; ++dc) {
          Index a = r + dr, b = c + dc;
          if (around_x) a = (a + rows) % rows;
          if (around_y) b = (b + across_) % across_;
          active = a >= 0 && a < rows && b >= 0 && b < across_ && tiles_[a * across_ + b].wet;
        }
      ShallowTile& tile = tiles_[r * across_ + c];
      tile.active = active;
      if (active) {
        active_.push_back(r * across_ + c);
        tile.cleared = false;
        continue;
      }
      tile.left = {};
      tile.damped = 0;
      if (tile.cleared && tile.volume == 0) continue;
      // Neighbours read the films of tiles at rest.
      for (Index i = tile.i; i < tile.i + tile.rows; ++i) {
        const Index k = layout_.at(i, tile.j), n = tile.columns;
        std::copy_n(water.depth.data() + k, n, scratch.depth.data() + k);
        std::fill_n(scratch.u.data() + k, n, T(0));
        std::fill_n(scratch.v.data() + k, n, T(0));
      }
      tile.cleared = tile.volume == 0;
    }
}

#define MENISCUS_INSTANTIATE(T)                                                              \
  template double ShallowTiles::measure<T>(const ShallowModel<T>&, const ShallowFields<T>&); \
  template void ShallowTiles::choose<T>(const ShallowModel<T>&, const ShallowFields<T>&, ShallowFields<T>&);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
