#include "meniscus/surface/volume_of_fluid/fraction_distance.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/volume_of_fluid/liquid_plane.hpp"

#include <limits>

namespace meniscus::surface {
namespace {

enum class Content : std::uint8_t { empty, mixed, full };

Content content_of(double fraction) {
  if (fraction <= smallest_fraction) return Content::empty;
  return fraction >= 1 - smallest_fraction ? Content::full : Content::mixed;
}

/// Distance from a point to the part of a plane in the cell [0, 1]^D: to the foot of the perpendicular, moved into the cell.
template <int D>
double distance_to_part(const HalfSpace<D>& plane, const std::array<double, D>& x) {
  double squared = 0;
  for (const double n : plane.normal) squared += n * n;
  const double away = plane.beyond(x) / squared;
  double sum = 0;
  for (int d = 0; d < D; ++d) {
    const double step = x[d] - std::clamp(x[d] - away * plane.normal[d], 0.0, 1.0);
    sum += step * step;
  }
  return std::sqrt(sum);
}

/// From the centre of cell c, in cells; infinite if no plane is near.
template <int D>
double signed_distance(const grid::FieldView<const double, D>& f, const OpenSpace<D>& open, const Coord<D>& c) {
  const Content own = content_of(*f.at(c));
  std::array<double, D> centre;
  centre.fill(0.5);
  if (own == Content::mixed && open.cell(c) > 0) {
    const HalfSpace<D> plane = liquid_plane<D>(f, open, c);
    double squared = 0;
    for (const double n : plane.normal) squared += n * n;
    return plane.beyond(centre) / std::sqrt(squared);
  }
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < (D == 2 ? 9 : 27); ++i) {
    Coord<D> at = c;
    std::array<double, D> x;
    int apart = 0;
    for (int d = 0, rest = i; d < D; ++d, rest /= 3) {
      at[d] += rest % 3 - 1;
      x[d] = 0.5 - (rest % 3 - 1);
      apart += rest % 3 != 1;
    }
    if (apart == 0 || !(open.cell(at) > 0)) continue;
    const Content other = content_of(*f.at(at));
    if (other == Content::mixed)
      least = std::min(least, distance_to_part<D>(liquid_plane<D>(f, open, at), x));
    else if (apart == 1 && other != own)
      least = std::min(least, 0.5);
  }
  return own == Content::full ? -least : least;
}

/// Values at the corners of cell c, and their plane in it.
template <class T, int D>
std::array<double, 1 << D> corners_of(const grid::Field<T, D>& phi, const Coord<D>& c) {
  const grid::FieldView<const T, D> view = phi.view();
  const bool on_nodes = phi.stagger() == grid::Stagger<D>::node();
  std::array<double, 1 << D> value{};
  for (unsigned k = 0; k < value.size(); ++k)
    for (unsigned around = 0; around < (on_nodes ? 1U : 1U << D); ++around) {
      Coord<D> at = c;
      for (unsigned d = 0; d < D; ++d) {
        at[d] += static_cast<Index>(k >> d & 1U);
        if (!on_nodes && (around >> d & 1U) == 0) --at[d];
      }
      value[k] += static_cast<double>(*view.at(at)) / (on_nodes ? 1 : 1 << D);
    }
  return value;
}

template <class T, int D>
double fraction_below(const grid::Field<T, D>& phi, const OpenSpace<D>& open, const Coord<D>& c) {
  if (!(open.cell(c) > 0)) return 0;
  const std::array<double, 1 << D> value = corners_of<T, D>(phi, c);
  bool all = true, any = false;
  for (const double v : value) {
    all &= v <= 0;
    any |= v <= 0;
  }
  if (all || !any) return all ? 1 : 0;
  const BoxPlane<D> plane = plane_in_cell<D>(value);
  return open.cut(c) ? std::min(1.0, part_outside<D>(plane, open.solid(c)) / open.cell(c)) : plane.part();
}

}  // namespace

template <class T, int D>
void fractions_below(const grid::Field<T, D>& phi, const OpenSpace<D>& open, grid::Field<double, D>& out) {
  require(phi.grid() == out.grid() && out.stagger() == grid::Stagger<D>::cell(), "out must be on the cells of the grid of phi");
  grid::require_finite(phi, "region");
  const grid::FieldView<double, D> to = out.view();
  grid::for_each_row<D>(to.extents, [&](Coord<D> c, Index) {
    for (Index i = 0; i < to.extents[D - 1]; ++i, ++c[D - 1]) *to.at(c) = fraction_below<T, D>(phi, open, c);
  });
}

template <int D>
void fraction_distance(const grid::Field<double, D>& fractions, const OpenSpace<D>& open, double far,
                       grid::Field<double, D>& out) {
  require(out.layout().same_place(fractions.layout()), "out must have the samples of the fractions");
  const grid::FieldView<const double, D> f = fractions.view();
  const grid::FieldView<double, D> to = out.view();
  const double spacing = fractions.grid().spacing();
  grid::for_each_row<D>(f.extents, [&](Coord<D> c, Index) {
    for (Index i = 0; i < f.extents[D - 1]; ++i, ++c[D - 1])
      *to.at(c) = std::clamp(spacing * signed_distance<D>(f, open, c), -far, far);
  });
}

template void fractions_below<double, 2>(const grid::Field<double, 2>&, const OpenSpace<2>&, grid::Field<double, 2>&);
template void fractions_below<float, 3>(const grid::Field<float, 3>&, const OpenSpace<3>&, grid::Field<double, 3>&);
template void fractions_below<double, 3>(const grid::Field<double, 3>&, const OpenSpace<3>&, grid::Field<double, 3>&);
template void fraction_distance<2>(const grid::Field<double, 2>&, const OpenSpace<2>&, double, grid::Field<double, 2>&);
template void fraction_distance<3>(const grid::Field<double, 3>&, const OpenSpace<3>&, double, grid::Field<double, 3>&);

}  // namespace meniscus::surface
