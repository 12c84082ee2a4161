/// A field and its gradient at one point, for stages that treat particles one by one.
#pragma once

#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/grid/continuation.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/multilinear_stencil.hpp"

namespace meniscus::grid {

template <int D>
struct ProbedValue {
  double value = 0.0;
  Vec<double, D> gradient = Vec<double, D>::Zero();  ///< of the multilinear interpolant, per m
};

/// Multilinear interpolation of a field. Points outside of the domain get the value at its nearest point. Fields on centres need
/// filled ghosts; fields on nodes need their owned samples only. Points must lie in cells of the block, or where samples of other
/// blocks are given, in cells between samples that are known; else OutsideGhosts is thrown.
template <class T, int D>
class FieldProbe {
 public:
  /// `far`: samples of other blocks, for a field that is cut; its ghosts are as of `time`.
  explicit FieldProbe(const Field<T, D>& field, const FarValues<D>* far = nullptr, double time = 0.0)
      : layout_(&field.layout()), grid_(&field.grid()), stagger_(field.stagger()), view_(field.view()), time_(time) {
    if (grid_->block().cut()) far_ = far;
    first_ = view_.origin - dot<D>(grid_->first_cell(), view_.strides);
  }

  const Grid<D>& grid() const { return *grid_; }

  /// Whether the cell of a point is one of the block.
  bool holds(const Vec<double, D>& x) const {
    return !grid_->block().cut() || far_ || in_block<D>(*grid_, locate_in_domain(*grid_, x.data()).cell);
  }

  double value(const Vec<double, D>& x) const {
    const Stencil s(locate_in_domain(*grid_, x.data()), stagger_);
    std::array<double, Stencil::corners> v = corners(s);
    for (int d = D - 1, half = Stencil::corners / 2; d >= 0; --d, half /= 2)
      for (Index q = 0; q < half; ++q) v[q] += s.upper[d] * (v[q + static_cast<std::size_t>(half)] - v[q]);
    return v[0];
  }

  ProbedValue<D> operator()(const Vec<double, D>& x) const {
    const Stencil stencil(locate_in_domain(*grid_, x.data()), stagger_);
    const std::array<double, Stencil::corners> v = corners(stencil);
    ProbedValue<D> s;
    for (std::size_t q = 0; q < v.size(); ++q) {
      std::array<double, D> w;
      double weight = 1.0;
      for (std::size_t d = 0; d < D; ++d) {
        w[d] = ((q >> d) & 1) ? stencil.upper[d] : 1.0 - stencil.upper[d];
        weight *= w[d];
      }
      s.value += weight * v[q];
      for (std::size_t d = 0; d < D; ++d) {
        double slope = ((q >> d) & 1) ? v[q] : -v[q];
        for (std::size_t e = 0; e < D; ++e)
          if (e != d) slope *= w[e];
        s.gradient[static_cast<Index>(d)] += slope / grid_->spacing();
      }
    }
    return s;
  }

 private:
  using Stencil = MultilinearStencil<double, D>;

  std::array<double, Stencil::corners> corners(const Stencil& s) const {
    if (far_) return far_corners(s);
    std::array<double, Stencil::corners> v;
    const T* const p = first_ + dot<D>(s.lower, view_.strides);
    for (int q = 0; q < Stencil::corners; ++q) v[q] = static_cast<double>(p[Stencil::offset(q, view_.strides)]);
    return v;
  }

  MENISCUS_NOINLINE std::array<double, Stencil::corners> far_corners(const Stencil& s) const {
    std::array<double, Stencil::corners> v;
    for (int q = 0; q < Stencil::corners; ++q) {
      Coord<D> c = s.sample(q);
      bool stored = true;
      for (std::size_t d = 0; d < D; ++d) {
        c[d] -= grid_->first_cell()[d];
        stored = stored && c[d] >= -ghost_width && c[d] < view_.extents[d] + ghost_width;
      }
      v[q] = static_cast<double>(stored ? *view_.at(c) : continued_value<T, D>(*layout_, view_, c, time_, far_));
    }
    return v;
  }

  const FieldLayout<D>* layout_;
  const Grid<D>* grid_;
  Stagger<D> stagger_;
  FieldView<const T, D> view_;
  const T* first_;  ///< sample (0, 0, 0) of the domain, if it were stored
  const FarValues<D>* far_ = nullptr;
  double time_;
};

}  // namespace meniscus::grid
