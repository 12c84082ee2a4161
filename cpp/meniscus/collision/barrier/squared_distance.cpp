#include "meniscus/collision/barrier/squared_distance.hpp"

#include "meniscus/collision/proximity/proximity.hpp"

namespace meniscus::collision {
namespace {

/// Edges whose squared sine is below this have no normal: one of the parameters stays where it is.
constexpr double parallel = 1e-20;

mesh::Point sum(const std::array<double, 4>& w, const PairPoints& x) {
  // From differences, whose rounding errors do not grow with the distance from the origin; the weights have the sum 0.
  return w[1] * (x[1] - x[0]) + w[2] * (x[2] - x[0]) + w[3] * (x[3] - x[0]);
}

/// Adds a parameter that moves a closest point from one of the four points to another; `sign` is that of its element.
void add_parameter(SquaredDistance& d, std::size_t from, std::size_t to, double sign, const PairPoints& x) {
  const Index k = d.freedom++;
  d.slopes[k][from] = -sign;
  d.slopes[k][to] = sign;
  d.directions[k] = sign * (x[to] - x[from]);
}

/// The parameters of an edge or a face from its points with a weight.
void add_parameters(SquaredDistance& d, std::size_t first, std::size_t last, double sign, const PairPoints& x) {
  std::size_t origin = 4;
  for (std::size_t k = first; k < last; ++k) {
    if (d.weights[k] == 0) continue;
    if (origin == 4)
      origin = k;
    else
      add_parameter(d, origin, k, sign, x);
  }
}

}  // namespace

SquaredDistance squared_distance(PairKind kind, const PairPoints& x) {
  SquaredDistance d;
  d.weights = proximity(kind, x).weights;
  d.freedom = 0;
  d.slopes = {};
  d.directions = {mesh::Point::Zero(), mesh::Point::Zero()};
  d.yield.setZero();
  if (kind == PairKind::vertex_face) {
    add_parameters(d, 1, 4, -1, x);
  } else {
    add_parameters(d, 0, 2, 1, x);
    const int own = d.freedom;
    add_parameters(d, 2, 4, -1, x);
    if (own == 1 && d.freedom == 2) {
      const double a2 = d.directions[0].squaredNorm(), b2 = d.directions[1].squaredNorm();
      if (d.directions[0].cross(d.directions[1]).squaredNorm() <= parallel * a2 * b2) {
        d.freedom = 1;
        d.slopes[1] = {};
      }
    }
  }
  d.gap = sum(d.weights, x);
  // The gap is perpendicular to what its ends slide along. One step of Newton's method for the parameters, whose function is
  // quadratic, removes the rounding errors of the weights.
  if (d.freedom == 1) {
    const double length = d.directions[0].squaredNorm();
    d.yield(0, 0) = 0.5 / length;
    const double step = -d.gap.dot(d.directions[0]) / length;
    for (std::size_t k = 0; k < 4; ++k) d.weights[k] += step * d.slopes[0][k];
    d.gap += step * d.directions[0];
  } else if (d.freedom == 2) {
    const mesh::Point &a = d.directions[0], &b = d.directions[1];
    const mesh::Point normal = a.cross(b);
    // The determinant, by the cross product, which keeps what the difference of products would cancel.
    const double size = normal.squaredNorm(), ab = a.dot(b);
    d.yield << b.squaredNorm(), -ab, -ab, a.squaredNorm();
    d.yield *= 0.5 / size;
    const double s = -d.gap.cross(b).dot(normal) / size, t = -a.cross(d.gap).dot(normal) / size;
    for (std::size_t k = 0; k < 4; ++k) d.weights[k] += s * d.slopes[0][k] + t * d.slopes[1][k];
    d.gap = (d.gap.dot(normal) / size) * normal;
  }
  d.value = d.gap.squaredNorm();
  return d;
}

PairVector gradient(const SquaredDistance& d) {
  PairVector g;
  for (std::size_t i = 0; i < 4; ++i) g.segment<3>(static_cast<Index>(3 * i)) = 2 * d.weights[i] * d.gap;
  return g;
}

PairMatrix hessian(const SquaredDistance& d) {
  PairMatrix h;
  std::array<PairVector, 2> c;
  for (int k = 0; k < d.freedom; ++k) {
    const Index p = k;
    for (std::size_t i = 0; i < 4; ++i)
      c[p].segment<3>(static_cast<Index>(3 * i)) = 2 * (d.slopes[p][i] * d.gap + d.weights[i] * d.directions[p]);
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      h.block<3, 3>(static_cast<Index>(3 * i), static_cast<Index>(3 * j)) =
          (2 * d.weights[i] * d.weights[j]) * Eigen::Matrix3d::Identity();
  for (int k = 0; k < d.freedom; ++k)
    for (int l = 0; l < d.freedom; ++l) h.noalias() -= d.yield(k, l) * (c[k] * c[l].transpose());
  return h;
}

}  // namespace meniscus::collision
