// Redistancing and extension on domains cut into blocks are bit-identical to a single block.
#include "grid/blocks/cut_domains.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/surface/redistancing/extension.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <atomic>
#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;
using namespace meniscus::surface;

namespace {

/// Cuts through strips of 16 samples, blocks that begin no strip, and rings of two and of an odd number of strips.
template <int D>
std::vector<CutDomain<D>> domains_of_strips() {
  std::vector<CutDomain<D>> all = cut_domains<D>();
  if constexpr (D == 2) {
    for (const bool closed : {false, true}) {
      all.push_back({"1 x 3 blocks, the middle one without strips", {{{12}, {20, 5, 24}}}, {!closed, closed}});
      all.push_back({"2 x 1 blocks of few rows", {{{4, 5}, {40}}}, {closed, closed}});
      all.push_back({"1 x 2 blocks of whole strips", {{{11}, {32, 16}}}, {closed, closed}});
    }
  } else {
    all.push_back({"2 x 2 x 2 blocks, periodic", {{{9, 6}, {5, 11}, {22, 29}}}, {true, true, true}});
    all.push_back({"2 x 2 x 2 blocks, with walls", {{{9, 6}, {5, 11}, {22, 29}}}, {false, true, false}});
  }
  return all;
}

/// Waves with kinks: smooth parts, thin parts and corners.
template <class T, int D>
void fill_level(Field<T, D>& phi, std::uint64_t seed) {
  const auto view = phi.view();
  for_each_sample<D>(view.extents, 0, [&](const Coord<D>& c) {
    double sum = -0.3, size = 1.0;
    for (std::size_t d = 0; d < D; ++d) {
      const auto n = static_cast<double>(phi.grid().shape()[d]);
      Index i = c[d] + phi.grid().first_cell()[d];
      if (phi.grid().periodic()[d]) i %= phi.grid().shape()[d];
      const double x = 6.283185307179586 * static_cast<double>(i) / n;
      sum += std::cos(x + 0.4 * static_cast<double>(d)) + 0.5 * std::abs(std::sin(x));
      size = std::max(size, 0.1 * n);
    }
    *view.at(c) = static_cast<T>(size * (sum + 0.02 * number_of<D>(phi.layout(), c, seed)));
  });
  poison_ghosts(phi);
}

template <class T, int D>
void check_redistancing() {
  int number = 0;
  for (const auto& domain : domains_of_strips<D>())
    for (const auto& place : {Stagger<D>::cell(), Stagger<D>::node()})
      for (const auto interface : {InterfaceDistance::closest_point, InterfaceDistance::axis_crossings})
        for (const double band : {1.3, std::numeric_limits<double>::infinity()}) {
          // Walls that are one to a few samples thick, and a surface that goes on beyond sides, where there is a band.
          const bool masked = ++number % 3 == 0, walls = number % 2 == 0, goes_on = band < 2.0 && number % 5 < 3;
          Index expected = -1;
          check_same_bits<T, D>(domain, {place}, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
            Field<T, D> phi(grid, place, mirrors<D>());
            fill_level(phi, 5);
            poison_ghosts(phi, true);
            std::vector<std::uint8_t> hidden, outside;
            for_each_sample<D>(phi.extents(), 0, [&](const Coord<D>& c) {
              hidden.push_back(number_of<D>(phi.layout(), c, 8) < -0.8);
              outside.push_back(number_of<D>(phi.layout(), c, 9) > -0.5);
            });
            RedistanceOptions options;
            options.interface = interface;
            options.band = band;
            options.at_sides = goes_on ? AtSides::goes_on : AtSides::ends;
            Workspace workspace;
            poison_workspace(workspace, 64 * phi.layout().storage_size());
            const SampleMasks masks{masked ? hidden.data() : nullptr, walls ? outside.data() : nullptr};
            const Index reached = redistance<T, D>(phi, options, masks, workspace);
            result[0].put(phi);
            if (!grid.block().cut())
              expected = reached;
            else if (reached != expected)
              throw std::runtime_error(std::to_string(reached) + " samples instead of " + std::to_string(expected));
          });
          CHECK(expected > 0);
        }
}

}  // namespace

TEST_CASE("redistancing on 2-D domains cut into blocks is bit-identical to a single block") { check_redistancing<double, 2>(); }

TEST_CASE("redistancing on 3-D domains cut into blocks is bit-identical to a single block") {
  check_redistancing<float, 3>();
  check_redistancing<double, 3>();
}

TEST_CASE("redistancing of a domain cut into blocks is refused by every block where one of them cannot do it") {
  const CutDomain<2> domain{"1 x 3 blocks", {{{9}, {20, 5, 24}}}, {false, true}};
  const auto refusals = [&](auto&& operation) {
    std::atomic<int> count{0};
    on_blocks(domain, [&](const Grid<2>& grid) {
      Field<double, 2> phi(grid, Stagger<2>::cell(), mirrors<2>());
      fill_level(phi, 5);
      try {
        operation(phi);
      } catch (const InvalidArgument&) {
        ++count;
      }
    });
    return count.load();
  };
  CHECK(refusals([](Field<double, 2>& phi) {
          if (phi.grid().block().number == 1) *phi.view().at({3, 2}) = std::numeric_limits<float>::quiet_NaN();
          Workspace workspace;
          redistance<double, 2>(phi, {}, {}, workspace);
        }) == 3);
  CHECK(refusals([](Field<double, 2>& phi) {
          Workspace workspace;
          RedistanceOptions options;
          options.method = EikonalMethod::fast_marching;
          redistance<double, 2>(phi, options, {}, workspace);
        }) == 3);
  CHECK(refusals([](Field<double, 2>& phi) {
          Workspace workspace;
          Field<double, 2> field(phi.grid(), Stagger<2>::face(1), mirrors<2>());
          if (phi.grid().block().number == 2) *field.view().at({0, 3}) = std::numeric_limits<float>::infinity();
          std::vector<std::uint8_t> known(static_cast<std::size_t>(product<2>(field.extents())), 1);
          known[2] = 0;  // values are checked where they are read: beside unknown samples
          extend<double, 2>(field, phi, known.data(), 100.0, ExtensionSide::both, workspace);
        }) == 3);
}
