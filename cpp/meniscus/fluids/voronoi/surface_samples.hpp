/// Pressure samples where the surface of a liquid is: beside each vertex one in the liquid and one in the air, and a lattice away
/// from it.
///
/// Source: Brochu 2012, section 7.4.1. Where the document is silent: a sample must lie on its side of the surface, it is crowded
/// out by one of its side only, and the lattice keeps a distance from the surface, and ends in the air beyond a band.
#pragma once

#include "meniscus/fluids/voronoi/surface_hits.hpp"
#include "meniscus/mesh/search/box.hpp"
#include "meniscus/surface/tetrahedra/signed_distance.hpp"

namespace meniscus::fluids {

/// Why a vertex has no sample of its own on a side.
enum class SampleState : std::int8_t {
  placed,
  crowded,     ///< another sample of this side is as close
  gap,         ///< the next part of the surface, or a solid, is so close that both count as merged
  outside,     ///< beyond the walls
  solid,       ///< in a solid
  wrong_side,  ///< the way along the normal does not lead to this side
};

struct LiquidSampleOptions {
  /// The characteristic length of the document, m.
  double cell = 1;
  /// Edge of a cubic cell of the body-centred lattice, in cells, as printed.
  double lattice = 2;
  /// Distances from the vertex to its samples, in free lengths along the normal, which are at most a cell; as printed.
  double air = 0.5, liquid = 0.25;
  /// Cells of air below which surfaces count as merged, as printed.
  double gap = 0.05;
  /// A sample is crowded out by one that is closer than this part of its own distance to the vertex.
  double crowd = 0.25;
  /// Distances of lattice points to samples at the surface and to the surface, in cells.
  double lattice_to_samples = 0.6, lattice_to_surface = 0.25;
  /// Lattice points in the air end beyond this many cells from the surface.
  double band = 5;
  /// Amplitude by which lattice points are moved at random, in edges of the lattice.
  double jitter = 0;
  /// Only the lattice, for comparison.
  bool regular = false;
};

struct SurfaceSamples {
  /// Those of the surface come first.
  std::vector<mesh::Point> sites;
  Index at_surface = 0;
  /// Per vertex.
  std::vector<SampleState> in_liquid, in_air;
  /// Unit normals at vertices, means of those of the triangles weighted by their angles.
  std::vector<mesh::Point> normals;
};

std::vector<mesh::Point> vertex_normals(const mesh::TriangleMeshView& surface);

/// `solid` is empty where there is none. The result does not depend on the order of vertices but for samples that crowd each
/// other out, of which those with the smaller coordinates stay.
SurfaceSamples place_samples(const SurfaceHits& surface, const mesh::Box& box, const surface::SignedDistance& solid,
                             const LiquidSampleOptions& options);

}  // namespace meniscus::fluids
