#include "meniscus/fluids/viscosity/body_traction.hpp"

#include "meniscus/numerics/conjugate_gradients.hpp"

#include <chrono>

namespace meniscus::fluids {

template <int D>
void BodyTraction<D>::begin(MovingBodies& bodies, double kappa) {
  static_assert(numerics::LinearSystem<BodyTraction<D>>);
  bodies_ = &bodies;
  kappa_ = kappa;
  for (VolumeRows& rows : rows_) rows.clear();
  bodies.begin();
  given_.assign(bodies.velocities(), 0.0);
}

template <int D>
void BodyTraction<D>::touch(int axis, Index index, std::int32_t body, const Vector6& row, double coefficient) {
  VolumeRows& rows = rows_[axis];
  rows.begin_row(index);
  for (int k = 0; k < 6; ++k) rows.add(6 * body + k, coefficient * row[k]);
  bodies_->attach(body, row, kappa_ * coefficient, 0.0);
  const double speed = row.dot(bodies_->body(body).velocity);
  for (int k = 0; k < 6; ++k) given_[6 * body + k] += kappa_ * coefficient * speed * row[k];
}

template <int D>
void BodyTraction<D>::factor() {
  bodies_->factor();
}

template <int D>
void BodyTraction<D>::gather(const Vector& u, std::vector<double>& impulse) const {
  impulse.assign(given_.size(), 0.0);
  part_.resize(given_.size());
  for (std::size_t d = 0; d < D; ++d) {
    rows_[d].gather(u[d].data(), kappa_, part_);
    for (std::size_t k = 0; k < part_.size(); ++k) impulse[k] += part_[k];
  }
}

template <int D>
void BodyTraction<D>::multiply(Vector& p, Vector& q) {
  for (std::size_t d = 0; d < D; ++d) systems_[d]->multiply(p[d], q[d]);
  gather(p, impulse_);
  bodies_->respond(impulse_, change_);
  for (double& v : change_) v = -v;
  for (std::size_t d = 0; d < D; ++d) rows_[d].scatter(change_, q[d].data());
}

template <int D>
void BodyTraction<D>::precondition(const Vector& r, Correction& z) {
  for (std::size_t d = 0; d < D; ++d) {
    auto& correction = systems_[d]->hierarchy().correction();
    systems_[d]->precondition(r[d], correction);
    systems_[d]->combine(1.0, std::as_const(correction), 0.0, z[d]);
  }
}

template <int D>
double BodyTraction<D>::inner_product(const Vector& u, const Vector& v) const {
  double sum = 0;
  for (std::size_t d = 0; d < D; ++d) sum += systems_[d]->inner_product(u[d], v[d]);
  return sum;
}

template <int D>
void BodyTraction<D>::combine(double alpha, const Vector& p, double beta, Vector& y) const {
  for (std::size_t d = 0; d < D; ++d) systems_[d]->combine(alpha, p[d], beta, y[d]);
}

template <int D>
bool BodyTraction<D>::solve(const Systems& systems, const numerics::SolveOptions& options, numerics::SolveInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  systems_ = systems;
  change_.assign(given_.size(), 0.0);
  for (Vector* v : {&r_, &p_, &q_, &z_})
    for (std::size_t d = 0; d < D; ++d) {
      Block<double>& block = (*v)[d];
      if (block.size() != systems[d]->b.size()) block = Block<double>(systems[d]->b.size());
      std::fill(block.begin(), block.end(), 0.0);
    }
  for (std::size_t d = 0; d < D; ++d) {
    std::swap(x_[d], systems[d]->x);
    std::swap(b_[d], systems[d]->b);
  }
  // What walls give bodies that keep their velocity moves them, and they the fluid.
  bodies_->respond(given_, change_);
  for (std::size_t k = 0; k < change_.size(); ++k) change_[k] = bodies_->change()[k] - change_[k];
  for (std::size_t d = 0; d < D; ++d) rows_[d].scatter(change_, b_[d].data());
  const double norm = std::sqrt(inner_product(b_, b_));
  for (std::size_t d = 0; d < D; ++d) systems[d]->scale_residuals(norm);
  numerics::conjugate_gradients<BodyTraction<D>>(*this, {x_, b_, r_, p_, q_, z_}, options, false, info);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (info.converged) {
    gather(x_, impulse_);
    for (std::size_t k = 0; k < impulse_.size(); ++k) impulse_[k] -= given_[k];
    bodies_->finish(impulse_);
  }
  for (std::size_t d = 0; d < D; ++d) {
    std::swap(x_[d], systems[d]->x);
    std::swap(b_[d], systems[d]->b);
  }
  return info.converged;
}

template <int D>
Index BodyTraction<D>::bytes() const {
  Index n = 0;
  for (std::size_t d = 0; d < D; ++d) n += rows_[d].bytes() + 8 * (r_[d].size() + p_[d].size() + q_[d].size() + z_[d].size());
  return n;
}

template class BodyTraction<2>;
template class BodyTraction<3>;

}  // namespace meniscus::fluids
