/// Volume of liquid around the faces of a grid, and water from elsewhere that is given to them.
///
/// The liquid around a face is the half of each cell beside it, as in the kinetic energy of a liquid. Every face is one unknown
/// of one block: of two copies on the sides of a block or a periodic axis, the last of the lower block stands for both.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/liquid/liquid_halves.hpp"
#include "meniscus/grid/blocks/row_sums.hpp"
#include "meniscus/grid/ghost_fill.hpp"

#include <optional>

namespace meniscus::fluids {

using VectorSum = std::array<double, 3>;

template <class T, int D>
class FaceLiquid {
 public:
  using Halves = std::array<std::array<double, 2>, D>;

  /// `levelset`: on cells, <= 0 in the liquid. `solid`: on nodes, in which there is none, or nullptr. The one with ghosts on
  /// lines, the other with filled ones.
  FaceLiquid(const grid::Field<T, D>& levelset, const grid::Field<double, D>* solid)
      : grid_(levelset.grid()), phi_(levelset.view()) {
    if (solid) solid_ = solid->view();
  }

  /// The parts of a cell, of the block or among its ghosts, that are liquid.
  Halves halves(const Coord<D>& cell) const {
    return liquid_halves<T, D>(phi_.at(cell), phi_.strides, solid_ ? solid_->at(cell) : nullptr,
                               solid_ ? solid_->strides : Coord<D>{});
  }

  /// Liquid around a face of the block across `axis`, in cells, 0 to 1.
  double around(int axis, const Coord<D>& face) const {
    const Index a = axis;
    double sum = 0.0;
    for (const Index upper : {0, 1}) {
      const auto beside = grid_.block().image(axis, face[a] - 1 + upper);
      if (!beside) continue;
      Coord<D> cell = face;
      cell[a] = *beside;
      sum += 0.5 * halves(cell)[a][upper ? 0 : 1];
    }
    return sum;
  }

  const grid::Grid<D>& grid() const { return grid_; }

 private:
  const grid::Grid<D>& grid_;
  grid::FieldView<const T, D> phi_;
  std::optional<grid::FieldView<const double, D>> solid_;
};

/// Collective: sum of visit(face, index of the face in C order among those of the block) over the faces across an axis of all
/// blocks, each by the block that owns it.
template <int D, class Visit>
double sum_owned_faces(const grid::Grid<D>& grid, int axis, Visit&& visit) {
  const Index a = axis;
  const Coord<D> extents = grid::Stagger<D>::face(axis).extents(grid.local_shape());
  const Coord<D> strides = c_strides<D>(extents);
  const Index first = grid.shared(axis, 0) ? 1 : 0;
  return grid::sum_of_rows<D>(grid, extents, [&](Coord<D> face, Index count, double* out) {
    const Index index = dot<D>(face, strides);
    for (Index k = 0; k < count; ++k, ++face[D - 1]) out[k] = face[a] < first ? 0.0 : visit(face, index + k);
  });
}

/// Volumes with velocities that are given to faces, in any number, before they change the velocity of the liquid: it becomes the
/// mean of all by volume.
template <int D>
class FaceGifts {
 public:
  FaceGifts(const grid::Grid<D>& grid, Workspace& workspace) : grid_(grid) {
    for (int d = 0; d < D; ++d) {
      Axis& a = axes_[d];
      a.extents = grid::Stagger<D>::face(d).extents(grid.local_shape());
      a.strides = c_strides<D>(a.extents);
      a.volume = workspace.take<double>(product<D>(a.extents));
      a.momentum = workspace.take<double>(product<D>(a.extents));
      std::fill_n(a.volume.data(), a.volume.size(), 0.0);
      std::fill_n(a.momentum.data(), a.momentum.size(), 0.0);
    }
  }

  /// The face of this block that stands for a face across `axis`, counted from the first cell; nothing where another block has
  /// it.
  std::optional<Coord<D>> own_face(int axis, Coord<D> face) const {
    for (int d = 0; d < D; ++d) {
      const Index e = d;
      // A face counts with the cell below it, but for the first of the domain.
      const Index first = d == axis && grid_.shared(d, 0) ? 1 : 0;
      if (d == axis && !grid_.shared(d, 0) && face[e] == 0) continue;
      const auto image = grid_.block().image(d, d == axis ? face[e] - 1 : face[e]);
      if (!image) return std::nullopt;
      face[e] = *image + (d == axis ? 1 : 0);
      if (face[e] < first || face[e] > grid_.local_shape()[e] - (d == axis ? 0 : 1)) return std::nullopt;
    }
    return face;
  }

  /// Gives a volume, in cells, to a face that `own_face` has returned. All blocks give to a face in the same order.
  void give(int axis, const Coord<D>& face, double volume, double velocity) {
    Axis& a = axes_[axis];
    const Index i = dot<D>(face, a.strides);
    a.volume.data()[i] += volume;
    a.momentum.data()[i] += volume * velocity;
  }

  /// Collective: changes the velocity; returns the momentum per density that the liquid which is there gains, m^(D + 1)/s.
  template <class T>
  VectorSum apply(grid::MacField<T, D>& velocity, const FaceLiquid<T, D>& liquid) const {
    const double cell = std::pow(grid_.spacing(), D);
    VectorSum gained{};
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const Axis& a = axes_[axis];
      grid::Field<T, D>& component = velocity.component(d);
      const grid::FieldView<T, D> view = component.view();
      gained[axis] = cell * sum_owned_faces<D>(grid_, d, [&](const Coord<D>& face, Index i) {
                       const double given = a.volume.data()[i];
                       if (given == 0.0) return 0.0;
                       const double wet = liquid.around(d, face);
                       T& u = *view.at(face);
                       const T before = u;
                       u = static_cast<T>((wet * static_cast<double>(before) + a.momentum.data()[i]) / (wet + given));
                       return wet * (static_cast<double>(u) - static_cast<double>(before));
                     });
      component.layout().halo.exchange(d, component.storage().data());
    }
    return gained;
  }

 private:
  struct Axis {
    Coord<D> extents{}, strides{};
    Workspace::Lease<double> volume, momentum;
  };

  const grid::Grid<D>& grid_;
  std::array<Axis, D> axes_;
};

}  // namespace meniscus::fluids
