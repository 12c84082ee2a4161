/// Momentum of drops, given to the faces of a liquid.
#pragma once

#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/samples_around.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/solid_boundary.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

/// Smooth weight of a place at a squared distance, in units of the reach.
inline double drop_kernel(double square) { return square < 1.0 ? (1.0 - square) * (1.0 - square) : 0.0; }

/// Adds momentum to one velocity of a liquid.
template <class T, int D>
class DropMomentum {
 public:
  DropMomentum(const grid::Field<T, D>& levelset, const grid::Field<T, D>& fractions, grid::MacField<T, D>& velocity,
               grid::SolidBoundary<T, D>* solid)
      : grid_(levelset.grid()),
        phi_(levelset.view()),
        fraction_(fractions.view()),
        velocity_(velocity),
        masks_(solid ? &solid->masks() : nullptr) {}

  /// Part of the velocity of faces that a drop replaces by its own, under a kernel of a reach.
  struct Share {
    double reach = 0.0;  ///< m
    double part = 0.0;   ///< at most 1
  };

  /// Share of a drop of a volume (m^D) at x along an axis: sum_f m_f part k_f (v - u_f) = V (v - u), with u the mean of u_f.
  Share share(int d, const T* x, double radius, double volume) const {
    const double h = grid_.spacing();
    const double given = volume / std::pow(h, D);
    // A drop that meets little liquid shares its momentum with what is farther away, so that no face becomes faster than it.
    double reach = radius + 1.5 * h;
    for (int widening = 0;; ++widening, reach *= 2.0) {
      const double mass = mass_within(d, x, reach);
      if (mass >= given) return {reach, given / mass};
      // Liquid of a single cell may have no measured volume at all: it is what the drops are.
      if (widening == widenings) return {reach, 1.0};
    }
  }

  /// Adds the share of a drop with a speed to what each face of an axis is given: parts, and parts times speeds.
  void add(int d, const T* x, T speed, const Share& share, double* parts, double* speeds) const {
    const grid::SamplesAround<D> box(grid_, grid::Stagger<D>::face(d), x, share.reach + 2.0 * grid_.spacing());
    const Coord<D> strides = c_strides<D>(grid::Stagger<D>::face(d).extents(phi_.extents));
    box.for_each([&](const Coord<D>& face) {
      const double k = mass_of(d, face) > 0.0 || carries(d, face, box) ? weight(d, face, box, share.reach, layers) : 0.0;
      if (k == 0.0) return;
      const Index i = dot<D>(box.image(face), strides);
      parts[i] += share.part * k;
      speeds[i] += share.part * k * static_cast<double>(speed);
    });
  }

  /// Replaces parts of the velocity. Where that is more than all of it, it becomes the mean of the drops: no face becomes faster
  /// than both it and they were.
  void apply(int d, const double* parts, const double* speeds) {
    const grid::FieldView<T, D> u = velocity_.component(d).view();
    const Coord<D> faces = grid::Stagger<D>::face(d).extents(phi_.extents);
    const Index length = faces[D - 1];
    const auto a = static_cast<std::size_t>(d);
    grid::parallel_rows<D>(faces, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(faces, r);
        for (Index k = 0; k < length; ++k) {
          c[D - 1] = k;
          // A face on a side that two cells share is stored on both; it is given to the upper one.
          Coord<D> from = c;
          if (grid_.shared(d, 0) && c[a] == 0) from[a] = grid_.shape()[a];
          const Index i = dot<D>(from, c_strides<D>(faces));
          if (!(parts[i] > 0.0)) continue;
          T& value = *u.at(c);
          const double own = static_cast<double>(value);
          value = static_cast<T>(parts[i] < 1.0 ? own + (speeds[i] - parts[i] * own) : speeds[i] / parts[i]);
        }
      }
    });
  }

 private:
  static constexpr int widenings = 2;
  static constexpr int layers = 3;  // of faces beyond those beside liquid cells that the surface can reach

  double mass_within(int d, const T* x, double reach) const {
    const grid::SamplesAround<D> box(grid_, grid::Stagger<D>::face(d), x, reach + 2.0 * grid_.spacing());
    double mass = 0.0;
    box.for_each([&](const Coord<D>& face) {
      const double m = mass_of(d, face);
      if (m > 0.0) mass += m * weight(d, face, box, reach, layers);
    });
    return mass;
  }

  /// The cell below (0) or above (1) a face; false beyond a side.
  bool cell_beside(int d, Coord<D> face, int upper, Coord<D>& cell) const {
    face[static_cast<std::size_t>(d)] -= 1 - upper;
    for (int a = 0; a < D; ++a) {
      const auto axis = static_cast<std::size_t>(a);
      cell[axis] = grid::image_of_cell(grid_, a, face[axis]);
      if (cell[axis] < 0) return false;
    }
    return true;
  }

  bool on_side(int d, const Coord<D>& face) const {
    const auto a = static_cast<std::size_t>(d);
    return !grid_.shared(d, 0) && (face[a] <= 0 || face[a] >= grid_.shape()[a]);
  }

  double mass_of(int d, const Coord<D>& face) const {
    if (on_side(d, face)) return 0.0;
    double sum = 0.0;
    Coord<D> cell;
    for (const int upper : {0, 1})
      if (cell_beside(d, face, upper, cell)) sum += 0.5 * static_cast<double>(*fraction_.at(cell));
    return sum;
  }

  /// Whether a face has a velocity of its own: a cell beside it is liquid, and it is not in the solid or on a side.
  bool carries(int d, const Coord<D>& face, const grid::SamplesAround<D>& box) const {
    if (on_side(d, face) || in_solid(d, box.image(face))) return false;
    Coord<D> cell;
    for (const int upper : {0, 1})
      if (cell_beside(d, face, upper, cell) && is_liquid_value(*phi_.at(cell), grid_.spacing())) return true;
    return false;
  }

  bool in_solid(int d, const Coord<D>& face) const {
    if (!masks_) return false;
    const Coord<D> faces = grid::Stagger<D>::face(d).extents(phi_.extents);
    return masks_->inside_faces[static_cast<std::size_t>(d)].data()[dot<D>(face, c_strides<D>(faces))] != 0;
  }

  double level(int d, const Coord<D>& face) const {
    double sum = 0.0;
    int count = 0;
    Coord<D> cell;
    for (const int upper : {0, 1})
      if (cell_beside(d, face, upper, cell)) {
        sum += static_cast<double>(*phi_.at(cell));
        ++count;
      }
    return count ? sum / count : 1e300;
  }

  /// The kernel on faces with a velocity of their own; on others the upwind mean that the extension takes.
  double weight(int d, const Coord<D>& face, const grid::SamplesAround<D>& box, double reach, int left) const {
    if (carries(d, face, box)) return drop_kernel(box.square_distance(face) / (reach * reach));
    if (left == 0) return 0.0;
    const double own = level(d, face);
    double sum = 0.0, all = 0.0;
    for (std::size_t a = 0; a < D; ++a) {
      double key[2];
      Coord<D> beside[2] = {face, face};
      for (int s = 0; s < 2; ++s) {
        beside[s][a] += 2 * s - 1;
        key[s] = has_sample(d, beside[s]) ? std::min(level(d, beside[s]), own) : own;
      }
      const double lowest = std::min(key[0], key[1]);
      if (!(lowest < own)) continue;
      all += own - lowest;
      if (key[0] == key[1])
        sum += (own - lowest) * 0.5 * (weight(d, beside[0], box, reach, left - 1) + weight(d, beside[1], box, reach, left - 1));
      else
        sum += (own - lowest) * weight(d, beside[key[0] < key[1] ? 0 : 1], box, reach, left - 1);
    }
    return all > 0.0 ? sum / all : 0.0;
  }

  bool has_sample(int d, const Coord<D>& face) const {
    for (int a = 0; a < D; ++a)
      if (grid::image_of_sample(grid_, grid::Stagger<D>::face(d), a, face[static_cast<std::size_t>(a)]) < 0) return false;
    return true;
  }

  const grid::Grid<D>& grid_;
  grid::FieldView<const T, D> phi_;
  grid::FieldView<const T, D> fraction_;
  grid::MacField<T, D>& velocity_;
  const grid::SolidMasks<D>* masks_;
};

}  // namespace meniscus::fluids
