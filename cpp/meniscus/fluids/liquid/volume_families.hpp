/// Families of the parts of a liquid, and the volume that each of them expects beyond its parts.
///
/// Parts are of one family if their liquid has ever been connected: what is lost behind a wall is not missed on this side of it.
/// Parts have labels from 1, families numbers from 1; 0 is no part, and no family. What is expected of that is written off: it is
/// an error that nobody mends, but for drops: those that come from nowhere are taken from the families that have received more
/// drops than they gave, or that give drops, and those that go nowhere are given back to the ones that gave more.
#pragma once

#include "meniscus/core/namespaces.hpp"
#include "meniscus/core/types.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace meniscus::fluids {

class VolumeFamilies {
 public:
  /// The family of each part, by label.
  const std::vector<std::int32_t>& of_parts() const { return of_parts_; }
  /// Expected of each family beyond its parts, m^D; entry 0: written off.
  const std::vector<double>& unassigned() const { return unassigned_; }
  /// Volume of the drops that have left each family, less those that have joined it, m^D; entry 0: that came from nowhere.
  const std::vector<double>& sprayed() const { return sprayed_; }
  double& unassigned_of_part(std::size_t label) { return unassigned_[family(label)]; }
  double& unassigned_of(std::size_t family) { return unassigned_[family]; }
  std::size_t family(std::size_t label) const { return static_cast<std::size_t>(of_parts_[label]); }
  std::size_t count() const { return unassigned_.size(); }

  /// Throws InvalidArgument for families that are not there, and vectors of unequal length.
  void set(std::span<const std::int32_t> of_parts, std::span<const double> unassigned, std::span<const double> sprayed);
  /// Every part is a family; `count`: parts and one.
  void reset(std::size_t count);

  /// Starts the transfer to other parts, `count` - 1 in number, of no family yet.
  void begin_transfer(std::size_t count);
  /// Starts the transfer to the same parts.
  void begin_transfer();
  /// The liquid of a part becomes liquid of another; families that meet become one.
  void join(std::size_t next, std::size_t from);
  bool knows_next(std::size_t next) const { return next_of_parts_[next] != 0; }
  /// What becomes of the volume that a family without parts still expects.
  static constexpr std::int32_t written_off = 0;
  static constexpr std::int32_t has_left = -1;
  /// Ends the transfer. Families are numbered without gaps, and a part of no family founds one. `heirs`, by family before: the
  /// part from 1 whose family takes over what one without parts expects, or one of the above; empty: all is written off. Returns
  /// the volume of those that have left, m^D.
  double commit_transfer(std::span<const std::int32_t> heirs = {});
  /// The number of a family before the last transfer now; 0 if there is none.
  std::int32_t successor(std::int32_t family) const { return successors_[family]; }
  /// Gives every part another label.
  void relabel(std::span<const std::int32_t> next_of);

  /// Adds the values of all parts to what is expected of their families.
  void add(const std::vector<double>& values);
  /// A drop of a volume, m^D, joins the liquid of a family, or leaves it if the volume is negative.
  void count_drop(std::size_t family, double volume) { sprayed_[family] -= volume; }
  /// Settles what was written off for drops from nowhere, and to nowhere, as far as there are families that it is due to.
  void settle_drops();
  /// Sums by family of a value per part; entry 0 is that of label 0.
  std::vector<double> sums(const std::vector<double>& values) const;

 private:
  std::vector<std::int32_t> of_parts_{0};
  std::vector<double> unassigned_{0.0};
  std::vector<double> sprayed_{0.0};
  std::vector<std::int32_t> next_of_parts_;
  numerics::DisjointSets<std::int32_t> sets_;  ///< families that have become one
  std::vector<std::int32_t> successors_;
};

}  // namespace meniscus::fluids
