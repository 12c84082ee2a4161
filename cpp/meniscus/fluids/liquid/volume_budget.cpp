#include "meniscus/fluids/liquid/volume_budget.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/fluids/liquid/liquid_components.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/surface/extraction/level_set_components.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Cells' worth of liquid, about two cells in radius, from which on a part is resolved.
template <int D>
constexpr double resolved = D == 2 ? 12.0 : 40.0;

/// A run of cells along a row that come from one part and belong to another, as one number.
template <class Visit>
void visit_runs(const std::int32_t* origin, const std::int32_t* label, Index length, std::uint64_t count, Visit&& visit) {
  for (Index k = 0; k < length;) {
    const Index first = k++;
    while (k < length && origin[k] == origin[first] && label[k] == label[first]) ++k;
    if (origin[first] > 0 && label[first] > 0)
      visit(static_cast<std::uint64_t>(origin[first]) * count + static_cast<std::uint64_t>(label[first]), k - first);
  }
}

}  // namespace

template <class T, int D>
void measure_components(const MeasuredLiquid<T, D>& liquid, std::int32_t* labels, std::vector<double>& volumes,
                        Workspace& workspace) {
  const surface::LabelledParts parts = surface::label_outside(liquid.levelset, liquid.solid, labels, workspace);
  const surface::ComponentCounts counts{parts.count, 0};
  volumes.assign(static_cast<std::size_t>(counts.inside) + 1, 0.0);
  surface::component_volumes(liquid.levelset, labels, counts, volumes.data() + 1, static_cast<double*>(nullptr), workspace,
                             liquid.solid);
  join_touching_components<D>(liquid.levelset.grid(), liquid.solid, parts.films, labels, volumes);
}

template <int D>
VolumeBudget<D>::VolumeBudget(const grid::Grid<D>& grid)
    : grid_(grid),
      cell_(std::pow(grid.spacing(), D)),
      labels_(product<D>(grid.local_shape())),
      next_(product<D>(grid.local_shape())) {
  std::fill(labels_.begin(), labels_.end(), 0);
}

template <int D>
void VolumeBudget<D>::set(std::span<const double> volumes, std::span<const double> expected,
                          std::span<const std::int32_t> families, std::span<const double> unassigned,
                          std::span<const double> sprayed) {
  require(volumes.size() == expected.size() && !volumes.empty(), "there must be an expected volume for each of ", volumes.size(),
          " measured ones, not ", expected.size());
  require(families.size() == volumes.size(), "there must be a family for each of ", volumes.size(), " measured volumes, not ",
          families.size());
  for (const std::span<const double> values : {volumes, expected, unassigned, sprayed})
    for (const double v : values) require(std::isfinite(v), "the volumes of a budget must be finite, not ", v);
  const auto [lowest, highest] = std::minmax_element(labels_.begin(), labels_.end());
  require(*lowest >= 0 && static_cast<std::size_t>(*highest) < volumes.size(),
          "there must be a volume for every label from 0 to ", *highest, ", not for ", volumes.size(), " of them");
  families_.set(families, unassigned, sprayed);
  volumes_.assign(volumes.begin(), volumes.end());
  expected_.assign(expected.begin(), expected.end());
  leaving_.clear();
  vanished_.clear();
}

template <int D>
template <class T>
void VolumeBudget<D>::measure_next(const MeasuredLiquid<T, D>& liquid, Workspace& workspace) {
  if (walls_)
    measure_walled_components(liquid.levelset, *walls_, liquid.solid, next_.data(), next_volumes_, workspace);
  else
    measure_components(liquid, next_.data(), next_volumes_, workspace);
}

template <int D>
void VolumeBudget<D>::commit_measured() {
  parallel_for(0, cells(), 1 << 16,
               [&](Index begin, Index end) { std::copy_n(next_.data() + begin, end - begin, labels_.data() + begin); });
  volumes_ = next_volumes_;
}

template <int D>
void VolumeBudget<D>::transfer_to_components(const std::vector<double>& amounts, const std::int32_t* origin,
                                             Workspace& workspace) {
  const std::size_t count = next_volumes_.size();
  if (amounts.size() == 2 && count == 2 && !walls_) {  // one part that stays one
    transferred_ = amounts;
    has_origin_.assign(2, 1);
    goes_on_.assign(2, 1);
    families_.begin_transfer();
    return;
  }
  families_.begin_transfer(count);
  transferred_.assign(count, 0.0);
  has_origin_.assign(count, 0);
  goes_on_.assign(amounts.size(), 0);
  std::vector<std::uint8_t> leaving(leaving_.empty() ? 0 : count, 0);
  list_transfers(static_cast<std::uint64_t>(amounts.size()), count, origin, workspace);
  // A cell counts with the mean volume per cell of its new part: cells that the surface cuts hold less, and a thin part has no
  // others.
  volume_per_cell_.assign(count, 0.0);
  for (const Transfer& t : transfers_) volume_per_cell_[t.key % count] += static_cast<double>(t.cells);
  for (std::size_t i = 1; i < count; ++i)
    volume_per_cell_[i] = volume_per_cell_[i] > 0.0 ? std::max(next_volumes_[i] / volume_per_cell_[i], 1e-12 * cell_) : 0.0;
  const auto volume_of = [&](const Transfer& t) { return volume_per_cell_[t.key % count] * static_cast<double>(t.cells); };
  for (auto first = transfers_.begin(); first != transfers_.end();) {
    const std::size_t from = first->key / count;
    const auto last = std::find_if(first, transfers_.end(), [&](const Transfer& t) { return t.key / count != from; });
    double all = 0.0;
    for (auto t = first; t != last; ++t) all += volume_of(*t);
    goes_on_[from] = 1;
    for (; first != last; ++first) {
      const std::size_t label = first->key % count;
      transferred_[label] += amounts[from] * (volume_of(*first) / all);
      has_origin_[label] = 1;
      if (is_leaving(from)) leaving[label] = 1;
      families_.join(label, from);
    }
  }
  leaving_.swap(leaving);
}

/// Collective: lists how many cells of all blocks come from one part and belong to another, in the order of both.
template <int D>
void VolumeBudget<D>::list_transfers(std::uint64_t origins, std::uint64_t count, const std::int32_t* origin,
                                     Workspace& workspace) {
  const Index length = grid_.local_shape()[D - 1];
  const Index rows = cells() / length;
  const auto starts = workspace.take<Index>(rows + 1);
  Index* const start = starts.data();
  const auto visit_row_runs = [&](Index r, auto&& visit) {
    visit_runs(origin + r * length, next_.data() + r * length, length, count, visit);
  };
  start[0] = 0;
  parallel_for(0, rows, std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      start[r + 1] = 0;
      visit_row_runs(r, [&](std::uint64_t, Index) { ++start[r + 1]; });
    }
  });
  for (Index r = 0; r < rows; ++r) start[r + 1] += start[r];
  const Index runs = start[rows];
  const auto keys = workspace.take<std::uint64_t>(runs);
  const auto lengths = workspace.take<Index>(runs);
  const auto order = workspace.take<Index>(runs);
  parallel_for(0, rows, std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Index i = start[r];
      visit_row_runs(r, [&](std::uint64_t key, Index n) {
        keys.data()[i] = key;
        lengths.data()[i++] = n;
      });
    }
  });
  radix_sort(keys.data(), order.data(), runs, origins * count, workspace);
  const auto add = [&](std::uint64_t key, Index n) {
    if (transfers_.empty() || transfers_.back().key != key) transfers_.push_back({key, 0});
    transfers_.back().cells += n;
  };
  transfers_.clear();
  for (Index i = 0; i < runs; ++i) add(keys.data()[i], lengths.data()[order.data()[i]]);
  parallel::Communicator& communicator = *grid_.communicator();
  if (communicator.size() == 1) return;
  std::vector<Transfer> all = parallel::gather_lists(communicator, transfers_);
  std::sort(all.begin(), all.end(), [](const Transfer& a, const Transfer& b) { return a.key < b.key; });
  transfers_.clear();
  for (const Transfer& t : all) add(t.key, t.cells);
}

template <int D>
template <class T>
void VolumeBudget<D>::reset(const MeasuredLiquid<T, D>& liquid, Workspace& workspace) {
  measure_next(liquid, workspace);
  const NoInterrupts commit;
  commit_measured();
  expected_ = volumes_;
  families_.reset(volumes_.size());
  leaving_.clear();
  vanished_.clear();
}

template <int D>
template <class T>
void VolumeBudget<D>::measure(const MeasuredLiquid<T, D>& liquid, Workspace& workspace) {
  measure_next(liquid, workspace);
  transfer_to_components(expected_, labels_.data(), workspace);
  commit_motion();
}

template <int D>
template <class T>
double VolumeBudget<D>::update_after_motion(const MeasuredLiquid<T, D>& liquid, const grid::MacField<T, D>& velocity, double dt,
                                            std::span<const Side> open_sides, Workspace& workspace) {
  require(velocity.grid() == grid_, "the velocity must have the grid of the liquid");
  measure_next(liquid, workspace);
  {
    const auto origin = workspace.take<std::int32_t>(cells());
    if (walls_)
      walled_origins<T, D>(velocity, dt, moved_walls_, labels_.data(), next_.data(), origin.data());
    else
      component_origins<T, D>(velocity, dt, labels_.data(), next_.data(), origin.data());
    transfer_to_components(expected_, origin.data(), workspace);
  }
  if (std::find(has_origin_.begin() + 1, has_origin_.end(), 0) != has_origin_.end())
    find_relatives(labels_before(liquid.solid, workspace).data());
  std::vector<std::int32_t> heirs;
  const double left = find_heirs(velocity, dt, liquid.solid, open_sides, heirs, workspace);
  return left + commit_motion(heirs);
}

/// Collective: liquid without origin belongs to the family of a part nearby, if there is one: beside its first cell that has one.
template <int D>
void VolumeBudget<D>::find_relatives(const std::int32_t* around) {
  struct Relative {
    Index cell;
    std::int32_t next, beside;
  };
  std::vector<Relative> found;
  std::vector<std::uint8_t> known(next_volumes_.size(), 0);
  const Coord<D> strides = c_strides<D>(grid_.local_shape());
  for (Index i = 0; i < cells(); ++i) {
    const Index next = next_[i];
    if (next == 0 || around[i] == 0 || known[next] || families_.knows_next(next)) continue;
    known[next] = 1;
    found.push_back({grid::domain_index<D>(grid_, surface::index_of<D>(i, strides)), next_[i], around[i]});
  }
  found = parallel::gather_lists(*grid_.communicator(), found);
  std::sort(found.begin(), found.end(), [](const Relative& a, const Relative& b) { return a.cell < b.cell; });
  for (const Relative& r : found) {
    const Index next = r.next;
    if (!families_.knows_next(next)) families_.join(next, static_cast<std::size_t>(r.beside));
  }
}

/// Takes the liquid in `next_`, whose components expect what was transferred to them, or what they have. Returns what `heirs` say
/// has left.
template <int D>
double VolumeBudget<D>::commit_motion(std::span<const std::int32_t> heirs) {
  const NoInterrupts commit;
  families_.add(expected_);
  commit_measured();
  const double left = families_.commit_transfer(heirs);
  for (Vanished& v : vanished_)
    if (v.family != VolumeFamilies::has_left) v.family = families_.successor(v.family);
  expected_.resize(volumes_.size());
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    expected_[i] = has_origin_[i] ? transferred_[i] : volumes_[i];
    families_.unassigned_of_part(i) -= expected_[i];
  }
  return left;
}

/// Takes the liquid in `next_`; the part of an excess is that of its cells. Returns the change of the volume.
template <int D>
double VolumeBudget<D>::commit_change(Workspace& workspace) {
  amounts_.resize(volumes_.size());
  for (std::size_t i = 0; i < amounts_.size(); ++i) amounts_[i] = expected_[i] - volumes_[i];
  transfer_to_components(amounts_, labels_.data(), workspace);
  families_.add(amounts_);
  const double before = total_volume();
  commit_measured();
  families_.commit_transfer();
  vanished_.clear();
  expected_.resize(volumes_.size());
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    expected_[i] = volumes_[i] + transferred_[i];
    families_.unassigned_of_part(i) -= transferred_[i];
  }
  return total_volume() - before;
}

template <int D>
template <class T>
double VolumeBudget<D>::update_after_sources(const MeasuredLiquid<T, D>& liquid, Workspace& workspace) {
  measure_next(liquid, workspace);
  const NoInterrupts commit;
  return commit_change(workspace);
}

/// Adds `amounts_` to what is expected. What a part cannot give is expected of its family.
template <int D>
void VolumeBudget<D>::add_to_expected() {
  families_.unassigned_of(0) += amounts_[0];
  for (std::size_t i = 1; i < expected_.size(); ++i) {
    const double sum = expected_[i] + amounts_[i];
    expected_[i] = std::max(sum, 0.0);
    families_.unassigned_of_part(i) += sum - expected_[i];
  }
}

template <int D>
Workspace::Lease<std::int32_t> VolumeBudget<D>::labels_around(const Block<std::int32_t>& labels, int layers, const Solid* solid,
                                                              Workspace& workspace) const {
  auto around = workspace.take<std::int32_t>(cells());
  parallel_for(0, cells(), 1 << 16,
               [&](Index begin, Index end) { std::copy_n(labels.data() + begin, end - begin, around.data() + begin); });
  if (walls_)
    spread_walled_labels<D>(*walls_, around.data(), layers, solid, workspace);
  else
    spread_labels<D>(grid_, around.data(), layers, solid, workspace);
  return around;
}

/// The labels around of the parts before the last motion. A cell that a wall has passed since says nothing of its new side.
template <int D>
Workspace::Lease<std::int32_t> VolumeBudget<D>::labels_before(const Solid* solid, Workspace& workspace) const {
  const std::uint8_t* const swept = walls_ ? moved_walls_.swept : nullptr;
  if (!swept) return labels_around(labels_, spread, solid, workspace);
  auto around = workspace.take<std::int32_t>(cells());
  for (Index i = 0; i < cells(); ++i) around.data()[i] = swept[i] ? 0 : labels_.data()[i];
  spread_walled_labels<D>(*walls_, around.data(), spread, solid, workspace);
  return around;
}

/// The labels in `next_` around, by the cells where liquid was before the last motion: in cells that a wall has passed since,
/// what is on the side where they were.
template <int D>
Workspace::Lease<std::int32_t> VolumeBudget<D>::labels_after(const Solid* solid, Workspace& workspace) const {
  auto around = labels_around(next_, meeting, solid, workspace);
  if (!walls_ || !moved_walls_.swept || !moved_walls_.start) return around;
  for (Index i = 0; i < cells(); ++i)
    if (moved_walls_.swept[i]) around.data()[i] = 0;
  spread_walled_labels<D>(*moved_walls_.start, around.data(), spread, solid, workspace);
  return around;
}

template <int D>
double VolumeBudget<D>::distribute_unassigned() {
  const auto small = [&](std::size_t i) { return volumes_[i] < resolved<D> * cell_; };
  std::vector<std::uint8_t> has_resolved(families_.count(), 0);
  for (std::size_t i = 1; i < volumes_.size(); ++i)
    if (!small(i)) has_resolved[families_.family(i)] = 1;
  const auto stays = [&](std::size_t i) { return small(i) && has_resolved[families_.family(i)]; };
  double left = 0.0;
  for (std::size_t i = 1; i < volumes_.size(); ++i)
    if (stays(i)) {
      (is_leaving(i) ? left : families_.unassigned_of_part(i)) += expected_[i] - volumes_[i];
      expected_[i] = 0.0;
    }
  leaving_.clear();
  families_.settle_drops();
  const std::vector<double> all = families_.sums(expected_);
  std::vector<double> factor(families_.count(), 1.0);
  for (std::size_t f = 1; f < factor.size(); ++f) {
    double& unassigned = families_.unassigned_of(f);
    if (!(all[f] > 0) || unassigned == 0.0) continue;
    const double given = std::max(all[f] + unassigned, 0.0);
    unassigned += all[f] - given;
    factor[f] = given / all[f];
  }
  for (std::size_t i = 1; i < volumes_.size(); ++i)
    expected_[i] = stays(i) ? volumes_[i] : expected_[i] * factor[families_.family(i)];
  return left;
}

template class VolumeBudget<2>;
template class VolumeBudget<3>;
#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template void measure_components<T, D>(const MeasuredLiquid<T, D>&, std::int32_t*, std::vector<double>&, Workspace&);     \
  template void VolumeBudget<D>::reset<T>(const MeasuredLiquid<T, D>&, Workspace&);                                         \
  template void VolumeBudget<D>::measure<T>(const MeasuredLiquid<T, D>&, Workspace&);                                       \
  template double VolumeBudget<D>::update_after_motion<T>(const MeasuredLiquid<T, D>&, const grid::MacField<T, D>&, double, \
                                                          std::span<const Side>, Workspace&);                               \
  template double VolumeBudget<D>::update_after_sources<T>(const MeasuredLiquid<T, D>&, Workspace&);                        \
  template void VolumeBudget<D>::measure_next<T>(const MeasuredLiquid<T, D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
