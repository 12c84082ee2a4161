#include "meniscus/surface/volume_of_fluid/liquid_plane.hpp"

#include "meniscus/surface/volume_of_fluid/cell_plane.hpp"

namespace meniscus::surface {
namespace {

/// Fraction for normals at an offset from a cell: liquid meets solids at a right angle, so a cell in the solid has that of the
/// open cells next to it in the neighbourhood.
template <int D>
double continued_fraction(const Fractions<D>& f, const OpenSpace<D>& open, const Coord<D>& c, const Coord<D>& offset) {
  Coord<D> at;
  for (int d = 0; d < D; ++d) at[d] = c[d] + offset[d];
  if (open.cell(at) > 0) return std::clamp(*f.at(at), 0.0, 1.0);
  double sum = 0;
  int count = 0;
  for (int d = 0; d < D; ++d) {
    if (offset[d] == 0) continue;
    Coord<D> nearer = at;
    nearer[d] -= offset[d] < 0 ? -1 : 1;
    if (!(open.cell(nearer) > 0)) continue;
    sum += std::clamp(*f.at(nearer), 0.0, 1.0);
    ++count;
  }
  return count > 0 ? sum / count : std::clamp(*f.at(c), 0.0, 1.0);
}

/// Where a rising function, of values at_a at a and at_b at b, is zero: by secants that halve the value of an end that stays
/// (Illinois), and now and then a bisection.
template <class Function>
double root_of_volume(double a, double b, double at_a, double at_b, const Function& function) {
  for (int i = 0; i < 60 && b - a > 1e-14; ++i) {
    const double x = i % 8 == 7 ? 0.5 * (a + b) : std::clamp((a * at_b - b * at_a) / (at_b - at_a), a, b);
    const double error = function(x);
    if (std::abs(error) <= 1e-14) return x;
    if (error > 0) {
      b = x;
      at_b = error;
      at_a *= 0.5;
    } else {
      a = x;
      at_a = error;
      at_b *= 0.5;
    }
  }
  return 0.5 * (a + b);
}

/// The plane with a given normal below which a part of the open space of a cut cell lies: by bisection and secants, as the volume
/// rises with the offset.
template <int D>
HalfSpace<D> plane_in_cut_cell(HalfSpace<D> plane, const HalfSpace<D>& wall, double open, double part) {
  std::array<double, D> low{}, high;
  high.fill(1);
  const auto volume_at = [&](double offset) {
    plane.offset = offset;
    ClippedBox<D> box(low, high);
    box.clip(wall);
    box.clip(plane);
    return box.volume();
  };
  const double target = part * open;
  double a = 0, b = 0;
  for (int d = 0; d < D; ++d) (plane.normal[d] < 0 ? a : b) += plane.normal[d];
  plane.offset = root_of_volume(a, b, -target, open - target, [&](double offset) { return volume_at(offset) - target; });
  return plane;
}

}  // namespace

template <int D>
HalfSpace<D> liquid_plane(const Fractions<D>& fractions, const OpenSpace<D>& open, const Coord<D>& c) {
  std::array<double, D> normal =
      fraction_normal<D>([&](const Coord<D>& offset) { return continued_fraction<D>(fractions, open, c, offset); });
  double size = 0;
  for (const double n : normal) size += std::abs(n);
  if (!(size > 0)) normal[D - 1] = 1;
  const double fraction = std::clamp(*fractions.at(c), 0.0, 1.0);
  if (!open.cut(c)) return plane_of_part<D>(normal, fraction);
  return plane_in_cut_cell<D>({normal, 0}, open.wall(c), open.cell(c), fraction);
}

template <int D>
double fraction_in_group(const Fractions<D>& f, const OpenSpace<D>& open, const Coord<D>& c) {
  struct Member {
    Coord<D> cell;
    double open;
  };
  std::array<Member, 2 * D + 1> member;
  int count = 0;
  double liquid = 0, room = 0;
  const bool group = open.visit_group(c, [&](const Coord<D>& m) {
    member[count++] = {m, open.cell(m)};
    liquid += *f.at(m) * open.cell(m);
    room += open.cell(m);
  });
  if (!group) return *f.at(c);
  const double mean = liquid / room;
  if (!is_mixed(mean)) return mean;
  const Coord<D>& root = member[0].cell;
  HalfSpace<D> plane{fraction_normal<D>([&](const Coord<D>& o) { return continued_fraction<D>(f, open, root, o); }), 0};
  double size = 0;
  for (const double n : plane.normal) size += std::abs(n);
  if (!(size > 0)) return mean;
  const auto volume_in = [&](const Member& m, double offset) {
    std::array<double, D> low, high;
    HalfSpace<D> local = plane;
    local.offset = offset;
    for (int d = 0; d < D; ++d) {
      low[d] = 0;
      high[d] = 1;
      local.offset -= plane.normal[d] * static_cast<double>(m.cell[d] - root[d]);
    }
    if (!open.cut(m.cell)) return m.open * part_in_box<D>(local, low, high);
    ClippedBox<D> box(low, high);
    box.clip(open.wall(m.cell));
    box.clip(local);
    return box.volume();
  };
  // Offsets of the root and of its neighbours.
  const double offset = root_of_volume(-2.0, 3.0, -liquid, room - liquid, [&](double x) {
    double sum = -liquid;
    for (int i = 0; i < count; ++i) sum += volume_in(member[i], x);
    return sum;
  });
  // The rest, by rounding, is shared by all.
  double rest = liquid;
  for (int i = 0; i < count; ++i) rest -= volume_in(member[i], offset);
  for (int i = 0; i < count; ++i)
    if (member[i].cell == c) return (volume_in(member[i], offset)) / member[i].open + rest / room;
  return mean;
}

#define MENISCUS_INSTANTIATE(D)                                                                     \
  template HalfSpace<D> liquid_plane<D>(const Fractions<D>&, const OpenSpace<D>&, const Coord<D>&); \
  template double fraction_in_group<D>(const Fractions<D>&, const OpenSpace<D>&, const Coord<D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
