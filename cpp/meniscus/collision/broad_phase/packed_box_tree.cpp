#include "meniscus/collision/broad_phase/packed_box_tree.hpp"

#include "meniscus/collision/broad_phase/next_double.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"

#include <bit>
#include <cmath>

namespace meniscus::collision {
namespace {

constexpr int bits_per_axis = 18;
constexpr Index leaf_chunk = 256;
constexpr Index vertex_chunk = 4096;
/// Points whose places on the curve are found together.
constexpr int block = 64;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Puts two zero bits between the lower 21 bits.
constexpr std::uint64_t spread(std::uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x001f00000000ffff;
  x = (x | x << 16) & 0x001f0000ff0000ff;
  x = (x | x << 8) & 0x100f00f00f00f00f;
  x = (x | x << 4) & 0x10c30c30c30c30c3;
  x = (x | x << 2) & 0x1249249249249249;
  return x;
}

/// Replaces the cells (x, y, z) of `block` points by the bits of their places on the Hilbert curve, the highest of each three in
/// x. Free of branches, so that it vectorises.
MENISCUS_INLINE void hilbert_places(std::uint32_t (&c)[3][block]) {
  for (int k = 0; k < block; ++k) {
    std::uint32_t x = c[0][k];
    std::uint32_t y = c[1][k];
    std::uint32_t z = c[2][k];
    for (int b = bits_per_axis - 1; b > 0; --b) {
      // In the orthant of this bit, the curve runs mirrored (where a bit is set) or with two axes exchanged (where it is not).
      const std::uint32_t below = (1u << b) - 1;
      x ^= below & (0u - ((x >> b) & 1u));
      const std::uint32_t mirror_y = 0u - ((y >> b) & 1u);
      const std::uint32_t exchange_y = (x ^ y) & below & ~mirror_y;
      x ^= (below & mirror_y) | exchange_y;
      y ^= exchange_y;
      const std::uint32_t mirror_z = 0u - ((z >> b) & 1u);
      const std::uint32_t exchange_z = (x ^ z) & below & ~mirror_z;
      x ^= (below & mirror_z) | exchange_z;
      z ^= exchange_z;
    }
    y ^= x;
    z ^= y;
    std::uint32_t gray = z >> 1;
    gray ^= gray >> 1;
    gray ^= gray >> 2;
    gray ^= gray >> 4;
    gray ^= gray >> 8;
    gray ^= gray >> 16;
    c[0][k] = x ^ gray;
    c[1][k] = y ^ gray;
    c[2][k] = z ^ gray;
  }
}

mesh::Box joined(mesh::Box a, const mesh::Box& b) {
  a.add(b);
  return a;
}

/// The nearest float, or infinity beyond all of them.
inline float rounded(double x) { return static_cast<float>(x); }
static_assert(std::numeric_limits<float>::is_iec559);

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

PackedBoxTree::PackedBoxTree(std::span<const std::int32_t> corners, int corners_per_element)
    : size_(static_cast<Index>(corners.size()) / corners_per_element),
      corners_per_element_(corners_per_element),
      element_corners_(corners.begin(), corners.end()) {
  require(size_ <= 2147483647, "a tree can hold at most 2147483647 elements, not ", size_);
  const Index slots = leaves() * lanes;
  elements_.assign(slots, -1);
  corner_lanes_.assign(slots * static_cast<std::size_t>(corners_per_element), -1);
  leaves_.resize(leaves());
  leaf_boxes_.resize(leaves());
  lay_out_levels();
}

void PackedBoxTree::lay_out_levels() {
  level_start_ = {0};
  Index below = leaves();
  while (below > 0) {
    const Index here = (below + lanes - 1) / lanes;
    level_start_.push_back(level_start_.back() + here);
    below = here > 1 ? here : 0;
  }
  nodes_.resize(level_start_.back());
}

mesh::Box PackedBoxTree::element_box(std::int32_t element, std::span<const mesh::Box> vertex_boxes) const {
  const std::int32_t* corner = element_corners_.data() + Index{element} * corners_per_element_;
  mesh::Box box = vertex_boxes[corner[0]];
  for (int k = 1; k < corners_per_element_; ++k) box.add(vertex_boxes[corner[k]]);
  return box;
}

void PackedBoxTree::build(std::span<const mesh::Box> vertex_boxes, Workspace& workspace) {
  if (size_ == 0) return;
  // Halves, so that differences of finite numbers stay finite.
  const auto half_center = [&](Index e) -> mesh::Point {
    const mesh::Box b = element_box(static_cast<std::int32_t>(e), vertex_boxes);
    return (0.25 * b.low + 0.25 * b.high).cwiseMin(mesh::Point::Constant(1e308)).cwiseMax(mesh::Point::Constant(-1e308));
  };
  const mesh::Box all = parallel_reduce(
      0, size_, vertex_chunk, mesh::Box{},
      [&](Index b, Index e) {
        mesh::Box box;
        for (Index i = b; i < e; ++i) box.add(half_center(i));
        return box;
      },
      joined);
  const double extent = (0.5 * all.high - 0.5 * all.low).maxCoeff();
  constexpr double cells = 1 << bits_per_axis;
  auto keys = workspace.take<std::uint64_t>(size_);
  auto order = workspace.take<Index>(size_);
  parallel_for(0, size_, vertex_chunk, [&](Index b, Index e) {
    simd_dispatch([&] {
      for (Index first = b; first < e; first += block) {
        const int n = static_cast<int>(std::min<Index>(block, e - first));
        std::uint32_t cell[3][block] = {};
        for (int k = 0; k < n; ++k) {
          const mesh::Point c = half_center(first + k);
          for (int d = 0; d < 3; ++d) {
            const double part = extent > 0 ? (0.5 * c[d] - 0.5 * all.low[d]) / extent : 0.0;
            cell[d][k] = static_cast<std::uint32_t>(std::min(part * cells, cells - 1));
          }
        }
        hilbert_places(cell);
        for (int k = 0; k < n; ++k)
          keys.data()[first + k] = spread(cell[0][k]) << 2 | spread(cell[1][k]) << 1 | spread(cell[2][k]);
      }
    });
  });
  radix_sort(keys.data(), order.data(), size_, std::uint64_t{1} << (3 * bits_per_axis), workspace);
  parallel_for(0, leaves(), leaf_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for (int k = 0; k < count(i); ++k) {
        const auto element = static_cast<std::int32_t>(order.data()[i * lanes + k]);
        elements_[i * lanes + k] = element;
        for (int c = 0; c < corners_per_element_; ++c)
          corner_lanes_[(i * corners_per_element_ + c) * lanes + k] = element_corners_[Index{element} * corners_per_element_ + c];
      }
  });
  refit(vertex_boxes);
}

void PackedBoxTree::refit(std::span<const mesh::Box> vertex_boxes) {
  parallel_for(0, leaves(), leaf_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index i = b; i < e; ++i) {
      Leaf& leaf = leaves_[i];
      mesh::Box all;
      for (int k = 0; k < lanes; ++k) {
        if (k >= count(i)) {
          for (int d = 0; d < 3; ++d) leaf.low[d][k] = leaf.high[d][k] = not_a_number;
          continue;
        }
        mesh::Box box = vertex_boxes[corners(i, 0)[k]];
        for (int c = 1; c < corners_per_element_; ++c) box.add(vertex_boxes[corners(i, c)[k]]);
        for (int d = 0; d < 3; ++d) {
          leaf.low[d][k] = box.low[d];
          leaf.high[d][k] = box.high[d];
        }
        all.add(box);
      }
      leaf_boxes_[i] = all;
    }
  });
  for (int level = 0; level < levels(); ++level) {
    const Index begin = level_start_[level];
    const Index end = level_start_[static_cast<std::size_t>(level) + 1];
    const Index below = level == 0 ? leaves() : begin - level_start_[static_cast<std::size_t>(level) - 1];
    parallel_for(begin, end, leaf_chunk, [&](Index b, Index e) {
      const StandardArithmetic arithmetic;
      for (Index i = b; i < e; ++i) {
        Node& n = nodes_[i];
        for (int k = 0; k < lanes; ++k) {
          const Index child = (i - begin) * lanes + k;
          if (child >= below) {
            for (int d = 0; d < 3; ++d) n.low[d][k] = n.high[d][k] = std::numeric_limits<float>::quiet_NaN();
          } else if (level == 0) {
            const mesh::Box& box = leaf_box(child);
            for (int d = 0; d < 3; ++d) {
              n.low[d][k] = rounded(box.low[d]);
              n.high[d][k] = rounded(box.high[d]);
            }
          } else {
            // Lanes without a child hold NaN, which loses every comparison.
            const Node& c = node(level - 1, child);
            for (int d = 0; d < 3; ++d) {
              float low = c.low[d][0];
              float high = c.high[d][0];
              for (int j = 1; j < lanes; ++j) {
                low = c.low[d][j] < low ? c.low[d][j] : low;
                high = c.high[d][j] > high ? c.high[d][j] : high;
              }
              n.low[d][k] = low;
              n.high[d][k] = high;
            }
          }
        }
      }
    });
  }
}

double PackedBoxTree::looseness() const {
  if (size_ == 0) return 1;
  const mesh::Box all = parallel_reduce(
      0, leaves(), vertex_chunk, mesh::Box{},
      [&](Index b, Index e) {
        mesh::Box box;
        for (Index i = b; i < e; ++i) box.add(leaf_box(i));
        return box;
      },
      joined);
  // Scaled, so that no sum overflows.
  const double largest = std::min(std::max(all.high.cwiseAbs().maxCoeff(), all.low.cwiseAbs().maxCoeff()), 1e308);
  const double scale = std::ldexp(1.0, -std::ilogb(std::max(largest, 1e-290)));
  struct Lengths {
    double leaves = 0;
    double elements = 0;
  };
  const Lengths sums = parallel_reduce(
      0, leaves(), vertex_chunk, Lengths{},
      [&](Index b, Index e) {
        Lengths s;
        for (Index i = b; i < e; ++i) {
          const mesh::Box& box = leaf_box(i);
          s.leaves += (scale * box.high - scale * box.low).sum();
          for (int d = 0; d < 3; ++d)
            for (int k = 0; k < count(i); ++k) s.elements += scale * leaf(i).high[d][k] - scale * leaf(i).low[d][k];
        }
        return s;
      },
      [](Lengths x, const Lengths& y) { return Lengths{x.leaves + y.leaves, x.elements + y.elements}; });
  // Points at rest have boxes without extent: then the leaves are compared with the whole.
  const double whole = (scale * all.high - scale * all.low).sum();
  const double floor = whole * static_cast<double>(leaves()) * 1e-3;
  return sums.elements + floor > 0 ? sums.leaves / (sums.elements + floor) : 1;
}

Index PackedBoxTree::nbytes() const {
  const auto bytes = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return bytes(element_corners_) + bytes(elements_) + bytes(corner_lanes_) + bytes(leaves_) + bytes(leaf_boxes_) + bytes(nodes_) +
         bytes(level_start_);
}

}  // namespace meniscus::collision
