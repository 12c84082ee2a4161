#include "meniscus/fluids/liquid/volume_families.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::fluids {

void VolumeFamilies::set(std::span<const std::int32_t> of_parts, std::span<const double> unassigned) {
  require(!unassigned.empty(), "there must be an unassigned volume of no family");
  for (const std::int32_t f : of_parts)
    require(f >= 0 && f < static_cast<std::int32_t>(unassigned.size()), "there is no family ", f);
  of_parts_.assign(of_parts.begin(), of_parts.end());
  unassigned_.assign(unassigned.begin(), unassigned.end());
}

void VolumeFamilies::reset(std::size_t count) {
  of_parts_.resize(count);
  std::iota(of_parts_.begin(), of_parts_.end(), 0);
  unassigned_.assign(count, 0.0);
}

void VolumeFamilies::begin_transfer(std::size_t count) {
  parent_.resize(unassigned_.size());
  std::iota(parent_.begin(), parent_.end(), 0);
  next_of_parts_.assign(count, 0);
}

void VolumeFamilies::begin_transfer() {
  begin_transfer(of_parts_.size());
  next_of_parts_ = of_parts_;
}

std::int32_t VolumeFamilies::root(std::int32_t family) const {
  while (parent_[static_cast<std::size_t>(family)] != family) family = parent_[static_cast<std::size_t>(family)];
  return family;
}

void VolumeFamilies::join(std::size_t next, std::size_t from) {
  std::int32_t& now = next_of_parts_[next];
  const std::int32_t before = root(of_parts_[from]);
  const std::int32_t other = now != 0 ? root(now) : before;
  now = std::min(before, other);
  parent_[static_cast<std::size_t>(std::max(before, other))] = now;
}

void VolumeFamilies::commit_transfer(double splinter) {
  std::vector<std::int32_t> number(unassigned_.size(), 0);
  std::int32_t count = 0;
  of_parts_.assign(next_of_parts_.size(), 0);
  for (std::size_t i = 1; i < of_parts_.size(); ++i) {
    if (!knows_next(i)) {  // liquid that came from nowhere
      of_parts_[i] = ++count;
      continue;
    }
    std::int32_t& n = number[static_cast<std::size_t>(root(next_of_parts_[i]))];
    if (n == 0) n = ++count;
    of_parts_[i] = n;
  }
  std::vector<double> expected(unassigned_.size(), 0.0);
  for (std::size_t f = 1; f < unassigned_.size(); ++f)
    expected[static_cast<std::size_t>(root(static_cast<std::int32_t>(f)))] += unassigned_[f];
  std::vector<double> unassigned(static_cast<std::size_t>(count) + 1, 0.0);
  unassigned[0] = unassigned_[0];
  for (std::size_t f = 1; f < expected.size(); ++f)
    if (const std::int32_t n = number[f]; n != 0 || std::abs(expected[f]) < splinter)
      unassigned[static_cast<std::size_t>(n)] += expected[f];
  unassigned_.swap(unassigned);
}

void VolumeFamilies::relabel(std::span<const std::int32_t> next_of) {
  next_of_parts_ = of_parts_;
  for (std::size_t i = 1; i < of_parts_.size(); ++i) of_parts_[static_cast<std::size_t>(next_of[i])] = next_of_parts_[i];
}

void VolumeFamilies::add(const std::vector<double>& values) {
  const std::vector<double> by_family = sums(values);
  for (std::size_t f = 0; f < by_family.size(); ++f) unassigned_[f] += by_family[f];
}

std::vector<double> VolumeFamilies::sums(const std::vector<double>& values) const {
  std::vector<double> by_family(unassigned_.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) by_family[family(i)] += values[i];
  return by_family;
}

}  // namespace meniscus::fluids
