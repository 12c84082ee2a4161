#include "meniscus/solids/elements/tet_elements.hpp"

#include "meniscus/solids/elements/tet_lanes.hpp"

#include <Eigen/LU>

#include <cmath>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::for_packs;
using detail::with_material;

TetElements::TetElements(std::span<const mesh::Point> rest, std::span<const mesh::Tet> tets, const ElementProperties& properties,
                         const ElementOptions& options)
    : ConstantStrainElements(rest, tets, properties, options, "elements"), rest_(packs()) {
  require_valid(tets.size(), properties, 0.5, options);
  const std::size_t count = tets.size();
  for (std::size_t slot = 0; slot < packs() * pack_size; ++slot) {
    const std::size_t e = std::min(slot, count - 1);
    const int l = static_cast<int>(slot % pack_size);
    Rest& to = rest_[slot / pack_size];
    const auto corner = [&](int k) -> const mesh::Point& { return rest[tets[e][k]]; };
    Matrix3 edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = corner(k + 1) - corner(0);
    double longest = std::max({edges.col(0).norm(), edges.col(1).norm(), edges.col(2).norm()});
    longest = std::max({longest, (corner(2) - corner(1)).norm(), (corner(3) - corner(1)).norm(), (corner(3) - corner(2)).norm()});
    const double det = edges.determinant();
    // Below this the volume is round-off of the positions.
    bool skip = !(det > 1e-13 * longest * longest * longest);
    Matrix3 inverse = Matrix3::Identity();
    if (!skip) {
      inverse = edges.inverse();
      skip = !inverse.allFinite();
    }
    if (skip) {
      require(options.skip_degenerate, "element ", e, " is flat or inverted at rest: its signed volume is ", det / 6, " m^3");
      inverse.setIdentity();
      if (slot < count) skipped_.push_back(static_cast<std::int32_t>(e));
    }
    const double volume = skip ? 0.0 : det / 6;
    if (slot < count) {
      measure_[e] = volume;
      if (!properties.density.empty())
        for (const std::int32_t node : tets[e]) mass_[node] += 0.25 * volume * property_of(properties.density, e);
    }
    const bool acts = slot < count && !skip;
    if (slot < count) unit_energy_ += measure_[e] * property_of(properties.youngs_modulus, e);
    const Lame lame = lame_constants(property_of(properties.youngs_modulus, e), property_of(properties.poissons_ratio, e));
    for (int k = 0; k < 9; ++k) to.y[k][l] = inverse(k / 3, k % 3);
    to.volume[l] = acts ? volume : 0;
    to.lambda[l] = acts ? lame.lambda : 0;
    to.mu[l] = acts ? lame.mu : 0;
    for (std::size_t k = 0; k < 4; ++k) to.node[k][l] = tets[e][k];
  }
  field_count_ = detail::field_count(options.material);
  // Rows of the matrix are made from packs that begin at any number.
  fields_.assign(packs() * static_cast<std::size_t>(field_count_ * pack_size) + pack_size, 0.0);
}

std::size_t TetElements::nbytes() const { return rest_.capacity() * sizeof(Rest) + common_bytes(); }

template <Material material>
double TetElements::energy_of(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack sum = splat(0.0);
        auto kernel = [&] {
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), detail::rows_of(e.y[0]));
            sum += load_pack(e.volume) * energy_density<material>(f, load_pack(e.lambda), load_pack(e.mu));
          }
        };
        simd_dispatch(kernel);
        return sum_of(sum);
      },
      [](double a, double b) { return a + b; });
}

double TetElements::energy(std::span<const mesh::Point> x) const {
  return with_material(options_.material, [&](auto m) { return energy_of<m()>(x); });
}

template <Material material>
void TetElements::add_forces_of(std::span<const mesh::Point> x) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const PackMat3 y = detail::rows_of(e.y[0]);
      const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), y);
      const Pack v = load_pack(e.volume);
      detail::put_forces(&corner_[4 * pack_size * i], stress<material>(f, v * load_pack(e.lambda), v * load_pack(e.mu)), y);
    }
  });
}

void TetElements::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  with_material(options_.material, [&](auto m) { add_forces_of<m()>(x); });
  gather_.add<mesh::Point>(corner_, 1.0, f);
}

namespace {

void put_matrices(const PackMat3& m, std::size_t first, std::span<RowMatrix3> out) {
  const std::size_t count = std::min<std::size_t>(pack_size, out.size() - first);
  const Pack v[9] = {m.a.x, m.b.x, m.c.x, m.a.y, m.b.y, m.c.y, m.a.z, m.b.z, m.c.z};
  for (std::size_t l = 0; l < count; ++l)
    for (std::size_t k = 0; k < 9; ++k) out[first + l].data()[k] = v[k][l];
}

}  // namespace

void TetElements::deformation_gradients(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      put_matrices(detail::gradient(detail::edges_of(rest_[i], x.data()), detail::rows_of(rest_[i].y[0])), i * pack_size, out);
  });
}

template <Material material>
void TetElements::stresses_of(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  for_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const PackMat3 f = detail::gradient(detail::edges_of(e, x.data()), detail::rows_of(e.y[0]));
      put_matrices(stress<material>(f, load_pack(e.lambda), load_pack(e.mu)), i * pack_size, out);
    }
  });
}

void TetElements::stresses(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  with_material(options_.material, [&](auto m) { stresses_of<m()>(x, out); });
}

double TetElements::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack worst = splat(0.0);
        auto kernel = [&] {
          PackMask acts{};
          const auto edge = [&](const PackVec3& dx, const PackVec3& dv, const PackVec3& rest) {
            worst = max(worst, select(acts, detail::length_rate(dx, dv) / sqrt(dot(rest, rest)), splat(0.0)));
          };
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            acts = load_pack(e.volume) > 0.0;
            const PackMat3 y = detail::rows_of(e.y[0]), dx = detail::edges_of(e, x.data()), dv = detail::edges_of(e, v.data());
            // The columns of y are the rows of the inverse, so its cofactors are the edges at rest over their determinant.
            const PackMat3 c = cofactors(y), r = (1.0 / dot(y.a, c.a)) * c;
            edge(dx.a, dv.a, r.a), edge(dx.b, dv.b, r.b), edge(dx.c, dv.c, r.c);
            edge(dx.b - dx.a, dv.b - dv.a, r.b - r.a), edge(dx.c - dx.b, dv.c - dv.b, r.c - r.b);
            edge(dx.a - dx.c, dv.a - dv.c, r.a - r.c);
          }
        };
        simd_dispatch(kernel);
        return max_of(worst);
      },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace meniscus::solids
