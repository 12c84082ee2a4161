// Planes in cells: volumes below them against dense sums, clipped boxes and exact cases; the way back from volumes.
#include "meniscus/surface/volume_of_fluid/cell_plane.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace meniscus;
using surface::ClippedBox;
using surface::HalfSpace;

namespace {

template <int D>
ClippedBox<D> unit_box() {
  std::array<double, D> low{}, high;
  high.fill(1);
  return {low, high};
}

template <int D>
HalfSpace<D> random_plane(std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  HalfSpace<D> plane;
  for (int d = 0; d < D; ++d) {
    plane.normal[d] = normal(random);
    plane.offset += uniform(random) * plane.normal[d];  // through a point of the cell
  }
  // Every fifth component vanishes, or nearly so.
  const int axis = static_cast<int>(5 * D * uniform(random));
  if (axis < D) plane.normal[axis] *= uniform(random) < 0.5 ? 0.0 : 1e-8;
  return plane;
}

template <int D>
void volumes_agree() {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const HalfSpace<D> plane = random_plane<D>(random);
    std::array<double, D> low{}, high;
    high.fill(1);
    if (i % 2 == 1)
      for (int d = 0; d < D; ++d) {
        low[d] = 0.1 * (d + 1);
        high[d] = 0.9 - 0.2 * d;
      }
    double size = 1;
    for (int d = 0; d < D; ++d) size *= high[d] - low[d];
    ClippedBox<D> box(low, high);
    CHECK(box.volume() == doctest::Approx(size).epsilon(1e-14));
    box.clip(plane);
    const double part = surface::part_in_box<D>(plane, low, high);
    CHECK(std::abs(part - box.volume() / size) < 2e-13);
    HalfSpace<D> other;
    for (int d = 0; d < D; ++d) other.normal[d] = -plane.normal[d];
    other.offset = -plane.offset;
    ClippedBox<D> rest(low, high);
    rest.clip(other);
    CHECK(box.volume() + rest.volume() == doctest::Approx(size).epsilon(1e-13));
  }
}

template <int D>
void offsets_return() {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> uniform;
  double worst = 0;
  for (int i = 0; i < 5000; ++i) {
    const double exponent = 9 * uniform(random);
    double part = i % 3 == 0 ? uniform(random) : std::pow(10.0, -exponent);
    if (i % 3 == 2) part = 1 - part;
    const HalfSpace<D> plane = surface::plane_of_part<D>(random_plane<D>(random).normal, part);
    std::array<double, D> low{}, high;
    high.fill(1);
    worst = std::max(worst, std::abs(surface::part_in_box<D>(plane, low, high) - part));
  }
  CHECK(worst < 1e-12);
}

/// Two half-spaces: of a plane and its complement in what another one leaves, nothing is lost or counted twice, also where the
/// planes are parallel, nearly so, or one.
template <int D>
void two_planes() {
  std::mt19937 random(9);
  for (int i = 0; i < 3000; ++i) {
    const HalfSpace<D> wall = random_plane<D>(random);
    HalfSpace<D> plane = random_plane<D>(random);
    if (i % 3 == 1) plane = wall;
    if (i % 6 == 1) plane.offset -= 0.1;
    if (i % 9 == 1) plane.normal[0] += 1e-13;
    HalfSpace<D> above;
    for (int d = 0; d < D; ++d) above.normal[d] = -plane.normal[d];
    above.offset = -plane.offset;
    ClippedBox<D> whole = unit_box<D>(), lower = unit_box<D>(), upper = unit_box<D>(), swapped = unit_box<D>();
    whole.clip(wall);
    lower.clip(wall);
    lower.clip(plane);
    upper.clip(wall);
    upper.clip(above);
    swapped.clip(plane);
    swapped.clip(wall);
    CHECK(std::abs(lower.volume() + upper.volume() - whole.volume()) < 1e-12);
    CHECK(std::abs(lower.volume() - swapped.volume()) < 1e-12);
  }
}

}  // namespace

TEST_CASE("parts of cells below planes") {
  volumes_agree<2>();
  volumes_agree<3>();
}

TEST_CASE("planes for parts of cells") {
  offsets_return<2>();
  offsets_return<3>();
}

TEST_CASE("boxes that two half-spaces cut") {
  two_planes<2>();
  two_planes<3>();
  // A corner that three unit edges span, and its half.
  ClippedBox<3> corner = unit_box<3>();
  corner.clip({{1, 1, 1}, 1});
  CHECK(corner.volume() == doctest::Approx(1.0 / 6).epsilon(1e-14));
  corner.clip({{1, -1, 0}, 0});
  CHECK(corner.volume() == doctest::Approx(1.0 / 12).epsilon(1e-14));
  ClippedBox<3> none = unit_box<3>();
  none.clip({{0, 0, 1}, -0.5});
  CHECK(none.volume() == 0);
  ClippedBox<3> all = unit_box<3>();
  all.clip({{0, 0, 1}, 1.0});
  CHECK(all.volume() == 1);
}
