// Rows of the bodies of a `PressureSolver`: volumes that they displace, and the fluid at their surface.
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/pressure/bodies/place_rows.hpp"
#include "meniscus/fluids/pressure/bodies/wet_halves.hpp"
#include "meniscus/fluids/pressure/projection.hpp"
#include "meniscus/fluids/pressure/projection_rows.hpp"
#include "meniscus/grid/rows.hpp"

#include <atomic>

namespace meniscus::fluids {
namespace {

/// Of a cell: less attached fluid is rounding.
constexpr double least_attached = 1e-14;

/// Direction of the wall in a cell by the differences of its corners; not of length one.
template <int D>
Vec<double, D> wall_normal(const grid::FieldView<const double, D>& nodes, const Coord<D>& cell) {
  Vec<double, D> normal;
  const double* corner = nodes.at(cell);
  for (int t = 0; t < D; ++t)
    normal[t] =
        grid::corner_mean<D>(corner + nodes.strides[t], nodes.strides, t) - grid::corner_mean<D>(corner, nodes.strides, t);
  return normal;
}

/// Whether all faces of the cells beside a face belong to a body: nothing else is near.
template <class T, int D>
bool alone_at(const PressureProblem<T, D>& problem, const Coord<D>& face, int axis, Index body) {
  const grid::Grid<D>& grid = problem.solid->grid();
  for (const Index back : {0, 1}) {
    Coord<D> cell = face;
    cell[axis] -= back;
    for (int d = 0; d < D; ++d) cell[d] = grid::lattice_cell<D>(grid, d, cell[d]);
    for (int t = 0; t < D; ++t)
      for (const Index ahead : {0, 1}) {
        Coord<D> beside = cell;
        beside[t] += ahead;
        const std::int32_t owner =
            problem.owners[t][dot<D>(beside, c_strides<D>(grid::Stagger<D>::face(t).extents(grid.local_shape())))];
        if (owner != body && owner != -2 - body) return false;
      }
  }
  return true;
}

struct CellEntry {
  Index cell;
  std::int32_t body;
  Vector6 row;
};

/// Of a body that deforms: the velocity of a place times `direction`.
struct NodeEntry {
  Index cell;
  std::int32_t body;
  PlaceNodes place;
  Eigen::Vector3d direction;
};

/// Of a body that deforms: the growth of what it fills of a cell, along each axis times `volume`.
struct GrowthEntry {
  Index cell;
  std::int32_t body;
  PlaceNodes place;
  Eigen::Vector3d volume;
};

/// Gradients of the weights of nodes at a place, 1/m; zero where it has no tetrahedron.
std::array<Eigen::Vector3d, 4> weight_gradients(const NodePlaces& places, const PlaceNodes& at) {
  Eigen::Matrix3d edges;
  for (std::size_t k = 1; k < 4; ++k)
    edges.col(static_cast<Eigen::Index>(k - 1)) = places.node(at.nodes[k]) - places.node(at.nodes[0]);
  std::array<Eigen::Vector3d, 4> out;
  out.fill(Eigen::Vector3d::Zero());
  const Eigen::Matrix3d rows = edges.inverse();
  if (!rows.allFinite()) return out;
  for (std::size_t k = 1; k < 4; ++k) {
    out[k] = rows.row(static_cast<Eigen::Index>(k - 1)).transpose();
    out[0] -= out[k];
  }
  return out;
}

struct Attached {
  std::int32_t body;
  Vector6 row;
  double mass, weight;
  PlaceNodes place;
};

}  // namespace

template <int D>
template <class T>
void PressureSolver<D>::set_bodies(const PressureProblem<T, D>& problem, double dt) {
  MovingBodies& bodies = *problem.bodies;
  require(!layout_.halo.block().cut(), "bodies that the fluid moves need a grid that is not cut into blocks");
  require(problem.solid && !problem.density_field && !problem.liquid_mask,
          "bodies that the fluid moves need their level set as `solid`, one density, and a liquid with a level set");
  set_volume_rows(problem);
  attach_fluid(problem, dt);
  bodies.factor();
}

template <int D>
template <class T>
void PressureSolver<D>::set_volume_rows(const PressureProblem<T, D>& problem) {
  const PlaceRows<D> places(grid_, *problem.bodies);
  const grid::FieldView<const double, D>& nodes = solid_nodes_;
  const bool slides = !problem.solid->sticks();
  const auto owner_of = [&](int d, const Coord<D>& face) {
    return problem.owners[d][dot<D>(face, c_strides<D>(grid::Stagger<D>::face(d).extents(layout_.cells)))];
  };
  // Through the open part of a closed outlet passes the normal component of the wall's velocity (wall_velocity.hpp).
  const auto across = [&](const Coord<D>& cell, int axis) {
    const Vec<double, D> normal = wall_normal<D>(nodes, cell);
    const double square = normal.squaredNorm();
    Eigen::Vector3d direction = Eigen::Vector3d::Unit(axis);
    if (slides && square > 0) direction.template head<D>() = normal * (normal[axis] / square);
    return direction;
  };
  const auto outlet = [&](Index body, const Coord<D>& cell, int axis) -> Vector6 {
    const Vec<double, D> centre = grid::sample_position<D>(grid_, grid::Stagger<D>::cell(), cell);
    const Eigen::Vector3d direction = across(cell, axis);
    Vector6 row = Vector6::Zero();
    for (int t = 0; t < D; ++t)
      if (direction[t] != 0) row += direction[t] * places.at(body, centre, t);
    return row;
  };
  coupled_.label(poisson_, MovingBodies::least_region);
  body_outlets_.assign(problem.bodies->count(), 0);
  std::vector<std::vector<CellEntry>> found(layout_.rows());
  std::vector<std::vector<NodeEntry>> soft(layout_.rows());
  std::vector<std::vector<GrowthEntry>> grown(layout_.rows());
  const WetHalves<T, D> halves(grid_, static_cast<const grid::Field<T, D>*>(nullptr), solid_nodes_, *problem.bodies);
  for_each_cell_row<D>(layout_, [&](Coord<D> c, Index first, Index count) {
    const Index number = dot<D>(c, c_strides<D>(layout_.cells)) / layout_.cells[D - 1];
    auto& entries = found[number];
    for (Index k = 0; k < count; ++k, ++c[D - 1]) {
      const Index i = first + k;
      const std::int32_t region = coupled_.levels().label_of(i);
      if (region == BodyLevels<D>::pocket) continue;
      const bool active = poisson_.matrix.active[i] != 0;
      // Solid, with nothing that is open.
      if (!active && (is_liquid(i) || fluid_part(i) == 0)) continue;
      const std::size_t begin = entries.size(), places_before = soft[number].size();
      // Per axis, what films leave closed of the faces, over what the solid closes.
      Eigen::Vector3d kept = Eigen::Vector3d::Zero(), closed = Eigen::Vector3d::Zero();
      for (int d = 0; d < D; ++d)
        for (const Index ahead : {0, 1}) {
          const double open = open_[d][i + ahead * layout_.strides[d]];
          if (open == 1) continue;
          Coord<D> face = c;
          face[d] += ahead;
          const std::int32_t body = owner_of(d, face);
          if (body < 0) continue;
          if (region == BodyLevels<D>::open) std::atomic_ref(body_outlets_[body]).store(1, std::memory_order_relaxed);
          if (!active) continue;
          const grid::FaceCut<D> cut = grid::cut_face<D>(nodes.at(face), nodes.strides, d);
          if (problem.bodies->body(body).soft) {
            const double sign = ahead == 0 ? -1 : 1;
            const double part = open > cut.open ? 1 - open : 1 - cut.open;
            kept[d] += part;
            closed[d] += 1 - cut.open;
            if (part > 0)
              soft[number].push_back(
                  {i, body, places.nodes(body, places.middle_of_closed(face, d, cut)), sign * part * Eigen::Vector3d::Unit(d)});
            if (open == 0 && cut.open > 0) {
              const Vec<double, D> centre = grid::sample_position<D>(grid_, grid::Stagger<D>::cell(), c);
              soft[number].push_back({i, body, places.nodes(body, centre), sign * cut.open * across(c, d)});
            }
            continue;
          }
          Vector6 row = places.of_closed(body, face, d, cut);
          if (open > cut.open) row *= (1 - open) / (1 - cut.open);
          if (open == 0 && cut.open > 0) row += cut.open * outlet(body, c, d);
          if (ahead == 0) row = -row;
          std::size_t e = begin;
          while (e < entries.size() && entries[e].body != body) ++e;
          if (e == entries.size())
            entries.push_back({i, body, row});
          else
            entries[e].row += row;
        }
      // Through the wall in the cell passes what passes through the closed parts of its faces, less what grows between them.
      if (const std::size_t many = soft[number].size() - places_before; many > 0) {
        const double solid = halves.solid_half(c, 0, false, -1) + halves.solid_half(c, 0, true, -1);
        Eigen::Vector3d share = Eigen::Vector3d::Constant(solid / static_cast<double>(many));
        for (Eigen::Index t = 0; t < 3; ++t)
          if (closed[t] > 0) share[t] *= kept[t] / closed[t];
        for (std::size_t e = places_before; e < places_before + many; ++e)
          grown[number].push_back({i, soft[number][e].body, soft[number][e].place, share});
      }
    }
  });
  body_rows_.clear();
  Index cell = -1;
  for (const auto& entries : found)
    for (const CellEntry& e : entries) {
      if (e.cell != cell) body_rows_.begin_row(cell = e.cell);
      for (int k = 0; k < 6; ++k) body_rows_.add(6 * e.body + k, e.row[k]);
    }
  cell = -1;
  for (const auto& entries : grown)
    for (const GrowthEntry& e : entries) {
      if (e.cell != cell) body_rows_.begin_row(cell = e.cell);
      const auto first = static_cast<std::int32_t>(problem.bodies->first_node(e.body));
      const auto gradients = weight_gradients(problem.bodies->body(e.body).soft->places(), e.place);
      for (std::size_t k = 0; k < 4; ++k)
        for (int t = 0; t < 3; ++t)
          body_rows_.add(first + 3 * e.place.nodes[k] + t, -e.volume[t] * grid_.spacing() * gradients[k][t]);
    }
  cell = -1;
  for (const auto& entries : soft)
    for (const NodeEntry& e : entries) {
      if (e.cell != cell) body_rows_.begin_row(cell = e.cell);
      const auto first = static_cast<std::int32_t>(problem.bodies->first_node(e.body));
      for (std::size_t k = 0; k < 4; ++k)
        for (int t = 0; t < 3; ++t) body_rows_.add(first + 3 * e.place.nodes[k] + t, e.place.weights[k] * e.direction[t]);
    }
}

template <int D>
template <class T>
void PressureSolver<D>::attach_fluid(const PressureProblem<T, D>& problem, double dt) {
  MovingBodies& bodies = *problem.bodies;
  const PlaceRows<D> places(grid_, bodies);
  const WetHalves<T, D> wet(grid_, problem.liquid, solid_nodes_, bodies);
  const double mass = reference_density_ * std::pow(grid_.spacing(), D);
  const bool slides = !problem.solid->sticks();
  bodies.begin();
  for (int d = 0; d < D; ++d) {
    const Coord<D> extents = grid::Stagger<D>::face(d).extents(layout_.cells), strides = c_strides<D>(extents);
    const Index s = layout_.strides[d], length = extents[D - 1];
    std::vector<std::vector<Attached>> found(product<D>(extents) / length);
    grid::for_each_face_row<D>(layout_, d, [&](Coord<D> face, Index count, int, int) {
      const Index start = dot<D>(face, strides);
      auto& out = found[start / length];
      for (Index k = 0; k < count; ++k, ++face[D - 1]) {
        std::int32_t body = problem.owners[d][start + k];
        if (const int side = layout_.side_of_face(d, face[d]); side >= 0 && body < -1) {
          // Between the side and the pressure in the cell beside it, a body that touches the side displaces fluid as well.
          body = -2 - body;
          Coord<D> cell = face;
          if (side % 2) --cell[d];
          const double lifts = problem.acceleration[d] + bodies.body(body).hydrostatic[d];
          if (lifts == 0 || (has_liquid_ && !poisson_.matrix.active[layout_.index(cell)])) continue;
          const double weight = -dt * mass * lifts * wet.solid_half(cell, d, side % 2 == 1, body);
          const Vec<double, D> place = grid::sample_position<D>(grid_, grid::Stagger<D>::face(d), face);
          out.push_back({body, places.at(body, place, d), 0.0, weight, places.nodes(body, place)});
          continue;
        }
        // Where an axis closes, its first face is its last.
        if (body < 0 || layout_.side_of_face(d, face[d]) >= 0 || face[d] == layout_.cells[d]) continue;
        const Index i = layout_.index(face);
        const bool beside = poisson_.matrix.active[i] || poisson_.matrix.active[i - s];
        const Eigen::Vector3d& lifted = bodies.body(body).hydrostatic;
        if (!beside && lifted[d] == 0) continue;
        const double around = wet.around(face, d, alone_at<T, D>(problem, face, d, body) ? body : -1);
        const double open = open_[d][i], coefficient = poisson_.matrix.faces[d][i];
        double carried = coefficient > 0 ? open * open / coefficient : 0.0;
        const grid::FaceCut<D> cut = grid::cut_face<D>(solid_nodes_.at(face), solid_nodes_.strides, d);
        if (open == 0 && cut.open > 0 && has_phi_ && slides) carried = kept_by_outlet(face, i, d, cut.open);
        const double attached = beside ? around - carried : 0.0;
        const double weight = dt * mass * (attached * problem.acceleration[d] - (1 - around) * lifted[d]);
        if (std::abs(attached) < least_attached && weight == 0) continue;
        const Vec<double, D> place = cut.open < 1 ? places.middle_of_closed(face, d, cut)
                                                  : grid::sample_position<D>(grid_, grid::Stagger<D>::face(d), face);
        out.push_back({body, places.at(body, place, d), mass * attached, weight, places.nodes(body, place)});
      }
    });
    for (const auto& terms : found)
      for (const Attached& a : terms) bodies.attach(a.body, a.row, a.mass, a.weight, a.place, d);
  }
}

/// The liquid at a closed outlet that does not go along with the wall, of a cell: up to the surface, in the part of the outlet
/// that only slides.
template <int D>
double PressureSolver<D>::kept_by_outlet(const Coord<D>& face, Index upper, int axis, double part) const {
  const Index lower = upper - layout_.strides[axis];
  if (is_liquid(lower) == is_liquid(upper)) return 0.0;
  const bool below = is_liquid(lower);
  Coord<D> cell = face;
  if (below) cell[axis] = cell[axis] > 0 ? cell[axis] - 1 : layout_.cells[axis] - 1;
  const double liquid = phi_[below ? lower : upper], air = phi_[below ? upper : lower];
  const double depth = air > liquid ? std::clamp(liquid / (liquid - air), -1.0, 1.0) : 0.0;
  const Vec<double, D> normal = wall_normal<D>(solid_nodes_, cell);
  const double square = normal.squaredNorm();
  return square > 0 ? part * depth * (1 - normal[axis] * normal[axis] / square) : 0.0;
}

template <int D>
template <class T>
void PressureSolver<D>::stop_soft_walls(const PressureProblem<T, D>& problem) {
  grid::MacField<T, D>* walls = problem.solid ? problem.solid->velocity() : nullptr;
  if (!walls) return;
  for (int d = 0; d < D; ++d) {
    const Coord<D> extents = grid::Stagger<D>::face(d).extents(layout_.cells);
    const grid::FieldView<T, D> to = walls->component(d).view();
    grid::for_each_row<D>(extents, [&](Coord<D> face, Index start) {
      for (Index k = 0; k < extents[D - 1]; ++k, ++face[D - 1])
        if (const std::int32_t body = problem.owners[d][start + k]; body >= 0 && problem.bodies->body(body).soft)
          *to.at(face) = T(0);
    });
  }
  walls->fill_ghosts(problem.time);
}

#define MENISCUS_INSTANTIATE(T, D)                                                      \
  template void PressureSolver<D>::set_bodies<T>(const PressureProblem<T, D>&, double); \
  template void PressureSolver<D>::stop_soft_walls<T>(const PressureProblem<T, D>&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
