#include "meniscus/mesh/clipping/convex_polyhedron.hpp"

#include "meniscus/core/error.hpp"

#include <bit>

namespace meniscus::mesh {
namespace {

constexpr std::size_t next(std::size_t slot) { return slot == 2 ? 0 : slot + 1; }
constexpr std::size_t previous(std::size_t slot) { return slot == 0 ? 2 : slot - 1; }

std::size_t slot_of(const std::array<std::uint8_t, 3>& links, std::size_t vertex) {
  return links[0] == vertex ? 0 : links[1] == vertex ? 1 : 2;
}

}  // namespace

ConvexPolyhedron::ConvexPolyhedron(const std::array<Point, 4>& corners) {
  constexpr std::array<Links, 4> links{{{1, 3, 2}, {2, 3, 0}, {3, 1, 0}, {1, 2, 0}}};
  constexpr std::array<Links, 4> faces{{{2, 1, 3}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}}};
  const bool inverted = signed_volume(corners[0], corners[1], corners[2], corners[3]) < 0;
  for (std::size_t v = 0; v < 4; ++v) {
    position_[v] = corners[v];
    link_[v] = inverted ? Links{links[v][0], links[v][2], links[v][1]} : links[v];
    face_[v] = inverted ? Links{faces[v][2], faces[v][1], faces[v][0]} : faces[v];
  }
}

void ConvexPolyhedron::clip(const Point& normal, double offset) {
  const auto cut = static_cast<std::uint8_t>(faces_);
  require(faces_ < 256, "a convex polyhedron can be clipped at most 252 times");
  ++faces_;
  std::array<double, most_vertices> value;
  std::array<std::uint8_t, most_vertices> gone;
  const auto old_size = static_cast<std::size_t>(size_);
  std::size_t outside = 0;
  bool inside = false;
  for (std::size_t v = 0; v < old_size; ++v) {
    value[v] = normal.dot(position_[v]) - offset;
    gone[v] = value[v] > 0;
    outside += gone[v];
    inside = inside || value[v] < 0;
  }
  if (outside == 0) return;
  if (!inside) {
    size_ = 0;
    return;
  }

  // A new vertex on each edge that leaves: its neighbours are the end that stays and, once linked, the next ones along the cut to
  // the right and to the left of the edge as it leaves. The end that goes learns of it, for the walk.
  std::array<Links, most_vertices> ends;
  std::size_t size = old_size;
  for (std::size_t v = 0; v < old_size; ++v) {
    if (gone[v]) continue;
    const unsigned leaving = gone[link_[v][0]] | 2u * gone[link_[v][1]] | 4u * gone[link_[v][2]];
    for (unsigned rest = leaving; rest != 0; rest &= rest - 1) {
      const Index s = std::countr_zero(rest);
      const std::size_t u = link_[v][s];
      require(size < most_vertices, "a convex polyhedron has at most 128 vertices");
      const double t = value[v] / (value[v] - value[u]);
      position_[size] = position_[v] + t * (position_[u] - position_[v]);
      const std::size_t back = slot_of(link_[u], v);
      const auto w = static_cast<std::uint8_t>(size);
      link_[v][s] = w;
      link_[u][back] = w;
      link_[size][0] = static_cast<std::uint8_t>(v);
      face_[size] = {face_[v][previous(s)], cut, face_[v][s]};
      ends[size] = {static_cast<std::uint8_t>(u), static_cast<std::uint8_t>(back), 0};
      ++size;
    }
  }
  link_cut(static_cast<int>(old_size), static_cast<int>(size), ends);

  // What stays moves into the gaps.
  const std::size_t left = size - outside;
  std::size_t last = size;
  for (std::size_t hole = 0; hole < std::min(left, old_size); ++hole) {
    if (!gone[hole]) continue;
    do --last;
    while (last < old_size && gone[last]);
    position_[hole] = position_[last];
    link_[hole] = link_[last];
    face_[hole] = face_[last];
    for (const std::size_t u : link_[hole]) link_[u][slot_of(link_[u], last)] = static_cast<std::uint8_t>(hole);
  }
  size_ = static_cast<int>(left);
}

void ConvexPolyhedron::link_cut(int first, int end, const std::array<Links, most_vertices>& ends) {
  // From each new vertex along the face to the left of its edge, through vertices that go, to the edge that comes back.
  for (Index w = first; w < end; ++w) {
    std::size_t u = ends[w][0];
    std::size_t slot = ends[w][1];
    for (;;) {
      const std::size_t y = link_[u][previous(slot)];
      if (y >= static_cast<std::size_t>(first)) {
        link_[w][2] = static_cast<std::uint8_t>(y);
        link_[y][1] = static_cast<std::uint8_t>(w);
        break;
      }
      slot = slot_of(link_[y], u);
      u = y;
    }
  }
}

bool ConvexPolyhedron::has_face(int face) const {
  for (Index v = 0; v < size_; ++v)
    for (const int f : face_[v])
      if (f == face) return true;
  return false;
}

VolumeMoment ConvexPolyhedron::measure() const {
  if (size_ == 0) return {};
  // Each face is a fan over its edges with one of its vertices as the tip, and each triangle a tetrahedron with vertex 0.
  const auto size = static_cast<std::size_t>(size_);
  std::array<std::uint8_t, 256> tip;
  for (std::size_t v = 0; v < size; ++v)
    for (const std::uint8_t f : face_[v]) tip[f] = static_cast<std::uint8_t>(v);
  const Point origin = position_[0];
  double volume = 0;
  Point moment = Point::Zero();
  for (std::size_t v = 0; v < size; ++v) {
    const Point a = position_[v] - origin;
    for (std::size_t s = 0; s < 3; ++s) {
      const std::size_t u = link_[v][s];
      if (u < v) continue;
      const Point b = position_[u] - origin;
      const Point left = position_[tip[face_[v][s]]] - origin;
      const Point right = position_[tip[face_[v][previous(s)]]] - origin;
      const Point area = a.cross(b);
      const double left_part = left.dot(area);
      const double right_part = right.dot(area);
      volume += left_part - right_part;
      moment += (left_part - right_part) * (a + b) + left_part * left - right_part * right;
    }
  }
  if (!(volume > 0)) return {};
  return {volume / 6, moment / 24 + volume / 6 * origin};
}

Point ConvexPolyhedron::centroid() const {
  const VolumeMoment m = measure();
  if (m.volume > 0) return m.moment / m.volume;
  return position_[0];
}

}  // namespace meniscus::mesh
