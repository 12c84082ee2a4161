#include "meniscus/grid/poisson/array_poisson.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

namespace meniscus::grid {
namespace {

/// Samples of the faces of an axis that the guess below looks at.
constexpr std::size_t samples = 128;
using Samples = std::array<double, samples>;

/// Samples at places that do not depend on blocks; -1 where the own block has no such face.
template <int D>
Samples sample_faces(const CellLayout<D>& layout, int axis, const double* faces) {
  Coord<D> whole = layout.domain, own = layout.cells;
  ++whole[axis];
  ++own[axis];
  const Coord<D> strides = c_strides<D>(own);
  const Index n = product<D>(whole);
  // A stride without a common factor with the usual sizes of boxes, or all samples could lie on one side.
  const Index stride = std::max<Index>(1, n / static_cast<Index>(samples)) | 1;
  Samples values;
  values.fill(-1.0);
  for (std::size_t k = 0; k < samples; ++k) {
    Index rest = (n / 2 + static_cast<Index>(k) * stride) % n, at = 0;
    bool here = true;
    for (std::size_t d = D; d-- > 0; rest /= whole[d]) {
      const Index c = rest % whole[d] - layout.first[d];
      here = here && c >= 0 && c < own[d];
      at += c * strides[d];
    }
    if (here) values[k] = faces[at];
  }
  return values;
}

/// The most common positive one, or zero: a wrong guess costs time, never correctness.
double most_common(Samples values) {
  const auto end_of_values = std::remove_if(values.begin(), values.end(), [](double w) { return !(w > 0); });
  std::sort(values.begin(), end_of_values);
  double common = 0.0;
  std::ptrdiff_t most = 0;
  for (auto k = values.begin(); k != end_of_values;) {
    const auto end = std::find_if(k, end_of_values, [&](double w) { return w != *k; });
    if (end - k > most) {
      most = end - k;
      common = *k;
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
  if (parallel::global_any(layout_.halo.communicator(), !compare_faces(faces))) return false;
  const bool known = prepared_;
  prepared_ = false;
  guess_open_couplings(faces);
  if (unknown_.size() != layout_.count()) unknown_ = Block<std::uint8_t>(layout_.count());
  if (!known) changes_.mark_all(layout_);
  copy_faces(faces);
  set_diagonal(active);
  solver_.prepare(changes_);
  prepared_ = true;
  setup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return true;
}

/// The couplings decide by which formula rows are computed, so all blocks take the same.
template <int D>
void ArrayPoissonSolver<D>::guess_open_couplings(const std::array<const double*, D>& faces) {
  parallel::Communicator& communicator = layout_.halo.communicator();
  std::array<Samples, D> own;
  for (int d = 0; d < D; ++d) own[d] = sample_faces<D>(layout_, d, faces[d]);
  std::vector<std::array<Samples, D>> all(communicator.size());
  communicator.gather(&own, sizeof own, all.data());
  std::array<double, D> common;
  for (std::size_t d = 0; d < D; ++d) {
    for (const auto& other : all)
      for (std::size_t k = 0; k < samples; ++k) own[d][k] = std::max(own[d][k], other[d][k]);
    common[d] = most_common(own[d]);
  }
  const double largest = *std::max_element(common.begin(), common.end());
  for (std::size_t d = 0; d < D; ++d) {
    if (common[d] == 0) common[d] = largest > 0 ? largest : 1.0;
    solver_.matrix.open_coupling[d] = layout_.single_cell_ring(d) ? 0.0 : common[d];
  }
}

template <int D>
bool ArrayPoissonSolver<D>::compare_faces(const std::array<const double*, D>& faces) {
  std::atomic<bool> valid{true};
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
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
    const Index axis = d;
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
