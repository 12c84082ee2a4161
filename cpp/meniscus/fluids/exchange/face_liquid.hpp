/// Volume of liquid around the faces of a grid, and water from elsewhere that is given to them.
///
/// The liquid around a face is the half of each cell beside it, as in the kinetic energy of a liquid. Every face belongs to one
/// unknown: of the two copies on the sides of a periodic axis, the last stands for both.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/liquid/liquid_halves.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"

namespace meniscus::fluids {

using VectorSum = std::array<double, 3>;

inline VectorSum add_vectors(const VectorSum& a, const VectorSum& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

template <class T, int D>
class FaceLiquid {
 public:
  using Halves = std::array<std::array<double, 2>, D>;

  /// `levelset`: on cells, <= 0 in the liquid, with filled ghosts. `outside`: zero for cells that hold none, or nullptr.
  FaceLiquid(const grid::Field<T, D>& levelset, const std::uint8_t* outside)
      : grid_(levelset.grid()), phi_(levelset.view()), outside_(outside), rows_(c_strides<D>(phi_.extents)) {}

  /// The parts of an owned cell that are liquid.
  Halves halves(const Coord<D>& cell) const {
    if (outside_ && !outside_[dot<D>(cell, rows_)]) return Halves{};
    return liquid_halves<T, D>(phi_.at(cell), phi_.strides);
  }

  /// Liquid around a face across `axis`, in cells, 0 to 1.
  double around(int axis, const Coord<D>& face) const {
    const auto a = static_cast<std::size_t>(axis);
    double sum = 0.0;
    for (const Index upper : {0, 1}) {
      Coord<D> cell = face;
      cell[a] = grid::image_of_cell(grid_, axis, face[a] - 1 + upper);
      if (cell[a] >= 0) sum += 0.5 * halves(cell)[a][upper ? 0 : 1];
    }
    return sum;
  }

  const grid::Grid<D>& grid() const { return grid_; }

 private:
  const grid::Grid<D>& grid_;
  grid::FieldView<const T, D> phi_;
  const std::uint8_t* outside_;
  Coord<D> rows_;
};

/// The index along its axis of the face that stands for a face.
template <int D>
Index standing_face(const grid::Grid<D>& grid, int axis, Index i) {
  return grid::image_of_sample(grid, grid::Stagger<D>::face(axis), axis, i);
}

/// Volumes with velocities that are given to faces, in any number and order, before they change the velocity of the liquid: it
/// becomes the mean of all by volume.
template <int D>
class FaceGifts {
 public:
  FaceGifts(const Coord<D>& cells, Workspace& workspace) {
    for (int d = 0; d < D; ++d) {
      Axis& a = axes_[static_cast<std::size_t>(d)];
      a.extents = grid::Stagger<D>::face(d).extents(cells);
      a.strides = c_strides<D>(a.extents);
      a.volume = workspace.take<double>(product<D>(a.extents));
      a.momentum = workspace.take<double>(product<D>(a.extents));
      std::fill_n(a.volume.data(), a.volume.size(), 0.0);
      std::fill_n(a.momentum.data(), a.momentum.size(), 0.0);
    }
  }

  /// Gives a volume, in cells, to a face that stands for itself.
  void give(int axis, const Coord<D>& face, double volume, double velocity) {
    Axis& a = axes_[static_cast<std::size_t>(axis)];
    const Index i = dot<D>(face, a.strides);
    a.volume.data()[i] += volume;
    a.momentum.data()[i] += volume * velocity;
  }

  /// Changes the velocity; returns the momentum per density that the liquid which is there gains, m^(D + 1)/s.
  template <class T>
  VectorSum apply(grid::MacField<T, D>& velocity, const FaceLiquid<T, D>& liquid) const {
    const grid::Grid<D>& grid = velocity.grid();
    const double cell = std::pow(grid.spacing(), D);
    VectorSum gained{};
    for (int d = 0; d < D; ++d) {
      const Axis& a = axes_[static_cast<std::size_t>(d)];
      const grid::FieldView<T, D> view = velocity.component(d).view();
      const Index length = a.extents[D - 1];
      const double sum = parallel_reduce(
          Index{0}, product<D>(a.extents) / length, std::max<Index>(1, 4096 / length), 0.0,
          [&](Index begin, Index end) {
            double part = 0.0;
            for (Index r = begin; r < end; ++r) {
              Coord<D> face = grid::row_start<D>(a.extents, r);
              for (Index& k = face[D - 1]; k < length; ++k) part += apply_to(face, d, view, liquid);
            }
            return part;
          },
          [](double x, double y) { return x + y; });
      gained[static_cast<std::size_t>(d)] = cell * sum;
    }
    return gained;
  }

 private:
  struct Axis {
    Coord<D> extents{}, strides{};
    Workspace::Lease<double> volume, momentum;
  };

  template <class T>
  double apply_to(const Coord<D>& face, int d, const grid::FieldView<T, D>& view, const FaceLiquid<T, D>& liquid) const {
    const Axis& a = axes_[static_cast<std::size_t>(d)];
    const auto axis = static_cast<std::size_t>(d);
    Coord<D> standing = face;
    standing[axis] = standing_face(liquid.grid(), d, face[axis]);
    const Index i = dot<D>(standing, a.strides);
    const double given = a.volume.data()[i];
    if (given == 0.0) return 0.0;
    const double wet = liquid.around(d, face);
    T& u = *view.at(face);
    const T before = u;
    u = static_cast<T>((wet * static_cast<double>(before) + a.momentum.data()[i]) / (wet + given));
    return standing == face ? wet * (static_cast<double>(u) - static_cast<double>(before)) : 0.0;
  }

  std::array<Axis, D> axes_;
};

}  // namespace meniscus::fluids
