// Smoothing, residuals and divergence on domains cut into blocks, bit-identical to a single block.
#include "cut_domains.hpp"

#include "meniscus/fluids/pressure/projection.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"
#include "meniscus/grid/poisson/poisson_level.hpp"

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

/// Domains whose rows are longer than a block of a row, besides odd and even periods.
template <int D>
std::vector<CutDomain<D>> smoothing_domains() {
  auto all = cut_domains<D>();
  const auto more = all.size();
  for (std::size_t i = 0; i < more; ++i) {
    CutDomain<D> longer = all[i];
    longer.name += ", longer";
    longer.cells[0].back() += 1;
    longer.cells[D - 1].back() += 40;
    all.push_back(longer);
  }
  return all;
}

/// A random matrix of one level, with every kind of coefficient that a projection may have.
template <int D>
void set_matrix(FaceMatrix<double, D>& a, const CellLayout<D>& layout, const FieldLayout<D>& places, bool rough) {
  Block<double> numbers(layout.size);
  std::fill(numbers.begin(), numbers.end(), 0.0);
  for_each_sample<D>(layout.cells, 0, [&](const Coord<D>& c) { numbers[layout.index(c)] = number_of<D>(places, c, 31); });
  layout.halo.exchange(numbers.data());
  a.reset(layout, true);
  a.open_coupling.fill(1.0);
  for (std::size_t d = 0; d < D; ++d)
    if (layout.single_cell_ring(d)) a.open_coupling[d] = 0;
  assemble<D>(
      a,
      [&](int d, Index lower, Index upper, int side) -> double {
        if (side >= 0) return side == 1 ? 2.0 : 0.0;
        if (layout.single_cell_ring(static_cast<std::size_t>(d))) return 0.0;
        return rough ? 0.75 + 0.25 * (numbers[lower] + numbers[upper]) : 1.0;
      },
      [&](Index i) { return numbers[i] > -0.7; });
}

template <int D>
void check_smoothing(bool rough) {
  for (const auto& domain : smoothing_domains<D>())
    check_same_bits<double, D>(
        domain, {Stagger<D>::cell(), Stagger<D>::cell(), Stagger<D>::cell()},
        [&](const Grid<D>& grid, WholeFields<double, D>& result) {
          // Levels are of floats in both dimensions; fields of the plane are of doubles, which hold these exactly.
          Field<double, D> x(grid, Stagger<D>::cell(), mirrors<D>()), r(grid, Stagger<D>::cell(), mirrors<D>()),
              y(grid, Stagger<D>::cell(), mirrors<D>());
          const CellLayout<D> layout(grid.block(), grid.communicator());
          FaceMatrix<double, D> matrix;
          set_matrix<D>(matrix, layout, x.layout(), rough);
          PoissonLevel<D> level;
          level.matrix.reset(layout, true);
          for (std::size_t d = 0; d < D; ++d) {
            level.matrix.open_coupling[d] = static_cast<float>(matrix.open_coupling[d]);
            for (Index i = 0; i < layout.size; ++i) level.matrix.faces[d][i] = static_cast<float>(matrix.faces[d][i]);
          }
          for (Index i = 0; i < layout.size; ++i) level.matrix.diagonal[i] = static_cast<float>(matrix.diagonal[i]);
          level.matrix.finish();
          level.prepare();
          const auto each = [&](auto&& body) {
            for_each_sample<D>(layout.cells, 0, [&](const Coord<D>& c) { body(c, layout.index(c)); });
          };
          each([&](const Coord<D>& c, Index i) {
            level.b[i] = level.matrix.active[i] ? static_cast<float>(number_of<D>(x.layout(), c, 32)) : 0.0f;
          });
          const auto poison_shared = [&] {
            for_each_sample<D>(layout.cells, 1, [&](const Coord<D>& c) {
              for (int d = 0; d < D; ++d) {
                const auto a = static_cast<std::size_t>(d);
                if ((c[a] < 0 && grid.shared(d, 0)) || (c[a] == layout.cells[a] && grid.shared(d, 1)))
                  level.x[layout.index(c)] = poison<float>();
              }
            });
          };
          poison_shared();
          level.smooth_from_zero();
          each([&](const Coord<D>& c, Index i) { *x.view().at(c) = level.x[i]; });
          level.compute_residual();
          each([&](const Coord<D>& c, Index i) { *r.view().at(c) = level.matrix.active[i] ? level.residual[i] : 0.0f; });
          poison_shared();
          layout.halo.exchange(level.x.data());
          level.smooth_reversed();
          each([&](const Coord<D>& c, Index i) { *y.view().at(c) = level.x[i]; });
          result[0].put(x);
          result[1].put(r);
          result[2].put(y);
        });
}

template <class T, int D>
void check_divergence() {
  for (const auto& domain : cut_domains<D>())
    for (const bool solid : {false, true})
      check_same_bits<T, D>(domain, {Stagger<D>::cell()}, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
        const Boundary<D> walls{};
        MacField<T, D> velocity(grid, walls);
        fill_random(velocity, 41);
        velocity.fill_ghosts(0.0);
        Field<double, D> phi(grid, Stagger<D>::node(), walls);
        fill_random(phi, 42);
        phi.fill_ghosts(0.0);
        Field<T, D> out(grid, Stagger<D>::cell(), walls);
        SolidBoundary<T, D> boundary(phi, nullptr, Slip::free);
        SolidBoundary<T, D>* around = solid ? &boundary : nullptr;
        fluids::PressureSolver<D>(grid).divergence(velocity, around, out);
        result[0].put(out);
      });
}

}  // namespace

TEST_CASE("smoothing and residuals of domains cut into blocks are bit-identical to a single block") {
  for (const bool rough : {false, true}) {
    check_smoothing<2>(rough);
    check_smoothing<3>(rough);
  }
}

TEST_CASE("the divergence on domains cut into blocks is bit-identical to a single block") {
  check_divergence<double, 2>();
  check_divergence<double, 3>();
}
