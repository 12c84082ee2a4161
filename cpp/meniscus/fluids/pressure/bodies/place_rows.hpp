/// Velocities of places of rigid bodies by those of the bodies, and walls that move with them.
#pragma once

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/grid/particles/point_images.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/solid_boundary.hpp"

namespace meniscus::fluids {

/// Velocities of places of bodies by those of the bodies. Bodies are where their nearest image is.
template <int D>
class PlaceRows {
 public:
  PlaceRows(const grid::Grid<D>& grid, const MovingBodies& bodies) : grid_(grid), bodies_(bodies) {
    for (Index b = 0; b < bodies.count(); ++b) {
      const Vec<double, D> center = bodies.body(b).center.template head<D>();
      images_.emplace_back(grid, center, center, true);
    }
  }

  Vector6 at(Index body, const Vec<double, D>& place, int axis) const {
    Eigen::Vector3d arm = Eigen::Vector3d::Zero();
    arm.template head<D>() = images_[body](place) - bodies_.body(body).center.template head<D>();
    Vector6 row;
    row.head<3>() = Eigen::Vector3d::Unit(axis);
    row.tail<3>() = arm.cross(Eigen::Vector3d::Unit(axis));
    return row;
  }
  /// The image of a place beside a body.
  Vec<double, D> seen_from(Index body, const Vec<double, D>& place) const { return images_[body](place); }
  /// The nodes of a body that deforms, at a place; none of a rigid one.
  PlaceNodes nodes(Index body, const Vec<double, D>& place) const {
    if constexpr (D == 3)
      if (const auto& soft = bodies_.body(body).soft) return soft->places().at(images_[body](place));
    return {};
  }
  /// The centroid of the closed part of a face.
  Vec<double, D> middle_of_closed(const Coord<D>& face, int axis, const grid::FaceCut<D>& cut) const {
    Vec<double, D> x = grid::sample_position<D>(grid_, grid::Stagger<D>::face(axis), face);
    int i = 0;
    for (int t = 0; t < D; ++t)
      if (t != axis) x[t] += grid_.spacing() * cut.closed_moment[i++] / (1 - cut.open);
    return x;
  }
  /// The change of `at` for a step of the spacing along another axis.
  Vector6 slope(int along, int axis) const {
    Vector6 row = Vector6::Zero();
    row.tail<3>() = grid_.spacing() * Eigen::Vector3d::Unit(along).cross(Eigen::Vector3d::Unit(axis));
    return row;
  }
  /// The closed part of a face: its area (of one) times the row at its centroid.
  Vector6 of_closed(Index body, const Coord<D>& face, int axis, const grid::FaceCut<D>& cut) const {
    Vector6 row = (1 - cut.open) * at(body, grid::sample_position<D>(grid_, grid::Stagger<D>::face(axis), face), axis);
    int i = 0;
    for (int t = 0; t < D; ++t)
      if (t != axis) row += cut.closed_moment[i++] * slope(t, axis);
    return row;
  }

 private:
  const grid::Grid<D>& grid_;
  const MovingBodies& bodies_;
  std::vector<grid::NearestImage<D>> images_;
};

/// Adds to the velocity of a solid, on the faces that belong to bodies, what a solve has changed of theirs. `owners`: per axis
/// and face in C order.
template <class T, int D>
void move_walls(grid::SolidBoundary<T, D>& solid, const std::array<const std::int32_t*, D>& owners, const MovingBodies& bodies,
                double time) {
  grid::MacField<T, D>* walls = solid.velocity();
  if (!walls) return;
  const PlaceRows<D> places(solid.grid(), bodies);
  for (int d = 0; d < D; ++d) {
    const Coord<D> extents = grid::Stagger<D>::face(d).extents(solid.grid().local_shape());
    const grid::FieldView<T, D> to = walls->component(d).view();
    grid::for_each_row<D>(extents, [&](Coord<D> face, Index start) {
      for (Index k = 0; k < extents[D - 1]; ++k, ++face[D - 1]) {
        const std::int32_t body = owners[d][start + k];
        if (body < 0) continue;
        const Vec<double, D> place = grid::sample_position<D>(solid.grid(), grid::Stagger<D>::face(d), face);
        if constexpr (D == 3)
          if (const auto& soft = bodies.body(body).soft) {
            *to.at(face) = static_cast<T>(soft->velocity_at(places.seen_from(body, place), d));
            continue;
          }
        const Vector6 change = bodies.velocities_after()[body] - bodies.body(body).velocity;
        const Vector6 row = places.at(body, place, d);
        *to.at(face) += static_cast<T>(row.dot(change));
      }
    });
  }
  walls->fill_ghosts(time);
}

}  // namespace meniscus::fluids
