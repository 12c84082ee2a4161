#include "meniscus/fluids/voronoi/cell_projection.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

double outward(bool second) { return second ? -1.0 : 1.0; }

}  // namespace

void CellProjection::number(const LiquidCells& cells) {
  // Cells of a part follow each other.
  const std::size_t parts = cells.closed.size();
  std::vector<Index> next(parts + 1, 0);
  for (const std::int32_t p : cells.part)
    if (p >= 0) ++next[static_cast<std::size_t>(p) + 1];
  for (std::size_t p = 0; p < parts; ++p) next[p + 1] += next[p];
  system_.regions.resize(parts);
  for (std::size_t p = 0; p < parts; ++p) system_.regions[p] = {next[p], next[p + 1], cells.closed[p] != 0};
  cell_.resize(static_cast<std::size_t>(next[parts]));
  unknown_.assign(cells.part.size(), -1);
  for (std::size_t i = 0; i < cells.part.size(); ++i) {
    if (cells.part[i] < 0) continue;
    unknown_[i] = static_cast<std::int32_t>(next[cells.part[i]]++);
    cell_[unknown_[i]] = static_cast<std::int32_t>(i);
  }
}

void CellProjection::assemble(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, std::span<const FaceVelocity> velocity,
                              std::span<const double> divergence, double scale) {
  numerics::CompressedRows& a = system_.matrix;
  const Index n = std::ssize(cell_);
  a.columns = n;
  a.start.resize(cell_.size() + 1);
  system_.b.resize(cell_.size());
  system_.x.resize(cell_.size());
  const auto conductance = [&](std::int32_t f) { return cells.open[f] * mesh.areas()[f] / mesh.distances()[f]; };
  numerics::for_rows(n, [&](Index u) {
    const std::int32_t i = cell_[u];
    Index count = 1;
    for (const std::int32_t f : mesh.faces_of(i)) count += cells.sides[f][mesh.faces()[f].first != i].beyond == Beyond::liquid;
    a.start[u + 1] = count;
  });
  a.make_room();
  numerics::for_rows(n, [&](Index u) {
    const std::int32_t i = cell_[u];
    Index at = a.start[u] + 1;
    double diagonal = 0;
    double right = divergence.empty() ? 0.0 : mesh.volumes()[i] * divergence[i];
    for (const std::int32_t f : mesh.faces_of(i)) {
      const bool second = mesh.faces()[f].first != i;
      const FaceSide& side = cells.sides[f][second];
      const double out = outward(second);
      if (!mesh.faces()[f].on_wall()) right -= out * cells.solid_flow[f];
      if (side.beyond == Beyond::liquid) {
        const double c = conductance(f);
        diagonal += c;
        a.column[at] = unknown_[mesh.faces()[f].across(i)];
        a.value[at++] = -c;
        right -= out * cells.open[f] * mesh.areas()[f] * velocity[f][second];
      } else if (side.beyond == Beyond::air) {
        const double c = cells.open[f] * mesh.areas()[f] / side.reach;
        diagonal += c;
        right += c * scale * side.pressure - out * cells.open[f] * mesh.areas()[f] * velocity[f][second];
      }
    }
    a.column[a.start[u]] = static_cast<std::int32_t>(u);
    a.value[a.start[u]] = diagonal;
    system_.b[u] = right;
  });
}

/// What walls push into a closed part becomes the same divergence everywhere.
void CellProjection::balance(const mesh::VoronoiMesh& mesh) {
  for (const numerics::SparseRegion& region : system_.regions) {
    if (!region.closed) continue;
    double flow = 0, volume = 0;
    for (Index u = region.begin; u < region.end; ++u) {
      flow += system_.b[u];
      volume += mesh.volumes()[cell_[u]];
    }
    for (Index u = region.begin; u < region.end; ++u) system_.b[u] -= flow * mesh.volumes()[cell_[u]] / volume;
  }
}

void CellProjection::project(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, std::span<FaceVelocity> velocity,
                             std::span<double> pressure, std::span<const double> divergence, double scale, bool start,
                             const numerics::SolveOptions& options, CellProjectionReport& report) {
  number(cells);
  assemble(mesh, cells, velocity, divergence, scale);
  balance(mesh);
  report.unknowns = std::ssize(cell_);
  report.parts = static_cast<int>(system_.regions.size());
  report.closed_parts = 0;
  for (const numerics::SparseRegion& r : system_.regions) report.closed_parts += r.closed;
  report.divergence = 0;
  if (!cell_.empty()) {
    system_.prepare({});
    if (start)
      for (std::size_t u = 0; u < cell_.size(); ++u) system_.x[u] = scale * pressure[cell_[u]];
    system_.solve(options, !start, report.solve);
  } else {
    report.solve = {};
    report.solve.converged = true;
  }
  if (!report.solve.converged) return;
  const NoInterrupts whole;
  const auto& q = system_.x;
  parallel_for(0, std::ssize(mesh.faces()), numerics::row_chunk, [&](Index begin, Index end) {
    for (Index f = begin; f < end; ++f) {
      const auto& [a, b] = mesh.faces()[f];
      for (const std::size_t s : {0u, 1u}) {
        const FaceSide& side = cells.sides[f][s];
        const std::int32_t here = s == 0 ? a : b;
        if (side.beyond == Beyond::wall) velocity[f][s] = 0;
        if (side.beyond == Beyond::nothing || side.beyond == Beyond::wall || unknown_[here] < 0) continue;
        const double mine = q[unknown_[here]];
        const double slope = side.beyond == Beyond::liquid ? (q[unknown_[s == 0 ? b : a]] - mine) / mesh.distances()[f]
                                                           : (scale * side.pressure - mine) / side.reach;
        velocity[f][s] -= outward(s == 1) * slope;
      }
    }
  });
  std::fill(pressure.begin(), pressure.end(), 0.0);
  for (std::size_t u = 0; u < cell_.size(); ++u) pressure[cell_[u]] = q[u] / scale;
  report.divergence = parallel_reduce(
      0, std::ssize(cell_), numerics::row_chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for (Index u = begin; u < end; ++u) {
          const std::int32_t i = cell_[u];
          if (cells.closed[cells.part[i]] != 0) continue;
          double flow = divergence.empty() ? 0.0 : -mesh.volumes()[i] * divergence[i];
          for (const std::int32_t f : mesh.faces_of(i)) {
            const bool second = mesh.faces()[f].first != i;
            const Beyond beyond = cells.sides[f][second].beyond;
            if (!mesh.faces()[f].on_wall()) flow += outward(second) * cells.solid_flow[f];
            if (beyond == Beyond::liquid || beyond == Beyond::air)
              flow += outward(second) * cells.open[f] * mesh.areas()[f] * velocity[f][second];
          }
          most = std::max(most, std::abs(flow) / mesh.volumes()[i]);
        }
        return most;
      },
      [](double l, double r) { return std::max(l, r); });
}

}  // namespace meniscus::fluids
