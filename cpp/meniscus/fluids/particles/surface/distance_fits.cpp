#include "meniscus/fluids/particles/surface/distance_fits.hpp"

#include "meniscus/core/simd.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace meniscus::fluids {
namespace {

/// Least spread of particles, in squared cells, across which a slope can be fitted.
constexpr double least_spread = 1e-3;

/// A fit is trusted where particles agree on it, and where its slope is that of a distance, 1: fully up to the first deviation,
/// not at all from the second.
struct Deviations {
  double full, none;
  double trust(double deviation) const { return std::clamp((none - deviation) / (none - full), 0.0, 1.0); }
};
constexpr Deviations of_particles{0.05, 0.15};  ///< root mean square, in cells
constexpr Deviations of_slope{0.1, 0.3};

/// Where all distances are deeper than this, in cells, particles need not agree: only the sign matters, and regions know their
/// distance near their surface alone.
constexpr double deep_distance = 1.0;

/// What the support of weights by cell is larger than the reach, in cells: then they have the width of weights by distance.
constexpr double beyond_reach = 0.1;

constexpr double weight_along(int offset, int reach) {
  const double s = offset / (reach + beyond_reach), t = 1.0 - s * s;
  return t * t * t;
}

/// weights[o] of cells that are o apart along an axis.
template <int reach>
constexpr auto weights_along = [] {
  std::array<double, reach + 1> weights{};
  for (int o = 0; o <= reach; ++o) weights[o] = weight_along(o, reach);
  return weights;
}();

/// Sums over particles, of positions from a centre and of distances; and the largest distance.
template <int D>
struct Moments {
  static constexpr int number = 0, distance = 1, square = 2, largest = 3;
  static constexpr int place(int a) { return 4 + a; }            ///< of positions
  static constexpr int distance_at(int a) { return 4 + D + a; }  ///< of distances times positions
  static constexpr int second(int a, int b) {                    ///< of products of positions
    const int low = a < b ? a : b, high = a < b ? b : a;
    return 4 + 2 * D + low * D - low * (low - 1) / 2 + high - low;
  }
  static constexpr int count = 4 + 2 * D + D * (D + 1) / 2;

  std::array<double, count> of{};

  Moments() { of[largest] = -std::numeric_limits<double>::infinity(); }

  MENISCUS_INLINE void add(const std::array<double, D>& r, double d, double weight) {
    of[number] += weight;
    of[distance] += weight * d;
    of[square] += weight * d * d;
    of[largest] = d > of[largest] ? d : of[largest];
    for (int a = 0; a < D; ++a) {
      const double wr = weight * r[a];
      of[place(a)] += wr;
      of[distance_at(a)] += d * wr;
      for (int b = a; b < D; ++b) of[second(a, b)] += wr * r[b];
    }
  }

  DistanceFit fit() const {
    using V = Vec<double, D>;
    using Matrix = Eigen::Matrix<double, D, D>;
    const double weights = of[number];
    if (!(weights > 0.0)) return {};
    const double sum = of[distance] / weights;
    V mean, moment;
    for (int a = 0; a < D; ++a) {
      mean[a] = of[place(a)] / weights;
      moment[a] = of[distance_at(a)] / weights - sum * mean[a];
    }
    Matrix spread;
    for (int a = 0; a < D; ++a)
      for (int b = 0; b < D; ++b) spread(a, b) = of[second(a, b)] / weights - mean[a] * mean[b];
    const bool deep = of[largest] < -deep_distance;
    DistanceFit fit;
    if (deep) fit = {1.0, sum};
    if (!spreads_enough(spread)) return fit;
    const V slope = spread.inverse() * moment;
    const double variance = of[square] / weights - sum * sum - slope.dot(moment);
    const double trust = of_particles.trust(std::sqrt(std::max(variance, 0.0))) * of_slope.trust(std::abs(slope.norm() - 1.0));
    const double value = sum - slope.dot(mean);
    if (deep)
      fit.value += trust * (value - sum);
    else
      fit = {trust, value};
    return fit;
  }

 private:
  /// Whether the least eigenvalue is above the least spread: the leading minors of the rest are positive.
  static bool spreads_enough(Eigen::Matrix<double, D, D> spread) {
    spread.diagonal().array() -= least_spread;
    if (!(spread(0, 0) > 0.0) || !(spread(0, 0) * spread(1, 1) - spread(0, 1) * spread(1, 0) > 0.0)) return false;
    return D == 2 || spread.determinant() > 0.0;
  }
};

/// Moments of all cells in a row, moment after moment.
struct MomentRow {
  double* first;  ///< moment 0 of cell 0 of the block
  Index stride;   ///< from one moment to the next
  double* of(int moment) const { return first + moment * stride; }
};

/// Sums moments along an axis, from rows that are -reach to reach cells apart on it, for cells [begin, end). Terms of rows on
/// both sides are added first, so that mirrored rows give the same bits.
template <int D, int reach>
MENISCUS_INLINE void sum_rows(int axis, const std::array<MomentRow, 2 * reach + 1>& rows, Index begin, Index end,
                              const MomentRow& out) {
  using M = Moments<D>;
  constexpr std::size_t middle = reach;
  constexpr std::array weights = weights_along<reach>;
  const auto all = [&](int moment, auto&& value) {
    double* const to = out.of(moment);
#pragma GCC ivdep
    for (Index k = begin; k < end; ++k) to[k] = value(k);
  };
  // Of what does not depend on where the centre is.
  const auto even = [&](int moment, Index k) {
    double sum = rows[middle].of(moment)[k];
    for (std::size_t o = 1; o <= middle; ++o)
      sum += weights[o] * (rows[middle - o].of(moment)[k] + rows[middle + o].of(moment)[k]);
    return sum;
  };
  // Times the offsets from the centre.
  const auto odd = [&](int moment, Index k) {
    double sum = 0.0;
    for (std::size_t o = 1; o <= middle; ++o)
      sum += weights[o] * static_cast<double>(o) * (rows[middle + o].of(moment)[k] - rows[middle - o].of(moment)[k]);
    return sum;
  };
  const auto even_second = [&](int moment, Index k) {
    double sum = 0.0;
    for (std::size_t o = 1; o <= middle; ++o)
      sum += weights[o] * static_cast<double>(o * o) * (rows[middle - o].of(moment)[k] + rows[middle + o].of(moment)[k]);
    return sum;
  };
  all(M::largest, [&](Index k) {
    double most = rows[0].of(M::largest)[k];
    for (std::size_t o = 1; o <= 2 * middle; ++o) {
      const double d = rows[o].of(M::largest)[k];
      most = d > most ? d : most;
    }
    return most;
  });
  for (const int moment : {M::number, M::distance, M::square}) all(moment, [&](Index k) { return even(moment, k); });
  for (int a = 0; a < D; ++a) {
    const int at = M::place(a), along = M::distance_at(a);
    if (a == axis) {
      all(at, [&](Index k) { return even(at, k) + odd(M::number, k); });
      all(along, [&](Index k) { return even(along, k) + odd(M::distance, k); });
    } else {
      all(at, [&](Index k) { return even(at, k); });
      all(along, [&](Index k) { return even(along, k); });
    }
    for (int b = a; b < D; ++b) {
      const int both = M::second(a, b);
      if (a == axis && b == axis)
        all(both, [&](Index k) { return even(both, k) + 2.0 * odd(at, k) + even_second(M::number, k); });
      else if (a == axis || b == axis)
        all(both, [&](Index k) { return even(both, k) + odd(M::place(a == axis ? b : a), k); });
      else
        all(both, [&](Index k) { return even(both, k); });
    }
  }
}

/// Goes through the block plane by plane across its first axis, and keeps the sums of as many planes as a fit needs.
template <int D, int reach>
class FitSweep {
 public:
  using M = Moments<D>;

  FitSweep(const grid::CellParticles<D>& particles, const double* distances, const BlockCells<D>& cells,
           const std::uint8_t* wanted, DistanceFit* fits, Workspace& workspace)
      : particles_(particles),
        distances_(distances),
        cells_(cells),
        wanted_(wanted),
        fits_(fits),
        shape_(grid().local_shape()),
        planes_(shape_[0]),
        rows_(D == 3 ? shape_[1] : 1),
        length_(shape_[D - 1]),
        around_(D == 3 ? reach : 0),
        ranges_(workspace.take<CellRange>(planes_ * rows_)),
        empty_(workspace.take<double>(M::count * length_)),
        moments_(workspace.take<double>((rows_ + 2 * around_) * M::count * (length_ + 2 * reach))),
        sums_(workspace.take<double>((D == 3 ? rows_ + 2 * around_ : 0) * M::count * length_)),
        kept_(workspace.take<double>((2 * reach + 1) * rows_ * M::count * length_)) {
    std::fill_n(empty_.data(), M::count * length_, 0.0);
    std::fill_n(empty_.data() + M::largest * length_, length_, -std::numeric_limits<double>::infinity());
    find_ranges();
  }

  void run() {
    for (Index plane = -reach; plane < planes_ + reach; ++plane) {
      if (place(0, plane) >= 0) {
        sum_along_rows(plane);
        if constexpr (D == 3) sum_across_rows(plane);
      }
      if (plane >= reach) fit_plane(plane - reach);
    }
  }

 private:
  const grid::Grid<D>& grid() const { return *particles_.grid; }

  /// Place in the window of a cell of the block, or around it, along an axis; -1 beyond a side.
  Index place(int axis, Index cell) const {
    const Index d = axis;
    const grid::CellImage image = grid::mirrored_cell(grid(), axis, grid().first_cell()[d] + cell);
    return image.scale < 0.0 ? -1 : particles_.window->place(axis, image.cell);
  }

  void find_ranges() {
    parallel_for(0, planes_ * rows_, 64, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        ranges_.data()[r] = flagged_range(wanted_ + first_place(r / rows_, r % rows_), length_);
      }
    });
  }

  Index first_place(Index plane, Index row) const {
    Coord<D> c{};
    c[0] = plane;
    if constexpr (D == 3) c[1] = row;
    return cells_.place(c);
  }

  /// Cells of a row for which fits nearby need its sums along it, if they reach `around` rows to each side.
  CellRange needed(Index plane, Index row, Index around) const {
    CellRange range;
    for (Index p = std::max<Index>(plane - reach, 0); p <= std::min(plane + reach, planes_ - 1); ++p)
      for (Index r = std::max<Index>(row - around, 0); r <= std::min(row + around, rows_ - 1); ++r)
        range.join(ranges_.data()[p * rows_ + r]);
    return range;
  }

  MomentRow moments(Index row) const {
    const Index stride = length_ + 2 * reach;
    return {moments_.data() + (row + around_) * M::count * stride + reach, stride};
  }
  MomentRow sums(Index row) const { return {sums_.data() + (row + around_) * M::count * length_, length_}; }
  MomentRow kept(Index plane, Index row) const {
    const Index slot = (plane + 2 * reach + 1) % (2 * reach + 1);
    return {kept_.data() + (slot * rows_ + row) * M::count * length_, length_};
  }
  MomentRow empty() const { return {empty_.data(), length_}; }

  /// Moments of the cells in a plane, summed along the last axis.
  void sum_along_rows(Index plane) {
    parallel_for(0, rows_ + 2 * around_, 4, [&](Index begin, Index end) {
      for (Index row = begin - around_; row < end - around_; ++row) {
        const CellRange range = needed(plane, row, around_);
        if (range.empty() || (D == 3 && place(1, row) < 0)) continue;
        const MomentRow from = moments(row);
        read(plane, row, {range.begin - reach, range.end + reach}, from);
        std::array<MomentRow, 2 * reach + 1> shifted;
        for (Index o = -reach; o <= reach; ++o) shifted[o + reach] = {from.first + o, from.stride};
        const MomentRow to = D == 3 ? sums(row) : kept(plane, row);
        simd_dispatch([&] { sum_rows<D, reach>(D - 1, shifted, range.begin, range.end, to); });
      }
    });
  }

  void sum_across_rows(Index plane) {
    parallel_for(0, rows_, 4, [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const CellRange range = needed(plane, row, 0);
        if (range.empty()) continue;
        std::array<MomentRow, 2 * reach + 1> around;
        for (Index o = -reach; o <= reach; ++o) around[o + reach] = place(1, row + o) < 0 ? empty() : sums(row + o);
        simd_dispatch([&] { sum_rows<D, reach>(1, around, range.begin, range.end, kept(plane, row)); });
      }
    });
  }

  void fit_plane(Index plane) {
    parallel_for(0, rows_, 2, [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const CellRange range = ranges_.data()[plane * rows_ + row];
        if (range.empty()) continue;
        std::array<MomentRow, 2 * reach + 1> around;
        for (Index o = -reach; o <= reach; ++o) around[o + reach] = place(0, plane + o) < 0 ? empty() : kept(plane + o, row);
        const MomentRow whole = sums_of_fit(row);
        simd_dispatch([&] { sum_rows<D, reach>(0, around, range.begin, range.end, whole); });
        const Index first = first_place(plane, row);
        for (Index k = range.begin; k < range.end; ++k) {
          if (!wanted_[first + k]) continue;
          Moments<D> all;
          for (int m = 0; m < M::count; ++m) all.of[m] = whole.of(m)[k];
          fits_[first + k] = all.fit();
        }
      }
    });
  }

  /// The moments of the plane that was read last are not needed any more.
  MomentRow sums_of_fit(Index row) const { return moments(row); }

  void read(Index plane, Index row, const CellRange& range, const MomentRow& to) const {
    const Coord<D>& n = particles_.window->shape();
    Index first = place(0, plane);
    std::array<double, D> center;
    center[0] = center_of(0, plane);
    if constexpr (D == 3) {
      first = first * n[1] + place(1, row);
      center[1] = center_of(1, row);
    }
    for (Index k = range.begin; k < range.end; ++k) {
      Moments<D> sum;
      if (const Index at = place(D - 1, k); at >= 0) {
        center[D - 1] = center_of(D - 1, k);
        const Index key = first * n[D - 1] + at;
        for (Index i = particles_.starts[key]; i < particles_.starts[key + 1]; ++i) {
          std::array<double, D> r;
          for (std::size_t d = 0; d < D; ++d) r[d] = particles_.positions[i * D + static_cast<Index>(d)] - center[d];
          sum.add(r, distances_[i], 1.0);
        }
      }
      for (int m = 0; m < M::count; ++m) to.of(m)[k] = sum.of[m];
    }
  }

  /// Of a cell, or of what it is an image of, in cells.
  double center_of(int axis, Index cell) const {
    const Index d = axis;
    return static_cast<double>(grid::mirrored_cell(grid(), axis, grid().first_cell()[d] + cell).cell) + 0.5;
  }

  const grid::CellParticles<D>& particles_;
  const double* distances_;
  const BlockCells<D>& cells_;
  const std::uint8_t* wanted_;
  DistanceFit* fits_;
  Coord<D> shape_;
  Index planes_, rows_, length_, around_;  ///< of the block; rows around a plane that sums across rows need
  Workspace::Lease<CellRange> ranges_;     ///< of cells that are wanted, by row
  Workspace::Lease<double> empty_, moments_, sums_, kept_;
};

}  // namespace

template <int D>
void fit_distances(const grid::CellParticles<D>& particles, const double* distances, const BlockCells<D>& cells, int reach,
                   const std::uint8_t* wanted, DistanceFit* fits, Workspace& workspace) {
  if (reach == 2)
    FitSweep<D, 2>(particles, distances, cells, wanted, fits, workspace).run();
  else
    FitSweep<D, 3>(particles, distances, cells, wanted, fits, workspace).run();
}

template <int D>
DistanceFit fit_distance(const grid::CellParticles<D>& particles, const double* distances, int reach, const Coord<D>& cell,
                         const CellSight<D>& sight) {
  const double support = reach + 0.5, inverse = 1.0 / (support * support);
  Moments<D> sum;
  grid::for_each_neighbor<D>(particles, cell, 0, reach + 1, [&](Index i, const std::array<double, D>& x, const auto& scale) {
    for (const double s : scale)
      if (s < 0.0) return;
    if (!sight.sees(i, x, scale)) return;
    double s = 0.0;
    std::array<double, D> r;
    for (std::size_t d = 0; d < D; ++d) {
      r[d] = x[d] - (static_cast<double>(cell[d]) + 0.5);
      s += r[d] * r[d] * inverse;
    }
    if (s < 1.0) sum.add(r, distances[i], (1.0 - s) * (1.0 - s) * (1.0 - s));
  });
  return sum.fit();
}

#define MENISCUS_INSTANTIATE(D)                                                                                                \
  template void fit_distances<D>(const grid::CellParticles<D>&, const double*, const BlockCells<D>&, int, const std::uint8_t*, \
                                 DistanceFit*, Workspace&);                                                                    \
  template DistanceFit fit_distance<D>(const grid::CellParticles<D>&, const double*, int, const Coord<D>&, const CellSight<D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
