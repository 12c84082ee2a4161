#include "meniscus/numerics/sparse/aggregation.hpp"

#include <algorithm>

namespace meniscus::numerics {
namespace {

constexpr double round_off = 1e-14;

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

void StrongCouplings::measure(const CompressedRows& a, const std::vector<double>& scale, double ratio) {
  ratio_ = ratio;
  strongest_.resize(a.rows());
  for_rows(a.rows(), [&](Index i) {
    double strongest = 0;
    for (Index k = a.start[i] + 1; k < a.start[i + 1]; ++k)
      if (-a.value[k] > round_off * std::min(scale[i], scale[a.column[k]])) strongest = std::max(strongest, -a.value[k]);
    strongest_[i] = a.value[a.start[i]] > round_off * scale[i] ? strongest : -1.0;
  });
}

Index aggregate(const CompressedRows& a, const StrongCouplings& strong, std::vector<std::int32_t>& label) {
  const Index n = a.rows();
  label.assign(n, -1);
  std::int32_t count = 0;
  const auto for_strong = [&](Index i, bool mutual, auto&& visit) {
    for (Index k = a.start[i] + 1; k < a.start[i + 1]; ++k)
      if ((mutual ? strong.mutual(i, k, a) : strong(i, k, a)) && !visit(z(a.column[k]), -a.value[k])) return false;
    return true;
  };
  // Unknowns whose neighbours are all free, with these: first over couplings that are strong for both, then over the others.
  for (const bool mutual : {true, false})
    for (Index i = 0; i < n; ++i) {
      if (label[i] >= 0) continue;
      bool any = false;
      const bool free = for_strong(i, mutual, [&](std::size_t j, double) { return any = true, label[j] < 0; });
      if (!any || !free) continue;
      label[i] = count;
      for_strong(i, mutual, [&](std::size_t j, double) { return label[j] = count, true; });
      ++count;
    }
  // The others have a neighbour in one of these, and join the one that they are coupled to most. Written as -2 - label, they do
  // not attract others.
  for (Index i = 0; i < n; ++i) {
    if (label[i] >= 0) continue;
    double most = 0;
    for_strong(i, false, [&](std::size_t j, double coupling) {
      if (label[j] >= 0 && coupling > most) {
        most = coupling;
        label[i] = -2 - label[j];
      }
      return true;
    });
  }
  for (std::int32_t& l : label)
    if (l < -1) l = -2 - l;
  return count;
}

}  // namespace meniscus::numerics
