#include "meniscus/solids/elements/constant_strain_elements.hpp"

namespace meniscus::solids {

template <int N>
ConstantStrainElements<N>::ConstantStrainElements(std::span<const mesh::Point> rest, std::span<const Element> elements,
                                                  const ElementProperties& properties, const ElementOptions& options,
                                                  const char* what)
    : options_(options), gather_(elements), measure_(elements.size()) {
  require(gather_.nodes() <= static_cast<Index>(rest.size()), "the ", what, " have nodes up to ", gather_.nodes() - 1,
          ", but there are ", rest.size(), " positions");
  mesh::require_finite(rest, "the positions at rest");
  if (!properties.density.empty()) mass_.assign(gather_.nodes(), 0.0);
  corner_.assign(packs() * pack_size * N, mesh::Point::Zero());
  if (options.assembled) matrix_.emplace(elements, gather_);
}

template <int N>
const BlockStiffness& ConstantStrainElements<N>::matrix() const {
  require(matrix_.has_value(), "the stiffness matrix is not kept");
  return *matrix_;
}

template <int N>
void ConstantStrainElements<N>::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  if (matrix_) {
    matrix_->multiply(dx, -scale, f);
    if (in_step()) matrix_->multiply_kept(dx, scale, f);
    return;
  }
  multiply_tangent(dx);
  gather_.template add<mesh::Point>(corner_, scale, f);
}

template <int N>
void ConstantStrainElements<N>::add_tangent(std::span<const mesh::Point> u, double stiffness_scale, double damping_scale,
                                            std::span<mesh::Point> f) const {
  if (matrix_ && in_step() && stiffness_scale == damping_scale * step_dt_) {
    matrix_->multiply(u, -stiffness_scale, f);
    add_mass_damping(u, damping_scale, f);
  } else {
    Force::add_tangent(u, stiffness_scale, damping_scale, f);
  }
}

template <int N>
void ConstantStrainElements<N>::begin_step(std::span<const mesh::Point> x, double dt) {
  step_dt_ = 0;
  if (!(options_.damping > 0)) return;
  linearise_damping(x);
  if (matrix_)
    matrix_->keep(options_.damping / dt);
  else
    held_ = fields_;
  step_dt_ = dt;
}

template <int N>
void ConstantStrainElements<N>::add_mass_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  if (!(options_.mass_damping > 0)) return;
  const double factor = scale * options_.mass_damping;
  parallel_for(0, static_cast<Index>(mass_.size()), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) f[i] -= (factor * mass_[i]) * v[i];
  });
}

template <int N>
void ConstantStrainElements<N>::add_mass_damping_bounds(std::span<double> damping) const {
  if (!(options_.mass_damping > 0)) return;
  for (std::size_t i = 0; i < mass_.size(); ++i) damping[i] += 0.5 * options_.mass_damping * mass_[i];
}

template <int N>
DampingRatios ConstantStrainElements<N>::damping_ratios(std::span<const mesh::Point> x) const {
  const double damping = options_.damping;
  const bool whole = options_.material == Material::linear;
  DampingRatios r{0, std::numeric_limits<double>::infinity()};
  // Damping is that multiple of the frozen tangent, which at rest is the whole one; else what acts on rotations is undamped.
  // Energies near rest are quadratic in the strain, and those of a unit strain are about those of the size of the body.
  if (whole || this->energy(x) <= 1e-12 * unit_energy_) r.least = damping;
  if (!(options_.mass_damping > 0) && (whole || r.least > 0)) r.most = damping;
  if (!damped()) r = {0, 0};
  return r;
}

template <int N>
void ConstantStrainElements<N>::add_mass_diagonal(double damping_scale, std::span<Block3> blocks) const {
  if (!(options_.mass_damping > 0)) return;
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) blocks[i].diagonal().array() -= damping_scale * options_.mass_damping * mass_[i];
  });
}

template <int N>
void ConstantStrainElements<N>::add_corner_sums(double scale, std::span<double> nodes) const {
  parallel_for(0, gather_.nodes(), 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      double sum = 0;
      for (const std::int32_t corner : gather_.at(i)) sum += corner_[corner].x();
      nodes[i] += scale * sum;
    }
  });
}

template <int N>
std::size_t ConstantStrainElements<N>::common_bytes() const {
  return gather_.nbytes() + skipped_.capacity() * sizeof(std::int32_t) +
         (mass_.capacity() + measure_.capacity() + fields_.capacity() + held_.capacity()) * sizeof(double) +
         corner_.capacity() * sizeof(mesh::Point) + (matrix_ ? matrix_->nbytes() : 0);
}

template class ConstantStrainElements<3>;
template class ConstantStrainElements<4>;
template class ConstantStrainElements<10>;

}  // namespace meniscus::solids
