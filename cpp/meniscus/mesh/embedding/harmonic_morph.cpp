#include "meniscus/mesh/embedding/harmonic_morph.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/topology/edge_graph.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

constexpr Index morph_chunk = 2048;

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

/// The rows of free vertices. Fixed ones have zeros in all vectors, which keeps them out.
struct HarmonicMorph::System {
  using Vector = std::vector<double>;
  using Correction = std::vector<double>;

  const HarmonicMorph& m;

  double row(const Vector& x, Index i) const {
    double sum = m.diagonal_[i] * x[i];
    for (Index k = m.start_[i]; k < m.start_[i + 1]; ++k) sum += m.entry_[k] * x[m.column_[k]];
    return sum;
  }
  template <class F>
  void for_all(F&& f) const {
    parallel_for(0, m.vertices(), morph_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) f(i);
    });
  }
  void multiply(Vector& x, Vector& y) const {
    for_all([&](Index i) { y[i] = m.is_fixed_[i] ? 0.0 : row(x, i); });
  }
  void precondition(const Vector& r, Correction& out) const {
    for_all([&](Index i) { out[i] = m.is_fixed_[i] ? 0.0 : r[i] / m.diagonal_[i]; });
  }
  void project(Vector&) const {}
  double inner_product(const Vector& a, const Vector& b) const {
    return parallel_reduce(
        0, m.vertices(), morph_chunk, 0.0,
        [&](Index begin, Index end) {
          double sum = 0;
          for (Index i = begin; i < end; ++i) sum += a[i] * b[i];
          return sum;
        },
        [](double a1, double b1) { return a1 + b1; });
  }
  void combine(double a, const Vector& x, double b, Vector& y) const {
    if (b == 0)
      for_all([&](Index i) { y[i] = a * x[i]; });
    else
      for_all([&](Index i) { y[i] = a * x[i] + b * y[i]; });
  }
};

HarmonicMorph::HarmonicMorph(const TetMeshView& rest, std::span<const std::int32_t> fixed) : fixed_(fixed.begin(), fixed.end()) {
  const auto n = static_cast<Index>(rest.vertices.size());
  require_valid_elements(rest.tets, n);
  require_finite(rest.vertices, "vertices");
  is_fixed_.assign(n, false);
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    require(fixed[i] >= 0 && fixed[i] < n, "nodes must be in [0, ", n, "), but [", i, "] is ", fixed[i]);
    require(!is_fixed_[fixed[i]], "nodes must differ, but [", i, "] is ", fixed[i], " again");
    is_fixed_[fixed[i]] = true;
  }
  const VertexStars<4> stars(rest.tets, n);
  const EdgeGraph graph(stars);
  start_.assign(graph.ring_starts().begin(), graph.ring_starts().end());
  column_.assign(graph.rings().begin(), graph.rings().end());
  entry_.assign(column_.size(), 0.0);
  diagonal_.assign(n, 0.0);
  for (Index t = 0; t < rest.size(); ++t) {
    const double volume = signed_volume(rest, t);
    require(volume > 0, "tetrahedra must have a positive volume, but that of tet ", t, " is ", volume, " m^3");
    std::array<Point, 4> area;  // the gradient of a barycentric coordinate is minus its outward area vector / (6 volume)
    for (std::size_t k = 0; k < 4; ++k)
      area[k] = area_vector(rest.corner(t, static_cast<int>(tet_faces[k][0])), rest.corner(t, static_cast<int>(tet_faces[k][1])),
                            rest.corner(t, static_cast<int>(tet_faces[k][2])));
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) {
        const double value = area[a].dot(area[b]) / (36 * volume);
        const auto row = z(rest.tet(t)[a]);
        if (a == b) {
          diagonal_[row] += value;
          continue;
        }
        const auto first = column_.begin() + start_[row];
        const auto last = column_.begin() + start_[row + 1];
        entry_[std::lower_bound(first, last, rest.tet(t)[b]) - column_.begin()] += value;
      }
  }
  // Every part needs a fixed vertex; a vertex without tetrahedra keeps its place.
  std::vector<bool> reached(is_fixed_);
  std::vector<std::int32_t> open(fixed_);
  while (!open.empty()) {
    const std::int32_t v = open.back();
    open.pop_back();
    for (Index k = start_[v]; k < start_[z(v) + 1]; ++k)
      if (const std::int32_t w = column_[k]; !reached[w]) {
        reached[w] = true;
        open.push_back(w);
      }
  }
  for (Index v = 0; v < n; ++v) {
    const bool alone = start_[v] == start_[v + 1];
    require(reached[v] || alone, "every part of the mesh needs a node that is given, but that of vertex ", v, " has none");
    if (alone && !is_fixed_[v]) diagonal_[v] = 1;
  }
  for (auto* v : {&x_, &b_, &r_, &p_, &q_, &z_}) v->assign(n, 0.0);
}

std::array<int, 3> HarmonicMorph::solve(std::span<const Point> displacements, double tolerance, bool warm, std::span<Point> out) {
  require(displacements.size() == fixed_.size(), "displacements must have one row per node, ", fixed_.size(), ", not ",
          displacements.size());
  require(static_cast<Index>(out.size()) == vertices(), "out must have one row per vertex, ", vertices(), ", not ", out.size());
  require_finite(displacements, "displacements");
  if (warm) require_finite(out, "start");
  System system{*this};
  std::array<int, 3> iterations{};
  std::vector<Point> found(out.size(), Point::Zero());
  for (int d = 0; d < 3; ++d) {
    std::fill(x_.begin(), x_.end(), 0.0);
    for (std::size_t i = 0; i < fixed_.size(); ++i) x_[fixed_[i]] = displacements[i][d];
    system.multiply(x_, b_);
    for (double& b : b_) b = -b;
    const std::vector<double>& given = x_;
    for (std::size_t v = 0; v < out.size(); ++v) found[v][d] = given[v];
    for (std::size_t v = 0; v < out.size(); ++v) x_[v] = warm && !is_fixed_[v] ? out[v][d] : 0.0;
    numerics::SolveOptions options;
    options.tolerance = tolerance;
    options.max_iterations = 20000;
    const numerics::ConjugateGradientVectors<System> vectors{x_, b_, r_, p_, q_, z_};
    numerics::conjugate_gradients(system, vectors, options, !warm, info_);
    // The smallest residual that round-off allows is as good as can be.
    if (!info_.converged && info_.end != numerics::SolveEnd::round_off)
      throw std::runtime_error("the displacements could not be found: " + std::string(numerics::describe(info_.end)));
    for (std::size_t v = 0; v < out.size(); ++v)
      if (!is_fixed_[v]) found[v][d] = x_[v];
    iterations[d] = info_.iterations;
  }
  std::copy(found.begin(), found.end(), out.begin());
  return iterations;
}

Index HarmonicMorph::positive_edges() const {
  Index count = 0;
  for (Index v = 0; v < vertices(); ++v)
    for (Index k = start_[v]; k < start_[v + 1]; ++k) {
      const std::int32_t w = column_[k];
      // Entries that should be zero are round-off: compare with the diagonal.
      count += v < w && !(is_fixed_[v] && is_fixed_[w]) && entry_[k] > 1e-12 * diagonal_[v];
    }
  return count;
}

}  // namespace meniscus::mesh
