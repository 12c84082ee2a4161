#include "meniscus/solids/elements/quadratic/quadratic_tet_elements.hpp"

#include "meniscus/solids/elements/quadratic/quadratic_lanes.hpp"

#include <Eigen/LU>

#include <cmath>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic

using detail::for_quadratic_packs;
using detail::NodeValues;
using detail::with_material;
using quadratic_tet::points;

namespace {

/// The derivative of the rest positions in the directions of the three reference axes at a point.
Matrix3 rest_slopes(std::span<const mesh::Point> rest, const QuadraticTet& tet, int q) {
  Matrix3 j = Matrix3::Zero();
  const mesh::Point& origin = rest[tet[0]];
  for (int k = 1; k < quadratic_tet::nodes; ++k) {
    const mesh::Point x = rest[tet[k]] - origin;
    for (int i = 1; i < 4; ++i) j.col(i - 1) += (quadratic_tet::slope(i, k, q) - quadratic_tet::slope(0, k, q)) * x;
  }
  return j;
}

}  // namespace

QuadraticTetElements::QuadraticTetElements(std::span<const mesh::Point> rest, std::span<const QuadraticTet> tets,
                                           const ElementProperties& properties, const ElementOptions& options)
    : ConstantStrainElements(rest, tets, properties, options, "elements"), rest_(packs()) {
  require_valid(tets.size(), properties, 0.5, options);
  const std::size_t count = tets.size();
  for (std::size_t slot = 0; slot < packs() * pack_size; ++slot) {
    const std::size_t e = std::min(slot, count - 1);
    const int l = static_cast<int>(slot % pack_size);
    Rest& to = rest_[slot / pack_size];
    double longest = 0;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = i + 1; k < 4; ++k) longest = std::max(longest, (rest[tets[e][i]] - rest[tets[e][k]]).norm());
    Matrix3 inverse[points];
    double det[points], least = HUGE_VAL;
    bool skip = false;
    for (int q = 0; q < points; ++q) {
      const Matrix3 slopes = rest_slopes(rest, tets[e], q);
      det[q] = slopes.determinant();
      // Below this the volume is round-off of the positions.
      const bool flat = !(det[q] > 1e-13 * longest * longest * longest);
      inverse[q] = flat ? Matrix3(Matrix3::Identity()) : Matrix3(slopes.inverse());
      skip = skip || flat || !inverse[q].allFinite();
      least = std::min(least, det[q]);
    }
    if (skip) {
      require(options.skip_degenerate, "element ", e, " is flat or inverted at rest: near one of its corners the volume is ",
              least / 6, " m^3 per unit of that of the reference element");
      if (slot < count) skipped_.push_back(static_cast<std::int32_t>(e));
    }
    double volume = 0;
    const bool acts = slot < count && !skip;
    for (int q = 0; q < points; ++q) {
      const double weight = det[q] / (6 * points);
      for (int k = 0; k < 9; ++k) to.y[q][k][l] = skip ? (k % 4 == 0 ? 1.0 : 0.0) : inverse[q](k / 3, k % 3);
      to.weight[q][l] = acts ? weight : 0;
      if (acts) volume += weight;
    }
    if (slot < count) {
      measure_[e] = volume;
      unit_energy_ += volume * property_of(properties.youngs_modulus, e);
      if (!properties.density.empty())
        for (int k = 0; k < quadratic_tet::nodes; ++k)
          mass_[tets[e][k]] += quadratic_tet::mass_share(k) * volume * property_of(properties.density, e);
    }
    const Lame lame = lame_constants(property_of(properties.youngs_modulus, e), property_of(properties.poissons_ratio, e));
    to.lambda[l] = acts ? lame.lambda : 0;
    to.mu[l] = acts ? lame.mu : 0;
    for (std::size_t k = 0; k < quadratic_tet::nodes; ++k) to.node[k][l] = tets[e][k];
  }
  // Rows of the matrix are made from packs that begin at any number.
  const std::size_t numbers = packs() * static_cast<std::size_t>(detail::tangent_fields * pack_size);
  fields_.assign(numbers + pack_size, 0.0);
  if (options.damping > 0 && options.material != Material::linear) damping_fields_.assign(numbers, 0.0);
}

std::size_t QuadraticTetElements::nbytes() const {
  return rest_.capacity() * sizeof(Rest) + damping_fields_.capacity() * sizeof(double) + common_bytes();
}

template <Material material>
double QuadraticTetElements::energy_of(std::span<const mesh::Point> x) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::quadratic_packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack sum = splat(0.0);
        auto kernel = [&] {
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            const NodeValues at(e, x.data());
            const Pack lambda = load_pack(e.lambda), mu = load_pack(e.mu);
            for (int q = 0; q < points; ++q)
              sum += load_pack(e.weight[q]) *
                     energy_density<material>(detail::gradient(at.slopes(q), detail::inverse_at(e, q)), lambda, mu);
          }
        };
        simd_dispatch(kernel);
        return sum_of(sum);
      },
      [](double a, double b) { return a + b; });
}

double QuadraticTetElements::energy(std::span<const mesh::Point> x) const {
  return with_material(options_.material, [&](auto m) { return energy_of<m()>(x); });
}

template <Material material>
void QuadraticTetElements::add_forces_of(std::span<const mesh::Point> x) const {
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const NodeValues at(e, x.data());
      const Pack lambda = load_pack(e.lambda), mu = load_pack(e.mu);
      PackMat3 t[points];
      for (int q = 0; q < points; ++q) {
        const PackMat3 y = detail::inverse_at(e, q), f = detail::gradient(at.slopes(q), y);
        const Pack w = load_pack(e.weight[q]);
        t[q] = stress<material>(f, w * lambda, w * mu) * y;
      }
      detail::put_node_forces(&corner_[quadratic_tet::nodes * pack_size * i], t);
    }
  });
}

void QuadraticTetElements::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  with_material(options_.material, [&](auto m) { add_forces_of<m()>(x); });
  gather_.add<mesh::Point>(corner_, 1.0, f);
}

namespace {

/// Puts a matrix at the point q of eight elements, by rows.
void put_quadratic_matrices(const PackMat3& m, std::size_t first, int q, std::span<RowMatrix3> out) {
  const std::size_t elements = out.size() / points, count = std::min<std::size_t>(pack_size, elements - first);
  const Pack v[9] = {m.a.x, m.b.x, m.c.x, m.a.y, m.b.y, m.c.y, m.a.z, m.b.z, m.c.z};
  for (std::size_t l = 0; l < count; ++l)
    for (std::size_t k = 0; k < 9; ++k) out[points * (first + l) + static_cast<std::size_t>(q)].data()[k] = v[k][l];
}

}  // namespace

void QuadraticTetElements::deformation_gradients(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const NodeValues at(rest_[i], x.data());
      for (int q = 0; q < points; ++q)
        put_quadratic_matrices(detail::gradient(at.slopes(q), detail::inverse_at(rest_[i], q)), i * pack_size, q, out);
    }
  });
}

template <Material material>
void QuadraticTetElements::stresses_of(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  for_quadratic_packs(rest_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Rest& e = rest_[i];
      const NodeValues at(e, x.data());
      for (int q = 0; q < points; ++q) {
        const PackMat3 f = detail::gradient(at.slopes(q), detail::inverse_at(e, q));
        put_quadratic_matrices(stress<material>(f, load_pack(e.lambda), load_pack(e.mu)), i * pack_size, q, out);
      }
    }
  });
}

void QuadraticTetElements::stresses(std::span<const mesh::Point> x, std::span<RowMatrix3> out) const {
  with_material(options_.material, [&](auto m) { stresses_of<m()>(x, out); });
}

double QuadraticTetElements::strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const {
  return parallel_reduce(
      0, static_cast<Index>(rest_.size()), detail::quadratic_packs_per_piece, 0.0,
      [&](Index begin, Index end) {
        Pack worst = splat(0.0);
        auto kernel = [&] {
          PackMask acts{};
          const auto line = [&](const PackVec3& dx, const PackVec3& dv, const PackVec3& rest) {
            worst = max(worst, select(acts, detail::length_rate(dx, dv) / sqrt(dot(rest, rest)), splat(0.0)));
          };
          for (Index i = begin; i < end; ++i) {
            const Rest& e = rest_[i];
            const NodeValues positions(e, x.data()), velocities(e, v.data());
            for (int q = 0; q < points; ++q) {
              // Lines through the point in the directions of the six edges.
              acts = load_pack(e.weight[q]) > 0.0;
              const PackMat3 y = detail::inverse_at(e, q), dx = positions.slopes(q), dv = velocities.slopes(q);
              // The columns of y are the rows of the inverse, so its cofactors are the lines at rest over their determinant.
              const PackMat3 c = cofactors(y), r = (1.0 / dot(y.a, c.a)) * c;
              line(dx.a, dv.a, r.a), line(dx.b, dv.b, r.b), line(dx.c, dv.c, r.c);
              line(dx.b - dx.a, dv.b - dv.a, r.b - r.a), line(dx.c - dx.b, dv.c - dv.b, r.c - r.b);
              line(dx.a - dx.c, dv.a - dv.c, r.a - r.c);
            }
          }
        };
        simd_dispatch(kernel);
        return max_of(worst);
      },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace meniscus::solids
