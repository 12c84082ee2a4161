/// Islands: bodies that hang together by contacts and joints; an island whose bodies have all been slow for a while sleeps.
#pragma once

#include "meniscus/numerics/graph/disjoint_sets.hpp"

#include <array>
#include <limits>
#include <span>
#include <vector>

namespace meniscus::solids {

struct SleepOptions {
  /// s: bodies that have been slow for as long sleep; infinite: none does.
  double after = std::numeric_limits<double>::infinity();
  double speed = 0.01;  ///< m/s
  double turn = 0.05;   ///< rad/s
};

class Islands {
 public:
  void begin(Index bodies);
  /// Two bodies that move hang together.
  void join(std::int32_t a, std::int32_t b) { sets_.join(a, b); }
  /// The island of a body touches or hangs on something that forces do not move.
  void hold(std::int32_t body) { held_[body] = 1; }
  /// Marks the bodies of islands in which the least time of quiet reaches the limit, and which are held or `free` to sleep
  /// without (all of their bodies); all bodies of an island have that least time then. Returns the number of islands of bodies
  /// that `moves` marks.
  Index sleep(std::span<const std::uint8_t> moves, std::span<const std::uint8_t> free, std::span<double> quiet, double after,
              std::span<std::uint8_t> asleep);
  /// The lowest body of the island.
  std::int32_t root(std::int32_t a) { return sets_.root(a); }
  Index nbytes() const { return sets_.bytes() + static_cast<Index>(least_.capacity() * 8 + 2 * held_.capacity()); }

 private:
  numerics::DisjointSets<std::int32_t> sets_;
  std::vector<double> least_;
  std::vector<std::uint8_t> held_, may_;  ///< of bodies; of islands, at their roots
};

}  // namespace meniscus::solids
