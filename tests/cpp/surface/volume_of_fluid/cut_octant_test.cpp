// Octants of cells that the planes of a liquid and of a solid cut together: against brute force, and against each plane alone.
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;
using surface::BoxPlane;

namespace {

template <int D>
BoxPlane<D> any_plane(std::mt19937& random, int kind) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  BoxPlane<D> plane;
  double reach = 0;
  for (int d = 0; d < D; ++d) {
    plane.slope[d] = kind % 3 == 0 && d > 0 ? 0.0 : normal(random);
    reach += 0.5 * std::abs(plane.slope[d]);
  }
  plane.value = uniform(random) * reach;
  return plane;
}

template <int D>
double sampled(const BoxPlane<D>& liquid, const BoxPlane<D>& solid) {
  constexpr int n = D == 2 ? 200 : 48;
  Index inside = 0, all = 1;
  for (int d = 0; d < D; ++d) all *= n;
  for (Index i = 0; i < all; ++i) {
    double a = liquid.value, b = solid.value;
    Index rest = i;
    for (int d = 0; d < D; ++d, rest /= n) {
      const double x = (static_cast<double>(rest % n) + 0.5) / n - 0.5;
      a += liquid.slope[d] * x;
      b += solid.slope[d] * x;
    }
    inside += a <= 0 && b > 0;
  }
  return static_cast<double>(inside) / static_cast<double>(all);
}

template <int D>
void agrees_with_samples() {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const BoxPlane<D> liquid = any_plane<D>(random, i);
    BoxPlane<D> solid = any_plane<D>(random, i + 1);
    if (i % 5 == 0) {  // a film
      solid = liquid;
      solid.value += 0.1 * std::abs(solid.slope[0]);
    }
    CHECK(std::abs(surface::part_outside<D>(liquid, solid) - sampled<D>(liquid, solid)) < (D == 2 ? 0.012 : 0.03));
  }
}

/// Nothing is lost or counted twice, and the part rises with the surface.
template <int D>
void divides_up() {
  std::mt19937 random(12);
  for (int i = 0; i < 2000; ++i) {
    const BoxPlane<D> liquid = any_plane<D>(random, i), solid = any_plane<D>(random, i + 1);
    BoxPlane<D> open{-solid.value, {}};
    for (int d = 0; d < D; ++d) open.slope[d] = -solid.slope[d];
    CHECK(surface::part_outside<D>(liquid, solid) + surface::part_outside<D>(liquid, open) ==
          doctest::Approx(liquid.part()).epsilon(1e-12));
    BoxPlane<D> lifted = liquid;
    double before = surface::part_outside<D>(liquid, solid);
    for (int k = 0; k < 20; ++k) {
      lifted.value -= 0.1;
      const double part = surface::part_outside<D>(lifted, solid);
      CHECK(part >= before - 1e-13);
      before = part;
    }
    CHECK(surface::part_outside<D>({-1e3, {}}, solid) == 1 - solid.part());
    CHECK(surface::part_outside<D>({1e3, {}}, solid) == 0);
  }
}

}  // namespace

TEST_CASE("planes of liquid and solid in an octant: brute force") {
  agrees_with_samples<2>();
  agrees_with_samples<3>();
}

TEST_CASE("planes of liquid and solid in an octant: complements and order") {
  divides_up<2>();
  divides_up<3>();
}

TEST_CASE("planes along an axis cut off their exact part") {
  for (const double value : {-0.5, -0.3, -1e-9, 0.0, 0.2, 0.49999})
    CHECK(surface::box_fraction<3>(value, {0.0, 1.0, 0.0}) == doctest::Approx(0.5 - value).epsilon(1e-14));
  CHECK(surface::box_fraction<2>(0.0, {0.0, 0.0}) == 1);
  CHECK(surface::box_fraction<2>(1e-300, {0.0, 0.0}) == 0);
}
