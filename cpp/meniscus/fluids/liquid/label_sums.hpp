/// Sums of values per label over all blocks of a grid, with the same bits on any of them.
#pragma once

#include "meniscus/parallel/binned_reductions.hpp"

#include <vector>

namespace meniscus::fluids {

class LabelSums {
 public:
  explicit LabelSums(std::size_t labels) : sums_(labels) {}

  void add(std::size_t label, double value) { sums_[label].add(value); }
  /// Collective: sets `totals` to what all blocks have added, one number per label.
  void total(parallel::Communicator& communicator, std::vector<double>& totals) {
    parallel::global_sums(communicator, sums_.data(), static_cast<Index>(sums_.size()));
    totals.resize(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) totals[i] = sums_[i].value();
  }

 private:
  std::vector<numerics::BinnedSum> sums_;
};

}  // namespace meniscus::fluids
