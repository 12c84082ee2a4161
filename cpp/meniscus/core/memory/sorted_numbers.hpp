/// Sorting of numbers from a known range, such as those of elements of a mesh: what a comparison sort needs for lists of
/// thousands is several times as long as counting their digits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace meniscus::core {

/// Sorts numbers in [0, end) ascending, on the calling thread. Keeps its memory for the next time.
class NumberSort {
 public:
  void sort(std::span<std::int32_t> numbers, std::int64_t end) {
    if (numbers.size() < shortest) return std::sort(numbers.begin(), numbers.end());
    if (other_.size() < numbers.size()) other_.resize(numbers.size());
    std::span<std::int32_t> from = numbers, to = std::span(other_).first(numbers.size());
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(end > 0 ? end - 1 : 0)));
    for (int shift = 0; shift < bits; shift += digit) {
      if (!move_by_digit(from, to, shift)) continue;
      std::swap(from, to);
    }
    if (from.data() != numbers.data()) std::copy(from.begin(), from.end(), numbers.begin());
  }

  std::size_t nbytes() const { return other_.capacity() * sizeof(std::int32_t); }

 private:
  static constexpr int digit = 11;
  static constexpr std::size_t values = std::size_t{1} << digit;
  /// Below this, counting the values of a digit takes longer than comparing numbers.
  static constexpr std::size_t shortest = 384;

  /// One stable pass; without any where all numbers have the same digit.
  static bool move_by_digit(std::span<const std::int32_t> from, std::span<std::int32_t> to, int shift) {
    const auto value = [&](std::int32_t n) { return static_cast<std::size_t>(n >> shift) & (values - 1); };
    std::array<std::uint32_t, values> next{};
    for (const std::int32_t n : from) ++next[value(n)];
    if (next[value(from[0])] == from.size()) return false;
    std::uint32_t start = 0;
    for (std::uint32_t& v : next) start += std::exchange(v, start);
    for (const std::int32_t n : from) to[next[value(n)]++] = n;
    return true;
  }

  std::vector<std::int32_t> other_;
};

}  // namespace meniscus::core
