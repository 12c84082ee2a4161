// Tests of the sweeps of a Poisson level against a plain implementation, cell by cell, and against their own adjoint.
#include "poisson_problems.hpp"

#include "meniscus/grid/poisson/poisson_level.hpp"

#include <doctest/doctest.h>

using namespace meniscus;
using namespace meniscus::testing;

namespace {

/// The owned unknowns with their neighbours, around periodic sides.
template <int D>
struct PlainLevel {
  struct Neighbour {
    std::size_t cell;
    double coupling;
  };
  std::vector<Index> index;
  std::vector<int> colour;
  std::vector<std::vector<Neighbour>> neighbours;
  std::vector<double> diagonal, divisor;

  explicit PlainLevel(const grid::FaceMatrix<float, D>& a) {
    const grid::CellLayout<D>& layout = a.layout;
    std::vector<std::size_t> number(static_cast<std::size_t>(layout.size));
    std::vector<Coord<D>> at;
    for (Index r = 0; r < layout.rows(); ++r) {
      Coord<D> c = layout.row_coordinate(r);
      for (c[D - 1] = 0; c[D - 1] < layout.cells[D - 1]; ++c[D - 1]) {
        const Index i = layout.index(c);
        if (!a.active[i]) continue;
        number[i] = index.size();
        index.push_back(i);
        at.push_back(c);
        Index sum = 0;
        for (const Index k : c) sum += k;
        colour.push_back(static_cast<int>(sum & 1));
        diagonal.push_back(static_cast<double>(a.diagonal[i]));
      }
    }
    neighbours.resize(index.size());
    divisor = diagonal;
    for (std::size_t n = 0; n < index.size(); ++n)
      for (int d = 0; d < D; ++d)
        for (const int side : {0, 1}) {
          const auto axis = static_cast<std::size_t>(d);
          Coord<D> c = at[n];
          c[axis] += side ? 1 : -1;
          if (c[axis] < 0 || c[axis] == layout.cells[axis]) {
            if (!layout.periodic[axis]) continue;
            c[axis] = side ? 0 : layout.cells[axis] - 1;
          }
          const Index other = layout.index(c);
          if (!a.active[other]) continue;
          const double w = static_cast<double>(a.face(d, index[n] + (side ? layout.strides[axis] : 0)));
          neighbours[n].push_back({number[other], w});
          // Damping where neighbours have the same colour.
          if (colour[n] == colour[number[other]] && layout.cells[axis] > 1) divisor[n] += 0.5 * w;
        }
  }

  std::vector<double> residual(const std::vector<double>& b, const std::vector<double>& x) const {
    std::vector<double> r(b);
    for (std::size_t n = 0; n < r.size(); ++n) {
      r[n] -= diagonal[n] * x[n];
      for (const Neighbour& other : neighbours[n]) r[n] += other.coupling * x[other.cell];
    }
    return r;
  }

  void sweep(const std::vector<double>& b, std::vector<double>& x, int first_colour) const {
    for (int s = 0; s < grid::half_sweeps; ++s) {
      const std::vector<double> r = residual(b, x);
      for (std::size_t n = 0; n < x.size(); ++n)
        if (colour[n] == ((first_colour + s) & 1)) x[n] += r[n] / divisor[n];
    }
  }

  double largest_difference(const Block<float>& values, const std::vector<double>& expected) const {
    double most = 0;
    for (std::size_t n = 0; n < index.size(); ++n)
      most = std::max(most, std::abs(static_cast<double>(values[index[n]]) - expected[n]));
    return most;
  }
};

/// A level with the coefficients of a problem in single precision.
template <int D>
void set_level(const PoissonProblem<D>& problem, grid::PoissonLevel<D>& level) {
  grid::FaceMatrix<double, D> matrix;
  fill(problem, matrix);
  grid::FaceMatrix<float, D>& a = level.matrix;
  a.reset(matrix.layout, matrix.has_faces);
  for (std::size_t d = 0; d < D; ++d) a.open_coupling[d] = static_cast<float>(matrix.open_coupling[d]);
  for (Index i = 0; i < matrix.layout.size; ++i) {
    for (std::size_t d = 0; d < D && matrix.has_faces; ++d) a.faces[d][i] = static_cast<float>(matrix.faces[d][i]);
    a.diagonal[i] = static_cast<float>(matrix.diagonal[i]);
  }
  a.finish();
  level.prepare();
}

template <int D>
void check_smoothers() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>()) {
    CAPTURE(problem.name);
    grid::PoissonLevel<D> level;
    set_level(problem, level);
    const PlainLevel<D> plain(level.matrix);
    const std::size_t n = plain.index.size();
    std::vector<double> b(n), x(n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      // Of the size of the diagonal, so that x is of size one.
      b[k] = static_cast<double>(static_cast<float>(plain.diagonal[k] * noise(1, k)));
      level.b[plain.index[k]] = static_cast<float>(b[k]);
      level.x[plain.index[k]] = 1e6f;  // what smooth_from_zero must not read
    }
    level.smooth_from_zero();
    plain.sweep(b, x, 0);
    CHECK(plain.largest_difference(level.x, x) < 1e-5);

    level.compute_residual();
    const std::vector<double> r = plain.residual(b, x);
    CHECK(plain.largest_difference(level.residual, r) < 1e-5 * *std::max_element(plain.diagonal.begin(), plain.diagonal.end()));

    // From where the first ended, with other numbers on the right.
    for (std::size_t k = 0; k < n; ++k) {
      b[k] = static_cast<double>(static_cast<float>(plain.diagonal[k] * noise(2, k)));
      level.b[plain.index[k]] = static_cast<float>(b[k]);
    }
    level.smooth_reversed();
    plain.sweep(b, x, 1);
    CHECK(plain.largest_difference(level.x, x) < 1e-5);

    // Adjoint: <u, S v> = <S* u, v> with both starting from zero.
    double forward = 0, backward = 0, size = 0;
    for (std::size_t k = 0; k < n; ++k) level.b[plain.index[k]] = static_cast<float>(noise(3, k));
    level.smooth_from_zero();
    for (std::size_t k = 0; k < n; ++k) {
      const double term = noise(4, k) * static_cast<double>(level.x[plain.index[k]]);
      forward += term;
      size += std::abs(term);
    }
    std::fill(level.x.begin(), level.x.end(), 0.0f);
    for (std::size_t k = 0; k < n; ++k) level.b[plain.index[k]] = static_cast<float>(noise(4, k));
    level.smooth_reversed();
    for (std::size_t k = 0; k < n; ++k) backward += noise(3, k) * static_cast<double>(level.x[plain.index[k]]);
    CHECK(std::abs(forward - backward) <= 1e-6 * size);
  }
}

}  // namespace

TEST_CASE("a Poisson level is smoothed as red-black Gauss-Seidel says") {
  check_smoothers<2>();
  check_smoothers<3>();
}
