#include "meniscus/coupling/shells/shell_walls.hpp"

#include "meniscus/collision/ray_casting/swept_points.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/walls/clearance.hpp"

#include <algorithm>
#include <cmath>

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
          lifted_elements(elements, count_), thickness, {}) {
  const auto cells = static_cast<std::size_t>(product<D>(grid.local_shape()));
  marked_.resize(cells);
  clearance_.resize(cells);
  this->set_clearance(clearance_.data());
  for (int d = 0; d < 3; ++d) {
    Coord<3> n = cell_grid().shape;
    ++n[static_cast<std::size_t>(d)];
    clear_[static_cast<std::size_t>(d)].resize(static_cast<std::size_t>(product<3>(n)));
  }
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
    cells.shape[static_cast<std::size_t>(d)] = g.local_shape()[static_cast<std::size_t>(d)];
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
  // Cells on both sides of a blocked face are marked.
  collision::near_cells(surface_, nullptr, cell_grid(), 0.5 * this->grid().spacing(), marked_);
  marked_count_ = grid::find_clearance<D>(this->grid(), marked_, clearance_);
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
mesh::Point ShellWalls<D>::uncovered(const Coord<3>& cell, const collision::WedgeHit& hit) const {
  const mesh::Point center = cell_grid().center(cell);
  // Far from the wall that is met no wall holds the centre.
  if (hit.triangle < 0 || (hit.position - center).norm() > thickness() || !surface_.inside(center)) return center;
  const mesh::Triangle& t = surface_.triangles()[static_cast<std::size_t>(hit.triangle)];
  const auto corner = [&](std::size_t k) -> const mesh::Point& { return positions_[static_cast<std::size_t>(t[k])]; };
  const mesh::Point normal = (corner(1) - corner(0)).cross(corner(2) - corner(0)).normalized();
  for (const double side : {2.0, -2.0}) {
    const mesh::Point beside = center + side * thickness() * normal;
    if (beside.allFinite() && !surface_.inside(beside)) return beside;
  }
  return center;
}

template <int D>
void ShellWalls<D>::find_faces() {
  const collision::CellGrid cells = cell_grid();
  auto blocked = collision::visible_faces(surface_, cells, true, {clear_[0], clear_[1], clear_[2]});
  std::erase_if(blocked, [](const collision::BlockedFace& f) { return f.axis >= D; });
  std::vector<std::array<collision::WedgeHit, 2>> hits(blocked.size());
  parallel_for(0, static_cast<Index>(blocked.size()), 64, [&](Index b, Index e) {
    for (auto i = static_cast<std::size_t>(b); i < static_cast<std::size_t>(e); ++i) {
      const Coord<3>& after = blocked[i].face;
      Coord<3> before = after;
      --before[static_cast<std::size_t>(blocked[i].axis)];
      hits[i] = {blocked[i].hit, surface_.cast(cells.center(after), cells.center(before))};
      // A cell whose centre a wall covers is on the side to which the centre is moved: shut off, its pressure would be arbitrary.
      const mesh::Point lower = uncovered(before, hits[i][0]), upper = uncovered(after, hits[i][1]);
      if (lower == cells.center(before) && upper == cells.center(after)) continue;
      hits[i] = {surface_.cast(lower, upper), surface_.cast(upper, lower)};
      if (hits[i][0].triangle < 0) hits[i][0] = hits[i][1];
    }
  });
  faces_.clear();
  face_hits_.clear();
  for (auto& numbers : face_numbers_) numbers.clear();
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const collision::BlockedFace& f = blocked[i];
    const std::int32_t triangle = hits[i][0].triangle;
    if (triangle < 0) continue;
    ShellFace<D> face{f.axis,
                      {},
                      Point::Zero(),
                      static_cast<std::int32_t>(triangle % static_cast<std::int32_t>((D == 2 ? 2 : 1) * element_count_))};
    if constexpr (D == 2) face.element /= 2;
    Index number = 0;
    for (std::size_t d = 0; d < D; ++d) {
      face.face[d] = f.face[d];
      number = number * (cells.shape[d] + (static_cast<int>(d) == f.axis)) + f.face[d];
    }
    auto& numbers = face_numbers_[static_cast<std::size_t>(f.axis)];
    if (numbers.empty()) first_face_[static_cast<std::size_t>(f.axis)] = faces_.size();
    numbers.push_back(number);
    faces_.push_back(face);
    face_hits_.push_back(hits[i]);
  }
}

template <int D>
void ShellWalls<D>::find_face_velocities() {
  for (std::size_t i = 0; i < faces_.size(); ++i)
    faces_[i].velocity = 0.5 * (velocity_of(face_hits_[i][0]) + velocity_of(face_hits_[i][1]));
}

template <int D>
std::array<std::int32_t, 3> ShellWalls<D>::corners_of(const collision::WedgeHit& hit) const {
  const mesh::Triangle& t = surface_.triangles()[static_cast<std::size_t>(hit.triangle)];
  const auto n = static_cast<std::int32_t>(count_);
  return {t[0] % n, t[1] % n, t[2] % n};
}

template <int D>
std::uint32_t ShellWalls<D>::hidden(const Point& origin, const Point* targets, int count, Point* velocity) const {
  std::array<mesh::Point, most_targets> to;
  for (int i = 0; i < count; ++i) to[static_cast<std::size_t>(i)] = lifted(targets[i]);
  if (!velocity) return surface_.cast_fan(lifted(origin), {to.data(), static_cast<std::size_t>(count)}, nullptr);
  std::array<collision::WedgeHit, most_targets> hits;
  const std::uint32_t bits = surface_.cast_fan(lifted(origin), {to.data(), static_cast<std::size_t>(count)}, hits.data());
  for (int i = 0; i < count; ++i)
    if ((bits >> i) & 1) velocity[i] = velocity_of(hits[static_cast<std::size_t>(i)]);
  return bits;
}

template <int D>
double ShellWalls<D>::free_part(const Point& origin, const Point& target) const {
  return surface_.entry(lifted(origin), lifted(target), 2 * surface_.radius());
}

template <int D>
bool ShellWalls<D>::blocked(int axis, const Coord<D>& face, Point* velocity) const {
  const Coord<D>& shape = this->grid().local_shape();
  Index number = 0;
  for (std::size_t d = 0; d < D; ++d) number = number * (shape[d] + (static_cast<int>(d) == axis)) + face[d];
  const auto& numbers = face_numbers_[static_cast<std::size_t>(axis)];
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) return false;
  if (velocity)
    *velocity = faces_[first_face_[static_cast<std::size_t>(axis)] + static_cast<std::size_t>(at - numbers.begin())].velocity;
  return true;
}

template <int D>
void ShellWalls<D>::mark_swept_cells(const ShellWalls& end, std::span<std::uint8_t> out) const {
  require(out.size() == marked_.size(), "out must have ", marked_.size(), " values, not ", out.size());
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
  std::vector<std::uint8_t> cells(marked_.size());
  mark_swept_cells(end, cells);
  std::vector<mesh::Point> points;
  std::vector<std::size_t> which;
  const Coord<D> strides = c_strides<D>(shape);
  Coord<D> c{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = 0;
    Index cell = 0;
    for (std::size_t d = 0; d < D; ++d) cell += std::min(c[d], shape[d] - 1) * strides[d];
    if (cells[static_cast<std::size_t>(cell)]) {
      points.push_back(lifted(grid::sample_position<D>(this->grid(), stagger, c)));
      which.push_back(i);
    }
    for (int d = D - 1; d >= 0 && ++c[static_cast<std::size_t>(d)] == extents[static_cast<std::size_t>(d)]; --d)
      c[static_cast<std::size_t>(d)] = 0;
  }
  static_assert(sizeof(bool) == 1);
  std::vector<std::uint8_t> swept(points.size());
  collision::swept_points(surface_, end.surface_, points, {}, {reinterpret_cast<bool*>(swept.data()), swept.size()});
  for (std::size_t k = 0; k < which.size(); ++k) out[which[k]] = swept[k];
}

template <int D>
Index ShellWalls<D>::bytes() const {
  std::size_t n = marked_.size() + clearance_.size() + faces_.size() * sizeof(ShellFace<D>) +
                  face_hits_.size() * sizeof(face_hits_[0]) + 2 * positions_.size() * sizeof(mesh::Point);
  for (const auto& f : face_numbers_) n += 8 * f.size();
  for (const auto& f : clear_) n += f.size();
  return static_cast<Index>(n);
}

template class ShellWalls<2>;
template class ShellWalls<3>;

}  // namespace meniscus::coupling
