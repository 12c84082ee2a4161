/// The forces of vortex particles beside thin walls: a particle acts on faces that it sees. Part of `vortex_forcing.cpp`.
///
/// Source: Selle 2008, sections 3.4.2 and 4.4.1 (no value passes a shell).
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/vorticity/vortex_row_force.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

#include <vector>

namespace meniscus::fluids::detail {

/// The place of a particle, m.
template <class T, int D>
Vec<double, D> place_of(const grid::Grid<D>& grid, const Source<T, D>& source) {
  Vec<double, D> x;
  for (int d = 0; d < D; ++d) x[d] = grid.origin()[d] + source.x[d] * grid.spacing();
  return x;
}

/// Whether walls may hide a face that a particle reaches.
template <class T, int D>
bool is_near_walls(const grid::ThinWalls<D>& walls, const Source<T, D>& source) {
  return static_cast<double>(walls.clearance(place_of<T, D>(walls.grid(), source))) <= std::ceil(source.radius) + 1;
}

/// What a particle does to a face of a component.
template <class T>
struct SeenFace {
  Index face;  ///< from the first sample of the component
  T force, kernel;
};

template <VortexKernel kernel_type, class T, int D>
void list_seen_faces(const Source<T, D>& source, const ComponentFaces<D>& faces, const grid::ThinWalls<D>& walls, int axis,
                     const Coord<D>& strides, std::vector<SeenFace<T>>& out) {
  const grid::Grid<D>& grid = walls.grid();
  const Vec<double, D> eye = place_of<T, D>(grid, source);
  RowForce<T, D, kernel_type> row(source, axis);
  const auto [first, last] = faces.range(0, source.x[0], source.radius);
  for_each_row(source, faces, first, last, row, [&](const Coord<D>& index, Index k0, Index k1) {
    for (Index k = k0; k <= k1; k += face_block) {
      FaceBlock<T> f, xi;
      row.evaluate(source.x[D - 1] - (static_cast<double>(k) + faces.shift[D - 1]), f, xi);
      const auto count = static_cast<int>(std::min<Index>(face_block, k1 - k + 1));
      std::array<Vec<double, D>, face_block> place;
      std::array<Coord<D>, face_block> owner;
      for (int l = 0; l < count; ++l) {
        const Index q = l;
        Coord<D> at = index;
        at[D - 1] = k + l;
        for (std::size_t d = 0; d < D; ++d) {
          owner[q][d] = faces.along[d].owner(at[d]);
          const auto c = static_cast<Index>(d);
          place[q][c] = grid.origin()[c] + (static_cast<double>(at[d]) + faces.shift[d]) * grid.spacing();
        }
      }
      const std::uint32_t hidden = walls.hidden(eye, place.data(), count, nullptr);
      for (int l = 0; l < count; ++l) {
        const Index q = l;
        if ((hidden >> q) & 1u || xi[q] == T(0) || walls.blocked(axis, owner[q], nullptr)) continue;
        out.push_back({dot<D>(owner[q], strides), f[q], xi[q]});
      }
    }
  });
}

/// Adds the forces of the sources near walls, in their order, on what each of them sees.
template <VortexKernel kernel_type, class T, int D>
void add_past_walls(grid::MacField<T, D>& velocity, const std::vector<Source<T, D>>& sources,
                    const std::array<ComponentFaces<D>, D>& faces, bool balance, const grid::ThinWalls<D>& walls) {
  const auto n = static_cast<Index>(sources.size());
  std::vector<std::vector<SeenFace<T>>> seen(sources.size());
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<T, D> u = velocity.component(d).view();
    parallel_for(0, n, 8, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        seen[i].clear();
        list_seen_faces<kernel_type, T, D>(sources[i], faces[d], walls, d, u.strides, seen[i]);
      }
    });
    T* const first = u.at(Coord<D>{});
    for (const std::vector<SeenFace<T>>& list : seen) {
      double force = 0, kernel = 0;
      for (const SeenFace<T>& s : list) {
        force += static_cast<double>(s.force);
        kernel += static_cast<double>(s.kernel);
      }
      const T mean = balance && kernel > 0 ? static_cast<T>(force / kernel) : T(0);
      for (const SeenFace<T>& s : list) first[s.face] += s.force - mean * s.kernel;
    }
  }
}

}  // namespace meniscus::fluids::detail
