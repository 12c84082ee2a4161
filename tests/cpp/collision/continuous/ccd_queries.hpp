/// Queries of continuous collision detection for large runs: generic ones, and hard ones.
#pragma once

#include "ccd_oracle.hpp"

#include <span>

namespace meniscus::oracle {

/// Random numbers that need nothing but 64-bit integers, so that tests in Python can draw the same ones (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// low .. high, both included.
  int integer(int low, int high) { return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1)); }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  /// Almost normal, with variance 1: a sum of twelve.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform(0, 1);
    return sum;
  }

 private:
  std::uint64_t state_;
};

struct Query {
  Corners start;
  Corners end;
};

struct Family {
  const char* name;
  Query (*make)(Random&, collision::PairKind);
};

std::span<const Family> generic_families();
std::span<const Family> degenerate_families();
/// Queries that tests/support/ccd/queries.py makes bit by bit equal.
std::span<const Family> shared_families();

}  // namespace meniscus::oracle
