#include "meniscus/solids/surface_forces.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

const mesh::Point& at(std::span<const mesh::Point> x, std::int32_t node) { return x[node]; }

}  // namespace

NodeNormals::NodeNormals(std::span<const mesh::Triangle> triangles)
    : triangles_(triangles.begin(), triangles.end()),
      gather_(triangles),
      area_(triangles.size(), mesh::Point::Zero()),
      change_(triangles.size(), mesh::Point::Zero()) {}

void NodeNormals::fill(std::span<const mesh::Point> x, std::span<mesh::Point> out) const {
  parallel_for(0, static_cast<Index>(triangles_.size()), 1024, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const auto [a, b, c] = triangles_[t];
      out[t] = (at(x, b) - at(x, a)).cross(at(x, c) - at(x, a));
    }
  });
}

void NodeNormals::fill_changes(std::span<const mesh::Point> x, std::span<const mesh::Point> dx,
                               std::span<mesh::Point> out) const {
  parallel_for(0, static_cast<Index>(triangles_.size()), 1024, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const auto [a, b, c] = triangles_[t];
      out[t] = (at(dx, b) - at(dx, a)).cross(at(x, c) - at(x, a)) + (at(x, b) - at(x, a)).cross(at(dx, c) - at(dx, a));
    }
  });
}

WindDrag::WindDrag(std::span<const mesh::Triangle> triangles, std::span<const double> coefficients, bool quadratic)
    : normals_(triangles),
      coefficient_(coefficients.begin(), coefficients.end()),
      quadratic_(quadratic),
      wind_(normals_.nodes()),
      x_(normals_.nodes(), mesh::Point::Zero()),
      normal_(x_) {
  require(coefficient_.size() >= x_.size(), "there must be one coefficient for each of the ", x_.size(), " nodes, not ",
          coefficient_.size());
  for (std::size_t i = 0; i < coefficient_.size(); ++i)
    require(std::isfinite(coefficient_[i]) && coefficient_[i] >= 0, "the drag of node ", i,
            " must be finite and not negative, not ", coefficient_[i]);
}

double WindDrag::coefficient(std::size_t node, const mesh::Point& normal) const {
  if (in_step_) return slope_[node];
  return quadratic_ ? coefficient_[node] * std::abs(wind_.relative(node).dot(normal)) : coefficient_[node];
}

void WindDrag::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  if (in_step_) return;
  normals_.for_nodes(x, [&](std::size_t i, const mesh::Point& area) {
    const double size = area.norm();
    if (!(size > 0)) return;
    const mesh::Point n = area / size;
    f[i] += (coefficient(i, n) * wind_.at(i).dot(n)) * n;
  });
}

void WindDrag::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  if (in_step_) return;
  tangent_ = tangent;
  std::copy(x.begin(), x.begin() + nodes(), x_.begin());
  normals_.for_nodes(x, [&](std::size_t i, const mesh::Point& area) {
    const double size = area.norm();
    normal_[i] = size > 0 ? mesh::Point(area / size) : mesh::Point::Zero();
  });
}

void WindDrag::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  if (tangent_ != Tangent::exact || in_step_) return;
  normals_.for_changes(x_, dx, [&](std::size_t i, const mesh::Point& area, const mesh::Point& change) {
    const double size = area.norm();
    if (!(size > 0)) return;
    const mesh::Point& n = normal_[i];
    const mesh::Point dn = (change - n.dot(change) * n) / size;
    const mesh::Point& w = wind_.at(i);
    mesh::Point df = coefficient(i, n) * (w.dot(dn) * n + w.dot(n) * dn);
    if (quadratic_) {
      const double across = wind_.relative(i).dot(n);
      df += (coefficient_[i] * (across < 0 ? -1 : 1) * wind_.relative(i).dot(dn) * w.dot(n)) * n;
    }
    f[i] += scale * df;
  });
}

void WindDrag::begin_step(std::span<const mesh::Point> x, double) {
  in_step_ = false;
  linearise(x, Tangent::frozen);
  slope_.resize(normal_.size(), 0.0);
  in_step_ = true;
}

double WindDrag::add_drag(std::span<const mesh::Point> v, std::span<mesh::Point> f) const {
  return parallel_reduce(
      0, nodes(), 4096, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index i = begin; i < end; ++i) {
          const double across = (wind_.at(i) - v[i]).dot(normal_[i]);
          const double c = quadratic_ ? coefficient_[i] * std::abs(across) : coefficient_[i];
          f[i] += (c * across) * normal_[i];
          sum += c * across * across / (quadratic_ ? 3 : 2);
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void WindDrag::linearise_drag(std::span<const mesh::Point> v) {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      slope_[i] = quadratic_ ? 2 * coefficient_[i] * std::abs((wind_.at(i) - v[i]).dot(normal_[i])) : coefficient_[i];
  });
}

void WindDrag::add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const mesh::Point& n = normal_[i];
      f[i] -= (scale * coefficient(i, n) * n.dot(v[i])) * n;
    }
  });
}

void WindDrag::add_damping_bounds(std::span<const mesh::Point>, std::span<double> damping) const {
  // The normals of the next linearisation are not known: |relative . normal| is at most |relative|.
  for (std::size_t i = 0; i < x_.size(); ++i) damping[i] += 0.5 * coefficient_[i] * (quadratic_ ? wind_.relative(i).norm() : 1.0);
}

void WindDrag::add_diagonal(double, double damping_scale, std::span<Block3> blocks) const {
  parallel_for(0, nodes(), 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const mesh::Point& n = normal_[i];
      blocks[i].noalias() -= (damping_scale * coefficient(i, n) * n) * n.transpose();
    }
  });
}

std::size_t WindDrag::nbytes() const {
  return normals_.nbytes() + wind_.nbytes() + (coefficient_.capacity() + slope_.capacity()) * sizeof(double) +
         (x_.capacity() + normal_.capacity()) * sizeof(mesh::Point);
}

Pressure::Pressure(std::span<const mesh::Triangle> triangles, double pressure, bool closed)
    : normals_(triangles), pressure_(pressure), closed_(closed), x_(normals_.nodes(), mesh::Point::Zero()) {}

double Pressure::volume(std::span<const mesh::Point> x) const {
  const auto triangles = normals_.triangles();
  if (triangles.empty()) return 0;
  const mesh::Point origin = at(x, triangles[0][0]);
  return parallel_reduce(
      0, static_cast<Index>(triangles.size()), 1024, 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index t = begin; t < end; ++t) {
          const auto [a, b, c] = triangles[t];
          sum += (at(x, a) - origin).dot((at(x, b) - origin).cross(at(x, c) - origin)) / 6;
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

double Pressure::energy(std::span<const mesh::Point> x) const {
  if (closed_) return -pressure_ * volume(x);
  if (!held_) return 0;
  // The force is constant: minus its work from there.
  double sum = 0;
  normals_.for_nodes_in_order(x_,
                              [&](std::size_t i, const mesh::Point& area) { sum -= (pressure_ / 6) * area.dot(x[i] - x_[i]); });
  return sum;
}

void Pressure::begin_step(std::span<const mesh::Point> x, double) {
  held_ = false;
  linearise(x, Tangent::frozen);
  held_ = !closed_;
}

void Pressure::add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const {
  normals_.for_nodes(held_ ? std::span<const mesh::Point>(x_) : x,
                     [&](std::size_t i, const mesh::Point& area) { f[i] += (pressure_ / 6) * area; });
}

void Pressure::linearise(std::span<const mesh::Point> x, Tangent tangent) {
  if (held_) return;
  tangent_ = tangent;
  std::copy(x.begin(), x.begin() + nodes(), x_.begin());
}

void Pressure::add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const {
  if (tangent_ != Tangent::exact || held_) return;
  normals_.for_changes(
      x_, dx, [&](std::size_t i, const mesh::Point&, const mesh::Point& change) { f[i] += (scale * pressure_ / 6) * change; });
}

void Pressure::add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const {
  // Half of the sum of the norms of the blocks of a row: each triangle has the three opposite edges once.
  const auto triangles = normals_.triangles();
  for (const auto& t : triangles) {
    const double around =
        (at(x, t[1]) - at(x, t[0])).norm() + (at(x, t[2]) - at(x, t[1])).norm() + (at(x, t[0]) - at(x, t[2])).norm();
    for (const std::int32_t node : t) stiffness[node] += std::abs(pressure_) / 12 * around;
  }
}

}  // namespace meniscus::solids
