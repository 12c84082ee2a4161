#include "meniscus/fluids/exchange/velocity_exchange.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

/// Sums visit(face, index of the face in C order) over all faces across an axis, always in the same order.
template <int D, class Visit>
double sum_faces(const Coord<D>& cells, int axis, Visit&& visit) {
  const Coord<D> extents = grid::Stagger<D>::face(axis).extents(cells);
  const Index length = extents[D - 1];
  return parallel_reduce(
      Index{0}, product<D>(extents) / length, std::max<Index>(1, 4096 / length), 0.0,
      [&](Index begin, Index end) {
        double sum = 0.0;
        for (Index r = begin; r < end; ++r) {
          Coord<D> face = grid::row_start<D>(extents, r);
          for (Index& k = face[D - 1]; k < length; ++k) sum += visit(face, r * length + k);
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

}  // namespace

template <class T, int D>
void face_volumes(grid::Field<T, D>& levelset, const std::uint8_t* outside, int axis, double* volumes) {
  grid::require_one_block(levelset.grid(), "volumes around faces");
  levelset.fill_ghosts(0.0);
  const FaceLiquid<T, D> liquid(levelset, outside);
  sum_faces<D>(levelset.extents(), axis, [&](const Coord<D>& face, Index i) { return volumes[i] = liquid.around(axis, face); });
}

template <class T, int D>
VectorSum liquid_momentum(const grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* outside) {
  require(velocity.grid() == levelset.grid(), "the level set must have the grid of the velocity");
  grid::require_one_block(velocity.grid(), "the momentum of a liquid");
  levelset.fill_ghosts(0.0);
  const grid::Grid<D>& grid = velocity.grid();
  const FaceLiquid<T, D> liquid(levelset, outside);
  const double cell = std::pow(grid.spacing(), D);
  VectorSum total{};
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const grid::FieldView<const T, D> u = velocity.component(d).view();
    total[axis] = cell * sum_faces<D>(levelset.extents(), d, [&](const Coord<D>& face, Index) {
                    if (standing_face(grid, d, face[axis]) != face[axis]) return 0.0;
                    return liquid.around(d, face) * static_cast<double>(*u.at(face));
                  });
  }
  return total;
}

template <class T, int D>
VectorSum blend_velocity(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* outside,
                         const std::array<const T*, D>& values, const std::array<const T*, D>& weights) {
  require(velocity.grid() == levelset.grid(), "the level set must have the grid of the velocity");
  grid::require_one_block(velocity.grid(), "blending of velocities");
  const grid::Grid<D>& grid = velocity.grid();
  const Coord<D> cells = levelset.extents();
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const double wrong = sum_faces<D>(cells, d, [&](const Coord<D>&, Index i) {
      const T w = weights[axis][i];
      return w == T(0) || (w > T(0) && w <= T(1) && std::isfinite(values[axis][i])) ? 0.0 : 1.0;
    });
    require(wrong == 0.0, "weights must be from 0 to 1 and values finite where they count; of component ", d, " ", wrong,
            " are not");
  }
  levelset.fill_ghosts(0.0);
  const FaceLiquid<T, D> liquid(levelset, outside);
  const double cell = std::pow(grid.spacing(), D);
  VectorSum gained{};
  const NoInterrupts whole;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const Coord<D> strides = c_strides<D>(grid::Stagger<D>::face(d).extents(cells));
    const grid::FieldView<T, D> u = velocity.component(d).view();
    gained[axis] = cell * sum_faces<D>(cells, d, [&](const Coord<D>& face, Index) {
                     Coord<D> standing = face;
                     standing[axis] = standing_face(grid, d, face[axis]);
                     const Index i = dot<D>(standing, strides);
                     const T w = weights[axis][i];
                     if (w == T(0)) return 0.0;
                     T& to = *u.at(face);
                     const T before = to;
                     to = w == T(1) ? values[axis][i] : before + w * (values[axis][i] - before);
                     if (standing != face) return 0.0;
                     return liquid.around(d, face) * (static_cast<double>(to) - static_cast<double>(before));
                   });
  }
  return gained;
}

template <class T, int D>
void give_to_region(grid::MacField<T, D>& velocity, grid::Field<T, D>& levelset, const std::uint8_t* outside,
                    const grid::Field<T, D>& region, const std::array<const double*, D>& before, double volume,
                    const Vec<double, D>& given) {
  const grid::Grid<D>& grid = velocity.grid();
  require(grid == levelset.grid() && grid == region.grid(), "the level set and the region must have the grid of the velocity");
  grid::require_one_block(grid, "water for a region");
  levelset.fill_ghosts(0.0);
  const FaceLiquid<T, D> liquid(levelset, outside);
  const grid::FieldView<const T, D> inside = region.view();
  const Coord<D> cells = levelset.extents();
  const double whole = volume / std::pow(grid.spacing(), D);
  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const auto new_liquid = [&](const Coord<D>& face, Index i) {
      return std::max(liquid.around(d, face) - before[axis][i], 0.0);
    };
    const auto liquid_in_region = [&](const Coord<D>& face, Index) {
      for (const Index upper : {0, 1}) {
        Coord<D> cell = face;
        cell[axis] = grid::image_of_cell(grid, d, face[axis] - 1 + upper);
        if (cell[axis] >= 0 && *inside.at(cell) <= 0) return liquid.around(d, face);
      }
      return 0.0;
    };
    const auto give = [&](auto&& weight) {
      const double sum = sum_faces<D>(cells, d, [&](const Coord<D>& face, Index i) {
        return standing_face(grid, d, face[axis]) == face[axis] ? weight(face, i) : 0.0;
      });
      if (sum == 0.0) return false;
      const grid::FieldView<T, D> u = velocity.component(d).view();
      sum_faces<D>(cells, d, [&](const Coord<D>& face, Index i) {
        const double share = whole * (weight(face, i) / sum), old = before[axis][i];
        T& to = *u.at(face);
        if (share > 0.0) to = static_cast<T>((old * static_cast<double>(to) + share * given[d]) / (old + share));
        return 0.0;
      });
      return true;
    };
    if (!give(new_liquid)) give(liquid_in_region);
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template void face_volumes<T, D>(grid::Field<T, D>&, const std::uint8_t*, int, double*);                                     \
  template VectorSum liquid_momentum<T, D>(const grid::MacField<T, D>&, grid::Field<T, D>&, const std::uint8_t*);              \
  template VectorSum blend_velocity<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const std::uint8_t*,                      \
                                          const std::array<const T*, D>&, const std::array<const T*, D>&);                     \
  template void give_to_region<T, D>(grid::MacField<T, D>&, grid::Field<T, D>&, const std::uint8_t*, const grid::Field<T, D>&, \
                                     const std::array<const double*, D>&, double, const Vec<double, D>&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
