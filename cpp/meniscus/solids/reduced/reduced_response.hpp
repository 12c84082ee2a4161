/// What some nodes of a reduced body know of it: how impulses at one of them move all, and which motion of the body is closest to
/// given displacements of them.
///
/// With directions B_i of node i (its velocity is R B_i times the velocities of the body) and the generalised mass M = L L^T, the
/// response is G_i = R B_i L^-T: an impulse p at node i changes the velocities of all nodes j by G_j G_i^T p.
///
/// Sources: Müller, Stam, James and Thürey, "Real time physics", 2008, section 6.3 (inverse mass along a direction).
#pragma once

#include "meniscus/solids/reduced/reduced_motion.hpp"

#include <Eigen/QR>

namespace meniscus::solids {

class ReducedResponse {
 public:
  /// Sets the response of nodes of a body as it is now, for impulses as `ReducedMotion::prepare_impulses` has prepared it for. At
  /// least as many nodes as it takes to tell all of its motions apart.
  void set(ReducedMotion& body, std::span<const std::int32_t> nodes);

  Index nodes() const { return response_.rows() / 3; }
  /// Number of velocities of the body, d.
  Index degrees() const { return response_.cols(); }
  /// G of all nodes (3 n, d), kg^-1/2.
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>& response() const { return response_; }
  /// Sets the velocities of the body (d) whose velocities of the nodes are closest to those given; m/s, or m for displacements.
  void closest(std::span<const mesh::Point> velocities, Eigen::VectorXd& out);

  std::size_t nbytes() const { return sizeof(double) * static_cast<std::size_t>(3 * response_.size()); }

 private:
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> response_;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factor_;
  bool factored_ = false;
  Eigen::MatrixXd mass_, solved_;
  ThreeRows row_;
};

}  // namespace meniscus::solids
