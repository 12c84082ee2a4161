// Vorticity, its measures, confinement and vortex particles on domains cut into blocks: bit-identical to a single block.
#include "grid/blocks/cut_domains.hpp"

#include "meniscus/fluids/vorticity/vortex_forcing.hpp"
#include "meniscus/fluids/vorticity/vorticity.hpp"
#include "meniscus/fluids/vorticity/vorticity_confinement.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

template <int D>
Boundary<D> sides() {
  Boundary<D> b{};
  b[1] = Open{};
  b[2] = Wall{{{0.1, 0.2, 0.3}, nullptr}, true};
  return b;
}

template <int D>
std::vector<Stagger<D>> faces() {
  std::vector<Stagger<D>> places;
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  return places;
}

/// A solid with a rough surface.
template <int D>
void fill_solid(Field<double, D>& phi) {
  fill_random(phi, 42);
  for_each_sample<D>(phi.extents(), 0, [&](const Coord<D>& c) { *phi.view().at(c) += 0.4; });
  poison_ghosts(phi);
}

template <class T, int D>
void check_confinement() {
  for (const auto& domain : cut_domains<D>())
    for (const bool with_solid : {false, true})
      check_same_bits<T, D>(domain, faces<D>(), [&](const Grid<D>& grid, WholeFields<T, D>& result) {
        MacField<T, D> velocity(grid, sides<D>());
        fill_random(velocity, 11);
        Field<double, D> phi(grid, Stagger<D>::node(), mirrors<D>());
        fill_solid(phi);
        const SolidBoundary<T, D> solid(phi, nullptr, Slip::free);
        Workspace workspace;
        poison_workspace(workspace, 16 * velocity.component(0).layout().storage_size());
        fluids::add_vorticity_confinement<T, D>(velocity, 0.1, 0.7, with_solid ? &solid : nullptr, 0.0, workspace);
        for (int d = 0; d < D; ++d) result[d].put(velocity.component(d));
      });
}

template <class T, int D>
void check_vorticity() {
  constexpr auto components = static_cast<std::size_t>(fluids::vorticity_components<D>);
  for (const auto& domain : cut_domains<D>())
    check_same_bits<T, D>(domain, std::vector<Stagger<D>>(components, Stagger<D>::cell()),
                          [&](const Grid<D>& grid, WholeFields<T, D>& result) {
                            MacField<T, D> velocity(grid, sides<D>());
                            fill_random(velocity, 12);
                            std::vector<Field<T, D>> fields;
                            for (std::size_t i = 0; i < components; ++i)
                              fields.emplace_back(grid, Stagger<D>::cell(), mirrors<D>());
                            std::array<Field<T, D>*, components> out;
                            for (std::size_t i = 0; i < components; ++i) out[i] = &fields[i];
                            fluids::compute_vorticity<T, D>(velocity, 0.0, out);
                            for (std::size_t i = 0; i < components; ++i) result[i].put(fields[i]);
                          });
}

/// Energies, enstrophies and sums with and without a mask, of one block and of all blocks.
template <class T, int D>
void check_measures() {
  for (const auto& domain : cut_domains<D>()) {
    CAPTURE(domain.name);
    const auto measure = [](const Grid<D>& grid) {
      MacField<T, D> velocity(grid, sides<D>());
      fill_random(velocity, 13);
      for (int d = 0; d < D; ++d) velocity.component(d).fill_ghosts(0.0);
      Field<T, D> cells(grid, Stagger<D>::cell(), mirrors<D>());
      fill_random(cells, 14);
      std::vector<std::uint8_t> mask;
      for_each_sample<D>(cells.extents(), 0,
                         [&](const Coord<D>& c) { mask.push_back(number_of<D>(cells.layout(), c, 15) < 0.3); });
      std::vector<double> all{fluids::kinetic_energy(velocity), fluids::enstrophy(velocity, 0.0), sum_samples(cells, nullptr),
                              sum_samples(cells, mask.data())};
      for (int d = 0; d < D; ++d) all.push_back(sum_samples(velocity.component(d), nullptr));
      return all;
    };
    const std::vector<double> expected = measure(whole_grid(domain));
    on_blocks(domain, [&](const Grid<D>& grid) {
      if (measure(grid) != expected) throw std::runtime_error("other measures");
    });
  }
}

/// Vortex particles of the whole domain, those of the block alone, in the order of their ids or against it.
template <class T, int D>
ParticleSet vortices(const Grid<D>& grid, Index n, bool reversed) {
  const ColumnType type = std::is_same_v<T, float> ? ColumnType::float32 : ColumnType::float64;
  constexpr Index width = fluids::vorticity_components<D>;
  ParticleSet particles(D, type);
  particles.add_column("vorticity", type, width);
  particles.add_column("radius", type, 1);
  const auto draw = [](Index id, std::uint32_t what) {
    return CounterRandom(61, static_cast<std::uint64_t>(id), 0).uniform2(what)[0];
  };
  const auto set = [&](const char* name, Index i, double value) {
    reinterpret_cast<T*>(particles.column(name).data.data())[i] = static_cast<T>(value);
  };
  for (Index k = 0; k < n; ++k) {
    const Index id = reversed ? n - 1 - k : k;
    std::array<T, D> x;
    for (std::uint32_t d = 0; d < D; ++d)
      x[d] = static_cast<T>(grid.origin()[d] + draw(id, d) * grid.spacing() * static_cast<double>(grid.shape()[d]));
    const Coord<D> cell = locate_in_domain(grid, x.data()).cell;
    bool own = true;
    for (std::size_t d = 0; d < D; ++d)
      own = own && cell[d] >= grid.first_cell()[d] && cell[d] < grid.first_cell()[d] + grid.local_shape()[d];
    if (!own) continue;
    const Index i = particles.append(1);
    reinterpret_cast<std::int64_t*>(particles.column("id").data.data())[i] = id;
    for (std::uint32_t d = 0; d < D; ++d) set("position", i * D + d, static_cast<double>(x[d]));
    for (std::uint32_t a = 0; a < width; ++a) set("vorticity", i * width + a, draw(id, 10 + a) - 0.5);
    set("radius", i, grid.spacing() * (0.6 + 8.0 * draw(id, 20) * draw(id, 21)));
  }
  return particles;
}

template <class T, int D>
void check_forcing() {
  for (const auto& domain : cut_domains<D>())
    for (const auto kernel : {fluids::VortexKernel::gaussian, fluids::VortexKernel::tent})
      for (const bool reduce : {false, true})
        check_same_bits<T, D>(domain, faces<D>(), [&](const Grid<D>& grid, WholeFields<T, D>& result) {
          MacField<T, D> velocity(grid, sides<D>());
          fill_random(velocity, 17);
          ParticleSet particles = vortices<T, D>(grid, 60, grid.block().cut());
          Workspace workspace;
          poison_workspace(workspace, 8 * velocity.component(0).layout().storage_size());
          fluids::VortexForcing options;
          options.kernel = kernel;
          options.reduce = reduce;
          fluids::add_vortex_forces<T, D>(velocity, particles, 0.1, 0.5, nullptr, options, workspace);
          for (int d = 0; d < D; ++d) result[d].put(velocity.component(d));
        });
}

/// Vortex particles carried and stretched for one step: those of one block and of all blocks.
template <class T, int D>
void check_advance() {
  for (const auto& domain : cut_domains<D>()) {
    CAPTURE(domain.name);
    constexpr Index n = 80, width = fluids::vorticity_components<D>;
    const auto advance = [&](const Grid<D>& grid, std::vector<T>& x, std::vector<T>& w) {
      MacField<T, D> velocity(grid, sides<D>());
      fill_random(velocity, 18);
      ParticleSet particles = vortices<T, D>(grid, n, false);
      Workspace workspace;
      fluids::VortexAdvance options;
      options.leaving = fluids::LeavingParticles::clamp;
      fluids::advance_vortex_particles<T, D>(particles, velocity, 2.0 * grid.spacing(), options, nullptr, 0.0, workspace);
      const fluids::VortexColumns<T, D> columns(particles);
      for (Index i = 0; i < particles.size(); ++i) {
        const Index id = reinterpret_cast<const std::int64_t*>(particles.ids().data.data())[i];
        std::copy_n(columns.position + i * D, D, x.begin() + id * D);
        std::copy_n(columns.vorticity + i * width, width, w.begin() + id * width);
      }
    };
    std::vector<T> x(n * D, T(-99)), w(n * width, T(-99)), found_x(x), found_w(w);
    advance(whole_grid(domain), x, w);
    on_blocks(domain, [&](const Grid<D>& grid) { advance(grid, found_x, found_w); });
    CHECK(found_x == x);
    CHECK(found_w == w);
  }
}

}  // namespace

TEST_CASE("vorticity and its measures on domains cut into blocks are bit-identical to a single block") {
  check_vorticity<double, 2>();
  check_vorticity<double, 3>();
  check_measures<double, 2>();
  check_measures<float, 3>();
}

TEST_CASE("vorticity confinement on domains cut into blocks is bit-identical to a single block") {
  check_confinement<double, 2>();
  check_confinement<float, 3>();
}

TEST_CASE("vortex particles of all blocks act like those of a single block, on faces of any block") {
  check_forcing<double, 2>();
  check_forcing<float, 3>();
}

TEST_CASE("vortex particles on domains cut into blocks move and stretch like those of a single block") {
  check_advance<double, 2>();
  check_advance<float, 3>();
}
