// Solids, open faces and free surface of a `PressureSolver`, and the matrix that follows from them.
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/fluids/pressure/projection.hpp"
#include "meniscus/fluids/pressure/projection_rows.hpp"
#include "meniscus/grid/corner_mean.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::fluids {
template <int D>
double PressureSolver<D>::face_coefficient(int axis, Index face, int side) const {
  const grid::FaceMatrix<double, D>& a = poisson_.matrix;
  if (a.has_faces) return a.faces[axis][face];
  return side >= 0 ? side_coefficient_[side] : a.open_coupling[axis];
}

template <int D>
template <class T>
bool PressureSolver<D>::describe(const grid::MacField<T, D>& velocity, const PressureProblem<T, D>& problem) {
  const auto same_grid = [&](const auto* field, const char* name) {
    require(!field || field->grid() == grid_, name, " must have the grid of the velocity");
  };
  same_grid(problem.density_field, "density");
  same_grid(problem.solid, "solid");
  same_grid(problem.liquid, "liquid");
  same_grid(problem.surface_pressure, "surface_pressure");
  same_grid(problem.target_divergence, "target_divergence");
  same_grid(problem.pressure, "pressure");

  for (int d = 0; d < D; ++d)
    for (int upper : {0, 1}) {
      const Index s = grid::side_index(d, upper);
      sides_[s] = grid_.shared(d, upper)                                ? SideKind::shared
                  : grid::fixes_normal_velocity(velocity.boundary()[s]) ? SideKind::given
                                                                        : SideKind::open;
      // The pressure is given on the side itself, half a cell from the nearest sample.
      side_coefficient_[s] = sides_[s] == SideKind::open ? 2.0 : 0.0;
    }
  has_solid_ = problem.solid != nullptr;
  if (has_solid_) {
    grid::compute_open_fractions<D>(problem.solid->levelset(), layout_, open_);
    solid_nodes_ = std::as_const(problem.solid->levelset()).view();
    if (problem.bodies) open_films(problem.films);
  }
  set_liquid(problem);
  set_given(problem);
  if (has_solid_ && has_phi_) close_outlets(problem.solid->levelset());
  set_reference_density(problem);
  // An interruption on the way leaves a matrix that belongs to nothing.
  const bool was_prepared = prepared_;
  prepared_ = false;
  const bool changed = parallel::global_any(*grid_.communicator(), set_matrix(problem) || !was_prepared);
  if (!was_prepared) changes_.mark_all(layout_);
  prepared_ = !changed;
  return changed;
}

template <int D>
void PressureSolver<D>::fit(Block<std::uint8_t>& mask) const {
  if (mask.size() == layout_.size) return;
  mask = Block<std::uint8_t>(layout_.size);
  std::fill(mask.begin(), mask.end(), std::uint8_t(0));
}

template <int D>
template <class T>
void PressureSolver<D>::copy_cells(const grid::Field<T, D>& field, Block<double>& to) const {
  if (to.size() != layout_.size) to = Block<double>(layout_.size);
  const grid::FieldView<const T, D> from = field.view();
  for_each_cell_row<D>(layout_,
                       [&](const Coord<D>& c, Index first, Index count) { std::copy_n(from.at(c), count, to.data() + first); });
  layout_.halo.exchange(to.data());
}

template <int D>
template <class T>
void PressureSolver<D>::set_liquid(const PressureProblem<T, D>& problem) {
  has_liquid_ = problem.liquid || problem.liquid_mask;
  has_phi_ = problem.liquid != nullptr;
  has_solved_air_ = has_phi_ && problem.solved_air;
  if (!has_liquid_) return;
  fit(liquid_);
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
    const T* phi = problem.liquid ? problem.liquid->view().at(c) : nullptr;
    const std::uint8_t* mask = problem.liquid ? nullptr : problem.liquid_mask + dot<D>(c, c_strides<D>(layout_.cells));
    for (Index k = 0; k < count; ++k) liquid_[first + k] = phi ? is_liquid_value(phi[k], grid_.spacing()) : mask[k] != 0;
  });
  if (has_solved_air_)
    for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
      const std::uint8_t* mask = problem.solved_air + dot<D>(c, c_strides<D>(layout_.cells));
      for (Index k = 0; k < count; ++k)
        if (mask[k] && !liquid_[first + k]) liquid_[first + k] = solved_air;
    });
  layout_.halo.exchange(liquid_.data());
  if (has_phi_) copy_cells(*problem.liquid, phi_);
}

template <int D>
void PressureSolver<D>::open_films(const std::array<const std::uint8_t*, D>& films) {
  for (int d = 0; d < D; ++d) {
    const Coord<D> strides = c_strides<D>(grid::Stagger<D>::face(d).extents(layout_.cells));
    double* open = open_[d].data();
    grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& first, Index count, int, int) {
      const std::uint8_t* film = films[d] + dot<D>(first, strides);
      const Index begin = layout_.index(first);
      for (Index k = 0; k < count; ++k)
        if (film[k]) open[begin + k] = std::max(open[begin + k], MovingBodies::film_opening);
    });
  }
}

namespace {

/// Depth of water on a wall, in cells, from which on it has an outlet: what stands in a cell only because the surface goes on in
/// the solid has none.
constexpr double least_outlet = 0.5;

/// Whether the wall in a cell lies across an axis rather than along it: by at least 30 degrees.
template <int D>
bool wall_across(const grid::FieldView<const double, D>& solid, const Coord<D>& cell, int axis) {
  const double* corner = solid.at(cell);
  double across = 0, square = 0;
  for (int t = 0; t < D; ++t) {
    const double slope =
        grid::corner_mean<D>(corner + solid.strides[t], solid.strides, t) - grid::corner_mean<D>(corner, solid.strides, t);
    square += slope * slope;
    if (t == axis) across = slope * slope;
  }
  return 4 * across >= square;
}

/// Distance, in cells, of the wall from the centre of a cell in the solid towards that of the next one.
template <int D>
double distance_to_wall(const grid::FieldView<const double, D>& solid, const Coord<D>& cell, const Coord<D>& beyond) {
  const double here = grid::corner_mean<D>(solid.at(cell), solid.strides);
  const double there = grid::corner_mean<D>(solid.at(beyond), solid.strides);
  return there > here ? here / (here - there) : 1.0;
}

}  // namespace

template <int D>
void PressureSolver<D>::close_outlets(const grid::Field<double, D>& solid) {
  fit(inside_);
  const grid::FieldView<const double, D> nodes = solid.view();
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
    const double* corner = nodes.at(c);
    for (Index k = 0; k < count; ++k) inside_[first + k] = grid::corner_mean<D>(corner + k, nodes.strides) <= 0;
  });
  layout_.halo.exchange(inside_.data());

  // Cells inside are not read by others here, so that they may change at once.
  for_each_cell_row<D>(layout_, [&](const Coord<D>& c, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      if (liquid_[i] || !inside_[i]) continue;
      double sum = 0;
      for (int d = 0; d < D; ++d) {
        const Index s = layout_.strides[d];
        const Index at = d == D - 1 ? i - first : c[d];
        // Behind a face that is given is another side.
        const auto leads = [&](Index face) { return open_[d][face] > 0 && !(has_given_ && given_[d][face]); };
        if (leads(i) && !inside_[i - s] && layout_.side_of_face(d, at) < 0) sum += phi_[i - s];
        if (leads(i + s) && !inside_[i + s] && layout_.side_of_face(d, at + 1) < 0) sum += phi_[i + s];
      }
      liquid_[i] = sum < 0;
    }
  });
  layout_.halo.exchange(liquid_.data());

  for (int d = 0; d < D; ++d)
    grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& first, Index count, int lower, int upper) {
      const Index begin = layout_.index(first), s = layout_.strides[d];
      double* open = open_[d].data();
      for (Index k = 0; k < count; ++k) {
        const int side = d == D - 1 ? (k == 0 ? lower : k == count - 1 ? upper : -1) : lower;
        const Index i = begin + k;
        if (side >= 0 || liquid_[i] == liquid_[i - s] || (has_given_ && given_[d][i])) continue;
        const Index fluid = liquid_[i] ? i : i - s, other = fluid == i ? i - s : i;
        if (liquid_[other]) continue;
        const bool pocket = liquid_[fluid] == solved_air;
        if (!inside_[fluid] && !(pocket && inside_[other])) continue;
        Coord<D> cell = first;
        cell[D - 1] += k;
        Coord<D> beyond = cell;
        --(fluid == i ? beyond : cell)[d];
        const double surface = distance_to_surface<double>(phi_[fluid], phi_[other]);
        if (pocket || open[i] < 0.5 || !is_liquid_value(phi_[fluid], grid_.spacing()) || !wall_across<D>(nodes, cell, d) ||
            !(surface > distance_to_wall<D>(nodes, cell, beyond) + least_outlet))
          open[i] = 0;
      }
    });
}

template <int D>
template <class T>
void PressureSolver<D>::set_given(const PressureProblem<T, D>& problem) {
  has_given_ = problem.given_faces[0] != nullptr;
  if (!has_given_) return;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    Coord<D> faces = layout_.cells;
    ++faces[axis];
    const Coord<D> strides = c_strides<D>(faces);
    auto& given = given_[axis];
    fit(given);
    grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& first, Index count, int, int) {
      std::copy_n(problem.given_faces[axis] + dot<D>(first, strides), count, given.data() + layout_.index(first));
    });
  }
}

template <int D>
template <class T>
void PressureSolver<D>::set_reference_density(const PressureProblem<T, D>& problem) {
  if (!problem.density_field) {
    require(problem.density > 0 && std::isfinite(problem.density), "density must be positive and finite, not ", problem.density);
    reference_density_ = problem.density;
    return;
  }
  // The lightest fluid gets the coefficient 1.
  const grid::FieldView<const T, D> density = problem.density_field->view();
  reference_density_ = parallel_reduce(
      0, layout_.rows(), std::max<Index>(1, 8192 / layout_.cells[D - 1]), std::numeric_limits<double>::infinity(),
      [&](Index b, Index e) {
        double least = std::numeric_limits<double>::infinity();
        for (Index r = b; r < e; ++r) {
          const T* row = density.at(layout_.row_coordinate(r));
          for (Index k = 0; k < layout_.cells[D - 1]; ++k)
            least = std::min(least, row[k] > 0 && std::isfinite(row[k]) ? static_cast<double>(row[k]) : -1.0);
        }
        return least;
      },
      [](double x, double y) { return std::min(x, y); });
  reference_density_ = parallel::global_min(*grid_.communicator(), reference_density_);
  require(reference_density_ > 0, "density must be positive and finite everywhere");
}

template <int D>
template <class T>
bool PressureSolver<D>::set_matrix(const PressureProblem<T, D>& problem) {
  grid::FaceMatrix<double, D>& a = poisson_.matrix;
  const auto liquid = [&](Index i) { return is_liquid(i); };
  if (!has_solid_ && !has_given_ && !problem.density_field && !problem.liquid) {
    const bool fresh = grid::fit(a, layout_, false);
    return mark_fresh(grid::assemble_open<D>(a, side_coefficient_, liquid, &changes_), fresh);
  }
  const bool fresh = grid::fit(a, layout_, true);
  a.open_coupling.fill(1.0);
  if (problem.density_field) copy_cells(*problem.density_field, density_);
  const double* density = problem.density_field ? density_.data() : nullptr;
  const double* phi = has_phi_ ? phi_.data() : nullptr;
  const bool changed = grid::assemble<D>(
      a,
      [&](int d, Index lower, Index upper, int side) -> double {
        const Index axis = d;
        if (layout_.single_cell_ring(axis)) return 0.0;
        double w = has_solid_ ? open_[axis][upper] : 1.0;
        if (w == 0 || (has_given_ && given_[axis][upper])) return 0.0;
        const Index inside = side >= 0 && side % 2 == 0 ? upper : lower;
        const Index other = inside == lower ? upper : lower;
        if (side >= 0) {
          if (!is_liquid(inside)) return 0.0;
          w *= side_coefficient_[side];
          if (density) w *= reference_density_ / density[inside];
          if (has_solved_air_ && liquid_[inside] == solved_air) w *= problem.density / problem.air_density;
          return w;
        }
        const bool here = is_liquid(inside), there = is_liquid(other);
        if (!here && !there) return 0.0;
        if (has_solved_air_ && (liquid_[lower] == solved_air || liquid_[upper] == solved_air)) {
          if (!here || !there) return 0.0;
          // The mean density along the line between the two, in that of the liquid.
          double wet = 0.0;
          if (liquid_[inside] != solved_air) wet = distance_to_surface<T>(phi_[inside], phi_[other]);
          if (liquid_[other] != solved_air) wet = distance_to_surface<T>(phi_[other], phi_[inside]);
          return w / (wet + (1.0 - wet) * problem.air_density / problem.density);
        }
        // Between two fluids, half the way in each. Air weighs nothing: there, the liquid's own density.
        if (density)
          w *= here && there ? 2 * reference_density_ / (density[lower] + density[upper])
                             : reference_density_ / density[here ? inside : other];
        if (here != there && phi) w /= distance_to_surface<T>(phi[here ? inside : other], phi[here ? other : inside]);
        return w;
      },
      liquid, 0.0, &changes_);
  return mark_fresh(changed, fresh);
}

template <int D>
bool PressureSolver<D>::mark_fresh(bool changed, bool fresh) {
  if (fresh) changes_.mark_all(layout_);
  return changed || fresh;
}

#define MENISCUS_INSTANTIATE(T, D) \
  template bool PressureSolver<D>::describe<T>(const grid::MacField<T, D>&, const PressureProblem<T, D>&);
template bool PressureSolver<2>::mark_fresh(bool, bool);
template bool PressureSolver<3>::mark_fresh(bool, bool);
template double PressureSolver<2>::face_coefficient(int, Index, int) const;
template double PressureSolver<3>::face_coefficient(int, Index, int) const;
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
