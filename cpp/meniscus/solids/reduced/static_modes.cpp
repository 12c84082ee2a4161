#include "meniscus/solids/reduced/static_modes.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Cholesky>

namespace meniscus::solids {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Right-hand sides that are solved for at once.
constexpr Eigen::Index columns_at_once = 96;
/// Directions whose compliance beside the others is less than this part of their own depend on these.
constexpr double independent = 1e-10;

std::vector<std::uint8_t> held_nodes(std::span<const std::uint8_t> fixed, std::span<const std::int32_t> nodes, const char* what) {
  std::vector<std::uint8_t> held(fixed.begin(), fixed.end());
  for (const std::int32_t i : nodes) {
    require(i >= 0 && i < std::ssize(held) && held[i] == 0, what, " node ", i,
            " must be a node of the body that is not fixed, and be named once");
    held[i] = 1;
  }
  return held;
}

}  // namespace

ComponentModes component_modes(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                               std::span<const double> masses, std::span<const std::uint8_t> fixed,
                               std::span<const std::int32_t> interface, Index modes) {
  HeldStiffness body(elements, rest, masses, held_nodes(fixed, interface, "interface"));
  const Eigen::Index n = body.mass().size();
  ComponentModes out;
  out.vectors = MatrixXd::Zero(n, modes + 3 * static_cast<Eigen::Index>(interface.size()));
  if (modes > 0) out.vectors.leftCols(modes) = vibration_modes(body, modes).vectors;
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const Eigen::Index row = 3 * static_cast<Eigen::Index>(interface[i]), column = modes + 3 * static_cast<Eigen::Index>(i);
    // What the unit displacements do to the free nodes, which then move until no force is left on them.
    out.vectors.middleCols(column, 3) = body.solve(-MatrixXd(body.stiffness().middleCols(row, 3)));
    out.vectors.block<3, 3>(row, column).setIdentity();
  }
  out.stiffness = out.vectors.transpose() * (body.stiffness() * out.vectors);
  out.mass = out.vectors.transpose() * (body.mass().asDiagonal() * out.vectors);
  out.stiffness = (0.5 * (out.stiffness + out.stiffness.transpose())).eval();
  out.mass = (0.5 * (out.mass + out.mass.transpose())).eval();
  const bool flies = std::find(fixed.begin(), fixed.end(), std::uint8_t{1}) == fixed.end();
  out.rigid = flies ? rigid_motions(rest, body.mass()) : MatrixXd(n, 0);
  return out;
}

ReducedBasis basis_of_components(std::span<const TetGradient> elements, std::span<const mesh::Point> rest,
                                 std::span<const double> masses, std::span<const std::uint8_t> fixed,
                                 std::span<const std::int32_t> interface, Index modes) {
  const ComponentModes parts = component_modes(elements, rest, masses, fixed, interface, modes);
  const HeldStiffness body(elements, rest, masses, fixed);
  return body.with_frequencies(orthonormal(parts.vectors, body.mass(), parts.rigid));
}

Compliance::Compliance(std::span<const TetGradient> elements, std::span<const mesh::Point> rest, std::span<const double> masses,
                       std::span<const std::uint8_t> fixed, std::span<const std::int32_t> nodes) {
  held_nodes(fixed, nodes, "compliance at");
  HeldStiffness body(elements, rest, masses, fixed);
  require(body.rigid().cols() == 0, "a body whose compliance is sought must have fixed nodes, three that do not lie on a line");
  const auto size = 3 * static_cast<Eigen::Index>(nodes.size());
  const auto row = [&](Eigen::Index c) { return 3 * static_cast<Eigen::Index>(nodes[c / 3]) + c % 3; };
  matrix_.resize(size, size);
  for (Eigen::Index first = 0; first < size; first += columns_at_once) {
    const Eigen::Index count = std::min(columns_at_once, size - first);
    MatrixXd forces = MatrixXd::Zero(body.mass().size(), count);
    for (Eigen::Index c = 0; c < count; ++c) forces(row(first + c), c) = 1;
    const MatrixXd u = body.solve(forces);
    for (Eigen::Index r = 0; r < size; ++r) matrix_.block(r, first, 1, count) = u.row(row(r));
  }
  matrix_ = (0.5 * (matrix_ + matrix_.transpose())).eval();
}

void Compliance::press(std::span<const std::int32_t> places, std::span<const mesh::Point> directions,
                       std::span<const double> displacements, VectorXd& forces, VectorXd& out) const {
  const auto count = static_cast<Eigen::Index>(places.size());
  require(directions.size() == places.size() && displacements.size() == places.size() && forces.size() == matrix_.rows(),
          "contacts need a direction and a displacement each, and there must be a force per node");
  MatrixXd moved(matrix_.rows(), count);  // G N
  const auto along = [&](Eigen::Index i, const auto& u) { return directions[i].dot(u.template segment<3>(3 * places[i])); };
  for (Eigen::Index i = 0; i < count; ++i) {
    require(places[i] >= 0 && 3 * places[i] < matrix_.rows(), "contacts must be at nodes of the compliance, not at ", places[i]);
    moved.col(i) = matrix_.middleCols(3 * places[i], 3) * directions[i];
  }
  out = matrix_ * forces;
  if (count == 0) return;
  MatrixXd capacitance(count, count);
  VectorXd wanted(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    wanted[i] = displacements[i] - along(i, out);
    for (Eigen::Index j = 0; j < count; ++j) capacitance(i, j) = along(i, moved.col(j));
  }
  const Eigen::LLT<MatrixXd> factor(capacitance);
  const VectorXd left = factor.matrixLLT().diagonal().array().square();
  require(factor.info() == Eigen::Success && (left.array() > independent * capacitance.diagonal().array()).all(),
          "directions of contacts must be independent: one is given twice at a node");
  const VectorXd p = factor.solve(wanted);
  for (Eigen::Index i = 0; i < count; ++i) forces.segment<3>(3 * places[i]) += p[i] * directions[i];
  out += moved * p;
}

}  // namespace meniscus::solids
