/// Shape matching: clusters of nodes are pulled towards their shape at rest, moved and deformed as fits them best.
///
/// Of a cluster with masses m, places q at rest and r now, both against their centres, A_pq = sum m r q^T, and its polar rotation
/// is R. The goal of a node is
///   rigid:     R q + centre;
///   linear:    (b A + (1 - b) R) q + centre with A = A_pq (sum m q q^T)^-1, which may keep its volume;
///   quadratic: (b A + (1 - b) [R 0 0]) q~ + centre with q~ of the three coordinates, their squares and products.
/// Nodes in several clusters get the mean of their goals, and each cluster counts their mass divided by the number of their
/// clusters, so that linear and angular momentum are conserved.
///
/// The goal pulls a node with its mass over the compliance (s^2): since goals fit as well as they can, one projection is a step
/// of implicit Euler for a rigid goal.
///
/// Where the moments of a cluster at rest are singular (flat, straight, few points), their pseudo-inverse takes the place of the
/// inverse: nothing is deformed along what is missing, and area or length is kept in place of volume.
///
/// Sources: Müller, Stam, James and Thürey 2008, section 5.4.5; Müller, Heidelberger, Teschner and Gross, "Meshless deformations
/// based on shape matching", 2005 (volume); masses of shared nodes and compliance are ours. Printed quadratic moments are not
/// centred: squares have a mean, so that goals would move the centre of mass.
#pragma once

#include "meniscus/solids/position/position_nodes.hpp"

#include <vector>

namespace meniscus::solids {

enum class ShapeMotion : std::int8_t { rigid, linear, quadratic };

struct ShapeMatchingOptions {
  ShapeMotion motion = ShapeMotion::rigid;
  /// b, from 0 (rigid) to 1.
  double softness = 0.5;
  /// Of the linear motion.
  bool keep_volume = true;
  /// Subtract the mean of q~. False: as printed.
  bool centred = true;
  /// s^2.
  double compliance = 0;
};

template <class T>
class ShapeMatching {
 public:
  using Vector3 = Vec<double, 3>;

  /// The nodes of cluster c are members [first[c], first[c + 1]). Masses (kg) and places at rest (m) of all nodes. Throws
  /// InvalidArgument for offsets that do not ascend, empty clusters, nodes that do not exist or stand twice in a cluster, and for
  /// masses that are not positive or not finite.
  ShapeMatching(std::span<const std::int32_t> first, std::span<const std::int32_t> members, std::span<const double> masses,
                std::span<const Vector3> rest, const ShapeMatchingOptions& options);

  /// Moves all nodes of clusters towards the goals of the places they have now. The bits do not depend on the number of threads.
  void project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules);
  /// Begins a time step.
  void clear_multipliers();
  /// Writes the goals of the nodes of clusters, m; others are not touched.
  void goals(std::span<const PositionNode<T>> nodes, std::span<Vector3> out);

  Index clusters() const { return static_cast<Index>(first_.size()) - 1; }
  /// Rank of the moments of a cluster: of the three coordinates, or of nine quantities.
  Index rank(Index cluster) const { return of_cluster_[cluster].rank; }
  Index nbytes() const;

 private:
  /// Most quantities that a shape depends on.
  static constexpr int most = 9;
  using Wide = Eigen::Matrix<double, 3, most>;
  using Square = Eigen::Matrix<double, most, most>;
  struct Cluster {
    Vector3 centre;
    double mass = 0;
    /// Quantities are those of places over the size (m).
    double size = 1;
    Index rank = 0;
    /// Directions in which nothing extends at rest.
    Eigen::Matrix3d missing;
    Eigen::Matrix<double, most, 1> sum;
    Square inverse;
  };
  /// Sums over a piece of a cluster.
  struct Sums {
    Wide moments;
    Vector3 centre;
  };
  struct Piece {
    std::size_t cluster, first, end;
  };

  void prepare(std::size_t c, std::span<const Vector3> rest);
  void match(std::span<const PositionNode<T>> nodes);
  Wide transform(const Cluster& own, const Wide& moments) const;
  Vector3 goal_of(std::size_t used) const;

  ShapeMatchingOptions options_;
  int size_;
  std::vector<std::int32_t> first_, members_;
  std::vector<double> weight_;
  /// Of each member, `size_` numbers.
  std::vector<double> basis_;
  std::vector<Cluster> of_cluster_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> piece_of_;
  std::vector<Sums> sums_;
  std::vector<Wide> transform_;
  std::vector<Vector3> centre_;
  /// Nodes of clusters, and which members they are.
  std::vector<std::int32_t> used_;
  std::vector<std::size_t> user_first_, users_;
  std::vector<std::int32_t> cluster_of_;
  std::vector<Vector3> multiplier_;
};

}  // namespace meniscus::solids
