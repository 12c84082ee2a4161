// Particles on domains cut into blocks: their order and the transfers between particles and grid are bit-identical to those of
// a single block.
#include "cut_domains.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/particles/particle_grid_transfer.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/particles/particle_numbering.hpp"

#include <algorithm>
#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

template <class T>
constexpr ColumnType type_of = std::is_same_v<T, float> ? ColumnType::float32 : ColumnType::float64;

template <class T>
T* column(ParticleSet& particles, const char* name) {
  return reinterpret_cast<T*>(particles.column(name).data.data());
}

/// Random particles of the whole domain, those of the block alone, in an order of its own.
template <class T, int D>
ParticleSet particles_of(const Grid<D>& grid, bool affine) {
  ParticleSet particles(D, type_of<T>);
  particles.add_column("velocity", type_of<T>, D);
  if (affine) particles.add_column("affine", type_of<T>, D * D);
  particles.add_column("mass", type_of<T>, 1);
  const auto n = static_cast<std::uint64_t>(5 * product<D>(grid.shape()));
  const auto draw = [](std::uint64_t id, std::uint32_t what) { return CounterRandom(51, id, 0).uniform2(what)[0]; };
  for (std::uint64_t k = 0; k < n; ++k) {
    const std::uint64_t id = k * 7919 % n;
    std::array<T, D> x;
    for (std::uint32_t d = 0; d < D; ++d)
      x[d] = static_cast<T>(grid.origin()[d] + draw(id, d) * grid.spacing() * static_cast<double>(grid.shape()[d]));
    const Coord<D> cell = locate_in_domain(grid, x.data()).cell;
    bool own = true;
    for (std::size_t d = 0; d < D; ++d)
      own = own && cell[d] >= grid.first_cell()[d] && cell[d] < grid.first_cell()[d] + grid.local_shape()[d];
    if (!own) continue;
    const Index i = particles.append(1);
    column<Index>(particles, "id")[i] = static_cast<Index>(id);
    for (std::uint32_t d = 0; d < D; ++d) {
      column<T>(particles, "position")[i * D + d] = x[d];
      column<T>(particles, "velocity")[i * D + d] = static_cast<T>(draw(id, 10 + d) - 0.5);
    }
    for (std::uint32_t a = 0; affine && a < D * D; ++a)
      column<T>(particles, "affine")[i * D * D + a] = static_cast<T>(draw(id, 20 + a) - 0.5);
    column<T>(particles, "mass")[i] = static_cast<T>(0.5 + draw(id, 30));
  }
  return particles;
}

template <class T, int D>
void check_transfer() {
  std::vector<Stagger<D>> places{Stagger<D>::cell()};
  for (int d = 0; d < D; ++d) places.insert(places.end(), 2, Stagger<D>::face(d));
  for (const auto& domain : cut_domains<D>())
    for (const bool affine : {false, true})
      check_same_bits<T, D>(domain, places, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
        ParticleSet particles = particles_of<T, D>(grid, affine);
        MacField<T, D> velocity(grid, Boundary<D>{}), mass(grid, Boundary<D>{});
        Field<T, D> density(grid, Stagger<D>::cell(), Boundary<D>{});
        std::vector<std::vector<std::uint8_t>> known(D);
        fluids::FaceFlags<D> flags;
        for (int d = 0; d < D; ++d) {
          const auto a = static_cast<std::size_t>(d);
          known[a].resize(static_cast<std::size_t>(product<D>(velocity.component(d).extents())));
          flags[a] = known[a].data();
        }
        Workspace workspace;
        poison_workspace(workspace, 16 * velocity.component(0).layout().storage_size());
        fluids::particles_to_grid<T, D>(particles, velocity, flags, &mass, workspace);
        fluids::particle_density<T, D>(particles, density, workspace);
        result[0].put(density);
        for (int d = 0; d < D; ++d) {
          result[2 * static_cast<std::size_t>(d) + 1].put(velocity.component(d));
          result[2 * static_cast<std::size_t>(d) + 2].put(mass.component(d));
        }
      });
}

/// What all particles take from a velocity, by id.
template <class T, int D>
std::vector<T> taken(const Grid<D>& grid, bool affine, std::vector<T>& all) {
  ParticleSet particles = particles_of<T, D>(grid, affine);
  MacField<T, D> velocity(grid, Boundary<D>{});
  fill_random(velocity, 61);
  Workspace workspace;
  fluids::grid_to_particles<T, D>(velocity, nullptr, 0.0, 0.0, particles, workspace);
  for (Index i = 0; i < particles.size(); ++i)
    for (Index d = 0; d < D; ++d) all[column<Index>(particles, "id")[i] * D + d] = column<T>(particles, "velocity")[i * D + d];
  return all;
}

}  // namespace

TEST_CASE("the transfer from particles to a domain cut into blocks is bit-identical to a single block") {
  check_transfer<double, 2>();
  check_transfer<double, 3>();
}

TEST_CASE("the transfer to particles from a domain cut into blocks is bit-identical to a single block") {
  for (const auto& domain : cut_domains<3>()) {
    CAPTURE(domain.name);
    std::vector<float> expected(static_cast<std::size_t>(15 * product<3>(domain.shape()))), found(expected.size());
    taken<float, 3>(whole_grid(domain), true, expected);
    on_blocks(domain, [&](const Grid<3>& grid) { taken<float, 3>(grid, true, found); });
    CHECK(found == expected);
  }
}

TEST_CASE("particles are ordered by global cell and id, whatever their blocks") {
  for (const auto& domain : cut_domains<2>()) {
    CAPTURE(domain.name);
    const auto ids_by_cell = [](const Grid<2>& grid, std::vector<std::vector<Index>>& cells) {
      ParticleSet particles = particles_of<double, 2>(grid, false);
      Workspace workspace;
      particles.sort_by_cell(grid, workspace);
      const CellRuns& runs = particles.cell_runs();
      for (std::size_t r = 0; r < runs.keys.size(); ++r)
        for (Index i = runs.starts[r]; i < runs.starts[r + 1]; ++i)
          cells[runs.keys[r]].push_back(column<Index>(particles, "id")[i]);
    };
    std::vector<std::vector<Index>> expected(static_cast<std::size_t>(product<2>(domain.shape()))), found(expected.size());
    ids_by_cell(whole_grid(domain), expected);
    on_blocks(domain, [&](const Grid<2>& grid) { ids_by_cell(grid, found); });
    CHECK(found == expected);
    for (const auto& ids : expected) CHECK(std::is_sorted(ids.begin(), ids.end()));
  }
}

TEST_CASE("new particles have the same ids whatever their blocks") {
  for (const auto& domain : cut_domains<2>()) {
    CAPTURE(domain.name);
    // By number in the sequence of all particles.
    std::vector<Index> expected(static_cast<std::size_t>(5 * product<2>(domain.shape()))), found(expected.size());
    const auto number = [](const Grid<2>& grid, std::vector<Index>& ids) {
      ParticleSet particles(2, ColumnType::float64);
      const ParticleSet all = particles_of<double, 2>(grid, false);
      const auto* x = reinterpret_cast<const double*>(all.positions().data.data());
      const auto* sequence = reinterpret_cast<const Index*>(all.ids().data.data());
      // In two parts, of which the first has an odd number in each cell.
      for (const bool second : {false, true}) {
        const Index first = particles.size();
        for (Index i = 0; i < all.size(); ++i) {
          if ((sequence[i] % 3 == 0) != second) continue;
          const Index k = particles.append(1);
          std::copy_n(x + 2 * i, 2, column<double>(particles, "position") + 2 * k);
        }
        number_new_particles<2>(particles, first, grid);
        Index k = first;
        for (Index i = 0; i < all.size(); ++i)
          if ((sequence[i] % 3 == 0) == second) ids[sequence[i]] = column<Index>(particles, "id")[k++];
      }
      if (particles.next_id() != static_cast<Index>(ids.size())) throw std::runtime_error("wrong next id");
    };
    number(whole_grid(domain), expected);
    on_blocks(domain, [&](const Grid<2>& grid) { number(grid, found); });
    CHECK(found == expected);
    std::sort(found.begin(), found.end());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == static_cast<Index>(i));
  }
}

TEST_CASE("a block refuses particles that lie in another one") {
  const CutDomain<2> domain{"2 x 1 blocks", {{{5, 8}, {21}}}, {}};
  CHECK_THROWS_AS(on_blocks(domain,
                            [&](const Grid<2>& grid) {
                              ParticleSet particles(2, ColumnType::float64);
                              particles.append(1);
                              for (int d = 0; d < 2; ++d)
                                column<double>(particles, "position")[d] = grid.origin()[d] + 0.5 * grid.spacing();
                              Field<double, 2> density(grid, Stagger<2>::cell(), Boundary<2>{});
                              Workspace workspace;
                              fluids::particle_density<double, 2>(particles, density, workspace);
                            }),
                  InvalidArgument);
}
