/// Sums over pairs of elements at their vertices, in parallel and in a fixed order: each vertex adds the parts of its pairs in
/// their order, so that results have the same bits on any number of threads.
#pragma once

#include "meniscus/collision/barrier/squared_distance.hpp"
#include "meniscus/core/parallel.hpp"

#include <span>
#include <vector>

namespace meniscus::collision {

class PairSums {
 public:
  /// The vertices of the pairs; all are below `vertices`.
  void set(std::span<const Stencil> pairs, std::size_t vertices);

  Index pairs() const { return pairs_; }

  /// Adds part(i), a vector for the four vertices of each pair i, to the rows of `out`.
  template <class Part>
  void add(Part&& part, std::span<mesh::Point> out) {
    parts_.resize(pairs_);
    parallel_for(0, pairs_, 64, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) parts_[i] = part(i);
    });
    each_vertex([&](std::size_t v, std::span<const Place> places) {
      mesh::Point sum = mesh::Point::Zero();
      for (const Place& p : places) sum += parts_[p.pair].template segment<3>(static_cast<Index>(3 * p.corner));
      out[v] += sum;
    });
  }

  /// Adds block(i, k), a matrix of the pair i at its vertex k, to `out`.
  template <class BlockOf>
  void add_blocks(BlockOf&& block, std::span<Eigen::Matrix3d> out) const {
    each_vertex([&](std::size_t v, std::span<const Place> places) {
      Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
      for (const Place& p : places) sum += block(std::size_t{p.pair}, std::size_t{p.corner});
      out[v] += sum;
    });
  }

  Index nbytes() const;

 private:
  struct Place {
    std::uint32_t pair : 30;
    std::uint32_t corner : 2;
  };

  template <class F>
  void each_vertex(F&& f) const {
    parallel_for(0, static_cast<Index>(touched_.size()), 256, [&](Index b, Index e) {
      for (Index k = b; k < e; ++k) f(touched_[k], std::span<const Place>(places_).subspan(first_[k], first_[k + 1] - first_[k]));
    });
  }

  Index pairs_ = 0;
  std::vector<std::int32_t> touched_;
  std::vector<std::size_t> first_;
  std::vector<Place> places_;
  std::vector<std::size_t> counts_;
  std::vector<PairVector> parts_;
};

/// The rows of the four vertices of a pair.
inline PairPoints pair_points_of(const Stencil& s, std::span<const mesh::Point> x) {
  const auto at = [&](std::size_t k) -> const mesh::Point& { return x[s[k]]; };
  return {at(0), at(1), at(2), at(3)};
}

}  // namespace meniscus::collision
