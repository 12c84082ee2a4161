/// Families of the parts of a liquid, and the volume that each of them expects beyond its parts.
///
/// Parts are of one family if their liquid has ever been connected: what is lost behind a wall is not missed on this side of it.
/// Parts have labels from 1, families numbers from 1; 0 is no part, and what is expected of no known family.
#pragma once

#include "meniscus/core/namespaces.hpp"
#include "meniscus/core/types.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace meniscus::fluids {

class VolumeFamilies {
 public:
  /// The family of each part, by label.
  const std::vector<std::int32_t>& of_parts() const { return of_parts_; }
  /// Expected of each family beyond its parts, m^D; entry 0: of splinters of unknown family.
  const std::vector<double>& unassigned() const { return unassigned_; }
  double& unassigned_of_part(std::size_t label) { return unassigned_[family(label)]; }
  double& unassigned_of_none() { return unassigned_[0]; }
  double& unassigned_of(std::size_t family) { return unassigned_[family]; }
  std::size_t family(std::size_t label) const { return static_cast<std::size_t>(of_parts_[label]); }
  std::size_t count() const { return unassigned_.size(); }

  /// Throws InvalidArgument for families that are not there.
  void set(std::span<const std::int32_t> of_parts, std::span<const double> unassigned);
  /// Every part is a family; `count`: parts and one.
  void reset(std::size_t count);

  /// Starts the transfer to other parts, `count` - 1 in number, of no family yet.
  void begin_transfer(std::size_t count);
  /// Starts the transfer to the same parts.
  void begin_transfer();
  /// The liquid of a part becomes liquid of another; families that meet become one.
  void join(std::size_t next, std::size_t from);
  bool knows_next(std::size_t next) const { return next_of_parts_[next] != 0; }
  /// Ends the transfer. Families are numbered without gaps. What one without parts expects is shared by all if it is less than
  /// `splinter` (m^D), else lost.
  void commit_transfer(double splinter);
  /// Gives every part another label.
  void relabel(std::span<const std::int32_t> next_of);

  /// Adds the values of all parts to what is expected of their families.
  void add(const std::vector<double>& values);
  /// Sums by family of a value per part; entry 0 is that of label 0.
  std::vector<double> sums(const std::vector<double>& values) const;

 private:
  std::int32_t root(std::int32_t family) const;

  std::vector<std::int32_t> of_parts_{0};
  std::vector<double> unassigned_{0.0};
  std::vector<std::int32_t> next_of_parts_;
  std::vector<std::int32_t> parent_;  ///< of each family; itself unless it has become part of another
};

}  // namespace meniscus::fluids
