#include "meniscus/surface/markers/particle_spray.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/cube_fraction.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

/// Gives half of a part of a cell that has the velocity v to both faces per axis of the cell that holds x.
template <class T, int D>
void deposit_at(grid::MacField<T, D>& velocity, const T* x, const T* v, double part, Deposit deposit) {
  const Coord<D> cell = grid::locate_in_domain(velocity.grid(), x).cell;
  for (int d = 0; d < D; ++d) {
    const grid::FieldView<T, D> view = velocity.component(d).view();
    const T add = static_cast<T>(0.5 * part * static_cast<double>(v[d]));
    const T whole = deposit == Deposit::mean ? static_cast<T>(1 + 0.5 * part) : T{1};
    const auto receive = [&](T& u) { u = (u + add) / whole; };
    for (Index upper = 0; upper < 2; ++upper) {
      Coord<D> face = cell;
      face[static_cast<std::size_t>(d)] += upper;
      receive(*view.at(face));
      // A face on a periodic side is stored on both.
      const Index twin = grid::twin_of_sample(velocity.grid(), grid::Stagger<D>::face(d), d, face[static_cast<std::size_t>(d)]);
      if (twin < 0) continue;
      face[static_cast<std::size_t>(d)] = twin;
      receive(*view.at(face));
    }
  }
}

/// Volume of liquid around the face between two cells, in cells: in each half by the plane that the level set has there.
template <class T, int D>
double liquid_around_face(const grid::Grid<D>& grid, const grid::FieldView<const T, D>& phi, int axis, const Coord<D>& below,
                          const Coord<D>& above) {
  const double rise = static_cast<double>(*phi.at(above)) - static_cast<double>(*phi.at(below));
  double volume = 0;
  for (const Coord<D>* cell : {&below, &above}) {
    std::array<double, D> gradient{};
    for (int d = 0; d < D; ++d) {
      const auto a = static_cast<std::size_t>(d);
      const auto beside = [&](Index step) {
        Coord<D> c = *cell;
        c[a] = grid.block().nearest(d, c[a] + step);
        return static_cast<double>(*phi.at(c));
      };
      gradient[a] = 0.5 * (d == axis ? rise : beside(1) - beside(-1));
    }
    const double middle = static_cast<double>(*phi.at(*cell)) + (cell == &below ? 0.25 : -0.25) * rise;
    volume += 0.5 * grid::cube_fraction<D>(middle, gradient);
  }
  return volume;
}

/// Draws the velocity of the liquid around x towards v, by a part of a cell that has it. Faces without liquid lose what they are
/// given, and so do those on the sides of the domain.
template <class T, int D>
void deposit_in_liquid(grid::MacField<T, D>& velocity, const grid::Field<T, D>& phi, const T* x, const T* v, double part) {
  const grid::Grid<D>& grid = velocity.grid();
  const Coord<D> cell = grid::locate_in_domain(grid, x).cell;
  const grid::FieldView<const T, D> samples = phi.view();
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    const grid::FieldView<T, D> view = velocity.component(d).view();
    // Calls receive(face, liquid around it) for all faces up to one cell away that have any.
    const auto for_each_wet_face = [&](auto&& receive) {
      constexpr int block = D == 2 ? 3 * 4 : 3 * 3 * 4;
      for (int k = 0; k < block; ++k) {
        Coord<D> below = cell, above;
        int rest = k / 4;
        for (int e = 0; e < D; ++e) {
          if (e == d) continue;
          below[static_cast<std::size_t>(e)] += rest % 3 - 1;
          rest /= 3;
        }
        below[axis] += k % 4 - 2;
        above = below;
        ++above[axis];
        bool within = true;
        for (int e = 0; e < D; ++e)
          for (Coord<D>* c : {&below, &above}) {
            Index& i = (*c)[static_cast<std::size_t>(e)];
            i = grid::image_of_cell(grid, e, i);
            within &= i >= 0;
          }
        if (!within) continue;
        if (*samples.at(below) > 0 && *samples.at(above) > 0) continue;
        if (const double wet = liquid_around_face<T, D>(grid, samples, d, below, above); wet > 0) receive(above, wet);
      }
    };
    double liquid = 0;
    for_each_wet_face([&](const Coord<D>&, double wet) { liquid += wet; });
    if (liquid == 0) continue;
    const T share = static_cast<T>(std::min(1.0, part / liquid));
    for_each_wet_face([&](Coord<D> face, double) {
      T& u = *view.at(face);
      u += share * (v[d] - u);
      const Index twin = grid::twin_of_sample(grid, grid::Stagger<D>::face(d), d, face[axis]);
      if (twin < 0) return;
      face[axis] = twin;
      *view.at(face) = u;
    });
  }
}

}  // namespace

template <class T, int D>
Workspace::Lease<std::uint8_t> flag_returned(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, double fraction,
                                             double time, Workspace& workspace) {
  grid::require_one_block(phi.grid(), "the return of spray");
  require(sign == 1 || sign == -1, "sign must be 1 or -1, got ", sign);
  require(std::isfinite(fraction), "fraction must be finite, got ", fraction);
  const SprayColumns<T, D> s(removed);
  const Index n = removed.size();
  auto flags = workspace.take<std::uint8_t>(n);
  const auto values = workspace.take<T>(n);
  grid::sample_points(phi, s.position, n, grid::Interpolation::linear, time, values.data());
  parallel_for(0, n, 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      flags.data()[i] = static_cast<T>(sign) * values.data()[i] >= -static_cast<T>(fraction) * s.radius[i];
  });
  return flags;
}

template <class T, int D>
Reincorporation reincorporate(grid::Field<T, D>& phi, grid::ParticleSet& removed, int sign, grid::ParticleSet& markers,
                              double fraction, const RadiusBounds& bounds, grid::MacField<T, D>* velocity, double scale,
                              Deposit deposit, double time, Workspace& workspace) {
  grid::require_one_block(phi.grid(), "reincorporation of spray");
  require(std::isfinite(scale) && scale >= 0, "scale must be finite and not negative, got ", scale);
  require(!velocity || phi.grid() == velocity->grid(), "the level set and the velocity must have the same grid");
  const SprayColumns<T, D> s(removed);
  static_cast<void>(MarkerColumns<T, D>(markers));
  const Index n = removed.size();
  const auto flags = flag_returned(phi, removed, sign, fraction, time, workspace);
  const auto list = list_indices(
      n,
      [&](Index begin, Index end, auto&& take) {
        for (Index i = begin; i < end; ++i)
          if (flags.data()[i] != 0) take(i);
      },
      workspace);
  Reincorporation info;
  info.count = list.size;
  if (list.size == 0) return info;

  const NoInterrupts commit;
  const double h = phi.grid().spacing();
  const double cell = std::pow(h, D);
  const Index first = markers.append(list.size);
  const MarkerColumns<T, D> m(markers);
  // In the order of the particles, for the sake of the same bits.
  for (Index k = 0; k < list.size; ++k) {
    const Index i = list.index[k];
    const double volume = ball_volume<D>(static_cast<double>(s.radius[i]));
    info.volume += volume;
    if (velocity) {
      for (int d = 0; d < D; ++d)
        info.momentum[static_cast<std::size_t>(d)] += scale * volume * static_cast<double>(s.velocity[i * D + d]);
      const T *x = s.position + i * D, *v = s.velocity + i * D;
      if (deposit == Deposit::liquid)
        deposit_in_liquid(*velocity, phi, x, v, scale * volume / cell);
      else
        deposit_at(*velocity, x, v, scale * volume / cell, deposit);
    }
    std::copy_n(s.position + i * D, D, m.position + (first + k) * D);
    m.sign[first + k] = static_cast<std::int8_t>(sign);
    m.radius[first + k] = std::clamp(s.radius[i], static_cast<T>(bounds.smallest * h), static_cast<T>(bounds.largest * h));
  }
  removed.remove(flags.data(), workspace);
  return info;
}

template <class T, int D>
double total_volume(const T* radius, Index n) {
  return parallel_reduce(
      0, n, 4096, 0.0,
      [&](Index begin, Index end) {
        double sum = 0.0;
        for (Index i = begin; i < end; ++i) sum += ball_volume<D>(static_cast<double>(radius[i]));
        return sum;
      },
      [](double a, double b) { return a + b; });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template Workspace::Lease<std::uint8_t> flag_returned<T, D>(grid::Field<T, D>&, grid::ParticleSet&, int, double, double,       \
                                                              Workspace&);                                                       \
  template Reincorporation reincorporate<T, D>(grid::Field<T, D>&, grid::ParticleSet&, int, grid::ParticleSet&, double,          \
                                               const RadiusBounds&, grid::MacField<T, D>*, double, Deposit, double, Workspace&); \
  template double total_volume<T, D>(const T*, Index);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
