#include "meniscus/coupling/shell_water/wall_distances.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <cmath>
#include <queue>
#include <unordered_map>

namespace meniscus::coupling {
namespace {

/// Cells from a wall, beyond which all samples that an interpolant of third order reads see each other.
constexpr int smooth_clearance = 3;
/// Of distances that are the same but for rounding errors, in spacings: the old bits stay.
constexpr double same_distance = 1e-12;

template <class T, int D>
class WallDistances {
 public:
  WallDistances(grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls, double band)
      : walls_(walls),
        grid_(phi.grid()),
        after_(phi.view()),
        before_(before.view()),
        shape_(phi.extents()),
        strides_(c_strides<D>(shape_)),
        band_(band),
        h_(phi.grid().spacing()) {}

  Index run() {
    const auto reach = static_cast<int>(std::min(std::ceil(band_ / h_) + 1, 16.0));
    for (Index i = 0; i < product<D>(shape_); ++i)
      if (walls_.clearance()[i] <= reach && std::abs(value(after_, i)) < band_) open_.emplace(i, Sample{});
    for (auto& [i, sample] : open_) {
      const double d = seed(i);
      if (d >= 0) {
        sample.final = true;
        sample.distance = d;
      }
    }
    // The order among equals is that of their numbers, whatever the order in the table.
    for (const auto& [i, sample] : open_) {
      if (sample.final)
        update_neighbours(i);
      else
        update(i);
    }
    while (!heap_.empty()) {
      const auto [d, i] = heap_.top();
      heap_.pop();
      Sample& s = open_.at(i);
      if (s.final || d > s.distance) continue;
      s.final = true;
      update_neighbours(i);
    }
    for (const auto& [i, sample] : open_) {
      T& v = *after_.at(surface::index_of<D>(i, strides_));
      const double d = std::min(sample.distance, band_), old = std::abs(value(before_, i));
      const double size = std::abs(d - old) <= same_distance * h_ ? old : d;
      v = static_cast<T>(v > T(0) ? std::max(size, static_cast<double>(std::numeric_limits<T>::min())) : -size);
    }
    return static_cast<Index>(open_.size());
  }

 private:
  struct Sample {
    double distance = std::numeric_limits<double>::infinity();
    bool final = false;
  };

  template <class View>
  double value(const View& view, Index i) const {
    return static_cast<double>(*view.at(surface::index_of<D>(i, strides_)));
  }

  /// The neighbour along an axis, -1 where there is none or a wall is between.
  Index neighbour(Index i, int axis, int step) const {
    Coord<D> c = surface::index_of<D>(i, strides_), face = c;
    const auto a = static_cast<std::size_t>(axis);
    if (step > 0) ++face[a];
    c[a] = grid::image_of_cell<D>(grid_, axis, c[a] + step);
    if (c[a] < 0) return -1;
    return walls_.blocked(axis, face, nullptr) ? -1 : dot<D>(c, strides_);
  }

  /// The distance of a sample beside a surface that it sees, negative where it sees none beside it.
  double seed(Index i) const {
    const double own = value(before_, i);
    double nearest = std::numeric_limits<double>::infinity(), low = 0, high = 0, least = 0;
    std::array<double, D> along;
    for (int d = 0; d < D; ++d) {
      std::array<double, 2> slope{};
      std::array<bool, 2> has{};
      const auto axis = static_cast<std::size_t>(d);
      along[axis] = std::numeric_limits<double>::infinity();
      for (int up = 0; up < 2; ++up) {
        const Index q = neighbour(i, d, up ? 1 : -1);
        if (q < 0) continue;
        const auto side = static_cast<std::size_t>(up);
        const double other = value(before_, q);
        has[side] = true;
        slope[side] = (up ? other - own : own - other) / h_;
        if ((other > 0) != (own > 0)) {
          const double sum = std::abs(own) + std::abs(other);
          along[axis] = std::min(along[axis], sum > 0 ? h_ * std::abs(own) / sum : 0.0);
        }
      }
      if (!has[0]) slope[0] = slope[1];
      if (!has[1]) slope[1] = slope[0];
      const double a = std::abs(slope[0]), b = std::abs(slope[1]);
      if ((slope[0] > 0) == (slope[1] > 0)) low += std::min(a, b) * std::min(a, b);
      high += std::max(a, b) * std::max(a, b);
      nearest = std::min(nearest, along[axis]);
    }
    if (!(nearest < std::numeric_limits<double>::infinity())) return -1;
    if (walls_.clearance()[i] > smooth_clearance) return std::abs(value(after_, i));
    if (nearest == 0) return 0;
    double sum = 0;
    for (const double a : along) sum += (nearest / a) * (nearest / a);
    least = nearest / std::sqrt(sum * static_cast<double>(D));
    const double slope = std::clamp(1.0, std::sqrt(low), std::max(std::sqrt(low), std::sqrt(high)));
    return std::clamp(std::abs(own) / slope, least, nearest);
  }

  /// Distance of a sample that is known by now, infinite for others.
  double known(Index i) const {
    const auto at = open_.find(i);
    if (at != open_.end()) return at->second.final ? at->second.distance : std::numeric_limits<double>::infinity();
    const double d = std::abs(value(after_, i));
    return d < band_ ? d : std::numeric_limits<double>::infinity();
  }

  void update_neighbours(Index i) {
    for (int d = 0; d < D; ++d)
      for (const int step : {-1, 1}) {
        const Index q = neighbour(i, d, step);
        if (q >= 0 && open_.contains(q)) update(q);
      }
  }

  void update(Index i) {
    Sample& s = open_.at(i);
    if (s.final) return;
    std::array<double, D> u;
    for (int d = 0; d < D; ++d) {
      double& least = u[static_cast<std::size_t>(d)];
      least = std::numeric_limits<double>::infinity();
      for (const int step : {-1, 1}) {
        const Index q = neighbour(i, d, step);
        if (q >= 0) least = std::min(least, known(q));
      }
    }
    std::sort(u.begin(), u.end());
    // sum (t - u_k)^2 = h^2 over the smallest ones that are below the solution
    double solution = u[0] + h_, sum = u[0], squares = u[0] * u[0];
    for (int k = 2; k <= D && u[static_cast<std::size_t>(k - 1)] < solution; ++k) {
      const double v = u[static_cast<std::size_t>(k - 1)];
      sum += v;
      squares += v * v;
      solution = (sum + std::sqrt(std::max(0.0, sum * sum - k * (squares - h_ * h_)))) / k;
    }
    if (!(solution < s.distance) || !(solution < band_)) return;
    s.distance = solution;
    heap_.emplace(solution, i);
  }

  using Entry = std::pair<double, Index>;
  const grid::ThinWalls<D>& walls_;
  const grid::Grid<D>& grid_;
  grid::FieldView<T, D> after_;
  grid::FieldView<const T, D> before_;
  Coord<D> shape_, strides_;
  double band_, h_;
  std::unordered_map<Index, Sample> open_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace

template <class T, int D>
Index redistance_past_walls(grid::Field<T, D>& phi, const grid::Field<T, D>& before, const grid::ThinWalls<D>& walls,
                            double band) {
  require(phi.grid() == walls.grid() && before.grid() == walls.grid(), "the walls must have the grid of the level set");
  require(band > 0 && std::isfinite(band), "band must be positive and finite, not ", band);
  return WallDistances<T, D>(phi, before, walls, band).run();
}

#define MENISCUS_INSTANTIATE(T, D) \
  template Index redistance_past_walls<T, D>(grid::Field<T, D>&, const grid::Field<T, D>&, const grid::ThinWalls<D>&, double);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::coupling
