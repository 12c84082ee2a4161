// Tests of sparse systems and their multigrid: the properties that conjugate gradients need, exact solutions, memory.
#include "counting_new.hpp"

#include "meniscus/numerics/sparse/sparse_system.hpp"
#include "meniscus/numerics/system_probe.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

using namespace meniscus;
using numerics::CompressedRows;
using numerics::SparseSystem;

namespace {

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

double random_value(int vector, Index i) {
  return std::sin(12.9898 * static_cast<double>(i + 1) + 78.233 * static_cast<double>(vector + 1));
}

using Entries = std::map<std::pair<Index, Index>, double>;

/// Rows with the diagonal first.
void fill(CompressedRows& a, Index n, const Entries& entries) {
  a.columns = n;
  a.start.assign(z(n) + 1, 0);
  for (const auto& [at, value] : entries) ++a.start[z(at.first) + 1];
  a.make_room();
  std::vector<Index> next(a.start.begin(), a.start.end() - 1);
  for (const bool diagonal : {true, false})
    for (const auto& [at, value] : entries)
      if ((at.first == at.second) == diagonal) {
        a.column[z(next[z(at.first)])] = static_cast<std::int32_t>(at.second);
        a.value[z(next[z(at.first)]++)] = value;
      }
}

void couple(Entries& entries, Index i, Index j, double strength) {
  entries[{i, j}] -= strength;
  entries[{j, i}] -= strength;
  entries[{i, i}] += strength;
  entries[{j, j}] += strength;
}

/// A closed cube of n^3 unknowns, an open one with coefficients from 1e-3 to 1e3, a closed pair, and an unknown for itself.
void make_regions(SparseSystem& system, Index n) {
  Entries entries;
  Index first = 0;
  system.regions.clear();
  for (const bool closed : {true, false}) {
    const auto number = [&](Index x, Index y, Index w) { return first + (x * n + y) * n + w; };
    for (Index x = 0; x < n; ++x)
      for (Index y = 0; y < n; ++y)
        for (Index w = 0; w < n; ++w) {
          const double k = closed ? 1.0 : std::pow(10.0, 3 * random_value(5, number(x, y, w)));
          if (x + 1 < n) couple(entries, number(x, y, w), number(x + 1, y, w), k);
          if (y + 1 < n) couple(entries, number(x, y, w), number(x, y + 1, w), 0.3 * k);
          if (w + 1 < n) couple(entries, number(x, y, w), number(x, y, w + 1), 1.7 * k);
          if (!closed && w == 0) entries[{number(x, y, w), number(x, y, w)}] += 2.0;
        }
    system.regions.push_back({first, first + n * n * n, closed});
    first += n * n * n;
  }
  couple(entries, first, first + 1, 4e5);
  system.regions.push_back({first, first + 2, true});
  entries[{first + 2, first + 2}] = 3e-4;
  system.regions.push_back({first + 2, first + 3, false});
  fill(system.matrix, first + 3, entries);
}

}  // namespace

TEST_CASE("sparse systems and their multigrid are symmetric positive definite where they can be solved") {
  SparseSystem system;
  make_regions(system, 11);
  system.prepare({});
  CHECK(system.multigrid().levels() >= 3);
  const Index n = system.matrix.rows();
  std::vector<double> correction(z(n));
  const numerics::SystemDefects d = numerics::probe_system(system, correction, [&](int k) {
    std::vector<double> v(z(n));
    for (Index i = 0; i < n; ++i) v[z(i)] = random_value(k, i);
    return v;
  });
  CHECK(d.multiply_symmetry < 1e-13);
  CHECK(d.multiply_definiteness > 1e-8);
  CHECK(d.precondition_symmetry < 1e-10);
  CHECK(d.precondition_additivity < 1e-10);
  CHECK(d.precondition_definiteness > 1e-8);
  CHECK(d.projection_idempotence < 1e-14);
  CHECK(d.projection_symmetry < 1e-14);
  CHECK(d.range < 1e-13);
  CHECK(d.null_space < 1e-13);
}

TEST_CASE("solutions of sparse systems are found in every region") {
  SparseSystem system;
  for (const Index n : {1, 2, 5, 12}) {
    make_regions(system, n);
    system.prepare({});
    std::vector<double> exact(z(system.matrix.rows()));
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = random_value(1, static_cast<Index>(i));
    system.project(exact);
    system.multiply(exact, system.b);
    numerics::SolveOptions options;
    options.tolerance = 1e-13;
    numerics::SolveInfo info;
    system.solve(options, true, info);
    CHECK(info.converged);
    CHECK(info.iterations < 60);
    for (std::size_t i = 0; i + 3 < exact.size(); ++i) CHECK(std::abs(system.x[i] - exact[i]) < 1e-6);
  }
}

TEST_CASE("right-hand sides that cannot be solved for lose their mean in closed regions alone") {
  SparseSystem system;
  make_regions(system, 6);
  system.prepare({});
  std::fill(system.b.begin(), system.b.end(), 1.0);
  numerics::SolveInfo info;
  system.solve({}, true, info);
  CHECK(info.converged);
  std::vector<double> norms;
  system.region_residuals(norms);
  for (const double norm : norms) CHECK(norm <= 1e-8);
  for (Index i = 0; i < 216; ++i) CHECK(std::abs(system.x[z(i)]) < 1e-12);
  CHECK(system.x.back() == doctest::Approx(1 / 3e-4));
}

TEST_CASE("repeated solves with other values allocate nothing") {
  SparseSystem system;
  make_regions(system, 12);
  numerics::SolveInfo info;
  const auto solve = [&] {
    system.prepare({});
    for (std::size_t i = 0; i < system.b.size(); ++i) system.b[i] = random_value(2, static_cast<Index>(i));
    system.solve({}, true, info);
  };
  solve();
  const long long before = testing::new_calls();
  solve();
  CHECK(testing::new_calls() == before);
}

TEST_CASE("products and transposes of sparse matrices are those of dense ones") {
  const Index rows = 37, inner = 53, columns = 29;
  const auto make = [](Index n, Index m, int seed) {
    CompressedRows a;
    a.columns = m;
    a.start.assign(z(n) + 1, 0);
    const auto holds = [&](Index i, Index j) { return random_value(seed, i * m + j) > 0.7; };
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < m; ++j) a.start[z(i) + 1] += holds(i, j);
    a.make_room();
    std::size_t k = 0;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < m; ++j)
        if (holds(i, j)) {
          a.column[k] = static_cast<std::int32_t>(j);
          a.value[k++] = random_value(seed + 1, i * m + j);
        }
    return a;
  };
  const auto dense = [](const CompressedRows& a) {
    std::vector<double> d(z(a.rows() * a.columns));
    for (Index i = 0; i < a.rows(); ++i)
      for (Index k = a.start[z(i)]; k < a.start[z(i) + 1]; ++k) d[z(i * a.columns + a.column[z(k)])] += a.value[z(k)];
    return d;
  };
  const CompressedRows a = make(rows, inner, 3), b = make(inner, columns, 7);
  CompressedRows c, t;
  numerics::SparseProduct product;
  std::vector<Index> next;
  product.multiply(a, b, numerics::RowOrder::any, c);
  transpose(a, t, next);
  const std::vector<double> da = dense(a), db = dense(b), dc = dense(c), dt = dense(t);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      double sum = 0;
      for (Index k = 0; k < inner; ++k) sum += da[z(i * inner + k)] * db[z(k * columns + j)];
      CHECK(dc[z(i * columns + j)] == doctest::Approx(sum).epsilon(1e-13));
    }
    for (Index k = 0; k < inner; ++k) CHECK(dt[z(k * rows + i)] == da[z(i * inner + k)]);
  }
  product.multiply(a, t, numerics::RowOrder::diagonal_first, c);
  for (Index i = 0; i < rows; ++i) CHECK(c.column[z(c.start[z(i)])] == i);
}
