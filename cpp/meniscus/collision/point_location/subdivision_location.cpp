#include "meniscus/collision/point_location/subdivision_location.hpp"

#include "meniscus/collision/point_location/tet_neighbours.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/mesh/refinement/child_coordinates.hpp"

#include <atomic>

namespace meniscus::collision {
namespace {

constexpr Index child_mesh_chunk = 512;
constexpr Index descent_chunk = 512;
/// Points that are handled together.
constexpr Index batch = 8;
/// A walk that takes longer is lost: it may go in circles where tetrahedra are inverted.
constexpr int longest_descent = 100;
/// Tetrahedra around a vertex, at most; where there are more, the tree answers.
constexpr std::size_t largest_star = 512;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// Maps with larger errors are not used, nor those of tetrahedra so thin or so far from the origin that the rounding of fine
/// vertices changes coordinates by more.
constexpr double largest_error = 0x1p-36;
constexpr double largest_shift = 0x1p-18;

/// The number of diagonals on the levels before.
constexpr Index diagonals_before(Index level) { return ((Index{1} << (3 * level)) - 1) / 7; }

}  // namespace

SubdivisionLocator::SubdivisionLocator(const mesh::UniformSubdivision<4>& subdivision, std::span<const mesh::Point> vertices)
    : spare_(std::make_shared<Spare>()) {
  const auto tets = subdivision.elements(0);
  require(static_cast<Index>(vertices.size()) == subdivision.vertices(0), "vertices must have ", subdivision.vertices(0),
          " rows, not ", vertices.size());
  mesh::require_finite(vertices, "vertices");
  auto fixed = std::make_shared<Fixed>();
  fixed->tets.assign(tets.begin(), tets.end());
  fixed->neighbours = find_neighbours(tets);
  fixed->levels = subdivision.levels();
  fixed->stride = static_cast<std::size_t>((diagonals_before(fixed->levels) + 3) / 4);
  fixed->diagonals.assign(fixed->stride * tets.size(), 0);
  parallel_for(0, static_cast<Index>(tets.size()), child_mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t)
      for (Index level = 0; level < fixed->levels; ++level) {
        const auto from = subdivision.diagonals(level);
        const Index count = Index{1} << (3 * level);
        for (Index path = 0; path < count; ++path) {
          const Index at = diagonals_before(level) + path;
          const auto bits = static_cast<unsigned>(from[t * count + path]) << (2 * (at % 4));
          std::uint8_t& byte = fixed->diagonals[fixed->stride * static_cast<std::size_t>(t) + at / 4];
          byte = static_cast<std::uint8_t>(byte | bits);
        }
      }
  });
  pose_.maps.resize(tets.size());
  pose_.errors.resize(tets.size());
  pose_.placements.resize(tets.size());
  pose_.boxes.resize(tets.size());
  fixed_ = std::move(fixed);
  pose_.vertices.assign(vertices.begin(), vertices.end());
  place_all({});
  pose_.tree = mesh::BoxTree(pose_.boxes);
}

SubdivisionLocator::SubdivisionLocator(const SubdivisionLocator& other, Pose pose)
    : fixed_(other.fixed_), spare_(other.spare_), pose_(std::move(pose)) {}

SubdivisionLocator::~SubdivisionLocator() {
  const std::scoped_lock lock(spare_->mutex);
  if (!spare_->pose) spare_->pose = std::move(pose_);
}

std::unique_ptr<SubdivisionLocator> SubdivisionLocator::moved(std::span<const mesh::Point> vertices,
                                                              std::span<const bool> disabled) const {
  require(vertices.size() == pose_.vertices.size(), "vertices must have ", pose_.vertices.size(), " rows, not ", vertices.size());
  require(disabled.empty() || static_cast<Index>(disabled.size()) == size(), "disabled must have one value per tetrahedron, ",
          size(), ", not ", disabled.size());
  mesh::require_finite(vertices, "vertices");
  std::optional<Pose> pose;
  {
    const std::scoped_lock lock(spare_->mutex);
    pose.swap(spare_->pose);
  }
  std::unique_ptr<SubdivisionLocator> to(new SubdivisionLocator(*this, pose ? std::move(*pose) : pose_));
  std::copy(vertices.begin(), vertices.end(), to->pose_.vertices.begin());
  to->place_all(disabled);
  to->pose_.tree.refit(to->pose_.boxes);
  return to;
}

void SubdivisionLocator::place_all(std::span<const bool> disabled) {
  std::array<std::atomic<bool>, 3> any{};
  parallel_for(0, size(), child_mesh_chunk, [&](Index b, Index e) {
    std::array<bool, 3> here{};
    for (Index t = b; t < e; ++t) {
      place(static_cast<std::int32_t>(t), !disabled.empty() && disabled[t]);
      here[pose_.placements[t].orientation + 1] = true;
    }
    for (std::size_t k = 0; k < 3; ++k)
      if (here[k]) any[k] = true;
  });
  pose_.folded = any[1] || (any[0] && any[2]);
}

TetCorners SubdivisionLocator::corners(std::int32_t t) const {
  const mesh::Tet& v = fixed_->tets[t];
  return {pose_.vertices[v[0]], pose_.vertices[v[1]], pose_.vertices[v[2]], pose_.vertices[v[3]]};
}

// The error of a coordinate. Let h be the largest magnitudes of the edges from corner 0 along the axes, P their product, W six
// times the volume, u = 2^-53, and |p - origin| at most 2 h along each axis. Edges have one rounding. The normals n of the faces
// are off by at most 4.1 u 2 h h, which adds 50 u P / |W| to n (p - origin) / W. W is off by 48 u P: relative to the result, that
// is below 1 where it counts. The 12 P / |W| of the products' magnitudes are rounded six times. That makes 170 u P / |W| + 3 u
// for coordinates 1 to 3, and below 600 u P / |W| for coordinate 0, whose gradient is minus the sum of the others. 1024 is more
// than all of them.
//
// A point farther away than 2 h is certainly not taken for one inside: on one axis, |p - origin| = s h with s > 2 the largest
// such ratio, so the exact coordinates 1 to 3 have magnitudes of sum s at least; the computed ones differ by s times less than
// 2^-36, so that they do not all lie in [0, 1] with a sum of 1.
//
// Lengths in [2^-150, 2^150] and volumes above 2^-500 keep underflow below 2^-400.
//
// Fine vertices are rounded once on each level, by at most u times the largest coordinate along each axis. That moves coordinates
// by as much as a point that is moved by the same; the factor of two covers the change of the gradient. On each level, gradients
// grow by at most 4, as errors do. A point whose coordinates in a descendant exceed all of this is inside of it as it is stored.
// It is in no other one of the same sheet: that would have a point less than the rounding away from it in common with the
// descendant without rounding, in which this point is inside, too.
void SubdivisionLocator::place(std::int32_t t, bool disabled) {
  const Index i = t;
  const TetCorners c = corners(t);
  mesh::Box box;
  for (const mesh::Point& x : c) box.add(x);
  pose_.boxes[i] = box;
  AffineMap& map = pose_.maps[i];
  for (std::size_t d = 0; d < 3; ++d) map.origin[d] = c[0][static_cast<Index>(d)];
  const mesh::Point e1 = c[1] - c[0], e2 = c[2] - c[0], e3 = c[3] - c[0];
  const mesh::Point n1 = e2.cross(e3), n2 = e3.cross(e1), n3 = e1.cross(e2);
  const double whole = e1.dot(n1);
  const mesh::Point h = e1.cwiseAbs().cwiseMax(e2.cwiseAbs()).cwiseMax(e3.cwiseAbs());
  const double size = std::abs(whole);
  const double error = 1024 * 0x1p-53 * (h[0] * h[1] * h[2] / size) + 0x1p-48;
  bool usable = h.minCoeff() >= 0x1p-150 && h.maxCoeff() <= 0x1p150 && size >= 0x1p-500 && error <= largest_error;
  double shift = 0;
  if (usable) {
    for (Index d = 0; d < 3; ++d) {
      const double normal = std::max({std::abs(n1[d]), std::abs(n2[d]), std::abs(n3[d])});
      shift += 3 * normal / size * std::max(std::abs(box.low[d]), std::abs(box.high[d]));
    }
    shift *= 2 * static_cast<double>(fixed_->levels) * 0x1p-53;
    usable = shift <= largest_shift;
  }
  for (std::size_t d = 0; d < 3; ++d) {
    const auto a = static_cast<Index>(d);
    const double g1 = usable ? n1[a] / whole : 0;
    const double g2 = usable ? n2[a] / whole : 0;
    const double g3 = usable ? n3[a] / whole : 0;
    map.gradient[d] = {-(g1 + g2 + g3), g1, g2, g3};
  }
  Placement& placed = pose_.placements[i];
  placed.orientation = static_cast<std::int8_t>(usable ? (whole > 0 ? 1 : -1) : tet_orientation(c));
  placed.kind = disabled ? Kind::disabled : placed.orientation == 0 ? Kind::flat : Kind::enabled;
  pose_.errors[i] = usable ? error + shift : infinity;
  map.margin = placed.kind == Kind::enabled ? pose_.errors[i] : infinity;
}

MENISCUS_INLINE TetWeights SubdivisionLocator::coordinates(const mesh::Point& p, std::int32_t t) const {
  const AffineMap& map = pose_.maps[t];
  const double x = p[0] - map.origin[0];
  const double y = p[1] - map.origin[1];
  const double z = p[2] - map.origin[2];
  std::array<mesh::CoordinateLanes, 3> g;
  static_assert(sizeof(g) == sizeof(map.gradient));
  std::memcpy(g.data(), map.gradient.data(), sizeof(g));
  const mesh::CoordinateLanes r = ((x * g[0] + y * g[1]) + z * g[2]) + mesh::CoordinateLanes{1, 0, 0, 0};
  TetWeights b;
  std::memcpy(b.data(), &r, sizeof(r));
  return b;
}

MENISCUS_INLINE std::size_t SubdivisionLocator::diagonal(std::int32_t coarse, Index before, std::int32_t path) const {
  const Index at = before + path;
  const std::uint8_t byte = fixed_->diagonals[fixed_->stride * static_cast<std::size_t>(coarse) + at / 4];
  return static_cast<std::size_t>(byte >> (2 * (at % 4)) & 3);
}

/// From a descendant to its child.
MENISCUS_INLINE void SubdivisionLocator::descend(Descent& d, Index before) const {
  const std::size_t cut = diagonal(d.coarse, before, d.path);
  const std::size_t child = mesh::child_at(d.b.data(), cut);
  mesh::to_child(mesh::child_coordinates_row(cut, child), d.b.data(), d.b.data());
  d.path = 8 * d.path + static_cast<std::int32_t>(child);
}

/// The sides of the faces on which the point lies: 1 inside, 0 on the face, -1 outside; without a map, exact ones of a
/// tetrahedron that is not flat; with one, 0 within its error.
std::array<int, 4> SubdivisionLocator::sides(const mesh::Point& p, std::int32_t t) const {
  const double error = pose_.errors[t];
  std::array<int, 4> side;
  if (error < infinity) {
    const TetWeights b = coordinates(p, t);
    for (std::size_t k = 0; k < 4; ++k) side[k] = b[k] > error ? 1 : b[k] < -error ? -1 : 0;
    return side;
  }
  for (std::size_t k = 0; k < 4; ++k) {
    TetCorners c = corners(t);
    c[k] = p;
    side[k] = pose_.placements[t].orientation * tet_orientation(c);
  }
  return side;
}

/// The first descendant of a tetrahedron that holds the point, by the positions of its vertices as `interpolate` rounds them.
/// Rounded middles lie in the box of their ends, so that all descendants lie in the box of the corners.
TetLocation SubdivisionLocator::first_descendant(const mesh::Point& p, const TetCorners& corner, const Descent& d, Index depth,
                                                 Index level) const {
  mesh::Box box;
  for (const mesh::Point& x : corner) box.add(x);
  if (!((box.low.array() <= p.array()) && (p.array() <= box.high.array())).all()) return {};
  if (depth == level) {
    const TetAnswer r = locate_in_tet(p, corner, tet_orientation(corner));
    if (r.side == TetSide::outside) return {};
    return {static_cast<std::int32_t>((static_cast<Index>(d.coarse) << (3 * level)) + d.path), r.weights};
  }
  std::array<mesh::Point, 6> middle;
  for (std::size_t e = 0; e < 6; ++e) middle[e] = 0.5 * (corner[mesh::tet_edges[e][0]] + corner[mesh::tet_edges[e][1]]);
  std::array<TetCorners, 8> children;
  mesh::cut_into_eight(corner, middle.data(), diagonal(d.coarse, diagonals_before(depth), d.path), children.data());
  for (std::int32_t child = 0; child < 8; ++child) {
    Descent next = d;
    next.path = 8 * d.path + child;
    const TetLocation r = first_descendant(p, children[child], next, depth + 1, level);
    if (r.tet >= 0) return r;
  }
  return {};
}

/// The descendant of a coarse tetrahedron that holds the point, if there is one.
TetLocation SubdivisionLocator::resolve(const mesh::Point& p, std::int32_t coarse, Index level) const {
  const double error = pose_.errors[coarse];
  Descent d;
  d.coarse = coarse;
  if (error < infinity) {
    d.b = coordinates(p, coarse);
    if (*std::min_element(d.b.begin(), d.b.end()) < -error) return {};
    for (Index l = 0; l < level; ++l) descend(d, diagonals_before(l));
    if (*std::min_element(d.b.begin(), d.b.end()) > std::ldexp(error, static_cast<int>(2 * level)))
      return {static_cast<std::int32_t>((static_cast<Index>(coarse) << (3 * level)) + d.path), d.b};
    d.path = 0;
  }
  return first_descendant(p, corners(coarse), d, 0, level);
}

/// What the walk finds; nothing where the tree has to answer.
TetLocation SubdivisionLocator::walk(const mesh::Point& p, std::int32_t t, Index level) const {
  std::int32_t previous = -1;
  for (int step = 0; step < longest_descent; ++step) {
    const Index i = t;
    if (pose_.placements[i].orientation == 0) return {};
    const std::array<int, 4> side = sides(p, t);
    if (*std::min_element(side.begin(), side.end()) >= 0) return first_around(p, t, level);
    TetWeights depth{};
    if (pose_.errors[i] < infinity)
      depth = coordinates(p, t);
    else
      for (std::size_t k = 0; k < 4; ++k) depth[k] = side[k];
    std::int32_t next = -1;
    double lowest = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t beside = fixed_->neighbours[i][k];
      if (side[k] >= 0 || !(depth[k] < lowest) || beside < 0 || beside == previous) continue;
      lowest = depth[k];
      next = beside;
    }
    if (next < 0) return {};
    previous = t;
    t = next;
  }
  return {};
}

/// The first descendant that holds the point, of the coarse tetrahedra that are reached from t across faces with the point on
/// them. Those that are flat, or too thin to say, are crossed.
TetLocation SubdivisionLocator::first_around(const mesh::Point& p, std::int32_t t, Index level) const {
  std::array<std::int32_t, largest_star> star;
  star[0] = t;
  std::size_t count = 1;
  for (std::size_t at = 0; at < count; ++at) {
    const Index here = star[at];
    std::array<int, 4> side{};
    if (pose_.errors[here] < infinity) {
      side = sides(p, star[at]);
      if (*std::min_element(side.begin(), side.end()) < 0) continue;
    } else if (!((pose_.boxes[here].low.array() <= p.array()) && (p.array() <= pose_.boxes[here].high.array())).all()) {
      continue;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t beside = fixed_->neighbours[here][k];
      if (side[k] != 0 || beside < 0) continue;
      const auto end = star.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(star.begin(), end, beside) != end) continue;
      if (count == largest_star) return {};
      star[count++] = beside;
    }
  }
  std::sort(star.begin(), star.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t at = 0; at < count; ++at) {
    if (pose_.placements[star[at]].kind == Kind::disabled) continue;
    const TetLocation r = resolve(p, star[at], level);
    if (r.tet >= 0) return r;
  }
  return {};
}

/// The first of all enabled descendants that hold the point.
TetLocation SubdivisionLocator::search(const mesh::Point& p, Index level) const {
  TetLocation best;
  std::int32_t first = -1;
  pose_.tree.for_each_overlap({p, p}, [&](Index slot) {
    const std::int32_t t = pose_.tree.element(slot);
    if (pose_.placements[t].kind == Kind::disabled || (first >= 0 && t > first)) return;
    const TetLocation r = resolve(p, t, level);
    if (r.tet < 0) return;
    best = r;
    first = t;
  });
  return best;
}

/// Begins with the coarse tetrahedron of the hint or, where the point certainly is outside of it, with one a few faces away.
MENISCUS_INLINE SubdivisionLocator::Descent SubdivisionLocator::enter(const mesh::Point& p, std::int32_t coarse,
                                                                      double growth) const {
  for (int step = 0; step < 3; ++step) {
    const Index i = coarse;
    const TetWeights b = coordinates(p, coarse);
    const double margin = pose_.maps[i].margin;
    const std::size_t k = b[1] < b[0] ? 1 : 0;
    const std::size_t l = b[3] < b[2] ? 3 : 2;
    const std::size_t lowest = b[l] < b[k] ? l : k;
    if (!(b[lowest] < -margin)) return {b, coarse, 0, growth * margin};
    coarse = fixed_->neighbours[i][lowest];
    if (coarse < 0) break;
  }
  return {};
}

/// Asks for the memory that `enter` begins with.
MENISCUS_INLINE void SubdivisionLocator::fetch(std::int32_t coarse) const {
  if (coarse < 0 || coarse >= size()) return;
  const auto* const map = reinterpret_cast<const char*>(&pose_.maps[coarse]);
  __builtin_prefetch(map);
  __builtin_prefetch(map + 64);
  __builtin_prefetch(fixed_->diagonals.data() + fixed_->stride * static_cast<std::size_t>(coarse));
}

MENISCUS_NOINLINE TetLocation SubdivisionLocator::locate_slowly(const mesh::Point& p, std::int32_t coarse, Index level) const {
  if (coarse >= 0) {
    const TetLocation r = walk(p, coarse, level);
    if (r.tet >= 0) return r;
  }
  return search(p, level);
}

void SubdivisionLocator::locate(std::span<const mesh::Point> points, std::span<const std::int32_t> hints, Index level,
                                std::span<std::int32_t> tets, std::span<TetWeights> weights) const {
  require(level >= 0 && level <= levels(), "level must be in [0, ", levels(), "], but is ", level);
  require(hints.empty() || hints.size() == points.size(), "hints must have one value per point, ", points.size(), ", not ",
          hints.size());
  const Index count = size() << (3 * level);
  std::atomic<bool> finite = true;
  std::atomic<bool> known = true;
  const double growth = std::ldexp(1.0, static_cast<int>(2 * level));
  parallel_for(0, static_cast<Index>(points.size()), descent_chunk, [&](Index b, Index e) {
    simd_dispatch([&] {
      for (Index first = b; first < e; first += batch) {
        const auto n = static_cast<std::size_t>(std::min(batch, e - first));
        const Index at = first;
        std::array<Descent, batch> d{};
        if (!hints.empty()) {
          for (std::size_t j = 0; j < n; ++j) {
            const auto next = static_cast<std::size_t>(std::min(first + static_cast<Index>(j) + batch, e - 1));
            fetch(hints[next] >> (3 * level));
            const std::int32_t hint = hints[at + j];
            if (hint >= 0 && hint < count) d[j] = enter(points[at + j], hint >> (3 * level), growth);
          }
          // All of a batch go down together: a step has to wait for the one before, not for the other points.
          for (Index l = 0; l < level; ++l) {
            const Index before = diagonals_before(l);
            for (std::size_t j = 0; j < n; ++j) descend(d[j], before);
          }
        }
        for (std::size_t j = 0; j < n; ++j) {
          // Where a point certainly is inside of a descendant, that is the only one of its sheet, however it was chosen.
          const TetWeights& w = d[j].b;
          const double limit = d[j].limit;
          TetLocation r{static_cast<std::int32_t>((static_cast<Index>(d[j].coarse) << (3 * level)) + d[j].path), w};
          if (!(w[0] > limit && w[1] > limit && w[2] > limit && w[3] > limit)) {
            const mesh::Point& p = points[at + j];
            const std::int32_t hint = hints.empty() ? -1 : hints[at + j];
            if (!p.allFinite()) finite = false;
            if (hint < -1 || hint >= count) known = false;
            r = locate_slowly(p, hint < 0 || hint >= count ? -1 : hint >> (3 * level), level);
          }
          tets[at + j] = r.tet;
          weights[at + j] = r.weights;
        }
      }
    });
  });
  if (!finite) mesh::require_finite(points, "points");
  for (std::size_t i = 0; i < hints.size() && !known; ++i)
    require(hints[i] >= -1 && hints[i] < count, "hints must be -1 or numbers of the ", count, " tetrahedra, but [", i, "] is ",
            hints[i]);
}

std::size_t SubdivisionLocator::Pose::nbytes() const {
  return vertices.size() * sizeof(mesh::Point) +
         maps.size() * (sizeof(AffineMap) + sizeof(double) + sizeof(Placement) + sizeof(mesh::Box)) +
         static_cast<std::size_t>(tree.nbytes());
}

std::size_t SubdivisionLocator::shared_nbytes() const {
  const std::scoped_lock lock(spare_->mutex);
  return fixed_->tets.size() * 2 * sizeof(mesh::Tet) + fixed_->diagonals.size() + (spare_->pose ? spare_->pose->nbytes() : 0);
}

}  // namespace meniscus::collision
