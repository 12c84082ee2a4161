// Parcels of water: sums in a fixed order, whatever the number of threads.
#include "meniscus/fluids/tet_vof/parcels.hpp"
#include "meniscus/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace meniscus;

namespace {

struct Water {
  std::vector<double> volume;
  std::vector<mesh::Point> velocity;
  fluids::TetWater view() { return {volume, velocity}; }
};

double number(std::uint32_t i, std::uint32_t k) {
  return static_cast<double>(core::philox({i, k, 7, 0}, {1, 2})[0]) / 4294967296.0;
}

}  // namespace

TEST_CASE("parcels are added in the order of their pieces") {
  constexpr std::size_t targets = 10'000;
  std::vector<mesh::Point> shared(300);
  for (std::size_t i = 0; i < shared.size(); ++i)
    shared[i] = mesh::Point(number(static_cast<std::uint32_t>(i), 0), -1, number(static_cast<std::uint32_t>(i), 1));
  fluids::Parcels parcels;
  core::Workspace workspace;
  // Many and few, spread over all targets and close together.
  for (const std::uint32_t count : {0u, 5u, 3000u, 60'000u})
    for (const std::size_t span : {targets, std::size_t{3}}) {
      CAPTURE(count);
      CAPTURE(span);
      std::vector<fluids::Parcel> all;
      constexpr Index pieces = 40;
      parcels.begin(pieces, shared);
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto target = static_cast<std::int32_t>(number(i, 2) * static_cast<double>(span));
        const double v = number(i, 3);
        fluids::ParcelList& list = parcels.piece(Index{i} * pieces / count);
        if (number(i, 4) < 0.5) {
          const auto source = static_cast<std::size_t>(number(i, 5) * 300);
          list.push_shared(v, static_cast<std::int32_t>(source), target);
          all.push_back({v, shared[source], target});
        } else {
          all.push_back({v, mesh::Point(number(i / 3, 6), 1, 2), target});
          list.push_back(all.back());
        }
      }
      Water expected{std::vector<double>(targets, 0.25), std::vector<mesh::Point>(targets, mesh::Point(1, 2, 3))};
      Water water = expected;
      std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.target < b.target; });
      for (std::size_t i = 0; i < all.size();) {
        const std::int32_t target = all[i].target;
        double volume = 0;
        mesh::Point momentum = mesh::Point::Zero();
        for (; i < all.size() && all[i].target == target; ++i) {
          volume += all[i].volume;
          momentum += all[i].volume * all[i].velocity;
        }
        expected.view().mix(static_cast<std::size_t>(target), volume, momentum);
      }
      const int before = core::num_threads();
      for (const int threads : {1, 2, 3, 5, 8}) {
        Water now = water;
        core::set_num_threads(threads);
        parcels.add_to(now.view(), workspace);
        CHECK(now.volume == expected.volume);
        CHECK(std::memcmp(now.velocity.data(), expected.velocity.data(), targets * sizeof(mesh::Point)) == 0);
      }
      core::set_num_threads(before);
    }
}
