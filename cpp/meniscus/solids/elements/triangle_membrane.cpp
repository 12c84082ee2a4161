#include "meniscus/solids/elements/triangle_membrane.hpp"

#include "meniscus/solids/elements/triangle_lanes.hpp"

#include <cmath>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::for_packs;
using detail::MembraneAxes;
using detail::MembraneFields;
using detail::PackMat32;

TriangleMembrane::TriangleMembrane(std::span<const mesh::Point> rest, std::span<const mesh::Triangle> triangles,
                                   const ElementProperties& properties, std::span<const double> thickness,
                                   const ElementOptions& options)
    : ConstantStrainElements(rest, triangles, properties, options, "triangles"), rest_(packs()) {
  require(options.material != Material::linear,
          "a membrane in space has no linear material, since nothing but its plane resists");
  require_valid(triangles.size(), properties, 1.0, options);
  require_positive(triangles.size(), thickness, "thickness");
  const std::size_t count = triangles.size();
  for (std::size_t slot = 0; slot < packs() * pack_size; ++slot) {
    const std::size_t e = std::min(slot, count - 1);
    const int l = static_cast<int>(slot % pack_size);
    Rest& to = rest_[slot / pack_size];
    const auto corner = [&](std::size_t k) -> const mesh::Point& { return rest[triangles[e][k]]; };
    const mesh::Point first = corner(1) - corner(0), second = corner(2) - corner(0);
    const double twice = first.cross(second).norm(), length = first.norm();
    const double longest = std::max({length, second.norm(), (second - first).norm()});
    const bool skip = !(twice > 1e-13 * longest * longest) || !std::isfinite(1 / (length * length)) || !std::isfinite(1 / twice);
    if (skip) {
      require(options.skip_degenerate, "triangle ", e, " has no area at rest: ", 0.5 * twice, " m^2");
      if (slot < count) skipped_.push_back(static_cast<std::int32_t>(e));
    }
    if (slot < count) {
      measure_[e] = skip ? 0 : 0.5 * twice;
      if (!properties.density.empty())
        for (const std::int32_t node : triangles[e])
          mass_[node] += measure_[e] * property_of(thickness, e) * property_of(properties.density, e) / 3;
    }
    // In its plane, the edges are (length, 0) and (along, twice / length).
    const double along = skip ? 0 : first.dot(second) / length;
    const double inverse[4] = {skip ? 1 : 1 / length, skip ? 0 : -along / twice, 0, skip ? 1 : length / twice};
    for (int k = 0; k < 4; ++k) to.y[k][l] = inverse[k];
    if (slot < count) unit_energy_ += measure_[e] * property_of(thickness, e) * property_of(properties.youngs_modulus, e);
    const double modulus = property_of(properties.youngs_modulus, e), nu = property_of(properties.poissons_ratio, e);
    const bool acts = slot < count && !skip;
    to.volume[l] = acts ? 0.5 * twice * property_of(thickness, e) : 0;
    to.lambda[l] = acts ? modulus * nu / (1 - nu * nu) : 0;
    to.mu[l] = acts ? modulus / (2 * (1 + nu)) : 0;
    for (std::size_t k = 0; k < 3; ++k) to.node[k][l] = triangles[e][k];
  }
  fields_.assign(packs() * static_cast<std::size_t>(MembraneFields::count * pack_size), 0.0);
}

std::size_t TriangleMembrane::nbytes() const { return rest_.capacity() * sizeof(Rest) + common_bytes(); }

double TriangleMembrane::energy(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack sum = splat(0.0);
        auto kernel = [&] {
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            const MembraneAxes axes = detail::membrane_axes(detail::gradient_of(e, x.data()));
            sum += load_pack(e.volume) * detail::membrane_energy(options_.material, axes, load_pack(e.lambda), load_pack(e.mu));
          }
        };
        simd_dispatch(kernel);
        return sum_of(sum);
      },
      [](double a, double b) { return a + b; });
}

void TriangleMembrane::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const Pack v = load_pack(e.volume);
      const MembraneAxes axes = detail::membrane_axes(detail::gradient_of(e, x.data()));
      detail::put_forces(&corner_[3 * pack_size * i],
                         detail::membrane_stress(options_.material, axes, v * load_pack(e.lambda), v * load_pack(e.mu)), e);
    }
  });
  gather_.add<mesh::Point>(corner_, 1.0, f);
}

void TriangleMembrane::deformation_gradients(std::span<const mesh::Point> x, std::span<Gradient> out) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) detail::put_gradients(detail::gradient_of(rest_[i], x.data()), i * pack_size, out);
  });
}

void TriangleMembrane::stresses(std::span<const mesh::Point> x, std::span<Gradient> out) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const MembraneAxes axes = detail::membrane_axes(detail::gradient_of(e, x.data()));
      detail::put_gradients(detail::membrane_stress(options_.material, axes, load_pack(e.lambda), load_pack(e.mu)), i * pack_size,
                            out);
    }
  });
}

double TriangleMembrane::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack worst = splat(0.0);
        auto kernel = [&] {
          PackMask acts{};
          const auto edge = [&](const PackVec3& dx, const PackVec3& dv, const Pack& rest) {
            worst = max(worst, select(acts, detail::length_rate(dx, dv) / rest, splat(0.0)));
          };
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            acts = load_pack(e.volume) > 0.0;
            const PackMat32 dx = detail::edges_of(e, x.data()), dv = detail::edges_of(e, v.data());
            const Pack length = 1.0 / load_pack(e.y[0]), height = 1.0 / load_pack(e.y[3]);
            const Pack along = -load_pack(e.y[1]) * length * height, rest = along - length;
            edge(dx.a, dv.a, length);
            edge(dx.b, dv.b, sqrt(along * along + height * height));
            edge(dx.b - dx.a, dv.b - dv.a, sqrt(rest * rest + height * height));
          }
        };
        simd_dispatch(kernel);
        return max_of(worst);
      },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace meniscus::solids
