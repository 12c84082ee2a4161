#include "meniscus/coupling/shells/revalidation.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <vector>

namespace meniscus::coupling {
namespace {

/// An invalid sample with what it sees along the axes: bit 2 axis + (0 below, 1 above).
template <int D>
struct InvalidSample {
  Coord<D> place;
  Index number;
  std::uint32_t exists = 0, hidden = 0;
  std::array<double, 2 * D> stand_in{};
};

template <int D>
Index number_of(const Coord<D>& c, const Coord<D>& extents) {
  Index n = 0;
  for (std::size_t d = 0; d < D; ++d) n = n * extents[d] + c[d];
  return n;
}

/// The neighbour of a sample, or false where a side has none. It is an owned sample.
template <int D>
bool neighbour(const grid::FieldLayout<D>& layout, Coord<D> c, int side, Coord<D>& out) {
  const Index axis = side / 2;
  c[axis] += side % 2 ? 1 : -1;
  const Index n = layout.extents()[axis];
  if (c[axis] < 0 || c[axis] >= n) {
    if (!layout.grid.shared(side / 2, side % 2)) return false;
    const Index period = layout.grid.shape()[axis];
    c[axis] += c[axis] < 0 ? period : -period;
  }
  out = c;
  return true;
}

template <int D>
void look_around(const grid::FieldLayout<D>& layout, const grid::ThinWalls<D>& walls, const grid::StandIn& stand_in,
                 InvalidSample<D>& s) {
  const Vec<double, D> x = grid::sample_position<D>(layout.grid, layout.stagger, s.place);
  std::array<Vec<double, D>, 2 * D> targets, velocity;
  std::array<int, 2 * D> sides;
  int count = 0;
  for (int side = 0; side < 2 * D; ++side) {
    Coord<D> unused;
    if (!neighbour<D>(layout, s.place, side, unused)) continue;
    Vec<double, D> y = x;
    y[side / 2] += (side % 2 ? 1 : -1) * layout.grid.spacing();
    targets[count] = y;
    sides[count++] = side;
    s.exists |= 1u << side;
  }
  const std::uint32_t hidden = walls.hidden(x, targets.data(), count, velocity.data());
  for (int i = 0; i < count; ++i) {
    const Index k = i;
    if (!((hidden >> i) & 1)) continue;
    s.hidden |= 1u << sides[k];
    const double wall = stand_in.component < 0 ? stand_in.value : velocity[k][stand_in.component];
    // Solids stand in for nothing.
    if (std::isnan(wall)) s.exists &= ~(1u << sides[k]);
    s.stand_in[sides[k]] = wall;
  }
}

}  // namespace

template <class T, int D>
RevalidationReport revalidate(grid::Field<T, D>& field, const std::uint8_t* invalid, const grid::ThinWalls<D>& walls,
                              const grid::StandIn& stand_in) {
  require(field.grid() == walls.grid(), "the walls must have the grid of the field");
  const grid::FieldLayout<D>& layout = field.layout();
  const Coord<D> extents = layout.extents();
  std::vector<InvalidSample<D>> open;
  Coord<D> c{};
  for (Index i = 0; i < product<D>(extents); ++i) {
    if (invalid[i]) open.push_back({c, i, 0, 0, {}});
    for (int d = D - 1; d >= 0 && ++c[d] == extents[d]; --d) c[d] = 0;
  }
  RevalidationReport report;
  report.samples = static_cast<Index>(open.size());
  if (open.empty()) return report;
  parallel_for(0, report.samples, 64, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) look_around<D>(layout, walls, stand_in, open[i]);
  });

  std::vector<std::uint8_t> valid(product<D>(extents));
  for (std::size_t i = 0; i < valid.size(); ++i) valid[i] = !invalid[i];
  const grid::FieldView<T, D> view = field.view();
  std::vector<std::pair<std::size_t, T>> found;
  std::vector<InvalidSample<D>> rest;
  for (const bool with_stand_ins : {false, true}) {
    for (;;) {
      found.clear();
      for (std::size_t i = 0; i < open.size(); ++i) {
        const InvalidSample<D>& s = open[i];
        double sum = 0;
        int count = 0;
        for (int side = 0; side < 2 * D; ++side) {
          if (!((s.exists >> side) & 1)) continue;
          if ((s.hidden >> side) & 1) {
            if (!with_stand_ins) continue;
            sum += s.stand_in[side];
            ++count;
            continue;
          }
          Coord<D> n;
          neighbour<D>(layout, s.place, side, n);
          if (!valid[number_of<D>(n, extents)]) continue;
          sum += static_cast<double>(*view.at(n));
          ++count;
        }
        if (count) found.emplace_back(i, static_cast<T>(sum / count));
      }
      if (found.empty()) break;
      ++report.sweeps;
      if (with_stand_ins) report.from_stand_ins += static_cast<Index>(found.size());
      for (const auto& [i, value] : found) {
        *view.at(open[i].place) = value;
        valid[open[i].number] = 1;
      }
      rest.clear();
      for (const InvalidSample<D>& s : open)
        if (!valid[s.number]) rest.push_back(s);
      open.swap(rest);
    }
  }
  for (const InvalidSample<D>& s : open) *view.at(s.place) = static_cast<T>(stand_in.value);
  report.from_stand_ins += static_cast<Index>(open.size());
  return report;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                 \
  template RevalidationReport revalidate<T, D>(grid::Field<T, D>&, const std::uint8_t*, const grid::ThinWalls<D>&, \
                                               const grid::StandIn&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
