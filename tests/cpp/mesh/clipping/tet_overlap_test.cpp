// Overlaps of tetrahedra: moments and half-spaces against rational numbers, flood fills of meshes, allocations.
#include "meniscus/mesh/clipping/tet_overlap.hpp"

#include "counting_new.hpp"
#include "meniscus/mesh/clipping/tet_plane.hpp"
#include "meniscus/mesh/refinement/bcc_lattice.hpp"
#include "meniscus/mesh/topology/tet_topology.hpp"
#include "mesh/clipping/exact_parts.hpp"
#include "test_size.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

namespace meniscus {
namespace {

using TetCorners = std::array<mesh::Point, 4>;

double volume_of(const TetCorners& t) { return std::abs(mesh::signed_volume(t[0], t[1], t[2], t[3])); }

/// The length of the longer side of a box around a tetrahedron.
double size_of(const TetCorners& t) {
  mesh::Point low = t[0], high = t[0];
  for (const mesh::Point& x : t) low = low.cwiseMin(x), high = high.cwiseMax(x);
  return (high - low).maxCoeff();
}

void check_exact(const TetCorners& a, const TetCorners& b, const mesh::HalfSpace& h) {
  const auto parts = tests::exact_overlap(a, b);
  const double size = std::min(size_of(a), size_of(b));
  const double far = std::max(a[0].cwiseAbs().maxCoeff(), 1.0);
  const auto agree = [&](const mesh::TetOverlap& found, const tests::ExactMeasure& expected) {
    const double error = mpq_class(expected.volume - mpq_class(found.volume)).get_d();
    CHECK(std::abs(error) <= 1e-14 * size * size * size);
    for (std::size_t d = 0; d < 3; ++d) {
      const double moment_error = mpq_class(expected.moment[d] - mpq_class(found.moment[static_cast<int>(d)])).get_d();
      CHECK(std::abs(moment_error) <= 1e-14 * size * size * size * far);
    }
  };
  const mesh::TetOverlap whole = mesh::overlap(a, b);
  agree(whole, tests::measured(parts));
  const mesh::TetOverlap wet = mesh::overlap(a, b, h);
  agree(wet, tests::measured(tests::exact_below(parts, h.normal, h.offset, h.origin)));
  CHECK(wet.crosses == whole.crosses);
  CHECK(whole.volume <= std::min(volume_of(a), volume_of(b)) * (1 + 1e-15));
}

TEST_CASE("volumes and moments of overlaps, whole and below a plane, agree with rational numbers") {
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<double> number(-1, 1);
  std::uniform_int_distribution<int> integer(0, 2);
  const auto plane_near = [&](const TetCorners& t) {
    return mesh::HalfSpace{mesh::Point(number(bits), number(bits), number(bits)), 0.2 * number(bits),
                           (t[0] + t[1] + t[2] + t[3]) / 4};
  };
  const int n = tests::choose(150, 2000);
  for (int i = 0; i < n; ++i) {
    const TetCorners a = tests::random_tet(bits), b = tests::random_tet(bits);
    check_exact(a, b, plane_near(a));
    TetCorners far_a = a, far_b = b;
    const mesh::Point away(1e5, -3e5, 7e4);
    for (std::size_t k = 0; k < 4; ++k) far_a[k] += away, far_b[k] += away;
    check_exact(far_a, far_b, plane_near(far_b));
    TetCorners grid_a, grid_b;
    for (std::size_t k = 0; k < 4; ++k) {
      grid_a[k] = mesh::Point(integer(bits), integer(bits), integer(bits)) / 3;
      grid_b[k] = mesh::Point(integer(bits), integer(bits), integer(bits)) / 3;
    }
    check_exact(grid_a, grid_b, {mesh::Point(integer(bits), integer(bits) - 1, 1), integer(bits) / 3.0});
    TetCorners neighbour = a;
    neighbour[integer(bits)] = b[0];
    check_exact(a, neighbour, plane_near(a));
    TetCorners thin = b;
    for (mesh::Point& x : thin) x[2] = 0.5 + 1e-9 * x[2] + 0.3 * x[0];
    check_exact(a, thin, plane_near(a));
    check_exact(thin, a, plane_near(a));
  }
}

struct Mesh {
  mesh::TetMeshData data;
  mesh::TetTopology topology;

  explicit Mesh(mesh::TetMeshData&& made)
      : data(std::move(made)), topology(mesh::VertexStars<4>(data.tets, static_cast<Index>(data.vertices.size()))) {}

  TetCorners corners(std::size_t t) const {
    TetCorners c;
    for (std::size_t k = 0; k < 4; ++k) c[k] = data.vertices[data.tets[t][k]];
    return c;
  }
};

/// The overlaps of a with all tetrahedra that a flood fill over crossed faces reaches from `first`, and their sum.
std::vector<bool> flooded(const Mesh& mesh, const TetCorners& a, std::size_t first, mesh::VolumeMoment& sum) {
  std::vector<bool> seen(mesh.data.tets.size(), false);
  std::deque<std::size_t> next{first};
  seen[first] = true;
  while (!next.empty()) {
    const std::size_t t = next.front();
    next.pop_front();
    const mesh::TetOverlap found = mesh::overlap(a, mesh.corners(t));
    sum.volume += found.volume;
    sum.moment += found.moment;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t other = mesh.topology.neighbours()[t][k];
      if (!found.crosses[k] || other < 0 || seen[other]) continue;
      seen[other] = true;
      next.push_back(static_cast<std::size_t>(other));
    }
  }
  return seen;
}

void check_flood(const Mesh& mesh, const TetCorners& a, double length) {
  const double own = volume_of(a);
  double total = 0;
  std::vector<double> volumes(mesh.data.tets.size());
  std::size_t most = 0, least = 0;
  for (std::size_t t = 0; t < volumes.size(); ++t) {
    volumes[t] = mesh::overlap(a, mesh.corners(t)).volume;
    total += volumes[t];
    if (volumes[t] > volumes[most]) most = t;
    if (volumes[t] > 1e-15 * own && (volumes[least] == 0 || volumes[t] < volumes[least])) least = t;
  }
  CHECK(std::abs(total - own) <= 1e-13 * own);
  const mesh::Point centre = (a[0] + a[1] + a[2] + a[3]) / 4;
  for (const std::size_t first : {most, least}) {
    mesh::VolumeMoment sum;
    const std::vector<bool> seen = flooded(mesh, a, first, sum);
    CHECK(std::abs(sum.volume - own) <= 1e-13 * own);
    CHECK((sum.moment / own - centre).cwiseAbs().maxCoeff() <= 1e-13 * length);
    bool reached = true;
    for (std::size_t t = 0; t < volumes.size(); ++t) reached = reached && (seen[t] || volumes[t] <= 1e-15 * own);
    CHECK(reached);
  }
}

TEST_CASE("a flood fill across faces reaches every overlap, and the overlaps tile a tetrahedron") {
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const double cell : {0.25, 0.5}) {
    mesh::TetMeshData lattice = mesh::BccLattice::covering(mesh::Point::Zero(), mesh::Point::Ones(), cell).mesh();
    const mesh::TetMeshData straight = lattice;
    const Eigen::Quaterniond turn = Eigen::Quaterniond(0.8, 0.3, -0.5, 0.1).normalized();
    const mesh::Point middle(0.5, 0.5, 0.5), away(2000, -700, 30);
    for (mesh::Point& x : lattice.vertices)
      x = 1.3 * (turn * (x - middle) + 0.1 * cell * mesh::Point(number(bits), number(bits), number(bits))) + away;
    const Mesh still(mesh::TetMeshData{straight}), moved(std::move(lattice));
    for (int i = 0; i < tests::choose(15, 300); ++i) {
      const TetCorners a = tests::random_tet(bits);
      check_flood(still, a, 1);
      TetCorners b;
      for (std::size_t k = 0; k < 4; ++k) b[k] = away + (a[k] - mesh::Point(0.5, 0.5, 0.5)) * (i % 3 == 0 ? 0.1 : 1.0);
      check_flood(moved, b, 2000);
      // Corners on those of the lattice, at the middles of its edges, and slivers along its faces.
      TetCorners c;
      for (mesh::Point& x : c) x = (tests::random_point(bits) * 4).array().round() / 4;
      if (volume_of(c) > 0) check_flood(still, c, 1);
      TetCorners thin = a;
      for (mesh::Point& x : thin) x[2] = 0.5 + 1e-7 * x[2];
      check_flood(still, thin, 1);
      for (mesh::Point& x : thin) x = {0.5 * x[0] + 0.25, 1e-3 * x[1] + x[0] * 0.5 + 0.25, x[2]};
      check_flood(still, thin, 1);
    }
  }
}

TEST_CASE("a tetrahedron of a mesh overlaps with itself by exactly its volume and with no other") {
  std::mt19937_64 bits(6);
  std::uniform_real_distribution<double> number(-0.1, 0.1);
  mesh::TetMeshData lattice = mesh::BccLattice(mesh::Point(40, 50, -60), 1.0, {3, 3, 3}).mesh();
  for (mesh::Point& x : lattice.vertices) x += mesh::Point(number(bits), number(bits), number(bits));
  const Mesh mesh(std::move(lattice));
  for (std::size_t s = 0; s < mesh.data.tets.size(); ++s) {
    const TetCorners a = mesh.corners(s);
    for (std::size_t t = 0; t < mesh.data.tets.size(); ++t) {
      const mesh::TetOverlap found = mesh::overlap(a, mesh.corners(t));
      if (s == t)
        CHECK(found.volume == volume_of(a));
      else
        CHECK(found.volume == 0);
      CHECK(found.crosses == std::array<bool, 4>{});
    }
  }
}

TEST_CASE("faces are crossed where a tetrahedron goes on beyond them") {
  const TetCorners b{mesh::Point(0, 0, 0), mesh::Point(1, 0, 0), mesh::Point(0, 1, 0), mesh::Point(0, 0, 1)};
  const auto shifted = [&](const mesh::Point& by, double scale) {
    TetCorners a = b;
    for (mesh::Point& x : a) x = scale * x + by;
    return a;
  };
  using Crossed = std::array<bool, 4>;
  CHECK(mesh::overlap(shifted({0.1, 0.1, 0.1}, 0.3), b).crosses == Crossed{});
  CHECK(mesh::overlap(shifted({-0.1, 0.1, 0.1}, 0.3), b).crosses == Crossed{false, true, false, false});
  CHECK(mesh::overlap(shifted({-0.1, 0.1, -0.1}, 0.3), b).crosses == Crossed{false, true, false, true});
  CHECK(mesh::overlap(shifted({0.3, 0.3, 0.3}, 0.3), b).crosses == Crossed{true, false, false, false});
  CHECK(mesh::overlap(shifted({-1, -1, -1}, 10), b).crosses == Crossed{true, true, true, true});
  CHECK(mesh::overlap(shifted({0, 0, 0}, 10), b).crosses == Crossed{true, false, false, false});
  CHECK(mesh::overlap(shifted({1, 1, 1}, 1), b).crosses == Crossed{});
}

TEST_CASE("flat tetrahedra overlap with nothing") {
  const TetCorners b{mesh::Point(0, 0, 0), mesh::Point(1, 0, 0), mesh::Point(0, 1, 0), mesh::Point(0, 0, 1)};
  const mesh::Point x(0.1, 0.2, 0.3);
  for (const TetCorners& flat :
       {TetCorners{x, x, x, x}, TetCorners{b[0], b[1], b[2], b[0]}, TetCorners{b[0], b[1], 2 * b[1], 3 * b[1]},
        TetCorners{b[0], b[1], b[2], mesh::Point(0.25, 0.25, 0)}}) {
    CHECK(mesh::overlap(flat, b).volume == 0);
    CHECK(mesh::overlap(b, flat).volume == 0);
    CHECK(mesh::overlap(flat, flat).volume == 0);
  }
}

TEST_CASE("overlaps, fractions and levels allocate nothing") {
  std::mt19937_64 bits(9);
  std::vector<TetCorners> a(200), b(200);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = tests::random_tet(bits), b[i] = tests::random_tet(bits);
  const mesh::HalfSpace half{mesh::Point(1, 2, 3), 2.0};
  double sum = 0;
  const long long before = testing::new_calls();
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += mesh::overlap(a[i], b[i]).volume + mesh::overlap(a[i], b[i], half).volume;
    sum += mesh::volume_below(a[i], half.normal, half.offset);
    const std::array<double, 4> heights{a[i][0][0], a[i][1][0], a[i][2][0], a[i][3][0]};
    sum += mesh::fraction_below(heights) + mesh::offset_for_fraction(heights, b[i][0][0]);
  }
  CHECK(testing::new_calls() == before);
  CHECK(sum > 0);
}

}  // namespace
}  // namespace meniscus
