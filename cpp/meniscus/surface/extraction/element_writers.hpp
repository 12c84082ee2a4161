/// Contribution of the cells of a lattice to a mesh: elements by numbers of vertices in one block, or by keys in many (for
/// extraction.cpp).
#pragma once

#include "meniscus/surface/extraction/cut_cell.hpp"
#include "meniscus/surface/extraction/extraction.hpp"

namespace meniscus::surface {

namespace extraction_detail {

inline std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace extraction_detail

/// Elements as numbers of vertices, one after the other.
template <class T, int D>
struct SurfaceExtraction<T, D>::Numbers {
  using Id = std::int32_t;
  const SurfaceExtraction* self;
  std::int32_t* to;

  Id vertex(const Row& row, int group, Index k) const { return self->vertex(row, group, k); }
  void add(int /*phase*/, const Row& /*row*/, Index /*k*/, const std::array<Id, D>& element) {
    to = std::copy(element.begin(), element.end(), to);
  }
};

/// Elements as keys of vertices, with keys of their own.
template <class T, int D>
struct SurfaceExtraction<T, D>::Keys {
  using Id = std::uint64_t;
  const SurfaceExtraction* self;
  std::vector<WeldedElement<D>>* to;
  std::uint64_t last = ~std::uint64_t{0}, count = 0;

  Id vertex(const Row& row, int group, Index k) const { return self->vertex_key(row, group, k); }
  /// Elements of a cell follow each other.
  void add(int phase, const Row& row, Index k, const std::array<Id, D>& element) {
    const auto length = static_cast<std::uint64_t>(self->lattice_.last(D - 1)) + 1;
    const auto at = static_cast<std::uint64_t>(self->lattice_.global(D - 1, k));
    const std::uint64_t cell = (self->row_key(row) * 4 + static_cast<std::uint64_t>(phase)) * length + at;
    count = cell == last ? count + 1 : 0;
    last = cell;
    to->push_back({cell * 16 + count, element});
  }
};

/// Passes the elements of cells on. They come in phases: those inside, those on the sides across the last axis, the first, the
/// second.
template <class T, int D>
template <class Out>
struct SurfaceExtraction<T, D>::Writer {
  const SurfaceExtraction* self;
  Out out;
  using Id = typename Out::Id;

  void cube(const std::array<Row, 4>& rows, Index k, unsigned mask) {
    const CubeCase& c = cube_cases()[mask];
    std::array<Id, 12> v;
    for (int i = 0; i < c.edge_count; ++i) {
      const CubeEdge& e = cube_edges[c.edges[i]];
      v[i] = out.vertex(rows[e.corner & 3], e.axis, k + (e.corner >> 2));
    }
    if constexpr (D == 3) {
      std::array<Vec<double, 3>, 12> x;
      if (c.any_choice) {
        Coord<D> at = rows[0].at;
        at[D - 1] = k;
        x = cube_crossings(c, self->lattice_.corners(at));
      }
      for_each_triangle(c, x, [&](std::int8_t, const std::array<std::int8_t, 3>& corner) {
        out.add(0, rows[0], k, {v[corner[0]], v[corner[1]], v[corner[2]]});
      });
    }
  }

  void square(const std::array<const Row*, 4>& rows, const std::array<Index, 4>& k, int u, int v, unsigned mask, bool reversed) {
    const SquareCase& c = square_cases()[mask];
    const auto crossing_on = [&](int edge) {
      constexpr std::array<int, 4> lower{0, 1, 2, 0};
      const std::size_t corner = extraction_detail::z(lower[edge]);
      return out.vertex(*rows[corner], edge % 2 == 0 ? u : v, k[corner]);
    };
    if constexpr (D == 2) {
      for (int i = 0; i < c.segment_count; ++i)
        out.add(0, *rows[0], k[0], {crossing_on(c.segments[i][0]), crossing_on(c.segments[i][1])});
    } else {
      const int phase = v == 1 ? 1 : u == 1 ? 2 : 3;
      for (int i = 0; i < c.triangle_count; ++i) {
        std::array<Id, 3> t;
        for (std::size_t a = 0; a < 3; ++a) {
          const int code = c.triangles[i][a];
          t[a] = code < 4 ? out.vertex(*rows[code], D, k[code]) : crossing_on(code - 4);
        }
        if (reversed) std::swap(t[1], t[2]);
        out.add(phase, *rows[0], k[0], t);
      }
    }
  }

  /// The inside of one edge on a side of a 2-D domain; `backward` says whether the domain's boundary is followed from the upper
  /// end to the lower one.
  void side(const Row& low, Index k, const Row& high, Index l, int axis, bool backward) {
    const bool a = self->signs_.inside(low.number, k);
    const bool b = self->signs_.inside(high.number, l);
    if (!a && !b) return;
    const Id first = a ? out.vertex(low, D, k) : out.vertex(low, axis, k);
    const Id second = b ? out.vertex(high, D, l) : out.vertex(low, axis, k);
    if constexpr (D == 2) out.add(axis == 0 ? 1 : 2, low, k, backward ? std::array{second, first} : std::array{first, second});
  }
};

}  // namespace meniscus::surface
