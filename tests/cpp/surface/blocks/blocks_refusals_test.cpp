// Operators that need the whole domain refuse the blocks of a cut one.
#include "grid/blocks/cut_domains.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/surface/extraction/curvature.hpp"
#include "meniscus/surface/markers/escaped_markers.hpp"
#include "meniscus/surface/markers/particle_ballistics.hpp"
#include "meniscus/surface/markers/particle_correction.hpp"
#include "meniscus/surface/markers/particle_seeding.hpp"

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;
using namespace meniscus::surface;

TEST_CASE("operators that need the whole domain refuse a block of it") {
  const CutDomain<3> domain{"2 x 1 x 1 blocks", {{{5, 4}, {6}, {7}}}, {false, false, false}};
  on_blocks(domain, [](const Grid<3>& grid) {
    Field<double, 3> phi(grid, Stagger<3>::cell(), mirrors<3>());
    MacField<double, 3> velocity(grid, Boundary<3>{});
    ParticleSet particles(3, ColumnType::float64), others(3, ColumnType::float64);
    Workspace workspace;
    int refused = 0, asked = 0;
    const auto refuses = [&](auto&& operation) {
      ++asked;
      try {
        operation();
      } catch (const InvalidArgument& e) {
        refused += std::string(e.what()).find("needs a grid of one block") != std::string::npos;
      }
    };
    refuses([&] { seed_particles<double, 3>(phi, particles, nullptr, {}, 0.0, workspace); });
    refuses([&] { correct_by_particles<double, 3>(phi, particles, 1.0, 0.0, workspace); });
    refuses([&] { remove_escaped<double, 3>(phi, particles, EscapeRules{}, velocity, nullptr, nullptr, 0.0, workspace); });
    refuses(
        [&] { reincorporate<double, 3>(phi, particles, 1, others, 0.5, {}, nullptr, 1.0, Deposit::momentum, 0.0, workspace); });
    refuses([&] { advance_spray<double, 3>(grid, particles, 0.1, {}, nullptr, 0.0, workspace); });
    refuses([&] { level_set_curvature<double, 3>(phi, CurvatureKind::columns, 1.0, phi); });
    if (refused != asked) throw std::runtime_error(std::to_string(asked - refused) + " operators take a block");
  });
}
