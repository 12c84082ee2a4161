#include "meniscus/fluids/voronoi/cell_projection.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

double outward(bool second) { return second ? -1.0 : 1.0; }

/// Below this part of the right-hand side, what a start leaves is round-off.
constexpr double round_off = 1e-14;

/// The pressure of a column of liquid, zero in the middle of the box, times dt / rho.
class Column {
 public:
  Column(const mesh::VoronoiMesh& mesh, const CellPressure& problem)
      : mesh_(mesh),
        middle_(0.5 * (mesh.box().low + mesh.box().high)),
        weight_(problem.scale * problem.weight),
        scale_(problem.scale) {}

  double at(const mesh::Point& x) const { return weight_.dot(x - middle_); }
  double at_site(std::int32_t i) const { return at(mesh_.sites()[i]); }
  /// The unknown at the surface beyond a face.
  double at_surface(const FaceSide& side, std::int32_t f, std::int32_t site, bool second) const {
    return scale_ * side.pressure - at(mesh_.sites()[site] + outward(second) * side.reach * mesh_.normals()[f]);
  }

 private:
  const mesh::VoronoiMesh& mesh_;
  mesh::Point middle_, weight_;
  double scale_;
};

}  // namespace

void CellProjection::number(const LiquidCells& cells) {
  // Cells of a part follow each other.
  const std::size_t parts = cells.closed.size();
  std::vector<Index> next(parts + 1, 0);
  for (const std::int32_t p : cells.part)
    if (p >= 0) ++next[p + 1];
  for (std::size_t p = 0; p < parts; ++p) next[p + 1] += next[p];
  system_.regions.resize(parts);
  for (std::size_t p = 0; p < parts; ++p) system_.regions[p] = {next[p], next[p + 1], cells.closed[p] != 0};
  cell_.resize(next[parts]);
  unknown_.assign(cells.part.size(), -1);
  for (std::size_t i = 0; i < cells.part.size(); ++i) {
    if (cells.part[i] < 0) continue;
    unknown_[i] = static_cast<std::int32_t>(next[cells.part[i]]++);
    cell_[unknown_[i]] = static_cast<std::int32_t>(i);
  }
}

void CellProjection::assemble(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
                              std::span<const FaceVelocity> velocity) {
  const Column column(mesh, problem);
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
    double right = problem.divergence.empty() ? 0.0 : mesh.volumes()[i] * problem.divergence[i];
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
        right += c * column.at_surface(side, f, i, second) - out * cells.open[f] * mesh.areas()[f] * velocity[f][second];
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

/// Leaves in b what the best start of each part leaves, and the start in start_.
void CellProjection::start(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem) {
  const Column column(mesh, problem);
  start_.assign(cell_.size(), 0.0);
  other_.assign(cell_.size(), 0.0);
  product_.resize(cell_.size());
  system_.x.assign(cell_.size(), 0.0);
  const auto left = [&](Index u, const std::vector<double>& x) {
    return system_.b[u] - numerics::row_product(system_.matrix, u, x.data());
  };
  for (const numerics::SparseRegion& region : system_.regions) {
    // The means over the surface of the pressure with and without that of a column of liquid.
    double area = 0, with = 0, without = 0;
    for (Index u = region.begin; u < region.end; ++u) {
      const std::int32_t i = cell_[u];
      for (const std::int32_t f : mesh.faces_of(i)) {
        const bool second = mesh.faces()[f].first != i;
        const FaceSide& side = cells.sides[f][second];
        if (side.beyond != Beyond::air) continue;
        const double c = cells.open[f] * mesh.areas()[f] / side.reach;
        area += c;
        with += c * problem.scale * side.pressure;
        without += c * column.at_surface(side, f, i, second);
      }
    }
    if (!(area > 0)) continue;
    for (Index u = region.begin; u < region.end; ++u) {
      start_[u] = without / area;
      other_[u] = with / area - column.at_site(cell_[u]);
    }
    double rest = 0, fall = 0;
    for (Index u = region.begin; u < region.end; ++u) {
      rest += std::pow(left(u, start_), 2);
      fall += std::pow(left(u, other_), 2);
    }
    if (fall < rest) std::copy(other_.begin() + region.begin, other_.begin() + region.end, start_.begin() + region.begin);
  }
  for (std::size_t u = 0; u < cell_.size(); ++u) product_[u] = left(static_cast<Index>(u), start_);
  system_.b.swap(product_);
}

void CellProjection::commit(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
                            std::span<FaceVelocity> velocity, std::span<double> pressure) const {
  const NoInterrupts whole;
  const Column column(mesh, problem);
  const auto q = [&](std::int32_t cell) { return start_[unknown_[cell]] + system_.x[unknown_[cell]]; };
  parallel_for(0, std::ssize(mesh.faces()), numerics::row_chunk, [&](Index begin, Index end) {
    for (auto f = static_cast<std::int32_t>(begin); f < end; ++f) {
      const auto& [a, b] = mesh.faces()[f];
      for (const std::size_t s : {0u, 1u}) {
        const FaceSide& side = cells.sides[f][s];
        const std::int32_t here = s == 0 ? a : b;
        if (side.beyond == Beyond::wall) velocity[f][s] = 0;
        if (side.beyond == Beyond::nothing || side.beyond == Beyond::wall || unknown_[here] < 0) continue;
        const double slope = side.beyond == Beyond::liquid ? (q(s == 0 ? b : a) - q(here)) / mesh.distances()[f]
                                                           : (column.at_surface(side, f, here, s == 1) - q(here)) / side.reach;
        velocity[f][s] -= outward(s == 1) * slope;
      }
    }
  });
  std::fill(pressure.begin(), pressure.end(), 0.0);
  for (const std::int32_t i : cell_) pressure[i] = (q(i) + column.at_site(i)) / problem.scale;
}

void CellProjection::project(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, const CellPressure& problem,
                             std::span<FaceVelocity> velocity, std::span<double> pressure, const numerics::SolveOptions& options,
                             CellProjectionReport& report) {
  number(cells);
  assemble(mesh, cells, problem, velocity);
  balance(mesh);
  report = {};
  report.unknowns = std::ssize(cell_);
  report.parts = static_cast<int>(system_.regions.size());
  for (const numerics::SparseRegion& r : system_.regions) report.closed_parts += r.closed;
  const double given = std::sqrt(system_.inner_product(system_.b, system_.b));
  start(mesh, cells, problem);
  const double rest = std::sqrt(system_.inner_product(system_.b, system_.b));
  numerics::SolveOptions solve = options;
  solve.tolerance = std::max(options.tolerance, round_off * given / rest);
  if (rest > round_off * given) {
    system_.prepare({});
    system_.solve(solve, true, report.solve);
  } else {
    report.solve.converged = true;
    report.solve.end = numerics::SolveEnd::zero_right_hand_side;
  }
  if (!report.solve.converged) return;
  commit(mesh, cells, problem, velocity, pressure);
  report.divergence = parallel_reduce(
      0, std::ssize(cell_), numerics::row_chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for (Index u = begin; u < end; ++u) {
          const std::int32_t i = cell_[u];
          if (cells.closed[cells.part[i]] != 0) continue;
          double flow = problem.divergence.empty() ? 0.0 : -mesh.volumes()[i] * problem.divergence[i];
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
