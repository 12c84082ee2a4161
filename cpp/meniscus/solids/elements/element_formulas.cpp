#include "meniscus/solids/elements/element_formulas.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/elements/elastic_material.hpp"

#include <Eigen/LU>

namespace meniscus::solids {
using namespace numerics;  // packs and their arithmetic
namespace {

Matrix3 edges_of(const TetCorners& p) {
  Matrix3 m;
  m << p[1] - p[0], p[2] - p[0], p[3] - p[0];
  return m;
}

}  // namespace

TetMatrix tet_stiffness(const TetCorners& rest, double youngs_modulus, double poissons_ratio, StiffnessFormula formula) {
  const Matrix3 x = edges_of(rest);
  const double det = x.determinant();
  require(det > 0, "the element is flat or inverted: its signed volume is ", det / 6, " m^3");
  const Matrix3 rows = x.inverse();
  const double volume = formula == StiffnessFormula::printed ? det : det / 6, nu = poissons_ratio;
  const double factor = volume * youngs_modulus / ((1 + nu) * (1 - 2 * nu));
  const double a = factor * (1 - nu), b = factor * nu;
  const double c = factor * (1 - 2 * nu) / (formula == StiffnessFormula::corrected ? 2 : 1);
  Matrix3 normal;
  normal << a, b, b, b, a, b, b, b, a;
  std::array<mesh::Point, 4> y{-(rows.row(0) + rows.row(1) + rows.row(2)).transpose(), rows.row(0).transpose(),
                               rows.row(1).transpose(), rows.row(2).transpose()};
  const auto shear = [](const mesh::Point& v) {
    Matrix3 s;
    s << v.y(), 0, v.z(), v.x(), v.z(), 0, 0, v.y(), v.x();
    return s;
  };
  TetMatrix k;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const mesh::Point &yi = y[i], &yj = y[j];
      k.block<3, 3>(3 * i, 3 * j) = yi.asDiagonal() * normal * yj.asDiagonal() + shear(yi) * (c * shear(yj).transpose());
    }
  return k;
}

TetCorners tet_face_forces(const TetCorners& rest, const TetCorners& positions, double youngs_modulus, double poissons_ratio,
                           FaceForceFormula formula) {
  const Matrix3 x = edges_of(rest);
  require(x.determinant() > 0, "the element is flat or inverted: its signed volume is ", x.determinant() / 6, " m^3");
  const Matrix3 f = edges_of(positions) * x.inverse();
  const Matrix3 strain = 0.5 * (f.transpose() * f - Matrix3::Identity());
  const Lame lame = lame_constants(youngs_modulus, poissons_ratio);
  Matrix3 stress = 2 * lame.mu * strain + lame.lambda * strain.trace() * Matrix3::Identity();
  if (formula == FaceForceFormula::cauchy) stress = f * stress * f.transpose() / f.determinant();
  const double share = formula == FaceForceFormula::printed ? 1.0 / 3 : 1.0 / 6;
  // These faces are clockwise as seen from outside: what pulls at them from inside acts on their corners.
  constexpr std::array<std::array<std::size_t, 3>, 4> faces{{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}}};
  TetCorners forces;
  forces.fill(mesh::Point::Zero());
  for (const auto& face : faces) {
    const mesh::Point force = share * (stress * mesh::area_vector(positions[face[0]], positions[face[1]], positions[face[2]]));
    for (const std::size_t k : face) forces[k] += force;
  }
  return forces;
}

}  // namespace meniscus::solids
