/// Requests of consecutive tetrahedra for the water of others.
#pragma once

#include "meniscus/core/memory/slow_growth.hpp"
#include "meniscus/core/types.hpp"

namespace meniscus::fluids {

/// Columns of donors and volumes, 12 bytes for each request. Memory is kept.
class RequestList {
 public:
  void clear() {
    donor_.clear();
    volume_.clear();
  }
  /// `donor`: the slot of one; volume in m^3.
  void push(std::int32_t donor, double volume) {
    push_slowly(donor_, donor);
    push_slowly(volume_, volume);
  }

  std::size_t size() const { return donor_.size(); }
  std::int32_t donor(std::size_t i) const { return donor_[i]; }
  double volume(std::size_t i) const { return volume_[i]; }
  double& volume(std::size_t i) { return volume_[i]; }

  std::size_t nbytes() const { return donor_.capacity() * sizeof(std::int32_t) + volume_.capacity() * sizeof(double); }

 private:
  std::vector<std::int32_t> donor_;
  std::vector<double> volume_;
};

}  // namespace meniscus::fluids
