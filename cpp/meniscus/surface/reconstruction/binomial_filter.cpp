#include "meniscus/surface/reconstruction/binomial_filter.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::surface {
namespace {

/// Neighbouring lines are taken along together, so that strided axes read whole cache lines.
constexpr Index lines_at_once = 32;

/// Calls line(first sample, stride along the axis, number of neighbouring lines) for all lines along an axis.
template <class Line>
void for_lines(double* values, const Coord<3>& shape, std::size_t axis, Line&& line) {
  const Coord<3> strides = c_strides<3>(shape);
  if (axis == 2) {
    parallel_for(0, shape[0] * shape[1], 64, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) line(values + i * shape[2], Index{1}, Index{1});
    });
    return;
  }
  const std::size_t other = 1 - axis;
  const Index groups = (shape[2] + lines_at_once - 1) / lines_at_once;
  parallel_for(0, shape[other] * groups, 4, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index first = i % groups * lines_at_once;
      line(values + i / groups * strides[other] + first, strides[axis], std::min(lines_at_once, shape[2] - first));
    }
  });
}

/// One pass over `width` neighbouring lines of n samples.
void smooth_lines(double* v, Index n, Index stride, Index width) {
  std::array<double, lines_at_once> before;
  std::copy_n(v, width, before.data());
  for (Index i = 0; i < n; ++i) {
    double* const here = v + i * stride;
    const double* const next = i + 1 < n ? here + stride : here;
    for (Index l = 0; l < width; ++l) {
      const double old = here[l];
      here[l] = 0.25 * (before[l] + next[l]) + 0.5 * old;
      before[l] = old;
    }
  }
}

void require_box(std::span<const double> values, const Coord<3>& shape) {
  require(shape[0] > 0 && shape[1] > 0 && shape[2] > 0 && product<3>(shape) == static_cast<Index>(values.size()),
          "a box of samples has as many as its extents say, not ", values.size());
}

}  // namespace

void smooth_binomial(std::span<double> values, const Coord<3>& shape, int passes, Workspace&) {
  require_box(values, shape);
  require(passes >= 0, "the number of passes cannot be ", passes);
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t axis = 0; axis < 3; ++axis)
      for_lines(values.data(), shape, axis,
                [&](double* v, Index stride, Index width) { smooth_lines(v, shape[axis], stride, width); });
}

void dilate(std::span<double> values, const Coord<3>& shape, Index reach, Workspace& workspace) {
  require_box(values, shape);
  require(reach >= 0, "the reach cannot be ", reach);
  const auto copy = workspace.take<double>(static_cast<Index>(values.size()));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::copy(values.begin(), values.end(), copy.data());
    for_lines(values.data(), shape, axis, [&](double* v, Index stride, Index width) {
      const double* const from = copy.data() + (v - values.data());
      for (Index i = 0; i < shape[axis]; ++i) {
        const Index last = std::min(i + reach, shape[axis] - 1);
        for (Index l = 0; l < width; ++l) {
          double most = from[i * stride + l];
          for (Index k = std::max<Index>(0, i - reach); k <= last; ++k) most = std::max(most, from[k * stride + l]);
          v[i * stride + l] = most;
        }
      }
    });
  }
}

}  // namespace meniscus::surface
