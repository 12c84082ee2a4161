#include "meniscus/surface/shapes/sampled_shapes.hpp"

#include "meniscus/grid/blocks/owned_samples.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/field_probe.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

class ShapeOfMesh final : public ImplicitShape<3> {
 public:
  explicit ShapeOfMesh(const MeshDistance& mesh) : mesh_(mesh) {
    for (const mesh::Point& x : mesh_.mesh().vertices) {
      box_.lower = box_.lower.cwiseMin(x);
      box_.upper = box_.upper.cwiseMax(x);
    }
  }
  void evaluate(const double* points, int n, double* out) const override {
    std::int32_t hint = 0;
    for (int i = 0; i < n; ++i) {
      const mesh::Point x = Eigen::Map<const mesh::Point>(points + 3 * i);
      const collision::MeshPoint closest = mesh_.closest(x, hint);
      hint = closest.slot;
      out[i] = mesh_.signed_distance(x, closest);
    }
  }
  Bounds<3> bounds(double level) const override { return box_.grown(level); }

 private:
  MeshDistance mesh_;
  Bounds<3> box_{Bounds<3>::everything().upper, Bounds<3>::everything().lower};
};

template <class T, int D>
class LevelSetShape final : public ImplicitShape<D> {
 public:
  /// Collective where the grid is cut: every block has the whole shape.
  explicit LevelSetShape(const grid::Field<T, D>& phi)
      : phi_(whole(phi.grid()), phi.stagger(), phi.layout().rules), lower_(phi.grid().origin()), upper_(lower_) {
    if (phi.grid().block().cut())
      gather(phi);
    else
      std::copy_n(phi.storage().data(), phi.layout().storage_size(), phi_.storage().data());
    for (int d = 0; d < D; ++d) upper_[d] += phi.grid().spacing() * static_cast<double>(phi.grid().shape()[d]);
  }
  void evaluate(const double* points, int n, double* out) const override {
    const grid::FieldProbe<T, D> probe(phi_);
    for (int i = 0; i < n; ++i) {
      const Vec<double, D> x = Eigen::Map<const Vec<double, D>>(points + D * i);
      const Vec<double, D> nearest = x.cwiseMax(lower_).cwiseMin(upper_);
      out[i] = probe.value(nearest) + (x - nearest).norm();
    }
  }
  void normals(const double* points, int n, double* out) const override {
    // The gradient jumps from cell to cell; across a cell it does not.
    this->difference_normals(points, n, 0.5 * phi_.grid().spacing(), out);
  }
  Bounds<D> bounds(double level) const override {
    // Around the samples that are not above the level by more than a cell, so that all corners of cells that it cuts count.
    const grid::FieldView<const T, D> view = phi_.view();
    const double most = level + std::sqrt(static_cast<double>(D)) * phi_.grid().spacing();
    const Coord<D> strides = c_strides<D>(view.extents);
    Bounds<D> box{Bounds<D>::everything().upper, Bounds<D>::everything().lower};
    for (Index i = 0, size = product<D>(view.extents); i < size; ++i) {
      Coord<D> c;
      for (std::size_t d = 0, rest = static_cast<std::size_t>(i); d < D; rest %= static_cast<std::size_t>(strides[d]), ++d)
        c[d] = static_cast<Index>(rest) / strides[d];
      if (static_cast<double>(*view.at(c)) > most) continue;
      const Vec<double, D> x = grid::sample_position<D>(phi_.grid(), phi_.stagger(), c);
      box.lower = box.lower.cwiseMin(x);
      box.upper = box.upper.cwiseMax(x);
    }
    // What reaches a side of the grid goes on beyond it by as much as it is deep there.
    double deepest = 0;
    for (Index i = 0; i < phi_.layout().storage_size(); ++i)
      deepest = std::min(deepest, static_cast<double>(phi_.storage().data()[i]));
    return box.grown(std::max(level - deepest, 0.0));
  }

 private:
  static grid::Grid<D> whole(const grid::Grid<D>& grid) { return grid.block().cut() ? grid::uncut(grid) : grid; }
  void gather(const grid::Field<T, D>& phi) {
    grid::fetch_box<T, D>(phi, {{}, phi_.extents()}, phi_.view().origin, phi_.view().strides);
    phi_.fill_ghosts(0.0);
  }

  grid::Field<T, D> phi_;
  Vec<double, D> lower_, upper_;
};

template <int D>
class FunctionShape final : public ImplicitShape<D> {
 public:
  explicit FunctionShape(DistanceFunction function) : function_(std::move(function)) {}
  void evaluate(const double* points, int n, double* out) const override { function_(points, n, out); }
  Bounds<D> bounds(double) const override { return Bounds<D>::everything(); }

 private:
  DistanceFunction function_;
};

}  // namespace

ShapePointer<3> mesh_shape(const MeshDistance& mesh) { return std::make_shared<ShapeOfMesh>(mesh); }

template <class T, int D>
ShapePointer<D> level_set_shape(const grid::Field<T, D>& phi) {
  return std::make_shared<LevelSetShape<T, D>>(phi);
}

template <int D>
ShapePointer<D> function_shape(DistanceFunction function) {
  return std::make_shared<FunctionShape<D>>(std::move(function));
}

template ShapePointer<2> function_shape<2>(DistanceFunction);
template ShapePointer<3> function_shape<3>(DistanceFunction);
template ShapePointer<2> level_set_shape<double, 2>(const grid::Field<double, 2>&);
template ShapePointer<3> level_set_shape<float, 3>(const grid::Field<float, 3>&);
template ShapePointer<3> level_set_shape<double, 3>(const grid::Field<double, 3>&);

}  // namespace meniscus::surface
