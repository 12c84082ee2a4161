/// Scalar fields on a grid, with ghost layers, and staggered vector fields made of them.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/grid/boundary.hpp"
#include "meniscus/parallel/halo_plan.hpp"

namespace meniscus::grid {

/// Ghost layers on every side of every field.
inline constexpr int ghost_width = 3;

/// Plain pointers into a field, for kernels. `origin` is the owned sample (0, 0, 0); indices from -ghost_width are valid.
template <class T, int D>
struct FieldView {
  T* origin = nullptr;
  Coord<D> extents{};
  Coord<D> strides{};

  T* at(const Coord<D>& index) const { return origin + dot<D>(index, strides); }
};

/// Description of a field without its samples. A scratch array with ghosts can use the layout of the field that it replaces.
template <int D>
struct FieldLayout {
  Grid<D> grid;
  Stagger<D> stagger;
  std::array<GhostRule, 2 * D> rules;
  parallel::HaloPlan<D> halo;

  FieldLayout(const Grid<D>& grid, const Stagger<D>& stagger, std::array<GhostRule, 2 * D> rules);

  Coord<D> extents() const { return stagger.extents(grid.local_shape()); }
  Coord<D> padded() const;
  /// Samples in the padded block.
  Index storage_size() const { return product<D>(padded()); }
  /// A view into a padded block that starts at `first`.
  template <class T>
  FieldView<T, D> view(T* first) const {
    FieldView<T, D> v;
    v.extents = extents();
    v.strides = c_strides<D>(padded());
    v.origin = first;
    for (int d = 0; d < D; ++d) v.origin += ghost_width * v.strides[d];
    return v;
  }
  /// The plan of an array that has the owned extents and no ghosts, as masks and labels of operators do. Its exchange brings the
  /// copies of samples on shared sides up to date.
  parallel::HaloPlan<D> copies() const;
  bool same_place(const FieldLayout& o) const { return grid == o.grid && stagger == o.stagger; }
};

/// One scalar per cell, face (of one axis) or node. The memory never moves during the life of the field.
template <class T, int D>
class Field {
 public:
  Field(Field&&) noexcept = default;  // copies would share the memory
  /// All samples are zero. `rules`: the continuation beyond each side.
  Field(const Grid<D>& grid, const Stagger<D>& stagger, const std::array<GhostRule, 2 * D>& rules);
  /// A scalar under the given conditions.
  Field(const Grid<D>& grid, const Stagger<D>& stagger, const Boundary<D>& boundary);

  const FieldLayout<D>& layout() const { return layout_; }
  const Grid<D>& grid() const { return layout_.grid; }
  const Stagger<D>& stagger() const { return layout_.stagger; }
  Coord<D> extents() const { return layout_.extents(); }

  FieldView<T, D> view() { return layout_.view(storage_.data()); }
  FieldView<const T, D> view() const { return layout_.template view<const T>(storage_.data()); }
  /// The padded block.
  Block<T>& storage() { return storage_; }
  const Block<T>& storage() const { return storage_; }

  /// Fills all ghosts (and the copy of a shared periodic face) from the owned samples, with boundary values at `time` (s).
  void fill_ghosts(double time);

 private:
  FieldLayout<D> layout_;
  Block<T> storage_;
};

/// A staggered velocity (m/s): component d on the faces across axis d (Harlow and Welch's marker-and-cell layout).
template <class T, int D>
class MacField {
 public:
  MacField(const Grid<D>& grid, const Boundary<D>& boundary);

  const Grid<D>& grid() const { return components_[0].grid(); }
  const Boundary<D>& boundary() const { return boundary_; }
  Field<T, D>& component(int d) { return components_[d]; }
  const Field<T, D>& component(int d) const { return components_[d]; }

  void fill_ghosts(double time);

  /// Sets the faces that lie on a wall or on a prescribed side to their given normal velocity at `time` (s).
  void enforce_boundary(double time);

  /// The same for a padded block, from `first` on, that replaces component `axis`.
  void set_given_faces(int axis, T* first, double time) const;

 private:
  Boundary<D> boundary_;
  std::vector<Field<T, D>> components_;
};

}  // namespace meniscus::grid
