#include "meniscus/collision/broad_phase/element_tree.hpp"

#include "meniscus/collision/broad_phase/next_double.hpp"

namespace meniscus::collision {
namespace {

constexpr Index leaf_chunk = 256;
constexpr Index vertex_chunk = 4096;

}  // namespace

void swept_boxes(std::span<const mesh::Point> start, std::span<const mesh::Point> end, double inflation,
                 std::span<mesh::Box> out) {
  parallel_for(0, static_cast<Index>(out.size()), vertex_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index i = b; i < e; ++i) {
      mesh::Box box{start[i].cwiseMin(end[i]), start[i].cwiseMax(end[i])};
      if (inflation > 0)
        for (int d = 0; d < 3; ++d) {
          box.low[d] = next_down(box.low[d] - inflation);
          box.high[d] = next_up(box.high[d] + inflation);
        }
      out[i] = box;
    }
  });
}

ElementTree::ElementTree(std::span<const std::int32_t> corners, int corners_per_element)
    : count_(static_cast<Index>(corners.size()) / corners_per_element),
      corners_per_element_(corners_per_element),
      element_corners_(corners.begin(), corners.end()) {
  const Index slots = (count_ + mesh::lanes - 1) / mesh::lanes * mesh::lanes;
  corner_lanes_.assign(slots * corners_per_element, -1);
}

void ElementTree::build(std::span<const mesh::Box> vertex_boxes, Workspace& workspace) {
  {
    auto boxes = workspace.take<mesh::Box>(count_);
    parallel_for(0, count_, vertex_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const std::int32_t* corner = element_corners_.data() + i * corners_per_element_;
        mesh::Box box = vertex_boxes[corner[0]];
        for (int k = 1; k < corners_per_element_; ++k) box.add(vertex_boxes[corner[k]]);
        boxes.data()[i] = box;
      }
    });
    sort({boxes.data(), static_cast<std::size_t>(count_)}, workspace);
  }
  parallel_for(0, leaves(), leaf_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for (int k = 0; k < count(i); ++k)
        for (int c = 0; c < corners_per_element_; ++c)
          corner_lanes_[(i * corners_per_element_ + c) * mesh::lanes + k] =
              element_corners_[Index{elements(i)[k]} * corners_per_element_ + c];
  });
  refit(vertex_boxes);
}

void ElementTree::refit(std::span<const mesh::Box> vertex_boxes) {
  fit([&](Index slot) {
    const Index leaf = slot / mesh::lanes, k = slot % mesh::lanes;
    mesh::Box box = vertex_boxes[corners(leaf, 0)[k]];
    for (int c = 1; c < corners_per_element_; ++c) box.add(vertex_boxes[corners(leaf, c)[k]]);
    return box;
  });
}

Index ElementTree::nbytes() const {
  const auto bytes = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return BoxTree::nbytes() + bytes(element_corners_) + bytes(corner_lanes_);
}

}  // namespace meniscus::collision
