/// Elastic forces of a reduced model, in its coordinates: displacements at rest axes are u = U q.
#pragma once

#include "meniscus/solids/reduced/tet_gradients.hpp"

#include <memory>

namespace meniscus::solids {

class ReducedForces {
 public:
  virtual ~ReducedForces() = default;

  /// Number of coordinates, r.
  Index size() const { return size_; }

  /// The energy (J) at q. Sets `gradient` (r) to its derivative, U^T times the elastic forces with the opposite sign, and
  /// `stiffness`, if given, to its second derivative. Uses scratch memory of the object, and allocates nothing.
  virtual double at(const Eigen::VectorXd& q, Eigen::VectorXd& gradient, Eigen::MatrixXd* stiffness) = 0;

  /// Memory, bytes.
  virtual std::size_t nbytes() const = 0;

 protected:
  explicit ReducedForces(Index size) : size_(size) {}

 private:
  Index size_;
};

}  // namespace meniscus::solids
