#include "meniscus/solids/plates/plate_curvature.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <Eigen/Eigenvalues>

namespace meniscus::solids {
namespace {

using Plane = PlateCurvature::Plane;
using Tensor = PlateCurvature::Tensor;

/// A fit takes hinges of a larger neighbourhood where it has fewer than these, or where its least eigenvalue is below this part
/// of the largest one.
constexpr std::ptrdiff_t fewest_hinges = 5;
constexpr double least_eigenvalue = 1e-3;
/// Eigenvalues below this part of the largest one do not count.
constexpr double rank_tolerance = 1e-9;
constexpr Index piece = 256;

/// The coefficients of u^T H v for a symmetric tensor (k11, k22, k12).
Tensor product(const Plane& u, const Plane& v) { return {u[0] * v[0], u[1] * v[1], u[0] * v[1] + u[1] * v[0]}; }

struct Edge {
  Plane middle, along, across;
  double length;
};

Edge edge_of(const Plane& p, const Plane& q) {
  const double length = (q - p).norm();
  const Plane along = (q - p) / length;
  return {0.5 * (p + q), along, Plane(-along[1], along[0]), length};
}

/// Slope across the edge of the plane through its ends and a corner, minus that in its middle, per curvature of a surface.
Tensor slope_error(const Edge& e, const Plane& corner) {
  const Plane off = corner - e.middle;
  const double s = off.dot(e.along), h = off.dot(e.across);
  return 0.5 * (s * s - 0.25 * e.length * e.length) / h * product(e.along, e.along) + s * product(e.along, e.across) +
         0.5 * h * product(e.across, e.across);
}

/// Topology and shape of a plate at rest.
struct Plate {
  std::span<const mesh::Triangle> triangles;
  std::span<const Plane> rest;
  std::span<const FourNodes> hinges;
  std::span<const std::uint8_t> rigid;
  /// Of each triangle: the hinge at the edge from corner k to the next one, or -1; the same as triangles beyond.
  std::vector<std::array<std::int32_t, 3>> hinge_at;
  /// Of each hinge: the triangle that passes it from i to j, and the other one; the tensor per angle of a quadratic surface.
  std::vector<std::array<std::int32_t, 2>> sides;
  std::vector<Tensor> angle;
  /// Hinges at each node.
  std::vector<Index> first;
  std::vector<std::int32_t> at_node;

  bool is_rigid(std::int32_t t) const { return !rigid.empty() && rigid[t] != 0; }
  bool bends(std::int32_t hinge) const { return !is_rigid(sides[hinge][0]) || !is_rigid(sides[hinge][1]); }
};

void find_topology(Plate& p) {
  const auto n = static_cast<Index>(p.rest.size());
  p.first.assign(n + 1, 0);
  for (const FourNodes& h : p.hinges)
    for (int k = 0; k < 2; ++k) ++p.first[h[k] + 1];
  for (Index v = 0; v < n; ++v) p.first[v + 1] += p.first[v];
  p.at_node.resize(p.first[n]);
  std::vector<Index> next(p.first.begin(), p.first.end() - 1);
  for (std::int32_t e = 0; e < std::ssize(p.hinges); ++e)
    for (int k = 0; k < 2; ++k) p.at_node[next[p.hinges[e][k]]++] = e;
  p.hinge_at.assign(p.triangles.size(), {-1, -1, -1});
  p.sides.assign(p.hinges.size(), {-1, -1});
  for (std::int32_t t = 0; t < std::ssize(p.triangles); ++t)
    for (int k = 0; k < 3; ++k) {
      const std::int32_t a = p.triangles[t][k], b = p.triangles[t][(k + 1) % 3];
      for (Index i = p.first[a]; i < p.first[a + 1]; ++i) {
        const FourNodes& h = p.hinges[p.at_node[i]];
        if ((h[0] != a || h[1] != b) && (h[0] != b || h[1] != a)) continue;
        p.hinge_at[t][k] = p.at_node[i];
        p.sides[p.at_node[i]][h[0] == a ? 0 : 1] = t;
      }
    }
  for (const auto& s : p.sides) require(s[0] >= 0 && s[1] >= 0, "every hinge must be between two of the triangles");
}

/// The hinges whose angles tell the curvature near an edge with triangles s and t (or -1); at most those of the stars of
/// `around`.
void find_neighbourhood(const Plate& p, std::int32_t s, std::int32_t t, std::span<const std::int32_t> around, bool wide,
                        std::vector<std::int32_t>& out) {
  out.clear();
  const auto add = [&](std::int32_t e) {
    if (e >= 0 && p.bends(e) && std::find(out.begin(), out.end(), e) == out.end()) out.push_back(e);
  };
  for (const std::int32_t side : {s, t})
    if (side >= 0 && !p.is_rigid(side))
      for (const std::int32_t e : p.hinge_at[side]) add(e);
  if (!wide) return;
  for (const std::int32_t v : around)
    for (Index i = p.first[v]; i < p.first[v + 1]; ++i) add(p.at_node[i]);
}

/// The weights of the angles of hinges in the value that a linear function of the curvature near an edge has.
struct Fit {
  std::vector<std::int32_t> hinges;
  std::vector<double> weights;

  void find(const Plate& p, std::int32_t s, std::int32_t t, std::span<const std::int32_t> around, const Tensor& function) {
    Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver;
    for (const bool wide : {false, true}) {
      find_neighbourhood(p, s, t, around, wide, hinges);
      Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
      for (const std::int32_t e : hinges) normal += p.angle[e] * p.angle[e].transpose();
      solver.compute(normal);
      const bool well = solver.eigenvalues()[0] > least_eigenvalue * solver.eigenvalues()[2];
      if (well && std::ssize(hinges) >= fewest_hinges) break;
    }
    Tensor through = Tensor::Zero();
    for (int k = 0; k < 3; ++k) {
      const double value = solver.eigenvalues()[k];
      if (value > rank_tolerance * solver.eigenvalues()[2])
        through += solver.eigenvectors().col(k) * (solver.eigenvectors().col(k).dot(function) / value);
    }
    weights.clear();
    for (const std::int32_t e : hinges) weights.push_back(through.dot(p.angle[e]));
  }
};

}  // namespace

PlateCurvature::PlateCurvature(std::span<const mesh::Triangle> triangles, std::span<const Plane> rest,
                               std::span<const FourNodes> hinges, std::span<const std::uint8_t> rigid) {
  Plate p{triangles, rest, hinges, rigid, {}, {}, {}, {}, {}};
  find_topology(p);
  const auto count = static_cast<Index>(hinges.size()), size = static_cast<Index>(triangles.size());
  area_.resize(size);
  for (Index t = 0; t < size; ++t) {
    const auto& c = triangles[t];
    const Plane u = rest[c[1]] - rest[c[0]], v = rest[c[2]] - rest[c[0]];
    area_[t] = 0.5 * (u[0] * v[1] - u[1] * v[0]);
    require(area_[t] > 0, "triangle ", t, " must be positive at rest, but its area is ", area_[t], " m^2");
    if (p.is_rigid(static_cast<std::int32_t>(t))) area_[t] = 0;
  }
  p.angle.resize(hinges.size());
  // The share of each hinge, as weights of hinges around.
  std::vector<Fit> shares(hinges.size());
  parallel_for(0, count, piece, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      const FourNodes& h = hinges[e];
      const Edge edge = edge_of(rest[h[0]], rest[h[1]]);
      // The corner k is on the side of `across`: the angle is its slope minus that of l.
      Tensor first = slope_error(edge, rest[h[2]]), second = slope_error(edge, rest[h[3]]);
      if (p.is_rigid(p.sides[e][0])) first.setZero();
      if (p.is_rigid(p.sides[e][1])) second.setZero();
      p.angle[e] = first - second;
    }
  });
  parallel_for(0, count, piece, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      const auto [s, t] = p.sides[e];
      if (p.is_rigid(s) || p.is_rigid(t)) continue;
      const FourNodes& h = hinges[e];
      const Edge edge = edge_of(rest[h[0]], rest[h[1]]);
      // From the triangle of l to the middle: half of the angle and this.
      const Tensor share = -0.5 * (slope_error(edge, rest[h[2]]) + slope_error(edge, rest[h[3]]));
      shares[e].find(p, s, t, h, share);
    }
  });
  // The entries of each triangle, one list after the other.
  const auto collect = [&](std::int32_t t, Fit& fit, std::vector<Entry>& out) {
    out.clear();
    if (p.is_rigid(t)) return;
    const auto add = [&](std::int32_t hinge, const Tensor& weight) {
      for (Entry& e : out)
        if (e.hinge == hinge) {
          e.weight += weight;
          return;
        }
      out.push_back({t, hinge, weight});
    };
    for (int k = 0; k < 3; ++k) {
      const std::int32_t a = triangles[t][k], b = triangles[t][(k + 1) % 3], e = p.hinge_at[t][k];
      const Edge edge = edge_of(rest[a], rest[b]);
      const Tensor unit(edge.across[0] * edge.across[0], edge.across[1] * edge.across[1], edge.across[0] * edge.across[1]);
      const Tensor turn = edge.length / area_[t] * unit;
      if (e < 0) {
        const std::array around{a, b, triangles[t][(k + 2) % 3]};
        // The triangle is on the side of `across`: its slope minus that of the edge.
        fit.find(p, t, -1, around, slope_error(edge, rest[around[2]]));
        for (std::size_t i = 0; i < fit.hinges.size(); ++i) add(fit.hinges[i], fit.weights[i] * turn);
        continue;
      }
      const bool first = p.sides[e][0] == t;
      if (p.is_rigid(p.sides[e][first ? 1 : 0])) {
        add(e, turn);
        continue;
      }
      add(e, 0.5 * turn);
      const Fit& share = shares[e];
      for (std::size_t i = 0; i < share.hinges.size(); ++i)
        add(share.hinges[i], (first ? -share.weights[i] : share.weights[i]) * turn);
    }
  };
  std::vector<std::vector<Entry>> parts((size + piece - 1) / piece);
  first_.assign(size + 1, 0);
  parallel_for(0, size, piece, [&](Index begin, Index end) {
    Fit fit;
    std::vector<Entry> own;
    auto& part = parts[begin / piece];
    for (Index t = begin; t < end; ++t) {
      collect(static_cast<std::int32_t>(t), fit, own);
      part.insert(part.end(), own.begin(), own.end());
      first_[t + 1] = static_cast<Index>(own.size());
    }
  });
  for (Index t = 0; t < size; ++t) first_[t + 1] += first_[t];
  entries_.reserve(first_[size]);
  for (const auto& part : parts) entries_.insert(entries_.end(), part.begin(), part.end());
  first_at_.assign(count + 1, 0);
  for (const Entry& e : entries_) ++first_at_[e.hinge + 1];
  for (Index e = 0; e < count; ++e) first_at_[e + 1] += first_at_[e];
  by_hinge_.resize(entries_.size());
  std::vector<Index> next(first_at_.begin(), first_at_.end() - 1);
  for (const Entry& e : entries_) by_hinge_[next[e.hinge]++] = e;
}

}  // namespace meniscus::solids
