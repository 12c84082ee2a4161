#include "meniscus/solids/position/shape_matching.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/rotation.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace meniscus::solids {
namespace {

// Members of a piece, and nodes of a task.
constexpr std::size_t piece_size = 512;
constexpr Index nodes_per_task = 1024;
// Eigenvalues of moments below this part of the largest count as zero.
constexpr double least_moment = 1e-8;
// Volumes are brought back to that at rest as far as if they had not shrunk below this part of it.
constexpr double least_volume = 0.05;

template <class T>
Vec<double, 3> place_at(const PositionNode<T>& p) {
  return {static_cast<double>(p.x), static_cast<double>(p.y), static_cast<double>(p.z)};
}

void fill_basis(const Vec<double, 3>& q, int size, double* out) {
  for (int d = 0; d < 3; ++d) out[d] = q[d];
  if (size == 3) return;
  for (int d = 0; d < 3; ++d) {
    out[3 + d] = q[d] * q[d];
    out[6 + d] = q[d] * q[(d + 1) % 3];
  }
}

}  // namespace

template <class T>
ShapeMatching<T>::ShapeMatching(std::span<const std::int32_t> first, std::span<const std::int32_t> members,
                                std::span<const double> masses, std::span<const Vector3> rest,
                                const ShapeMatchingOptions& options)
    : options_(options),
      size_(options.motion == ShapeMotion::quadratic ? 9 : 3),
      first_(first.begin(), first.end()),
      members_(members.begin(), members.end()) {
  require(rest.size() == masses.size(), "there must be a place at rest for each of ", masses.size(), " masses, not ",
          rest.size());
  require(!first.empty() && first[0] == 0 && static_cast<std::size_t>(first.back()) == members.size(),
          "clusters must begin at 0 and end at ", members.size());
  require(options.softness >= 0 && options.softness <= 1 && options.compliance >= 0,
          "softness must be from 0 to 1, and the compliance not negative");
  std::vector<std::int32_t> seen(masses.size(), -1);
  std::vector<std::size_t> count(masses.size(), 0);
  for (std::size_t c = 0; c + 1 < first.size(); ++c) {
    require(first[c] < first[c + 1], "cluster ", c, " has no nodes");
    for (Index m = first[c]; m < first[c + 1]; ++m) {
      require(members[m] >= 0 && static_cast<std::size_t>(members[m]) < masses.size(), "cluster ", c, " has node ", members[m],
              ", but there are ", masses.size());
      const Index n = members[m];
      require(seen[n] != static_cast<std::int32_t>(c), "cluster ", c, " has node ", n, " twice");
      require(masses[n] > 0 && std::isfinite(masses[n]), "masses of matched shapes must be positive and finite, but node ", n,
              " has ", masses[n], " kg");
      seen[n] = static_cast<std::int32_t>(c);
      ++count[n];
      cluster_of_.push_back(static_cast<std::int32_t>(c));
    }
  }
  std::vector<std::size_t> slot(masses.size(), 0);
  user_first_.push_back(0);
  for (std::size_t n = 0; n < masses.size(); ++n) {
    if (count[n] == 0) continue;
    slot[n] = user_first_.back();
    used_.push_back(static_cast<std::int32_t>(n));
    user_first_.push_back(user_first_.back() + count[n]);
  }
  users_.resize(members.size());
  weight_.resize(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Index n = members[m];
    users_[slot[n]++] = m;
    weight_[m] = masses[n] / static_cast<double>(count[n]);
  }
  basis_.resize(members.size() * static_cast<std::size_t>(size_));
  of_cluster_.resize(first.size() - 1);
  transform_.resize(of_cluster_.size());
  centre_.resize(of_cluster_.size());
  for (std::size_t c = 0; c < of_cluster_.size(); ++c) {
    prepare(c, rest);
    piece_of_.push_back(pieces_.size());
    const auto end = static_cast<std::size_t>(first[c + 1]);
    for (auto m = static_cast<std::size_t>(first[c]); m < end; m += piece_size)
      pieces_.push_back({c, m, std::min(m + piece_size, end)});
  }
  piece_of_.push_back(pieces_.size());
  sums_.resize(pieces_.size());
  multiplier_.assign(used_.size(), Vector3::Zero());
}

template <class T>
void ShapeMatching<T>::prepare(std::size_t c, std::span<const Vector3> rest) {
  Cluster& own = of_cluster_[c];
  const auto begin = static_cast<std::size_t>(first_[c]), end = static_cast<std::size_t>(first_[c + 1]);
  const auto place = [&](std::size_t m) -> const Vector3& { return rest[members_[m]]; };
  // Around the first member, which keeps digits far from the origin.
  own.centre = Vector3::Zero();
  own.mass = 0;
  for (std::size_t m = begin; m < end; ++m) {
    own.mass += weight_[m];
    own.centre += weight_[m] * (place(m) - place(begin));
  }
  own.centre = place(begin) + own.centre / own.mass;
  double square = 0;
  for (std::size_t m = begin; m < end; ++m) square += weight_[m] * (place(m) - own.centre).squaredNorm();
  own.size = square > 0 ? std::sqrt(square / own.mass) : 1.0;
  const auto k = static_cast<std::size_t>(size_);
  Eigen::Matrix<double, most, 1> mean = Eigen::Matrix<double, most, 1>::Zero();
  for (std::size_t m = begin; m < end; ++m) {
    fill_basis((place(m) - own.centre) / own.size, size_, &basis_[m * k]);
    for (std::size_t i = 0; i < k; ++i) mean[static_cast<Index>(i)] += weight_[m] / own.mass * basis_[m * k + i];
  }
  own.sum.setZero();
  Square moments = Square::Zero();
  for (std::size_t m = begin; m < end; ++m) {
    double* const b = &basis_[m * k];
    // The mean of coordinates is round-off.
    for (std::size_t i = 0; i < (options_.centred ? k : 3); ++i) b[i] -= mean[static_cast<Index>(i)];
    const Eigen::Map<const Eigen::VectorXd> q(b, size_);
    own.sum.head(size_) += weight_[m] * q;
    moments.topLeftCorner(size_, size_) += weight_[m] * q * q.transpose();
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> directions(moments.topLeftCorner<3, 3>());
  own.missing.setZero();
  Index extends = 0;
  for (Index i = 0; i < 3; ++i) {
    if (directions.eigenvalues()[i] > least_moment * directions.eigenvalues()[2])
      ++extends;
    else
      own.missing += directions.eigenvectors().col(i) * directions.eigenvectors().col(i).transpose();
  }
  own.inverse.setZero();
  own.rank = 0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(moments.topLeftCorner(size_, size_));
  const double largest = eigen.eigenvalues()[size_ - 1];
  for (Index i = 0; i < size_; ++i) {
    const double value = eigen.eigenvalues()[i];
    if (!(value > least_moment * largest)) continue;
    ++own.rank;
    own.inverse.topLeftCorner(size_, size_) += eigen.eigenvectors().col(i) * eigen.eigenvectors().col(i).transpose() / value;
  }
}

template <class T>
typename ShapeMatching<T>::Wide ShapeMatching<T>::transform(const Cluster& own, const Wide& moments) const {
  const Eigen::Matrix3d pq = moments.template leftCols<3>();
  const Eigen::Matrix3d r = numerics::polar_rotation(pq);
  Wide result = Wide::Zero();
  const double b = options_.motion == ShapeMotion::rigid ? 0.0 : options_.softness;
  result.template leftCols<3>() = ((1 - b) * own.size) * r;
  if (b == 0) return result;
  Wide a = Wide::Zero();
  a.leftCols(size_) = moments.leftCols(size_) * own.inverse.topLeftCorner(size_, size_);
  if (options_.motion == ShapeMotion::linear && options_.keep_volume && own.rank > 0) {
    // Along directions that are missing at rest, the rotation completes the deformation.
    const Eigen::Matrix3d whole = a.template leftCols<3>() / own.size + r * own.missing;
    const double volume = whole.determinant();
    if (volume > 0)
      a /= std::pow(std::max(volume, least_volume), 1.0 / static_cast<double>(own.rank));
    else
      a.template leftCols<3>() = own.size * r;
  }
  return result + b * a;
}

template <class T>
void ShapeMatching<T>::match(std::span<const PositionNode<T>> nodes) {
  const auto k = static_cast<std::size_t>(size_);
  const auto at = [&](std::size_t m) { return place_at(nodes[members_[m]]); };
  parallel_for(0, static_cast<Index>(pieces_.size()), 1, [&](Index p, Index) {
    const Piece& piece = pieces_[p];
    const Vector3 origin = at(first_[piece.cluster]);
    Sums s{Wide::Zero(), Vector3::Zero()};
    for (std::size_t m = piece.first; m < piece.end; ++m) {
      const Vector3 moved = weight_[m] * (at(m) - origin);
      s.centre += moved;
      for (std::size_t i = 0; i < k; ++i) s.moments.col(static_cast<Index>(i)) += basis_[m * k + i] * moved;
    }
    sums_[p] = s;
  });
  parallel_for(0, clusters(), 4, [&](Index begin, Index end) {
    for (Index c = begin; c < end; ++c) {
      Sums s = sums_[piece_of_[c]];
      for (std::size_t p = piece_of_[c] + 1; p < piece_of_[c + 1]; ++p) {
        s.moments += sums_[p].moments;
        s.centre += sums_[p].centre;
      }
      const Cluster& own = of_cluster_[c];
      const Vector3 centre = s.centre / own.mass;
      s.moments.leftCols(size_) -= centre * own.sum.head(size_).transpose();
      centre_[c] = at(first_[c]) + centre;
      transform_[c] = transform(own, s.moments);
    }
  });
}

template <class T>
typename ShapeMatching<T>::Vector3 ShapeMatching<T>::goal_of(std::size_t used) const {
  const auto k = static_cast<std::size_t>(size_);
  Vector3 sum = Vector3::Zero();
  const std::size_t begin = user_first_[used], end = user_first_[used + 1];
  for (std::size_t u = begin; u < end; ++u) {
    const std::size_t m = users_[u];
    const auto c = static_cast<std::size_t>(cluster_of_[m]);
    Vector3 goal = centre_[c];
    for (std::size_t i = 0; i < k; ++i) goal += basis_[m * k + i] * transform_[c].col(static_cast<Index>(i));
    sum += goal;
  }
  return sum / static_cast<double>(end - begin);
}

template <class T>
void ShapeMatching<T>::project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) {
  match(nodes);
  const double soft = options_.compliance / (rules.dt * rules.dt);
  parallel_for(0, static_cast<Index>(used_.size()), nodes_per_task, [&](Index begin, Index end) {
    for (Index u = begin; u < end; ++u) {
      PositionNode<T>& p = nodes[used_[u]];
      if (p.w == 0) continue;
      const Vector3 change = (goal_of(u) - place_at(p) - soft * multiplier_[u]) / (1 + soft);
      multiplier_[u] += change;
      p.x += static_cast<T>(rules.part * change[0]);
      p.y += static_cast<T>(rules.part * change[1]);
      p.z += static_cast<T>(rules.part * change[2]);
    }
  });
}

template <class T>
void ShapeMatching<T>::clear_multipliers() {
  std::fill(multiplier_.begin(), multiplier_.end(), Vector3::Zero());
}

template <class T>
void ShapeMatching<T>::goals(std::span<const PositionNode<T>> nodes, std::span<Vector3> out) {
  require(out.size() == nodes.size(), "there must be room for ", nodes.size(), " goals, not ", out.size());
  match(nodes);
  for (std::size_t u = 0; u < used_.size(); ++u) out[used_[u]] = goal_of(u);
}

template <class T>
Index ShapeMatching<T>::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  return bytes(first_) + bytes(members_) + bytes(weight_) + bytes(basis_) + bytes(of_cluster_) + bytes(pieces_) +
         bytes(piece_of_) + bytes(sums_) + bytes(transform_) + bytes(centre_) + bytes(used_) + bytes(user_first_) +
         bytes(users_) + bytes(cluster_of_) + bytes(multiplier_);
}

template class ShapeMatching<float>;
template class ShapeMatching<double>;

}  // namespace meniscus::solids
