// Correction of the volumes of a `VolumeBudget`: each component of the liquid is offset along its normals.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/parallel/vector_reductions.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

namespace meniscus::fluids {
namespace {

/// Cells that a correction moves the surface by, at most.
constexpr double largest_move = 0.3;
constexpr int passes = 20;  // at most; each moves the surfaces again by what is still missing
/// Relative, of a corrected volume, within the largest move.
constexpr double accuracy = 1e-9;
/// Relative deviation of a volume from which on it is corrected. So a liquid at rest, or one whose volume is merely read
/// differently from step to step, is left alone; what is missing adds up until it counts.
constexpr double slack = 1e-4;

/// Adds terms to sums by label. Terms of one label that follow each other are cheap.
class RunSums {
 public:
  explicit RunSums(numerics::BinnedSum* sums) : sums_(sums) {}

  void add(std::int32_t label, double term) {
    if (label != label_) {
      flush();
      label_ = label;
    }
    terms_[count_] = term;
    if (++count_ == length) flush_terms();
  }
  void flush() {
    flush_terms();
    if (any_) sums_[label_].add(lanes_.total());
    if (any_) lanes_ = {};
    any_ = false;
  }

 private:
  static constexpr int length = 32;

  void flush_terms() {
    if (count_ == 0) return;
    lanes_.add(terms_.data(), count_);
    count_ = 0;
    any_ = true;
  }

  numerics::BinnedSum* sums_;
  numerics::BinnedLanes<length> lanes_;
  std::array<double, length> terms_{};
  int count_ = 0;
  bool any_ = false;
  std::int32_t label_ = 0;
};

/// areas[label] = area of the surface in the cells of a label in all blocks, by a smoothed delta function of the distance.
template <class T, int D>
void measure_areas(const grid::Field<T, D>& levelset, const std::int32_t* labels, std::vector<double>& areas,
                   Workspace& workspace) {
  const grid::FieldView<const T, D> phi = levelset.view();
  const double h = levelset.grid().spacing();
  const double width = 1.5 * h;
  const double cell = std::pow(h, D);
  const Index length = phi.extents[D - 1];
  const Index rows = product<D>(phi.extents) / length;
  const auto parts = static_cast<Index>(areas.size());
  // Each piece of the loop has its own sums, whose order does not matter.
  const Index pieces = std::clamp<Index>((Index{1} << 18) / parts, 1, 64);
  const Index chunk = std::max<Index>(1, (rows + pieces - 1) / pieces);
  const auto sums = workspace.take<numerics::BinnedSum>(pieces * parts);
  std::fill_n(sums.data(), pieces * parts, numerics::BinnedSum());
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    numerics::BinnedSum* const sum = sums.data() + begin / chunk * parts;
    RunSums run(sum);
    for (Index r = begin; r < end; ++r) {
      const T* row = phi.at(grid::row_start<D>(phi.extents, r));
      for (Index k = 0; k < length; ++k) {
        const auto distance = static_cast<double>(row[k]);
        if (!(std::abs(distance) < width)) continue;
        run.add(labels[r * length + k], (1.0 + std::cos(std::numbers::pi / width * distance)) / (3.0 * h) * cell);
      }
    }
    run.flush();
  });
  for (Index p = 1; p < pieces; ++p)
    for (Index i = 0; i < parts; ++i) sums.data()[i].add(sums.data()[p * parts + i]);
  parallel::global_sums(*levelset.grid().communicator(), sums.data(), parts);
  for (Index i = 0; i < parts; ++i) areas[i] = sums.data()[i].value();
}

/// phi = before - distance[label].
template <class T, int D>
void move_surface(const T* before, const std::int32_t* labels, const std::vector<DistanceSearch>& searches,
                  grid::Field<T, D>& levelset) {
  const grid::FieldView<T, D> phi = levelset.view();
  const Index length = phi.extents[D - 1];
  grid::parallel_rows<D>(phi.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      T* row = phi.at(grid::row_start<D>(phi.extents, r));
      for (Index k = 0; k < length; ++k) {
        const Index i = r * length + k;
        row[k] = static_cast<T>(static_cast<double>(before[i]) - searches[labels[i]].distance);
      }
    }
  });
}

template <class T, int D, class Copy>
void for_owned_rows(grid::Field<T, D>& field, Copy&& copy) {
  const grid::FieldView<T, D> view = field.view();
  const Index length = view.extents[D - 1];
  grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) copy(view.at(grid::row_start<D>(view.extents, r)), r * length, length);
  });
}

}  // namespace

void DistanceSearch::advance(double volume, double expected, double area) {
  const double missing = expected - volume;
  if (missing == 0.0) return;
  if (started_) {  // the volume before any motion changes with that of a neighbour
    (missing > 0.0 ? low_ : high_) = distance;
    (missing > 0.0 ? low_known_ : high_known_) = true;
  }
  if (high_ - low_ <= 5e-7 * (highest_ - lowest_)) {  // so has a neighbour since
    low_ = lowest_;
    high_ = highest_;
    low_known_ = high_known_ = false;
  }
  double slope = area;
  if (started_ && distance != previous_) {
    const double secant = (volume - previous_volume_) / (distance - previous_);
    if (secant > 0.0) slope = secant;
  }
  previous_ = distance;
  previous_volume_ = volume;
  started_ = true;
  const double next = distance + missing / slope;
  const double middle = 0.5 * (low_ + high_);
  if (next <= low_)
    distance = low_known_ ? middle : low_;
  else if (next >= high_)
    distance = high_known_ ? middle : high_;
  else
    distance = next;
}

/// Collective: whether the parts in `next_` are those in `labels_`, one to one; then takes their volumes. Their numbers may
/// differ, as parts are numbered by their first cells.
template <int D>
bool VolumeBudget<D>::match_components() {
  if (next_volumes_.size() != volumes_.size()) return false;
  next_of_.assign(volumes_.size(), 0);
  origin_of_.assign(volumes_.size(), 0);
  std::atomic<bool> matched{true};
  // Takes a number at its first occurrence; every other one must be the same.
  const auto agrees = [](std::int32_t& partner, std::int32_t value) {
    std::int32_t found = 0;
    return std::atomic_ref(partner).compare_exchange_strong(found, value) || found == value;
  };
  parallel_for(0, cells(), 1 << 14, [&](Index begin, Index end) {
    std::int32_t last = 0, last_next = 0;
    for (Index i = begin; i < end; ++i) {
      const std::int32_t label = labels_.data()[i];
      const std::int32_t next = next_.data()[i];
      if (label == 0 || next == 0 || (label == last && next == last_next)) continue;
      last = label;
      last_next = next;
      if (!agrees(next_of_[label], next) || !agrees(origin_of_[next], label)) matched = false;
    }
  });
  const auto join = [&](std::int32_t a, std::int32_t b) {
    if (a != 0 && b != 0 && a != b) matched = false;
    return a != 0 ? a : b;
  };
  parallel::Communicator& communicator = *grid_.communicator();
  parallel::combine_values(communicator, next_of_, join);
  parallel::combine_values(communicator, origin_of_, join);
  if (parallel::global_any(communicator, !matched) || std::find(next_of_.begin() + 1, next_of_.end(), 0) != next_of_.end())
    return false;
  for (std::size_t i = 1; i < volumes_.size(); ++i) volumes_[i] = next_volumes_[next_of_[i]];
  return true;
}

/// Takes the labels in `next_`, which `match_components` has found to be those of the same parts.
template <int D>
void VolumeBudget<D>::commit_matched() {
  const NoInterrupts whole;
  amounts_ = expected_;
  for (std::size_t i = 1; i < expected_.size(); ++i) expected_[next_of_[i]] = amounts_[i];
  families_.relabel(next_of_);
  commit_measured();
}

template <int D>
template <class T>
double VolumeBudget<D>::correct(const MeasuredLiquid<T, D>& liquid, Workspace& workspace) {
  require(liquid.levelset.grid() == grid_, "the level set must have the grid of the budget");
  const double h = grid_.spacing();
  searches_.assign(volumes_.size(), DistanceSearch(-largest_move * h, largest_move * h));
  const auto is_off = [&](std::size_t i) {
    const double tolerance = searches_[i].started() ? accuracy : slack;
    return expected_[i] > cell_ && std::abs(expected_[i] - volumes_[i]) > tolerance * expected_[i];
  };
  const auto any_off = [&] {
    for (std::size_t i = 0; i < expected_.size(); ++i)
      if (is_off(i)) return true;
    return false;
  };
  if (!any_off()) return 0.0;
  const auto saved = workspace.take<T>(cells());
  const auto before = workspace.take<T>(cells());
  const auto keep = [&](T* to) {
    for_owned_rows(liquid.levelset, [&](const T* row, Index first, Index n) { std::copy_n(row, n, to + first); });
  };
  keep(saved.data());
  keep(before.data());
  const auto saved_labels = workspace.take<std::int32_t>(cells());
  std::copy_n(labels_.data(), cells(), saved_labels.data());
  const auto saved_volumes = volumes_, saved_expected = expected_;
  const auto saved_families = families_;
  // By label: how far the surface was moved before the present search, m, inwards (negative) and outwards.
  std::vector<std::array<double, 2>> moved(volumes_.size(), {0.0, 0.0}), next_moved;
  const auto add_moves = [&] {
    for (std::size_t i = 0; i < moved.size(); ++i)
      for (double& m : moved[i]) m += searches_[i].distance;
  };
  try {
    auto around = labels_around(labels_, spread, nullptr, workspace);
    bool matched = false;
    for (int pass = 0; pass < passes && any_off(); ++pass) {
      check_interrupt();
      amounts_.assign(volumes_.size(), 0.0);
      measure_areas(liquid.levelset, around.data(), amounts_, workspace);
      for (std::size_t i = 1; i < searches_.size(); ++i)
        if (amounts_[i] > 0 && (searches_[i].started() ? expected_[i] > cell_ : is_off(i)))
          searches_[i].advance(volumes_[i], expected_[i], amounts_[i]);
      move_surface(before.data(), around.data(), searches_, liquid.levelset);
      measure_next(liquid, workspace);
      matched = match_components();
      if (matched) continue;
      // A thin part broke off or closed: go on from there. No surface of a part may be moved too far.
      add_moves();
      next_moved.assign(next_volumes_.size(), {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()});
      for (Index i = 0; i < cells(); ++i) {
        auto& [least, most] = next_moved[next_[i]];
        const auto& before_it = moved[around.data()[i]];
        least = std::min(least, before_it[0]);
        most = std::max(most, before_it[1]);
      }
      parallel::combine_values(*grid_.communicator(), next_moved, [](const auto& a, const auto& b) {
        return std::array<double, 2>{std::min(a[0], b[0]), std::max(a[1], b[1])};
      });
      next_moved[0] = {0.0, 0.0};
      moved.swap(next_moved);
      transfer_to_components(expected_, labels_.data(), workspace);
      find_relatives(around.data());
      commit_motion();
      distribute_unassigned();
      searches_.clear();
      for (const auto& [least, most] : moved) searches_.emplace_back(-largest_move * h - least, largest_move * h - most);
      keep(before.data());
      around = labels_around(labels_, spread, nullptr, workspace);
    }
    add_moves();
    if (matched) commit_matched();
    double farthest = 0.0;
    for (const auto& [least, most] : moved) farthest = std::max({farthest, -least, most});
    return farthest;
  } catch (...) {
    const NoInterrupts whole;
    for_owned_rows(liquid.levelset, [&](T* row, Index first, Index n) { std::copy_n(saved.data() + first, n, row); });
    std::copy_n(saved_labels.data(), cells(), labels_.data());
    volumes_ = saved_volumes;
    expected_ = saved_expected;
    families_ = saved_families;
    leaving_.clear();
    vanished_.clear();
    throw;
  }
}

#define MENISCUS_INSTANTIATE(T, D) template double VolumeBudget<D>::correct<T>(const MeasuredLiquid<T, D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
