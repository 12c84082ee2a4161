// The part of a `VolumeBudget` that concerns liquid which goes: through the sides of the domain, or below the resolution.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Cells between the last liquid of a part that has vanished and one that it has met.
constexpr int meeting = 2;
/// Rows of cells at an open side in which a part vanishes that is on its way out.
constexpr Index side_rows = 2;

/// A column of cells before a face of a side, counted from there.
template <class T, int D>
struct SideColumn {
  const T* fraction;
  const T* speed;   ///< of the face
  Index cell;       ///< in C order
  Index toward;     ///< stride of fractions away from the side
  Index onward;     ///< stride of faces away from the side
  Index next_cell;  ///< stride in C order away from the side
  double open;      ///< part of the face outside of the solid
};

/// Calls body(column) for every face of a side.
template <class T, int D, class Body>
void for_side_columns(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions,
                      const grid::Field<double, D>* solid, const Side& side, Body&& body) {
  const auto a = static_cast<std::size_t>(side.axis);
  const grid::FieldView<const T, D> u = velocity.component(side.axis).view();
  const grid::FieldView<const T, D> fraction = fractions.view();
  const Coord<D> strides = c_strides<D>(fraction.extents);
  const Index away = side.upper ? -1 : 1;
  Coord<D> faces = fraction.extents;
  faces[a] = 1;
  for (Index i = 0; i < product<D>(faces); ++i) {
    Coord<D> c = surface::index_of<D>(i, c_strides<D>(faces));
    c[a] = side.upper ? fraction.extents[a] - 1 : 0;
    Coord<D> face = c;
    face[a] += side.upper;
    body(SideColumn<T, D>{fraction.at(c), u.at(face), dot<D>(c, strides), away * fraction.strides[a], away * u.strides[a],
                          away * strides[a], solid ? grid::open_fraction<D>(*solid, side.axis, face) : 1.0});
  }
}

/// The liquid, in cells, of the part of a cell next to the side, `width` cells wide: by the slope of the fractions, as far as the
/// fraction of the cell allows.
double liquid_within(double before, double here, double behind, double width) {
  const double mean = here + 0.25 * (before - behind) * (1.0 - width);
  return std::clamp(mean * width, std::max(0.0, here - (1.0 - width)), std::min(width, here));
}

}  // namespace

template <int D>
template <class T>
double VolumeBudget<D>::account_outflow(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions,
                                        const Side& side, double dt, const Solid* solid, Workspace& workspace) {
  require(velocity.grid() == grid_ && fractions.grid() == grid_, "velocity and fractions must have the grid of the liquid");
  const Index length = grid_.local_shape()[static_cast<std::size_t>(side.axis)];
  const double outward = (side.upper ? 1.0 : -1.0) * dt / grid_.spacing();
  // A sample in the air may have liquid around it.
  const auto around = labels_around(labels_, 1, nullptr, workspace);
  const NoInterrupts whole;
  amounts_.assign(expected_.size(), 0.0);
  for_side_columns(velocity, fractions, solid, side, [&](const SideColumn<T, D>& column) {
    const auto part = [&](Index i) {
      return std::clamp(static_cast<double>(column.fraction[std::clamp<Index>(i, 0, length - 1) * column.toward]), 0.0, 1.0);
    };
    const double at_side = static_cast<double>(*column.speed) * outward;
    if (!(at_side > 0.0)) return;
    // The speed half way to where the liquid comes from, as in the midpoint rule.
    const double middle = std::min(0.5 * at_side, static_cast<double>(length));
    const Index lower = std::min(static_cast<Index>(middle), length - 1);
    const double along = middle - static_cast<double>(lower);
    const double speed = (1.0 - along) * static_cast<double>(column.speed[lower * column.onward]) +
                         along * static_cast<double>(column.speed[(lower + 1) * column.onward]);
    const double depth = std::min(std::max(speed * outward, 0.0), static_cast<double>(length));
    for (Index i = 0; static_cast<double>(i) < depth; ++i) {
      const double width = std::min(depth - static_cast<double>(i), 1.0);
      const double before = i ? part(i - 1) : std::clamp(2.0 * part(0) - part(1), 0.0, 1.0);
      amounts_[static_cast<std::size_t>(around.data()[column.cell + i * column.next_cell])] +=
          liquid_within(before, part(i), part(i + 1), width) * column.open * cell_;
    }
  });
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
  const Index length = grid_.local_shape()[static_cast<std::size_t>(side.axis)];
  const T inward = side.upper ? T(-1) : T(1);
  const double scale = dt * cell_ / grid_.spacing();
  const auto around = labels_around(labels_, 1, nullptr, workspace);
  const NoInterrupts whole;
  amounts_.assign(expected_.size(), 0.0);
  double inflow = 0.0;
  for_side_columns(velocity, fractions, solid, side, [&](const SideColumn<T, D>& column) {
    const T last = *column.fraction;
    const T part = length > 1 ? std::clamp(T(1.5) * last - T(0.5) * column.fraction[column.toward], T(0), T(1)) : last;
    const double amount = static_cast<double>(*column.speed * inward * part) * column.open * scale;
    if (!(amount > 0.0)) return;
    inflow += amount;
    amounts_[static_cast<std::size_t>(around.data()[column.cell])] += amount;
  });
  if (inflow > 0.0) add_to_expected();
  return inflow;
}

/// Finds out where the parts are that do not go on in `next_`. Sets the heirs of the families (see `commit_transfer`) and
/// `vanished_`, with the families before the transfer. Nothing is expected any more of parts that have left; returns what was.
template <int D>
template <class T>
double VolumeBudget<D>::find_heirs(const grid::MacField<T, D>& velocity, double dt, const Solid* solid,
                                   std::span<const Side> open_sides, std::vector<std::int32_t>& heirs, Workspace& workspace) {
  vanished_.clear();
  heirs.clear();
  if (std::find(goes_on_.begin() + 1, goes_on_.end(), 0) == goes_on_.end()) return 0.0;
  heirs.assign(families_.count(), VolumeFamilies::written_off);
  const auto around = labels_around(next_, meeting, solid, workspace);
  const Coord<D> extents = grid_.local_shape();
  const Coord<D> strides = c_strides<D>(extents);
  const double scale = 0.5 * dt / grid_.spacing();
  std::vector<std::uint8_t> at_side(expected_.size(), 0);
  for (Index i = 0; i < cells(); ++i) {
    const auto label = static_cast<std::size_t>(labels_[i]);
    if (label == 0 || goes_on_[label]) continue;
    const Coord<D> c = surface::index_of<D>(i, strides);
    Coord<D> to{};
    std::array<double, D> shift;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const grid::FieldView<const T, D> u = velocity.component(d).view();
      const T* lower = u.at(c);
      shift[axis] = scale * (static_cast<double>(lower[0]) + static_cast<double>(lower[u.strides[axis]]));
      to[axis] = c[axis] + static_cast<Index>(std::floor(std::clamp(shift[axis], -1e9, 1e9) + 0.5));
    }
    for (const Side& side : open_sides) {
      const auto axis = static_cast<std::size_t>(side.axis);
      const Index rows = side.upper ? extents[axis] - 1 - to[axis] : to[axis];
      if (rows < side_rows && (side.upper ? shift[axis] > 0.0 : shift[axis] < 0.0)) at_side[label] = 1;
    }
    to = grid::nearest_cell<D>(grid_, to);
    std::int32_t& heir = heirs[families_.family(label)];
    if (heir <= 0) heir = around.data()[dot<D>(to, strides)];
    // The label for now; the families below.
    vanished_.push_back({to, labels_[i]});
  }
  for (Vanished& v : vanished_) {
    const auto label = static_cast<std::size_t>(v.family);
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
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
