#include "meniscus/collision/broad_phase/spatial_hash.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <atomic>
#include <bit>

namespace meniscus::collision {
namespace {

constexpr Index box_chunk = 2048;
constexpr Index bucket_chunk = 4096;
constexpr std::int16_t left_out = -1;

bool is_empty(const mesh::Box& b) { return !(b.low.array() <= b.high.array()).all(); }

/// Half of the largest side; halves do not overflow.
double half_side(const mesh::Box& b) { return (0.5 * b.high - 0.5 * b.low).maxCoeff(); }

}  // namespace

void SpatialHash::build(std::span<const mesh::Box> boxes, double cell_size, CellHash hash) {
  require(boxes.size() <= 2147483647, "a spatial hash can hold at most 2147483647 boxes, not ", boxes.size());
  require(std::isfinite(cell_size) && cell_size >= 0, "cell_size must be finite and not negative, not ", cell_size);
  hash_ = hash;
  boxes_.assign(boxes.begin(), boxes.end());
  choose_levels(cell_size);
  sort_into_buckets();
}

void SpatialHash::choose_levels(double cell_size) {
  const auto n = static_cast<Index>(boxes_.size());
  const auto box = [&](Index i) -> const mesh::Box& { return boxes_[i]; };
  struct Sum {
    double sides = 0;
    double count = 0;
  };
  if (cell_size == 0) {
    const Sum all = parallel_reduce(
        0, n, box_chunk, Sum{},
        [&](Index b, Index e) {
          Sum s;
          for (Index i = b; i < e; ++i) {
            if (is_empty(box(i))) continue;
            // Scaled, so that sums of the largest sides are finite.
            s.sides += half_side(box(i)) * 0x1p-40;
            ++s.count;
          }
          return s;
        },
        [](Sum a, const Sum& b) { return Sum{a.sides + b.sides, a.count + b.count}; });
    cell_size = all.count > 0 ? std::ldexp(all.sides / all.count, 41) : 0;
  }
  if (cell_size == 0) {
    // Only points: about one for each cell of the box around them.
    mesh::Box around;
    for (const mesh::Box& b : boxes_)
      if (!is_empty(b)) around.add(b);
    cell_size = boxes_.empty() || is_empty(around) ? 1.0 : 2 * half_side(around) / std::cbrt(static_cast<double>(n));
  }
  cell_size_ = std::clamp(cell_size, 0x1p-960, 0x1p960);
  inverse_ = 1 / cell_size_;

  constexpr std::size_t level_count = 2100;
  level_.resize(boxes_.size());
  level_used_.assign(level_count, 0);
  const double half = 0.5 * cell_size_;
  parallel_for(0, n, box_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      std::int16_t level = left_out;
      if (!is_empty(box(i))) {
        int exponent = 0;
        const double mantissa = std::frexp(half_side(box(i)) / half, &exponent);
        // The smallest level with 2^level >= the quotient; beyond 2^1023 it counts as the highest.
        const bool power = mantissa == 0.5;
        level = static_cast<std::int16_t>(std::isfinite(mantissa) ? std::clamp(power ? exponent - 1 : exponent, 0, 2099) : 2099);
        std::atomic_ref<std::uint8_t>(level_used_[level]).store(1, std::memory_order_relaxed);
      }
      level_[i] = level;
    }
  });
  levels_.clear();
  for (std::size_t l = 0; l < level_count; ++l)
    if (level_used_[l]) levels_.push_back(static_cast<int>(l));
}

void SpatialHash::sort_into_buckets() {
  const auto n = static_cast<Index>(boxes_.size());
  const std::uint64_t buckets = std::bit_ceil(std::max<std::uint64_t>(16, 2 * boxes_.size()));
  mask_ = buckets - 1;
  const auto m = static_cast<Index>(buckets);
  start_.resize(buckets + 1);
  end_.resize(buckets);
  const auto for_buckets_of = [&](Index i, auto&& f) {
    const int level = level_[i];
    if (level == left_out) return;
    const mesh::Box& b = boxes_[i];
    for_cells(cell_of(b.low, level), cell_of(b.high, level), [&](const Coord<3>& c) { f(bucket_of(c, level)); });
  };
  parallel_for(0, m, bucket_chunk, [&](Index b, Index e) { std::fill(end_.begin() + b, end_.begin() + e, 0); });
  parallel_for(0, n, box_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for_buckets_of(i, [&](std::size_t k) { std::atomic_ref<Index>(end_[k]).fetch_add(1, std::memory_order_relaxed); });
  });
  Index sum = 0;
  for (std::size_t k = 0; k < buckets; ++k) {
    start_[k] = sum;
    sum += end_[k];
    end_[k] = start_[k];
  }
  start_[buckets] = sum;
  entries_.resize(sum);
  parallel_for(0, n, box_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i)
      for_buckets_of(i, [&](std::size_t k) {
        const Index at = std::atomic_ref<Index>(end_[k]).fetch_add(1, std::memory_order_relaxed);
        entries_[at] = static_cast<std::int32_t>(i);
      });
  });
  // Threads fill a bucket in any order; sorted, it is the same every time. Two cells of a box may share a bucket.
  parallel_for(0, m, bucket_chunk, [&](Index b, Index e) {
    for (Index k = b; k < e; ++k) {
      const auto first = entries_.begin() + start_[k];
      const auto end = entries_.begin() + end_[k];
      std::sort(first, end);
      end_[k] = std::unique(first, end) - entries_.begin();
    }
  });
}

}  // namespace meniscus::collision
