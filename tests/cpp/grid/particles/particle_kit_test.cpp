// Tests of the building blocks of particle methods: cell location, stencils, probes, images, and treatment at sides and solids.
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/particles/domain_sides.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/grid/particles/particle_boundary.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace meniscus;

namespace {

/// 6 x 4 cells of 1/2 m from (-1, 2), periodic along the second axis.
grid::Grid<2> half_periodic() { return {{6, 4}, 0.5, {-1.0, 2.0}, {false, true}}; }

using Point = Vec<double, 2>;

}  // namespace

TEST_CASE("points are located by a cell and an offset, periodic axes by their image") {
  const auto g = half_periodic();
  const Point inside(0.1, 3.2);
  const auto at = grid::locate_in_domain(g, inside.data());
  CHECK(at.cell == Coord<2>{2, 2});
  CHECK(at.offset[0] == doctest::Approx(0.2));
  CHECK(at.offset[1] == doctest::Approx(0.4));

  const Point beyond(-1.3, 1.7);
  const auto nearest = grid::locate_in_domain(g, beyond.data());
  CHECK(nearest.cell == Coord<2>{0, 3});
  CHECK(nearest.offset[0] == 0.0);
  CHECK(nearest.offset[1] == doctest::Approx(0.4));
  const auto lattice = grid::locate(g, beyond.data());
  CHECK(lattice.cell == Coord<2>{-1, 3});
  CHECK(lattice.offset[0] == doctest::Approx(0.4));

  const Point corner(2.0, 4.0);
  const auto upper = grid::locate_in_domain(g, corner.data());
  CHECK(upper.cell == Coord<2>{5, 0});
  CHECK(upper.offset[0] == 1.0);
}

TEST_CASE("points however far away have a cell of the domain") {
  const auto g = half_periodic();
  const double most = std::numeric_limits<double>::max();
  for (const Point& x : {Point(1e300, 1e300), Point(-1e300, -1e300), Point(most, most), Point(1e17, -1e17)}) {
    const auto at = grid::locate_in_domain(g, x.data());
    for (std::size_t d = 0; d < 2; ++d) {
      CHECK(at.cell[d] >= 0);
      CHECK(at.cell[d] < g.shape()[d]);
    }
  }
}

TEST_CASE("a probe returns linear fields and their gradients exactly, whatever the stagger") {
  const auto g = half_periodic();
  for (const auto& stagger :
       {grid::Stagger<2>::cell(), grid::Stagger<2>::node(), grid::Stagger<2>::face(0), grid::Stagger<2>::face(1)}) {
    grid::Boundary<2> boundary;
    boundary.fill(grid::ZeroGradient{});
    grid::Field<double, 2> f(g, stagger, boundary);
    const auto view = f.view();
    for (Index i = 0; i < view.extents[0]; ++i)
      for (Index j = 0; j < view.extents[1]; ++j) *view.at({i, j}) = 2.0 + 3.0 * grid::sample_position<2>(g, stagger, {i, j})[0];
    f.fill_ghosts(0.0);
    const grid::FieldProbe<double, 2> probe(f);
    for (const Point& x : {Point(-0.6, 2.1), Point(0.3, 3.9), Point(1.6, 2.0)}) {
      CHECK(probe.value(x) == doctest::Approx(2.0 + 3.0 * x[0]));
      CHECK(probe(x).gradient[0] == doctest::Approx(3.0));
      CHECK(std::abs(probe(x).gradient[1]) < 1e-12);
    }
    CHECK(probe.value({0.3, 2.5}) == doctest::Approx(probe.value({0.3, 6.5})));
  }
}

TEST_CASE("stencils that stay inside give the whole weight to the outermost sample") {
  const auto g = half_periodic();
  using Stencil = grid::MultilinearStencil<double, 2>;
  for (const double x : {-1.0, -0.9, 0.2, 1.9, 2.0}) {
    const Point p(x, 2.05);
    const auto s = Stencil::inside(g, grid::locate_in_domain(g, p.data()), grid::Stagger<2>::cell());
    CHECK(s.lower[0] >= 0);
    CHECK(s.lower[0] + 1 < g.shape()[0]);
    CHECK(s.lower[1] == -1);
    double sum = 0.0;
    for (int q = 0; q < Stencil::corners; ++q) sum += s.weight(q);
    CHECK(sum == doctest::Approx(1.0));
    if (x < -0.75) CHECK(s.upper[0] == 0.0);
    if (x > 1.75) CHECK(s.upper[0] == 1.0);
  }
}

TEST_CASE("cells and samples beyond a side are images, mirrors or nothing") {
  const auto g = half_periodic();
  CHECK(grid::nearest_cell(g, 0, -3) == 0);
  CHECK(grid::nearest_cell(g, 0, 8) == 5);
  CHECK(grid::nearest_cell(g, 1, -3) == 1);
  CHECK(grid::image_of_cell(g, 0, -1) == -1);
  CHECK(grid::image_of_cell(g, 1, 9) == 1);
  const auto v = grid::Stagger<2>::face(1);
  CHECK(grid::image_of_sample(g, v, 1, 0) == 4);
  CHECK(grid::image_of_sample(g, v, 1, 5) == 1);
  CHECK(grid::image_of_sample(g, v, 0, 6) == -1);
  CHECK(grid::image_of_sample(g, grid::Stagger<2>::node(), 0, 6) == 6);
  CHECK(grid::twin_of_sample(g, v, 1, 0) == 4);
  CHECK(grid::twin_of_sample(g, v, 1, 4) == 0);
  CHECK(grid::twin_of_sample(g, v, 1, 2) == -1);
  const auto mirror = grid::mirrored_cell(g, 0, -2);
  CHECK(mirror.cell == 1);
  CHECK(mirror.scale == -1.0);
  CHECK(mirror.scale * 1.5 + mirror.shift == -1.5);
}

TEST_CASE("the unknowns of an axis and their images cover every index once") {
  const auto g = half_periodic();
  const auto range = grid::unknowns(g, grid::Stagger<2>::face(1), 1);
  CHECK(range.begin == 1);
  CHECK(range.end == 5);
  std::vector<int> seen(23, 0);
  for (Index from = range.begin; from < range.end; from += 2)
    range.for_each_image(from, std::min(from + 2, range.end), -9, 13, [&](Index a, Index b) {
      for (Index i = a; i <= b; ++i) {
        ++seen[i + 9];
        CHECK(range.owner(i) >= from);
        CHECK(range.owner(i) < from + 2);
      }
    });
  for (const int times : seen) CHECK(times == 1);
}

TEST_CASE("moved particles leave, stop at sides, or are pushed out of the solid") {
  using T = double;
  const auto g = half_periodic();
  grid::Boundary<2> sides;
  sides.fill(grid::ZeroGradient{});
  grid::Field<double, 2> solid(g, grid::Stagger<2>::node(), sides);
  const auto view = solid.view();
  // The half plane x > 1.8 m.
  for (Index i = 0; i < view.extents[0]; ++i)
    for (Index j = 0; j < view.extents[1]; ++j)
      *view.at({i, j}) = 1.8 - grid::sample_position<2>(g, grid::Stagger<2>::node(), {i, j})[0];
  std::vector<T> x{T(-1.2), T(3), T(0), T(9), T(1.9), T(3), T(2.4), T(3)};
  grid::ParticleBoundary<2> boundary;
  boundary.open[0] = true;
  boundary.solid = &solid;
  std::array<grid::ParticleFate, 4> fates;
  const auto counts = grid::apply_particle_boundary(g, boundary, x.data(), 4, fates.data());
  CHECK(counts.left == 1);
  CHECK(counts.pushed == 2);
  CHECK(counts.in_solid == 0);
  CHECK(fates[0] == grid::ParticleFate::left);
  CHECK(x[0] == T(-1.2));
  CHECK(fates[1] == grid::ParticleFate::stays);
  CHECK(x[3] == T(9));
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    CHECK(fates[i] == grid::ParticleFate::pushed);
    CHECK(static_cast<double>(x[2 * i]) < 1.8);
    CHECK(static_cast<double>(x[2 * i]) > 1.8 - 2.0 * grid::solid_gap * 0.5);
  }
  std::array<std::uint8_t, 4> lost;
  grid::flag_lost(fates.data(), 4, true, lost.data());
  CHECK(lost == std::array<std::uint8_t, 4>{1, 0, 0, 0});

  boundary.in_solid = grid::InSolid::remove;
  x = {T(1.9), T(3), T(1.7), T(3)};
  CHECK(grid::apply_particle_boundary(g, boundary, x.data(), 2, fates.data()).in_solid == 1);
  CHECK(x[0] == T(1.9));
}
