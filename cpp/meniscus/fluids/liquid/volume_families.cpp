#include "meniscus/fluids/liquid/volume_families.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::fluids {

void VolumeFamilies::set(std::span<const std::int32_t> of_parts, std::span<const double> unassigned,
                         std::span<const double> sprayed) {
  require(!unassigned.empty(), "there must be an unassigned volume of no family");
  require(sprayed.size() == unassigned.size(), "there must be a sprayed volume for each of ", unassigned.size(),
          " unassigned ones, not ", sprayed.size());
  for (std::size_t i = 0; i < of_parts.size(); ++i)
    require(of_parts[i] >= (i > 0) && of_parts[i] < static_cast<std::int32_t>(unassigned.size()), "part ", i,
            " cannot be of family ", of_parts[i], " of ", unassigned.size() - 1);
  of_parts_.assign(of_parts.begin(), of_parts.end());
  unassigned_.assign(unassigned.begin(), unassigned.end());
  sprayed_.assign(sprayed.begin(), sprayed.end());
}

void VolumeFamilies::reset(std::size_t count) {
  of_parts_.resize(count);
  std::iota(of_parts_.begin(), of_parts_.end(), 0);
  unassigned_.assign(count, 0.0);
  sprayed_.assign(count, 0.0);
}

void VolumeFamilies::begin_transfer(std::size_t count) {
  sets_.reset(static_cast<Index>(unassigned_.size()));
  next_of_parts_.assign(count, 0);
}

void VolumeFamilies::begin_transfer() {
  begin_transfer(of_parts_.size());
  next_of_parts_ = of_parts_;
}

void VolumeFamilies::join(std::size_t next, std::size_t from) {
  std::int32_t& now = next_of_parts_[next];
  const std::int32_t before = of_parts_[from];
  now = sets_.join(before, now != 0 ? now : before);
}

double VolumeFamilies::commit_transfer(std::span<const std::int32_t> heirs) {
  successors_.assign(unassigned_.size(), 0);
  std::int32_t count = 0;
  of_parts_.assign(next_of_parts_.size(), 0);
  for (std::size_t i = 1; i < of_parts_.size(); ++i) {
    if (!knows_next(i)) {  // liquid that came from nowhere
      of_parts_[i] = ++count;
      continue;
    }
    std::int32_t& n = successors_[sets_.root(next_of_parts_[i])];
    if (n == 0) n = ++count;
    of_parts_[i] = n;
  }
  std::vector<double> unassigned(static_cast<std::size_t>(count) + 1, 0.0), sprayed(unassigned.size(), 0.0);
  unassigned[0] = unassigned_[0];
  sprayed[0] = sprayed_[0];
  double left = 0.0;
  for (std::size_t f = 1; f < unassigned_.size(); ++f) {
    // A root has the smallest number of its family, so that it has its own successor by now, or none.
    successors_[f] = successors_[sets_.root(static_cast<std::int32_t>(f))];
    const std::int32_t heir = successors_[f] || heirs.empty() ? written_off : heirs[f];
    if (heir == has_left) {
      left += unassigned_[f];
      continue;
    }
    if (heir > 0) successors_[f] = of_parts_[heir];
    const Index n = successors_[f];
    unassigned[n] += unassigned_[f];
    if (n != 0)
      sprayed[n] += sprayed_[f];
    else if (unassigned_[f] * sprayed_[f] < 0.0)  // the drops that it gave were not its own, or those that it got are lost
      sprayed[0] += std::copysign(std::min(std::abs(unassigned_[f]), std::abs(sprayed_[f])), sprayed_[f]);
  }
  unassigned_.swap(unassigned);
  sprayed_.swap(sprayed);
  return left;
}

void VolumeFamilies::relabel(std::span<const std::int32_t> next_of) {
  next_of_parts_ = of_parts_;
  for (std::size_t i = 1; i < of_parts_.size(); ++i) of_parts_[next_of[i]] = next_of_parts_[i];
}

void VolumeFamilies::settle_drops() {
  const auto settle = [&](double given_by) {
    const double open = sprayed_[0];
    double all = 0.0;
    for (std::size_t f = 1; f < sprayed_.size(); ++f) all += std::max(given_by * sprayed_[f], 0.0);
    if (open == 0.0 || all == 0.0) return;
    // A family that has received drops from nowhere returns no more than it has received.
    const double settled = given_by * open > 0.0 ? open : std::copysign(std::min(std::abs(open), all), open);
    for (std::size_t f = 1; f < sprayed_.size(); ++f) {
      const double share = settled * (std::max(given_by * sprayed_[f], 0.0) / all);
      unassigned_[f] -= share;
      sprayed_[f] += share;
    }
    unassigned_[0] += settled;
    sprayed_[0] -= settled;
  };
  const bool from_nowhere = sprayed_[0] > 0.0;
  settle(from_nowhere ? -1.0 : 1.0);
  // The drops still fly: whoever gives drops has given these, too.
  if (from_nowhere) settle(1.0);
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
