#include "meniscus/surface/extraction/level_set_volume.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/surface/extraction/cut_cell.hpp"
#include "meniscus/surface/extraction/sign_bits.hpp"

namespace meniscus::surface {
namespace {

/// Common signs of the corners of 64 cells.
struct Corners {
  std::uint64_t some = 0;
  std::uint64_t all = ~std::uint64_t{0};
};

/// The cells between row r and its next ones along the axes before the last.
template <int D>
MENISCUS_INLINE Corners corners_of(const SignBits<D>& signs, Index r, Index w) {
  Corners c;
  for (unsigned i = 0; i < 1U << (D - 1); ++i) {
    Index row = r;
    for (int d = 0; d < D - 1; ++d)
      if (i >> d & 1) row += signs.stride(d);
    const std::uint64_t a = signs.word(row, w);
    const std::uint64_t b = signs.next(row, w);
    c.some |= a | b;
    c.all &= a & b;
  }
  return c;
}

/// Whether cells of the block begin in a row.
template <class T, int D>
bool starts_cells(const LevelSetLattice<T, D>& lattice, const Coord<D>& at) {
  for (int d = 0; d < D - 1; ++d)
    if (at[d] < lattice.first_cell(d) || at[d] + 1 == lattice.extents()[d]) return false;
  return true;
}

/// Terms of a volume and of an area, which are added in any order.
class MeasureTerms {
 public:
  void add(double volume, double area) {
    volume_[count_] = volume;
    area_[count_] = area;
    if (++count_ == lanes) flush();
  }
  struct Sums {
    numerics::BinnedSum volume, area;
  };
  Sums total() {
    flush();
    return {volumes_.total(), areas_.total()};
  }

 private:
  static constexpr int lanes = 16;
  void flush() {
    volumes_.add(volume_.data(), count_);
    areas_.add(area_.data(), count_);
    count_ = 0;
  }

  std::array<double, lanes> volume_{}, area_{};
  int count_ = 0;
  numerics::BinnedLanes<lanes> volumes_, areas_;
};

/// The samples of word w from which cells of the block begin along the last axis.
template <class T, int D>
MENISCUS_INLINE std::uint64_t starts_of_cells(const LevelSetLattice<T, D>& lattice, const SignBits<D>& signs, Index w) {
  const std::uint64_t all = signs.has_next(w);
  return w == 0 && lattice.first_cell(D - 1) == 1 ? all & ~std::uint64_t{1} : all;
}

/// Corners of a cell of the grid by means of the samples on cells around them.
template <class T, int D>
double corner_mean(const LevelSetLattice<T, D>& lattice, const Coord<D>& node) {
  double sum = 0;
  for (unsigned i = 0; i < 1U << D; ++i) {
    Coord<D> c = node;
    for (unsigned d = 0; d < D; ++d) {
      // A corner on a side has its own sample there.
      const auto axis = static_cast<int>(d);
      const Index low = node[d], high = low + 1;
      c[d] = lattice.at_lower(axis, low) ? low : lattice.at_upper(axis, high) || i >> d & 1 ? high : low;
    }
    sum += lattice.value(c);
  }
  return sum / (1U << D);
}

/// The inside part of a cell that the surface cuts. Called, not inlined: cases of a table gain nothing from wider registers.
template <class T, int D>
MENISCUS_NOINLINE double inside_of_cell(const LevelSetLattice<T, D>& lattice, const Coord<D>& c,
                                        const std::array<double, D>& step) {
  if (lattice.on_nodes()) return cut_cell_at<T, D>(lattice, c).inside();
  std::array<double, 1 << D> values;
  for (unsigned i = 0; i < 1U << D; ++i) {
    Coord<D> node = c;
    for (unsigned d = 0; d < D; ++d) node[d] += i >> d & 1;
    values[i] = corner_mean<T, D>(lattice, node);
  }
  return cut_cell(values, step).inside();
}

/// The flux of (0, height) through the surface in a cell, whose lowest corner is `base` above the side x_last = 0 of the domain.
/// Its sum is the volume but for what the upper side of the domain adds, because all other sides are along the flux or at height
/// 0.
MENISCUS_NOINLINE void add_surface(const std::array<double, 4>& values, const std::array<double, 2>& step, double base,
                                   double& flux, double& area) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < 4; ++i) mask |= static_cast<unsigned>(values[i] <= 0) << i;
  const SquareCase& c = square_cases()[mask];
  for (int s = 0; s < c.segment_count; ++s) {
    std::array<Vec<double, 2>, 2> x;
    for (std::size_t e = 0; e < 2; ++e) x[e] = square_crossing(values, step, c.segments[s][e]);
    flux += (x[0][0] - x[1][0]) * (base + 0.5 * (x[0][1] + x[1][1]));
    area += (x[1] - x[0]).norm();
  }
}

MENISCUS_NOINLINE void add_surface(const std::array<double, 8>& values, const std::array<double, 3>& step, double base,
                                   double& flux, double& area) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < 8; ++i) mask |= static_cast<unsigned>(values[i] <= 0) << i;
  const CubeCase& c = cube_cases()[mask];
  const std::array<Vec<double, 3>, 12> x = cube_crossings(c, values);
  for_each_triangle(c, x, [&](std::int8_t, const std::array<std::int8_t, 3>& corner) {
    const auto place = [&](std::int8_t i) { return Vec<double, 3>(step[0] * x[i][0], step[1] * x[i][1], step[2] * x[i][2]); };
    const Vec<double, 3> p = place(corner[0]), q = place(corner[1]), r = place(corner[2]);
    const Vec<double, 3> twice = (q - p).cross(r - p);
    flux += 0.5 * twice[2] * (base + (p[2] + q[2] + r[2]) / 3.0);
    area += 0.5 * twice.norm();
  });
}

/// The inside of the upper side of the domain between row r and its next ones; `at` is its last sample.
template <class T, int D>
double inside_of_side(const LevelSetLattice<T, D>& lattice, const SignBits<D>& signs, Index r, const Coord<D>& at) {
  double across = 1;
  std::array<double, 4> values{};
  unsigned inside = 0;
  for (unsigned i = 0; i < 1U << (D - 1); ++i) {
    Index row = r;
    for (int d = 0; d < D - 1; ++d)
      if (i >> d & 1) row += signs.stride(d);
    inside |= static_cast<unsigned>(signs.inside(row, at[D - 1])) << i;
  }
  for (int d = 0; d < D - 1; ++d) across *= lattice.step(d, at[d]);
  constexpr unsigned full = (1U << (1U << (D - 1))) - 1;
  if (inside == 0) return 0;
  if (inside == full) return across;
  for (unsigned i = 0; i < 1U << (D - 1); ++i) {
    Coord<D> c = at;
    for (unsigned d = 0; d + 1 < D; ++d) c[d] += i >> d & 1;
    values[i] = lattice.value(c);
  }
  if constexpr (D == 2) {
    const double t = crossing(values[0], values[1]);
    return across * (inside == 1 ? t : 1.0 - t);
  } else {
    const std::array<double, 2> areas = detail::polygon_areas(square_cases()[inside], values);
    return across * (areas[0] + areas[1]);
  }
}

}  // namespace

template <class T, int D>
LevelSetMeasure measure_level_set(const grid::Field<T, D>& phi, Workspace& workspace) {
  const LevelSetLattice<T, D> lattice(phi, workspace);
  const SignBits<D> signs(phi, lattice, workspace);
  const Index last = signs.extents()[D - 1] - 1;
  const bool at_upper_side = lattice.at_upper(D - 1, last);
  const double bottom = lattice.bottom(D - 1), height = lattice.top(D - 1) - bottom;
  using Sums = MeasureTerms::Sums;
  const Sums sums = parallel_reduce<Sums>(
      0, signs.rows(), rows_per_piece(signs), {},
      [&](Index begin, Index end) {
        MeasureTerms terms;
        simd_dispatch([&] {
          for (Index r = begin; r < end; ++r) {
            Coord<D> c = lattice_row<D>(signs.extents(), r);
            if (!starts_cells<T, D>(lattice, c)) continue;
            std::array<double, D> step;
            for (int d = 0; d < D; ++d) step[d] = lattice.step(d, c[d]);
            for (Index w = 0; w < signs.words(); ++w) {
              const Corners corners = corners_of<D>(signs, r, w);
              for_each_bit(corners.some & ~corners.all & starts_of_cells(lattice, signs, w), [&](int bit) {
                c[D - 1] = 64 * w + bit;
                step[D - 1] = lattice.step(D - 1, c[D - 1]);
                double flux = 0, area = 0;
                add_surface(lattice.corners(c), step, lattice.coordinate(D - 1, c[D - 1]) - bottom, flux, area);
                terms.add(flux, area);
              });
            }
            if (!at_upper_side) continue;
            c[D - 1] = last;
            terms.add(height * inside_of_side<T, D>(lattice, signs, r, c), 0.0);
          }
        });
        return terms.total();
      },
      [](Sums a, const Sums& b) {
        a.volume.add(b.volume);
        a.area.add(b.area);
        return a;
      });
  std::array<numerics::BinnedSum, 2> all{sums.volume, sums.area};
  parallel::global_sums(*phi.grid().communicator(), all.data(), 2);
  return {all[0].value(), all[1].value()};
}

template <class T, int D>
void volume_fractions(const grid::Field<T, D>& phi, grid::Field<T, D>& out, Workspace& workspace) {
  require(phi.grid() == out.grid() && out.stagger() == grid::Stagger<D>::cell(), "out must be on the cells of the grid of phi");
  const LevelSetLattice<T, D> lattice(phi, workspace);
  const SignBits<D> signs(phi, lattice, workspace);
  const bool on_nodes = lattice.on_nodes();
  const grid::FieldView<T, D> to = out.view();
  const Index length = to.extents[D - 1];
  std::array<double, D> step;
  step.fill(phi.grid().spacing());
  // Samples that a cell's fraction depends on, per axis: its two corners, or its own sample and both neighbours.
  const Index width = on_nodes ? 2 : 3;
  const Index rows = product<D>(to.extents) / length;
  parallel_for(0, rows, std::max<Index>(1, 4096 / length), [&](Index begin, Index end) {
    simd_dispatch([&] {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = lattice_row<D>(to.extents, r);
        T* const first = to.at(c);
        Index source = 0;
        for (int d = 0; d < D - 1; ++d) source += c[d] * signs.stride(d);
        for (Index w = 0; w < signs.words(); ++w) {
          const Index count = std::min<Index>(64, length - 64 * w);
          if (count <= 0) break;
          std::uint64_t some = 0;
          std::uint64_t all = ~std::uint64_t{0};
          for (Index i = 0; i < (D == 3 ? width * width : width); ++i) {
            const Index row =
                D == 3 ? source + i / width * signs.stride(0) + i % width * signs.stride(D - 2) : source + i * signs.stride(0);
            const std::uint64_t a = signs.word(row, w);
            const std::uint64_t b = signs.next(row, w);
            some |= a | b;
            all &= a & b;
            if (on_nodes) continue;
            const std::uint64_t second = b >> 1 | (w + 1 < signs.words() ? signs.word(row, w + 1) << 62 : 0);
            some |= second;
            all &= second;
          }
          if (all == 0 || all == ~std::uint64_t{0})
            std::fill_n(first + 64 * w, count, static_cast<T>(all & 1));
          else
            for (Index k = 0; k < count; ++k) first[64 * w + k] = static_cast<T>(all >> k & 1);
          const std::uint64_t mixed = some & ~all & (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
          for_each_bit(mixed, [&](int bit) {
            c[D - 1] = 64 * w + bit;
            first[c[D - 1]] = static_cast<T>(std::clamp(inside_of_cell<T, D>(lattice, c, step), 0.0, 1.0));
          });
        }
      }
    });
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                        \
  template LevelSetMeasure measure_level_set<T, D>(const grid::Field<T, D>&, Workspace&); \
  template void volume_fractions<T, D>(const grid::Field<T, D>&, grid::Field<T, D>&, Workspace&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
