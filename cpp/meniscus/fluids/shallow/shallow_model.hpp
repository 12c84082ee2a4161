/// Ground, sides, walls, gravity and forces of shallow water; and the water itself.
#pragma once

#include "meniscus/fluids/shallow/shallow_layout.hpp"
#include "meniscus/fluids/shallow/shallow_sides.hpp"

namespace meniscus::fluids {

/// Depth (m) in cells; velocity (m/s) in cells, or on the faces before them.
template <class T>
struct ShallowFields {
  Block<T> depth, u, v;

  ShallowFields() = default;
  explicit ShallowFields(const ShallowLayout& layout)
      : depth(shallow_array<T>(layout)), u(shallow_array<T>(layout)), v(shallow_array<T>(layout)) {}
};

/// Arrays are those of cells unless they say so; an empty one means that there is no such thing.
template <class T>
struct ShallowModel {
  ShallowLayout layout;
  double spacing = 1;              ///< of cells, m
  std::array<double, 2> origin{};  ///< lower corner, m
  double gravity = 0;              ///< m/s^2
  double most_gravity = 0;         ///< anywhere, m/s^2
  double dry = 0;                  ///< depth up to which water rests, m
  double cfl = 0;                  ///< cells that the fastest wave passes in a substep
  double density = 0;              ///< kg/m^3
  ShallowSides sides;
  Block<T> ground;                ///< height, m
  Block<T> pressure;              ///< on the surface, Pa
  Block<T> bed;                   ///< ground, raised by what the pressure on the surface weighs, m
  Block<T> gravity_of;            ///< downward acceleration, m/s^2, where it differs from cell to cell
  Block<T> root;                  ///< its square root
  Block<T> manning;               ///< coefficient, s/m^(1/3)
  Block<T> push_u, push_v;        ///< horizontal forces per volume, N/m^3
  Block<T> stress_u, stress_v;    ///< of the wind on the surface, Pa
  Block<T> damping_u, damping_v;  ///< rates at which sponges before sides across x and y let water come to rest at a level, 1/s
  Block<T> level;                 ///< that level, m
  Block<std::uint8_t> wall_u, wall_v;  ///< faces that are walls

  Index cells() const { return layout.nx * layout.ny; }
};

/// Sums over the water, and what has left through the sides x-, x+, y-, y+, m^3.
struct ShallowSums {
  double before = 0;   ///< volume at the start of the step, m^3
  double volume = 0;   ///< at its end, m^3
  double kinetic = 0;  ///< energy over density, m^5/s^2
  double speed = 0;    ///< largest, m/s
  std::array<double, 4> left{};
  double damped = 0;  ///< volume that damping has taken, m^3
  Index substeps = 0;
  Index wet_tiles = 0;
};

/// Fills the ghosts of cells: mirrored at walls, from the other side where periodic, else as the nearest cell.
template <class T>
void fill_shallow_ghosts(const ShallowModel<T>& model, T* cells, int mirrored_axis);

/// Sets the bed, the square root of gravity and the ghosts of what stands still.
template <class T>
void prepare_shallow(ShallowModel<T>& model);

}  // namespace meniscus::fluids
