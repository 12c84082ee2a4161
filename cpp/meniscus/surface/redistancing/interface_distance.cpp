#include "meniscus/surface/redistancing/interface_distance.hpp"

#include "meniscus/surface/redistancing/inflow_search.hpp"

#include <span>

namespace meniscus::surface {
namespace {

/// Whether any of the lanes differs in sign from its neighbours, and whether all are finite. `beside` holds the rows beside along
/// the other axes. The lanes before the first and after the last are memory of the field, but may be stale: they only make the
/// answer more cautious.
template <class T, int D>
MENISCUS_INLINE bool changes_sign(const T* row, const std::array<const T*, 2 * D - 2>& beside, Index first, int lanes,
                                  bool& finite) {
  const T* own = row + first;
  int change = 0, bad = 0;
  for (int k = 0; k < lanes; ++k) {
    const int s = own[k] > T(0);
    int m = (s ^ static_cast<int>(own[k - 1] > T(0))) | (s ^ static_cast<int>(own[k + 1] > T(0)));
    for (std::size_t d = 0; d < 2 * D - 2; ++d) m |= s ^ static_cast<int>(beside[d][first + k] > T(0));
    change |= m;
    bad |= static_cast<int>(!(own[k] - own[k] == T(0)));
  }
  finite = finite && bad == 0;
  return change != 0;
}

/// Finds the samples next to an interface, strip by strip.
template <class T, int D, class Visibility>
class InterfaceFinder {
 public:
  using Search = InterfaceSearch<T, D>;
  using Batch = typename Search::Batch;

  InterfaceFinder(const grid::FieldView<const T, D>& phi, double spacing, InterfaceDistance method, const Visibility& visibility,
                  bool at_sides, DistanceStrips<T, D>& strips, StripQueue<D>& queue, Workspace& workspace)
      : method_(method),
        visibility_(visibility),
        strips_(strips),
        grid_(strips.grid),
        queue_(queue),
        search_(phi, grid_, spacing),
        visible_{visibility, grid_},
        inflow_(search_, grid_, visible_, at_sides),
        beside_(workspace.take<std::uint16_t>(grid_.strips())),
        rows_(workspace.take<std::uint8_t>(grid_.rows)) {}

  /// The samples beside a change of sign. False where a sample is not finite.
  bool first_layer() {
    std::atomic<bool> all_finite{true};
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      Batch batch;
      bool finite = true;
      for (Index row = b; row < e; ++row) scan_row(row, batch, finite);
      if (batch.count > 0) search_.closest_points(batch, visible_);
      if (!finite) all_finite.store(false, std::memory_order_relaxed);
    });
    return all_finite.load();
  }

  /// The samples that touch those of the first layer, at least with a corner.
  void second_layer() {
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      Batch batch;
      std::array<Index, rows_around> around;
      for (Index row = b; row < e; ++row) {
        const Coord<D> start = grid_.row_coordinate(row);
        if (!grid_.own_row(start)) continue;
        bool any = false;
        for (int i = 0; i < rows_around; ++i) {
          const Index r = row_beside(start, i);
          around[i] = r;
          any |= r >= 0 && rows_.data()[r];
        }
        if (!any) continue;
        for (Index s = grid_.own_begin; s < grid_.own_end; ++s) {
          const unsigned wanted = touching(around, row, s);
          if (wanted) search_strip(around, StripPlace<D>::of(grid_, start, row, s), wanted, batch);
        }
      }
      if (batch.count > 0) search_.closest_points(batch, visible_);
    });
  }

  /// The samples with inflow from walls and sides that are closer than `reach` (cells) and not final already.
  void inflow(double reach) {
    const auto width = static_cast<Index>(std::ceil(reach));
    const auto limit = static_cast<T>(reach / search_.scale());
    parallel_for(0, grid_.rows, grid_.piece(), [&](Index b, Index e) {
      for (Index row = b; row < e; ++row) {
        const Coord<D> start = grid_.row_coordinate(row);
        if (!grid_.own_row(start)) continue;
        bool everywhere = !Visibility::all_visible;
        for (int d = 0; d < D - 1; ++d) everywhere |= near_side(d, start[d], width);
        for (Index s = grid_.own_begin; s < grid_.own_end; ++s) {
          const Index first = grid_.strip_start(s), last = first + grid_.lanes(s) - 1;
          if (!everywhere && !near_side(D - 1, first, width) && !near_side(D - 1, last, width)) continue;
          if (concerned(start, first, grid_.lanes(s), limit)) inflow_of_strip(StripPlace<D>::of(grid_, start, row, s), reach);
        }
      }
    });
  }

 private:
  static constexpr int rows_around = D == 3 ? 9 : 3;

  bool near_side(int axis, Index i, Index width) const { return grid_.below(axis, i - width) || grid_.above(axis, i + width); }

  /// Whether a strip has samples within a limit, or continued ones.
  bool concerned(const Coord<D>& start, Index first, int lanes, T limit) const {
    const T* phi = search_.at(start) + first;
    int any = 0;
    for (int k = 0; k < lanes; ++k) any |= static_cast<int>(std::abs(phi[k]) < limit);
    if constexpr (!Visibility::all_visible) {
      Coord<D> c = start;
      c[D - 1] = first;
      const Index sample = grid_.sample(c);
      for (int k = 0; k < lanes; ++k) any |= static_cast<int>(visibility_.continued(sample + k));
    }
    return any != 0;
  }

  void inflow_of_strip(const StripPlace<D>& place, double reach) {
    bool changed = false;
    for (int k = 0; k < place.lanes; ++k) {
      Coord<D> c = place.start;
      c[D - 1] += k;
      const double own = search_.value(c);
      const bool within = std::abs(own) < reach, continued = visible_.continued(c);
      if (!visible_(c) || (!within && !continued)) continue;
      if (strips_.touched.data()[place.strip] && std::signbit(strips_.at(place.strip)[k])) continue;
      const auto axes = search_.crossings(c, visible_);
      const Inflow inflow = continued ? inflow_.of_continued(c) : inflow_.of(c, axes);
      if (inflow == Inflow::none) continue;
      const bool tells = within && inflow != Inflow::torn;
      double distance = !tells ? no_distance : std::abs(own);
      if (tells && inflow == Inflow::given) distance = axes.flat() ? std::abs(own) : inflow_.distance(c);
      strips_.touch(place, visibility_)[k] = -static_cast<T>(distance);
      changed = true;
    }
    if (changed) enqueue(place);
  }

  /// Of strips that another block updates, samples beside this block's strips are examined too, but not added to the queue.
  void scan_row(Index row, Batch& batch, bool& finite) {
    constexpr Index block = 64;
    std::array<bool, block> candidate;
    const Coord<D> start = grid_.row_coordinate(row);
    const bool own_row = grid_.own_row(start);
    const T* own = search_.at(start);
    std::array<const T*, 2 * D - 2> beside;
    for (int d = 0; d < D - 1; ++d)
      for (int up = 0; up < 2; ++up) {
        Coord<D> c = start;
        c[d] = grid_.neighbour(d, start[d], up ? 1 : -1);
        beside[2 * d + up] = c[d] < 0 ? own : search_.at(c);
      }
    rows_.data()[row] = 0;
    const auto note = [&](Index s, unsigned found) {
      beside_.data()[row * grid_.row_strips + s] = static_cast<std::uint16_t>(found);
      if (found) rows_.data()[row] = 1;
    };
    if (grid_.own_begin > 0) {
      const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, grid_.own_begin - 1);
      note(p.s, examine(p, {p.lanes - 1, p.lanes}, own, beside, true, false, batch));
    }
    if (grid_.own_end < grid_.row_strips)
      note(grid_.own_end, examine(StripPlace<D>::of(grid_, start, row, grid_.own_end), {0, 1}, own, beside, true, false, batch));
    for (Index first = grid_.own_begin; first < grid_.own_end; first += block) {
      const Index end = std::min(first + block, grid_.own_end);
      simd_dispatch([&] {
        for (Index s = first; s < end; ++s) {
          const Index at = grid_.strip_start(s);
          const int lanes = grid_.lanes(s);
          candidate[s - first] = lanes == strip_lanes ? changes_sign<T, D>(own, beside, at, strip_lanes, finite)
                                                      : changes_sign<T, D>(own, beside, at, lanes, finite);
        }
      });
      for (Index s = first; s < end; ++s) {
        // Across a periodic side the lane beside the row may be stale.
        const bool at_side = grid_.at_seam(s);
        unsigned found = 0;
        if (candidate[s - first] || at_side) {
          const StripPlace<D> p = StripPlace<D>::of(grid_, start, row, s);
          found = examine(p, {0, p.lanes}, own, beside, !at_side, own_row, batch);
        }
        note(s, found);
      }
    }
  }

  /// The lanes in a range of a strip that are beside a change of sign. `quick`: the signs of the lanes beyond its ends can be
  /// relied on. `own_strip`: this block updates the strip.
  unsigned examine(const StripPlace<D>& place, std::array<int, 2> range, const T* row,
                   const std::array<const T*, 2 * D - 2>& beside, bool quick, bool own_strip, Batch& batch) {
    unsigned found = 0;
    for (int k = range[0]; k < range[1]; ++k) {
      Coord<D> c = place.start;
      c[D - 1] += k;
      if (quick) {
        const T* own = row + c[D - 1];
        const bool outside = *own > T(0);
        bool differs = ((own[-1] > T(0)) != outside) | ((own[1] > T(0)) != outside);
        for (const T* other : beside) differs |= (other[c[D - 1]] > T(0)) != outside;
        if (!differs) continue;
      }
      if (!visible_(c)) continue;
      const auto axes = search_.crossings(c, visible_);
      if (axes.nearest > 1.0) continue;
      found |= 1u << k;
      // The window may not hold all samples of the strip of another block.
      T* target = (own_strip ? strips_.touch(place, visibility_) : strips_.touch(place, EverySample{})) + k;
      const Inflow inflow = inflow_.of(c, axes);
      if (inflow == Inflow::torn || (inflow != Inflow::none && axes.flat())) {
        *target = -static_cast<T>(inflow == Inflow::torn ? no_distance : Search::flat_distance(search_.value(c), axes));
        continue;
      }
      if (axes.nearest <= 0.0 || method_ == InterfaceDistance::axis_crossings) {
        *target = -static_cast<T>(axes.combined);
        continue;
      }
      search_.add(batch, c, axes, target);
      if (batch.full()) search_.closest_points(batch, visible_);
    }
    if (found && own_strip) enqueue(place);
    return found;
  }

  void enqueue(const StripPlace<D>& place) {
    queue_.add(place.strip);
    queue_.add_beside(place, [](std::size_t) { return true; });
  }

  /// Row number i of the 3 or 9 around a row, itself included; -1 where there is none.
  Index row_beside(const Coord<D>& start, int i) const {
    Index row = 0;
    for (int d = 0; d < D - 1; ++d) {
      const int step = (d == D - 2 ? i % 3 : i / 3) - 1;
      const Index c = step == 0 ? start[d] : grid_.row_neighbour(d, start[d], step);
      if (c < 0) return -1;
      row = row * grid_.row_extent[d] + c - grid_.row_begin[d];
    }
    return row;
  }

  /// Lanes of strip s that touch the first layer and are not in it.
  unsigned touching(const std::array<Index, rows_around>& around, Index row, Index s) const {
    const Index n = grid_.row_strips;
    const Index before = grid_.strip_before(s), after = grid_.strip_after(s);
    unsigned own = 0, low = 0, high = 0;
    for (const Index r : around) {
      if (r < 0) continue;
      const std::uint16_t* bits = beside_.data() + r * n;
      own |= bits[s];
      if (before >= 0) low |= bits[before];
      if (after >= 0) high |= bits[after];
    }
    const int lanes = grid_.lanes(s);
    const unsigned carried = before >= 0 ? low >> (grid_.lanes(before) - 1) & 1u : 0u;
    const unsigned touched = own | own << 1 | own >> 1 | carried | (high & 1u) << (lanes - 1);
    return touched & ((1u << lanes) - 1u) & ~static_cast<unsigned>(beside_.data()[row * n + s]);
  }

  void search_strip(const std::array<Index, rows_around>& around, const StripPlace<D>& place, unsigned wanted, Batch& batch) {
    T* own = strips_.touch(place, visibility_);
    enqueue(place);
    for (; wanted != 0; wanted &= wanted - 1) {
      const int k = std::countr_zero(wanted);
      if (std::signbit(own[k])) continue;  // hidden
      Coord<D> c = place.start;
      c[D - 1] += k;
      add_second(around, c, own + k, batch);
      if (batch.full()) search_.closest_points(batch, visible_);
    }
  }

  /// The search for a sample of the second layer starts where its neighbour in the first layer with the shortest distance has
  /// found, or would have begun to look for, the surface: of several the nearest neighbour, or the mean of those. The distance
  /// may not exceed what the distances of the first layer allow, by the triangle inequality.
  void add_second(const std::array<Index, rows_around>& around, const Coord<D>& c, T* target, Batch& batch) const {
    static const std::array<double, 4> roots{0.0, 1.0, std::sqrt(2.0), std::sqrt(3.0)};
    const auto own = search_.crossings(c, visible_);
    if (own.flat() && inflow_.of(c, own) != Inflow::none) return;
    const bool outside = search_.value(c) > 0.0;
    double nearest = infinite_distance, most = infinite_distance;
    std::array<FirstLayerSample, 3 * rows_around> found;
    std::size_t count = 0;
    for (int i = 0; i < rows_around; ++i) {
      const Index row = around[i];
      if (row < 0 || !rows_.data()[row]) continue;
      FirstLayerSample n;
      for (int d = 0; d < D - 1; ++d) {
        n.offset[d] = (d == D - 2 ? i % 3 : i / 3) - 1;
        n.at[d] = n.offset[d] == 0 ? c[d] : grid_.neighbour(d, c[d], static_cast<int>(n.offset[d]));
      }
      for (int along = -1; along <= 1; ++along) {
        n.offset[D - 1] = along;
        n.at[D - 1] = along == 0 ? c[D - 1] : grid_.neighbour(D - 1, c[D - 1], along);
        if (n.at[D - 1] < 0) continue;
        const auto lane = grid_.lane_of(n.at[D - 1]);
        const Index strip = row * grid_.row_strips + lane.strip;
        if (!(beside_.data()[strip] >> lane.lane & 1)) continue;
        n.distance = -static_cast<double>(strips_.at(strip)[lane.lane]);
        n.square = dot<D>(n.offset, n.offset);
        const double length = roots[n.square];
        most = std::min(most, (search_.value(n.at) > 0.0) == outside ? length + n.distance : length - n.distance);
        nearest = std::min(nearest, n.distance);
        found[count++] = n;
      }
    }
    if (nearest >= infinite_distance) return;
    const Index i = batch.count++;
    batch.sample[i] = c;
    start_second({found.data(), count}, nearest, batch, i);
    batch.low[i] = 0.5;
    batch.high[i] = most + crossing_slack;
    batch.otherwise[i] = batch.blocked[i] = -1.0;
    batch.flat[i] = own.flat();
    batch.target[i] = target;
  }

  struct FirstLayerSample {
    Coord<D> at, offset;  ///< from the sample of the second layer
    Index square;         ///< of the length of that
    double distance;
  };

  /// Where the order of neighbours decided between equal distances, a surface and its mirror image would differ.
  void start_second(std::span<const FirstLayerSample> found, double nearest, Batch& batch, Index i) const {
    Index closest = 2 * D;
    for (const FirstLayerSample& n : found)
      if (n.distance <= nearest + cell_tie) closest = std::min(closest, n.square);
    std::array<double, D> sum{};
    double slope = 0, count = 0;
    bool all_beside = true;
    for (const FirstLayerSample& n : found) {
      if (n.distance > nearest + cell_tie || n.square != closest) continue;
      const auto axes = search_.crossings(n.at, visible_);
      const auto step = search_.first_step(n.at, axes);
      for (std::size_t d = 0; d < D; ++d) sum[d] += step[d] + static_cast<double>(n.offset[d]);
      slope += Search::norm(axes.gradient);
      all_beside &= axes.all_beside;
      ++count;
    }
    for (std::size_t d = 0; d < D; ++d) batch.start[i][d] = sum[d] / count;
    batch.slope[i] = all_beside ? slope / count : 0.0;
  }

  InterfaceDistance method_;
  const Visibility& visibility_;
  DistanceStrips<T, D>& strips_;
  const StripGrid<D>& grid_;
  StripQueue<D>& queue_;
  Search search_;
  VisibleAt<D, Visibility> visible_;
  InflowSearch<T, D, Visibility> inflow_;
  Workspace::Lease<std::uint16_t> beside_;  ///< lanes of the first layer
  Workspace::Lease<std::uint8_t> rows_;     ///< rows that have any
};

}  // namespace

template <class T, int D, class Visibility>
bool find_interface(const grid::FieldView<const T, D>& phi, double spacing, InterfaceDistance method, AtSides at_sides,
                    double reach, const Visibility& visibility, DistanceStrips<T, D>& strips, StripQueue<D>& queue,
                    Workspace& workspace) {
  InterfaceFinder<T, D, Visibility> finder(phi, spacing, method, visibility, at_sides == AtSides::goes_on, strips, queue,
                                           workspace);
  if (!finder.first_layer()) return false;
  if (method == InterfaceDistance::closest_point) finder.second_layer();
  if (reach > 0.0) finder.inflow(reach);
  return true;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template bool find_interface<T, D, EverySample>(const grid::FieldView<const T, D>&, double, InterfaceDistance, AtSides,   \
                                                  double, const EverySample&, DistanceStrips<T, D>&, StripQueue<D>&,        \
                                                  Workspace&);                                                              \
  template bool find_interface<T, D, MaskedSamples>(const grid::FieldView<const T, D>&, double, InterfaceDistance, AtSides, \
                                                    double, const MaskedSamples&, DistanceStrips<T, D>&, StripQueue<D>&,    \
                                                    Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
