#include "meniscus/solids/real_time/mixed_rows.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index rows_per_task = 64;

Eigen::Matrix3d axes_along(const Vector3& normal) {
  Eigen::Matrix3d f;
  Eigen::Index least = 0;
  normal.cwiseAbs().minCoeff(&least);
  f.col(0) = normal;
  f.col(1) = normal.cross(Vector3::Unit(least)).normalized();
  f.col(2) = normal.cross(Vector3(f.col(1)));
  return f;
}

Vector3 place_in(std::span<const PositionNode<double>> places, std::int32_t v) {
  const PositionNode<double>& n = places[v];
  return {n.x, n.y, n.z};
}

}  // namespace

void MixedRows::make(const RowSurface& surface, std::span<const SurfaceRow> contacts, std::span<const BodyPlane> planes,
                     std::span<const PositionNode<double>> places) {
  first_.assign(surface.bodies.size() + 1, 0);
  for (std::size_t b = 0; b < surface.bodies.size(); ++b) first_[b + 1] = first_[b] + surface.bodies[b]->degrees();
  z_.assign(first_.back(), 0.0);
  rows_.resize(contacts.size() + planes.size());
  contacts_ = contacts.size();
  Index size = 0;
  const auto take_block = [&](Row& row, std::size_t side, std::int32_t body) {
    row.body[side] = body;
    row.block[side] = size;
    if (body >= 0) size += 3 * surface.bodies[body]->degrees();
  };
  const auto body_of = [&](std::int32_t v) { return surface.body_of_vertex[v]; };
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const auto& v = contacts[i].vertices;
    // The second element ends with the last vertex, the first one begins with the first.
    take_block(rows_[i], 0, body_of(v[0]));
    take_block(rows_[i], 1, body_of(v[3]));
  }
  for (std::size_t i = 0; i < planes.size(); ++i) {
    Row& row = rows_[contacts.size() + i];
    take_block(row, 0, body_of(planes[i].vertex));
    take_block(row, 1, -1);
  }
  if (blocks_.size() < static_cast<std::size_t>(size)) blocks_.resize(size);
  prepare(surface, contacts, planes, places);
  parallel_for(0, static_cast<Index>(rows_.size()), rows_per_task, [&](Index a, Index b) {
    for (auto i = static_cast<std::size_t>(a); i < static_cast<std::size_t>(b); ++i)
      set(rows_[i], surface, i < contacts.size() ? &contacts[i] : nullptr,
          i < contacts.size() ? nullptr : &planes[i - contacts.size()], places);
  });
}

void MixedRows::prepare(const RowSurface& surface, std::span<const SurfaceRow> contacts, std::span<const BodyPlane> planes,
                        std::span<const PositionNode<double>> places) {
  used_.resize(surface.bodies.size());
  for (Used& u : used_) {
    u.vertices.clear();
    u.places.clear();
  }
  seen_.assign(places.size(), 0);
  const auto take = [&](std::int32_t vertex) {
    const Index v = vertex;
    const std::int32_t body = surface.body_of_vertex[v];
    if (seen_[v] != 0 || body < 0 || !surface.bodies[body]->prepares()) return;
    seen_[v] = 1;
    Used& u = used_[body];
    u.vertices.push_back(surface.vertex_in_body[v]);
    u.places.push_back(place_in(places, vertex));
  };
  for (const SurfaceRow& c : contacts) std::ranges::for_each(c.vertices, take);
  for (const BodyPlane& p : planes) take(p.vertex);
  for (std::size_t b = 0; b < used_.size(); ++b)
    if (!used_[b].vertices.empty()) surface.bodies[b]->prepare(used_[b].vertices, used_[b].places);
}

void MixedRows::set(Row& row, const RowSurface& surface, const SurfaceRow* contact, const BodyPlane* plane,
                    std::span<const PositionNode<double>> places) {
  row.axes = axes_along(contact != nullptr ? contact->normal : plane->normal);
  row.friction = contact != nullptr ? contact->friction : plane->friction;
  row.apart = contact != nullptr ? contact->apart : 0.0;
  row.impulse.setZero();
  row.node.fill(-1);
  row.weight.fill(0);
  row.base.setZero();
  // C is the gap where everything is now; the slip, the way since the start of the substep.
  row.base[0] = contact != nullptr ? contact->gap : plane->gap;
  const std::array<std::int32_t, 4> one{plane != nullptr ? plane->vertex : 0};
  const std::array<double, 4> whole{1.0};
  const std::span<const std::int32_t> vertices(contact != nullptr ? contact->vertices : one);
  const std::span<const double> weights(contact != nullptr ? contact->weights : whole);
  const std::size_t count = contact != nullptr ? 4 : 1;
  Vector3 slid = plane != nullptr ? Vector3(-plane->way) : Vector3(Vector3::Zero());
  Eigen::Matrix3d inverse = Eigen::Matrix3d::Zero();
  std::array<std::array<std::int32_t, 4>, 2> own{};
  std::array<std::array<double, 4>, 2> own_weights{};
  std::array<std::size_t, 2> counts{};
  std::array<Vector3, 2> point{Vector3::Zero(), Vector3::Zero()};
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t v = vertices[k];
    const double a = weights[k];
    const Vector3 x = place_in(places, v), from = place_in(surface.start, v);
    const std::int32_t body = surface.body_of_vertex[v];
    if (body < 0) {
      // Nodes move during sweeps: their way is counted from zero.
      row.node[k] = v;
      row.weight[k] = a;
      row.base[0] -= a * Vector3(row.axes.col(0)).dot(x);
      slid -= a * from;
      inverse.diagonal().array() += a * a * places[v].w;
      continue;
    }
    slid += a * (x - from);
    const std::size_t side = body == row.body[0] ? 0 : 1;
    own[side][counts[side]] = surface.vertex_in_body[v];
    own_weights[side][counts[side]++] = a;
    point[side] += a * x;
  }
  row.base[1] = Vector3(row.axes.col(1)).dot(slid);
  row.base[2] = Vector3(row.axes.col(2)).dot(slid);
  for (std::size_t side = 0; side < 2; ++side) {
    if (row.body[side] < 0) continue;
    const RowBody& body = *surface.bodies[row.body[side]];
    if (body.degrees() == 0) {
      row.body[side] = -1;
      continue;
    }
    RowBlock b(blocks_.data() + row.block[side], body.degrees(), 3);
    // The weights of the second element sum up to minus one.
    const Vector3 place = side == 0 ? point[side] : Vector3(-point[side]);
    body.write({{own[side].data(), counts[side]}, {own_weights[side].data(), counts[side]}, place}, row.axes, b);
    inverse.noalias() += b.transpose().lazyProduct(b);
  }
  row.coupling = inverse.row(0);
  // Bodies that turn more easily than they move along a tangent couple both; the inverse is that of the block.
  const Eigen::Matrix2d block = inverse.bottomRightCorner<2, 2>();
  const double determinant = block.determinant();
  row.across =
      determinant > 1e-12 * block.squaredNorm() ? Eigen::Matrix2d(block.inverse()) : Eigen::Matrix2d(Eigen::Matrix2d::Zero());
}

void MixedRows::sweep(std::span<PositionNode<double>> places, bool backward) {
  const std::size_t n = rows_.size();
  for (std::size_t turn = 0; turn < n; ++turn) {
    Row& row = rows_[backward ? n - 1 - turn : turn];
    if (!(row.coupling[0] > 0)) continue;
    Vector3 moved = Vector3::Zero();
    for (std::size_t k = 0; k < 4; ++k)
      if (row.node[k] >= 0) moved += row.weight[k] * place_in(places, row.node[k]);
    Vector3 now = row.base;
    now.noalias() += row.axes.transpose() * moved;
    std::array<Eigen::Map<Eigen::VectorXd>, 2> z{Eigen::Map<Eigen::VectorXd>(nullptr, 0),
                                                 Eigen::Map<Eigen::VectorXd>(nullptr, 0)};
    for (std::size_t side = 0; side < 2; ++side) {
      if (row.body[side] < 0) continue;
      const Index b = row.body[side];
      const Index degrees = first_[b + 1] - first_[b];
      new (&z[side]) Eigen::Map<Eigen::VectorXd>(z_.data() + first_[b], degrees);
      const RowBlock block(blocks_.data() + row.block[side], degrees, 3);
      for (int k = 0; k < 3; ++k) now[k] += block.col(k).dot(z[side]);
    }
    Vector3 next = row.impulse;
    next[0] = std::max(0.0, row.impulse[0] - now[0] / row.coupling[0]);
    if (next[0] == 0 && row.impulse.isZero(0)) continue;
    const Eigen::Vector2d slip = now.tail<2>() + row.coupling.tail<2>() * (next[0] - row.impulse[0]);
    next.tail<2>() -= row.across * slip;
    const double most = row.friction * next[0], size = next.tail<2>().norm();
    if (size > most) next.tail<2>() *= most / size;
    const Vector3 change = next - row.impulse;
    row.impulse = next;
    const Vector3 push = row.axes * change;
    for (std::size_t k = 0; k < 4; ++k) {
      if (row.node[k] < 0) continue;
      PositionNode<double>& node = places[row.node[k]];
      const double f = node.w * row.weight[k];
      node.x += f * push[0];
      node.y += f * push[1];
      node.z += f * push[2];
    }
    for (std::size_t side = 0; side < 2; ++side) {
      if (row.body[side] < 0) continue;
      const RowBlock block(blocks_.data() + row.block[side], z[side].size(), 3);
      z[side].noalias() += block.lazyProduct(change);
    }
  }
}

void MixedRows::recover(std::span<PositionNode<double>> places) {
  constexpr Index rigid = 6;
  for (Row& row : rows_) {
    if (!(row.coupling[0] > 0) || row.apart == 0) continue;
    const Vector3 n = row.axes.col(0);
    double now = row.base[0] - row.apart;
    for (std::size_t k = 0; k < 4; ++k)
      if (row.node[k] >= 0) now += row.weight[k] * n.dot(place_in(places, row.node[k]));
    const auto each_body = [&](auto&& f) {
      for (std::size_t side = 0; side < 2; ++side) {
        if (row.body[side] < 0) continue;
        const Index b = row.body[side];
        const Index degrees = first_[b + 1] - first_[b];
        f(Eigen::Map<Eigen::VectorXd>(z_.data() + first_[b], degrees),
          RowBlock(blocks_.data() + row.block[side], degrees, 3).col(0));
      }
    };
    each_body([&](const auto& z, const auto& block) { now += block.dot(z); });
    if (!(now < 0)) continue;
    const double push = -now / row.coupling[0];
    for (std::size_t k = 0; k < 4; ++k) {
      if (row.node[k] < 0) continue;
      PositionNode<double>& node = places[row.node[k]];
      const double f = push * node.w * row.weight[k];
      node.x += f * n[0];
      node.y += f * n[1];
      node.z += f * n[2];
    }
    each_body([&](auto z, const auto& block) {
      if (z.size() <= rigid) z += push * block;
    });
  }
}

std::span<const double> MixedRows::displacement(std::size_t body) const {
  return {z_.data() + first_[body], static_cast<std::size_t>(first_[body + 1] - first_[body])};
}

std::span<double> MixedRows::displacement(std::size_t body) {
  return {z_.data() + first_[body], static_cast<std::size_t>(first_[body + 1] - first_[body])};
}

Index MixedRows::pressing() const {
  return std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.impulse[0] > 0; });
}

Vector3 MixedRows::of_planes() const {
  Vector3 sum = Vector3::Zero();
  for (std::size_t i = contacts_; i < rows_.size(); ++i) sum += rows_[i].axes * rows_[i].impulse;
  return sum;
}

Index MixedRows::nbytes() const {
  return static_cast<Index>(rows_.capacity() * sizeof(Row) + (blocks_.capacity() + z_.capacity()) * sizeof(double) +
                            seen_.capacity() + first_.capacity() * sizeof(Index));
}

}  // namespace meniscus::solids
