/// One-sided interpolation: values at points near thin walls, from samples that are visible from there, and stand-ins for others.
///
/// Source: Guendelman et al. 2005, section 4.1 (two straight ways: from the sample to its base point, and on to the corners of
/// the cell there); Selle 2008, section 4.4.1.
#pragma once

#include "meniscus/grid/transport/trace.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::grid {

/// What counts in place of a sample that a wall hides.
struct StandIn {
  int component = -1;  ///< of the wall's velocity; below 0: a value
  /// With a component, what counts where all is in a solid.
  double value = 0.0;
  /// Instead of the value: the mean of the corners that are visible; the value where none is.
  bool mean = false;
};

/// A point in the domain that sees, and the place where a value is wanted: the same, unless the way to it leaves the domain.
template <int D>
struct OneSidedPlace {
  Vec<double, D> eye, place;
};

/// Whether an eye sees all corners around it without a question: they are within half a cell of its own.
template <int D>
bool sees_all_corners(const ThinWalls<D>& walls, const OneSidedPlace<D>& at) {
  return at.eye == at.place && walls.clearance(at.eye) > 0;
}

/// Where a straight way from a point in the domain to a target ends: before the first wall. Beyond a side that is not periodic,
/// the eye stays on the side.
template <int D>
OneSidedPlace<D> follow(const ThinWalls<D>& walls, const Vec<double, D>& from, const Vec<double, D>& to);

/// Corners of the cell of samples around a place that a linear interpolation uses, as an eye sees them.
template <int D>
struct SeenCorners {
  std::array<Coord<D>, 1 << D> corner;
  std::array<double, 1 << D> weight;
  int count = 0;
  /// Bit q: a wall hides corner q.
  std::uint32_t hidden = 0;
};

/// The corners around a place, and which of them the eye sees. `velocity`: gets those of the walls that hide them, or nullptr.
template <class T, int D>
SeenCorners<D> see_corners(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const OneSidedPlace<D>& at,
                           Vec<double, D>* velocity);

/// The interpolation of corners, and the extremes of what it uses. Hidden ones count as `velocity`, that of the walls, where the
/// stand-in is a component of it.
template <class T, int D>
PointSample<T> blend_corners(const SampleSource<T, D>& source, const SeenCorners<D>& seen, const StandIn& stand_in,
                             const Vec<double, D>* velocity);

/// Gives those components of `mean` of which a wall hides faces that a point, m, lies between, the mean of the visible ones; of
/// the velocities of the walls where none is.
template <class T, int D>
void mean_of_seen_faces(const VelocitySource<T, D>& velocity, const ThinWalls<D>& walls, const Vec<double, D>& x,
                        Vec<double, D>& mean);

/// The linear interpolation of samples in the cell around a place, as the eye sees them, and the extremes of what it uses. A
/// sample that continues the field beyond a side is seen where the sample is from which it is continued, or on the side that
/// gives it.
template <class T, int D>
PointSample<T> sample_one_sided(const SampleSource<T, D>& source, const ThinWalls<D>& walls, const StandIn& stand_in,
                                const OneSidedPlace<D>& at);

/// The same at n points (n, D), m, each of which is its own eye. Points that a wall covers get the stand-in value, or 0. Fills
/// the ghosts of the field.
template <class T, int D>
void sample_points_one_sided(Field<T, D>& field, const ThinWalls<D>& walls, const StandIn& stand_in, const double* points,
                             Index n, double time, double* out);

/// The semi-Lagrangian value of one sample: traced and interpolated on its side of the walls. `dt` in seconds may be negative.
/// A sample that a wall covers keeps its value, and so does one that sees none of the corners that it needs, where their mean
/// stands in.
template <class T, int D>
PointSample<T> advect_one_sided(const VelocitySource<T, D>& velocity, const SampleSource<T, D>& source, const ThinWalls<D>& walls,
                                const StandIn& stand_in, const Coord<D>& sample, double dt, Trace trace);

}  // namespace meniscus::grid
