/// Groups of coupled nodes, groups of these groups and so on, for `VelocityMultigrid`: what depends on the forces alone.
#pragma once

#include "meniscus/solids/integrators/body_step.hpp"
#include "meniscus/solids/integrators/multigrid/sweep_rows.hpp"

#include <memory>

namespace meniscus::solids {

class GroupHierarchy {
 public:
  /// An entry of a row that becomes a part of an entry of the next level.
  struct Part {
    std::int32_t row, entry;
  };
  struct Level {
    /// Of level 0, sources are couplings, numbered force by force.
    SweepRows rows;
    /// Nodes of the finest level behind each pair of coupled nodes.
    Workspace::Lease<std::int32_t> bond;
    /// Of levels of groups: the entry with row and column exchanged.
    Workspace::Lease<std::int32_t> mirror;
    // How it becomes the next level: the group of each node, -1 for none; the nodes of each group; the parts of each entry of the
    // next level; and those within each group.
    Workspace::Lease<std::int32_t> label, member;
    Workspace::Lease<Index> member_start, part_start, inner_start;
    Workspace::Lease<Part> part, inner;
    Index groups = 0;
  };
  static constexpr std::size_t most_levels = 16;

  /// That of the forces of a step. Its first body keeps it, for the next step in which forces couple the same nodes.
  static std::shared_ptr<const GroupHierarchy> of(const BodyStep& step);

  explicit GroupHierarchy(const BodyStep& step);

  Index pairs() const { return static_cast<Index>(pairs_.size()); }
  std::size_t depth() const { return depth_; }
  const Level& level(std::size_t l) const { return levels_[l]; }

 private:
  using Ends = std::array<std::int32_t, 2>;
  bool coarsen(std::size_t level);
  void find_members(Level& fine);
  void join_rows(Level& fine, Level& coarse);

  /// Of its own, as it lasts longer than a step.
  Workspace memory_;
  Index nodes_ = 0;
  std::vector<Ends> pairs_;
  std::array<Level, most_levels> levels_;
  std::size_t depth_ = 0;
};

}  // namespace meniscus::solids
