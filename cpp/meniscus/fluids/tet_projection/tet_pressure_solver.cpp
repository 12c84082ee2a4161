#include "meniscus/fluids/tet_projection/tet_pressure_solver.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/finite_values.hpp"
#include "meniscus/core/parallel.hpp"

#include <chrono>
#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr Index solver_chunk = 1024;

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

/// Corners of a tetrahedron at its present place.
struct Corners {
  std::array<mesh::Point, 4> x;
  Corners(std::span<const mesh::Point> positions, const mesh::Tet& tet) {
    for (std::size_t k = 0; k < 4; ++k) x[k] = positions[tet[k]];
  }
  /// The volume times the gradient of the hat function of a corner.
  mesh::Point weighted_gradient(std::size_t k) const {
    const auto& [a, b, c] = mesh::tet_faces[k];
    return mesh::area_vector(x[a], x[b], x[c]) / -6;
  }
  double volume() const { return mesh::signed_volume(x[0], x[1], x[2], x[3]); }
};

void require_finite_values(const double* values, Index n, const char* name) {
  const Index first = first_not_finite(values, n);
  require(first < 0, name, " must be finite, but value ", first, " is ", first < 0 ? 0.0 : values[first]);
}

}  // namespace

void TetPressureSolver::check(const TetPressureProblem& problem, double dt) const {
  const auto m = static_cast<Index>(mesh_.tets().size());
  const Index n = mesh_.vertices();
  require(dt > 0 && std::isfinite(dt), "dt must be positive, not ", dt);
  require(problem.density > 0 && std::isfinite(problem.density), "density must be positive, not ", problem.density);
  require(problem.min_open > 0 && problem.min_open <= 1, "min_open must be above 0 and at most 1, not ", problem.min_open);
  require(problem.min_aspect >= 0 && problem.min_aspect < 1, "min_aspect must be in [0, 1), not ", problem.min_aspect);
  require(static_cast<Index>(problem.positions.size()) == n, "positions must have ", n, " rows, not ", problem.positions.size());
  require(static_cast<Index>(problem.velocity.size()) == m, "velocity must have ", m, " rows, not ", problem.velocity.size());
  require(problem.wet || m == 0, "wet is missing");
  mesh::require_finite(problem.positions, "positions");
  mesh::require_finite(problem.velocity, "velocity");
  if (problem.object_velocity) mesh::require_finite({problem.object_velocity, z(m)}, "object_velocity");
  if (problem.pressure && problem.warm_start) require_finite_values(problem.pressure, n, "pressure");
  if (problem.open_fraction)
    for (Index t = 0; t < m; ++t)
      require(problem.open_fraction[t] >= 0 && problem.open_fraction[t] <= 1, "open_fraction must be in [0, 1], but [", t,
              "] is ", problem.open_fraction[t]);
}

void TetPressureSolver::project(const TetPressureProblem& problem, double dt, const TetProjectionOptions& options,
                                TetProjectionReport& report) {
  const auto start = std::chrono::steady_clock::now();
  check(problem, dt);
  domain_.classify(mesh_, problem);
  assemble(problem);
  system_.prepare(options.multigrid);
  report.regions.resize(domain_.regions().size());
  sum_fluxes(problem, report);
  // The unknown of the system is dt / rho times the pressure.
  const double pressure_unit = problem.density / dt;
  const auto vertices = domain_.vertices();
  const bool warm = problem.pressure && problem.warm_start;
  if (warm)
    numerics::for_rows(system_.matrix.rows(), [&](Index u) { system_.x[u] = problem.pressure[vertices[u]] / pressure_unit; });
  report.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  system_.solve(options.solve, !warm, report.solve);
  system_.region_residuals(residuals_);
  for (std::size_t r = 0; r < report.regions.size(); ++r) {
    const numerics::SparseRegion& region = domain_.regions()[r];
    TetPressureRegion& out = report.regions[r];
    out.vertices = region.end - region.begin;
    out.first_vertex = vertices[region.begin];
    out.closed = region.closed;
    out.residual = residuals_[r];
  }
  const numerics::AlgebraicMultigrid& multigrid = system_.multigrid();
  report.levels = multigrid.levels();
  double entries = 0;
  for (int l = 0; l < multigrid.levels(); ++l) entries += static_cast<double>(multigrid.entries(l));
  report.operator_complexity = entries / static_cast<double>(std::max<Index>(1, multigrid.entries(0)));
  report.wet_tets = domain_.wet_tets();
  report.excluded_tets = domain_.excluded_tets();
  if (report.solve.converged || options.accept_unconverged) commit(problem, pressure_unit);
}

double TetPressureSolver::coupling(const TetPressureProblem& problem, Index edge) const {
  double sum = 0;
  for (const std::int32_t place : mesh_.places_of(edge)) {
    const Index t = place / 6;
    if (domain_.content(t) != TetContent::water) continue;
    const Corners corners(problem.positions, mesh_.tet(t));
    const auto& [i, j] = mesh::tet_edges[place % 6];
    const double open = problem.open_fraction ? problem.open_fraction[t] : 1.0;
    sum += open / corners.volume() * corners.weighted_gradient(i).dot(corners.weighted_gradient(j));
  }
  return sum;
}

void TetPressureSolver::assemble(const TetPressureProblem& problem) {
  numerics::CompressedRows& a = system_.matrix;
  const auto vertices = domain_.vertices();
  const auto n = static_cast<Index>(vertices.size());
  a.columns = n;
  a.start.resize(n + 1);
  // Each edge at an unknown is summed once.
  edge_weight_.resize(mesh_.edges());
  numerics::for_rows(n, [&](Index u) {
    const Index v = vertices[u];
    const auto ring = mesh_.neighbours(v), edges = mesh_.edges_at(v);
    for (std::size_t k = 0; k < ring.size(); ++k)
      if (ring[k] > v || domain_.unknown(ring[k]) < 0) edge_weight_[edges[k]] = coupling(problem, edges[k]);
  });
  numerics::for_rows(n, [&](Index u) {
    const Index v = vertices[u];
    const auto ring = mesh_.neighbours(v), edges = mesh_.edges_at(v);
    Index count = 1;
    for (std::size_t k = 0; k < ring.size(); ++k) count += domain_.unknown(ring[k]) >= 0 && edge_weight_[edges[k]] != 0;
    a.start[u + 1] = count;
  });
  a.make_room();
  // Gradients of the hat functions sum to zero, and so do rows before pressures are given.
  numerics::for_rows(n, [&](Index u) {
    const Index v = vertices[u];
    const auto ring = mesh_.neighbours(v), edges = mesh_.edges_at(v);
    double sum = 0;
    Index at = a.start[u] + 1;
    for (std::size_t k = 0; k < ring.size(); ++k) {
      const double weight = edge_weight_[edges[k]];
      sum += weight;
      const std::int32_t other = domain_.unknown(ring[k]);
      if (other < 0 || weight == 0) continue;
      a.column[at] = other;
      a.value[at++] = weight;
    }
    a.column[a.start[u]] = static_cast<std::int32_t>(u);
    a.value[a.start[u]] = -sum;
  });
  system_.regions = domain_.regions();
}

void TetPressureSolver::sum_fluxes(const TetPressureProblem& problem, TetProjectionReport& report) {
  const auto vertices = domain_.vertices();
  const auto n = static_cast<Index>(vertices.size());
  volume_.resize(n);
  numerics::for_rows(n, [&](Index u) {
    double flux = 0, volume = 0;
    for (const std::int32_t c : mesh_.corners_at(vertices[u])) {
      const Index t = c / 4;
      const bool water = domain_.content(t) == TetContent::water;
      const double open = !water ? 0.0 : problem.open_fraction ? problem.open_fraction[t] : 1.0;
      const Corners corners(problem.positions, mesh_.tet(t));
      mesh::Point velocity = mesh::Point::Zero();
      if (water) velocity = open * problem.velocity[t];
      if (problem.object_velocity) velocity += (1 - open) * problem.object_velocity[t];
      flux += corners.weighted_gradient(z(c % 4)).dot(velocity);
      if (water) volume += open * corners.volume() / 4;
    }
    system_.b[u] = flux;
    volume_[u] = volume;
  });
  for (std::size_t r = 0; r < report.regions.size(); ++r) {
    report.regions[r].flux = 0;
    const numerics::SparseRegion& region = domain_.regions()[r];
    if (!region.closed) continue;
    // What walls push into a closed region becomes the same divergence everywhere.
    using Sums = std::array<double, 2>;
    const Sums sums = parallel_reduce(
        region.begin, region.end, Index{1} << 14, Sums{},
        [&](Index begin, Index end) {
          Sums s{};
          for (Index u = begin; u < end; ++u) {
            s[0] += system_.b[u];
            s[1] += volume_[u];
          }
          return s;
        },
        [](const Sums& a, const Sums& c) { return Sums{a[0] + c[0], a[1] + c[1]}; });
    report.regions[r].flux = -sums[0];
    parallel_for(region.begin, region.end, Index{1} << 14, [&](Index begin, Index end) {
      for (Index u = begin; u < end; ++u) system_.b[u] -= sums[0] * (volume_[u] / sums[1]);
    });
  }
}

void TetPressureSolver::commit(const TetPressureProblem& problem, double pressure_unit) const {
  const NoInterrupts whole;
  parallel_for(0, static_cast<Index>(mesh_.tets().size()), solver_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      if (domain_.content(t) != TetContent::water) continue;
      const Corners corners(problem.positions, mesh_.tet(t));
      mesh::Point gradient = mesh::Point::Zero();
      for (std::size_t k = 0; k < 4; ++k)
        if (const std::int32_t u = domain_.unknown(mesh_.tet(t)[k]); u >= 0)
          gradient += system_.x[u] * corners.weighted_gradient(k);
      problem.velocity[t] -= gradient / corners.volume();
    }
  });
  if (!problem.pressure) return;
  parallel_for(0, mesh_.vertices(), solver_chunk, [&](Index begin, Index end) {
    for (Index v = begin; v < end; ++v)
      problem.pressure[v] = domain_.unknown(v) >= 0 ? pressure_unit * system_.x[domain_.unknown(v)] : 0.0;
  });
}

Index TetPressureSolver::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return mesh_.bytes() + domain_.bytes() + system_.bytes() + of(edge_weight_) + of(volume_) + of(residuals_);
}

}  // namespace meniscus::fluids
