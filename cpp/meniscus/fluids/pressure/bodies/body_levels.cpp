#include "meniscus/fluids/pressure/bodies/body_levels.hpp"

#include "meniscus/core/parallel.hpp"

namespace meniscus::fluids {

template <int D>
void BodyLevels<D>::label(const grid::PoissonSolver<D>& poisson, Index least) {
  poisson_ = &poisson;
  regions_.clear();
  levels_.clear();
  pockets_ = false;
  if (!poisson.regions().any_closed()) {
    labels_ = {};
    return;
  }
  const auto& regions = poisson.regions().regions();
  std::vector<std::int32_t> number(regions.size(), open);
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (!regions[r].closed) continue;
    const bool small = regions[r].cells < least;
    pockets_ |= small;
    number[r] = small ? pocket : static_cast<std::int32_t>(regions_.size());
    if (!small) regions_.push_back(static_cast<Index>(r));
  }
  if (labels_.size() != poisson.b.size()) labels_ = Block<std::int32_t>(poisson.b.size());
  parallel_for(0, labels_.size(), 1 << 16, [&](Index b, Index e) { std::fill(labels_.data() + b, labels_.data() + e, open); });
  for (const auto& u : poisson.regions().intervals()) std::fill_n(labels_.data() + u.index, u.count, number[u.region]);
}

template <int D>
void BodyLevels<D>::prepare(const VolumeRows& rows, std::span<const std::uint8_t> outlets, BodyResponse& solids, double scale) {
  const Index n = count(), velocities = solids.velocities();
  if (n == 0) return levels_.clear();
  push_.setZero(velocities, n);
  // Without cancellation: what rounding is relative to.
  Eigen::MatrixXd most = push_;
  rows.visit([&](Index cell, std::int32_t velocity, double value) {
    const std::int32_t region = label_of(cell);
    if (region < 0) return;
    push_(velocity, region) += scale * value;
    most(velocity, region) += scale * std::abs(value);
  });
  Eigen::MatrixXd whole = push_;
  // The first velocities are the rigid motions of the bodies.
  constexpr Index motion = 6;
  for (Index body = 0; body < solids.count(); ++body) {
    if (outlets[body]) continue;
    const Index first = motion * body;
    const Eigen::VectorXd parts = most.middleRows(first, motion).colwise().sum();
    if (!(parts.sum() > 0)) continue;
    const Eigen::VectorXd excess = push_.middleRows(first, motion).rowwise().sum();
    whole.middleRows(first, motion) -= excess * parts.transpose() / parts.sum();
  }
  std::array<RegionGram, 2> grams;
  std::vector<double> answer(velocities);
  const Eigen::Map<const Eigen::VectorXd> moved(answer.data(), velocities);
  const std::size_t size = push_.rows();
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const Eigen::MatrixXd& pushes = k == 0 ? whole : push_;
    grams[k].volumes.resize(n, n);
    grams[k].scale.resize(n);
    for (Index r = 0; r < n; ++r) {
      solids.respond({pushes.col(r).data(), size}, answer);
      grams[k].volumes.col(r) = pushes.transpose() * moved / scale;
      solids.respond({most.col(r).data(), size}, answer);
      grams[k].scale[r] = most.col(r).dot(moved) / scale;
    }
    grams[k].volumes = (0.5 * (grams[k].volumes + grams[k].volumes.transpose())).eval();
  }
  std::vector<Index> cells;
  for (const Index r : regions_) cells.push_back(poisson_->regions().regions()[r].cells);
  levels_.find(grams, cells);
}

template <int D>
const Eigen::VectorXd& BodyLevels<D>::counted() const {
  counted_.resize(count());
  for (Index k = 0; k < count(); ++k) counted_[k] = sums_[regions_[k]];
  return counted_;
}

template <int D>
void BodyLevels<D>::keep_free(std::vector<double>& sums) const {
  if (count() == 0) return;
  sums_ = sums;
  const Eigen::VectorXd free = levels_.free_part(counted());
  for (Index k = 0; k < count(); ++k) {
    const Index r = regions_[k];
    sums[r] = free[k] * static_cast<double>(poisson_->regions().regions()[r].cells);
  }
}

template <int D>
void BodyLevels<D>::project(Block<double>& v) const {
  if (count() == 0 && !pockets_) return;
  if (!determined()) return poisson_->project(v);
  poisson_->regions().sum(v.data(), sums_);
  const auto& regions = poisson_->regions().regions();
  const Eigen::VectorXd free = levels_.free_part(counted());
  for (std::size_t r = 0; r < regions.size(); ++r)
    sums_[r] = regions[r].closed ? -sums_[r] / static_cast<double>(regions[r].cells) : 0.0;
  for (Index k = 0; k < count(); ++k) sums_[regions_[k]] = -free[k];
  poisson_->regions().add(sums_, v.data());
}

template <int D>
void BodyLevels<D>::correct(const Block<double>& r, Block<double>& z) const {
  poisson_->regions().sum(r.data(), sums_);
  const Eigen::VectorXd level = levels_.coarse() * counted();
  std::fill(sums_.begin(), sums_.end(), 0.0);
  for (Index k = 0; k < count(); ++k) sums_[regions_[k]] = level[k];
  poisson_->regions().add(sums_, z.data());
}

template <int D>
void BodyLevels<D>::unpush(const Eigen::VectorXd& sums, Eigen::Ref<Eigen::VectorXd> pushes) const {
  pushes -= push_ * levels_.free_part(sums);
}

template class BodyLevels<2>;
template class BodyLevels<3>;

}  // namespace meniscus::fluids
