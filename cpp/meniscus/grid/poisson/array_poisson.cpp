#include "meniscus/grid/poisson/array_poisson.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

/// The most common positive coefficient of a sample of the faces: a wrong guess costs time, never correctness.
double guess_open_coupling(const double* faces, Index n) {
  constexpr Index samples = 1024;
  std::array<double, samples> values;
  Index found = 0;
  // A stride without a common factor with the usual sizes of boxes, or all samples could lie on one side.
  const Index stride = std::max<Index>(1, n / samples) | 1;
  for (Index k = 0; k < samples; ++k)
    if (const double w = faces[(n / 2 + k * stride) % n]; w > 0) values[static_cast<std::size_t>(found++)] = w;
  std::sort(values.begin(), values.begin() + found);
  double common = 1.0;
  Index most = 0;
  for (Index k = 0; k < found;) {
    Index end = k + 1;
    while (end < found && values[static_cast<std::size_t>(end)] == values[static_cast<std::size_t>(k)]) ++end;
    if (end - k > most) {
      most = end - k;
      common = values[static_cast<std::size_t>(k)];
    }
    k = end;
  }
  return common;
}

}  // namespace

template <int D>
template <class Body>
void ArrayPoissonSolver<D>::for_each_row(Body&& body) const {
  const Coord<D> strides = c_strides<D>(layout_.cells);
  parallel_for(0, layout_.rows(), std::max<Index>(1, 8192 / layout_.cells[D - 1]), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) body(layout_.row(r), dot<D>(layout_.row_coordinate(r), strides));
  });
}

template <int D>
bool ArrayPoissonSolver<D>::set_coefficients(const std::array<const double*, D>& faces, const std::uint8_t* active) {
  const auto start = std::chrono::steady_clock::now();
  FaceMatrix<double, D>& a = solver_.matrix;
  fit(a, layout_, true);
  changes_.clear(layout_);
  if (!compare_faces(faces)) return false;
  const bool known = prepared_;
  prepared_ = false;
  for (std::size_t d = 0; d < D; ++d)
    a.open_coupling[d] = layout_.single_cell_ring(d)
                             ? 0.0
                             : guess_open_coupling(faces[d], layout_.count() / layout_.cells[d] * (layout_.cells[d] + 1));
  if (unknown_.size() != layout_.count()) unknown_ = Block<std::uint8_t>(layout_.count());
  if (!known) changes_.mark_all(layout_);
  copy_faces(faces);
  set_diagonal(active);
  solver_.prepare(changes_);
  prepared_ = true;
  setup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return true;
}

template <int D>
bool ArrayPoissonSolver<D>::compare_faces(const std::array<const double*, D>& faces) {
  std::atomic<bool> valid{true};
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    Coord<D> extents = layout_.cells;
    ++extents[axis];
    const Coord<D> strides = c_strides<D>(extents);
    for_each_face_row<D>(layout_, d, [&](const Coord<D>& c, Index count, int, int) {
      const double* from = faces[axis] + dot<D>(c, strides);
      const double* known = solver_.matrix.faces[axis].data() + layout_.index(c);
      // What is in the matrix has been looked at before.
      if (std::memcmp(from, known, static_cast<std::size_t>(count) * sizeof(double)) == 0) return;
      changes_.mark_faces(c, d);
      bool good = true;
      simd_dispatch([=, &good] {
        int bad = 0;
        // Comparisons with NaN are false.
        for (Index k = 0; k < count; ++k) bad |= !(from[k] >= 0) | !(from[k] <= std::numeric_limits<double>::max());
        good = bad == 0;
      });
      if (!good) valid.store(false, std::memory_order_relaxed);
    });
  }
  return valid;
}

template <int D>
void ArrayPoissonSolver<D>::copy_faces(const std::array<const double*, D>& faces) {
  FaceMatrix<double, D>& a = solver_.matrix;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    // A cell that is its own neighbour around a periodic axis exchanges nothing with itself: these faces remain zero.
    if (layout_.single_cell_ring(axis)) continue;
    Coord<D> extents = layout_.cells;
    ++extents[axis];
    const Coord<D> strides = c_strides<D>(extents);
    for_each_face_row<D>(layout_, d, [&](const Coord<D>& c, Index count, int, int) {
      const double* from = faces[axis] + dot<D>(c, strides);
      double* to = a.faces[axis].data() + layout_.index(c);
      if (changes_.beside_faces(c, d)) std::copy_n(from, count, to);
    });
  }
}

template <int D>
void ArrayPoissonSolver<D>::set_diagonal(const std::uint8_t* active) {
  FaceMatrix<double, D>& a = solver_.matrix;
  const Index length = layout_.cells[D - 1];
  parallel_for(0, layout_.rows(), std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Index first = layout_.row(r), at = dot<D>(layout_.row_coordinate(r), c_strides<D>(layout_.cells));
      double* diagonal = a.diagonal.data() + first;
      if (!changes_[r]) {
        // The unknowns may have changed where faces have not; cells without any coefficient are none.
        int differs = 0;
        for (Index k = 0; k < length; ++k) {
          const bool unknown = !active || active[at + k] != 0;
          differs |= (unknown != unknown_[at + k]);
        }
        if (!differs) continue;
        changes_.mark(r);
      }
      std::array<const double*, D> face;
      for (std::size_t d = 0; d < D; ++d) face[d] = a.faces[d].data() + first;
      std::uint8_t* unknown = unknown_.data() + at;
      for (Index k = 0; k < length; ++k) unknown[k] = !active || active[at + k] != 0;
      simd_dispatch([=, strides = layout_.strides] {
        for (Index k = 0; k < length; ++k) diagonal[k] = face[0][k] + face[0][k + strides[0]];
        for (std::size_t d = 1; d < D; ++d)
          for (Index k = 0; k < length; ++k) diagonal[k] += face[d][k] + face[d][k + strides[d]];
        if (active)
          for (Index k = 0; k < length; ++k) diagonal[k] = unknown[k] ? diagonal[k] : 0.0;
      });
    }
  });
}

template <int D>
void ArrayPoissonSolver<D>::solve(const double* rhs, double* x, const numerics::SolveOptions& options, bool warm_start,
                                  numerics::SolveInfo& info) {
  require(prepared_, "set_coefficients must come before solve");
  const auto& active = solver_.matrix.active;
  const Index length = layout_.cells[D - 1];
  for_each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) {
      const bool unknown = active[row + k] != 0;
      solver_.b[row + k] = unknown ? rhs[at + k] : 0.0;
      if (warm_start) solver_.x[row + k] = unknown ? x[at + k] : 0.0;
    }
  });
  solver_.solve(options, !warm_start, info);
  const NoInterrupts whole;
  for_each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) x[at + k] = active[row + k] ? solver_.x[row + k] : 0.0;
  });
}

template <int D>
void ArrayPoissonSolver<D>::multiply(const double* x, double* out) {
  require(prepared_, "set_coefficients must come before multiply");
  if (from_.size() != layout_.size) {
    from_ = Block<double>(layout_.size);
    to_ = Block<double>(layout_.size);
    std::fill(from_.begin(), from_.end(), 0.0);
  }
  const auto& active = solver_.matrix.active;
  const Index length = layout_.cells[D - 1];
  for_each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) from_[row + k] = active[row + k] ? x[at + k] : 0.0;
  });
  solver_.multiply(from_, to_);
  for_each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) out[at + k] = active[row + k] ? to_[row + k] : 0.0;
  });
}

template class ArrayPoissonSolver<2>;
template class ArrayPoissonSolver<3>;

}  // namespace meniscus::grid
