#include "meniscus/solids/position/fast_projection.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

#include <cmath>

namespace meniscus::solids {
namespace {

constexpr Index row_chunk = 1024;
constexpr double solve_tolerance = 1e-12;
// Added to the matrix, relative to its diagonal: constraints may depend on each other, and need not agree.
constexpr double least_softness = 1e-9;

template <class F>
void each(std::size_t n, F&& f) {
  parallel_for(0, static_cast<Index>(n), row_chunk, [&](Index a, Index b) {
    for (Index i = a; i < b; ++i) f(i);
  });
}

}  // namespace

/// G W G^T + a.
template <class T>
struct FastProjection<T>::System {
  using Vector = std::vector<double>;
  using Correction = std::vector<double>;
  FastProjection& own;
  std::span<const PositionNode<T>> nodes;

  /// W G^T p.
  void move(const Vector& p) {
    each(nodes.size(), [&](std::size_t n) {
      Vector3 sum = Vector3::Zero();
      for (std::size_t u = own.use_first_[n]; u < own.use_first_[n + 1]; ++u) {
        const Index row = own.uses_[u].row;
        sum += p[row] * own.rows_[row].gradient[own.uses_[u].corner];
      }
      own.moves_[n] = static_cast<double>(nodes[n].w) * sum;
    });
  }
  void multiply(Vector& p, Vector& q) {
    move(p);
    each(p.size(), [&](std::size_t i) {
      const LinearConstraint& row = own.rows_[i];
      double sum = (row.soft + least_softness * own.diagonal_[i]) * p[i];
      for (std::size_t k = 0; k < 4 && row.node[k] >= 0; ++k) sum += row.gradient[k].dot(own.moves_[row.node[k]]);
      q[i] = sum;
    });
  }
  void precondition(const Vector& r, Correction& z) {
    each(r.size(), [&](std::size_t i) { z[i] = r[i] / own.diagonal_[i]; });
  }
  void project(Vector&) {}
  double inner_product(const Vector& u, const Vector& v) {
    return parallel_reduce(
        0, static_cast<Index>(u.size()), row_chunk, 0.0,
        [&](Index a, Index b) {
          double sum = 0;
          for (Index i = a; i < b; ++i) sum += u[i] * v[i];
          return sum;
        },
        [](double a, double b) { return a + b; });
  }
  void combine(double a, const Vector& x, double b, Vector& y) {
    each(y.size(), [&](std::size_t i) { y[i] = (b == 0 ? 0.0 : b * y[i]) + (a == 0 ? 0.0 : a * x[i]); });
  }
};

template <class T>
void FastProjection<T>::connect(std::size_t nodes) {
  numerics::list_by_rows(static_cast<Index>(nodes), use_first_, uses_, [&](auto&& add) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t k = 0; k < 4 && rows_[i].node[k] >= 0; ++k)
        add(rows_[i].node[k], Use{static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)});
  });
  moves_.assign(nodes, Vector3::Zero());
  for (auto* v : {&x_, &b_, &r_, &p_, &q_, &z_, &diagonal_}) v->assign(rows_.size(), 0.0);
}

template <class T>
void FastProjection<T>::linearise(std::span<const PositionNode<T>> nodes, const ProjectionRules& rules) {
  Index first = 0;
  for (const auto* c : constraints_) {
    c->linearise(nodes, rules, std::span(rows_).subspan(first, static_cast<std::size_t>(c->rows())));
    first += c->rows();
  }
}

template <class T>
FastProjectionReport FastProjection<T>::project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules, int rounds,
                                                double tolerance) {
  require(rounds >= 1 && tolerance >= 0, "there must be at least one round, and the tolerance must not be negative");
  Index size = 0;
  for (const auto* c : constraints_) size += c->rows();
  const bool fresh = rows_.size() != static_cast<std::size_t>(size) || moves_.size() != nodes.size();
  rows_.resize(size);
  FastProjectionReport report;
  System system{*this, nodes};
  for (; report.rounds < rounds; ++report.rounds) {
    linearise(nodes, rules);
    if (fresh && report.rounds == 0) connect(nodes.size());
    report.largest = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const LinearConstraint& row = rows_[i];
      double sum = 0;
      for (std::size_t k = 0; k < 4 && row.node[k] >= 0; ++k)
        sum += static_cast<double>(nodes[row.node[k]].w) * row.gradient[k].squaredNorm();
      // Rows that move nothing, inactive ones and those between held nodes, are solved by 0.
      b_[i] = sum > 0 ? -row.c - row.soft * row.multiplier : 0.0;
      diagonal_[i] = sum + row.soft > 0 ? sum + row.soft : 1.0;
      report.largest = std::max(report.largest, std::abs(b_[i]));
    }
    if (report.largest <= tolerance) break;
    std::fill(x_.begin(), x_.end(), 0.0);
    numerics::conjugate_gradients(
        system, {x_, b_, r_, p_, q_, z_},
        {.tolerance = solve_tolerance, .max_iterations = static_cast<int>(std::min<Index>(4 * size, 100'000))}, true, info_);
    report.iterations += info_.iterations;
    system.move(x_);
    each(nodes.size(), [&](std::size_t n) {
      nodes[n].x += static_cast<T>(rules.part * moves_[n][0]);
      nodes[n].y += static_cast<T>(rules.part * moves_[n][1]);
      nodes[n].z += static_cast<T>(rules.part * moves_[n][2]);
    });
    Index first = 0;
    for (auto* c : constraints_) {
      c->add_multipliers(std::span<const double>(x_).subspan(first, static_cast<std::size_t>(c->rows())));
      first += c->rows();
    }
  }
  return report;
}

template <class T>
Index FastProjection<T>::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  return bytes(rows_) + bytes(use_first_) + bytes(uses_) + bytes(moves_) + 7 * bytes(x_);
}

template class FastProjection<float>;
template class FastProjection<double>;

}  // namespace meniscus::solids
