#include "meniscus/surface/redistancing/closest_search.hpp"

namespace meniscus::surface {
namespace {

/// Above this second difference, in units of the slope, samples count as kinked: a circle of radius R cells has 1 / R.
constexpr double kink = 0.3;
/// Range of the search around the sample, in cells.
constexpr double farthest_closest = 3.0;
/// Newton steps shorter than this many cells end the search; the distance then is off by less than the square of it.
constexpr double closest_tolerance = 1e-3;
constexpr int max_closest_steps = 12;

/// Sets a cell, by its lowest corner relative to the sample, to the one that holds x (cells, relative to the sample): beyond a
/// side the nearest one, between two cells the upper one, where `tied` gets the bit of the axis. With `leaving`, only along axes
/// where x is outside by more than a margin, so that it does not alternate between neighbouring cells. Returns whether the cell
/// changes.
template <int D>
bool take_cell(const StripGrid<D>& grid, const Coord<D>& sample, const double (*x)[closest_lanes], int l, bool leaving,
               Coord<D>& cell, unsigned& tied) {
  bool changed = false;
  tied = 0;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    const double at = x[d][l];
    if (leaving && !(std::abs(at - static_cast<double>(cell[axis]) - 0.5) > 0.52)) continue;
    const double whole = std::floor(at + cell_tie);
    const Index next = grid.nearest_cell(d, sample[axis], static_cast<Index>(whole));
    if (at - whole < cell_tie) tied |= 1u << d;
    changed |= next != cell[axis];
    cell[axis] = next;
  }
  return changed;
}

template <int D>
MENISCUS_INLINE void find_closest(const ClosestBatch<D>& batch, const StripGrid<D>& grid, GatherStencil<D> gather,
                                  const void* source, std::array<double, closest_lanes>& distance) {
  constexpr int n = closest_lanes;
  // Fills a lane with the samples of a new cell, if it is another one.
  enum class Entry : std::uint8_t { same, entered, blocked };
  const auto enter = [&](std::size_t i, const double (*x)[n], bool leaving, Coord<D>& cell, CubicStencils<D>& stencils) {
    const int l = static_cast<int>(i);
    unsigned tied = 0;
    if (!take_cell<D>(grid, batch.sample[i], x, l, leaving, cell, tied) && leaving) return Entry::same;
    return gather(source, batch.sample[i], batch.flat[i], tied, cell, l, stencils) ? Entry::entered : Entry::blocked;
  };
  alignas(64) double x[D][n], t[D][n], p[n], g[D][n], bend[n];
  std::array<Coord<D>, n> cell{};
  CubicStencils<D> stencils;
  enum State : int { searching, found, failed, blocked };
  std::array<int, n> state;
  for (int l = 0; l < n; ++l) {
    const Index i = l;
    state[i] = l < batch.count && batch.slope[i] > 0.0 ? searching : failed;
    if (state[i] == failed) continue;
    for (std::size_t d = 0; d < D; ++d) {
      x[d][l] = batch.start[i][d];
      // Also false where a sample is not finite, which is reported later.
      if (!(std::abs(x[d][l]) <= farthest_closest)) state[i] = failed;
    }
    if (state[i] == searching && enter(i, x, false, cell[i], stencils) == Entry::blocked) state[i] = blocked;
  }
  for (int l = 0; l < n; ++l) {
    if (state[l] == searching) continue;
    for (int i = 0; i < CubicStencils<D>::size; ++i) stencils.value[i][l] = 0.0;
    for (int d = 0; d < D; ++d) x[d][l] = 0.0;
    cell[l] = Coord<D>{};
  }
  largest_second_difference<D>(stencils, bend);
  for (int l = 0; l < n; ++l) {
    const Index i = l;
    if (state[i] == searching && !(bend[l] <= kink * batch.slope[i])) state[i] = failed;
  }
  for (int step = 0; step < max_closest_steps; ++step) {
    bool any = false;
    for (const int s : state) any |= s == searching;
    if (!any) break;
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) t[d][l] = x[d][l] - static_cast<double>(cell[l][d]);
    evaluate_cubics<D>(stencils, t, p, g);
    // Step onto the surface, and along it towards the sample, which is at 0.
    alignas(64) double square[n] = {}, along[n] = {}, moved[n] = {}, length[n] = {}, to[D][n];
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) {
        square[l] += g[d][l] * g[d][l];
        along[l] += x[d][l] * g[d][l];
      }
    for (int d = 0; d < D; ++d)
      for (int l = 0; l < n; ++l) {
        to[d][l] = (along[l] - p[l]) / square[l] * g[d][l];
        moved[l] += (to[d][l] - x[d][l]) * (to[d][l] - x[d][l]);
        length[l] += to[d][l] * to[d][l];
      }
    std::array<bool, n> entered{};  // another cell
    for (int l = 0; l < n; ++l) {
      const Index i = l;
      if (state[i] != searching) continue;
      for (int d = 0; d < D; ++d) x[d][l] = to[d][l];
      // Also false where there is no slope.
      if (!(length[l] <= farthest_closest * farthest_closest)) {
        state[i] = failed;
      } else if (moved[l] <= closest_tolerance * closest_tolerance) {
        state[i] = found;
      } else {
        const Entry entry = enter(i, x, true, cell[i], stencils);
        if (entry == Entry::blocked) state[i] = blocked;
        entered[i] = entry == Entry::entered;
      }
    }
    bool check = false;
    for (const bool e : entered) check |= e;
    if (!check) continue;
    largest_second_difference<D>(stencils, bend);
    for (int l = 0; l < n; ++l) {
      const Index i = l;
      if (entered[i] && !(bend[l] <= kink * batch.slope[i])) state[i] = failed;
    }
  }
  for (int l = 0; l < batch.count; ++l) {
    const Index i = l;
    double d = 0.0;
    for (int e = 0; e < D; ++e) d += x[e][l] * x[e][l];
    d = std::sqrt(d);
    if (state[i] == blocked)
      d = batch.blocked[i];
    else if (state[i] != found || !(d >= batch.low[i]) || !(d <= batch.high[i]))
      d = batch.otherwise[i];
    distance[i] = d;
  }
}

}  // namespace

template <int D>
void search_closest(const ClosestBatch<D>& batch, const StripGrid<D>& grid, GatherStencil<D> gather, const void* source,
                    std::array<double, closest_lanes>& distance) {
  simd_dispatch([&] { find_closest<D>(batch, grid, gather, source, distance); });
}

#define MENISCUS_INSTANTIATE(D)                                                                               \
  template void search_closest<D>(const ClosestBatch<D>&, const StripGrid<D>&, GatherStencil<D>, const void*, \
                                  std::array<double, closest_lanes>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
