/// Substeps of a step, as long as waves allow.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/core/types.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {

/// Cuts a step into equal pieces, anew after each, because what bounds them changes.
class Substeps {
 public:
  explicit Substeps(double dt) : dt_(dt), left_(dt) {}

  bool done() const { return left_ <= 0; }
  Index count() const { return count_; }

  /// The next substep, not longer than `longest`, s. Throws InvalidArgument for water that is not finite or too fast.
  double next(double longest) {
    require(longest > 0, "the depth and the velocity must be finite");
    const double pieces = std::max(std::ceil(left_ / longest - 1e-9), 1.0);
    constexpr double most = 1e6;
    require(pieces + static_cast<double>(count_) <= most, "a step of ", dt_, " s would take more than ", most, " substeps, of ",
            longest, " s");
    last_ = pieces == 1;
    return left_ / pieces;
  }

  /// Tells that a substep was taken, which may be shorter than the one proposed.
  void took(double piece) {
    left_ = last_ && piece == left_ ? 0.0 : left_ - piece;
    ++count_;
  }

 private:
  double dt_, left_;
  Index count_ = 0;
  bool last_ = false;
};

}  // namespace meniscus::fluids
