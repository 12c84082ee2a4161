// Tests of the transfer between levels: restriction is the transpose of interpolation, and respects walls and closed regions.
#include "poisson_problems.hpp"

#include "meniscus/grid/poisson/poisson_coarsening.hpp"
#include "meniscus/grid/poisson/poisson_regions.hpp"
#include "meniscus/grid/poisson/poisson_transfer.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace meniscus;
using namespace meniscus::testing;

namespace {

/// The levels that the hierarchy would have, down to a single cell.
template <int D>
struct Levels {
  grid::FaceMatrix<double, D> matrix;
  std::deque<grid::PoissonLevel<D>> levels;
  std::deque<grid::PoissonTransfer<D>> transfers;

  explicit Levels(const PoissonProblem<D>& problem) {
    fill(problem, matrix);
    matrix.finish();
    grid::FaceMatrix<float, D>& a = levels.emplace_back().matrix;
    a.reset(matrix.layout, matrix.has_faces);
    for (std::size_t d = 0; d < D; ++d) a.open_coupling[d] = static_cast<float>(matrix.open_coupling[d]);
    for (Index i = 0; i < matrix.layout.size; ++i) {
      for (std::size_t d = 0; d < D && matrix.has_faces; ++d) a.faces[d][i] = static_cast<float>(matrix.faces[d][i]);
      a.diagonal[i] = static_cast<float>(matrix.diagonal[i]);
    }
    a.finish();
    levels.back().prepare();
    while (levels.back().matrix.layout.count() > 1) {
      const grid::FaceMatrix<float, D>& fine = levels.back().matrix;
      grid::PoissonLevel<D>& coarse = levels.emplace_back();
      grid::CellJoining<D> joining;
      grid::PoissonCoarsening<D>::run(fine, coarse.matrix, joining);
      transfers.emplace_back().build(fine, joining);
      coarse.prepare();
    }
  }
};

template <class Body, int D>
void for_each_unknown(const grid::FaceMatrix<float, D>& a, Body&& body) {
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      if (a.active[i]) body(i);
}

void clear(Block<float>& values) { std::fill(values.begin(), values.end(), 0.0f); }

/// The index of the owned cell that a ghost beyond a periodic side stands for.
template <int D>
Index owned(const grid::CellLayout<D>& layout, Index cell, int axis) {
  const auto d = static_cast<std::size_t>(axis);
  Index rest = cell - layout.origin;
  for (std::size_t k = 0; k < d; ++k) rest %= layout.strides[k];
  return rest / layout.strides[d] == layout.cells[d] ? cell - layout.cells[d] * layout.strides[d] : cell;
}

template <int D>
void check_adjoint(const Levels<D>& all) {
  for (std::size_t l = 0; l < all.transfers.size(); ++l) {
    CAPTURE(l);
    // Levels are copied by their data: these are scratch.
    grid::PoissonLevel<D>& fine = const_cast<grid::PoissonLevel<D>&>(all.levels[l]);
    grid::PoissonLevel<D>& coarse = const_cast<grid::PoissonLevel<D>&>(all.levels[l + 1]);
    clear(fine.residual);
    clear(fine.x);
    clear(coarse.x);
    clear(coarse.b);
    for_each_unknown<>(fine.matrix,
                       [&](Index i) { fine.residual[i] = static_cast<float>(noise(1, static_cast<std::uint64_t>(i))); });
    for_each_unknown<>(coarse.matrix,
                       [&](Index i) { coarse.x[i] = static_cast<float>(noise(2, static_cast<std::uint64_t>(i))); });
    coarse.matrix.layout.halo.exchange(coarse.x.data());
    all.transfers[l].restrict_residual(fine, coarse.b.data());
    all.transfers[l].add_correction(coarse.x.data(), fine);
    double above = 0, below = 0, size = 0;
    for_each_unknown<>(fine.matrix, [&](Index i) {
      const double term = static_cast<double>(fine.residual[i]) * static_cast<double>(fine.x[i]);
      above += term;
      size += std::abs(term);
    });
    for_each_unknown<>(coarse.matrix,
                       [&](Index i) { below += static_cast<double>(coarse.b[i]) * static_cast<double>(coarse.x[i]); });
    CHECK(std::abs(above - below) <= 1e-6 * size);
  }
}

/// Follows every region down the levels by the cells that its residual reaches.
template <int D>
void check_separate(const Levels<D>& all) {
  grid::PoissonRegions<D> regions;
  regions.find(all.matrix);
  std::vector<int> label(static_cast<std::size_t>(all.matrix.layout.size), -1);
  for (const auto& u : regions.intervals())
    for (Index i = u.index; i < u.index + u.count; ++i) label[i] = static_cast<int>(u.region);
  const int count = static_cast<int>(std::min<std::size_t>(regions.regions().size(), 12));
  for (std::size_t l = 0; l < all.transfers.size(); ++l) {
    CAPTURE(l);
    grid::PoissonLevel<D>& fine = const_cast<grid::PoissonLevel<D>&>(all.levels[l]);
    grid::PoissonLevel<D>& coarse = const_cast<grid::PoissonLevel<D>&>(all.levels[l + 1]);
    std::vector<int> coarse_label(static_cast<std::size_t>(coarse.matrix.layout.size), -1);
    int crossings = 0, leaks = 0, openings = 0;
    for (int region = 0; region < static_cast<int>(regions.regions().size()); ++region) {
      if (region >= count) break;
      clear(fine.residual);
      for_each_unknown<>(fine.matrix, [&](Index i) { fine.residual[i] = label[i] == region ? 1.0f : 0.0f; });
      clear(coarse.b);
      all.transfers[l].restrict_residual(fine, coarse.b.data());
      clear(coarse.x);
      for_each_unknown<>(coarse.matrix, [&](Index i) {
        if (coarse.b[i] == 0) return;
        crossings += coarse_label[i] >= 0;
        coarse_label[i] = region;
        coarse.x[i] = 1;
      });
      coarse.matrix.layout.halo.exchange(coarse.x.data());
      clear(fine.x);
      all.transfers[l].add_correction(coarse.x.data(), fine);
      for_each_unknown<>(fine.matrix, [&](Index i) {
        leaks += fine.x[i] != 0 && label[i] != region;
        // A constant is interpolated exactly wherever no value is given; or not at all, in a cell that has no coarse cell.
        if (regions.regions()[region].closed && label[i] == region) leaks += fine.x[i] != 0 && std::abs(fine.x[i] - 1) > 1e-6f;
      });
    }
    // Coarse couplings join cells of one region only, and a closed region gets no Dirichlet condition.
    const grid::FaceMatrix<float, D>& a = coarse.matrix;
    for_each_unknown<>(a, [&](Index i) {
      const int own = coarse_label[i];
      for (int d = 0; d < D; ++d) {
        const Index above = owned<D>(a.layout, i + a.layout.strides[d], d);
        if (!a.active[above] || a.face(d, i + a.layout.strides[d]) == 0) continue;
        const int other = coarse_label[above];
        crossings += own >= 0 && other >= 0 && own != other;
      }
      if (own >= 0 && regions.regions()[own].closed) openings += grid::dirichlet_coupling<float, D>(a, i) != 0;
    });
    CHECK(crossings == 0);
    CHECK(leaks == 0);
    CHECK(openings == 0);
    label = coarse_label;
  }
}

template <int D>
void check_transfers() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>()) {
    CAPTURE(problem.name);
    const Levels<D> all(problem);
    REQUIRE(all.matrix.unknowns > 0);
    check_adjoint<D>(all);
    check_separate<D>(all);
  }
}

}  // namespace

TEST_CASE("transfers between Poisson levels are each other's transpose and keep regions apart") {
  check_transfers<2>();
  check_transfers<3>();
}
