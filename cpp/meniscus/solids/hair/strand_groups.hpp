/// Strands sorted into groups of eight, which are solved side by side in the lanes of packs.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/triangle_mesh.hpp"
#include "meniscus/numerics/lane_pack.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace meniscus::solids::hair {
using namespace numerics;

/// One strand of a group: its first point and their number.
struct StrandLane {
  Index begin = 0, points = 0;
};

struct StrandStep {
  double dt = 0;
  mesh::Point gravity = mesh::Point::Zero();
  /// 1/s: the air takes this part of the momentum per time.
  double drag = 0;
  /// Midpoint rule, of second order, which damps nothing; else implicit Euler.
  bool midpoint = false;
  int max_newton = 20;
  /// Largest last change of a position, relative to the length of a strand.
  double tolerance = 1e-7;
};

struct StrandReport {
  /// Most iterations of any strand; strands whose last change was above the tolerance.
  int iterations = 0;
  Index unfinished = 0;
};

class StrandGroups {
 public:
  /// Strand s has the points offsets[s] to offsets[s + 1] - 1. A group has as many slots as its longest strand has points, and
  /// `extra_slots` more.
  StrandGroups(std::span<const std::int64_t> offsets, Index extra_slots);

  Index strands() const { return static_cast<Index>(offsets_.size()) - 1; }
  Index size() const { return static_cast<Index>(offsets_.back()); }
  std::span<const std::int64_t> offsets() const { return offsets_; }
  Index groups() const { return static_cast<Index>(first_.size()) - 1; }
  /// Slots of all groups, and the first of one.
  Index slots() const { return first_.back(); }
  Index first_slot(Index g) const { return first_[g]; }

  /// Calls f(lane, strand) for the strands of a group.
  template <class F>
  void per_strand(Index g, F&& f) const {
    for (int l = 0; l < pack_size; ++l)
      if (members_[pack_size * g + l] >= 0) f(l, Index{members_[pack_size * g + l]});
  }

  /// Calls f(value, point, strand) for all points, with their values in a plane of eight lanes per slot, where points begin at
  /// slot 1.
  template <class F>
  void fill_points(double* plane, F&& f) const {
    for (Index i = 0; i < pack_size * groups(); ++i)
      if (const std::int32_t s = members_[i]; s >= 0)
        for (Index p = offsets_[s]; p < offsets_[s + 1]; ++p)
          f(plane[pack_size * (first_[i / pack_size] + 1 + p - offsets_[s]) + i % pack_size], p, Index{s});
  }

  /// The fastest relative change of a distance between consecutive points of a strand, 1/s.
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const;

 protected:
  std::array<StrandLane, pack_size> lanes_of(Index g) const;

  std::vector<std::int64_t> offsets_;
  /// Strands of each group of eight, longest first; -1 for none. First slot of each group.
  std::vector<std::int32_t> members_;
  std::vector<Index> first_;
  Index most_slots_ = 0;
};

/// Scratch memory of threads, kept between calls.
template <class Scratch>
class ScratchPool {
 public:
  std::unique_ptr<Scratch> borrow(Index slots) const {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto s = std::move(free_.back());
        free_.pop_back();
        return s;
      }
    }
    return std::make_unique<Scratch>(slots);
  }
  void give_back(std::unique_ptr<Scratch> s) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(s));
  }
  void prepare(Index needed, Index slots) const {
    free_.reserve(needed);
    while (static_cast<Index>(free_.size()) < needed) free_.push_back(std::make_unique<Scratch>(slots));
  }
  std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& s : free_) bytes += std::span<const double>(s->memory.begin(), s->memory.end()).size_bytes();
    return bytes;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> free_;
};

/// Gathers a vector per point; slots without a point get zero.
template <class Group>
MENISCUS_INLINE void gather(const Group& g, std::span<const mesh::Point> from, PackVec3* out) {
  for (Index j = 0; j < g.slots; ++j) {
    PackVec3 r{splat(0.0), splat(0.0), splat(0.0)};
    for (int l = 0; l < pack_size; ++l)
      if (j >= 1 && j <= g.lanes[l].points) {
        const mesh::Point& p = from[g.lanes[l].begin + j - 1];
        r.x[l] = p[0], r.y[l] = p[1], r.z[l] = p[2];
      }
    out[j] = r;
  }
}

/// Calls f(lane, slot, point) for all points.
template <class Group, class F>
MENISCUS_INLINE void for_points(const Group& g, F&& f) {
  for (Index j = 1; j + 1 < g.slots; ++j)
    for (int l = 0; l < pack_size; ++l)
      if (j <= g.lanes[l].points) f(l, j, g.lanes[l].begin + j - 1);
}

}  // namespace meniscus::solids::hair
