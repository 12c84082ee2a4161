#include "meniscus/collision/contact/repulsion_pairs.hpp"

#include "meniscus/collision/contact/repulsion.hpp"
#include "meniscus/collision/contact/repulsion_lanes.hpp"
#include "meniscus/collision/proximity/proximity.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/core/simd.hpp"

#include <cmath>
#include <numeric>

namespace meniscus::collision {
namespace {

template <class Visit>
void for_each_yielding_node(const ContactNodes& nodes, const Stencil& pair, Visit&& visit) {
  if (nodes.plain()) {
    for (const std::int32_t v : pair)
      if (nodes.inverse_mass(v) > 0) visit(v);
  } else {
    for (const std::int32_t v : pair)
      for (const NodeShare& s : nodes.shares(v))
        if (nodes.inverse_mass(s.node) > 0) visit(s.node);
  }
}

constexpr Index pair_chunk = 4096;

using Points = std::array<mesh::Point, 4>;

Points points_of(const Stencil& s, std::span<const mesh::Point> x) {
  const auto at = [&](std::size_t k) -> const mesh::Point& { return x[s[k]]; };
  return {at(0), at(1), at(2), at(3)};
}

/// The value of each element from those of its vertices.
template <class Of>
std::pair<double, double> of_elements(PairKind kind, const Stencil& s, const std::vector<double>& value, Of&& of) {
  const auto v = [&](std::size_t k) { return value[s[k]]; };
  if (kind == PairKind::vertex_face) return {v(0), of(of(v(1), v(2)), v(3))};
  return {of(v(0), v(1)), of(v(2), v(3))};
}

double friction_of(PairKind kind, const Stencil& s, const RepulsionSurface& surface) {
  auto [a, b] = of_elements(kind, s, surface.friction, [](double x, double y) { return x + y; });
  if (kind == PairKind::edge_edge) a *= 0.5;
  b *= kind == PairKind::edge_edge ? 0.5 : 1.0 / 3;
  return std::sqrt(a * b);
}

/// Whether boxes around the elements are at most `distance` apart.
bool boxes_within(PairKind kind, const Points& x, double distance) {
  const bool face = kind == PairKind::vertex_face;
  for (Index d = 0; d < 3; ++d) {
    const double a0 = x[0][d];
    const double a1 = face ? a0 : x[1][d];
    const double b1 = face ? x[1][d] : x[2][d];
    const double low = std::min({b1, x[2][d], x[3][d]});
    const double high = std::max({b1, x[2][d], x[3][d]});
    if (low - std::max(a0, a1) > distance || std::min(a0, a1) - high > distance) return false;
  }
  return true;
}

/// Six times the volume of the four vertices: negative where two have to be exchanged to hold the side.
double volume(PairKind kind, const Points& x) {
  if (kind == PairKind::vertex_face) return (x[2] - x[1]).cross(x[3] - x[1]).dot(x[0] - x[1]);
  return (x[1] - x[0]).cross(x[3] - x[2]).dot(x[0] - x[2]);
}

/// Of the direction between two elements along their common normal: others pass beside each other, and their side says nothing.
constexpr double least_facing = 0.5;
/// Distances that are looked at on the way of a pair.
constexpr int most_advances = 8;

/// Whether balls around two elements come within `reach`: the first `first` points are those of one of them.
bool balls_come_within(std::size_t first, const Points& x, const Points& u, double reach) {
  mesh::Point place = mesh::Point::Zero(), way = mesh::Point::Zero();
  const double own = 1.0 / static_cast<double>(first), other = 1.0 / static_cast<double>(4 - first);
  for (std::size_t k = 0; k < 4; ++k) {
    place += (k < first ? own : -other) * x[k];
    way += (k < first ? own : -other) * u[k];
  }
  // Squares of the radii, and of the largest motion against that of the centre, of both elements.
  std::array<double, 2> size{0, 0}, stir{0, 0};
  for (std::size_t side = 0; side < 2; ++side) {
    const std::size_t b = side == 0 ? 0 : first, e = side == 0 ? first : 4;
    mesh::Point centre = mesh::Point::Zero(), mean = mesh::Point::Zero();
    for (std::size_t k = b; k < e; ++k) {
      centre += x[k];
      mean += u[k];
    }
    centre /= static_cast<double>(e - b);
    mean /= static_cast<double>(e - b);
    for (std::size_t k = b; k < e; ++k) {
      size[side] = std::max(size[side], (x[k] - centre).squaredNorm());
      stir[side] = std::max(stir[side], (u[k] - mean).squaredNorm());
    }
  }
  const double slack = std::sqrt(stir[0]) + std::sqrt(stir[1]);
  const double length = way.squaredNorm();
  const double time = length > 0 ? std::clamp(-place.dot(way) / length, 0.0, 1.0) : 0.0;
  return (place + time * way).norm() <= (1 + 1e-9) * (reach + slack + std::sqrt(size[0]) + std::sqrt(size[1]));
}

/// Whether elements at a distance come within `reach` along straight displacements, facing each other with the side of now.
bool come_within(PairKind kind, const Stencil& s, std::span<const mesh::Point> positions, std::span<const mesh::Point> motion,
                 double distance, double reach) {
  const std::size_t first = kind == PairKind::vertex_face ? 1 : 2;
  const Points u = points_of(s, motion);
  // No two points of a pair approach by more than its vertices do: most pairs end here.
  double most = 0;
  for (std::size_t i = 0; i < first; ++i)
    for (std::size_t j = first; j < 4; ++j) most = std::max(most, (u[j] - u[i]).squaredNorm());
  const double gap = distance - reach;
  if (most * (1 + 1e-12) < gap * gap) return false;
  const Points x = points_of(s, positions);
  if (!balls_come_within(first, x, u, reach)) return false;
  Points at = x;
  double time = 0;
  for (int k = 0;; ++k) {
    const ElementProximity p = proximity(kind, at);
    if (p.distance <= reach || k == most_advances) {
      const mesh::Point a = first == 1 ? mesh::Point(at[2] - at[1]) : mesh::Point(at[1] - at[0]);
      const mesh::Point b = first == 1 ? mesh::Point(at[3] - at[1]) : mesh::Point(at[3] - at[2]);
      const mesh::Point normal = a.cross(b);
      return std::abs(normal.dot(p.normal)) >= least_facing * normal.norm() && volume(kind, x) * volume(kind, at) > 0;
    }
    // Along the direction in which they are apart, no two of their points approach by more than vertices do.
    double approach = 0;
    for (std::size_t i = 0; i < first; ++i)
      for (std::size_t j = first; j < 4; ++j) approach = std::max(approach, p.normal.dot(u[j] - u[i]));
    time += approach > 0 ? (p.distance - reach) / approach : 2.0;
    if (time > 1) return false;
    for (std::size_t i = 0; i < 4; ++i) at[i] = x[i] + time * u[i];
  }
}

/// Whether a pair is within one body or of soft surfaces alone, is left out, or has no vertex that yields.
bool idle(PairKind kind, const Stencil& s, const RepulsionSurface& surface, bool soft_edges) {
  const auto at = [](const auto& values, std::int32_t v) { return values[v]; };
  const std::int32_t a = at(surface.body, s[0]), b = at(surface.body, s[kind == PairKind::vertex_face ? 1 : 2]);
  if (a == b) return true;
  const bool soft = a < 0 || b < 0;
  if (soft && (at(surface.apart, std::max(a, b)) != 0 || (kind == PairKind::edge_edge && !soft_edges))) return true;
  return (at(surface.yields, s[0]) | at(surface.yields, s[1]) | at(surface.yields, s[2]) | at(surface.yields, s[3])) == 0;
}

/// What is known of a candidate.
struct Nearness {
  double distance;
  double thickness;
  std::array<float, 3> direction;
  bool swapped;
  bool sound;
};

template <PairKind kind>
MENISCUS_INLINE void measure(const PairBlock& block, const RepulsionSurface& surface, std::span<const mesh::Point> positions,
                             Nearness* out) {
  using numerics::min;
  using numerics::Pack;
  constexpr std::size_t width = numerics::pack_size;
  const double* x = positions.data()->data();
  const double* h = surface.thickness.data();
  const std::size_t n = block.stencils.size();
  for (std::size_t first = 0; first < n; first += width) {
    numerics::PackVec3 y[4];
    Pack t[4];
    for (std::size_t i = 0; i < width; ++i) {
      const Stencil& s = block.stencils[std::min(first + i, n - 1)];
      for (std::size_t k = 0; k < 4; ++k) {
        const double* p = x + 3 * static_cast<std::size_t>(s[k]);
        y[k].x[i] = p[0];
        y[k].y[i] = p[1];
        y[k].z[i] = p[2];
        t[k][i] = h[s[k]];
      }
    }
    const bool face = kind == PairKind::vertex_face;
    const detail::NearLanes near = face ? detail::near_face(y) : detail::near_edges(y);
    const Pack thickness = 0.5 * (face ? t[0] + min(min(t[1], t[2]), t[3]) : min(t[0], t[1]) + min(t[2], t[3]));
    for (std::size_t i = 0; i < std::min(width, n - first); ++i) {
      const auto as_float = [](double v) { return static_cast<float>(v); };
      out[first + i] = {near.distance[i],
                        thickness[i],
                        {as_float(near.direction.x[i]), as_float(near.direction.y[i]), as_float(near.direction.z[i])},
                        near.volume[i] < 0,
                        near.sound[i] != 0};
    }
  }
}

template <class T>
Index bytes(const std::vector<T>& v) {
  return static_cast<Index>(v.capacity() * sizeof(T));
}

}  // namespace

Index RepulsionPairs::nbytes() const {
  return bytes(elements) + bytes(places) + bytes(thickness) + bytes(friction) + bytes(direction) + bytes(colours);
}

void RepulsionPairs::clear() {
  resize(0, false);
  colours.assign(1, 0);
}

void RepulsionPairs::resize(Index n, bool with_direction) {
  const Index size = n;
  elements.resize(size);
  places.resize(size);
  thickness.resize(size);
  friction.resize(size);
  direction.resize(with_direction ? size : 0);
}

Index RepulsionSurface::nbytes() const {
  return bytes(rest) + bytes(thickness) + bytes(friction) + bytes(component) + bytes(body) + bytes(yields) + bytes(apart);
}

void PairFinder::begin(PairKind kind, Index chunks) {
  OfKind& own = kinds_[kind == PairKind::vertex_face ? 0 : 1];
  own.chunks = chunks;
  if (own.found.size() < static_cast<std::size_t>(chunks)) own.found.resize(chunks);
  for (auto& f : own.found) f.clear();
}

void PairFinder::add(PairKind kind, const PairBlock& block, const RepulsionSurface& surface, const RepulsionOptions& options,
                     std::span<const mesh::Point> positions, std::span<const mesh::Point> motion) {
  std::array<Nearness, PairBlock::capacity> near;
  simd_dispatch([&] {
    if (kind == PairKind::vertex_face)
      measure<PairKind::vertex_face>(block, surface, positions, near.data());
    else
      measure<PairKind::edge_edge>(block, surface, positions, near.data());
  });
  auto& found = kinds_[kind == PairKind::vertex_face ? 0 : 1].found[block.chunk];
  for (std::size_t i = 0; i < block.pairs.size(); ++i) {
    Nearness& now = near[i];
    double h = now.thickness, margin = options.margin;
    Stencil s = block.stencils[i];
    bool approaching = false;
    const auto wanted = [&] {
      const double reach = options.generous * h + margin;
      if (now.distance <= reach) return true;
      approaching = !motion.empty() && come_within(kind, s, positions, motion, now.distance, reach);
      return approaching;
    };
    if (now.sound && !wanted()) continue;
    if (!now.sound) {
      const Points x = points_of(s, positions);
      const ElementProximity p = proximity(kind, x);
      now.distance = p.distance;
      for (std::size_t d = 0; d < 3; ++d) now.direction[d] = static_cast<float>(p.normal[static_cast<Index>(d)]);
      now.swapped = volume(kind, x) < 0;
      if (!wanted()) continue;
    }
    if (surface.component[s[0]] == surface.component[s[2]]) {
      const Points rest = points_of(s, surface.rest);
      const double wide = options.margin_at_rest ? 0.0 : options.generous * h + margin;
      if (boxes_within(kind, rest, std::max(h / options.clamp, wide))) {
        const double apart = proximity(kind, rest).distance;
        h = std::min(h, options.clamp * apart);
        if (apart <= wide) margin = 0;
        if (!wanted()) continue;
      }
      if (h == 0) continue;
    }
    if (now.swapped) std::swap(s[2], s[3]);
    found.push_back({block.pairs[i], s, now.direction, h, friction_of(kind, s, surface), approaching});
  }
}

void PairFinder::add_with_bodies(PairKind kind, const PairBlock& block, const RepulsionSurface& surface,
                                 const RepulsionOptions& options, std::span<const mesh::Point> positions,
                                 std::span<const mesh::Point> motion) {
  std::array<ElementPair, PairBlock::capacity> pairs;
  std::array<Stencil, PairBlock::capacity> stencils;
  std::size_t n = 0;
  for (std::size_t i = 0; i < block.pairs.size(); ++i) {
    if (idle(kind, block.stencils[i], surface, options.soft_edges)) continue;
    pairs[n] = block.pairs[i];
    stencils[n++] = block.stencils[i];
  }
  if (n > 0) add(kind, {block.chunk, {pairs.data(), n}, {stencils.data(), n}}, surface, options, positions, motion);
}

const PairFinder::Found& PairFinder::OfKind::at(Index i) const {
  const auto c = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), i) - first.begin()) - 1;
  return found[c][i - first[c]];
}

void PairFinder::sort(OfKind& own, Index seconds) {
  own.first.assign(static_cast<std::size_t>(own.chunks) + 1, 0);
  for (Index c = 0; c < own.chunks; ++c) own.first[c + 1] = own.first[c] + static_cast<Index>(own.found[c].size());
  const Index n = own.first.back();
  auto keys = workspace_.take<std::uint64_t>(n);
  own.order = workspace_.take<Index>(n);
  std::uint64_t end = 0;
  for (Index c = 0; c < own.chunks; ++c) {
    std::uint64_t* key = keys.data() + own.first[c];
    for (const Found& f : own.found[c]) {
      *key = static_cast<std::uint64_t>(f.elements[0]) * static_cast<std::uint64_t>(seconds) +
             static_cast<std::uint64_t>(f.elements[1]);
      end = std::max(end, *key++ + 1);
    }
  }
  radix_sort(keys.data(), own.order.data(), n, end, workspace_);
  own.sorted.resize(n);
  parallel_for(0, n, pair_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) own.sorted[i] = own.at(own.order.data()[i]).vertices;
  });
}

void PairFinder::store(OfKind& own, bool with_direction, RepulsionPairs& out) {
  const Index n = own.first.back();
  out.resize(n, with_direction);
  out.colours.assign(own.colouring.first().begin(), own.colouring.first().end());
  parallel_for(0, n, pair_chunk, [&](Index b, Index e) {
    for (Index to = b; to < e; ++to) {
      const Found& f = own.at(own.order.data()[own.colouring.order()[to]]);
      out.elements[to] = f.elements;
      out.places[to] = f.vertices;
      out.thickness[to] = f.thickness;
      out.friction[to] = f.friction;
      if (with_direction) out.direction[to] = f.direction;
    }
  });
}

void PairFinder::collect(const ContactNodes& nodes, std::span<const Index, 2> seconds, std::array<RepulsionPairs, 2>& out) {
  for (std::size_t k = 0; k < 2; ++k) sort(kinds_[k], seconds[k]);
  approaching_ = 0;
  for (const OfKind& own : kinds_)
    for (Index c = 0; c < own.chunks; ++c)
      approaching_ += std::ranges::count_if(own.found[c], [](const Found& f) { return f.approaching; });
  // One pair after the other, but both kinds at once.
  parallel_for(0, 2, 1, [&](Index k, Index) {
    OfKind& own = kinds_[k];
    own.colouring.colour(std::ssize(own.sorted), nodes.nodes(),
                         [&](Index i, auto&& visit) { for_each_yielding_node(nodes, own.sorted[i], visit); });
  });
  for (std::size_t k = 0; k < 2; ++k) {
    store(kinds_[k], k == 1, out[k]);
    kinds_[k].order = {};
  }
}

Index PairFinder::nbytes() const {
  Index sum = workspace_.bytes();
  for (const OfKind& own : kinds_) {
    sum += bytes(own.found) + bytes(own.first) + bytes(own.sorted) + own.colouring.nbytes();
    for (const auto& f : own.found) sum += bytes(f);
  }
  return sum;
}

}  // namespace meniscus::collision
