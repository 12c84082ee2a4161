#include "meniscus/fluids/vorticity/vorticity_confinement.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/vorticity/wall_cells.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cmath>
#include <limits>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Layers of cells around the domain in which the vorticity is needed: one for its gradient, one for the mean on the sides.
constexpr Index layers = 2;

/// Cells -layers to n + layers - 1 per axis, contiguous.
template <int D>
struct PaddedCells {
  Coord<D> extents;
  Coord<D> strides;

  explicit PaddedCells(const Coord<D>& cells) : extents(cells) {
    for (Index& n : extents) n += 2 * layers;
    strides = c_strides<D>(extents);
  }
  Index size() const { return product<D>(extents); }
  Index index(const Coord<D>& cell) const {
    Index i = 0;
    for (std::size_t d = 0; d < D; ++d) i += (cell[d] + layers) * strides[d];
    return i;
  }
  /// Calls body(first cell of the row, its index, cells) on pieces of the rows that are `margin` cells away from every end.
  template <class Body>
  void for_each_row(Index margin, Body&& body) const {
    Coord<D> inner = extents;
    for (Index& n : inner) n -= 2 * margin;
    grid::parallel_rows<D>(inner, [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index r = begin; r < end; ++r) {
          Coord<D> c = grid::row_start<D>(inner, r);
          for (Index& v : c) v += margin - layers;
          body(c, index(c), inner[D - 1]);
        }
      });
    });
  }
};

/// Whether the mean of the corners of a cell is not positive.
template <int D>
bool in_solid(const grid::FieldView<const double, D>& phi, const Coord<D>& cell) {
  double sum = 0.0;
  for (int q = 0; q < 1 << D; ++q) {
    Coord<D> corner = cell;
    for (std::size_t d = 0; d < D; ++d) corner[d] += (q >> d) & 1;
    sum += *phi.at(corner);
  }
  return sum <= 0.0;
}

/// Cells with their centre in the solid; beyond the domain, those of the nearest cell or the periodic image.
template <int D>
void mark_solid_cells(const grid::Field<double, D>& solid, const PaddedCells<D>& cells, std::uint8_t* marks) {
  const grid::FieldView<const double, D> phi = solid.view();
  const grid::Grid<D>& grid = solid.grid();
  cells.for_each_row(0, [&](const Coord<D>& first, Index i, Index count) {
    for (Index k = 0; k < count; ++k) {
      Coord<D> c = first;
      c[D - 1] += k;
      c = grid::nearest_cell<D>(grid, c);
      marks[i + k] = in_solid<D>(phi, c);
    }
  });
}

/// The same on a domain that is cut into blocks, where the neighbours know their cells.
template <int D>
void mark_solid_cells_of_blocks(const grid::Field<double, D>& solid, const PaddedCells<D>& cells, std::uint8_t* marks,
                                Workspace& workspace) {
  std::array<grid::GhostRule, 2 * D> nearest;
  for (grid::GhostRule& rule : nearest) rule.kind = grid::GhostRule::Kind::clamp;
  const grid::FieldLayout<D> layout(solid.grid(), grid::Stagger<D>::cell(), nearest);
  const auto storage = workspace.take<std::uint8_t>(layout.storage_size());
  const grid::FieldView<std::uint8_t, D> own = layout.view(storage.data());
  const grid::FieldView<const double, D> phi = solid.view();
  grid::parallel_rows<D>(own.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(own.extents, r);
      std::uint8_t* row = own.at(c);
      for (Index k = 0; k < own.extents[D - 1]; ++k) {
        c[D - 1] = k;
        row[k] = in_solid<D>(phi, c);
      }
    }
  });
  grid::fill_ghosts(layout, storage.data(), 0.0);
  cells.for_each_row(0, [&](const Coord<D>& first, Index i, Index count) { std::copy_n(own.at(first), count, marks + i); });
}

template <class T, int D>
using Components = std::array<T*, vorticity_components<D>>;

template <class T, int D>
void vorticity_and_magnitude(const grid::MacField<T, D>& velocity, const PaddedCells<D>& cells, const Components<T, D>& omega,
                             T* magnitude) {
  const CellGradient<T, D> gradient(velocity);
  cells.for_each_row(0, [&](const Coord<D>& c, Index i, Index count) {
    T* m = magnitude + i;
    for (int n = 0; n < vorticity_components<D>; ++n) {
      const auto [a, b] = curl_axes<D>(n);
      const T* first = gradient.lower_face(a, c);
      const T* second = gradient.lower_face(b, c);
      T* w = omega[n] + i;
      for (Index k = 0; k < count; ++k) w[k] = gradient.across(b, a, second + k) - gradient.across(a, b, first + k);
    }
    if constexpr (D == 2) {
      for (Index k = 0; k < count; ++k) m[k] = std::abs(omega[0][i + k]);
    } else {
      const T* x = omega[0] + i;
      const T* y = omega[1] + i;
      const T* z = omega[2] + i;
      for (Index k = 0; k < count; ++k) m[k] = std::sqrt(x[k] * x[k] + y[k] * y[k] + z[k] * z[k]);
    }
  });
}

/// Largest magnitude in the block.
template <class T, int D>
double largest(const PaddedCells<D>& cells, const Coord<D>& shape, const T* magnitude) {
  const Index length = shape[D - 1];
  return parallel_reduce(
      0, product<D>(shape) / length, std::max<Index>(1, 16384 / length), 0.0,
      [&](Index begin, Index end) {
        T most = 0;
        for (Index r = begin; r < end; ++r) {
          const T* row = magnitude + cells.index(grid::row_start<D>(shape, r));
          for (Index k = 0; k < length; ++k) most = row[k] > most ? row[k] : most;
        }
        return static_cast<double>(most);
      },
      [](double a, double b) { return std::max(a, b); });
}

/// Positions and strength of the force.
template <class T>
struct ForceRule {
  T inverse_two_h;
  /// dt * epsilon * h.
  T strength;
  /// Squared least |grad|omega|| of a direction N.
  T least;
};

/// Replaces the vorticity by the change of velocity dt * f; in two dimensions the second component goes to `second`.
template <bool has_solid, class T, int D>
void force_from_vorticity(const PaddedCells<D>& cells, const ForceRule<T>& rule, const T* magnitude, const std::uint8_t* solid,
                          const std::array<T*, D>& f) {
  cells.for_each_row(1, [&](const Coord<D>&, Index i, Index count) {
    for (Index l = 0; l < count; ++l) {
      const Index k = i + l;
      std::array<T, D> g;
      T squared = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const Index s = cells.strides[d];
        T ahead = magnitude[k + s];
        T behind = magnitude[k - s];
        if constexpr (has_solid) {
          ahead = solid[k + s] ? magnitude[k] : ahead;
          behind = solid[k - s] ? magnitude[k] : behind;
        }
        g[d] = rule.inverse_two_h * (ahead - behind);
        squared += g[d] * g[d];
      }
      bool acts = squared > rule.least;
      if constexpr (has_solid) acts = acts & !solid[k];
      const T scale = acts ? rule.strength / std::sqrt(squared) : T(0);
      if constexpr (D == 2) {
        const T w = scale * f[0][k];
        f[0][k] = g[1] * w;
        f[1][k] = -g[0] * w;
      } else {
        const T x = scale * f[0][k];
        const T y = scale * f[1][k];
        const T z = scale * f[2][k];
        f[0][k] = g[1] * z - g[2] * y;
        f[1][k] = g[2] * x - g[0] * z;
        f[2][k] = g[0] * y - g[1] * x;
      }
    }
  });
}

template <class T, int D>
void add_to_faces(const PaddedCells<D>& cells, const T* f, const std::uint8_t* solid, int axis, grid::MacField<T, D>& velocity) {
  const Index a = axis;
  const grid::FieldView<T, D> u = velocity.component(axis).view();
  Coord<D> begin{};
  Coord<D> extents = u.extents;
  for (int upper : {0, 1}) {
    if (velocity.grid().shared(axis, upper) || !grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(axis, upper)]))
      continue;
    if (upper == 0) ++begin[a];
    --extents[a];
  }
  if (product<D>(extents) <= 0) return;
  const Index s = cells.strides[a];
  grid::parallel_rows<D>(extents, [&](Index first, Index end) {
    simd_dispatch([&] {
      for (Index r = first; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(extents, r);
        for (std::size_t d = 0; d < D; ++d) c[d] += begin[d];
        T* to = u.at(c);
        const Index i = cells.index(c);
        const T* above = f + i;
        const T* below = above - s;
        if (!solid) {
          for (Index k = 0; k < extents[D - 1]; ++k) to[k] += T(0.5) * (below[k] + above[k]);
        } else {
          const std::uint8_t* in = solid + i;
          // A cell in the solid holds no force, so the sum is that of the free one.
          for (Index k = 0; k < extents[D - 1]; ++k) to[k] += (in[k] | in[k - s] ? T(1) : T(0.5)) * (below[k] + above[k]);
        }
      }
    });
  });
}

}  // namespace

template <class T, int D>
void add_vorticity_confinement(grid::MacField<T, D>& velocity, double dt, double epsilon, const grid::SolidBoundary<T, D>* solid,
                               double time, Workspace& workspace, const grid::ThinWalls<D>* walls) {
  require(std::isfinite(dt), "dt must be finite, got ", dt);
  require(std::isfinite(epsilon), "epsilon must be finite, got ", epsilon);
  require(!solid || solid->grid() == velocity.grid(), "solid must have the grid of the velocity");
  require(!walls || walls->grid() == velocity.grid(), "the walls must have the grid of the velocity");
  require_finite(velocity);
  velocity.fill_ghosts(time);
  const grid::Grid<D>& grid = velocity.grid();
  const double h = grid.spacing();
  const PaddedCells<D> cells(grid.local_shape());
  const Index size = cells.size();

  std::array<Workspace::Lease<T>, D> storage;
  std::array<T*, D> f;
  for (std::size_t d = 0; d < D; ++d) {
    storage[d] = workspace.take<T>(size);
    f[d] = storage[d].data();
  }
  const auto magnitude = workspace.take<T>(size);
  const auto marks = workspace.take<std::uint8_t>(solid ? size : 1);
  if (solid && grid.block().cut())
    mark_solid_cells_of_blocks(solid->levelset(), cells, marks.data(), workspace);
  else if (solid)
    mark_solid_cells(solid->levelset(), cells, marks.data());

  Components<T, D> omega;
  std::copy_n(f.begin(), omega.size(), omega.begin());
  vorticity_and_magnitude(velocity, cells, omega, magnitude.data());
  std::optional<WallCells<T, D>> wall_cells;
  if (walls) wall_cells.emplace(*walls, workspace).replace_vorticity(velocity, cells, omega, magnitude.data());
  const double peak = parallel::global_max(*grid.communicator(), largest<T, D>(cells, grid.local_shape(), magnitude.data()));
  const double flat =
      std::max(1e-6 * peak / h, 16.0 * std::numeric_limits<T>::epsilon() * grid::max_component_speed(velocity) / (h * h));
  // The least positive number keeps zero gradients out where even the bound underflows.
  const ForceRule<T> rule{static_cast<T>(0.5 / h), static_cast<T>(dt * epsilon * h),
                          std::max(static_cast<T>(flat * flat), std::numeric_limits<T>::min())};
  if (wall_cells) wall_cells->find_force(cells, omega, magnitude.data(), rule.inverse_two_h, rule.strength, rule.least);
  if (solid)
    force_from_vorticity<true, T, D>(cells, rule, magnitude.data(), marks.data(), f);
  else
    force_from_vorticity<false, T, D>(cells, rule, magnitude.data(), nullptr, f);
  if (wall_cells) wall_cells->replace_force(cells, f);

  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) add_to_faces(cells, f[d], solid ? marks.data() : nullptr, d, velocity);
  velocity.fill_ghosts(time);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template void add_vorticity_confinement<T, D>(grid::MacField<T, D>&, double, double, const grid::SolidBoundary<T, D>*, double, \
                                                Workspace&, const grid::ThinWalls<D>*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
