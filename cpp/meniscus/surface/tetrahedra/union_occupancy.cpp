#include "meniscus/surface/tetrahedra/union_occupancy.hpp"

#include "meniscus/mesh/clipping/tet_plane.hpp"
#include "meniscus/surface/tetrahedra/thin_pieces.hpp"
#include "meniscus/surface/tetrahedra/touched_tets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The greatest change of values at the nodes per metre along edges that are not far from the surface, and a quarter more.
double slope_near_surface(const mesh::TetMeshView& mesh, std::span<const double> phi, double longest_edge) {
  // What counts as near depends on the slope.
  const auto greatest = [&](double reach) {
    double slope = 0.0;
    for (Index t = 0; t < mesh.size(); ++t)
      for (const auto& e : mesh::tet_edges) {
        const std::int32_t i = mesh.tets[t][e[0]], j = mesh.tets[t][e[1]];
        if (std::min(std::abs(phi[i]), std::abs(phi[j])) > reach) continue;
        const double length = (mesh.vertices[j] - mesh.vertices[i]).norm();
        if (length > 0.0) slope = std::max(slope, std::abs(phi[j] - phi[i]) / length);
      }
    return slope;
  };
  double slope = greatest(infinity);
  for (int round = 0; round < 8; ++round) slope = greatest(1.5 * slope * longest_edge);
  return 1.25 * slope;
}

}  // namespace

void UnionOccupancy::set(const mesh::TetMeshView& mesh, std::span<const OccupyingSolid> solids, double band, double longest_edge,
                         const Occupancy& out) {
  if (!nodes_) {
    nodes_.emplace(mesh.vertices);
    tets_ = mesh.size();
    phi_.resize(mesh.vertices.size());
    touched_ = std::make_unique<bool[]>(mesh.tets.size());
    solid_touched_ = std::make_unique<bool[]>(mesh.tets.size());
  }
  const std::span<bool> touched(touched_.get(), mesh.tets.size()), solid_touched(solid_touched_.get(), mesh.tets.size());
  std::ranges::fill(out.phi, band);
  std::ranges::fill(touched, false);
  std::ranges::fill(out.inside, false);
  for (const OccupyingSolid& solid : solids) {
    const bool unknown = std::isinf(solid.slope);
    nodes_->sample(mesh.vertices, solid.distance, solid.slope, unknown ? infinity : band, phi_);
    if (solid.surface) {
      touched_tets(mesh, *solid.surface, phi_, longest_edge, true, solid_touched);
    } else {
      const double slope = unknown ? slope_near_surface(mesh, phi_, longest_edge) : solid.slope;
      sign_changes(mesh, phi_, solid.distance, slope, longest_edge, solid_touched);
    }
    for (double& value : phi_) value = std::clamp(value, -band, band);
    join_member(mesh.tets, phi_, solid_touched, out.phi, touched, out.inside);
  }
  set_occupancy(mesh.tets, out.phi, touched, out.fraction, out.cut, out.inside);
}

Index UnionOccupancy::nbytes() const {
  return static_cast<Index>(phi_.size() * sizeof(double)) + 2 * tets_ + (nodes_ ? 4 * nodes_->size() : 0);
}

}  // namespace meniscus::surface
