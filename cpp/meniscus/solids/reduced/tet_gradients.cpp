#include "meniscus/solids/reduced/tet_gradients.hpp"

#include "meniscus/core/error.hpp"

namespace meniscus::solids {

std::vector<TetGradient> tet_gradients(std::span<const mesh::Point> rest, std::span<const mesh::Tet> tets,
                                       std::span<const double> moduli, std::span<const double> ratios) {
  const auto count = tets.size();
  require(moduli.size() == 1 || moduli.size() == count, "youngs_modulus must have one entry or one per element");
  require(ratios.size() == 1 || ratios.size() == count, "poissons_ratio must have one entry or one per element");
  std::vector<TetGradient> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    TetGradient& e = out[i];
    for (std::size_t k = 0; k < 4; ++k) {
      const auto node = tets[i][k];
      require(node >= 0 && static_cast<std::size_t>(node) < rest.size(), "element ", i, " has a node without a position");
      e.node[k] = node;
    }
    Eigen::Matrix3d edges;
    for (std::size_t k = 0; k < 3; ++k) edges.col(static_cast<Eigen::Index>(k)) = rest[e.node[k + 1]] - rest[e.node[0]];
    const double det = edges.determinant();
    require(det > 0, "element ", i, " must not be flat or inverted at rest");
    const Eigen::Matrix3d inverse = edges.inverse();
    for (std::size_t k = 0; k < 3; ++k) e.y[k + 1] = inverse.row(static_cast<Eigen::Index>(k)).transpose();
    e.y[0] = -(e.y[1] + e.y[2] + e.y[3]);
    e.volume = det / 6;
    const double modulus = moduli[moduli.size() == 1 ? 0 : i], ratio = ratios[ratios.size() == 1 ? 0 : i];
    require(modulus > 0 && std::isfinite(modulus), "youngs_modulus must be positive, but is ", modulus);
    require(ratio > -1 && ratio < 0.5, "poissons_ratio must lie between -1 and 1/2, but is ", ratio);
    e.lame = lame_constants(modulus, ratio);
  }
  return out;
}

Eigen::SparseMatrix<double> stiffness_at_rest(std::span<const TetGradient> elements, Index nodes) {
  using Entry = Eigen::Triplet<double>;
  std::vector<Entry> entries;
  entries.reserve(elements.size() * 144);
  for (const TetGradient& e : elements)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        const Eigen::Matrix3d block =
            e.volume * (e.lame.lambda * e.y[i] * e.y[j].transpose() + e.lame.mu * e.y[j] * e.y[i].transpose() +
                        e.lame.mu * e.y[i].dot(e.y[j]) * Eigen::Matrix3d::Identity());
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b) entries.emplace_back(3 * e.node[i] + a, 3 * e.node[j] + b, block(a, b));
      }
  Eigen::SparseMatrix<double> k(3 * nodes, 3 * nodes);
  k.setFromTriplets(entries.begin(), entries.end());
  return k;
}

Eigen::VectorXd stiffness_change(std::span<const TetGradient> elements, const Eigen::VectorXd& u, const Eigen::VectorXd& v) {
  Eigen::VectorXd f = Eigen::VectorXd::Zero(u.size());
  for (const TetGradient& e : elements) {
    const Eigen::Matrix3d gu = displacement_gradient(e, u.data()), gv = displacement_gradient(e, v.data());
    const Eigen::Matrix3d product = gu.transpose() * gv;
    const Eigen::Matrix3d stress = hooke_stress(e.lame, 0.5 * (product + product.transpose())) +
                                   gv * hooke_stress(e.lame, 0.5 * (gu + gu.transpose())) +
                                   gu * hooke_stress(e.lame, 0.5 * (gv + gv.transpose()));
    for (std::size_t k = 0; k < 4; ++k) f.segment<3>(3 * e.node[k]) += e.volume * stress * e.y[k];
  }
  return f;
}

}  // namespace meniscus::solids
