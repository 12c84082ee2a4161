#include "meniscus/mesh/search/triangle_tree.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::mesh {
namespace {

constexpr Index triangle_chunk = 2048;

std::vector<Box> boxes_of(const TriangleMeshView& mesh) {
  std::vector<Box> boxes(mesh.triangles.size());
  parallel_for(0, mesh.size(), triangle_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t)
      for (int k = 0; k < 3; ++k) boxes[t].add(mesh.corner(t, k));
  });
  return boxes;
}

}  // namespace

TriangleTree::TriangleTree(const TriangleMeshView& mesh) : volumes_(boxes_of(mesh)) { gather(mesh); }

void TriangleTree::refit(const TriangleMeshView& mesh) {
  volumes_.refit(boxes_of(mesh));
  gather(mesh);
}

void TriangleTree::gather(const TriangleMeshView& mesh) {
  corners_.resize(mesh.triangles.size());
  parallel_for(0, mesh.size(), triangle_chunk, [&](Index b, Index e) {
    for (Index s = b; s < e; ++s)
      for (int k = 0; k < 3; ++k) corners_[s][k] = mesh.corner(triangle(s), k);
  });
  if (mesh.size() == 0) return;
  const Box& all = volumes_.node(0).box;
  largest_coordinate_ = std::max(all.low.cwiseAbs().maxCoeff(), all.high.cwiseAbs().maxCoeff());
}

}  // namespace meniscus::mesh
