/// Failures on one rank, as the others see them.
#pragma once

#include <stdexcept>
#include <string>

namespace meniscus::parallel {

/// Thrown where a rank waits for messages while another one has failed; see Communicator::agree.
class RankFailure : public std::runtime_error {
 public:
  RankFailure(int rank, const std::string& text) : std::runtime_error(text), rank_(rank) {}
  /// The rank that failed.
  int rank() const { return rank_; }

 private:
  int rank_;
};

}  // namespace meniscus::parallel
