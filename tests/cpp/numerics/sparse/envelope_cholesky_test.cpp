// Tests of factors of narrow matrices of blocks: dense solves, work that grows as the number of rows, memory.
#include "counting_new.hpp"

#include "meniscus/numerics/sparse/envelope_cholesky.hpp"

#include <doctest/doctest.h>
#include <Eigen/Cholesky>
#include <random>

using namespace meniscus;
using Matrix6 = numerics::EnvelopeCholesky::Matrix6;
using Vector6 = numerics::EnvelopeCholesky::Vector6;

namespace {

using Pairs = std::vector<std::array<std::int32_t, 2>>;

/// Of a graph: the matrix, its dense form and a right-hand side.
struct Problem {
  numerics::EnvelopeCholesky factors;
  Eigen::MatrixXd dense;
  std::vector<Vector6> right;

  void fill(std::int32_t items, const Pairs& pairs) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const auto block = [&] {
      Matrix6 m;
      for (Eigen::Index i = 0; i < 36; ++i) m(i) = normal(random);
      return m;
    };
    factors.order(items, [&](auto&& f) {
      for (const auto& p : pairs) f(p[0], p[1]);
    });
    factors.clear();
    dense = Eigen::MatrixXd::Zero(6 * items, 6 * items);
    const auto add = [&](std::int32_t row, std::int32_t column, const Matrix6& m) {
      dense.block<6, 6>(6 * row, 6 * column) += m;
      if (row == column)
        factors.add(row, m);
      else
        factors.add(row, column, m), dense.block<6, 6>(6 * column, 6 * row) += m.transpose();
    };
    for (std::int32_t i = 0; i < items; ++i) add(i, i, Matrix6(0.1 * Matrix6::Identity()));
    // Each pair adds rows of two bodies, as a contact does.
    for (const auto& p : pairs) {
      const Matrix6 a = block(), b = block();
      add(p[0], p[0], a * a.transpose());
      add(p[1], p[1], b * b.transpose());
      add(p[0], p[1], a * b.transpose());
    }
    right.resize(static_cast<std::size_t>(items));
    for (Vector6& r : right)
      for (Eigen::Index i = 0; i < 6; ++i) r[i] = normal(random);
  }
  double error() {
    Eigen::VectorXd b(dense.rows()), x(dense.rows());
    for (std::size_t i = 0; i < right.size(); ++i) b.segment<6>(static_cast<Eigen::Index>(6 * i)) = right[i];
    factors.factor();
    factors.solve(right);
    for (std::size_t i = 0; i < right.size(); ++i) x.segment<6>(static_cast<Eigen::Index>(6 * i)) = right[i];
    return (dense * x - b).norm() / b.norm();
  }
};

Pairs path(std::int32_t items) {
  Pairs pairs;
  for (std::int32_t i = 0; i + 1 < items; ++i) pairs.push_back({(7 * i) % items, (7 * (i + 1)) % items});
  return pairs;
}

}  // namespace

TEST_CASE("envelope factors solve what dense ones solve") {
  Problem p;
  for (const std::int32_t items : {1, 2, 5, 20}) {
    p.fill(items, path(items));
    CHECK(p.error() < 1e-11);
    Pairs loop = path(items);
    if (items > 2) loop.push_back({0, items / 2}), loop.push_back({items / 2, 0});
    p.fill(items, loop);
    CHECK(p.error() < 1e-11);
  }
}

TEST_CASE("paths and stars of any order take as much work as they have rows") {
  numerics::EnvelopeCholesky factors;
  const auto work = [&](std::int32_t items, const Pairs& pairs) {
    factors.order(items, [&](auto&& f) {
      for (const auto& p : pairs) f(p[0], p[1]);
    });
    return factors.work();
  };
  CHECK(work(101, path(101)) == 3 * 101 - 2);
  Pairs star;
  for (std::int32_t i = 0; i < 50; ++i) star.push_back({i < 25 ? i : i + 1, 25});
  // All arms end at the hub, which comes behind them but for the last.
  CHECK(work(51, star) <= 51 + 50 * 53 / 2 + 2);
}

TEST_CASE("a repeated factorisation allocates nothing") {
  Problem p;
  const Pairs pairs = path(20);
  p.fill(20, pairs);
  p.error();
  const auto solve = [&] {
    p.factors.order(20, [&](auto&& f) {
      for (const auto& pair : pairs) f(pair[0], pair[1]);
    });
    p.factors.clear();
    for (std::int32_t i = 0; i < 20; ++i) p.factors.add(i, Matrix6::Identity());
    p.factors.factor();
    p.factors.solve(p.right);
  };
  solve();
  const long long before = testing::new_calls();
  solve();
  CHECK(testing::new_calls() == before);
}
