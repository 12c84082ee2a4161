#include "meniscus/coupling/shell_water/wall_distances.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/walls/open_neighbour.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace meniscus::coupling {
namespace {

/// Cells from a wall, beyond which all samples that an interpolant of third order reads see each other.
constexpr int smooth_clearance = 3;
/// Of distances that are the same but for rounding errors, in spacings: the old bits stay.
constexpr double same_distance = 1e-12;

/// Change, in cells, up to which neighbours belong to one level set if one of them is continued into a solid: beyond the last
/// layer of that they do not.
constexpr double largest_continued_step = 1.5;

constexpr double unknown = std::numeric_limits<double>::infinity();

template <class T, int D>
class WallDistances {
 public:
  WallDistances(grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls, double band,
                const std::uint8_t* outside)
      : walls_(walls),
        outside_(outside),
        after_(phi.view()),
        before_(before.view()),
        shape_(phi.extents()),
        strides_(c_strides<D>(shape_)),
        band_(band),
        h_(phi.grid().spacing()) {}

  Index run(Workspace& workspace) {
    const auto reach = static_cast<int>(std::min(std::ceil(band_ / h_) + 1, 16.0));
    const Index cells = product<D>(shape_);
    const surface::IndexList open = surface::list_indices(
        cells,
        [&](Index begin, Index end, auto&& take) {
          for (Index i = begin; i < end; ++i)
            if (walls_.clearance()[i] <= reach && std::abs(value(after_, i)) < band_) take(i);
        },
        workspace);
    const auto slots = workspace.take<std::int32_t>(cells);
    const auto samples = workspace.take<Sample>(open.size);
    // A sample is put in once, and again for each of its neighbours at most.
    const auto heap = workspace.take<Entry>((2 * D + 1) * open.size);
    slot_ = slots.data();
    sample_ = samples.data();
    heap_ = heap.data();
    parallel_for(0, cells, 1 << 15, [&](Index begin, Index end) { std::fill(slot_ + begin, slot_ + end, -1); });
    parallel_for(0, open.size, 1024, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const double d = seed(open.index[k]);
        sample_[k] = {d >= 0 ? d : unknown, d >= 0};
        slot_[open.index[k]] = static_cast<std::int32_t>(k);
      }
    });
    // Samples beside those that are known, from outside of the list and from its seeds; among equals the lower number is first.
    for (Index k = 0; k < open.size; ++k)
      if (!sample_[k].final) update(open.index[k]);
    while (size_ > 0) {
      std::pop_heap(heap_, heap_ + size_, std::greater<>());
      const auto [d, i] = heap_[--size_];
      Sample& s = sample_[slot_[i]];
      if (s.final || d > s.distance) continue;
      s.final = true;
      const Coord<D> c = surface::index_of<D>(i, strides_);
      for (int axis = 0; axis < D; ++axis)
        for (const int step : {-1, 1}) {
          const Index q = grid::open_neighbour<D>(walls_, strides_, c, i, axis, step);
          if (q >= 0 && slot_[q] >= 0) update(q);
        }
    }
    parallel_for(0, open.size, 4096, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const Index i = open.index[k];
        T& v = *after_.at(surface::index_of<D>(i, strides_));
        const double d = std::min(sample_[k].distance, band_), old = std::abs(value(before_, i));
        const double size = std::abs(d - old) <= same_distance * h_ ? old : d;
        v = static_cast<T>(v > T(0) ? std::max(size, static_cast<double>(std::numeric_limits<T>::min())) : -size);
      }
    });
    return open.size;
  }

 private:
  struct Sample {
    double distance;
    bool final;
  };
  using Entry = std::pair<double, Index>;

  template <class View>
  double value(const View& view, Index i) const {
    return static_cast<double>(*view.at(surface::index_of<D>(i, strides_)));
  }

  /// The distance of a sample beside a surface that it sees, negative where it sees none beside it.
  double seed(Index i) const {
    const Coord<D> c = surface::index_of<D>(i, strides_);
    const double own = value(before_, i);
    double nearest = unknown, low = 0, high = 0;
    bool beside = false;
    std::array<double, D> along;
    along.fill(unknown);
    for (int d = 0; d < D; ++d) {
      std::array<double, 2> slope{};
      std::array<bool, 2> has{};
      const Index axis = d;
      bool crosses = false;
      for (int up = 0; up < 2; ++up) {
        const Index q = grid::open_neighbour<D>(walls_, strides_, c, i, d, up ? 1 : -1);
        if (q < 0) continue;
        const Index side = up;
        const double other = value(before_, q);
        // What was continued into the solid has its slope from here, and says nothing new: distances would follow their own
        // errors.
        const bool continued = outside_ && outside_[i] && !outside_[q];
        has[side] = !continued;
        if (!continued) slope[side] = (up ? other - own : own - other) / h_;
        const bool jumps = outside_ && !(outside_[i] && outside_[q]) && std::abs(other - own) > largest_continued_step * h_;
        if ((other > 0) == (own > 0) || jumps) continue;
        crosses = beside = true;
        if (continued) continue;
        const double sum = std::abs(own) + std::abs(other);
        along[axis] = std::min(along[axis], sum > 0 ? h_ * std::abs(own) / sum : 0.0);
      }
      if (!has[0]) slope[0] = slope[1];
      if (!has[1]) slope[1] = slope[0];
      const double a = std::abs(slope[0]), b = std::abs(slope[1]);
      // One neighbour alone says that the values change along the axis no less only where the surface is on this axis.
      if (((has[0] && has[1]) || crosses) && (slope[0] > 0) == (slope[1] > 0)) low += std::min(a, b) * std::min(a, b);
      high += std::max(a, b) * std::max(a, b);
      nearest = std::min(nearest, along[axis]);
    }
    if (!beside) return -1;
    if (walls_.clearance()[i] > smooth_clearance) return std::abs(value(after_, i));
    if (nearest == 0) return 0;
    const double slope = high > 0 ? std::clamp(1.0, std::sqrt(low), std::max(std::sqrt(low), std::sqrt(high))) : 1.0;
    if (nearest == unknown) return std::abs(own) / slope;
    double sum = 0;
    for (const double a : along) sum += (nearest / a) * (nearest / a);
    return std::clamp(std::abs(own) / slope, nearest / std::sqrt(sum * static_cast<double>(D)), nearest);
  }

  /// Distance of a sample that is known by now, infinite for others.
  double known(Index i) const {
    if (slot_[i] >= 0) return sample_[slot_[i]].final ? sample_[slot_[i]].distance : unknown;
    const double d = std::abs(value(after_, i));
    return d < band_ ? d : unknown;
  }

  void update(Index i) {
    Sample& s = sample_[slot_[i]];
    if (s.final) return;
    const Coord<D> c = surface::index_of<D>(i, strides_);
    std::array<double, D> u;
    for (int d = 0; d < D; ++d) {
      double& least = u[d];
      least = unknown;
      for (const int step : {-1, 1}) {
        const Index q = grid::open_neighbour<D>(walls_, strides_, c, i, d, step);
        if (q >= 0) least = std::min(least, known(q));
      }
    }
    std::sort(u.begin(), u.end());
    // sum (t - u_k)^2 = h^2 over the smallest ones that are below the solution
    double solution = u[0] + h_, sum = u[0], squares = u[0] * u[0];
    for (int k = 2; k <= D && u[k - 1] < solution; ++k) {
      const double v = u[k - 1];
      sum += v;
      squares += v * v;
      solution = (sum + std::sqrt(std::max(0.0, sum * sum - k * (squares - h_ * h_)))) / k;
    }
    if (!(solution < s.distance) || !(solution < band_)) return;
    s.distance = solution;
    heap_[size_++] = {solution, i};
    std::push_heap(heap_, heap_ + size_, std::greater<>());
  }

  const grid::ThinWalls<D>& walls_;
  const std::uint8_t* outside_;
  grid::FieldView<T, D> after_;
  grid::FieldView<const T, D> before_;
  Coord<D> shape_, strides_;
  double band_, h_;
  std::int32_t* slot_ = nullptr;  ///< by cell, -1: not in the list
  Sample* sample_ = nullptr;
  Entry* heap_ = nullptr;
  Index size_ = 0;
};

}  // namespace

template <class T, int D>
Index redistance_past_walls(grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls, double band,
                            const std::uint8_t* outside, Workspace& workspace) {
  require(phi.grid() == walls.grid() && before.grid() == walls.grid(), "the walls must have the grid of the level set");
  require(band > 0 && std::isfinite(band), "band must be positive and finite, not ", band);
  return WallDistances<T, D>(phi, before, walls, band, outside).run(workspace);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template Index redistance_past_walls<T, D>(grid::Field<T, D>&, const grid::Field<T, D>&, const grid::ThinWalls<D>&, double, \
                                             const std::uint8_t*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
