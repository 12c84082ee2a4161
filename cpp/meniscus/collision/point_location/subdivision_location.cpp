#include "meniscus/collision/point_location/subdivision_location.hpp"

#include "meniscus/collision/point_location/exact_volumes.hpp"
#include "meniscus/collision/point_location/tet_neighbours.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/mesh/refinement/child_coordinates.hpp"

#include <atomic>

namespace meniscus::collision {
namespace {

constexpr Index mesh_chunk = 512;
constexpr Index point_chunk = 512;
/// Points that are handled together.
constexpr Index batch = 8;
/// A walk that takes longer is lost: it may go in circles where tetrahedra are inverted.
constexpr int longest_walk = 100;
/// Tetrahedra around a vertex, at most; where there are more, the tree answers.
constexpr std::size_t largest_star = 512;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// Maps with larger errors are not used.
constexpr double largest_error = 0x1p-36;

/// The number of diagonals on the levels before.
constexpr Index diagonals_before(Index level) { return ((Index{1} << (3 * level)) - 1) / 7; }

}  // namespace

SubdivisionLocator::SubdivisionLocator(const mesh::UniformSubdivision<4>& subdivision, std::span<const mesh::Point> vertices)
    : vertices_(vertices.begin(), vertices.end()), tree_(std::span<const mesh::Box>()) {
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
  parallel_for(0, static_cast<Index>(tets.size()), mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t)
      for (Index level = 0; level < fixed->levels; ++level) {
        const auto from = subdivision.diagonals(level);
        const Index count = Index{1} << (3 * level);
        for (Index path = 0; path < count; ++path) {
          const auto at = static_cast<std::size_t>(diagonals_before(level) + path);
          const auto bits = static_cast<unsigned>(from[static_cast<std::size_t>(t * count + path)]) << (2 * (at % 4));
          std::uint8_t& byte = fixed->diagonals[fixed->stride * static_cast<std::size_t>(t) + at / 4];
          byte = static_cast<std::uint8_t>(byte | bits);
        }
      }
  });
  maps_.resize(tets.size());
  errors_.resize(tets.size());
  placed_.resize(tets.size());
  boxes_.resize(tets.size());
  fixed_ = std::move(fixed);
  parallel_for(0, size(), mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) place(static_cast<std::int32_t>(t), false);
  });
  tree_ = mesh::BoundingVolumeTree(boxes_);
}

void SubdivisionLocator::move(std::span<const mesh::Point> vertices, std::span<const bool> disabled) {
  require(vertices.size() == vertices_.size(), "vertices must have ", vertices_.size(), " rows, not ", vertices.size());
  require(disabled.empty() || static_cast<Index>(disabled.size()) == size(), "disabled must have one value per tetrahedron, ",
          size(), ", not ", disabled.size());
  mesh::require_finite(vertices, "vertices");
  std::copy(vertices.begin(), vertices.end(), vertices_.begin());
  parallel_for(0, size(), mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) place(static_cast<std::int32_t>(t), !disabled.empty() && disabled[static_cast<std::size_t>(t)]);
  });
  tree_.refit(boxes_);
}

TetCorners SubdivisionLocator::corners(std::int32_t t) const {
  const mesh::Tet& v = fixed_->tets[static_cast<std::size_t>(t)];
  return {vertices_[static_cast<std::size_t>(v[0])], vertices_[static_cast<std::size_t>(v[1])],
          vertices_[static_cast<std::size_t>(v[2])], vertices_[static_cast<std::size_t>(v[3])]};
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
void SubdivisionLocator::place(std::int32_t t, bool disabled) {
  const auto i = static_cast<std::size_t>(t);
  const TetCorners c = corners(t);
  mesh::Box box;
  for (const mesh::Point& x : c) box.add(x);
  boxes_[i] = box;
  AffineMap& map = maps_[i];
  for (std::size_t d = 0; d < 3; ++d) map.origin[d] = c[0][static_cast<Index>(d)];
  const mesh::Point e1 = c[1] - c[0], e2 = c[2] - c[0], e3 = c[3] - c[0];
  const mesh::Point n1 = e2.cross(e3), n2 = e3.cross(e1), n3 = e1.cross(e2);
  const double whole = e1.dot(n1);
  const mesh::Point h = e1.cwiseAbs().cwiseMax(e2.cwiseAbs()).cwiseMax(e3.cwiseAbs());
  const double size = std::abs(whole);
  const double error = 1024 * 0x1p-53 * (h[0] * h[1] * h[2] / size) + 0x1p-48;
  const bool usable = h.minCoeff() >= 0x1p-150 && h.maxCoeff() <= 0x1p150 && size >= 0x1p-500 && error <= largest_error;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto a = static_cast<Index>(d);
    const double g1 = usable ? n1[a] / whole : 0;
    const double g2 = usable ? n2[a] / whole : 0;
    const double g3 = usable ? n3[a] / whole : 0;
    map.gradient[d] = {-(g1 + g2 + g3), g1, g2, g3};
  }
  Placement& placed = placed_[i];
  placed.orientation = static_cast<std::int8_t>(usable ? (whole > 0 ? 1 : -1) : tet_orientation(c));
  placed.kind = placed.orientation == 0 ? Kind::flat : disabled ? Kind::disabled : Kind::enabled;
  errors_[i] = usable ? error : infinity;
  map.margin = placed.kind == Kind::enabled ? errors_[i] : infinity;
}

MENISCUS_INLINE TetWeights SubdivisionLocator::coordinates(const mesh::Point& p, std::int32_t t) const {
  const AffineMap& map = maps_[static_cast<std::size_t>(t)];
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
  const auto at = static_cast<std::size_t>(before + path);
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

std::array<int, 4> SubdivisionLocator::exact_sides(const mesh::Point& p, std::int32_t t) const {
  return with_exact_volumes(p, corners(t), placed_[static_cast<std::size_t>(t)].orientation, 0, [](const auto& volume) {
    return std::array<int, 4>{volume[0].sign(), volume[1].sign(), volume[2].sign(), volume[3].sign()};
  });
}

bool SubdivisionLocator::holds(const mesh::Point& p, std::int32_t t) const {
  const double error = errors_[static_cast<std::size_t>(t)];
  if (error < infinity) {
    const TetWeights b = coordinates(p, t);
    const double lowest = std::min(std::min(b[0], b[1]), std::min(b[2], b[3]));
    if (lowest > error) return true;
    if (lowest < -error) return false;
  }
  const std::array<int, 4> side = exact_sides(p, t);
  return *std::min_element(side.begin(), side.end()) >= 0;
}

/// The descendant of a coarse tetrahedron that holds the point.
TetLocation SubdivisionLocator::resolve(const mesh::Point& p, std::int32_t coarse, Index level) const {
  const Index first = static_cast<Index>(coarse) << (3 * level);
  if (errors_[static_cast<std::size_t>(coarse)] < infinity) {
    Descent d{coordinates(p, coarse), coarse, 0,
              std::ldexp(errors_[static_cast<std::size_t>(coarse)], static_cast<int>(2 * level))};
    for (Index l = 0; l < level; ++l) descend(d, diagonals_before(l));
    if (*std::min_element(d.b.begin(), d.b.end()) > d.limit) return {static_cast<std::int32_t>(first + d.path), d.b};
  }
  const int orientation = placed_[static_cast<std::size_t>(coarse)].orientation;
  return with_exact_volumes(p, corners(coarse), orientation, static_cast<int>(2 * level) + 4, [&](auto volume) {
    using Integer = std::decay_t<decltype(volume[0])>;
    std::int32_t path = 0;
    for (Index l = 0; l < level; ++l) {
      const std::size_t d = diagonal(coarse, diagonals_before(l), path);
      for (std::size_t child = 0; child < 8; ++child) {
        const auto& m = mesh::child_coordinates[mesh::child_coordinates_row(d, child)].column;
        std::array<Integer, 4> inside;
        bool held = true;
        for (std::size_t i = 0; i < 4 && held; ++i) {
          for (std::size_t k = 0; k < 4; ++k) {
            // Coefficients are 0, 1, -1 and 2.
            if (m[k][i] > 0) inside[i] = inside[i] + volume[k];
            if (m[k][i] > 1) inside[i] = inside[i] + volume[k];
            if (m[k][i] < 0) inside[i] = inside[i] - volume[k];
          }
          held = inside[i].sign() >= 0;
        }
        if (!held) continue;
        volume = inside;
        path = 8 * path + static_cast<std::int32_t>(child);
        break;
      }
    }
    TetLocation found;
    found.tet = static_cast<std::int32_t>(first + path);
    const Integer whole = (volume[0] + volume[1]) + (volume[2] + volume[3]);
    for (std::size_t k = 0; k < 4; ++k) found.weights[k] = exact_ratio(volume[k], whole);
    return found;
  });
}

/// The coarse tetrahedron that the walk finds; -1 where the tree has to answer.
std::int32_t SubdivisionLocator::walk(const mesh::Point& p, std::int32_t t) const {
  std::int32_t previous = -1;
  for (int step = 0; step < longest_walk; ++step) {
    const auto i = static_cast<std::size_t>(t);
    if (placed_[i].kind == Kind::flat) return -1;
    TetWeights side;
    double error = errors_[i];
    const bool exact = !(error < infinity);
    if (!exact) {
      side = coordinates(p, t);
      const double lowest = std::min(std::min(side[0], side[1]), std::min(side[2], side[3]));
      if (lowest > error) return placed_[i].kind == Kind::enabled ? t : -1;
      if (!(lowest < -error)) error = infinity;
    }
    if (!(error < infinity)) {
      const std::array<int, 4> sign = exact_sides(p, t);
      for (std::size_t k = 0; k < 4; ++k) side[k] = sign[k];
      error = 0;
      if (*std::min_element(sign.begin(), sign.end()) >= 0) return first_around(p, t);
    }
    double lowest = -error;
    std::int32_t next = -1;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t beside = fixed_->neighbours[i][k];
      if (!(side[k] < lowest) || beside < 0 || beside == previous) continue;
      lowest = side[k];
      next = beside;
    }
    if (next < 0) return -1;
    previous = t;
    t = next;
  }
  return -1;
}

/// The first enabled tetrahedron of those that hold the point and are reached from t across faces with the point on them; -1
/// where there is none. Flat ones with the point in their plane are crossed.
std::int32_t SubdivisionLocator::first_around(const mesh::Point& p, std::int32_t t) const {
  std::array<std::int32_t, largest_star> star;
  star[0] = t;
  std::size_t count = 1;
  std::int32_t best = -1;
  for (std::size_t at = 0; at < count; ++at) {
    const std::int32_t here = star[at];
    const Placement& placed = placed_[static_cast<std::size_t>(here)];
    const std::array<int, 4> side = exact_sides(p, here);
    if (*std::min_element(side.begin(), side.end()) < 0) continue;
    if (placed.kind == Kind::enabled && (best < 0 || here < best)) best = here;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t beside = fixed_->neighbours[static_cast<std::size_t>(here)][k];
      if (side[k] != 0 || beside < 0) continue;
      const auto end = star.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(star.begin(), end, beside) != end) continue;
      if (count == largest_star) return -1;
      star[count++] = beside;
    }
  }
  return best;
}

/// The first enabled coarse tetrahedron that holds the point; -1 outside of all.
std::int32_t SubdivisionLocator::search(const mesh::Point& p) const {
  std::int32_t best = -1;
  tree_.traverse(
      [&](std::int32_t, const mesh::BoundingVolumeTree::Node& n) {
        return ((n.box.low.array() <= p.array()) && (p.array() <= n.box.high.array())).all();
      },
      [&](const mesh::BoundingVolumeTree::Node& n) {
        for (std::int32_t s = n.first; s < n.first + n.count; ++s) {
          const std::int32_t t = tree_.order()[static_cast<std::size_t>(s)];
          if (placed_[static_cast<std::size_t>(t)].kind != Kind::enabled || (best >= 0 && t > best)) continue;
          if (holds(p, t)) best = t;
        }
      });
  return best;
}

/// Begins with the coarse tetrahedron of the hint or, where the point certainly is outside of it, with one a few faces away.
MENISCUS_INLINE SubdivisionLocator::Descent SubdivisionLocator::enter(const mesh::Point& p, std::int32_t coarse,
                                                                      double growth) const {
  for (int step = 0; step < 3; ++step) {
    const auto i = static_cast<std::size_t>(coarse);
    const TetWeights b = coordinates(p, coarse);
    const double margin = maps_[i].margin;
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
  const auto* const map = reinterpret_cast<const char*>(&maps_[static_cast<std::size_t>(coarse)]);
  __builtin_prefetch(map);
  __builtin_prefetch(map + 64);
  __builtin_prefetch(fixed_->diagonals.data() + fixed_->stride * static_cast<std::size_t>(coarse));
}

MENISCUS_NOINLINE TetLocation SubdivisionLocator::locate_slowly(const mesh::Point& p, std::int32_t coarse, Index level) const {
  std::int32_t found = coarse >= 0 ? walk(p, coarse) : -1;
  if (found < 0) found = search(p);
  return found < 0 ? TetLocation{} : resolve(p, found, level);
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
  parallel_for(0, static_cast<Index>(points.size()), point_chunk, [&](Index b, Index e) {
    simd_dispatch([&] {
      for (Index first = b; first < e; first += batch) {
        const auto n = static_cast<std::size_t>(std::min(batch, e - first));
        const auto at = static_cast<std::size_t>(first);
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

std::size_t SubdivisionLocator::nbytes() const {
  return fixed_->tets.size() * 2 * sizeof(mesh::Tet) + fixed_->diagonals.size() + vertices_.size() * sizeof(mesh::Point) +
         maps_.size() * (sizeof(AffineMap) + sizeof(double) + sizeof(Placement) + sizeof(mesh::Box)) +
         tree_.nodes().size_bytes() + tree_.order().size_bytes();
}

}  // namespace meniscus::collision
