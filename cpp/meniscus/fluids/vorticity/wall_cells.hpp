/// Cells beside thin walls in vorticity confinement: their vorticity and force look at no cell behind a wall.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.1 (hidden velocities are those of the wall, hidden magnitudes
/// those of the cell itself); Selle 2008, section 4.4.1.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/vorticity/cell_gradient.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <cmath>

namespace meniscus::fluids {

/// The cells of a grid with a blocked face. Blocked faces of the velocity hold that of the wall.
template <class T, int D>
class WallCells {
 public:
  WallCells(const grid::ThinWalls<D>& walls, Workspace& workspace) : walls_(walls) {
    const Coord<D>& n = walls.grid().local_shape();
    const Index cells = product<D>(n);
    Index marked = 0;
    for (Index i = 0; i < cells; ++i) marked += walls.clearance()[i] == 0;
    cells_ = workspace.take<Coord<D>>(std::max<Index>(marked, 1));
    vectors_ = workspace.take<T>(std::max<Index>(marked, 1) * D);
    Coord<D> c{};
    for (Index i = 0; i < cells; ++i) {
      if (walls.clearance()[i] == 0) {
        bool blocked = false;
        for (int side = 0; side < 2 * D; ++side) blocked |= hidden(c, side, nullptr);
        if (blocked) cells_.data()[count_++] = c;
      }
      for (int d = D - 1; d >= 0 && ++c[d] == n[d]; --d) c[d] = 0;
    }
  }

  /// Replaces vorticity and magnitude of these cells, and of their periodic images among the padded cells.
  template <class Padded, class Components>
  void replace_vorticity(const grid::MacField<T, D>& velocity, const Padded& padded, const Components& omega,
                         T* magnitude) const {
    for (Index i = 0; i < count_; ++i) {
      const Coord<D>& c = cells_.data()[i];
      std::array<T, vorticity_components<D>> w;
      T squared = 0;
      for (int n = 0; n < vorticity_components<D>; ++n) {
        const auto [a, b] = curl_axes<D>(n);
        const Index k = n;
        w[k] = change(velocity, b, a, c) - change(velocity, a, b, c);
        squared += w[k] * w[k];
      }
      for_each_image(c, [&](const Coord<D>& image) {
        const Index p = padded.index(image);
        for (std::size_t k = 0; k < w.size(); ++k) omega[k][p] = w[k];
        magnitude[p] = std::sqrt(squared);
      });
    }
  }

  /// Finds the force of these cells, `strength` N x omega, before that of all cells overwrites the vorticity; N is zero where the
  /// squared gradient of the magnitude is not above `least`.
  template <class Padded, class Components>
  void find_force(const Padded& padded, const Components& omega, const T* magnitude, T inverse_two_h, T strength, T least) {
    for (Index i = 0; i < count_; ++i) {
      const Coord<D>& c = cells_.data()[i];
      const Index p = padded.index(c);
      std::array<T, D> g;
      T squared = 0;
      for (int d = 0; d < D; ++d) {
        const Index s = padded.strides[d];
        const T behind = hidden_or_outside(c, 2 * d) ? magnitude[p] : magnitude[p - s];
        const T ahead = hidden_or_outside(c, 2 * d + 1) ? magnitude[p] : magnitude[p + s];
        g[d] = inverse_two_h * (ahead - behind);
        squared += g[d] * g[d];
      }
      const T scale = squared > least ? strength / std::sqrt(squared) : T(0);
      T* f = vectors_.data() + i * D;
      if constexpr (D == 2) {
        f[0] = g[1] * scale * omega[0][p];
        f[1] = -g[0] * scale * omega[0][p];
      } else {
        const T x = scale * omega[0][p], y = scale * omega[1][p], z = scale * omega[2][p];
        f[0] = g[1] * z - g[2] * y;
        f[1] = g[2] * x - g[0] * z;
        f[2] = g[0] * y - g[1] * x;
      }
    }
  }

  template <class Padded, class Force>
  void replace_force(const Padded& padded, const Force& f) const {
    for (Index i = 0; i < count_; ++i)
      for_each_image(cells_.data()[i], [&](const Coord<D>& image) {
        for (std::size_t d = 0; d < D; ++d) f[d][padded.index(image)] = vectors_.data()[i * D + static_cast<Index>(d)];
      });
  }

 private:
  /// Whether a wall hides the neighbour across a side, and its velocity.
  bool hidden(const Coord<D>& c, int side, Vec<double, D>* velocity) const {
    Coord<D> face = c;
    face[side / 2] += side % 2;
    return walls_.blocked(side / 2, face, velocity);
  }
  bool hidden_or_outside(const Coord<D>& c, int side) const {
    const Index axis = side / 2;
    const bool last = c[axis] == (side % 2 ? walls_.grid().local_shape()[axis] - 1 : 0);
    if (last && !walls_.grid().shared(side / 2, side % 2)) return true;
    return hidden(c, side, nullptr);
  }
  /// d u_a / d x_b, for different axes.
  T change(const grid::MacField<T, D>& velocity, int a, int b, const Coord<D>& c) const {
    std::array<T, 2> u;
    for (int upper = 0; upper < 2; ++upper) {
      Vec<double, D> wall;
      if (hidden(c, 2 * b + upper, &wall)) {
        u[upper] = static_cast<T>(wall[a]);
        continue;
      }
      Coord<D> n = c;
      n[b] += upper ? 1 : -1;
      const auto view = velocity.component(a).view();
      const T* face = view.at(n);
      u[upper] = T(0.5) * (face[0] + face[view.strides[a]]);
    }
    return static_cast<T>(0.5 / walls_.grid().spacing()) * (u[1] - u[0]);
  }
  /// Calls body for a cell and for its images among the padded cells, up to two beyond periodic sides: gradients there look at
  /// them.
  template <class Body>
  void for_each_image(const Coord<D>& c, Body&& body) const {
    const grid::Grid<D>& grid = walls_.grid();
    for (Index image = 0; image < (D == 2 ? 9 : 27); ++image) {
      Coord<D> at = c;
      bool there = true;
      Index rest = image;
      for (std::size_t d = 0; d < D; ++d, rest /= 3) {
        if (rest % 3 == 0) continue;
        const Index n = grid.local_shape()[d];
        at[d] += rest % 3 == 1 ? n : -n;
        there &= grid.shared(static_cast<int>(d), 0) && at[d] >= -2 && at[d] <= n + 1;
      }
      if (there) body(at);
    }
  }

  const grid::ThinWalls<D>& walls_;
  Workspace::Lease<Coord<D>> cells_;
  Workspace::Lease<T> vectors_;
  Index count_ = 0;
};

}  // namespace meniscus::fluids
