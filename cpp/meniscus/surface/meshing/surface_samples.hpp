/// Samples of a triangle surface that the boundary of an edited mesh has to come close to.
#pragma once

#include "meniscus/mesh/refinement/tet_editing.hpp"
#include "meniscus/surface/meshing/feature_edges.hpp"

#include <span>
#include <vector>

namespace meniscus::surface {

class SurfaceSamples {
 public:
  /// `spacing` of the samples, m. Those that do not count are left out.
  SurfaceSamples(const mesh::TriangleMeshView& surface, double spacing, const PointFilter& counts);

  /// Those farther from the boundary than `tolerance` but not than `reach`, m, the farthest first. `touched` holds the round in
  /// which something around each vertex has changed last; samples whose face has not changed since they were found near, or were
  /// asked for, are left out.
  std::vector<std::size_t> far(const mesh::TetEditor& mesh, std::span<const int> touched, int round, double tolerance,
                               double reach);

  const mesh::Point& position(std::size_t i) const { return samples_[i].position; }
  /// The boundary face that is closest to a far sample.
  const mesh::Triangle& face(std::size_t i) const { return samples_[i].face; }
  /// Lets the next round ask for a sample again, whether or not its face changes.
  void ask_again(std::size_t i) { samples_[i].round = 0; }

 private:
  /// A point of the surface, and the boundary face that is near or next to it, as of some round.
  struct Sample {
    mesh::Point position;
    mesh::Triangle face{};
    int round = 0;
  };

  std::vector<Sample> samples_;
};

}  // namespace meniscus::surface
