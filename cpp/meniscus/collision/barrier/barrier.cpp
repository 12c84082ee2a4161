#include "meniscus/collision/barrier/barrier.hpp"

#include "meniscus/collision/proximity/proximity.hpp"
#include "meniscus/core/error.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::collision {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Mean of the least values of both elements.
double of_pair(PairKind kind, const Stencil& s, const std::vector<double>& value) {
  const auto v = [&](std::size_t k) { return value[s[k]]; };
  if (kind == PairKind::vertex_face) return 0.5 * (v(0) + std::min({v(1), v(2), v(3)}));
  return 0.5 * (std::min(v(0), v(1)) + std::min(v(2), v(3)));
}

/// Whether boxes around the elements are less than `distance` apart.
bool boxes_within(PairKind kind, const PairPoints& x, double distance) {
  const std::size_t own = kind == PairKind::vertex_face ? 1 : 2;
  for (Index d = 0; d < 3; ++d) {
    double low[2] = {infinite, infinite}, high[2] = {-infinite, -infinite};
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t e = k < own ? 0 : 1;
      low[e] = std::min(low[e], x[k][d]);
      high[e] = std::max(high[e], x[k][d]);
    }
    if (low[1] - high[0] >= distance || low[0] - high[1] >= distance) return false;
  }
  return true;
}

}  // namespace

Barrier::Barrier(const CollisionMesh& mesh, std::span<const mesh::Point> rest, std::span<const double> distance,
                 std::span<const std::int32_t> groups, const BarrierOptions& options)
    : options_(options),
      rest_(rest.begin(), rest.end()),
      distance_(distance.begin(), distance.end()),
      groups_(groups.begin(), groups.end()),
      least_(infinite),
      least_part_(infinite) {
  const std::size_t n = rest.size();
  require(distance.size() == n, "there must be an activation distance for each of ", n, " vertices, not ", distance.size());
  require(groups.empty() || groups.size() == n, "there must be a group for each of ", n, " vertices, not ", groups.size());
  require(options.rest_part >= 0 && std::isfinite(options.rest_part), "rest_part must not be negative, but is ",
          options.rest_part);
  mesh::require_finite(rest, "rest");
  for (std::size_t v = 0; v < n; ++v)
    require(distance[v] > 0 && std::isfinite(distance[v]), "activation distances must be positive, but [", v, "] is ",
            distance[v]);
  const auto known = [&](std::int32_t v) {
    require(static_cast<std::size_t>(v) < n, "the mesh has vertex ", v, ", but rest has ", n, " positions");
  };
  for (const auto& e : mesh.edges()) std::ranges::for_each(e, known);
  for (const mesh::Triangle& t : mesh.triangles()) std::ranges::for_each(t, known);
  growth_.resize(n);
  // Half of the distance, so that boxes of two elements overlap within the mean of both; a bit more for rounding.
  std::ranges::transform(distance_, growth_.begin(), [](double h) { return 0.5000001 * h; });
}

void Barrier::find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions) {
  gather(mesh, nodes, positions);
  const Candidate* const c = touching();
  if (c == nullptr) return store();
  const char* const kind = c->pair.form.kind == PairKind::vertex_face ? "vertex and triangle " : "edges ";
  require(false, "elements must not touch, but ", kind, c->pair.elements[0], " and ", c->pair.elements[1], " do");
}

bool Barrier::try_find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions) {
  gather(mesh, nodes, positions);
  if (touching() != nullptr) return false;
  store();
  return true;
}

const Barrier::Candidate* Barrier::touching() const {
  const auto c = std::ranges::find_if(found_, [](const Candidate& f) { return !(f.squared > 0); });
  return c == found_.end() ? nullptr : &*c;
}

void Barrier::gather(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions) {
  const std::size_t n = rest_.size();
  pairs_.clear();
  matrices_.clear();
  stencils_.clear();
  sums_.set(stencils_, n);
  least_ = least_part_ = infinite;
  require(positions.size() == n && static_cast<std::size_t>(nodes.vertices()) == n, "the surface has ", n, " vertices, not ",
          positions.size(), ", and the nodes not ", nodes.vertices());
  yielding_.resize(n);
  for (std::size_t v = 0; v < n; ++v) yielding_[v] = nodes.yields(static_cast<std::int32_t>(v)) ? 1 : 0;
  const bool all = std::ranges::find(yielding_, 0) == yielding_.end();
  found_.clear();
  const auto join = [&] {
    const auto first = static_cast<std::ptrdiff_t>(found_.size());
    for (auto& c : chunks_) {
      found_.insert(found_.end(), c.begin(), c.end());
      c.clear();
    }
    // The order of trees depends on what they were built for.
    std::sort(found_.begin() + first, found_.end(),
              [](const Candidate& a, const Candidate& b) { return a.pair.elements < b.pair.elements; });
  };
  for (auto& c : chunks_) c.clear();
  mesh.for_each_near(
      positions, growth_, all ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(yielding_),
      [&](PairKind, Index chunks) {
        join();
        if (chunks_.size() < static_cast<std::size_t>(chunks)) chunks_.resize(chunks);
      },
      [&](PairKind kind, const PairBlock& block) { add(kind, block, positions, chunks_[block.chunk]); });
  join();
}

void Barrier::add(PairKind kind, const PairBlock& block, std::span<const mesh::Point> positions,
                  std::vector<Candidate>& out) const {
  for (std::size_t i = 0; i < block.pairs.size(); ++i) {
    const Stencil& s = block.stencils[i];
    double h = of_pair(kind, s, distance_);
    const PairPoints x = pair_points_of(s, positions);
    if (!boxes_within(kind, x, h)) continue;
    const double squared = squared_distance(kind, x).value;
    if (squared >= h * h) continue;
    const std::size_t second = kind == PairKind::vertex_face ? 1 : 2;
    const PairPoints rest = pair_points_of(s, rest_);
    if (options_.rest_part > 0 && (groups_.empty() || groups_[s[0]] == groups_[s[second]])) {
      const double limit = options_.rest_part * proximity(kind, rest).distance;
      if (limit > 0) h = std::min(h, limit);
      if (squared >= h * h) continue;
    }
    PairBarrier form{kind, h * h, 1, 0};
    if (options_.scale == BarrierScale::normalized) form.scale = 1 / (form.reach * form.reach);
    if (kind == PairKind::edge_edge)
      form.threshold = mollifier_threshold((rest[1] - rest[0]).squaredNorm(), (rest[3] - rest[2]).squaredNorm());
    out.push_back({{form, block.pairs[i], s}, squared});
  }
}

void Barrier::store() {
  for (const Candidate& c : found_) {
    pairs_.push_back(c.pair);
    stencils_.push_back(c.pair.vertices);
    least_ = std::min(least_, c.squared);
    least_part_ = std::min(least_part_, c.squared / c.pair.form.reach);
  }
  least_ = std::sqrt(least_);
  least_part_ = std::sqrt(least_part_);
  sums_.set(stencils_, rest_.size());
}

void Barrier::require_size(std::span<const mesh::Point> x) const {
  require(x.size() == rest_.size(), "the surface has ", rest_.size(), " vertices, not ", x.size());
}

double Barrier::energy(std::span<const mesh::Point> x) const {
  require_size(x);
  return parallel_reduce(
      0, static_cast<Index>(pairs_.size()), 64, 0.0,
      [&](Index b, Index e) {
        double sum = 0;
        for (Index i = b; i < e; ++i) sum += pair_energy(pairs_[i].form, pair_points_of(stencils_[i], x));
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void Barrier::add_gradient(std::span<const mesh::Point> x, double factor, std::span<mesh::Point> out) {
  require_size(x);
  require_size(out);
  sums_.add([&](std::size_t i) -> PairVector { return factor * pair_gradient(pairs_[i].form, pair_points_of(stencils_[i], x)); },
            out);
}

void Barrier::linearise(std::span<const mesh::Point> x, Curvature curvature) {
  require_size(x);
  matrices_.resize(pairs_.size());
  parallel_for(0, static_cast<Index>(pairs_.size()), 32, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) matrices_[i] = pair_hessian(pairs_[i].form, pair_points_of(stencils_[i], x), curvature);
  });
}

void Barrier::add_product(std::span<const mesh::Point> u, double factor, std::span<mesh::Point> out) {
  require_size(u);
  require_size(out);
  require(matrices_.size() == pairs_.size(), "the pairs have not been linearised");
  sums_.add(
      [&](std::size_t i) -> PairVector {
        const Stencil& s = stencils_[i];
        PairVector v;
        for (std::size_t k = 0; k < 4; ++k) v.segment<3>(static_cast<Index>(3 * k)) = u[s[k]];
        return factor * (matrices_[i] * v);
      },
      out);
}

void Barrier::add_diagonal(double factor, std::span<Eigen::Matrix3d> out) const {
  require(out.size() == rest_.size(), "the surface has ", rest_.size(), " vertices, not ", out.size());
  require(matrices_.size() == pairs_.size(), "the pairs have not been linearised");
  sums_.add_blocks(
      [&](std::size_t i, std::size_t k) -> Eigen::Matrix3d {
        const auto at = static_cast<Index>(3 * k);
        return factor * matrices_[i].block<3, 3>(at, at);
      },
      out);
}

Index Barrier::nbytes() const {
  const auto bytes = []<class T>(const std::vector<T>& v) { return static_cast<Index>(v.capacity() * sizeof(T)); };
  Index sum = bytes(rest_) + bytes(distance_) + bytes(growth_) + bytes(groups_) + bytes(yielding_) + bytes(pairs_) +
              bytes(stencils_) + bytes(matrices_) + sums_.nbytes() + bytes(chunks_) + bytes(found_);
  for (const auto& c : chunks_) sum += bytes(c);
  return sum;
}

}  // namespace meniscus::collision
