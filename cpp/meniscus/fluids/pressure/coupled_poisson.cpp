#include "meniscus/fluids/pressure/coupled_poisson.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"

#include <chrono>

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
  // The constant of a closed region pushes bodies that it does not surround; without it the region's volume is not their concern.
  project(q);
}

template <int D>
void CoupledPoisson<D>::precondition(const Vector& r, Correction& z) {
  const auto cycle = [&](const Vector& from) {
    poisson_->precondition(from, poisson_->hierarchy().correction());
    poisson_->combine(1.0, std::as_const(poisson_->hierarchy().correction()), 0.0, z);
    project(z);
  };
  if (deflation_.empty()) return cycle(r);
  // z = Q r + (I - Q A) M (I - A Q) r, with Q = W (W^T A W)^-1 W^T.
  deflation_.weigh(r, y_);
  combine(0.0, r, 0.0, w_);
  deflation_.add(y_, 1.0, w_);
  project(w_);
  multiply(w_, s_);
  combine(1.0, r, -1.0, s_);
  cycle(s_);
  multiply(z, s_);
  deflation_.weigh(s_, y2_);
  y_ -= y2_;
  deflation_.add(y_, 1.0, z);
  project(z);
}

template <int D>
void CoupledPoisson<D>::join(grid::PoissonSolver<D>& poisson, const VolumeRows& rows, BodyResponse& solids, double scale) {
  static_assert(numerics::LinearSystem<CoupledPoisson<D>>);
  poisson_ = &poisson;
  rows_ = &rows;
  solids_ = &solids;
  scale_ = scale;
  deflation_.prepare(poisson, rows, solids, scale);
  for (Block<double>* v : {&r_, &p_, &q_, &z_, &s_, &w_}) {
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
