#include "meniscus/mesh/triangulation/delaunay.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/mesh/triangulation/spatial_order.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::mesh {
namespace {

using numerics::insphere;
using numerics::orient3d;
using Corners = std::array<std::int32_t, 4>;

/// The vertex at infinity: with it, the faces of the hull have tetrahedra on both sides too.
constexpr std::int32_t infinite = -1;

/// A tetrahedron and, for each corner, the neighbour across the opposite face.
struct Cell {
  Corners corner;
  Corners neighbour;

  std::size_t slot(std::int32_t v) const { return find(corner, v); }
  std::size_t slot_of_neighbour(std::int32_t c) const { return find(neighbour, c); }
  bool is_infinite() const { return slot(infinite) < 4; }

  static std::size_t find(const Corners& all, std::int32_t x) {
    std::size_t k = 0;
    while (k < 4 && all[k] != x) ++k;
    return k;
  }
};

/// A face between a cell that is removed and one that stays.
struct Wall {
  std::int32_t cell;
  std::size_t face;
};

bool comes_later(const Point& a, const Point& b) {
  return std::lexicographical_compare(b.data(), b.data() + 3, a.data(), a.data() + 3);
}

bool on_a_line(const Point& a, const Point& b, const Point& c) {
  for (Eigen::Index d = 0; d < 3; ++d) {
    const Eigen::Index e = (d + 1) % 3;
    if (numerics::orient2d(a[d], a[e], b[d], b[e], c[d], c[e]) != 0) return false;
  }
  return true;
}

class Triangulation {
 public:
  /// Points in the order of their insertion. The first four must not lie in a plane.
  explicit Triangulation(std::vector<Point> points) : points_(std::move(points)) {
    // About 6.8 cells a point in a cloud, and those of the hull.
    cells_.reserve(8 * points_.size() + 64);
    marks_.reserve(8 * points_.size() + 64);
    make_first();
  }

  /// Returns the earlier point that p equals, which stays in its place, or `infinite`.
  std::int32_t insert(std::int32_t p) {
    const std::int32_t around = locate(p);
    if (const std::int32_t same = equal_corner(around, p); same != infinite) return same;
    ++stamp_;
    find_cavity(around, p);
    fill_cavity(p);
    return infinite;
  }

  /// The finite cells, their corners replaced by `names`.
  LinkedTets linked_tets(std::span<const std::int32_t> names) {
    LinkedTets result;
    // Marks, of which insertions need no more, become the numbers of the cells.
    std::int32_t count = 0;
    for (std::size_t c = 0; c < cells_.size(); ++c) marks_[c] = marks_[c] == removed || cells_[c].is_infinite() ? -1 : count++;
    result.tets.reserve(count);
    result.neighbours.reserve(result.tets.capacity());
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (marks_[c] < 0) continue;
      Tet& t = result.tets.emplace_back();
      Tet& n = result.neighbours.emplace_back();
      for (std::size_t k = 0; k < 4; ++k) {
        t[k] = names[cells_[c].corner[k]];
        n[k] = marks_[cells_[c].neighbour[k]];
      }
    }
    return result;
  }

 private:
  static constexpr std::int32_t removed = std::numeric_limits<std::int32_t>::max();

  Cell& cell(std::int32_t c) { return cells_[c]; }
  std::int32_t& mark(std::int32_t c) { return marks_[c]; }
  const Point& point(std::int32_t v) const { return points_[v]; }

  std::int32_t new_cell() {
    if (!free_.empty()) {
      const std::int32_t c = free_.back();
      free_.pop_back();
      return c;
    }
    cells_.emplace_back();
    marks_.push_back(0);
    return static_cast<std::int32_t>(cells_.size()) - 1;
  }

  /// One tetrahedron, and four infinite ones around it.
  void make_first() {
    Corners v{0, 1, 2, 3};
    if (orient3d(point(0), point(1), point(2), point(3)) < 0) std::swap(v[2], v[3]);
    for (int k = 0; k < 5; ++k) new_cell();
    cell(0) = {v, {1, 2, 3, 4}};
    // Cell k + 1 has the vertex at infinity instead of corner k, and two others swapped, which turns it back to positive.
    for (std::size_t k = 0; k < 4; ++k) {
      Cell& c = cells_[k + 1];
      c.corner = v;
      for (std::size_t j = 0; j < 4; ++j) c.neighbour[j] = static_cast<std::int32_t>(j) + 1;
      c.corner[k] = infinite;
      c.neighbour[k] = 0;
      const std::size_t i = (k + 1) % 4, j = (k + 2) % 4;
      std::swap(c.corner[i], c.corner[j]);
      std::swap(c.neighbour[i], c.neighbour[j]);
    }
  }

  /// The sign of the volume between a face of a cell, seen from outside of it, and a point: positive where the point is outside.
  int beyond(const Cell& c, std::size_t face, std::int32_t p) const {
    const auto& f = tet_faces[face];
    return orient3d(point(c.corner[f[0]]), point(c.corner[f[1]]), point(c.corner[f[2]]), point(p));
  }

  /// A cell around p, found by walking towards it; an infinite one where p is outside of the hull.
  std::int32_t locate(std::int32_t p) {
    std::int32_t c = last_;
    if (const std::size_t k = cell(c).slot(infinite); k < 4) c = cell(c).neighbour[k];
    std::int32_t from = -1;
    for (std::size_t step = 0;; ++step) {
      const Cell& here = cell(c);
      std::int32_t next = -1;
      // Turning the order of the faces keeps the walk from a preferred direction.
      for (std::size_t i = 0; i < 4 && next < 0; ++i) {
        const std::size_t k = (i + step) & 3;
        if (here.neighbour[k] != from && beyond(here, k, p) > 0) next = here.neighbour[k];
      }
      if (next < 0) return c;
      if (cell(next).is_infinite()) return next;
      from = c;
      c = next;
    }
  }

  std::int32_t equal_corner(std::int32_t c, std::int32_t p) {
    for (const std::int32_t v : cell(c).corner)
      if (v != infinite && point(v) == point(p)) return v;
    return infinite;
  }

  /// Whether p lies in the sphere through the corners of a cell; ties as said at `delaunay`.
  bool in_sphere(const Cell& c, std::int32_t p) const {
    const auto x = [&](std::size_t k) -> const Point& { return point(c.corner[k]); };
    const int sign = insphere(x(0), x(1), x(2), x(3), point(p));
    return sign != 0 ? sign > 0 : in_raised_sphere(c.corner, p);
  }

  bool in_raised_sphere(const Corners& corner, std::int32_t p) const {
    std::array<std::int32_t, 5> order{corner[0], corner[1], corner[2], corner[3], p};
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return comes_later(point(a), point(b)); });
    for (const std::int32_t v : order) {
      // The point itself is raised most: it leaves the sphere.
      if (v == p) return false;
      // A corner is raised: the sphere grows on its side, which is where p in its place keeps the orientation.
      Corners replaced = corner;
      replaced[Cell::find(corner, v)] = p;
      const int side = orient3d(point(replaced[0]), point(replaced[1]), point(replaced[2]), point(replaced[3]));
      if (side != 0) return side > 0;
    }
    return false;
  }

  /// Whether a cell has to go when p is inserted. The sphere of an infinite one is the space beyond its face of the hull, and in
  /// the plane of this face the circle of its finite neighbour.
  bool in_conflict(std::int32_t c, std::int32_t p) {
    const Cell& here = cell(c);
    const std::size_t k = here.slot(infinite);
    if (k == 4) return in_sphere(here, p);
    const int side = beyond(here, k, p);
    if (side != 0) return side < 0;
    const std::int32_t finite = here.neighbour[k];
    if (mark(finite) == stamp_) return true;
    if (mark(finite) == -stamp_) return false;
    return in_sphere(cell(finite), p);
  }

  void find_cavity(std::int32_t around, std::int32_t p) {
    cavity_.assign(1, around);
    walls_.clear();
    mark(around) = stamp_;
    for (std::size_t i = 0; i < cavity_.size(); ++i) {
      const std::int32_t c = cavity_[i];
      for (std::size_t k = 0; k < 4; ++k) {
        const std::int32_t next = cell(c).neighbour[k];
        if (mark(next) == stamp_) continue;
        if (mark(next) != -stamp_ && in_conflict(next, p)) {
          mark(next) = stamp_;
          cavity_.push_back(next);
        } else {
          mark(next) = -stamp_;
          walls_.push_back({c, k});
        }
      }
    }
  }

  void fill_cavity(std::int32_t p) {
    made_.clear();
    for (const Wall& w : walls_) {
      const std::int32_t n = new_cell();
      const auto& f = tet_faces[w.face];
      Cell& old = cell(w.cell);
      const std::int32_t outer = old.neighbour[w.face];
      // Seen from within, the wall goes round the other way.
      cell(n) = {{old.corner[f[0]], old.corner[f[2]], old.corner[f[1]], p}, {-1, -1, -1, outer}};
      mark(n) = 0;
      cell(outer).neighbour[cell(outer).slot_of_neighbour(w.cell)] = n;
      // The removed cell tells those that turn around an edge what now stands before this wall.
      old.neighbour[w.face] = -2 - n;
      made_.push_back(n);
    }
    for (std::size_t i = 0; i < walls_.size(); ++i) join(made_[i], walls_[i], p);
    for (const std::int32_t c : cavity_) {
      mark(c) = removed;
      free_.push_back(c);
    }
    last_ = made_.back();
  }

  /// Finds the neighbours of a new cell across the faces at p: around each edge of its wall, through the removed cells, to the
  /// next wall.
  void join(std::int32_t n, const Wall& w, std::int32_t p) {
    for (std::size_t s = 0; s < 3; ++s) {
      if (cell(n).neighbour[s] >= 0) continue;
      const std::int32_t u = cell(n).corner[(s + 1) % 3], v = cell(n).corner[(s + 2) % 3];
      std::int32_t c = w.cell;
      std::int32_t leave = cell(n).corner[s];
      std::int32_t ahead = cell(c).corner[w.face];
      std::int32_t next = cell(c).neighbour[cell(c).slot(leave)];
      while (next >= 0) {
        const std::int32_t entered = ahead;
        ahead = cell(next).corner[cell(next).slot_of_neighbour(c)];
        leave = entered;
        c = next;
        next = cell(c).neighbour[cell(c).slot(leave)];
      }
      const std::int32_t other = -2 - next;
      cell(n).neighbour[s] = other;
      Cell& o = cell(other);
      for (std::size_t k = 0; k < 3; ++k)
        if (o.corner[k] != u && o.corner[k] != v && o.corner[k] != p) o.neighbour[k] = n;
    }
  }

  std::vector<Point> points_;
  std::vector<Cell> cells_;
  /// Per cell: the number of the insertion that removed it or, negative, left it alone; `removed` where it is free.
  std::vector<std::int32_t> marks_;
  std::vector<std::int32_t> free_, cavity_, made_;
  std::vector<Wall> walls_;
  std::int32_t stamp_ = 0;
  std::int32_t last_ = 0;
};

/// Puts four points that do not lie in a plane first; throws InvalidArgument where there are none.
void lead_with_a_tet(std::span<const Point> points, std::vector<std::int32_t>& order) {
  const auto x = [&](std::size_t i) -> const Point& { return points[order[i]]; };
  std::size_t found = 1;
  for (std::size_t i = 1; i < order.size() && found < 4; ++i) {
    const bool spans = found == 1   ? x(i) != x(0)
                       : found == 2 ? !on_a_line(x(0), x(1), x(i))
                                    : orient3d(x(0), x(1), x(2), x(i)) != 0;
    if (spans)
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(found++), order.begin() + static_cast<std::ptrdiff_t>(i),
                  order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  require(found == 4, "tetrahedra need four points that do not lie in a plane");
}

}  // namespace

LinkedTets linked_delaunay(std::span<const Point> points) {
  // Cells are counted by 32-bit integers, at most about 7 a point in a cloud.
  require(points.size() < (1u << 27), "at most ", (1u << 27) - 1, " points, not ", points.size());
  for (const Point& p : points) require(p.allFinite(), "points must be finite");
  std::vector<std::int32_t> order = insertion_order(points);
  lead_with_a_tet(points, order);
  std::vector<Point> sorted(points.size());
  std::transform(order.begin(), order.end(), sorted.begin(), [&](std::int32_t i) { return points[i]; });
  Triangulation triangulation(std::move(sorted));
  for (std::size_t i = 4; i < points.size(); ++i) {
    if (i % 1024 == 0) check_interrupt();
    // Of equal points the first one given gets the tetrahedra.
    if (const std::int32_t same = triangulation.insert(static_cast<std::int32_t>(i)); same != infinite)
      order[same] = std::min(order[same], order[i]);
  }
  return triangulation.linked_tets(order);
}

std::vector<Tet> delaunay(std::span<const Point> points) { return linked_delaunay(points).tets; }

}  // namespace meniscus::mesh
