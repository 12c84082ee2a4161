/// Location of many points near one tetrahedron of a moving mesh: a walk across faces that keeps the maps of the tetrahedra it
/// has met, since the points of one tetrahedron and of those around it meet the same ones. Where the walk does not end, the
/// locator of the mesh answers.
#pragma once

#include "meniscus/collision/point_location/subdivision_location.hpp"
#include "meniscus/fluids/tet_vof/tet_graph.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace meniscus::fluids {

/// A mesh at one time.
struct PlacedMesh {
  const TetGraph& graph;
  std::span<const mesh::Point> positions;
  const collision::SubdivisionLocator& locator;
  Index level;

  const mesh::Point& corner(std::int32_t t, std::size_t k) const { return positions[graph.tet(t)[k]]; }
};

/// For one thread at a time.
class NearLocation {
 public:
  explicit NearLocation(const PlacedMesh& mesh) : mesh_(mesh) { tets_.fill(-1); }

  /// The next walk begins from this tetrahedron; every other one where the last has ended.
  void begin(std::int32_t tet) {
    last_ = begin_ = tet;
    nearer_ = -1;
    beyond_known_ = false;
  }

  /// The next walk begins from this tetrahedron, if it then ends well inside of one; where several hold the point, or none, the
  /// one that it would have begun from decides. For what is closer. Not where the mesh is folded: there it matters.
  void begin_nearer(std::int32_t tet) { nearer_ = folded() ? -1 : tet; }

  bool folded() const { return mesh_.locator.folded(); }

  /// As if the last walk had ended here.
  void resume(std::int32_t tet) { last_ = tet; }

  /// The tetrahedron that holds a point, also a disabled one; -1 outside of all enabled ones. On a face it may be either.
  std::int32_t find(const mesh::Point& p) {
    exit_.first = -1;
    if (nearer_ >= 0) {
      const std::int32_t t = walk(nearer_, p, well_inside);
      nearer_ = -1;
      // Whether a disabled one is found depends on the walk: the locator does not know any.
      if (t >= 0 && !mesh_.locator.disabled(t, mesh_.level)) return last_ = t;
    }
    if (beyond_known_ && p == beyond_) return -1;
    const std::int32_t t = walk(last_, p, -tolerance);
    return t >= 0 ? last_ = t : find_slowly(p);
  }

  /// A part of a way, at the end of a tetrahedron that it meets.
  struct Met {
    std::int32_t tet;
    double part;
  };

  /// Calls f(tetrahedron) for those that a straight way meets, in their order and with the first, until it returns false. Returns
  /// whether all were met: not where the way leaves the mesh, or a tetrahedron is flat or inverted.
  template <class F>
  bool along(const mesh::Point& begin, const mesh::Point& end, F&& f) {
    way_size_ = 0;
    // Ways of one tetrahedron begin in the same place.
    begin_nearer(begin_);
    std::int32_t t = find(begin), came_from = -1;
    if (t < 0 || !f(t)) return t >= 0;
    begin_ = t;
    double before = 0;
    bool ahead = !folded();
    for (std::size_t step = 0; step < longest_way; ++step) {
      const Map* const map = met(t);
      if (map->flat) break;
      const std::array<double, 4> a = coordinates(*map, begin), b = coordinates(*map, end);
      double first = std::numeric_limits<double>::infinity();
      std::size_t face = 4;
      for (std::size_t k = 0; k < 4; ++k) {
        if (!(b[k] < 0 && b[k] < a[k])) continue;
        const std::int32_t n = mesh_.graph.neighbours(t)[k];
        const double part = a[k] / (a[k] - b[k]);
        if ((n >= 0 && n == came_from) || !(part < first)) continue;
        first = part;
        face = k;
      }
      if (face == 4) {
        begin_nearer(t);
        return true;
      }
      way_[step] = {t, first};
      ahead = ahead && first >= before;
      before = first;
      came_from = t;
      t = mesh_.graph.neighbours(t)[face];
      if (t < 0) {
        exit_ = {came_from, face};
        if (ahead) way_size_ = step + 1;
        return false;
      }
      if (!f(t)) return true;
    }
    return false;
  }

  /// Where an `along` has left the mesh: what it has met, with the parts of the way where each ends. Empty where this is not
  /// known.
  std::span<const Met> met_before_exit() const { return {way_.data(), way_size_}; }

  /// A part of this way beyond which it is outside of the mesh.
  double last_part(const mesh::Point& begin, const mesh::Point& end) {
    const double from = way_size_ > 0 ? way_[way_size_ - 1].part : 0;
    const double again = mesh_.locator.last_touch(begin + from * (end - begin), end);
    const double last = from + std::max(again, 0.0) * (1 - from) + 1e-12;
    beyond_known_ = last < 1;
    beyond_ = end;
    return last;
  }

  /// Where the walk to a point that was not found, or the way of `along`, has left the mesh: tetrahedron, or -1, and face.
  const std::pair<std::int32_t, std::size_t>& exit() const { return exit_; }

  const mesh::Tet& tet(std::int32_t t) const { return mesh_.graph.tet(t); }

  /// Barycentric coordinates of the point found last.
  const std::array<double, 4>& weights() const { return weights_; }

 private:
  static constexpr int longest_walk = 24;
  static constexpr std::size_t longest_way = 256;
  static constexpr double tolerance = 1e-12;
  static constexpr double well_inside = 1e-9;
  /// Places for maps, a power of two. What is traced one after the other meets some hundred tetrahedra.
  static constexpr int place_bits = 9;

  /// Barycentric coordinates 1 to 3 as a function of the position.
  struct Map {
    std::array<mesh::Point, 3> gradient;
    mesh::Point origin;
    bool flat;
  };

  static std::array<double, 4> coordinates(const Map& map, const mesh::Point& p) {
    const mesh::Point d = p - map.origin;
    std::array<double, 4> b;
    b[1] = map.gradient[0].dot(d);
    b[2] = map.gradient[1].dot(d);
    b[3] = map.gradient[2].dot(d);
    b[0] = 1 - ((b[1] + b[2]) + b[3]);
    return b;
  }

  /// The tetrahedron that holds the point, if its coordinates there are no less; else -1.
  std::int32_t walk(std::int32_t t, const mesh::Point& p, double least) {
    for (int step = 0; step < longest_walk; ++step) {
      const Map* const map = met(t);
      if (map->flat) break;
      const std::array<double, 4> b = coordinates(*map, p);
      const std::size_t k = b[1] < b[0] ? 1 : 0;
      const std::size_t l = b[3] < b[2] ? 3 : 2;
      const std::size_t lowest = b[l] < b[k] ? l : k;
      if (b[lowest] >= -tolerance) {
        weights_ = b;
        return b[lowest] >= least ? t : -1;
      }
      const std::int32_t next = mesh_.graph.neighbours(t)[lowest];
      if (next < 0) {
        exit_ = {t, lowest};
        break;
      }
      t = next;
    }
    return -1;
  }

  /// The map of a tetrahedron: it depends on nothing else, so that it does not matter what was met before.
  const Map* met(std::int32_t t) {
    // Numbers of tetrahedra around come in blocks of powers of two; the factor, the golden ratio times 2^32, spreads them.
    const std::size_t at = (static_cast<std::uint32_t>(t) * 0x9e3779b9u) >> (32 - place_bits);
    Map& map = maps_[at];
    if (tets_[at] != t) {
      tets_[at] = t;
      set(map, t);
    }
    return &map;
  }

  void set(Map& map, std::int32_t t) const {
    map.origin = mesh_.corner(t, 0);
    const mesh::Point e1 = mesh_.corner(t, 1) - map.origin, e2 = mesh_.corner(t, 2) - map.origin,
                      e3 = mesh_.corner(t, 3) - map.origin;
    const mesh::Point n1 = e2.cross(e3);
    const double whole = e1.dot(n1);
    const double size = e1.squaredNorm() * e2.squaredNorm() * e3.squaredNorm();
    map.flat = !(whole * whole > 1e-18 * size);
    const double scale = map.flat ? 0 : 1 / whole;
    map.gradient = {n1 * scale, e3.cross(e1) * scale, e1.cross(e2) * scale};
  }

  std::int32_t find_slowly(const mesh::Point& p) {
    const collision::TetLocation found = mesh_.locator.locate(p, last_, mesh_.level);
    weights_ = found.weights;
    if (found.tet >= 0) last_ = found.tet;
    return found.tet;
  }

  const PlacedMesh& mesh_;
  /// Whose map is in each place; -1 for none.
  std::array<std::int32_t, std::size_t{1} << place_bits> tets_;
  std::array<Map, std::size_t{1} << place_bits> maps_;
  std::int32_t last_ = -1, begin_ = -1, nearer_ = -1;
  std::pair<std::int32_t, std::size_t> exit_{-1, 0};
  std::array<Met, longest_way> way_;
  std::size_t way_size_ = 0;
  /// The end of a way that is known to be outside.
  mesh::Point beyond_;
  bool beyond_known_ = false;
  std::array<double, 4> weights_{};
};

}  // namespace meniscus::fluids
