#include "meniscus/fluids/exchange/pressure_gradient.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace meniscus::fluids {
namespace {

template <class T, int D>
class Gradients {
 public:
  explicit Gradients(const LiquidPressure<T, D>& liquid)
      : liquid_(liquid),
        grid_(liquid.levelset.grid()),
        pressure_(liquid.pressure.view()),
        phi_(liquid.levelset.view()),
        rows_(c_strides<D>(phi_.extents)) {
    if (liquid.surface_pressure) surface_ = liquid.surface_pressure->view();
    for (int d = 0; d < D; ++d)
      face_rows_[static_cast<std::size_t>(d)] = c_strides<D>(grid::Stagger<D>::face(d).extents(phi_.extents));
  }

  double at(const T* x, int axis) const {
    std::array<double, D> from_face;
    for (int d = 0; d < D; ++d)
      from_face[static_cast<std::size_t>(d)] = static_cast<double>(x[d]) - (d == axis ? 0.0 : 0.5 * grid_.spacing());
    const auto [first, offset] = grid::locate(grid_, from_face.data());
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
    wet = is_liquid_value(*phi_.at(cell), grid_.spacing());
    return wet || (liquid_.solved_air && liquid_.solved_air[dot<D>(cell, rows_)]);
  }

  void add(int axis, Coord<D> face, double weight, double& sum, double& weights) const {
    const auto a = static_cast<std::size_t>(axis);
    for (int d = 0; d < D; ++d) {
      const auto e = static_cast<std::size_t>(d);
      if (d != axis && (face[e] = grid::image_of_cell(grid_, d, face[e])) < 0) return;
    }
    const Index at = grid::image_of_sample(grid_, grid::Stagger<D>::face(axis), axis, face[a]);
    if (at < 0) return;
    face[a] = at;
    Coord<D> below = face, above = face;
    below[a] = at - 1;
    above[a] = grid::image_of_cell(grid_, axis, at);
    if (below[a] < 0 || above[a] < 0) return;
    if (liquid_.closed[a] && liquid_.closed[a][dot<D>(face, face_rows_[a])]) return;
    bool wet_below, wet_above;
    const bool solved_below = is_solved(below, wet_below), solved_above = is_solved(above, wet_above);
    if (!solved_below && !solved_above) return;
    weights += weight;
    if (solved_below && solved_above) {
      sum += weight * (*pressure_.at(above) - *pressure_.at(below)) / grid_.spacing();
      return;
    }
    const Coord<D>&liquid = solved_below ? below : above, &air = solved_below ? above : below;
    double distance = 1.0, outer = liquid_.air_pressure;
    if (solved_below ? wet_below : wet_above) {
      distance = distance_to_surface<T>(static_cast<double>(*phi_.at(liquid)), static_cast<double>(*phi_.at(air)));
      if (surface_)
        outer +=
            (1.0 - distance) * static_cast<double>(*surface_->at(liquid)) + distance * static_cast<double>(*surface_->at(air));
    } else {
      // Air with a pressure of its own beside other air: the face between them is closed.
      weights -= weight;
      return;
    }
    const double change = (outer - *pressure_.at(liquid)) / (distance * grid_.spacing());
    sum += weight * (solved_below ? change : -change);
  }

  const LiquidPressure<T, D>& liquid_;
  const grid::Grid<D>& grid_;
  grid::FieldView<const double, D> pressure_;
  grid::FieldView<const T, D> phi_;
  std::optional<grid::FieldView<const T, D>> surface_;
  Coord<D> rows_;
  std::array<Coord<D>, D> face_rows_;
};

}  // namespace

template <class T, int D>
void sample_pressure_gradient(const LiquidPressure<T, D>& liquid, const T* points, Index n, T* gradients) {
  grid::require_one_block(liquid.levelset.grid(), "sampling of the pressure gradient");
  require(liquid.pressure.grid() == liquid.levelset.grid(), "the pressure must have the grid of the level set");
  const Gradients<T, D> field(liquid);
  parallel_for(0, n, 512, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (int d = 0; d < D; ++d) gradients[i * D + d] = static_cast<T>(field.at(points + i * D, d));
  });
}

#define MENISCUS_INSTANTIATE(T, D) template void sample_pressure_gradient<T, D>(const LiquidPressure<T, D>&, const T*, Index, T*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
