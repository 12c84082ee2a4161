#include "meniscus/fluids/control/control_points.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/parallel/vector_reductions.hpp"

#include <cmath>
#include <span>

namespace meniscus::fluids {
namespace {

/// A particle or an image of one, in cells from the lower corner of the domain.
template <int D>
struct ControlSource {
  std::array<double, D> x;
  double radius;
  double height;
  double pull;  ///< m^2/s^2
  std::array<double, D> velocity;
  Index particle;
};

template <int D>
std::array<CellRuns, D> runs_of_axes(const grid::Grid<D>& grid, Index layers) {
  std::array<CellRuns, D> runs;
  for (int d = 0; d < D; ++d) runs[d] = CellRuns(grid, d, layers);
  return runs;
}

/// Calls visit(index of all axes but the last, first and one beyond the last index along that, square of the distance across it,
/// place of the first along it in the domain) for the rows of cells that a source reaches.
template <int D, class Visit>
void for_each_reached_row(const ControlSource<D>& s, const std::array<CellRuns, D>& runs, Visit&& visit) {
  Coord<D> cell{};
  const auto along_last = [&](double across) {
    const double left = s.radius * s.radius - across;
    if (left <= 0.0) return;
    runs[D - 1].within(s.x[D - 1], std::sqrt(left),
                       [&](Index begin, Index end, Index place) { visit(cell, begin, end, across, place); });
  };
  runs[0].within(s.x[0], s.radius, [&](Index begin, Index end, Index place) {
    for (cell[0] = begin; cell[0] < end; ++cell[0], ++place) {
      const double dx = distance_of_center(place, s.x[0]);
      if constexpr (D == 2) {
        along_last(dx * dx);
      } else {
        runs[1].within(s.x[1], s.radius, [&](Index begin1, Index end1, Index place1) {
          for (cell[1] = begin1; cell[1] < end1; ++cell[1], ++place1) {
            const double dy = distance_of_center(place1, s.x[1]);
            along_last(dx * dx + dy * dy);
          }
        });
      }
    }
  });
}

/// (1 - d^2 / r^2)^3 of a square of a distance, and zero beyond.
double kernel(double squared, double inverse_square_radius) {
  const double q = std::max(1.0 - squared * inverse_square_radius, 0.0);
  return q * q * q;
}

/// How many times a particle acts along an axis: at its place in the domain and at the images that reach into it.
template <int D>
Index images_along(const grid::Grid<D>& grid, int axis, double radius) {
  const Index period = grid::period_of(grid, axis);
  return period == 0 ? 0 : static_cast<Index>(std::ceil(radius / static_cast<double>(period)));
}

/// Writes a particle and its images, or counts them where `to` is null.
template <int D>
Index write_images(const grid::Grid<D>& grid, ControlSource<D> source, ControlSource<D>* to) {
  Coord<D> most{};
  Index total = 1;
  for (int d = 0; d < D; ++d) {
    most[d] = images_along(grid, d, source.radius);
    source.x[d] = grid::lattice_coordinate(grid, d, source.x[d]);
    total *= 2 * most[d] + 1;
  }
  Index written = 0;
  for (Index i = 0; i < total; ++i) {
    ControlSource<D> image = source;
    bool reaches = true;
    Index rest = i;
    for (std::size_t d = 0; d < D; ++d) {
      const Index choices = 2 * most[d] + 1;
      const auto n = static_cast<double>(grid.shape()[d]);
      image.x[d] += static_cast<double>(rest % choices - most[d]) * n;
      rest /= choices;
      // One layer of cells lies beyond the domain.
      reaches = reaches && image.x[d] + image.radius > -1.0 && image.x[d] - image.radius < n + 1.0;
    }
    if (!reaches) continue;
    if (to) to[written] = image;
    ++written;
  }
  return written;
}

/// Sums in fixed point, so that neither blocks nor threads change a bit: 2^24 cells fit.
constexpr int fixed_point_bits = 36;

std::int64_t fixed_point(double x) { return std::llround(std::ldexp(x, fixed_point_bits)); }

/// Multiplies the pull of the sources by the part of the room in their kernels that the fluid does not fill.
template <class T, int D>
void limit_by_coverage(const ControlMedium<T, D>& medium, const grid::Grid<D>& grid, ControlSource<D>* sources, Index n,
                       Index particles, Workspace& workspace) {
  const auto sums = workspace.take<std::int64_t>(2 * particles);
  std::fill_n(sums.data(), 2 * particles, std::int64_t{0});
  const auto own = runs_of_axes(grid, 0);
  // Images of a particle follow it, so that one task has them all.
  parallel_for(0, n, 64, [&](Index begin, Index end) {
    while (begin > 0 && begin < end && sources[begin].particle == sources[begin - 1].particle) ++begin;
    if (begin == end) return;
    while (end < n && sources[end].particle == sources[end - 1].particle) ++end;
    for (Index i = begin; i < end; ++i) {
      const ControlSource<D>& s = sources[i];
      const double inverse = 1.0 / (s.radius * s.radius);
      std::int64_t fluid = 0, room = 0;
      for_each_reached_row<D>(s, own, [&](Coord<D> cell, Index k0, Index k1, double across, Index place) {
        for (Index k = k0; k < k1; ++k) {
          cell[D - 1] = k;
          if (!medium.is_outside(cell)) continue;
          const double along = distance_of_center(place + (k - k0), s.x[D - 1]);
          const double w = kernel(across + along * along, inverse);
          room += fixed_point(w);
          fluid += fixed_point(w * medium.filled(cell));
        }
      });
      sums.data()[2 * s.particle] += fluid;
      sums.data()[2 * s.particle + 1] += room;
    }
  });
  parallel::Communicator& all = *grid.communicator();
  if (all.size() > 1) {
    std::vector<std::int64_t> values(sums.data(), sums.data() + 2 * particles);
    parallel::combine_values(all, values, [](std::int64_t a, std::int64_t b) { return a + b; });
    std::copy(values.begin(), values.end(), sums.data());
  }
  for (Index i = 0; i < n; ++i) {
    const std::int64_t fluid = sums.data()[2 * sources[i].particle], room = sums.data()[2 * sources[i].particle + 1];
    sources[i].pull *= room > 0 ? 1.0 - static_cast<double>(fluid) / static_cast<double>(room) : 0.0;
  }
}

/// Adds a source to a plane of cells across axis 0.
template <int D>
void add_to_plane(const ControlSource<D>& s, const std::array<CellRuns, D>& runs, const ControlCells<D>& cells) {
  const double inverse = 1.0 / (s.radius * s.radius);
  double* const potential = cells.potential();
  double* const cover = cells.cover();
  std::array<double*, D> momentum;
  for (int d = 0; d < D; ++d) momentum[d] = cells.momentum(d);
  for_each_reached_row<D>(s, runs, [&](Coord<D> cell, Index k0, Index k1, double across, Index place) {
    cell[D - 1] = k0;
    const Index at = cells.index(cell);
    for (Index k = 0; k < k1 - k0; ++k) {
      const double along = distance_of_center(place + k, s.x[D - 1]);
      const double w = s.height * kernel(across + along * along, inverse);
      potential[at + k] -= s.pull * w;
      cover[at + k] += w;
      for (std::size_t d = 0; d < D; ++d) momentum[d][at + k] += w * s.velocity[d];
    }
  });
}

template <int D>
void require_good_radii(const ControlPoints& points, const grid::Grid<D>& grid) {
  const double h = grid.spacing(), largest = h * static_cast<double>(*std::max_element(grid.shape().begin(), grid.shape().end()));
  for (Index i = 0; i < points.count; ++i)
    require(points.radii[i] >= h && points.radii[i] <= largest, "radii of control particles must be from the spacing, ", h,
            " m, to the longest side of the domain, ", largest, " m, but that of particle ", i, " is ", points.radii[i], " m");
}

}  // namespace

template <class T, int D>
void set_control_cells(const ControlPoints& points, double attraction, const ControlMedium<T, D>* medium, ControlCells<D>& cells,
                       Workspace& workspace) {
  const grid::Grid<D>& grid = cells.grid();
  require_good_radii(points, grid);
  const double h = grid.spacing();
  const auto source_of = [&](Index i) {
    ControlSource<D> s{};
    s.radius = points.radii[i] / h;
    s.height = points.heights[i];
    s.pull = attraction;
    s.particle = i;
    for (int d = 0; d < D; ++d) {
      // The bounds change nothing that can be felt; they keep the conversion to indices defined however far away a particle is.
      const double margin = s.radius + 2.0, x = (points.positions[i * D + d] - grid.origin()[d]) / h;
      s.x[d] = grid::period_of(grid, d) > 0 ? x : std::clamp(x, -margin, static_cast<double>(grid.shape()[d]) + margin);
      s.velocity[d] = points.velocities[i * D + d];
    }
    return s;
  };
  Index n = 0;
  for (Index i = 0; i < points.count; ++i) n += write_images<D>(grid, source_of(i), nullptr);
  const auto sources = workspace.take<ControlSource<D>>(n);
  Index written = 0;
  double reach = 0.0;
  for (Index i = 0; i < points.count; ++i) {
    const ControlSource<D> s = source_of(i);
    written += write_images<D>(grid, s, sources.data() + written);
    reach = std::max(reach, s.radius);
  }
  const std::array<CellRuns, D> runs = runs_of_axes(grid, 1);
  if (medium && attraction != 0.0) limit_by_coverage<T, D>(*medium, grid, sources.data(), n, points.count, workspace);

  // In this order they are added, whatever block and thread does so.
  std::sort(sources.data(), sources.data() + n, [](const ControlSource<D>& a, const ControlSource<D>& b) {
    return a.x != b.x ? a.x < b.x : a.particle < b.particle;
  });
  const Index plane = product<D>(cells.extents()) / cells.extents()[0];
  std::array<double*, D + 2> values{cells.potential(), cells.cover()};
  for (int d = 0; d < D; ++d) values[d + 2] = cells.momentum(d);
  for (const CellRun& run : std::span(runs[0].run).first(runs[0].count))
    parallel_for(run.begin, run.end, 1, [&](Index i, Index) {
      for (double* v : values) std::fill_n(v + (i + 1) * plane, plane, 0.0);
      std::array<CellRuns, D> here = runs;
      here[0].count = 1;
      here[0].run[0] = {i, i + 1, run.place + (i - run.begin)};
      const double center = static_cast<double>(here[0].run[0].place) + 0.5;
      const ControlSource<D>* s = std::lower_bound(sources.data(), sources.data() + n, center - reach,
                                                   [](const ControlSource<D>& a, double x) { return a.x[0] < x; });
      for (; s != sources.data() + n && s->x[0] <= center + reach; ++s) add_to_plane<D>(*s, here, cells);
      // Where particles lie closer than their kernels need, they control a cell once.
      double* const cover = cells.cover() + (i + 1) * plane;
      for (Index k = 0; k < plane; ++k) {
        if (cover[k] <= 1.0) continue;
        for (int d = 0; d < D; ++d) cells.momentum(d)[(i + 1) * plane + k] /= cover[k];
        cover[k] = 1.0;
      }
    });
}

#define MENISCUS_INSTANTIATE(T, D) \
  template void set_control_cells<T, D>(const ControlPoints&, double, const ControlMedium<T, D>*, ControlCells<D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
