#include "meniscus/coupling/shell_water/solid_continuation.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::coupling {
namespace {

template <class T, int D>
class ContinuedSamples {
 public:
  ContinuedSamples(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls, bool linear)
      : field_(field), walls_(walls), linear_(linear), view_(field.view()), strides_(c_strides<D>(field.extents())) {
    const Index n = product<D>(field.extents());
    known_.assign(known, known + n);
  }

  bool known(Index i) const { return known_[static_cast<std::size_t>(i)] != 0; }
  void learn(Index i, double value) {
    *view_.at(surface::index_of<D>(i, strides_)) = static_cast<T>(value);
    known_[static_cast<std::size_t>(i)] = 1;
  }

  /// Makes air of samples below zero that are connected to no `outside` sample below zero: a slope of the air alone means no
  /// water.
  void dry_unsupported(const std::vector<Index>& open, const std::uint8_t* outside) {
    std::vector<std::uint8_t> waits(known_.size());
    for (const Index i : open) waits[static_cast<std::size_t>(i)] = wet(i);
    std::vector<Index> reached;
    const auto visit = [&](Index i, auto&& each) {
      const Coord<D> c = surface::index_of<D>(i, strides_);
      for (int axis = 0; axis < D; ++axis)
        for (const int step : {-1, 1}) {
          Coord<D> q;
          if (sees(c, axis, step, q)) each(dot<D>(q, strides_));
        }
    };
    for (const Index i : open) {
      if (!waits[static_cast<std::size_t>(i)]) continue;
      bool supported = false;
      // What lies in the solid far from walls is continued from this side.
      visit(i, [&](Index q) { supported |= wet(q) && (outside[q] || !waits[static_cast<std::size_t>(q)]); });
      if (supported) reached.push_back(i);
    }
    for (const Index i : reached) waits[static_cast<std::size_t>(i)] = 0;
    while (!reached.empty()) {
      const Index i = reached.back();
      reached.pop_back();
      visit(i, [&](Index q) {
        if (!waits[static_cast<std::size_t>(q)]) return;
        waits[static_cast<std::size_t>(q)] = 0;
        reached.push_back(q);
      });
    }
    for (const Index i : open)
      if (waits[static_cast<std::size_t>(i)]) learn(i, std::max(-value_at(i), 1e-3 * field_.grid().spacing()));
  }

  /// What the neighbours of sample i say; false where there are none.
  bool value(Index i, double& out) const {
    const Coord<D> c = surface::index_of<D>(i, strides_);
    std::array<double, 2> sum{};
    std::array<int, 2> count{};
    for (int axis = 0; axis < D; ++axis)
      for (const int step : {-1, 1}) {
        Coord<D> first, second;
        if (!sees(c, axis, step, first)) continue;
        double v = static_cast<double>(*view_.at(first));
        const bool sloped = linear_ && sees(first, axis, step, second);
        if (sloped) {
          const double h = field_.grid().spacing();
          v += std::clamp(v - static_cast<double>(*view_.at(second)), -h, h);
        }
        const std::size_t kind = sloped || !linear_ ? 0 : 1;
        sum[kind] += v;
        ++count[kind];
      }
    const std::size_t kind = count[0] ? 0 : 1;
    if (count[kind] == 0) return false;
    out = sum[kind] / count[kind];
    return true;
  }

 private:
  double value_at(Index i) const { return static_cast<double>(*view_.at(surface::index_of<D>(i, strides_))); }
  bool wet(Index i) const { return value_at(i) <= 0; }
  /// Whether the neighbour of a sample along an axis is known and visible from it.
  bool sees(const Coord<D>& from, int axis, int step, Coord<D>& to) const {
    const auto a = static_cast<std::size_t>(axis);
    const grid::Stagger<D>& stagger = field_.stagger();
    Coord<D> way = from;
    way[a] += step;
    to = way;
    to[a] = grid::image_of_sample<D>(field_.grid(), stagger, axis, way[a]);
    if (to[a] < 0 || !known(dot<D>(to, strides_))) return false;
    if (walls_.clearance(stagger, from) > 1) return true;
    const Vec<double, D> target = grid::sample_position<D>(field_.grid(), stagger, way);
    return walls_.hidden(grid::sample_position<D>(field_.grid(), stagger, from), &target, 1, nullptr) == 0;
  }

  grid::Field<T, D>& field_;
  const grid::ThinWalls<D>& walls_;
  bool linear_;
  grid::FieldView<T, D> view_;
  Coord<D> strides_;
  std::vector<std::uint8_t> known_;
};

}  // namespace

template <class T, int D>
Index continue_past_walls(grid::Field<T, D>& field, const std::uint8_t* known, const grid::ThinWalls<D>& walls,
                          const SolidContinuation& how) {
  require(field.grid() == walls.grid(), "the walls must have the grid of the field");
  const Coord<D> extents = field.extents(), strides = c_strides<D>(extents);
  ContinuedSamples<T, D> samples(field, known, walls, how.linear);
  std::vector<Index> open;
  for (Index i = 0; i < product<D>(extents); ++i)
    if (!known[i] && static_cast<int>(walls.clearance(field.stagger(), surface::index_of<D>(i, strides))) <= how.layers + 1)
      open.push_back(i);
  const std::vector<Index> all = open;
  std::vector<double> value(open.size());
  std::vector<std::uint8_t> found(open.size());
  for (int layer = 0; layer < how.layers && !open.empty(); ++layer) {
    parallel_for(0, static_cast<Index>(open.size()), 64, [&](Index b, Index e) {
      for (auto k = static_cast<std::size_t>(b); k < static_cast<std::size_t>(e); ++k)
        found[k] = samples.value(open[k], value[k]);
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
  for (const Index i : open) samples.learn(i, how.unreached);
  if (how.linear) samples.dry_unsupported(all, known);
  return static_cast<Index>(all.size());
}

#define MENISCUS_INSTANTIATE(T, D)                                                                             \
  template Index continue_past_walls<T, D>(grid::Field<T, D>&, const std::uint8_t*, const grid::ThinWalls<D>&, \
                                           const SolidContinuation&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
