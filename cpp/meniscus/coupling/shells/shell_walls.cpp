#include "meniscus/coupling/shells/shell_walls.hpp"

#include "meniscus/collision/ray_casting/swept_points.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/walls/clearance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::coupling {
namespace {

/// Of a fan of rays: the corners of the cells of all components, or the neighbours of a sample.
constexpr std::size_t most_targets = 32;

}  // namespace

template <int D>
ShellWalls<D>::ShellWalls(const grid::Grid<D>& grid, std::span<const Point> vertices, std::span<const Element> elements,
                          double thickness)
    : grid::ThinWalls<D>(grid),
      count_(static_cast<Index>(vertices.size())),
      images_(grid::domain_images<D>(grid)),
      element_count_(elements.size()),
      surface_(
          [&] {
            require(!grid.block().cut(), "shells need a grid of one block");
            std::vector<mesh::Point> lifted_vertices;
            lift(vertices, true, lifted_vertices);
            return lifted_vertices;
          }(),
          lifted_elements(elements, count_), thickness, {}),
      near_triangles_(grid) {
  const Index cells = product<D>(grid.local_shape());
  clearance_.resize(cells);
  this->set_clearance(clearance_.data());
  const std::vector<Point> rest(vertices.size(), Point::Zero());
  place(vertices, rest);
}

template <int D>
void ShellWalls<D>::lift(std::span<const Point> vertices, bool images, std::vector<mesh::Point>& out) const {
  out.clear();
  const double wide = 4 * this->grid().spacing();
  for (const Point& shift : images_)
    for (const double z : {-wide, wide}) {
      for (const Point& x : vertices) {
        mesh::Point p = lifted(images ? Point(x + shift) : x);
        if constexpr (D == 2) p[2] = images ? z : 0.0;
        out.push_back(p);
      }
      if constexpr (D == 3) break;
    }
}

template <int D>
std::vector<mesh::Triangle> ShellWalls<D>::lifted_elements(std::span<const Element> elements, Index vertices) const {
  std::vector<mesh::Triangle> out;
  const auto n = static_cast<std::int32_t>(vertices);
  const std::int32_t layers = D == 2 ? 2 : 1;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const std::int32_t first = static_cast<std::int32_t>(i) * layers * n;
    for (const Element& e : elements) {
      for (const std::int32_t v : e) require(v >= 0 && v < n, "elements must be numbers of vertices below ", n, ", not ", v);
      if constexpr (D == 3) {
        out.push_back({first + e[0], first + e[1], first + e[2]});
      } else {
        out.push_back({first + e[0], first + e[1], first + n + e[1]});
        out.push_back({first + e[0], first + n + e[1], first + n + e[0]});
      }
    }
  }
  return out;
}

template <int D>
collision::CellGrid ShellWalls<D>::cell_grid() const {
  const grid::Grid<D>& g = this->grid();
  collision::CellGrid cells{mesh::Point::Zero(), g.spacing(), {1, 1, 1}};
  // The plane of a 2-D grid is that of the centres of one layer of cells.
  if constexpr (D == 2) cells.low[2] = -0.5 * g.spacing();
  for (int d = 0; d < D; ++d) {
    cells.low[d] = g.origin()[d];
    cells.shape[d] = g.local_shape()[d];
  }
  return cells;
}

template <int D>
void ShellWalls<D>::place(std::span<const Point> vertices, std::span<const Point> velocities) {
  require(static_cast<Index>(vertices.size()) == count_, "vertices must have ", count_, " rows, not ", vertices.size());
  require(static_cast<Index>(velocities.size()) == count_, "velocities must have ", count_, " rows, not ", velocities.size());
  grid::require_images<D>(this->grid(), vertices);
  lift(vertices, true, positions_);
  surface_.move(positions_);
  lift(velocities, false, velocities_);
  find_marks();
}

template <int D>
void ShellWalls<D>::find_marks() {
  // Cells on both sides of a blocked face are marked. Beside a solid a way between cells may end at their far sides.
  const double reach = (solid_.any() ? 1.0 : 0.5) * this->grid().spacing();
  collision::near_cells(surface_, nullptr, cell_grid(), reach, clearance_);
  marked_count_ = grid::find_clearance<D>(this->grid(), clearance_, clearance_scratch_);
  near_triangles_.find(surface_, clearance_.data());
  find_faces();
  find_face_velocities();
}

template <int D>
void ShellWalls<D>::set_velocities(std::span<const Point> velocities) {
  require(static_cast<Index>(velocities.size()) == count_, "velocities must have ", count_, " rows, not ", velocities.size());
  lift(velocities, false, velocities_);
  find_face_velocities();
}

template <int D>
std::array<std::int32_t, 3> ShellWalls<D>::corners_of(const collision::WedgeHit& hit) const {
  const mesh::Triangle& t = surface_.triangles()[hit.triangle];
  const auto n = static_cast<std::int32_t>(count_);
  return {t[0] % n, t[1] % n, t[2] % n};
}

template <int D>
void ShellWalls<D>::see_solid(const grid::Field<double, D>* levelset, SolidSight sight) {
  require(!levelset || (levelset->grid() == this->grid() && levelset->stagger() == grid::Stagger<D>::node()),
          "the solid must have its level set on the nodes of the grid of the walls");
  const bool other = levelset ? solid_.set(*levelset, sight) : solid_.any();
  if (!levelset) solid_.clear();
  if (other) find_marks();
}

template <int D>
std::uint32_t ShellWalls<D>::hidden(const Point& origin, const Point* targets, int count, Point* velocity) const {
  std::array<mesh::Point, most_targets> to;
  Point low = origin, high = origin;
  for (int i = 0; i < count; ++i) {
    to[i] = lifted(targets[i]);
    low = low.cwiseMin(targets[i]);
    high = high.cwiseMax(targets[i]);
  }
  const std::span<const mesh::Point> ends(to.data(), static_cast<std::size_t>(count));
  const auto near = near_triangles_.within(low, high);
  std::uint32_t bits = 0;
  if (!near || !near->empty()) {
    std::array<collision::WedgeHit, most_targets> hits;
    collision::WedgeHit* const out = velocity ? hits.data() : nullptr;
    bits = near ? surface_.cast_fan(lifted(origin), ends, *near, out) : surface_.cast_fan(lifted(origin), ends, out);
    for (int i = 0; velocity && i < count; ++i)
      if ((bits >> i) & 1) velocity[i] = velocity_of(hits[i]);
  }
  if (!solid_.any()) return bits;
  double farthest = 0;
  for (int i = 0; i < count; ++i) farthest = std::max(farthest, (targets[i] - origin).squaredNorm());
  if (solid_.clear_around(origin, std::sqrt(farthest))) return bits;
  std::uint32_t more = 0;
  for (int i = 0; i < count; ++i) {
    if (((bits >> i) & 1) || !solid_.hides(origin, targets[i])) continue;
    more |= 1u << i;
    if (velocity) velocity[i].setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  return bits | more;
}

template <int D>
Vec<double, D> ShellWalls<D>::beside_solid(const Point& from, const Point& to) const {
  const Point end = solid_.pushed_out(to);
  const double middle = solid_.middle_of_passage(from, end);
  if (middle < 0) return end;
  const Point beside = solid_.pushed_out(from + middle * (end - from));
  if (!hidden(from, &beside, 1, nullptr) && !hidden(beside, &end, 1, nullptr)) return end;
  return from + solid_.free_part(from, end) * (end - from);
}

template <int D>
double ShellWalls<D>::free_part(const Point& origin, const Point& target) const {
  const double part = surface_.entry(lifted(origin), lifted(target), 2 * surface_.radius());
  return solid_.any() ? std::min(part, solid_.free_part(origin, target)) : part;
}

template <int D>
mesh::Point ShellWalls<D>::normal_of(std::int32_t triangle) const {
  const mesh::Triangle& t = surface_.triangles()[triangle];
  const auto corner = [&](std::size_t k) -> const mesh::Point& { return positions_[t[k]]; };
  return (corner(1) - corner(0)).cross(corner(2) - corner(0)).normalized();
}

template <int D>
void ShellWalls<D>::mark_swept_cells(const ShellWalls& end, std::span<std::uint8_t> out) const {
  require(out.size() == clearance_.size(), "out must have ", clearance_.size(), " values, not ", out.size());
  collision::near_cells(surface_, end.positions_.data(), cell_grid(), this->grid().spacing(), out);
}

template <int D>
void ShellWalls<D>::mark_swept_samples(const ShellWalls& end, const grid::Stagger<D>& stagger,
                                       std::span<std::uint8_t> out) const {
  require(end.grid() == this->grid() && end.count_ == count_, "shells at the start and the end must be the same");
  const Coord<D>& shape = this->grid().local_shape();
  const Coord<D> extents = stagger.extents(shape);
  require(static_cast<Index>(out.size()) == product<D>(extents), "out must have ", product<D>(extents), " values, not ",
          out.size());
  std::vector<std::uint8_t> cells(clearance_.size());
  mark_swept_cells(end, cells);
  std::vector<mesh::Point> points;
  std::vector<std::size_t> which;
  const Coord<D> strides = c_strides<D>(shape);
  Coord<D> c{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = 0;
    Index cell = 0;
    for (std::size_t d = 0; d < D; ++d) cell += std::min(c[d], shape[d] - 1) * strides[d];
    if (cells[cell]) {
      points.push_back(lifted(grid::sample_position<D>(this->grid(), stagger, c)));
      which.push_back(i);
    }
    for (int d = D - 1; d >= 0 && ++c[d] == extents[d]; --d) c[d] = 0;
  }
  static_assert(sizeof(bool) == 1);
  std::vector<std::uint8_t> swept(points.size());
  collision::swept_points(surface_, end.surface_, points, {}, {reinterpret_cast<bool*>(swept.data()), swept.size()});
  for (std::size_t k = 0; k < which.size(); ++k) out[which[k]] = swept[k];
}

template <int D>
void ShellWalls<D>::mark_crossing_points(const ShellWalls& end, std::span<const Point> from, std::span<const Point> to,
                                         std::span<std::uint8_t> out) const {
  require(end.grid() == this->grid() && end.count_ == count_, "shells at the start and the end must be the same");
  require(from.size() == to.size() && from.size() == out.size(), "ways must have as many ends as beginnings");
  std::vector<mesh::Point> begins(from.size()), ends(to.size());
  std::ranges::transform(from, begins.begin(), lifted);
  std::ranges::transform(to, ends.begin(), lifted);
  static_assert(sizeof(bool) == 1);
  collision::swept_points(surface_, end.surface_, begins, ends, {reinterpret_cast<bool*>(out.data()), out.size()});
}

template <int D>
NearestWall<D> ShellWalls<D>::nearest_wall(const Point& from, const Point& towards) const {
  const double reach = std::max((towards - from).norm(), 4 * this->grid().spacing());
  NearestWall<D> result;
  double nearest = std::numeric_limits<double>::infinity();
  const auto look = [&](const Point& target) {
    const collision::WedgeHit hit = surface_.cast(lifted(from), lifted(target));
    const double distance = (hit.position - lifted(from)).norm();
    if (hit.triangle < 0 || !(distance < nearest)) return;
    nearest = distance;
    result.velocity = velocity_of(hit);
    result.normal = lowered(side_of(hit.triangle, lifted(from)) * normal_of(hit.triangle));
  };
  look(towards);
  for (int d = 0; d < D; ++d)
    for (const double sign : {-1.0, 1.0}) look(from + sign * reach * Point::Unit(d));
  return result;
}

template <int D>
double ShellWalls<D>::side_of(std::int32_t triangle, const mesh::Point& x) const {
  const Index corner = surface_.triangles()[triangle][0];
  return normal_of(triangle).dot(x - positions_[corner]) < 0 ? -1.0 : 1.0;
}

template <int D>
ClosestWall<D> ShellWalls<D>::closest_wall(const Point& x, double reach) const {
  const collision::NearestPlace at = surface_.nearest(lifted(x), reach);
  ClosestWall<D> result;
  if (at.triangle < 0) return result;
  result.triangle = at.triangle;
  result.distance = at.distance;
  result.barycentric = at.barycentric;
  // Around a rim it points away from that; on the surface itself the triangle tells.
  const Point away = x - lowered(at.position);
  const double length = away.norm();
  result.normal =
      length > 0.01 * thickness() ? Point(away / length) : lowered(side_of(at.triangle, lifted(x)) * normal_of(at.triangle));
  collision::WedgeHit hit;
  hit.triangle = at.triangle;
  hit.barycentric = at.barycentric;
  result.velocity = velocity_of(hit);
  return result;
}

template <int D>
Vec<double, D> ShellWalls<D>::beside(const ShellWalls& end, const Point& from, const ClosestWall<D>& wall,
                                     double distance) const {
  const mesh::Triangle& t = surface_.triangles()[wall.triangle];
  mesh::Point place = side_of(wall.triangle, lifted(from)) * distance * end.normal_of(wall.triangle);
  for (int k = 0; k < 3; ++k) place += wall.barycentric[k] * end.positions_[t[k]];
  return lowered(place);
}

template <int D>
double ShellWalls<D>::longest_way(const ShellWalls& end) const {
  double longest = 0;
  for (std::size_t i = 0; i < positions_.size(); ++i) longest = std::max(longest, (end.positions_[i] - positions_[i]).norm());
  return longest;
}

template <int D>
Index ShellWalls<D>::bytes() const {
  std::size_t n = static_cast<std::size_t>(solid_.bytes()) + clearance_.size() + faces_.size() * sizeof(ShellFace<D>) +
                  face_hits_.size() * sizeof(face_hits_[0]) + 2 * positions_.size() * sizeof(mesh::Point);
  for (const auto& f : face_numbers_) n += 8 * f.size();
  n += near_triangles_.bytes() + 8 * near_faces_.capacity() + near_hits_.capacity() * sizeof(near_hits_[0]);
  return static_cast<Index>(n);
}

template class ShellWalls<2>;
template class ShellWalls<3>;

}  // namespace meniscus::coupling
