// Tests of allocations: repeated redistancing and extension with a reused workspace allocate nothing.
#include "counting_new.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/redistancing/extension.hpp"
#include "meniscus/surface/redistancing/redistance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

template <int D>
grid::Grid<D> grid() {
  Coord<D> shape;
  for (int d = 0; d < D; ++d) shape[d] = (D == 2 ? 60 : 24) + d;
  std::array<bool, D> periodic{};
  periodic[D - 1] = true;
  return grid::Grid<D>(shape, 1.0 / static_cast<double>(shape[0]), Vec<double, D>::Zero(), periodic);
}

/// Twice the distance to a ball.
template <class T, int D>
void fill(grid::Field<T, D>& phi) {
  const grid::FieldView<T, D> view = phi.view();
  Coord<D> c{};
  for (;;) {
    const Vec<double, D> x = grid::sample_position<D>(phi.grid(), phi.stagger(), c);
    *view.at(c) = static_cast<T>(2.0 * ((x - Vec<double, D>::Constant(0.5)).norm() - 0.3));
    std::size_t d = D;
    while (d > 0 && ++c[d - 1] == view.extents[d - 1]) c[--d] = 0;
    if (d == 0) return;
  }
}

template <class T, int D>
void check() {
  grid::Field<T, D> phi(grid<D>(), grid::Stagger<D>::cell(), grid::Boundary<D>{});
  grid::Field<T, D> faces(grid<D>(), grid::Stagger<D>::face(D - 1), grid::Boundary<D>{});
  std::vector<std::uint8_t> known(static_cast<std::size_t>(product<D>(faces.extents())));
  Workspace workspace;
  const auto run = [&](const surface::RedistanceOptions& options) {
    fill(phi);
    REQUIRE(surface::redistance<T, D>(phi, options, {}, workspace) > 100);
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = i % 7 == 0;
    REQUIRE(surface::extend<T, D>(faces, phi, known.data(), 0.1, surface::ExtensionSide::both, workspace).reached > 100);
  };
  for (const auto method : {surface::EikonalMethod::parallel, surface::EikonalMethod::fast_marching})
    for (const auto interface : {surface::InterfaceDistance::closest_point, surface::InterfaceDistance::axis_crossings})
      for (const double band : {0.2, 1e9}) {
        const surface::RedistanceOptions options{method, interface, band};
        run(options);
        const long long before = new_calls();
        const Index blocks = block_allocations();
        run(options);
        CHECK(new_calls() == before);
        CHECK(block_allocations() == blocks);
      }
}

}  // namespace

TEST_CASE("repeated redistancing and extension allocate nothing") {
  const int threads = num_threads();
  set_num_threads(1);
  check<float, 3>();
  check<double, 2>();
  check<double, 3>();
  set_num_threads(threads);
}
