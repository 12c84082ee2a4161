/// Solid boundary on a grid at one time: level set, velocity, slip, and masks of the cells and faces inside.
///
/// One description for everything that meets a solid: transport, projection, viscosity, extension, particles. Level set and
/// velocity are referenced, not copied: their owner keeps them alive and says when they have changed.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Condition of a fluid at a solid.
enum class Slip : std::uint8_t {
  free,     ///< moves along it without shear
  no_slip,  ///< takes its velocity
};

/// Masks of the cells and faces of one block, C-ordered, nonzero where the name holds.
template <int D>
struct SolidMasks {
  /// The mean of the corners of the cell is positive.
  Block<std::uint8_t> outside_cells;
  /// A corner of the face is outside.
  std::array<Block<std::uint8_t>, D> open_faces;
  /// The mean of the corners of the face is not positive.
  std::array<Block<std::uint8_t>, D> inside_faces;

  /// Computes all masks of a level set on nodes; reuses memory of earlier calls.
  void find(const Field<double, D>& levelset);
  Index bytes() const;
};

template <class T, int D>
class SolidBoundary {
 public:
  /// `levelset`: on nodes, m, solid where <= 0. `velocity`: m/s on faces; null: at rest. Throws InvalidArgument for fields of
  /// different grids or a level set elsewhere than on nodes.
  SolidBoundary(Field<double, D>& levelset, MacField<T, D>* velocity, Slip slip);

  const Grid<D>& grid() const { return levelset_->grid(); }
  Field<double, D>& levelset() { return *levelset_; }
  const Field<double, D>& levelset() const { return *levelset_; }
  MacField<T, D>* velocity() { return velocity_; }
  const MacField<T, D>* velocity() const { return velocity_; }
  Slip slip() const { return slip_; }
  bool sticks() const { return slip_ == Slip::no_slip; }

  /// Computed at the first call after the level set has changed. One thread at a time.
  const SolidMasks<D>& masks();
  /// Call it after writing to the level set.
  void levelset_changed() { masks_are_current_ = false; }
  Index bytes() const { return masks_.bytes(); }

 private:
  Field<double, D>* levelset_;
  MacField<T, D>* velocity_;
  Slip slip_;
  bool masks_are_current_ = false;
  SolidMasks<D> masks_;
};

/// Largest component of the solid's velocity on the faces inside of it, m/s.
template <class T, int D>
double max_component_speed(SolidBoundary<T, D>& solid);

/// Sets the faces inside of a solid to its velocity.
template <class T, int D>
void set_solid_velocity(MacField<T, D>& velocity, SolidBoundary<T, D>& solid);

/// Samples beyond the surface of a solid that stencils and short traces reach.
inline constexpr Index solid_layers = 4;
/// Likewise for level sets: closest points of samples in a narrow band are sought that far away.
inline constexpr Index level_set_layers = 7;

/// Extends a field on cells into a solid, with constant values.
template <class T, int D>
void continue_into_solid(Field<T, D>& field, SolidBoundary<T, D>& solid, Workspace& workspace);

/// Continues a signed distance on cells into a solid with its slope: a surface goes on at the angle at which it meets the wall,
/// so that water at rest stays at rest beside walls at any angle. Values inside of the solid are overwritten, never read.
template <class T, int D>
void continue_level_set_into_solid(Field<T, D>& levelset, SolidBoundary<T, D>& solid, Workspace& workspace);

/// Prepares a velocity for transport along it: extends the flow into a solid with free slip, else sets the faces inside to the
/// velocity of the solid.
template <class T, int D>
void continue_into_solid(MacField<T, D>& velocity, SolidBoundary<T, D>& solid, Workspace& workspace);

}  // namespace meniscus::grid
