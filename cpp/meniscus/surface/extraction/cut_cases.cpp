#include "meniscus/surface/extraction/cut_cases.hpp"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>
#include <vector>

namespace meniscus::surface {
namespace {

constexpr std::array<CubeEdge, 12> made_edges() {
  std::array<CubeEdge, 12> edges{};
  std::size_t n = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (int corner = 0; corner < 8; ++corner)
      if (!(corner >> axis & 1)) edges[n++] = {axis, corner};
  return edges;
}

std::size_t z(int i) { return static_cast<std::size_t>(i); }

/// The corners of face (axis, upper), counter-clockwise seen from outside of the cube.
std::array<int, 4> face_corners(int axis, int upper) {
  const int u = 1 << (axis + 1) % 3;
  const int v = 1 << (axis + 2) % 3;
  const int s = upper << axis;
  return upper ? std::array<int, 4>{s, s | u, s | u | v, s | v} : std::array<int, 4>{s, s | v, s | u | v, s | u};
}

int edge_between(int a, int b) {
  const int low = std::min(a, b);
  for (int e = 0; e < 12; ++e)
    if (cube_edges[z(e)].corner == low && (low | 1 << cube_edges[z(e)].axis) == std::max(a, b)) return e;
  return -1;
}

bool share_face(int e, int f) {
  const auto faces = [](int edge) {
    unsigned bits = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (axis != cube_edges[z(edge)].axis) bits |= 1U << (2 * axis + (cube_edges[z(edge)].corner >> axis & 1));
    return bits;
  };
  return (faces(e) & faces(f)) != 0;
}

Vec<double, 3> middle(int e) {
  Vec<double, 3> x;
  for (int d = 0; d < 3; ++d) x[d] = cube_edges[z(e)].axis == d ? 0.5 : cube_edges[z(e)].corner >> d & 1;
  return x;
}

/// All ways to fill a loop without a chord in a face, those with less area first when all crossings are in the middle. One exists
/// for every loop of every case.
class LoopFills {
 public:
  /// `place`: of each edge in those of the cube.
  LoopFills(const std::vector<int>& loop, const std::array<int, 12>& place) : loop_(loop), place_(place) {
    open_.push_back({0, loop.size() - 1});
    fill();
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      // Equal areas that round differently must not decide.
      return std::llround(1e9 * a.area) < std::llround(1e9 * b.area);
    });
  }

  void append_to(std::vector<LoopFill>& fills) const {
    for (const Found& f : found_) fills.push_back(f.fill);
  }
  std::size_t count() const { return found_.size(); }

 private:
  struct Found {
    LoopFill fill;
    double area = 0;
  };
  using Part = std::array<std::size_t, 2>;  ///< from crossing i of the loop to crossing j, and back along a chord

  std::int8_t number(std::size_t i) const { return static_cast<std::int8_t>(place_[z(loop_[i])]); }

  /// Adds all ways to fill what is open to the triangles that there are.
  void fill() {
    if (open_.empty()) {
      found_.push_back(now_);
      return;
    }
    const auto [i, j] = open_.back();
    open_.pop_back();
    for (std::size_t k = i + 1; k < j; ++k) {
      const bool first = k > i + 1, second = j > k + 1;  // whether the sides of the triangle are chords
      if ((first && share_face(loop_[i], loop_[k])) || (second && share_face(loop_[k], loop_[j]))) continue;
      const Found before = now_;
      const std::size_t size = open_.size();
      LoopFill& f = now_.fill;
      f.triangles[z(f.triangle_count++)] = {number(i), number(k), number(j)};
      const Vec<double, 3> a = middle(loop_[i]);
      now_.area += (middle(loop_[k]) - a).eval().cross((middle(loop_[j]) - a).eval()).norm();
      if (second) add_part(k, j);
      if (first) add_part(i, k);
      fill();
      open_.resize(size);
      now_ = before;
    }
    open_.push_back({i, j});
  }
  void add_part(std::size_t i, std::size_t j) {
    now_.fill.chords[z(now_.fill.chord_count++)] = {number(i), number(j)};
    open_.push_back({i, j});
  }

  const std::vector<int>& loop_;
  const std::array<int, 12>& place_;
  std::vector<Part> open_;
  Found now_;
  std::vector<Found> found_;
};

void find_pieces(int mask, CubeCase& c) {
  c.corner_piece.fill(-1);
  for (int start = 0; start < 8; ++start) {
    if (!(mask >> start & 1) || c.corner_piece[z(start)] >= 0) continue;
    std::vector<int> open{start};
    c.corner_piece[z(start)] = static_cast<std::int8_t>(c.pieces);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (int axis = 0; axis < 3; ++axis) {
        const int other = at ^ 1 << axis;
        if (!(mask >> other & 1) || c.corner_piece[z(other)] >= 0) continue;
        c.corner_piece[z(other)] = static_cast<std::int8_t>(c.pieces);
        open.push_back(other);
      }
    }
    ++c.pieces;
  }
}

/// The case of a mask, whose fills are added to `fills`; returns how many each loop has.
std::vector<std::size_t> make_case(int mask, CubeCase& c, std::vector<LoopFill>& fills) {
  find_pieces(mask, c);
  // Along every face, from the crossing where the inside is entered to the one where it is left.
  std::array<int, 12> next;
  next.fill(-1);
  for (int axis = 0; axis < 3; ++axis)
    for (int upper = 0; upper < 2; ++upper) {
      const std::array<int, 4> round = face_corners(axis, upper);
      const auto inside = [&](int i) { return (mask >> round[z(i % 4)] & 1) != 0; };
      for (int i = 0; i < 4; ++i) {
        if (inside(i) || !inside(i + 1)) continue;
        int last = i + 1;
        while (inside(last + 1)) ++last;
        next[z(edge_between(round[z(i)], round[z((i + 1) % 4)]))] = edge_between(round[z(last % 4)], round[z((last + 1) % 4)]);
      }
    }
  std::array<int, 12> place;
  place.fill(-1);
  for (int e = 0; e < 12; ++e)
    if (next[z(e)] >= 0) {
      place[z(e)] = c.edge_count;
      c.edges[z(c.edge_count++)] = static_cast<std::int8_t>(e);
    }
  std::vector<std::size_t> counts;
  std::array<bool, 12> done{};
  for (int start = 0; start < 12; ++start) {
    if (next[z(start)] < 0 || done[z(start)]) continue;
    std::vector<int> loop;
    for (int e = start; !done[z(e)]; e = next[z(e)]) {
      done[z(e)] = true;
      loop.push_back(e);
    }
    const CubeEdge& edge = cube_edges[z(start)];
    const int inner = mask >> edge.corner & 1 ? edge.corner : edge.corner | 1 << edge.axis;
    const LoopFills ways(loop, place);
    ways.append_to(fills);
    counts.push_back(ways.count());
    c.loops[z(c.loop_count++)].piece = c.corner_piece[z(inner)];
    c.triangle_count += static_cast<int>(loop.size()) - 2;
    c.any_choice |= ways.count() > 1;
  }
  return counts;
}

SquareCase made_square(int mask) {
  SquareCase s;
  const auto inside = [&](int i) { return (mask >> square_round[z(i % 4)] & 1) != 0; };
  const auto add = [&](std::initializer_list<int> polygon, int corner) {
    const std::size_t p = z(s.polygon_count++);
    s.sizes[p] = static_cast<int>(polygon.size());
    std::transform(polygon.begin(), polygon.end(), s.polygons[p].begin(), [](int v) { return static_cast<std::int8_t>(v); });
    s.corner[p] = static_cast<std::int8_t>(corner);
  };
  const auto triangle = [&](int a, int b, int c) {
    s.triangles[z(s.triangle_count++)] = {static_cast<std::int8_t>(a), static_cast<std::int8_t>(b), static_cast<std::int8_t>(c)};
  };
  const auto corner = [](int i) { return square_round[z(i % 4)]; };
  if (mask == 15) {
    add({0, 1, 3, 2}, 0);
    triangle(0, 1, 3);
    triangle(0, 3, 2);
    return s;
  }
  for (int i = 0; i < 4; ++i) {
    if (inside(i) || !inside(i + 1)) continue;
    int last = i + 1;
    while (inside(last + 1)) ++last;
    const int entry = 4 + i;
    const int exit = 4 + last % 4;
    s.segments[z(s.segment_count++)] = {static_cast<std::int8_t>(exit - 4), static_cast<std::int8_t>(entry - 4)};
    const int a = corner(i + 1);
    const int b = corner(i + 2);
    const int c = corner(i + 3);
    if (last == i + 1) {
      add({entry, a, exit}, a);
      triangle(entry, a, exit);
    } else if (last == i + 2) {
      add({entry, a, b, exit}, a);
      triangle(entry, a, b);
      triangle(entry, b, exit);
    } else {
      add({entry, a, b, c, exit}, a);
      triangle(b, c, exit);
      triangle(b, exit, entry);
      triangle(b, entry, a);
    }
  }
  return s;
}

}  // namespace

constexpr std::array<CubeEdge, 12> cube_edges = made_edges();

const std::array<CubeCase, 256>& cube_cases() {
  struct Tables {
    std::array<CubeCase, 256> cases;
    std::vector<LoopFill> fills;
  };
  static const Tables tables = [] {
    Tables made;
    std::array<std::vector<std::size_t>, 256> counts;
    for (int mask = 0; mask < 256; ++mask) counts[z(mask)] = make_case(mask, made.cases[z(mask)], made.fills);
    const LoopFill* next = made.fills.data();
    for (std::size_t mask = 0; mask < 256; ++mask)
      for (std::size_t i = 0; i < counts[mask].size(); ++i) {
        made.cases[mask].loops[i].fills = {next, counts[mask][i]};
        next += counts[mask][i];
      }
    return made;
  }();
  return tables.cases;
}

const std::array<SquareCase, 16>& square_cases() {
  static const std::array<SquareCase, 16> cases = [] {
    std::array<SquareCase, 16> made;
    for (int mask = 0; mask < 16; ++mask) made[z(mask)] = made_square(mask);
    return made;
  }();
  return cases;
}

}  // namespace meniscus::surface
