// The part of a `VolumeBudget` that concerns liquid which goes: through the sides of the domain, or below the resolution.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/liquid/label_sums.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/walls/straight_way.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Cells' worth of volume that may count to a cell beside thin walls: half a cell more on each end of each axis.
template <int D>
constexpr double cells_beside_wall = 1 << D;
/// Rows of cells at an open side in which a part vanishes that is on its way out.
constexpr Index side_rows = 2;

/// The columns of cells before the faces of a side, in the block at the side. Cells and faces are counted from there.
template <class T, int D>
class SideColumns {
 public:
  /// Collective. `depth`: cells that may be asked for, the same on all blocks. `labels`: of the cells of the block.
  SideColumns(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions, const std::int32_t* labels,
              const grid::Field<double, D>* solid, const Side& side, Index depth)
      : grid_(velocity.grid()),
        side_(side),
        axis_(side.axis),
        solid_(solid),
        // Where every block has so many cells, nobody has to ask for those of others.
        beyond_(missing_cells(velocity.grid(), side.axis, depth)),
        fractions_(grid_, grid::Stagger<D>::cell(), fractions.view().origin, fractions.view().strides, beyond_),
        speeds_(grid_, grid::Stagger<D>::face(side.axis), velocity.component(side.axis).view().origin,
                velocity.component(side.axis).view().strides, beyond_),
        labels_(grid_, labels, beyond_) {}

  /// Calls body(cell next to the side) for every face of the side that this block has.
  template <class Body>
  void for_each(Body&& body) const {
    if (grid_.shared(side_.axis, side_.upper)) return;
    Coord<D> faces = grid_.local_shape();
    faces[axis_] = 1;
    for (Index i = 0; i < product<D>(faces); ++i) {
      Coord<D> c = surface::index_of<D>(i, c_strides<D>(faces));
      c[axis_] = side_.upper ? grid_.local_shape()[axis_] - 1 : 0;
      body(c);
    }
  }

  /// Cells of a column; those of all blocks.
  Index length() const { return grid_.shape()[axis_]; }
  T fraction(const Coord<D>& column, Index i) const { return fractions_.at(inward(column, i)); }
  /// On face i of a column; 0: on the side.
  T speed(Coord<D> column, Index i) const {
    column[axis_] += side_.upper;
    return speeds_.at(inward(column, i));
  }
  std::size_t label(const Coord<D>& column, Index i) const { return static_cast<std::size_t>(labels_.at(inward(column, i))); }
  /// Part of the face on the side that is outside of the solid.
  double open(Coord<D> column) const {
    column[axis_] += side_.upper;
    return solid_ ? grid::open_fraction<D>(*solid_, side_.axis, column) : 1.0;
  }

 private:
  Coord<D> inward(Coord<D> c, Index i) const {
    c[axis_] += side_.upper ? -i : i;
    return c;
  }
  static Index missing_cells(const grid::Grid<D>& grid, int axis, Index depth) {
    if (!grid.block().cut(axis)) return 0;
    const Index n = grid.local_shape()[axis];
    const Index missing = std::max<Index>(std::min(depth, grid.shape()[axis]) - n, 0);
    return static_cast<Index>(parallel::global_max(*grid.communicator(), static_cast<double>(missing)));
  }

  const grid::Grid<D>& grid_;
  Side side_;
  std::size_t axis_;
  const grid::Field<double, D>* solid_;
  Index beyond_;
  grid::BlockWindow<T, D> fractions_, speeds_;
  grid::BlockWindow<std::int32_t, D> labels_;
};

/// Cells that the flow across an axis passes in dt, at most, and two more, of which slopes are made.
template <class T, int D>
Index cells_passed(const grid::MacField<T, D>& velocity, double dt) {
  if (!velocity.grid().block().cut()) return 0;
  const double cells = grid::max_component_speed<T, D>(velocity, {}) * dt / velocity.grid().spacing();
  return static_cast<Index>(std::min(cells, 1e9)) + 3;
}

/// The liquid, in cells, of the part of a cell next to the side, `width` cells wide: by the slope of the fractions, as far as the
/// fraction of the cell allows. Beside a thin wall a cell may hold more than one, the part beyond it likewise.
double liquid_within(double before, double here, double behind, double width) {
  if (here > 1.0) return here * liquid_within(before / here, 1.0, behind / here, width);
  const double mean = here + 0.25 * (before - behind) * (1.0 - width);
  return std::clamp(mean * width, std::max(0.0, here - (1.0 - width)), std::min(width, here));
}

}  // namespace

template <int D>
template <class T>
double VolumeBudget<D>::account_outflow(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions,
                                        const Side& side, double dt, const Solid* solid, Workspace& workspace) {
  require(velocity.grid() == grid_ && fractions.grid() == grid_, "velocity and fractions must have the grid of the liquid");
  const double outward = (side.upper ? 1.0 : -1.0) * dt / grid_.spacing();
  const double fullest = walls_ ? cells_beside_wall<D> : 1.0;
  // A sample in the air may have liquid around it.
  const auto around = labels_around(labels_, 1, nullptr, workspace);
  const SideColumns<T, D> columns(velocity, fractions, around.data(), solid, side, cells_passed(velocity, dt));
  const Index length = columns.length();
  LabelSums sums(expected_.size());
  columns.for_each([&](const Coord<D>& column) {
    const auto part = [&](Index i) {
      return std::clamp(static_cast<double>(columns.fraction(column, std::clamp<Index>(i, 0, length - 1))), 0.0, fullest);
    };
    const double at_side = static_cast<double>(columns.speed(column, 0)) * outward;
    if (!(at_side > 0.0)) return;
    // The speed half way to where the liquid comes from, as in the midpoint rule.
    const double middle = std::min(0.5 * at_side, static_cast<double>(length));
    const Index lower = std::min(static_cast<Index>(middle), length - 1);
    const double along = middle - static_cast<double>(lower);
    const double speed = (1.0 - along) * static_cast<double>(columns.speed(column, lower)) +
                         along * static_cast<double>(columns.speed(column, lower + 1));
    const double depth = std::min(std::max(speed * outward, 0.0), static_cast<double>(length));
    const double open = columns.open(column);
    for (Index i = 0; static_cast<double>(i) < depth; ++i) {
      const double width = std::min(depth - static_cast<double>(i), 1.0);
      const double before = i ? part(i - 1) : std::clamp(2.0 * part(0) - part(1), 0.0, fullest);
      sums.add(columns.label(column, i), liquid_within(before, part(i), part(i + 1), width) * open * cell_);
    }
  });
  const NoInterrupts whole;
  sums.total(*grid_.communicator(), amounts_);
  double outflow = 0.0;
  for (std::size_t i = 1; i < expected_.size(); ++i) {
    if (!(amounts_[i] > 0.0)) continue;
    if (leaving_.size() != expected_.size()) leaving_.assign(expected_.size(), 0);
    leaving_[i] = 1;
    const double taken = std::min(amounts_[i], expected_[i]);
    expected_[i] -= taken;
    outflow += taken;
  }
  return outflow;
}

template <int D>
template <class T>
double VolumeBudget<D>::account_inflow(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions, const Side& side,
                                       double dt, const Solid* solid, Workspace& workspace) {
  require(velocity.grid() == grid_ && fractions.grid() == grid_, "velocity and fractions must have the grid of the liquid");
  const T inward = side.upper ? T(-1) : T(1);
  const double fullest = walls_ ? cells_beside_wall<D> : 1.0;
  const double scale = dt * cell_ / grid_.spacing();
  const auto around = labels_around(labels_, 1, nullptr, workspace);
  // A block that is cut has the two cells that count.
  const SideColumns<T, D> columns(velocity, fractions, around.data(), solid, side, 0);
  // One more for all parts together.
  const std::size_t parts = expected_.size();
  LabelSums sums(parts + 1);
  columns.for_each([&](const Coord<D>& column) {
    const T last = columns.fraction(column, 0);
    const T most = static_cast<T>(fullest);
    const T part = columns.length() > 1 ? std::clamp(T(1.5) * last - T(0.5) * columns.fraction(column, 1), T(0), most) : last;
    const double amount = static_cast<double>(columns.speed(column, 0) * inward * part) * columns.open(column) * scale;
    if (!(amount > 0.0)) return;
    sums.add(parts, amount);
    sums.add(columns.label(column, 0), amount);
  });
  const NoInterrupts whole;
  sums.total(*grid_.communicator(), amounts_);
  const double inflow = amounts_.back();
  amounts_.pop_back();
  if (inflow > 0.0) add_to_expected();
  return inflow;
}

/// Whether a wall hid a cell from another one before the last motion.
template <int D>
bool VolumeBudget<D>::goes_through_wall(const Coord<D>& from, const Coord<D>& to) const {
  Vec<double, D> here, there;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    const Index end = grid::end_of_way<D>(grid_, d, to[a]);
    here[d] = grid_.origin()[d] + (static_cast<double>(from[a]) + 0.5) * grid_.spacing();
    there[d] = grid_.origin()[d] + (static_cast<double>(end) + 0.5) * grid_.spacing();
  }
  return from != to && moved_walls_.start->hidden(here, &there, 1, nullptr) != 0;
}

/// Collective: finds out where the parts are that do not go on in `next_`. Sets the heirs of the families (see `commit_transfer`)
/// and `vanished_`, with the families before the transfer. Nothing is expected any more of parts that have left; returns what
/// was.
template <int D>
template <class T>
double VolumeBudget<D>::find_heirs(const grid::MacField<T, D>& velocity, double dt, const Solid* solid,
                                   std::span<const Side> open_sides, std::vector<std::int32_t>& heirs, Workspace& workspace) {
  vanished_.clear();
  heirs.clear();
  if (std::find(goes_on_.begin() + 1, goes_on_.end(), 0) == goes_on_.end()) return 0.0;
  heirs.assign(families_.count(), VolumeFamilies::written_off);
  const auto around = labels_after(solid, workspace);
  // A cell of a part that does not go on, and the cell of the domain into which the flow carries it.
  struct Trace {
    Index from;
    Coord<D> to;
    std::int32_t label, heir;
    bool at_side;
  };
  parallel::Communicator& communicator = *grid_.communicator();
  const Coord<D> strides = c_strides<D>(grid_.local_shape());
  const double scale = 0.5 * dt / grid_.spacing();
  std::vector<Trace> traces;
  Index farthest = 0;
  for (Index i = 0; i < cells(); ++i) {
    const Index label = labels_[i];
    if (label == 0 || goes_on_[label]) continue;
    const Coord<D> c = surface::index_of<D>(i, strides);
    Trace trace{grid::domain_index<D>(grid_, c), {}, labels_[i], 0, false};
    std::array<double, D> shift;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const grid::FieldView<const T, D> u = velocity.component(d).view();
      const T* lower = u.at(c);
      shift[axis] = scale * (static_cast<double>(lower[0]) + static_cast<double>(lower[u.strides[axis]]));
      trace.to[axis] = c[axis] + static_cast<Index>(std::floor(std::clamp(shift[axis], -1e9, 1e9) + 0.5));
    }
    // Nothing goes through a wall.
    if (walls_ && moved_walls_.start && goes_through_wall(c, trace.to)) {
      trace.to = c;
      shift.fill(0.0);
    }
    for (const Side& side : open_sides) {
      const Index axis = side.axis;
      const Index at = grid_.first_cell()[axis] + trace.to[axis];
      const Index rows = side.upper ? grid_.shape()[axis] - 1 - at : at;
      if (rows < side_rows && (side.upper ? shift[axis] > 0.0 : shift[axis] < 0.0)) trace.at_side = true;
    }
    for (int d = 0; d < D; ++d) {
      Index& to = trace.to[d];
      to = grid::nearest_in_domain<D>(grid_, d, to);
    }
    farthest = std::max(farthest, grid::distance_from_block<D>(grid_, trace.to));
    traces.push_back(trace);
  }
  farthest = static_cast<Index>(parallel::global_max(communicator, static_cast<double>(farthest)));
  const grid::BlockWindow<std::int32_t, D> heir_at(grid_, around.data(), farthest);
  for (Trace& trace : traces) {
    trace.heir = heir_at.at(trace.to);
    for (int d = 0; d < D; ++d) {
      Index& to = trace.to[d];
      to = grid::lattice_cell<D>(grid_, d, grid_.first_cell()[d] + to);
    }
  }
  traces = parallel::gather_lists(communicator, traces);
  std::sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) { return a.from < b.from; });
  std::vector<std::uint8_t> at_side(expected_.size(), 0);
  for (const Trace& trace : traces) {
    const Index label = trace.label;
    if (trace.at_side) at_side[label] = 1;
    std::int32_t& heir = heirs[families_.family(label)];
    if (heir <= 0) heir = trace.heir;
    // The label for now; the families below.
    vanished_.push_back({trace.to, trace.label});
  }
  for (Vanished& v : vanished_) {
    const Index label = v.family;
    v.family = at_side[label] ? VolumeFamilies::has_left : families_.of_parts()[label];
  }
  double left = 0.0;
  for (std::size_t i = 1; i < expected_.size(); ++i) {
    if (!at_side[i]) continue;
    left += expected_[i];
    expected_[i] = 0.0;
    heirs[families_.family(i)] = VolumeFamilies::has_left;
  }
  return left;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template double VolumeBudget<D>::account_outflow<T>(const grid::MacField<T, D>&, const grid::Field<T, D>&, const Side&,        \
                                                      double, const Solid*, Workspace&);                                         \
  template double VolumeBudget<D>::account_inflow<T>(const grid::MacField<T, D>&, const grid::Field<T, D>&, const Side&, double, \
                                                     const Solid*, Workspace&);                                                  \
  template double VolumeBudget<D>::find_heirs<T>(const grid::MacField<T, D>&, double, const Solid*, std::span<const Side>,       \
                                                 std::vector<std::int32_t>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
