#include "meniscus/fluids/tet_projection/tet_pressure_domain.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr Index domain_chunk = 4096;

/// Smallest altitude relative to the longest edge, negative where inverted; not above 0 also for what is no number.
double signed_aspect(const std::array<mesh::Point, 4>& x) {
  double longest = 0, largest = 0;
  for (const auto& [a, b] : mesh::tet_edges) longest = std::max(longest, (x[b] - x[a]).squaredNorm());
  for (const auto& [a, b, c] : mesh::tet_faces) largest = std::max(largest, mesh::area_vector(x[a], x[b], x[c]).squaredNorm());
  const double aspect = 6 * mesh::signed_volume(x[0], x[1], x[2], x[3]) / (std::sqrt(largest) * std::sqrt(longest));
  return std::isnan(aspect) ? 0 : aspect;
}

}  // namespace

void TetPressureDomain::classify(const TetPressureTopology& mesh, const TetPressureProblem& problem) {
  find_contents(mesh, problem);
  find_unknowns(mesh, problem);
  find_regions(mesh);
}

void TetPressureDomain::find_contents(const TetPressureTopology& mesh, const TetPressureProblem& problem) {
  const auto m = static_cast<Index>(mesh.tets().size());
  content_.resize(m);
  using Counts = std::array<Index, 2>;
  const Counts counts = parallel_reduce(
      0, m, domain_chunk, Counts{},
      [&](Index begin, Index end) {
        Counts n{};
        for (Index t = begin; t < end; ++t) {
          TetContent content = TetContent::solid;
          const bool wet = problem.wet[t] != 0;
          if (!problem.enabled || problem.enabled[t]) {
            std::array<mesh::Point, 4> x;
            for (std::size_t k = 0; k < 4; ++k) x[k] = problem.positions[mesh.tet(t)[k]];
            const bool open = !problem.open_fraction || problem.open_fraction[t] >= problem.min_open;
            const double aspect = signed_aspect(x);
            if (open && aspect > 0 && aspect >= problem.min_aspect)
              content = wet ? TetContent::water : TetContent::air;
            else
              n[1] += wet && (!problem.open_fraction || problem.open_fraction[t] > 0);
          }
          n[0] += content == TetContent::water;
          content_[t] = static_cast<std::uint8_t>(content);
        }
        return n;
      },
      [](const Counts& a, const Counts& b) { return Counts{a[0] + b[0], a[1] + b[1]}; });
  wet_tets_ = counts[0];
  excluded_tets_ = counts[1];
}

void TetPressureDomain::find_unknowns(const TetPressureTopology& mesh, const TetPressureProblem& problem) {
  const Index n = mesh.vertices();
  unknown_.resize(n);
  parallel_for(0, n, domain_chunk, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v) {
      bool water = false, air = false;
      for (const std::int32_t c : mesh.corners_at(v)) {
        water |= content(c / 4) == TetContent::water;
        air |= content(c / 4) == TetContent::air;
      }
      unknown_[v] = water && !air ? 0 : -1;
    }
  });
  if (problem.boundary == TetBoundary::open || problem.open_vertices)
    for (const auto& face : mesh.boundary())
      if (content(face.tet) != TetContent::solid)
        for (const std::int32_t v : face.corners)
          if (problem.boundary == TetBoundary::open || problem.open_vertices[v]) unknown_[v] = -1;
  vertices_.clear();
  for (Index v = 0; v < n; ++v)
    if (unknown_[v] == 0) {
      unknown_[v] = static_cast<std::int32_t>(vertices_.size());
      vertices_.push_back(static_cast<std::int32_t>(v));
    }
}

void TetPressureDomain::find_regions(const TetPressureTopology& mesh) {
  region_.resize(vertices_.size());
  const auto m = static_cast<Index>(mesh.tets().size());
  const std::int32_t count = numerics::label_components(std::span(region_), [&](auto&& unite) {
    for (Index t = 0; t < m; ++t) {
      if (content(t) != TetContent::water) continue;
      std::int32_t last = -1;
      for (const std::int32_t v : mesh.tet(t)) {
        const std::int32_t u = unknown(v);
        if (u >= 0 && last >= 0) unite(last, u);
        if (u >= 0) last = u;
      }
    }
  });
  regions_.assign(count, {0, 0, true});
  for (const std::int32_t r : region_) ++regions_[r].end;
  Index sum = 0;
  for (numerics::SparseRegion& r : regions_) {
    r.begin = sum;
    sum = r.end += sum;
  }
  for (Index t = 0; t < m; ++t) {
    if (content(t) != TetContent::water) continue;
    bool given = false;
    std::int32_t any = -1;
    for (const std::int32_t v : mesh.tet(t)) {
      given |= unknown(v) < 0;
      any = std::max(any, unknown(v));
    }
    if (given && any >= 0) regions_[region_[any]].closed = false;
  }
  if (count < 2) return;
  next_.resize(regions_.size());
  for (std::size_t r = 0; r < regions_.size(); ++r) next_[r] = static_cast<std::int32_t>(regions_[r].begin);
  for (std::int32_t& u : unknown_)
    if (u >= 0) u = next_[region_[u]]++;
  for (Index v = 0; v < mesh.vertices(); ++v)
    if (unknown(v) >= 0) vertices_[unknown(v)] = static_cast<std::int32_t>(v);
}

Index TetPressureDomain::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return of(content_) + of(unknown_) + of(vertices_) + of(region_) + of(next_) + of(regions_);
}

}  // namespace meniscus::fluids
