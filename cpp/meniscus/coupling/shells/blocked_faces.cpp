#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shells/shell_walls.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::coupling {

// Faces between cells that shells block: these members of `ShellWalls` find them and tell of them.

template <int D>
mesh::Point ShellWalls<D>::open_place(const Coord<3>& cell) const {
  const collision::CellGrid cells = cell_grid();
  if (!solid_.any()) return cells.center(cell);
  // Images of a cell have the same place, where several would do, too.
  Coord<3> own = cell;
  Point shift = Point::Zero();
  for (int d = 0; d < D; ++d) {
    Index& c = own[d];
    const Index image = grid::image_of_cell<D>(this->grid(), d, c);
    if (image < 0) continue;
    shift[d] = static_cast<double>(c - image) * this->grid().spacing();
    c = image;
  }
  return lifted(solid_.open_place(lowered(cells.center(own))) + shift);
}

template <int D>
mesh::Point ShellWalls<D>::uncovered(const mesh::Point& center, const collision::WedgeHit& hit) const {
  // Far from the wall that is met no wall holds the centre.
  if (hit.triangle < 0 || (hit.position - center).norm() > thickness() || !surface_.inside(center)) return center;
  const mesh::Point normal = normal_of(hit.triangle);
  for (const double side : {2.0, -2.0}) {
    const mesh::Point beside = center + side * thickness() * normal;
    if (beside.allFinite() && !surface_.inside(beside)) return beside;
  }
  return center;
}

template <int D>
void ShellWalls<D>::list_near_faces(int axis) {
  const Coord<D>& shape = this->grid().local_shape();
  const auto d = static_cast<std::size_t>(axis);
  near_faces_.clear();
  const Index period = grid::period_of<D>(this->grid(), axis);
  Coord<D> c{};
  const auto list = [&](Index place) {
    Coord<D> face = c;
    face[d] = place;
    near_faces_.push_back(face_number(axis, face));
  };
  for (const std::uint8_t cell : clearance_) {
    if (cell == 0) {
      // The way between two cells is near both: one mark tells for the face, that of its lower cell.
      list(c[d] + 1);
      if (c[d] == 0) list(0);
      // Both copies of a face.
      if (period > 0 && c[d] == 0) list(period);
      if (c[d] + 1 == period) list(0);
    }
    for (int k = D - 1; k >= 0 && ++c[k] == shape[k]; --k) c[k] = 0;
  }
  std::sort(near_faces_.begin(), near_faces_.end());
  near_faces_.erase(std::unique(near_faces_.begin(), near_faces_.end()), near_faces_.end());
}

template <int D>
std::array<collision::WedgeHit, 2> ShellWalls<D>::across(int axis, const Coord<D>& face) const {
  Coord<3> after{};
  std::copy_n(face.begin(), D, after.begin());
  Coord<3> before = after;
  --before[axis];
  const mesh::Point low = open_place(before), high = open_place(after);
  if (surface_.visible(low, high)) return {};
  // A graze may be met from one side alone: then both see that.
  const auto both = [&](const mesh::Point& a, const mesh::Point& b) {
    std::array<collision::WedgeHit, 2> hits{surface_.cast(a, b), surface_.cast(b, a)};
    for (const std::size_t side : {0u, 1u})
      if (hits[side].triangle < 0) hits[side] = hits[1 - side];
    return hits;
  };
  const std::array<collision::WedgeHit, 2> hits = both(low, high);
  // A cell whose centre a wall covers is on the side to which the centre is moved: shut off, its pressure would be arbitrary.
  const mesh::Point lower = uncovered(low, hits[0]), upper = uncovered(high, hits[1]);
  return lower == low && upper == high ? hits : both(lower, upper);
}

template <int D>
void ShellWalls<D>::find_faces() {
  const Coord<D>& shape = this->grid().local_shape();
  const auto pieces = static_cast<std::int32_t>((D == 2 ? 2 : 1) * element_count_);
  faces_.clear();
  face_hits_.clear();
  for (int axis = 0; axis < D; ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    list_near_faces(axis);
    near_hits_.assign(near_faces_.size(), {});
    const auto place = [&](Index number) {
      Coord<D> face{};
      for (std::size_t k = D; k-- > 0; number /= shape[k] + (k == d)) face[k] = number % (shape[k] + (k == d));
      return face;
    };
    const Index period = grid::period_of<D>(this->grid(), axis);
    parallel_for(0, static_cast<Index>(near_faces_.size()), 64, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const Coord<D> face = place(near_faces_[i]);
        if (period == 0 || face[d] < period) near_hits_[i] = across(axis, face);
      }
    });
    // The second copy of a face sees what the first one does, whatever the rounding of places.
    for (std::size_t i = 0; period > 0 && i < near_faces_.size(); ++i) {
      Coord<D> face = place(near_faces_[i]);
      if (face[d] < period) continue;
      face[d] = 0;
      const auto first = std::lower_bound(near_faces_.begin(), near_faces_.end(), face_number(axis, face));
      near_hits_[i] = near_hits_[first - near_faces_.begin()];
      for (collision::WedgeHit& hit : near_hits_[i])
        if (hit.triangle >= 0) hit.position[axis] += static_cast<double>(period) * this->grid().spacing();
    }
    face_numbers_[d].clear();
    first_face_[d] = faces_.size();
    for (std::size_t i = 0; i < near_faces_.size(); ++i) {
      const std::int32_t triangle = near_hits_[i][0].triangle;
      if (triangle < 0) continue;
      face_numbers_[d].push_back(near_faces_[i]);
      faces_.push_back({axis, place(near_faces_[i]), Point::Zero(), triangle % pieces / (D == 2 ? 2 : 1)});
      face_hits_.push_back(near_hits_[i]);
    }
  }
}

template <int D>
void ShellWalls<D>::find_face_velocities() {
  for (std::size_t i = 0; i < faces_.size(); ++i)
    faces_[i].velocity = 0.5 * (velocity_of(face_hits_[i][0]) + velocity_of(face_hits_[i][1]));
}

template <int D>
Index ShellWalls<D>::face_number(int axis, const Coord<D>& face) const {
  const Coord<D>& shape = this->grid().local_shape();
  Index number = 0;
  for (std::size_t d = 0; d < D; ++d) number = number * (shape[d] + (static_cast<int>(d) == axis)) + face[d];
  return number;
}

template <int D>
Index ShellWalls<D>::blocked_number(int axis, const Coord<D>& face) const {
  const auto& numbers = face_numbers_[axis];
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), face_number(axis, face));
  if (at == numbers.end() || *at != face_number(axis, face)) return -1;
  return static_cast<Index>(first_face_[axis]) + (at - numbers.begin());
}

template <int D>
bool ShellWalls<D>::blocked(int axis, const Coord<D>& face, Point* velocity) const {
  const Index i = blocked_number(axis, face);
  if (i >= 0 && velocity) *velocity = faces_[i].velocity;
  return i >= 0;
}

template <int D>
bool ShellWalls<D>::between(int axis, const Coord<D>& face, grid::WallBetween& wall) const {
  const Index i = blocked_number(axis, face);
  if (i < 0) return false;
  const double h = this->grid().spacing();
  const auto d = static_cast<std::size_t>(axis);
  const double low = this->grid().origin()[axis] + (static_cast<double>(face[d]) - 0.5) * h;
  for (const std::size_t side : {0u, 1u}) {
    const collision::WedgeHit& hit = face_hits_[i][side];
    const double at = (hit.position[axis] - low) / h;
    wall.distance[side] = std::clamp(side == 0 ? at : 1.0 - at, 0.0, 1.0);
    const double n = normal_of(hit.triangle)[axis];
    wall.weight[side] = std::isfinite(n) ? n * n : 1.0;
  }
  return true;
}

template mesh::Point ShellWalls<2>::open_place(const Coord<3>&) const;
template mesh::Point ShellWalls<2>::uncovered(const mesh::Point&, const collision::WedgeHit&) const;
template void ShellWalls<2>::list_near_faces(int);
template std::array<collision::WedgeHit, 2> ShellWalls<2>::across(int, const Coord<2>&) const;
template void ShellWalls<2>::find_faces();
template void ShellWalls<2>::find_face_velocities();
template Index ShellWalls<2>::face_number(int, const Coord<2>&) const;
template Index ShellWalls<2>::blocked_number(int, const Coord<2>&) const;
template bool ShellWalls<2>::blocked(int, const Coord<2>&, Vec<double, 2>*) const;
template bool ShellWalls<2>::between(int, const Coord<2>&, grid::WallBetween&) const;
template mesh::Point ShellWalls<3>::open_place(const Coord<3>&) const;
template mesh::Point ShellWalls<3>::uncovered(const mesh::Point&, const collision::WedgeHit&) const;
template void ShellWalls<3>::list_near_faces(int);
template std::array<collision::WedgeHit, 2> ShellWalls<3>::across(int, const Coord<3>&) const;
template void ShellWalls<3>::find_faces();
template void ShellWalls<3>::find_face_velocities();
template Index ShellWalls<3>::face_number(int, const Coord<3>&) const;
template Index ShellWalls<3>::blocked_number(int, const Coord<3>&) const;
template bool ShellWalls<3>::blocked(int, const Coord<3>&, Vec<double, 3>*) const;
template bool ShellWalls<3>::between(int, const Coord<3>&, grid::WallBetween&) const;

}  // namespace meniscus::coupling
