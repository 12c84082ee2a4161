#include "meniscus/solids/reduced/reduced_response.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::solids {
namespace {

/// Motions that move nodes by less than this part of what others do are not seen.
constexpr double least_motion = 1e-10;

}  // namespace

void ReducedResponse::set(ReducedMotion& body, std::span<const std::int32_t> nodes) {
  const Index d = body.degrees(), n = static_cast<Index>(nodes.size());
  require(3 * n >= d, "a body with ", d, " velocities is not known from ", n, " nodes");
  mass_ = body.mass_factor().matrixL();
  response_.resize(3 * n, d);
  row_.resize(3, d), solved_.resize(d, 3);
  const Eigen::Matrix3d rotation = body.rotation();
  const double whole = 1;
  for (Index i = 0; i < n; ++i) {
    const std::span<const std::int32_t> node = nodes.subspan(i, 1);
    body.directions({node, {&whole, 1}}, row_);
    solved_.noalias() = row_.transpose() * rotation.transpose();
    mass_.triangularView<Eigen::Lower>().solveInPlace(solved_);
    response_.middleRows(3 * i, 3) = solved_.transpose();
  }
  factored_ = false;
}

void ReducedResponse::closest(std::span<const mesh::Point> velocities, Eigen::VectorXd& out) {
  require(static_cast<Index>(velocities.size()) == nodes(), "there are ", nodes(), " nodes, not ", velocities.size());
  if (!factored_) {
    factor_.setThreshold(least_motion);
    factor_.compute(response_);
    factored_ = true;
  }
  const Eigen::Map<const Eigen::VectorXd> given(velocities[0].data(), 3 * nodes());
  out = factor_.solve(given);
  // Of the velocities whose mass is the identity: those of the body.
  mass_.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
}

}  // namespace meniscus::solids
