#include "meniscus/numerics/multipole/octree.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/numerics/morton.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace meniscus::numerics {
namespace {
constexpr int deepest = 45;              // centres of boxes are exact in double precision down to this level
constexpr int levels_per_sort = 9;       // by one sort of codes; further ones sort what is left of points in one place
constexpr Index points_per_task = 8192;  // points of a task

void gather(const double* points, OrderedPoints& ordered) {
  const Index n = ordered.size();
  for (auto* column : {&ordered.x, &ordered.y, &ordered.z}) column->resize(ordered.order.size());
  parallel_for(0, n, points_per_task, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const double* p = points + 3 * ordered.order[i];
      ordered.x[i] = p[0], ordered.y[i] = p[1], ordered.z[i] = p[2];
    }
  });
}
}  // namespace

Octree::Octree(const double* sources, Index n, const double* targets, Index m, const OctreeOptions& options)
    : same_(targets == nullptr) {
  constexpr double worth_it = 1.1;  // change of the side
  build(sources, n, targets, m, options, 1.0);
  if (const double scale = better_scale(options.mean_points); scale > worth_it) build(sources, n, targets, m, options, scale);
  gather(sources, sources_);
  if (!same_) gather(targets, targets_);
  source_keys_ = {};
  target_keys_ = {};
  workspace_.clear();
}

/// Divides a root whose side is `scale` times what the points need.
void Octree::build(const double* sources, Index n, const double* targets, Index m, const OctreeOptions& options, double scale) {
  const double most = std::numeric_limits<double>::max();
  Vec<double, 3> low(most, most, most), high = -low;
  enclose(sources, n, low, high);
  if (!same_) enclose(targets, m, low, high);
  if (!(low[0] <= high[0])) low = high = Vec<double, 3>::Zero();
  // A side of few bits and a corner on multiples of its finest parts make all centres exact, so that expansions about them fit
  // together to rounding, however small boxes are.
  int exponent = 0;
  const double extent = scale * std::max((high - low).maxCoeff(), std::numeric_limits<double>::min());
  const double mantissa = std::frexp(extent * (1.0 + 1e-12), &exponent);
  side_ = std::ldexp(std::ceil(std::ldexp(mantissa, 6)), exponent - 6);
  const double grain = std::ldexp(1.0, exponent - deepest);
  for (int d = 0; d < 3; ++d) {
    const double corner = scale > 1.0 ? low[d] : 0.5 * (low[d] + high[d] - side_);
    low_[d] = std::min(std::floor(corner / grain) * grain, low[d]);
  }
  sources_.order.resize(n);
  std::iota(sources_.order.begin(), sources_.order.end(), Index{0});
  source_keys_.resize(n);
  if (!same_) {
    targets_.order.resize(m);
    std::iota(targets_.order.begin(), targets_.order.end(), Index{0});
    target_keys_.resize(m);
  }
  const auto count = static_cast<std::int32_t>(n), target_count = static_cast<std::int32_t>(same_ ? n : m);
  boxes_.assign(1, {{0, 0, 0}, -1, -1, 0, 0, 0, count, 0, target_count});
  level_begin_ = {0, 1};
  for (int level = 0; level < deepest; ++level) {
    const bool may_divide = side(level) >= 2.0 * options.least_side;
    for (Index b = level_begin(level); may_divide && b < level_begin(level + 1); ++b) divide(b, options, sources, targets);
    const auto end = static_cast<Index>(boxes_.size());
    if (end == level_begin_.back()) break;
    level_begin_.push_back(end);
  }
}

void Octree::enclose(const double* points, Index n, Vec<double, 3>& low, Vec<double, 3>& high) const {
  struct Range {
    Vec<double, 3> low, high;
  };
  const Range found = parallel_reduce(
      0, n, points_per_task, Range{low, high},
      [&](Index begin, Index end) {
        Range r{low, high};
        for (Index i = begin; i < end; ++i) {
          const Eigen::Map<const Vec<double, 3>> p(points + 3 * i);
          r.low = r.low.cwiseMin(p);
          r.high = r.high.cwiseMax(p);
        }
        return r;
      },
      [](const Range& a, const Range& b) { return Range{a.low.cwiseMin(b.low), a.high.cwiseMax(b.high)}; });
  low = found.low;
  high = found.high;
}

Vec<double, 3> Octree::centre(const Box& box) const {
  Vec<double, 3> c;
  for (int d = 0; d < 3; ++d) c[d] = low_[d] + static_cast<double>(2 * box.cell[d] + 1) * (0.5 * side(box.level));
  return c;
}

/// The code of a point among the boxes `levels_per_sort` below a level; only what lies below this level counts.
std::uint64_t Octree::key(const double* point, int level) const {
  constexpr Index most = (Index{1} << deepest) - 1;
  const double cells = std::ldexp(1.0 / side_, deepest);
  Coord<3> cell{};
  for (int d = 0; d < 3; ++d) {
    const Index place = std::clamp(static_cast<Index>((point[d] - low_[d]) * cells), Index{0}, most);
    cell[d] = (place >> (deepest - level - levels_per_sort)) & ((Index{1} << levels_per_sort) - 1);
  }
  return morton_code(cell);
}

void Octree::sort_range(const double* points, std::vector<Index>& order, Index begin, Index end, int level) {
  std::vector<std::uint64_t>& keys = &order == &sources_.order ? source_keys_ : target_keys_;
  const Index n = end - begin;
  parallel_for(begin, end, points_per_task, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) keys[i] = key(points + 3 * order[i], level);
  });
  auto places = workspace_.take<Index>(n);
  auto before = workspace_.take<Index>(n);
  core::radix_sort(keys.data() + begin, places.data(), n, std::uint64_t{1} << (3 * levels_per_sort), workspace_);
  std::copy_n(order.data() + begin, n, before.data());
  parallel_for(0, n, points_per_task, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) order[begin + i] = before.data()[places.data()[i]];
  });
}

/// Where the points of the eight parts of a box begin among [begin, end).
std::array<Index, 9> Octree::parts(const std::vector<std::uint64_t>& keys, Index begin, Index end, int level) const {
  const int shift = 3 * (levels_per_sort - 1 - level % levels_per_sort);
  std::array<Index, 9> first{};
  first[0] = begin;
  first[8] = end;
  for (std::uint64_t part = 1; part < 8; ++part)
    first[part] = std::lower_bound(keys.begin() + first[part - 1], keys.begin() + end, part,
                                   [shift](std::uint64_t k, std::uint64_t p) { return ((k >> shift) & 7) < p; }) -
                  keys.begin();
  return first;
}

void Octree::divide(Index b, const OctreeOptions& options, const double* sources, const double* targets) {
  const Box box = boxes_[b];
  if (box.sources() <= options.most_points && box.targets() <= options.most_points) return;
  if (box.level % levels_per_sort == 0) {
    sort_range(sources, sources_.order, box.sources_begin, box.sources_end, box.level);
    if (!same_) sort_range(targets, targets_.order, box.targets_begin, box.targets_end, box.level);
  }
  const auto s = parts(source_keys_, box.sources_begin, box.sources_end, box.level);
  const auto t = same_ ? s : parts(target_keys_, box.targets_begin, box.targets_end, box.level);
  const auto first = static_cast<std::int32_t>(boxes_.size());
  std::int8_t children = 0;
  for (std::size_t part = 0; part < 8; ++part) {
    if (s[part] == s[part + 1] && t[part] == t[part + 1]) continue;
    Box child{};
    for (int d = 0; d < 3; ++d) child.cell[d] = 2 * box.cell[d] + (static_cast<Index>(part) >> (2 - d) & 1);
    child.parent = static_cast<std::int32_t>(b);
    child.first_child = -1;
    child.level = static_cast<std::int8_t>(box.level + 1);
    child.sources_begin = static_cast<std::int32_t>(s[part]), child.sources_end = static_cast<std::int32_t>(s[part + 1]);
    child.targets_begin = static_cast<std::int32_t>(t[part]), child.targets_end = static_cast<std::int32_t>(t[part + 1]);
    boxes_.push_back(child);
    ++children;
  }
  boxes_[b].first_child = first;
  boxes_[b].children = children;
}

bool Octree::adjacent(const Box& a, const Box& b) {
  const Box& fine = a.level >= b.level ? a : b;
  const Box& coarse = a.level >= b.level ? b : a;
  const int shift = fine.level - coarse.level;
  for (int d = 0; d < 3; ++d) {
    const Index begin = coarse.cell[d] << shift, end = (coarse.cell[d] + 1) << shift;
    if (fine.cell[d] < begin - 1 || fine.cell[d] > end) return false;
  }
  return true;
}

void Octree::find_near(Index few_targets) {
  near_begin_.assign(boxes_.size() + 1, 0);
  near_.assign(1, 0);  // the root is near to itself
  near_begin_[1] = 1;
  constexpr Index chunk = 256;
  std::vector<std::vector<std::int32_t>> found;
  for (int level = 1; level < levels(); ++level) {
    const Index first = level_begin(level), last = level_begin(level + 1);
    found.resize((last - first + chunk - 1) / chunk);
    parallel_for(first, last, chunk, [&](Index begin, Index end) {
      auto& list = found[(begin - first) / chunk];
      list.clear();
      for (Index b = begin; b < end; ++b) {
        const Box& box = boxes_[b];
        const std::size_t before = list.size();
        for (const std::int32_t entry : near(box.parent)) {
          if (box.targets() == 0) break;
          if (entry < 0) {
            list.push_back(entry);
            continue;
          }
          const Box& other = boxes_[entry];
          if (other.leaf()) {
            if (adjacent(other, box))
              list.push_back(entry);
            else if (box.targets() <= few_targets)
              list.push_back(~entry);
          } else {
            for (std::int32_t c = other.first_child; c < other.first_child + other.children; ++c)
              if (boxes_[c].sources() > 0 && adjacent(boxes_[c], box)) list.push_back(c);
          }
        }
        near_begin_[b + 1] = static_cast<Index>(list.size() - before);
      }
    });
    for (const auto& list : found) near_.insert(near_.end(), list.begin(), list.end());
    for (Index b = first; b < last; ++b) near_begin_[b + 1] += near_begin_[b];
    found.clear();
  }
}

double Octree::better_scale(double wanted) const {
  if (levels() < 3 || sources_.size() == 0) return 1.0;
  const Index last = level_begin(levels()) - level_begin(levels() - 1);
  const Index before = level_begin(levels() - 1) - level_begin(levels() - 2);
  constexpr double full = 7.5;  // children of a box, of eight
  if (static_cast<double>(last) < full * static_cast<double>(before)) return 1.0;
  return std::clamp(std::cbrt(wanted * static_cast<double>(last) / static_cast<double>(sources_.order.size())), 1.0, 1.99);
}

Index Octree::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  Index sum = of(boxes_) + of(near_) + of(near_begin_);
  for (const OrderedPoints* p : {&sources_, &targets_}) sum += of(p->order) + of(p->x) + of(p->y) + of(p->z);
  return sum;
}

}  // namespace meniscus::numerics
