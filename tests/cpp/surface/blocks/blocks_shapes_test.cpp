// Solids sampled on domains cut into blocks are bit-identical to those sampled on a single block.
#include "grid/blocks/cut_domains.hpp"

#include "meniscus/surface/shapes/shapes.hpp"
#include "meniscus/surface/shapes/solid_sampling.hpp"

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;
using namespace meniscus::surface;

namespace {

template <int D>
void check_solids() {
  std::vector<Stagger<D>> places{Stagger<D>::node()};
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  for (const auto& domain : cut_domains<D>())
    for (const double band : {0.3, std::numeric_limits<double>::infinity()})
      check_same_bits<double, D>(domain, places, [&](const Grid<D>& grid, WholeFields<double, D>& result) {
        const Vec<double, D> center = Vec<double, D>::Constant(0.4);
        const auto ball = sphere<D>(center, 0.8);
        Workspace workspace;
        Field<double, D> phi(grid, Stagger<D>::node(), mirrors<D>());
        const RigidPose<D> pose{Eigen::Matrix<double, D, D>::Identity(), Vec<double, D>::Constant(0.1)};
        sample_signed_distance<double, D>(*ball, pose, band, true, phi, workspace);
        result[0].put(phi);
        AffineVelocity<D> v;
        v.linear = Vec<double, D>::Constant(0.3);
        v.gradient = Eigen::Matrix<double, D, D>::Constant(0.7);
        v.reference = center;
        MacField<double, D> velocity(grid, Boundary<D>{});
        const Bounds<D> bounds = ball->bounds();
        sample_affine_velocity<double, D>(v, NearestImage<D>(grid, bounds.lower, bounds.upper, true), velocity, workspace);
        for (int d = 0; d < D; ++d) result[static_cast<std::size_t>(d) + 1].put(velocity.component(d));
      });
}

}  // namespace

TEST_CASE("solids sampled on domains cut into blocks are bit-identical to a single block") {
  check_solids<2>();
  check_solids<3>();
}
