/// Springs between segments of hair that came close: stiction, wetness, glue. They resist separation and compression, break at a
/// length, and never join points of one strand.
///
/// Source: Selle 2008, section 7.5.2 (springs of fixed ends, the nearest per segment, a length at which they break); Lee 2018,
/// section 2.3.2.
#pragma once

#include "meniscus/core/block.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/mesh/search/box_tree.hpp"
#include "meniscus/solids/force.hpp"

#include <vector>

namespace meniscus::solids::hair {

struct StictionOptions {
  /// m: segments that are nearer than this are joined; springs that are longer than the second break; their length at rest.
  double near = 0;
  double apart = 0;
  double rest_length = 0;
  /// N: springs have the constant stiffness / rest_length.
  double stiffness = 0;
  /// Most springs per segment, the shortest first.
  int most = 0;
};

/// A spring between a part of the way along one segment and of another.
struct StictionSpring {
  std::int32_t first, second;
  double part_first, part_second;
};

class Stiction final : public Force {
 public:
  /// `segments`: two nodes each; `strands`: of each segment.
  Stiction(std::span<const std::array<std::int32_t, 2>> segments, std::span<const std::int32_t> strands, Index nodes,
           const StictionOptions& options);

  /// Deletes springs that are too long at x, then joins segments that are near. With `excluded`, these pairs are remembered
  /// instead, and not joined while they stay near.
  void update(std::span<const mesh::Point> x, bool exclude);
  Index springs() const { return static_cast<Index>(memory_[0]); }
  StictionSpring spring(Index i) const;

  Index nodes() const override { return nodes_; }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return false; }
  void add_damping(std::span<const mesh::Point>, double, std::span<mesh::Point>) const override {}
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point>, std::span<double>) const override {}
  DampingRatios damping_ratios(std::span<const mesh::Point>) const override { return {0, 0}; }
  double strain_rate(std::span<const mesh::Point>, std::span<const mesh::Point>) const override { return 0; }
  /// The number of springs, then four numbers each.
  std::span<double> memory() override { return {memory_.begin(), memory_.end()}; }
  std::size_t nbytes() const override;

 private:
  struct Ends {
    std::array<std::int32_t, 4> node;
    std::array<double, 4> weight;
  };
  Ends ends(Index i) const;
  mesh::Point between(const Ends& e, std::span<const mesh::Point> x) const;

  std::vector<std::array<std::int32_t, 2>> segments_;
  std::vector<std::int32_t> strands_;
  Index nodes_;
  StictionOptions options_;
  core::Block<double> memory_;
  /// Pairs that were near at the start, ascending.
  std::vector<std::array<std::int32_t, 2>> excluded_;
  std::vector<Block3> tangent_;
  mesh::BoxTree tree_;
  std::vector<mesh::Box> boxes_;
  Workspace workspace_;
};

}  // namespace meniscus::solids::hair
