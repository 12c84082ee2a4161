#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/position/position_constraints.hpp"

#include <Eigen/Dense>

#include <limits>

namespace meniscus::solids {
namespace {

constexpr Index node_chunk = 4096;

template <class T>
Vec<T, 3> place_of_node(const PositionNode<T>& p) {
  return {p.x, p.y, p.z};
}

/// Mass, moment and second moments of nodes, and the torque of their ways, around a point.
struct Turning {
  double mass = 0;
  Vec<double, 3> first = Vec<double, 3>::Zero(), torque = Vec<double, 3>::Zero(), shift = Vec<double, 3>::Zero();
  Eigen::Matrix3d second = Eigen::Matrix3d::Zero();
};

// Axes about which nodes hardly extend, relative to the greatest moment of inertia.
constexpr double thin_axis = 1e-9;

}  // namespace

template <class T>
void remove_turn(std::span<PositionNode<T>> nodes, std::span<const Vec<T, 3>> reference) {
  using Vector3 = Vec<double, 3>;
  require(reference.size() == nodes.size(), "there must be a reference of each of ", nodes.size(), " nodes");
  if (nodes.empty()) return;
  const Vector3 origin = reference[0].template cast<double>();
  const auto count = static_cast<Index>(nodes.size());
  const Turning all = parallel_reduce(
      0, count, node_chunk, Turning{},
      [&](Index first, Index last) {
        Turning s;
        for (Index i = first; i < last; ++i) {
          if (!(nodes[i].w > 0)) continue;
          const double m = 1 / static_cast<double>(nodes[i].w);
          const Vector3 r = reference[i].template cast<double>() - origin;
          const Vector3 way = m * (place_of_node(nodes[i]).template cast<double>() - reference[i].template cast<double>());
          s.mass += m;
          s.first += m * r;
          s.shift += way;
          s.torque += r.cross(way);
          s.second += m * (r * r.transpose());
        }
        return s;
      },
      [](const Turning& a, const Turning& b) {
        return Turning{a.mass + b.mass, a.first + b.first, a.torque + b.torque, a.shift + b.shift, a.second + b.second};
      });
  if (!(all.mass > 0)) return;
  const Vector3 centre = all.first / all.mass;
  const Vector3 torque = all.torque - centre.cross(all.shift);
  const Eigen::Matrix3d second = all.second - all.mass * (centre * centre.transpose());
  const Eigen::Matrix3d inertia = second.trace() * Eigen::Matrix3d::Identity() - second;
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> axes;
  axes.computeDirect(inertia);
  const Vector3 along = axes.eigenvectors().transpose() * torque;
  Vector3 turn = Vector3::Zero();
  for (int k = 0; k < 3; ++k)
    if (axes.eigenvalues()[k] > thin_axis * axes.eigenvalues()[2])
      turn += along[k] / axes.eigenvalues()[k] * axes.eigenvectors().col(k);
  if (!turn.allFinite()) return;
  parallel_for(0, count, node_chunk, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const Vector3 way = turn.cross(Vector3(reference[i].template cast<double>() - origin - centre));
      nodes[i].x -= static_cast<T>(way[0]);
      nodes[i].y -= static_cast<T>(way[1]);
      nodes[i].z -= static_cast<T>(way[2]);
    }
  });
}

template <class T>
void predict_positions(std::span<PositionNode<T>> nodes, std::span<Vec<T, 3>> velocities, std::span<Vec<T, 3>> previous,
                       const Vec<double, 3>& acceleration, double dt, double max_speed) {
  require(velocities.size() == nodes.size() && previous.size() == nodes.size(),
          "there must be velocities and places of all nodes");
  const Vec<T, 3> added = (dt * acceleration).template cast<T>();
  const auto h = static_cast<T>(dt), most = static_cast<T>(max_speed);
  const bool bounded = max_speed < std::numeric_limits<T>::max();
  parallel_for(0, static_cast<Index>(nodes.size()), node_chunk, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      PositionNode<T>& p = nodes[i];
      previous[i] = place_of_node(p);
      if (p.w == 0) continue;
      velocities[i] += added;
      // The stable norm: squares of great speeds overflow.
      if (const T speed = bounded ? velocities[i].stableNorm() : T(0); speed > most) velocities[i] *= most / speed;
      p.x += h * velocities[i][0];
      p.y += h * velocities[i][1];
      p.z += h * velocities[i][2];
    }
  });
}

template <class T>
void update_velocities(std::span<const PositionNode<T>> nodes, std::span<const Vec<T, 3>> previous,
                       std::span<Vec<T, 3>> velocities, double dt, double kept) {
  require(velocities.size() == nodes.size() && previous.size() == nodes.size(),
          "there must be velocities and places of all nodes");
  const auto h = static_cast<T>(dt), part = static_cast<T>(kept);
  parallel_for(0, static_cast<Index>(nodes.size()), node_chunk, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i)
      if (nodes[i].w != 0) velocities[i] = part * ((place_of_node(nodes[i]) - previous[i]) / h);
  });
}

#define MENISCUS_INSTANTIATE(T)                                                                                                  \
  template void remove_turn<T>(std::span<PositionNode<T>>, std::span<const Vec<T, 3>>);                                          \
  template void predict_positions<T>(std::span<PositionNode<T>>, std::span<Vec<T, 3>>, std::span<Vec<T, 3>>,                     \
                                     const Vec<double, 3>&, double, double);                                                     \
  template void update_velocities<T>(std::span<const PositionNode<T>>, std::span<const Vec<T, 3>>, std::span<Vec<T, 3>>, double, \
                                     double);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::solids
