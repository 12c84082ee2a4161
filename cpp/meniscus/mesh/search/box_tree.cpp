#include "meniscus/mesh/search/box_tree.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/numerics/morton.hpp"

#include <cmath>

namespace meniscus::mesh {
namespace {

constexpr int bits_per_axis = 18;
constexpr Index leaf_chunk = 256;
constexpr Index element_chunk = 4096;
/// Points whose places on the curve are found together.
constexpr int block = 64;

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

Box joined(Box a, const Box& b) {
  a.add(b);
  return a;
}

/// The least float that is not below x.
inline float rounded_up(double x) {
  const auto f = static_cast<float>(x);
  static_assert(std::numeric_limits<float>::is_iec559);
  if (!(f < x)) return f;
  const auto bits = std::bit_cast<std::int32_t>(f + 0.0f);  // -0 becomes 0
  return std::bit_cast<float>(bits >= 0 ? bits + 1 : bits - 1);
}
/// The greatest float that is not above x.
inline float rounded_down(double x) { return -rounded_up(-x); }

template <class T>
BoxQuery<T> query_of(const Box& box) {
  BoxQuery<T> q;
  for (int d = 0; d < 3; ++d) {
    q.low[d] = static_cast<T>(box.low[d]);
    q.high[d] = static_cast<T>(box.high[d]);
  }
  return q;
}

}  // namespace

BoxTree::BoxTree(std::span<const Box> boxes) {
  Workspace workspace;
  build(boxes, workspace);
}

void BoxTree::build(std::span<const Box> boxes, Workspace& workspace) {
  sort(boxes, workspace);
  refit(boxes);
}

void BoxTree::refit(std::span<const Box> boxes) {
  require(static_cast<Index>(boxes.size()) == size_, "a tree over ", size_, " elements cannot take ", boxes.size(), " boxes");
  fit([&](Index slot) -> const Box& { return boxes[element(slot)]; });
}

void BoxTree::lay_out(Index size) {
  require(size <= 2147483647, "a tree can hold at most 2147483647 elements, not ", size);
  size_ = size;
  elements_.assign(leaves() * lanes, -1);
  leaves_.resize(leaves());
  leaf_boxes_.resize(leaves());
  level_start_.assign(1, 0);
  Index below = leaves();
  while (below > 0) {
    const Index here = (below + lanes - 1) / lanes;
    level_start_.push_back(level_start_.back() + here);
    below = here > 1 ? here : 0;
  }
  nodes_.resize(level_start_.back());
}

void BoxTree::sort(std::span<const Box> boxes, Workspace& workspace) {
  lay_out(static_cast<Index>(boxes.size()));
  if (size_ == 0) return;
  // Halves, so that differences of finite numbers stay finite.
  const auto half_center = [&](Index e) -> Point {
    const Box& b = boxes[e];
    return (0.25 * b.low + 0.25 * b.high).cwiseMin(Point::Constant(1e308)).cwiseMax(Point::Constant(-1e308));
  };
  const Box all = parallel_reduce(
      0, size_, element_chunk, Box{},
      [&](Index b, Index e) {
        Box box;
        for (Index i = b; i < e; ++i) box.add(half_center(i));
        return box;
      },
      joined);
  const double extent = (0.5 * all.high - 0.5 * all.low).maxCoeff();
  constexpr double cells = 1 << bits_per_axis;
  auto keys = workspace.take<std::uint64_t>(size_);
  auto order = workspace.take<Index>(size_);
  parallel_for(0, size_, element_chunk, [&](Index b, Index e) {
    simd_dispatch([&] {
      for (Index first = b; first < e; first += block) {
        const int n = static_cast<int>(std::min<Index>(block, e - first));
        std::uint32_t cell[3][block] = {};
        for (int k = 0; k < n; ++k) {
          const Point c = half_center(first + k);
          for (int d = 0; d < 3; ++d) {
            const double part = extent > 0 ? (0.5 * c[d] - 0.5 * all.low[d]) / extent : 0.0;
            cell[d][k] = static_cast<std::uint32_t>(std::min(part * cells, cells - 1));
          }
        }
        hilbert_places(cell);
        for (int k = 0; k < n; ++k)
          keys.data()[first + k] = numerics::detail::spread(cell[0][k]) << 2 | numerics::detail::spread(cell[1][k]) << 1 |
                                   numerics::detail::spread(cell[2][k]);
      }
    });
  });
  radix_sort(keys.data(), order.data(), size_, std::uint64_t{1} << (3 * bits_per_axis), workspace);
  parallel_for(0, size_, element_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) elements_[i] = static_cast<std::int32_t>(order.data()[i]);
  });
}

void BoxTree::fit_levels() {
  for (int level = 0; level < levels(); ++level) {
    const Index begin = level_start_[level];
    parallel_for(begin, level_start_[level + 1], leaf_chunk, [&](Index b, Index e) {
      const StandardArithmetic arithmetic;
      for (Index i = b; i < e; ++i) {
        Node& n = nodes_[i];
        const int count = children(level, i - begin);
        for (int k = 0; k < lanes; ++k) {
          const Index child = (i - begin) * lanes + k;
          if (k >= count) {
            for (int d = 0; d < 3; ++d) n.low[d][k] = n.high[d][k] = std::numeric_limits<float>::quiet_NaN();
          } else if (level == 0) {
            const Box& box = leaf_box(child);
            for (int d = 0; d < 3; ++d) {
              n.low[d][k] = rounded_down(box.low[d]);
              n.high[d][k] = rounded_up(box.high[d]);
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
  around_ = {};
  if (size_ == 0) return;
  const Node& root = node(levels() - 1, 0);
  for (int k = 0; k < children(levels() - 1, 0); ++k) around_.add(box_of_lane(root, k));
}

bool BoxTree::any_overlap(const Box& box, bool (*found)(void*, Index), void* context) const {
  bool done = false;
  with_box_lanes([&](auto isa) {
    using V = decltype(isa);
    const auto coarse = query_of<float>(box);
    const auto fine = query_of<double>(box);
    descend([&](int level, Index i) { return done ? 0 : V::overlap(node(level, i), coarse); },
            [&](Index i) {
              for (unsigned mask = done ? 0 : V::overlap(leaf(i), fine); mask != 0 && !done; mask &= mask - 1)
                done = found(context, i * lanes + std::countr_zero(mask));
            });
  });
  return done;
}

bool BoxTree::any_pair(Index own, bool (*found)(void*, Index, Index), void* context) const {
  bool done = false;
  with_box_lanes([&](auto isa) {
    using V = decltype(isa);
    const auto coarse = query_of<float>(leaf_box(own));
    descend(
        [&](int level, Index i) {
          const unsigned mask = done ? 0 : V::overlap(node(level, i), coarse);
          // Leaves before this one have met it.
          const Index skip = (own >> (3 * level)) - i * lanes;
          return skip > 0 ? mask & (0xffu << std::min<Index>(skip, lanes)) : mask;
        },
        [&](Index i) {
          for (unsigned firsts = V::overlap(leaf(own), query_of<double>(leaf_box(i))); firsts != 0 && !done;
               firsts &= firsts - 1) {
            const int k = std::countr_zero(firsts);
            unsigned mask = V::overlap(leaf(i), query_of<double>(box_of_lane(leaf(own), k)));
            if (i == own) mask &= 0xfeu << k;
            for (; mask != 0 && !done; mask &= mask - 1)
              done = found(context, own * lanes + k, i * lanes + std::countr_zero(mask));
          }
        });
  });
  return done;
}

namespace {

/// Squared distances of a point to eight boxes, for nodes not more than the true ones: floats of all boxes fit one register, and
/// their rounding is less than the last factor takes away.
class SquaredDistances {
 public:
  explicit SquaredDistances(const Point& p) {
    for (int d = 0; d < 3; ++d) {
      x[d] = p[d];
      low[d] = rounded_down(p[d]);
      high[d] = rounded_up(p[d]);
    }
  }
  MENISCUS_INLINE void operator()(const BoxLanes<float>& boxes, double* out) const {
    for (int k = 0; k < lanes; ++k) {
      const float least = to_box(boxes, k, low, high) * (1 - 0x1p-20f);
      out[k] = least < std::numeric_limits<float>::max() ? least : std::numeric_limits<float>::max();
    }
  }
  MENISCUS_INLINE void operator()(const BoxLanes<double>& boxes, double* out) const {
    for (int k = 0; k < lanes; ++k) out[k] = to_box(boxes, k, x, x);
  }

 private:
  /// The squared distance from one of eight boxes to the box from `from` to `to`.
  template <class T>
  MENISCUS_INLINE static T to_box(const BoxLanes<T>& boxes, int k, const T* from, const T* to) {
    T sum = 0;
    for (int d = 0; d < 3; ++d) {
      const T below = boxes.low[d][k] - to[d];
      const T above = from[d] - boxes.high[d][k];
      const T more = below > above ? below : above;
      const T outside = more > 0 ? more : 0;
      sum += outside * outside;
    }
    return sum;
  }

  double x[3];
  float low[3], high[3];
};

}  // namespace

void BoxTree::for_each_near(const Point& p, const double& limit, void (*visit)(void*, Index), void* context) const {
  with_box_lanes([&](auto isa) { for_each_within(isa, limit, SquaredDistances(p), [&](Index slot) { visit(context, slot); }); });
}

double BoxTree::looseness() const {
  if (size_ == 0) return 1;
  const Box all = parallel_reduce(
      0, leaves(), element_chunk, Box{},
      [&](Index b, Index e) {
        Box box;
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
      0, leaves(), element_chunk, Lengths{},
      [&](Index b, Index e) {
        Lengths s;
        for (Index i = b; i < e; ++i) {
          const Box& box = leaf_box(i);
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

Index BoxTree::nbytes() const {
  const auto bytes = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return bytes(elements_) + bytes(leaves_) + bytes(leaf_boxes_) + bytes(nodes_) + bytes(level_start_);
}

}  // namespace meniscus::mesh
