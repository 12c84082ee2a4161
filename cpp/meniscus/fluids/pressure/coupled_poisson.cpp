#include "meniscus/fluids/pressure/coupled_poisson.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace meniscus::fluids {

template <int D>
void CoupledPoisson<D>::answer(const double* x, const VolumeRows& rows, SolidResponse& solids, double scale,
                               std::vector<double>& f, std::vector<double>& v) {
  f.resize(solids.velocities());
  v.resize(solids.velocities());
  rows.gather(x, scale, f);
  solids.respond(f, v);
}

template <int D>
void CoupledPoisson<D>::multiply(Vector& p, Vector& q) {
  poisson_->multiply(p, q);
  answer(p.data(), *rows_, *solids_, scale_, f_, v_);
  rows_->scatter(v_, q.data());
  // A free level may push bodies beside pockets; the volumes that these take from it are not theirs.
  project(q);
}

template <int D>
void CoupledPoisson<D>::cycle(const Vector& r, Correction& z) {
  const auto weigh = [&](Vector& v) {
    for (const auto& [cell, weight] : weighed_) v[cell] *= weight;
  };
  const bool levels = levels_.determined(), weighed = !weighed_.empty();
  if (levels || weighed) {
    combine(1.0, r, 0.0, t_);
    weigh(t_);
    poisson_->project(t_);
  }
  poisson_->precondition(levels || weighed ? t_ : r, poisson_->hierarchy().correction());
  poisson_->combine(1.0, std::as_const(poisson_->hierarchy().correction()), 0.0, z);
  poisson_->project(z);
  weigh(z);
  if (levels) levels_.correct(r, z);
  if (weighed) project(z);
}

template <int D>
void CoupledPoisson<D>::precondition(const Vector& r, Correction& z) {
  if (deflation_.empty()) return cycle(r, z);
  // z = Q r + (I - Q A) M (I - A Q) r, with Q = W (W^T A W)^-1 W^T.
  deflation_.weigh(r, y_);
  combine(0.0, r, 0.0, w_);
  deflation_.add(y_, 1.0, w_);
  project(w_);
  multiply(w_, s_);
  combine(1.0, r, -1.0, s_);
  cycle(s_, z);
  multiply(z, s_);
  deflation_.weigh(s_, y2_);
  y_ -= y2_;
  deflation_.add(y_, 1.0, z);
  project(z);
}

template <int D>
void CoupledPoisson<D>::weigh_cells() {
  weighed_.clear();
  rows_->visit([&](Index cell, std::int32_t velocity, double value) {
    const double yields = solids_->yield_alone(velocity);
    if (yields == 0) return;
    if (weighed_.empty() || weighed_.back().first != cell) weighed_.emplace_back(cell, 0.0);
    weighed_.back().second += scale_ * value * value * yields;
  });
  std::sort(weighed_.begin(), weighed_.end());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < weighed_.size(); ++k) {
    if (kept > 0 && weighed_[kept - 1].first == weighed_[k].first)
      weighed_[kept - 1].second += weighed_[k].second;
    else
      weighed_[kept++] = weighed_[k];
  }
  weighed_.resize(kept);
  for (auto& [cell, weight] : weighed_) {
    const double diagonal = poisson_->matrix.diagonal[cell];
    weight = diagonal > 0 ? 1 / std::sqrt(1 + weight / diagonal) : 1.0;
  }
}

template <int D>
void CoupledPoisson<D>::join(grid::PoissonSolver<D>& poisson, const VolumeRows& rows, std::span<const std::uint8_t> outlets,
                             BodyResponse& solids, double scale) {
  static_assert(numerics::LinearSystem<CoupledPoisson<D>>);
  poisson_ = &poisson;
  rows_ = &rows;
  solids_ = &solids;
  scale_ = scale;
  levels_.prepare(rows, outlets, solids, scale);
  deflation_.prepare(poisson, rows, levels_, solids, scale);
  weigh_cells();
  for (Block<double>* v : {&r_, &p_, &q_, &z_, &s_, &w_, &t_}) {
    if (v->size() != poisson.b.size()) *v = Block<double>(poisson.b.size());
    std::fill(v->begin(), v->end(), 0.0);
  }
}

template <int D>
void CoupledPoisson<D>::solve(const numerics::SolveOptions& options, bool start_is_zero, numerics::SolveInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  Vector &x = poisson_->x, &b = poisson_->b;
  project(b);
  poisson_->scale_residuals(std::sqrt(inner_product(b, b)));
  if (start_is_zero)
    combine(0.0, b, 0.0, x);
  else
    project(x);
  numerics::conjugate_gradients<CoupledPoisson<D>>(*this, {x, b, r_, p_, q_, z_}, options, start_is_zero, info);
  project(x);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template class CoupledPoisson<2>;
template class CoupledPoisson<3>;

}  // namespace meniscus::fluids
