#include "meniscus/fluids/exchange/pressure_gradient.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/blocks/block_window.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Values of a field in a block and up to `width` cells beyond it.
template <class T, int D>
grid::BlockWindow<T, D> values_of(const grid::Field<T, D>& field, Index width) {
  return {field.grid(), field.stagger(), field.view().origin, field.view().strides, width};
}

template <class T, int D>
class Gradients {
 public:
  /// Collective. `width`: cells beyond the block that are asked for.
  Gradients(const LiquidPressure<T, D>& liquid, Index width)
      : liquid_(liquid),
        grid_(liquid.levelset.grid()),
        pressure_(values_of(liquid.pressure, width)),
        phi_(values_of(liquid.levelset, width)) {
    if (liquid.surface_pressure) surface_.emplace(values_of(*liquid.surface_pressure, width));
    if (liquid.solved_air) solved_air_.emplace(grid_, liquid.solved_air, width);
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const auto stagger = grid::Stagger<D>::face(d);
      if (liquid.closed[axis])
        closed_[axis].emplace(grid_, stagger, liquid.closed[axis], c_strides<D>(stagger.extents(grid_.local_shape())), width);
    }
  }

  double at(const T* x, int axis) const {
    std::array<double, D> from_face;
    for (int d = 0; d < D; ++d) from_face[d] = static_cast<double>(x[d]) - (d == axis ? 0.0 : 0.5 * grid_.spacing());
    auto [first, offset] = grid::locate(grid_, from_face.data());
    for (std::size_t e = 0; e < D; ++e) first[e] -= grid_.first_cell()[e];
    double sum = 0.0, weights = 0.0;
    for (int corner = 0; corner < 1 << D; ++corner) {
      Coord<D> face = first;
      double weight = 1.0;
      for (std::size_t e = 0; e < D; ++e) {
        const bool upper = corner >> e & 1;
        face[e] += upper;
        weight *= upper ? offset[e] : 1.0 - offset[e];
      }
      if (weight > 0.0) add(axis, face, weight, sum, weights);
    }
    // Less is where the point lies between faces without a gradient, or round-off beside one.
    if (weights > 1e-3) return sum / weights;
    sum = weights = 0.0;
    for (int k = 0; k < (D == 2 ? 16 : 64); ++k) {
      Coord<D> face = first;
      double square = 0.0;
      for (std::size_t e = 0; e < D; ++e) {
        const int step = (k >> 2 * static_cast<int>(e) & 3) - 1;
        face[e] += step;
        square += (offset[e] - step) * (offset[e] - step);
      }
      add(axis, face, 1.0 / (square + 1e-6), sum, weights);
    }
    return weights > 0.0 ? sum / weights : 0.0;
  }

 private:
  bool is_solved(const Coord<D>& cell, bool& wet) const {
    wet = is_liquid_value(phi_.at(cell), grid_.spacing());
    return wet || (solved_air_ && solved_air_->at(cell));
  }

  void add(int axis, const Coord<D>& face, double weight, double& sum, double& weights) const {
    const Index a = axis;
    Coord<D> below = face;
    --below[a];
    const Coord<D>& above = face;
    for (int d = 0; d < D; ++d) {
      const Index e = d;
      if (!grid::in_domain<D>(grid_, d, below[e]) || !grid::in_domain<D>(grid_, d, above[e])) return;
    }
    if (closed_[a] && closed_[a]->at(face)) return;
    bool wet_below, wet_above;
    const bool solved_below = is_solved(below, wet_below), solved_above = is_solved(above, wet_above);
    if (!solved_below && !solved_above) return;
    weights += weight;
    if (solved_below && solved_above) {
      sum += weight * (pressure_.at(above) - pressure_.at(below)) / grid_.spacing();
      return;
    }
    const Coord<D>&liquid = solved_below ? below : above, &air = solved_below ? above : below;
    double distance = 1.0, outer = liquid_.air_pressure;
    if (solved_below ? wet_below : wet_above) {
      distance = distance_to_surface<T>(static_cast<double>(phi_.at(liquid)), static_cast<double>(phi_.at(air)));
      if (surface_)
        outer += (1.0 - distance) * static_cast<double>(surface_->at(liquid)) + distance * static_cast<double>(surface_->at(air));
    } else {
      // Air with a pressure of its own beside other air: the face between them is closed.
      weights -= weight;
      return;
    }
    const double change = (outer - pressure_.at(liquid)) / (distance * grid_.spacing());
    sum += weight * (solved_below ? change : -change);
  }

  const LiquidPressure<T, D>& liquid_;
  const grid::Grid<D>& grid_;
  grid::BlockWindow<double, D> pressure_;
  grid::BlockWindow<T, D> phi_;
  std::optional<grid::BlockWindow<T, D>> surface_;
  std::optional<grid::BlockWindow<std::uint8_t, D>> solved_air_;
  std::array<std::optional<grid::BlockWindow<std::uint8_t, D>>, D> closed_;
};

}  // namespace

template <class T, int D>
void sample_pressure_gradient(const LiquidPressure<T, D>& liquid, const T* points, Index n, T* gradients) {
  require(liquid.pressure.grid() == liquid.levelset.grid(), "the pressure must have the grid of the level set");
  const grid::Grid<D>& grid = liquid.levelset.grid();
  Index width = 0;
  if (grid.block().cut()) {
    for (Index i = 0; i < n; ++i) {
      Coord<D> cell = grid::locate_in_domain(grid, points + i * D).cell;
      for (int d = 0; d < D; ++d) {
        Index& c = cell[d];
        c = grid::image_near_block<D>(grid, d, c);
      }
      width = std::max(width, grid::distance_from_block<D>(grid, cell));
    }
    width = 2 + static_cast<Index>(parallel::global_max(*grid.communicator(), static_cast<double>(width)));
  }
  const Gradients<T, D> field(liquid, width);
  parallel_for(0, n, 512, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (int d = 0; d < D; ++d) gradients[i * D + d] = static_cast<T>(field.at(points + i * D, d));
  });
}

#define MENISCUS_INSTANTIATE(T, D) template void sample_pressure_gradient<T, D>(const LiquidPressure<T, D>&, const T*, Index, T*);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
