/// Barrier energy of a mesh: the sum over all pairs of a vertex and a face, or of two edges, without a common vertex and nearer
/// than their activation distance.
///
/// The activation distance of a pair is the mean of those of its elements, which are the least of their vertices'. For elements
/// of one group it may be limited to a part of their distance at rest, so that what is near by shape stores no energy at rest.
///
/// Source: Li et al., "Incremental Potential Contact", 2020, section 4.
#pragma once

#include "meniscus/collision/barrier/pair_barrier.hpp"
#include "meniscus/collision/barrier/pair_sums.hpp"
#include "meniscus/collision/collision_mesh.hpp"
#include "meniscus/collision/contact/contact_nodes.hpp"

#include <mutex>

namespace meniscus::collision {

enum class BarrierScale : std::int8_t {
  plain,       ///< b of squared distances, m^4
  normalized,  ///< b / h^2 with h the squared activation distance of the pair: without a unit
};

struct BarrierOptions {
  BarrierScale scale = BarrierScale::plain;
  /// Limit of the activation distance of elements of one group, relative to their distance at rest; 0: none.
  double rest_part = 0;
};

/// A pair of elements within their activation distance.
struct BarrierPair {
  PairBarrier form;
  ElementPair elements;
  Stencil vertices;
};

class Barrier {
 public:
  /// Positions at rest, activation distances (m) and groups, of all vertices; no groups: all vertices are of one. Throws
  /// InvalidArgument for other lengths, for distances that are not positive and for positions that are not finite.
  Barrier(const CollisionMesh& mesh, std::span<const mesh::Point> rest, std::span<const double> distance,
          std::span<const std::int32_t> groups, const BarrierOptions& options);

  /// Stores the pairs at these positions: vertices and faces first, both kinds ascending. Pairs of which no vertex yields are
  /// left out. Throws InvalidArgument for elements that touch, naming the first; then there are no pairs.
  void find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions);

  /// The same where elements that touch are no error: returns false then.
  bool try_find(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions);

  std::span<const BarrierPair> pairs() const { return pairs_; }
  std::size_t vertices() const { return rest_.size(); }
  /// Of the pairs where they were found: the least distance, and the least relative to the activation distance; infinite without
  /// any.
  double least_distance() const { return least_; }
  double least_part() const { return least_part_; }

  /// Energy of the pairs at these positions; infinite where one touches. Unit: see BarrierScale.
  double energy(std::span<const mesh::Point> x) const;
  /// Adds `factor` times the derivative of the energy by the positions.
  void add_gradient(std::span<const mesh::Point> x, double factor, std::span<mesh::Point> out);

  /// Stores the second derivatives at these positions for what follows.
  void linearise(std::span<const mesh::Point> x, Curvature curvature);
  std::span<const PairMatrix> matrices() const { return matrices_; }
  /// Adds `factor` times their product with u.
  void add_product(std::span<const mesh::Point> u, double factor, std::span<mesh::Point> out);
  /// Adds `factor` times their blocks on the diagonal.
  void add_diagonal(double factor, std::span<Eigen::Matrix3d> out) const;

  Index nbytes() const;
  std::mutex& mutex() const { return mutex_; }

 private:
  struct Candidate {
    BarrierPair pair;
    double squared;
  };
  void add(PairKind kind, const PairBlock& block, std::span<const mesh::Point> positions, std::vector<Candidate>& out) const;
  void gather(CollisionMesh& mesh, const ContactNodes& nodes, std::span<const mesh::Point> positions);
  /// The first pair that touches, or nullptr.
  const Candidate* touching() const;
  void store();
  void require_size(std::span<const mesh::Point> x) const;

  BarrierOptions options_;
  std::vector<mesh::Point> rest_;
  std::vector<double> distance_, growth_;
  std::vector<std::int32_t> groups_;
  std::vector<std::vector<Candidate>> chunks_;
  std::vector<Candidate> found_;
  std::vector<std::uint8_t> yielding_;
  std::vector<BarrierPair> pairs_;
  std::vector<Stencil> stencils_;
  std::vector<PairMatrix> matrices_;
  PairSums sums_;
  double least_, least_part_;
  mutable std::mutex mutex_;
};

}  // namespace meniscus::collision
