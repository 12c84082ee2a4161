#include "meniscus/solids/contact/node_groups.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>

namespace meniscus::solids {

NodeGroups::NodeGroups(std::span<const std::int32_t> of_nodes, std::span<const double> w, std::span<const bool> in_tetrahedra)
    : numbers(of_nodes.begin(), of_nodes.end()), inverse_masses(w.begin(), w.end()), masses(of_nodes.size()) {
  require(w.size() == numbers.size() && in_tetrahedra.size() == numbers.size(),
          "nodes must have one group, one mass and one flag each");
  std::size_t count = 0;
  for (const std::int32_t g : numbers) {
    require(g >= 0, "numbers of groups must not be negative");
    count = std::max<std::size_t>(count, g + 1);
  }
  totals.assign(count, 0.0);
  solid.assign(count, 0);
  std::vector<Index> sizes(count, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int32_t g = numbers[i];
    masses[i] = w[i] > 0 ? 1 / w[i] : 0.0;
    totals[g] += masses[i];
    ++sizes[g];
    if (in_tetrahedra[i]) solid[g] = 1;
  }
  single.resize(count);
  for (std::size_t g = 0; g < count; ++g) single[g] = sizes[g] == 1;
}

std::vector<std::uint8_t> NodeGroups::stand_on(std::span<const std::int32_t> on, double carries) const {
  std::vector<std::int32_t> once(on.begin(), on.end());
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  std::vector<double> own(groups(), 0.0);
  for (const std::int32_t i : once) own[numbers[i]] += masses[i];
  std::vector<std::uint8_t> stands(groups());
  for (std::size_t g = 0; g < groups(); ++g) stands[g] = !single[g] && own[g] > 0 && totals[g] > carries * own[g];
  return stands;
}

}  // namespace meniscus::solids
