/// Liquid in the halves of cells, outside of solids: by the level set of these, and exactly where a body with few faces is alone.
#pragma once

#include "meniscus/fluids/pressure/bodies/moving_bodies.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/point_images.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

template <class T, int D>
class WetHalves {
 public:
  WetHalves(const grid::Grid<D>& grid, const grid::Field<T, D>* liquid, const grid::FieldView<const double, D>& nodes,
            const MovingBodies& bodies)
      : grid_(grid), nodes_(nodes), bodies_(bodies) {
    if (liquid) phi_ = liquid->view();
    has_liquid_ = liquid != nullptr;
    for (Index b = 0; b < bodies.count(); ++b) {
      const Vec<double, D> center = bodies.body(b).center.template head<D>();
      images_.emplace_back(grid, center, center, true);
    }
  }

  /// Of the box of a cell's size around a face that does not lie on a side; `body`: the only solid there, or -1.
  double around(const Coord<D>& face, int axis, Index body) const {
    Coord<D> lower = face, upper = face;
    --lower[axis];
    into_domain(lower);
    into_domain(upper);
    return half(lower, axis, true, body) + half(upper, axis, false, body);
  }
  /// What a solid fills of the half of a cell, likewise.
  double solid_half(const Coord<D>& cell, int axis, bool upper, Index body) const {
    const auto corner = surface::corner_values<D>(nodes_.at(cell), nodes_.strides);
    double sum = 0;
    for (std::uint32_t octant = 0; octant < corner.size(); ++octant)
      if (((octant >> axis) & 1u) == (upper ? 1u : 0u)) sum += solid_part(cell, corner, octant, body);
    return sum / static_cast<double>(corner.size());
  }

 private:
  void into_domain(Coord<D>& c) const {
    for (int d = 0; d < D; ++d) c[d] = grid::lattice_cell<D>(grid_, d, c[d]);
  }

  double half(const Coord<D>& cell, int axis, bool upper, Index body) const {
    const auto corner = surface::corner_values<D>(nodes_.at(cell), nodes_.strides);
    double sum = 0;
    for (std::uint32_t octant = 0; octant < corner.size(); ++octant)
      if (((octant >> axis) & 1u) == (upper ? 1u : 0u)) sum += part(cell, corner, octant, body);
    return sum / static_cast<double>(corner.size());
  }

  using Corners = std::array<double, 1 << D>;

  /// The faces of a body that cut an octant, in a box of one from its lower corner.
  struct Cut {
    std::array<surface::HalfSpace<D>, 3> face;
    int count = 0;
    bool outside = false, known = false;
  };
  Cut cut_by_faces(const Coord<D>& cell, std::uint32_t octant, Index body) const {
    Cut cut;
    if (body < 0) return cut;
    const MovingBody& b = bodies_.body(body);
    if (b.planes.empty()) return cut;
    cut.known = true;
    const double width = 0.5 * grid_.spacing();
    Vec<double, D> corner;
    for (int d = 0; d < D; ++d)
      corner[d] = grid_.origin()[d] + grid_.spacing() * static_cast<double>(cell[d]) + ((octant >> d) & 1u ? width : 0.0);
    Eigen::Vector3d low = Eigen::Vector3d::Zero();
    low.template head<D>() = images_[body](corner) - b.center.template head<D>();
    for (const Eigen::Vector4d& plane : b.planes) {
      surface::HalfSpace<D> half;
      half.offset = plane[3] - plane.head<3>().dot(low);
      double least = 0, most = 0;
      for (int d = 0; d < D; ++d) {
        half.normal[d] = width * plane[d];
        least += std::min(half.normal[d], 0.0);
        most += std::max(half.normal[d], 0.0);
      }
      if (most <= half.offset) continue;
      cut.outside |= least >= half.offset;
      if (cut.count == 3) {
        cut.known = false;
        return cut;
      }
      cut.face[cut.count++] = half;
    }
    return cut;
  }

  static double clipped(const Cut& cut, const surface::HalfSpace<D>* more) {
    if (cut.outside) return 0;
    std::array<double, D> low{}, high;
    high.fill(1);
    surface::ClippedBox<D> box(low, high);
    for (int k = 0; k < cut.count; ++k) box.clip(cut.face[k]);
    if (more) box.clip(*more);
    return std::clamp(box.volume(), 0.0, 1.0);
  }

  /// The part of an octant that is solid: as the faces of a body have it, if it has some.
  double solid_part(const Coord<D>& cell, const Corners& corner, std::uint32_t octant, Index body) const {
    const Cut cut = cut_by_faces(cell, octant, body);
    return cut.known ? clipped(cut, nullptr) : surface::solid_in_octant<D>(corner, octant).part();
  }

  double part(const Coord<D>& cell, const Corners& corner, std::uint32_t octant, Index body) const {
    if (!has_liquid_) return 1 - solid_part(cell, corner, octant, body);
    Corners value;
    for (std::uint32_t s = 0; s < value.size(); ++s) {
      Coord<D> c = cell;
      for (std::uint32_t d = 0; d < D; ++d)
        if ((s >> d) & 1u) c[d] += (octant >> d) & 1u ? 1 : -1;
      value[s] = level(c);
    }
    const double liquid = surface::octant_fraction<D>(value, nullptr, octant);
    if (liquid <= 0) return 0;
    if (liquid >= 1) return 1 - solid_part(cell, corner, octant, body);
    const Cut cut = cut_by_faces(cell, octant, body);
    if (!cut.known || cut.count == 3) return surface::octant_fraction<D>(value, &corner, octant);
    std::array<double, D> at, width;
    at.fill(0.25);
    width.fill(0.5);
    surface::BoxPlane<D> surface = surface::tangent_plane<D>(value, at, width);
    for (std::uint32_t d = 0; d < D; ++d)
      if (!((octant >> d) & 1u)) surface.slope[d] = -surface.slope[d];
    const surface::HalfSpace<D> below = surface.half(true);
    return std::clamp(liquid - clipped(cut, &below), 0.0, liquid);
  }

  /// The level set in a cell; beyond sides on lines.
  double level(Coord<D> c) const {
    into_domain(c);
    for (std::size_t d = 0; d < D; ++d) {
      const Index n = grid_.shape()[d];
      if (c[d] >= 0 && c[d] < n) continue;
      Coord<D> near = c, far = c;
      near[d] = c[d] < 0 ? 0 : n - 1;
      far[d] = c[d] < 0 ? std::min<Index>(1, n - 1) : std::max<Index>(n - 2, 0);
      return 2 * level(near) - level(far);
    }
    return static_cast<double>(*phi_.at(c));
  }

  const grid::Grid<D>& grid_;
  const grid::FieldView<const double, D>& nodes_;
  const MovingBodies& bodies_;
  std::vector<grid::NearestImage<D>> images_;
  grid::FieldView<const T, D> phi_{};
  bool has_liquid_;
};

}  // namespace meniscus::fluids
