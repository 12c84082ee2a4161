#include "meniscus/coupling/shell_water/continuation_past_walls.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/walls/open_neighbour.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

namespace meniscus::coupling {
namespace {

/// Changes from sample to sample that count as equal, spacings.
constexpr double same_change = 1e-9;

template <class T, int D>
class ContinuedSamples {
 public:
  ContinuedSamples(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls, const Continuation& how)
      : field_(field),
        walls_(walls),
        linear_(how.linear),
        by_faces_(how.from == ContinuedFrom::open_faces),
        view_(field.view()),
        strides_(c_strides<D>(field.extents())) {
    const Index n = product<D>(field.extents());
    known_.assign(known, known + n);
    guessed_ = known_;
  }

  void learn(Index i, double value) {
    *view_.at(surface::index_of<D>(i, strides_)) = static_cast<T>(value);
    known_[i] = guessed_[i] = 1;
  }

  /// The value that a sample holds counts.
  void keep(Index i) { known_[i] = 1; }
  /// Values of these samples are guesses from now on, to be found anew.
  void doubt(const std::vector<Index>& samples) {
    for (const Index i : samples) known_[i] = 0;
  }

  /// Makes air of samples below zero that are connected to no `outside` sample below zero: a slope of the air alone means no
  /// water.
  void dry_unsupported(const std::vector<Index>& open, const std::uint8_t* outside) {
    std::vector<std::uint8_t> waits(known_.size());
    for (const Index i : open) waits[i] = wet(i);
    std::vector<Index> reached;
    const auto visit = [&](Index i, auto&& each) {
      const Coord<D> c = surface::index_of<D>(i, strides_);
      for (int axis = 0; axis < D; ++axis)
        for (const int step : {-1, 1}) {
          Coord<D> q;
          if (knows(c, axis, step, q)) each(dot<D>(q, strides_));
        }
    };
    for (const Index i : open) {
      if (!waits[i]) continue;
      bool supported = false;
      // What lies in the solid far from walls is continued from this side.
      visit(i, [&](Index q) { supported |= wet(q) && (outside[q] || !waits[q]); });
      if (supported) reached.push_back(i);
    }
    for (const Index i : reached) waits[i] = 0;
    while (!reached.empty()) {
      const Index i = reached.back();
      reached.pop_back();
      visit(i, [&](Index q) {
        if (!waits[q]) return;
        waits[q] = 0;
        reached.push_back(q);
      });
    }
    for (const Index i : open)
      if (waits[i]) learn(i, std::max(-value_at(i), 1e-3 * field_.grid().spacing()));
  }

  /// What the neighbours of sample i say; false where there are none.
  bool value(Index i, double& out) const {
    const Coord<D> c = surface::index_of<D>(i, strides_);
    const double same = same_change * field_.grid().spacing();
    double sloped = 0, flat = 0, least = std::numeric_limits<double>::infinity();
    int slopes = 0, flats = 0;
    for (int axis = 0; axis < D; ++axis)
      for (const int step : {-1, 1}) {
        Coord<D> first, second;
        if (!knows(c, axis, step, first)) continue;
        const auto near = static_cast<double>(*view_.at(first));
        if (!linear_ || !knows(first, axis, step, second)) {
          flat += near;
          ++flats;
          continue;
        }
        const double most = slope_left(first, axis);
        const double change = std::clamp(near - static_cast<double>(*view_.at(second)), -most, most);
        if (std::abs(change) > least + same) continue;
        if (std::abs(change) < least - same) {
          sloped = 0;
          slopes = 0;
        }
        least = std::min(least, std::abs(change));
        sloped += near + change;
        ++slopes;
      }
    if (slopes + flats == 0) return false;
    out = slopes ? sloped / slopes : flat / flats;
    if (linear_ && slopes == 0 && flats > 1) across_corners(c, out);
    return true;
  }

 private:
  /// What two neighbours say with the one between them, if there is such a square: its sides change alike.
  void across_corners(const Coord<D>& c, double& out) const {
    const double h = field_.grid().spacing();
    double sum = 0;
    int count = 0;
    for (int axis = 0; axis < D; ++axis)
      for (int other = axis + 1; other < D; ++other)
        for (const int step : {-1, 1})
          for (const int way : {-1, 1}) {
            Coord<D> first, second, corner;
            if (!knows(c, axis, step, first) || !knows(c, other, way, second) || !knows(first, other, way, corner)) continue;
            const double change = static_cast<double>(*view_.at(second)) - static_cast<double>(*view_.at(corner));
            sum += static_cast<double>(*view_.at(first)) + std::clamp(change, -h, h);
            ++count;
          }
    if (count) out = sum / count;
  }

  double value_at(Index i) const { return static_cast<double>(*view_.at(surface::index_of<D>(i, strides_))); }
  bool wet(Index i) const { return value_at(i) <= 0; }

  /// The most that a distance at sample c can change along an axis in a spacing, m, by what it does along the others: all slopes
  /// together are one. Beside a wall, samples that see the surface around a corner tell of a slope where there is none.
  double slope_left(const Coord<D>& c, int axis) const {
    const double own = static_cast<double>(*view_.at(c)), h = field_.grid().spacing();
    double left = 1;
    for (int other = 0; other < D; ++other) {
      if (other == axis) continue;
      double slope = 0;
      for (const int step : {-1, 1}) {
        Coord<D> q;
        if (!knows(c, other, step, q, guessed_)) continue;
        // Neighbours farther from the surface have their distance from elsewhere, or through this sample.
        const auto there = static_cast<double>(*view_.at(q));
        if ((there > 0) != (own > 0) || std::abs(there) < std::abs(own)) slope = std::max(slope, std::abs(own - there) / h);
      }
      left -= slope * slope;
    }
    return h * std::sqrt(std::max(0.0, left));
  }

  /// Whether the neighbour of a sample along an axis has a value and is on its side.
  bool knows(const Coord<D>& from, int axis, int step, Coord<D>& to) const { return knows(from, axis, step, to, known_); }
  bool knows(const Coord<D>& from, int axis, int step, Coord<D>& to, const std::vector<std::uint8_t>& known) const {
    const Index a = axis;
    const grid::Stagger<D>& stagger = field_.stagger();
    Coord<D> way = from;
    way[a] += step;
    to = way;
    to[a] = grid::image_of_sample<D>(field_.grid(), stagger, axis, way[a]);
    if (to[a] < 0 || !known[dot<D>(to, strides_)]) return false;
    if (walls_.clearance(stagger, from) > 1) return true;
    if (by_faces_) return grid::open_neighbour<D>(walls_, strides_, from, dot<D>(from, strides_), axis, step) >= 0;
    const Vec<double, D> target = grid::sample_position<D>(field_.grid(), stagger, way);
    return walls_.hidden(grid::sample_position<D>(field_.grid(), stagger, from), &target, 1, nullptr) == 0;
  }

  grid::Field<T, D>& field_;
  const grid::ThinWalls<D>& walls_;
  bool linear_, by_faces_;
  grid::FieldView<T, D> view_;
  Coord<D> strides_;
  /// Samples that have a value, and those with one to compare slopes with.
  std::vector<std::uint8_t> known_, guessed_;
};

/// Fills `open` layer by layer as far as that goes; returns how many layers gave values.
template <class T, int D>
int fill_layers(ContinuedSamples<T, D>& samples, std::vector<Index>& open, int layers) {
  std::vector<double> value(open.size());
  std::vector<std::uint8_t> found(open.size());
  int layer = 0;
  for (; layer < layers && !open.empty(); ++layer) {
    parallel_for(0, static_cast<Index>(open.size()), 64, [&](Index b, Index e) {
      for (Index k = b; k < e; ++k) found[k] = samples.value(open[k], value[k]);
    });
    std::size_t rest = 0;
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (found[k])
        samples.learn(open[k], value[k]);
      else
        open[rest++] = open[k];
    }
    if (rest == open.size()) break;
    open.resize(rest);
  }
  return layer;
}

}  // namespace

template <class T, int D>
ContinuationReport continue_past_walls(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls,
                                       const Continuation& how) {
  require(field.grid() == walls.grid(), "the walls must have the grid of the field");
  const Coord<D> extents = field.extents(), strides = c_strides<D>(extents);
  require(how.from == ContinuedFrom::seen || extents == field.grid().local_shape(), "faces tell of cells alone");
  std::vector<Index> open;
  for (Index i = 0; i < product<D>(extents); ++i)
    if (!known[i] && static_cast<int>(walls.clearance(field.stagger(), surface::index_of<D>(i, strides))) <= how.layers + 1)
      open.push_back(i);
  ContinuationReport report;
  report.samples = static_cast<Index>(open.size());
  if (open.empty()) return report;
  ContinuedSamples<T, D> samples(field, known, walls, how);
  std::vector<Index> all = open;
  if (how.linear) {
    // Which slopes there are together shows when all samples have values.
    fill_layers(samples, open, how.layers);
    samples.doubt(all);
    open = all;
  }
  report.layers = fill_layers(samples, open, how.layers);
  report.unreached = static_cast<Index>(open.size());
  if (std::isnan(how.unreached)) {
    std::vector<Index> reached;
    std::set_difference(all.begin(), all.end(), open.begin(), open.end(), std::back_inserter(reached));
    all.swap(reached);
    for (const Index i : open) samples.keep(i);
  } else {
    for (const Index i : open) samples.learn(i, how.unreached);
  }
  if (how.linear) samples.dry_unsupported(all, known);
  return report;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template ContinuationReport continue_past_walls<T, D>(grid::Field<T, D>&, const std::uint8_t*, const grid::ThinWalls<D>&, \
                                                        const Continuation&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
