#include "meniscus/numerics/sparse/envelope_cholesky.hpp"

#include <Eigen/Cholesky>

namespace meniscus::numerics {

std::int32_t EnvelopeCholesky::spread(std::int32_t from, std::size_t first) {
  const auto degree = [&](std::int32_t i) { return start_[i + 1] - start_[i]; };
  queue_.resize(first);
  queue_.push_back(from);
  place_[from] = 0;
  for (std::size_t at = first; at < queue_.size(); ++at) {
    const std::size_t end = queue_.size();
    const std::int32_t i = queue_[at];
    for (std::int32_t k = start_[i]; k < start_[i + 1]; ++k) {
      if (place_[next_[k]] >= 0) continue;
      place_[next_[k]] = 0;
      queue_.push_back(next_[k]);
    }
    std::sort(queue_.begin() + static_cast<std::ptrdiff_t>(end), queue_.end(),
              [&](std::int32_t a, std::int32_t b) { return degree(a) != degree(b) ? degree(a) < degree(b) : a < b; });
  }
  return queue_.back();
}

void EnvelopeCholesky::place_items(Index items) {
  place_.assign(items, -1);
  queue_.clear();
  for (std::int32_t i = 0; i < items; ++i) {
    if (place_[i] >= 0) continue;
    // From one end to the other.
    const std::size_t first = queue_.size();
    const std::int32_t end = spread(i, first);
    for (std::size_t k = first; k < queue_.size(); ++k) place_[queue_[k]] = -1;
    spread(end, first);
  }
  std::reverse(queue_.begin(), queue_.end());
  for (Index i = 0; i < items; ++i) place_[queue_[i]] = static_cast<std::int32_t>(i);
  first_.resize(items);
  row_.resize(items);
  work_ = blocks_below_ = 0;
  for (Index i = 0; i < items; ++i) {
    first_[i] = i;
    for (std::int32_t k = start_[queue_[i]]; k < start_[queue_[i] + 1]; ++k)
      first_[i] = std::min<Index>(first_[i], place_[next_[k]]);
    row_[i] = blocks_below_;
    blocks_below_ += i - first_[i];
    work_ += 1 + (i - first_[i]) * (i - first_[i] + 3) / 2;
  }
}

void EnvelopeCholesky::clear() {
  diagonal_.resize(place_.size());
  ordered_.resize(place_.size());
  blocks_.resize(blocks_below_);
  for (Matrix6& m : diagonal_) m.setZero();
  for (Matrix6& m : blocks_) m.setZero();
}

void EnvelopeCholesky::factor() {
  for (Index i = 0; i < std::ssize(diagonal_); ++i) {
    for (Index j = first_[i]; j < i; ++j) {
      Matrix6& own = below(i, j);
      for (Index k = std::max(first_[i], first_[j]); k < j; ++k) own.noalias() -= below(i, k) * below(j, k).transpose();
      diagonal_[j].triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(own);
      diagonal_[i].noalias() -= own * own.transpose();
    }
    diagonal_[i] = diagonal_[i].llt().matrixL();
  }
}

void EnvelopeCholesky::solve(std::span<Vector6> x) {
  const Index n = std::ssize(diagonal_);
  for (Index i = 0; i < n; ++i) {
    Vector6& own = ordered_[i] = x[queue_[i]];
    for (Index j = first_[i]; j < i; ++j) own.noalias() -= below(i, j) * ordered_[j];
    diagonal_[i].triangularView<Eigen::Lower>().solveInPlace(own);
  }
  for (Index i = n; i-- > 0;) {
    diagonal_[i].triangularView<Eigen::Lower>().transpose().solveInPlace(ordered_[i]);
    for (Index j = first_[i]; j < i; ++j) ordered_[j].noalias() -= below(i, j).transpose() * ordered_[i];
    x[queue_[i]] = ordered_[i];
  }
}

Index EnvelopeCholesky::nbytes() const {
  return static_cast<Index>(
      (start_.capacity() + next_.capacity() + queue_.capacity() + place_.capacity()) * sizeof(std::int32_t) +
      (first_.capacity() + row_.capacity()) * sizeof(Index) + (diagonal_.capacity() + blocks_.capacity()) * sizeof(Matrix6) +
      ordered_.capacity() * sizeof(Vector6));
}

}  // namespace meniscus::numerics
